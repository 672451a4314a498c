// Package providertest holds the packages of vendors to one table of
// scenarios: what any vendor's server may answer, in words that hold for all of
// them, and what has to come of it. A server of internal/fakellm speaks the
// vendor's real wire and refuses what the vendor documents to be wrong, so that
// each scenario is a check of what is sent as well.
//
// A vendor's package calls [Run] in its tests; what only its own wire has is
// its own tests' matter. [Answers] is what stores of kept answers call. Nothing
// outlives a test.
//
// Start reading at [Vendor].
package providertest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/llmtest"
	"github.com/goclaw/goclaw/internal/provider"
)

// Vendor is what the scenarios must know of a vendor.
type Vendor struct {
	Wire  string // the name under which the gateway lists it
	Type  string // the type of provider that speaks it
	Model string // a model of the vendor's that takes tools, images and reasoning

	// Open makes a client that sends by c.
	Open func(s provider.Settings, c *http.Client) llm.Model
	// Path is what an address is configured with behind its host.
	Path string

	// Without are the faults that the vendor has no words for, [Filter] when it
	// has none for an answer that it withholds, and [Shares] when it doesn't say
	// how many tokens of a call were cached and how many reasoning.
	Without []string
	// Unmarked takes marks that wander out of a request, such as those of a
	// cache; nil when there are none.
	Unmarked func(body []byte) []byte
	// Tail is how many bytes of a request's end may differ from what stands
	// there in the session's next request.
	Tail int
	// Told is an answer in the vendor's own form that tells how many tokens went
	// in, and then fails or breaks off; nil where that is told with the end only.
	Told *fakellm.Answer
	// Times are more answers that take their time, in the vendor's own form.
	Times []Time
}

const (
	Filter = "filter" // an answer that was withheld
	Shares = "shares" // of tokens
)

// Run runs all scenarios.
func Run(t *testing.T, v Vendor) {
	t.Helper()
	for _, group := range []struct {
		name string
		test func(*testing.T, Vendor)
	}{
		{"contract", contract},
		{"answers", answers},
		{"failures", failures},
		{"broken answers", brokenAnswers},
		{"times", times},
		{"failover", failover},
		{"cooldown", cooldown},
		{"refused media", refusedMedia},
		{"stopping", stopping},
		{"leaving", leaving},
		{"connections", connections},
		{"prefixes", prefixes},
		{"pictures that a model made", made},
		{"transcripts", transcripts},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			group.test(t, v)
		})
	}
}

// key is long enough to be masked wherever it is told.
const key = "sk-test-key-0123456789"

// at is a client for s.
func (v Vendor) at(s *fakellm.Server, l provider.Limits) llm.Model {
	c := s.Client()
	if c == nil {
		c = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return v.Open(provider.Settings{Name: "test", Type: v.Type, BaseURL: s.URL + v.Path, Key: key, Limits: l}, c)
}

// request is a first request, with tools.
func (v Vendor) request() llm.Request {
	return llm.Request{
		Target: llm.Target{Provider: "test", Model: v.Model, Vendor: v.Wire, Tools: true, Images: true},
		Static: "Be short.", Session: "You speak with Ada.", Tools: tools(), Messages: []llm.Message{llm.UserMessage("Hello")},
	}
}

func tools() []llm.ToolSpec {
	return []llm.ToolSpec{
		{Name: "datetime", Description: "Tell the time.", Parameters: json.RawMessage(`{"properties":{"zone":{"description":"Name of a time zone.","type":"string"}},"type":"object"}`)},
		{
			Name: "file_read", Description: "Read a file.",
			Parameters: json.RawMessage(`{"properties":{"from":{"type":"integer"},"path":{"type":"string"}},"required":["path"],"type":"object"}`),
		},
	}
}

// told is what one call gave.
type told struct {
	reply     *llm.Reply
	text      string
	reasoning string
	pieces    int // of text
	err       error
}

func ask(ctx context.Context, m llm.Model, req llm.Request) (a told) {
	for e, err := range m.Stream(ctx, req) {
		if err != nil {
			a.err = err
			continue
		}
		switch e.Type {
		case llm.EventText:
			a.text += e.Text
			a.pieces++
		case llm.EventReasoning:
			a.reasoning += e.Text
		case llm.EventDone:
			a.reply = e.Reply
		}
	}
	return a
}

// contract is the one of [llm.Model].
func contract(t *testing.T, v Vendor) {
	answering := func(a fakellm.Answer) llmtest.Make {
		return func(t *testing.T) (llm.Model, llm.Request) {
			return v.at(fakellm.StartScript(t, fakellm.Script{Loop: true, Answers: []fakellm.Answer{a}}), provider.Limits{}), v.request()
		}
	}
	var told llmtest.Make
	if v.Told != nil {
		told = answering(*v.Told)
	}
	llmtest.Run(t, llmtest.Suite{
		Told:  told,
		Text:  answering(fakellm.Answer{Text: "Hello, how are you?", Pieces: 4}),
		Calls: answering(fakellm.Calls(fakellm.Use("file_read", `{"path":"a.txt"}`), fakellm.Use("datetime", `{}`))),
		Named: answering(fakellm.Calls(fakellm.Use("calendar_list", `{}`))),
		Fails: answering(fakellm.Answer{Fault: fakellm.ServerError}),
		Hangs: answering(fakellm.Answer{Hang: "before"}),
	})
}
