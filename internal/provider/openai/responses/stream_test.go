package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// told is what an answer gave.
type told struct {
	text, reasoning string
	reply           *llm.Reply
	err             error
}

func read(t testing.TB, body string) (a told) {
	t.Helper()
	_, watch := provider.Limits{}.Watch(t.Context())
	defer watch.Stop()
	o := Reader{Vendor: "openai", Fault: func(raw []byte) error { return errors.New(string(raw)) }}
	resp := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body))}
	a.err = o.Read(resp, watch, func(e llm.Event, _ error) bool {
		switch e.Type {
		case llm.EventText:
			a.text += e.Text
		case llm.EventReasoning:
			a.reasoning += e.Text
		case llm.EventDone:
			a.reply = e.Reply
		}
		return true
	})
	return a
}

// sse is a stream of these events.
func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

const (
	completed = `{"type":"response.completed","response":{"id":"resp_1","model":"gpt-x-2026-01-01","status":"completed","usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":3},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":2}}}}`
	message   = `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`
	hel       = `{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hel"}`
	lo        = `{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"lo"}`
	called    = `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"calc","arguments":""}}`
)

func incomplete(reason string) string {
	return `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"` + reason + `"}}}`
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	one := []llm.ToolCall{{ID: "c1", Name: "calc", Arguments: `{"e":1}`}}
	two := append(one[:1:1], llm.ToolCall{ID: "c2", Name: "calc", Arguments: `{"e":2}`})
	for _, test := range []struct {
		name            string
		body            string
		text, reasoning string
		calls           []llm.ToolCall
		finish          llm.Finish
	}{
		{name: "text", body: sse(message, hel, lo, completed), text: "Hello", finish: llm.FinishStop},
		{name: "not announced", body: sse(hel, lo, completed), text: "Hello", finish: llm.FinishStop},
		{name: "a letter cut between two pieces", body: sse(`{"type":"response.output_text.delta","delta":"`+"\xe7"+`"}`, `{"type":"response.output_text.delta","delta":"`+"\x95\x8c"+`"}`, completed), text: "界", finish: llm.FinishStop},
		{name: "a refusal", body: sse(message, `{"type":"response.refusal.delta","output_index":0,"delta":"No."}`, completed), text: "No.", finish: llm.FinishStop},
		{name: "a refusal told whole", body: sse(`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{"type":"refusal","refusal":"No."}]}}`, completed), text: "No.", finish: llm.FinishStop},
		{name: "text told whole, twice", body: sse(message, `{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"Hello"}`, `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"Hello"}]}}`, completed), text: "Hello", finish: llm.FinishStop},
		{
			name: "only the response", finish: llm.FinishCalls, text: "Hello", reasoning: "Hm.", calls: one,
			body: sse(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"Hm."}]},{"type":"message","id":"m","content":[{"type":"output_text","text":"Hello"}]},{"type":"function_call","call_id":"c1","name":"calc","arguments":"{\"e\":1}"}]}}`),
		},
		{
			name: "a document", finish: llm.FinishStop, text: "Hello",
			body: `{"id":"r","object":"response","status":"completed","error":null,"output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"Hello"}]}]}`,
		},
		{name: "bare documents", body: message + "\n" + hel + "\n" + lo + "\n" + completed, text: "Hello", finish: llm.FinishStop},
		{name: "events without empty lines, comments, words, what nobody knows", body: ": hi\n\ndata: ping\n\ndata: " + message + "\ndata: " + hel + "\n\n" + sse(`{"type":"response.new","output_index":0,"delta":"x"}`, `{"type":"response.output_item.added","output_index":7,"item":{"type":"web_search_call","id":"ws"}}`, lo, completed), text: "Hello", finish: llm.FinishStop},
		{name: "half a letter before another message", body: sse(`{"type":"response.output_text.delta","output_index":0,"delta":"\ud83d"}`, `{"type":"response.output_text.delta","output_index":1,"delta":"lo"}`, completed), text: "\uFFFD\n\nlo", finish: llm.FinishStop},
		{name: "two messages in turn", body: sse(message, hel, `{"type":"response.output_text.delta","item_id":"msg_2","output_index":1,"delta":"!"}`, lo, completed), text: "Hel\n\n!\n\nlo", finish: llm.FinishStop},
		{name: "two messages", body: sse(message, hel, `{"type":"response.output_text.delta","item_id":"msg_2","output_index":1,"content_index":0,"delta":"lo"}`, completed), text: "Hel\n\nlo", finish: llm.FinishStop},
		{
			name: "what it thinks, in parts", body: sse(`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"A"}`, `{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"B"}`, `{"type":"response.reasoning_text.delta","output_index":1,"content_index":0,"delta":"C"}`, completed),
			reasoning: "A\n\nB\n\nC", finish: llm.FinishStop,
		},
		{name: "a call in pieces", body: sse(called, `{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":"{\"e\""}`, `{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":":1}"}`, completed), calls: one, finish: llm.FinishCalls},
		{name: "a call whose pieces are told whole as well", body: sse(called, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"e\""}`, `{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"e\":1}"}`, completed), calls: one, finish: llm.FinishCalls},
		{name: "a call told at once", body: sse(`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c1","name":"calc","arguments":"{\"e\":1}"}}`, completed), calls: one, finish: llm.FinishCalls},
		{
			name: "one index for all calls", calls: two, finish: llm.FinishCalls,
			body: sse(called, `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"calc","arguments":"{\"e\":1}"}}`,
				`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_2","call_id":"c2","name":"calc","arguments":""}}`,
				`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_2","delta":"{\"e\":2}"}`,
				`{"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"c1","name":"calc","arguments":"{\"e\":1}"},{"type":"function_call","id":"fc_2","call_id":"c2","name":"calc","arguments":"{\"e\":2}"}]}}`),
		},
		{
			name: "a new name with each event", calls: one, finish: llm.FinishCalls,
			body: sse(called, `{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"x","delta":"{\"e\":1}"}`,
				`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"y","call_id":"c1","name":"calc","arguments":"{\"e\":1}"}}`, completed),
		},
		{
			name: "one id twice", finish: llm.FinishCalls, calls: append(one[:1:1], llm.ToolCall{ID: "c1", Name: "calc", Arguments: `{"e":2}`}),
			body: sse(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call","call_id":"c1","name":"calc","arguments":"{\"e\":1}"},{"type":"function_call","call_id":"c1","name":"calc","arguments":"{\"e\":2}"}]}}`),
		},
		{
			name: "one id twice, done at once", finish: llm.FinishCalls, calls: append(one[:1:1], llm.ToolCall{ID: "c1", Name: "calc", Arguments: `{"e":2}`}),
			body: sse(`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"calc","arguments":"{\"e\":1}"}}`, `{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c1","name":"calc","arguments":"{\"e\":2}"}}`, completed),
		},
		{name: "no arguments", body: sse(called, completed), calls: []llm.ToolCall{{ID: "c1", Name: "calc"}}, finish: llm.FinishCalls},
		{name: "cut by the limit", body: sse(message, hel, incomplete("max_output_tokens")), text: "Hel", finish: llm.FinishLength},
		{name: "withheld", body: sse(message, hel, incomplete("content_filter")), text: "Hel", finish: llm.FinishFilter},
		{
			name: "cut inside a call", finish: llm.FinishLength, calls: append(one[:1:1], llm.ToolCall{ID: "c2", Name: "calc", Arguments: `{"e"`, Cut: true}),
			body: sse(called, `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"calc","arguments":"{\"e\":1}","status":"completed"}}`,
				`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c2","name":"calc","arguments":"{\"e\"","status":"incomplete"}}`, incomplete("max_output_tokens")),
		},
		{name: "cut before the arguments", body: sse(called, incomplete("max_output_tokens")), calls: []llm.ToolCall{{ID: "c1", Name: "calc", Cut: true}}, finish: llm.FinishLength},
		{name: "nothing", body: sse(completed), finish: llm.FinishStop},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := read(t, test.body)
			if got.err != nil || got.reply == nil {
				t.Fatalf("no reply: %v", got.err)
			}
			if got.text != test.text || got.reply.Message.Text() != test.text || got.reasoning != test.reasoning || got.reply.Finish != test.finish {
				t.Errorf("%q, %q, %+v", got.text, got.reasoning, got.reply)
			}
			if diff := cmp.Diff(test.calls, got.reply.Message.Calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// What goes back is taken from where it is final, and what is counted from the
// end.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	got := read(t, sse(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"unfinished"}}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed","status":"completed"}}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_1","phase":"commentary","content":[]}}`,
		`{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"Let me see."}`, completed,
	))
	if got.err != nil {
		t.Fatal(got.err)
	}
	said := llm.Text("Let me see.")
	said.Opaque = &llm.Opaque{Vendor: "openai", Data: json.RawMessage(`{"phase":"commentary"}`)}
	want := &llm.Reply{
		ID: "resp_1", Model: "gpt-x-2026-01-01", Finish: llm.FinishStop, Usage: llm.Usage{Input: 9, Cached: 4, CacheWrite: 3, Output: 5, Reasoning: 2},
		Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.KindReasoning, Opaque: &llm.Opaque{Vendor: "openai", Data: json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed"}`)}},
			said,
		}},
	}
	if diff := cmp.Diff(want, got.reply); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// No byte is one at which a part of an answer passes for all of it.
