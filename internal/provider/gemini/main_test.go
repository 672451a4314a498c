package gemini

import (
	"context"
	"encoding/json"
	"flag"
	"testing"

	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a client made as the program makes it.
func open(t testing.TB, s provider.Settings) *Model {
	t.Helper()
	m, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*Model)
}

func hello() llm.Request {
	return llm.Request{
		Target: llm.Target{Provider: "gemini", Model: "gemini-3.8-flash", Tools: true}, Static: "Be short.",
		Tools: sample().Tools, Messages: []llm.Message{llm.UserMessage("Hello")},
	}
}

// answer is what one call gave.
type answer struct {
	reply     *llm.Reply
	text      string
	reasoning string
	events    []llm.Event
	err       error
}

func ask(ctx context.Context, m *Model, req llm.Request) (a answer) {
	for e, err := range m.Stream(ctx, req) {
		if err != nil {
			a.err = err
			continue
		}
		a.events = append(a.events, e)
		switch e.Type {
		case llm.EventText:
			a.text += e.Text
		case llm.EventReasoning:
			a.reasoning += e.Text
		case llm.EventDone:
			a.reply = e.Reply
		}
	}
	return a
}

// parts is a stream whose chunks have these parts, as JSON; the last one says
// that the answer has ended.
func parts(reason string, chunks ...string) fakellm.Answer {
	var a fakellm.Answer
	for i, c := range chunks {
		d := `{"parts":[` + c + `]`
		if i == len(chunks)-1 && reason != "" {
			d += `,"finish":"` + reason + `"`
		}
		a.Deltas = append(a.Deltas, json.RawMessage(d+"}"))
	}
	return a
}

// sse is a stream of events with these data, each in a write of its own.
func sse(data ...string) fakellm.Answer {
	var a fakellm.Answer
	for _, d := range data {
		a.Raw = append(a.Raw, "data: "+d+"\r\n\r\n")
	}
	return a
}

// Chunks of a stream.
const (
	chHel  = `{"candidates":[{"content":{"parts":[{"text":"Hel"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":9}}`
	chLo   = `{"candidates":[{"content":{"parts":[{"text":"lo"}],"role":"model"},"index":0}]}`
	chStop = `{"candidates":[{"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2},"modelVersion":"gemini-3.8-flash","responseId":"r1"}`
)