func TestNoPartOfAnAnswerPassesForAllOfIt(t *testing.T) {
	t.Parallel()
	whole := sse(message, hel, lo, strings.ReplaceAll(called, `"output_index":0`, `"output_index":1`),
		`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"e\":1}"}`, completed)
	end := strings.LastIndex(whole, "}") + 1
	for i := range len(whole) + 1 {
		got := read(t, whole[:i])
		if i < end {
			if got.err == nil || got.reply != nil {
				t.Errorf("%d bytes: %+v, %v", i, got.reply, got.err)
			}
		} else if got.err != nil || got.text != "Hello" || len(got.reply.Message.Calls()) != 1 {
			t.Errorf("%d bytes: %+v, %v", i, got.reply, got.err)
		}
	}
}

// Whatever comes, an answer ends with a reply or a failure, and the reply says
// what was streamed.
func FuzzRead(f *testing.F) {
	f.Add(sse(message, hel, lo, completed))
	f.Add(sse(called, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"e\""}`, incomplete("max_output_tokens")))
	f.Add(message + hel + completed)
	f.Fuzz(func(t *testing.T, body string) {
		got := read(t, body)
		if (got.err == nil) != (got.reply != nil) {
			t.Fatalf("%+v, %v", got.reply, got.err)
		}
		if got.reply != nil && got.reply.Message.Text() != got.text {
			t.Fatalf("streamed %q, holds %q", got.text, got.reply.Message.Text())
		}
	})
}

// BenchmarkRead reads a stream of 500 pieces; divide by them.
func BenchmarkRead(b *testing.B) {
	events := []string{message}
	for i := range 500 {
		events = append(events, fmt.Sprintf(`{"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_0123456789abcdef","output_index":0,"content_index":0,"delta":" word%d","logprobs":[],"obfuscation":"a1b2c3"}`, i, i%10))
	}
	stream := sse(append(events, completed)...)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		_, watch := provider.Limits{}.Watch(b.Context())
		resp := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(stream))}
		whole := false
		err := Reader{}.Read(resp, watch, func(e llm.Event, _ error) bool { whole = e.Type == llm.EventDone; return true })
		watch.Stop()
		if err != nil || !whole {
			b.Fatal(err)
		}
	}
}

// A reply is bounded in the number of its items, too.
func TestTooManyItems(t *testing.T) {
	t.Parallel()
	item := `{"type":"function_call","call_id":"c","name":"a"}`
	got := read(t, `{"object":"response","status":"completed","output":[`+strings.Repeat(item+",", 100_000)+item+`]}`)
	if !errors.Is(got.err, provider.ErrHuge) {
		t.Error(got.err)
	}
}
