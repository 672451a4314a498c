package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

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
		Target: llm.Target{Provider: "claude", Model: "claude-sonnet-5-5", Tools: true}, Static: "Be short.",
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

// deltas are events in the form of the cases: {"event": …, …}.
func deltas(list ...string) fakellm.Answer {
	var a fakellm.Answer
	for _, d := range list {
		a.Deltas = append(a.Deltas, json.RawMessage(d))
	}
	return a
}

// sse is a stream of events with these data, each in a write of its own.
func sse(data ...string) fakellm.Answer {
	var a fakellm.Answer
	for _, d := range data {
		a.Raw = append(a.Raw, "event: x\ndata: "+d+"\n\n")
	}
	return a
}

func calls(list ...llm.ToolCall) []llm.ToolCall { return list }

const (
	evStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5-5-20260928","content":[],"stop_reason":null,"usage":{"input_tokens":9,"output_tokens":1}}}`
	evText  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	evHel   = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}`
	evLo    = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}`
	evClose = `{"type":"content_block_stop","index":0}`
	evStop  = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`
	evEnd   = `{"type":"message_stop"}`
	evPing  = `{"type":"ping"}`
)

func stopped(reason string) string { return strings.Replace(evStop, "end_turn", reason, 1) }

func TestAnswers(t *testing.T) {
	t.Parallel()
	full := &fakellm.Usage{Input: 100, Cached: 60, CacheWrite: 30, Output: 7, Reasoning: 3}
	fullUsage := llm.Usage{Input: 100, Cached: 60, CacheWrite: 30, Output: 7, Reasoning: 3}
	helloUsage := llm.Usage{Input: 9, Output: 2}
	useA := `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"tu1","name":"file_write","input":{}}}`
	piece := func(index, text string) string {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":` + string(quoted) + `}}`
	}
	for _, test := range []struct {
		name      string
		answer    fakellm.Answer
		text      string
		reasoning string
		calls     []llm.ToolCall
		finish    llm.Finish
		usage     llm.Usage
	}{
		{name: "text", answer: fakellm.Answer{Text: "Hello 界", Pieces: 2, Usage: full}, text: "Hello 界", finish: llm.FinishStop, usage: fullUsage},
		{
			name:   "thinking, text and calls",
			answer: fakellm.Answer{Reasoning: "Look first.", Text: "Let me see.", Pieces: 3, Calls: []fakellm.Call{fakellm.Use("file_read", `{"path":"a.txt"}`), fakellm.Use("datetime", ``)}},
			text:   "Let me see.", reasoning: "Look first.", finish: llm.FinishCalls,
			calls: calls(llm.ToolCall{ID: "call-1_0", Name: "file_read", Arguments: `{"path":"a.txt"}`}, llm.ToolCall{ID: "call-1_1", Name: "datetime", Arguments: "{}"}),
		},
		{
			name:   "a whole document for a stream",
			answer: fakellm.Answer{Whole: true, Text: "Hello", Reasoning: "hm", Calls: []fakellm.Call{fakellm.Use("file_read", `{"path":"a"}`), fakellm.Use("datetime", `{}`)}, Usage: full},
			text:   "Hello", reasoning: "hm", finish: llm.FinishCalls, usage: fullUsage,
			calls: calls(llm.ToolCall{ID: "call-1_0", Name: "file_read", Arguments: `{"path":"a"}`}, llm.ToolCall{ID: "call-1_1", Name: "datetime", Arguments: "{}"}),
		},
		{name: "a whole document without a reason", answer: fakellm.Answer{Whole: true, Text: "Hello", Finish: "none"}, text: "Hello", finish: llm.FinishStop},
		{
			name:   "a document behind a byte order mark",
			answer: fakellm.Answer{Raw: []string{"\xEF\xBB\xBF", ` {"type":"message","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn"}`}},
			text:   "Hello", finish: llm.FinishStop,
		},
		{name: "no end mark", answer: sse(evStart, evText, evHel, evLo, evClose, evStop), text: "Hello", finish: llm.FinishStop, usage: helloUsage},
		{name: "an end mark of another wire", answer: sse(evStart, evText, evHel, evLo, evClose, evStop, "[DONE]"), text: "Hello", finish: llm.FinishStop, usage: helloUsage},
		{name: "pings and unknown events", answer: sse(evStart, evPing, evText, evHel, `{"type":"from_the_future","index":0,"delta":{"text":"x"}}`, evLo, evClose, evStop, evEnd), text: "Hello", finish: llm.FinishStop, usage: helloUsage},
		{
			name: "unknown blocks and deltas",
			answer: sse(evStart, evText, evHel,
				`{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"q\""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"cited_text":"x"}}}`,
				`{"type":"content_block_stop","index":1}`, evLo, evClose, evStop, evEnd),
			text: "Hello", finish: llm.FinishStop, usage: helloUsage,
		},
		{name: "a block that never began", answer: sse(evStart, evHel, evLo, evStop, evEnd), text: "Hello", finish: llm.FinishStop, usage: helloUsage},
		{name: "a block that began twice", answer: sse(evStart, evText, evText, evHel, evLo, evClose, evStop, evEnd), text: "Hello", finish: llm.FinishStop, usage: helloUsage},
		{name: "a text that came with its beginning", answer: sse(evStart, strings.Replace(evText, `"text":""`, `"text":"Hel"`, 1), evLo, evClose, evStop, evEnd), text: "Hello", finish: llm.FinishStop, usage: helloUsage},
		{
			name: "CRLF, comments, no event names, no space",
			answer: fakellm.Answer{Raw: []string{
				": keep alive\r\n\r\n", "data:" + evStart + "\r\n\r\ndata:" + evText + "\r\n\r\n", "data: ping\r\n\r\n", "data: " + evHel + "\r\n\r\n",
				"data:\r\n\r\n", "data: " + evLo + "\r\n\r\ndata: " + evStop + "\r\n\r\n", "data: " + evEnd + "\r\n\r\n",
			}},
			text: "Hello", finish: llm.FinishStop, usage: helloUsage,
		},
		{
			name: "events cut anywhere",
			answer: fakellm.Answer{Raw: []string{
				"event: mess", "age_start\nda", "ta: " + evStart[:40], evStart[40:] + "\n", "\ndata: " + evHel + "\n\ndata: " + evLo + "\n\ndata: " + evStop + "\n\ndata: " + evEnd,
			}},
			text: "Hello", finish: llm.FinishStop, usage: helloUsage,
		},
		{
			// TC-036
			name: "a letter cut between two writes, in text and arguments",
			answer: fakellm.Answer{RawBytes: [][]byte{
				[]byte("data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xe7"), []byte("\x95\x8c\"}}\n\ndata: " + strings.Replace(useA, `"index":0`, `"index":1`, 1) + "\n\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"partial_json\":\"{\\\"content\\\":\\\"\xe7\x95"),
				[]byte("\x8c\\\"}\"}}\n\ndata: " + stopped("tool_use") + "\n\ndata: " + evEnd + "\n\n"),
			}},
			text: "界", finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "tu1", Name: "file_write", Arguments: `{"content":"界"}`}), usage: llm.Usage{Output: 2},
		},
		{
			name: "letters cut between two deltas",
			answer: fakellm.Answer{RawBytes: [][]byte{
				[]byte("data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"\xe7\x95\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"\x8c\\ud83d\"}}\n\n"),
				[]byte("data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"\\ude00 \xe7\"}}\n\ndata: " + evStop + "\n\n"),
			}},
			text: "界😀 \uFFFD", finish: llm.FinishStop, usage: llm.Usage{Output: 2},
		},
		{name: "nothing", answer: fakellm.Answer{}, finish: llm.FinishStop},
		{name: "cut by the limit", answer: fakellm.Answer{Text: "Hel", Finish: "length"}, text: "Hel", finish: llm.FinishLength},
		{name: "the window is full", answer: sse(evStart, evText, evHel, evClose, stopped("model_context_window_exceeded"), evEnd), text: "Hel", finish: llm.FinishLength, usage: helloUsage},
		{name: "refused", answer: fakellm.Answer{Text: "Hel", Finish: "filter"}, text: "Hel", finish: llm.FinishFilter},
		{name: "a stop sequence", answer: sse(evStart, evText, evHel, evClose, stopped("stop_sequence"), evEnd), text: "Hel", finish: llm.FinishStop, usage: helloUsage},
		{name: "a pause", answer: sse(evStart, evText, evHel, evClose, stopped("pause_turn"), evEnd), text: "Hel", finish: llm.FinishStop, usage: helloUsage},
		{name: "a reason from the future", answer: sse(evStart, evText, evHel, evClose, stopped("tired"), evEnd), text: "Hel", finish: llm.FinishStop, usage: helloUsage},
		{
			name: "TC-044 no arguments",
			answer: deltas(`{"event":"content_block_start","content_block":{"type":"tool_use","id":"tu1","name":"datetime","input":{}}}`,
				`{"event":"content_block_delta","delta":{"type":"input_json_delta","partial_json":""}}`, `{"event":"content_block_stop"}`,
				`{"event":"message_delta","delta":{"stop_reason":"tool_use"}}`),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "tu1", Name: "datetime", Arguments: "{}"}),
		},
		{
			name:   "two calls, interleaved and in pieces",
			answer: sse(evStart, useA, strings.NewReplacer(`"index":0`, `"index":1`, "tu1", "tu2").Replace(useA), piece("0", `{"a":`), piece("1", `{"b":`), piece("0", `1}`), piece("1", `2}`), stopped("tool_use"), evEnd),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "tu1", Name: "file_write", Arguments: `{"a":1}`}, llm.ToolCall{ID: "tu2", Name: "file_write", Arguments: `{"b":2}`}), usage: helloUsage,
		},
		{
			name:   "one index for two calls",
			answer: sse(evStart, useA, piece("0", `{"a":1}`), evClose, strings.Replace(useA, "tu1", "tu2", 1), piece("0", `{"b":2}`), evClose, stopped("tool_use"), evEnd),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "tu1", Name: "file_write", Arguments: `{"a":1}`}, llm.ToolCall{ID: "tu2", Name: "file_write", Arguments: `{"b":2}`}), usage: helloUsage,
		},
		{
			name:   "one id for two calls, and none",
			answer: sse(evStart, useA, evClose, strings.Replace(useA, `"index":0`, `"index":1`, 1), strings.NewReplacer(`"index":0`, `"index":2`, `"id":"tu1",`, "").Replace(useA), stopped("tool_use"), evEnd),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "tu1", Name: "file_write", Arguments: `{}`}, llm.ToolCall{ID: "tu1", Name: "file_write", Arguments: `{}`}, llm.ToolCall{Name: "file_write", Arguments: `{}`}), usage: helloUsage,
		},
		{
			name:   "arguments that came with the beginning",
			answer: sse(evStart, strings.Replace(useA, `"input":{}`, `"input": {"a": 1} `, 1), evClose, stopped("tool_use"), evEnd),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "tu1", Name: "file_write", Arguments: `{"a": 1}`}), usage: helloUsage,
		},
		{
			name: "TC-007 cut by the limit inside a call", answer: sse(evStart, useA, piece("0", `{"path":"a.txt","content":"half`), evClose, stopped("max_tokens"), evEnd),
			finish: llm.FinishLength, calls: calls(llm.ToolCall{ID: "tu1", Name: "file_write", Arguments: `{"path":"a.txt","content":"half`, Cut: true}), usage: helloUsage,
		},
		{
			name: "cut by the limit before the arguments", answer: sse(evStart, useA, evClose, stopped("max_tokens"), evEnd),
			finish: llm.FinishLength, calls: calls(llm.ToolCall{ID: "tu1", Name: "file_write", Cut: true}), usage: helloUsage,
		},
		{
			name: "cut by the limit behind a call", answer: sse(evStart, useA, evClose, strings.Replace(evText, `"index":0`, `"index":1`, 1), stopped("max_tokens"), evEnd),
			finish: llm.FinishLength, calls: calls(llm.ToolCall{ID: "tu1", Name: "file_write", Arguments: "{}"}), usage: helloUsage,
		},
		{
			name: "TC-006 cut although it says otherwise", answer: sse(evStart, useA, piece("0", `{"path": "a.txt"`), evClose, stopped("tool_use"), evEnd),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "tu1", Name: "file_write", Arguments: `{"path": "a.txt"`, Cut: true}), usage: helloUsage,
		},
		{
			name: "calls although it says end_turn", answer: sse(evStart, useA, evClose, evStop, evEnd),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "tu1", Name: "file_write", Arguments: "{}"}), usage: helloUsage,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answer)
			got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL, Key: "sk-ant-test-key"}), hello())
			if got.err != nil || got.reply == nil {
				t.Fatalf("no reply: %v", got.err)
			}
			if got.text != test.text || got.reply.Message.Text() != test.text {
				t.Errorf("streamed %q, holds %q, want %q", got.text, got.reply.Message.Text(), test.text)
			}
			if got.reasoning != test.reasoning {
				t.Errorf("reasoning %q, want %q", got.reasoning, test.reasoning)
			}
			if diff := cmp.Diff(test.calls, got.reply.Message.Calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got.reply.Finish != test.finish || got.reply.Usage != test.usage || got.reply.Target.Model != "claude-sonnet-5-5" {
				t.Errorf("%+v, usage %+v", got.reply, got.reply.Usage)
			}
			if last := got.events[len(got.events)-1]; last.Type != llm.EventDone {
				t.Errorf("the last event is %+v", last)
			}
		})
	}
}

// The parts of a reply stand in the order in which they came, and thinking
// keeps its signature.
func TestParts(t *testing.T) {
	t.Parallel()
	at := func(index, event string) string { return strings.Replace(event, `"index":0`, `"index":`+index, 1) }
	think := `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`
	sign := `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`
	s := fakellm.Start(t, sse(evStart,
		think, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"So"}}`, sign, sign, evClose,
		at("1", `{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"ZGF0YQ=="}}`), at("1", evClose),
		at("2", evText), at("2", evHel), at("2", evClose),
		at("3", think), at("3", sign), at("3", evClose),
		at("4", `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"tu1","name":"datetime","input":{}}}`), at("4", evClose),
		at("5", think), at("5", evClose),
		at("6", evText), at("6", evClose),
		stopped("tool_use"), evEnd))
	got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL}), hello())
	if got.err != nil {
		t.Fatal(got.err)
	}
	want := []llm.Part{thinking("So", "c2lnc2ln"), hidden("ZGF0YQ=="), llm.Text("Hel"), thinking("", "c2ln"), use("tu1", "datetime", "{}")}
	if diff := cmp.Diff(want, got.reply.Message.Parts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.reply.ID != "msg_1" || got.reply.Model != "claude-sonnet-5-5-20260928" {
		t.Errorf("%+v", got.reply)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	fails := func(status int, kind, message string) fakellm.Answer {
		return fakellm.Fail(status, `{"type":"error","error":{"type":"`+kind+`","message":"`+message+`"},"request_id":"req_011"}`)
	}
	withHeader := func(a fakellm.Answer, k, v string) fakellm.Answer { a.Header = map[string]string{k: v}; return a }
	withCode := func(status int, kind, code string) fakellm.Answer {
		return fakellm.Fail(status, `{"type":"error","error":{"type":"`+kind+`","message":"No.","details":{"error_code":"`+code+`"}}}`)
	}
	for _, test := range []struct {
		name    string
		answer  fakellm.Answer
		class   llm.Class
		message string // a part of it
		retry   time.Duration
	}{
		{"wrong key", fails(401, "authentication_error", "invalid x-api-key sk-ant-key-0123456789"), llm.ClassAuth, "invalid x-api-key ***", 0},
		{"no permission", fails(403, "permission_error", "Your API key does not have permission to use the specified resource."), llm.ClassAuth, "permission", 0},
		{"on hold", withCode(400, "invalid_request_error", "organization_on_hold"), llm.ClassAuth, "No.", 0},
		{"no credit", fails(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."), llm.ClassBilling, "credit balance", 0},
		{"unpaid", fails(402, "billing_error", "There's an issue with your billing."), llm.ClassBilling, "billing", 0},
		{"another's bill", withCode(402, "billing_error", "linked_organization_billing_unavailable"), llm.ClassBilling, "No.", 0},
		{"own limit", fails(400, "invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2027-01-01."), llm.ClassQuota, "usage limits", 0},
		{"spend limit", withHeader(withCode(429, "rate_limit_error", "enforced_spend_limit_reached"), "Retry-After", "5"), llm.ClassQuota, "No.", 5 * time.Second},
		{"PR-015 too long", fails(400, "invalid_request_error", "prompt is too long: 1200000 tokens > 1000000 maximum"), llm.ClassTooLong, "1200000", 0},
		{"too long with the answer", fails(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"), llm.ClassTooLong, "exceed", 0},
		{"too large", fails(413, "request_too_large", "Request exceeds the maximum size"), llm.ClassTooLong, "maximum size", 0},
		{"413 of a proxy", fakellm.Fail(413, ""), llm.ClassTooLong, "Request Entity Too Large", 0},
		{"no model", fails(404, "not_found_error", "model: claude-x"), llm.ClassNoModel, "model: claude-x", 0},
		{"404 of a wrong address", withHeader(fakellm.Fail(404, "404 page not found"), "Content-Type", "text/plain"), llm.ClassNoModel, "either the model or the address", 0},
		{"rate limit", withHeader(fails(429, "rate_limit_error", "This request would exceed your organization's rate limit of 50,000 input tokens per minute"), "Retry-After", "7"), llm.ClassOverloaded, "rate limit", 7 * time.Second},
		{"ramp limit", withHeader(withCode(429, "rate_limit_error", "ramp_limit_exceeded"), "Retry-After", "9"), llm.ClassOverloaded, "No.", 9 * time.Second},
		{"overloaded", fails(529, "overloaded_error", "Overloaded"), llm.ClassOverloaded, "Overloaded", 0},
		{"529 without a word", fakellm.Fail(529, ""), llm.ClassOverloaded, "", 0},
		{"503", fakellm.Fail(503, ""), llm.ClassOverloaded, "Service Unavailable", 0},
		{"500", fails(500, "api_error", "Internal server error"), llm.ClassNetwork, "Internal server error (request req_011)", 0},
		{"504", fails(504, "timeout_error", "Request timed out"), llm.ClassNetwork, "timed out", 0},
		{"502 as a page", withHeader(fakellm.Fail(502, "<html>\n<head><title>502 Bad Gateway</title></head><body>"+strings.Repeat("x", 5000)+"</body></html>"), "Content-Type", "text/html"), llm.ClassNetwork, "an HTML page instead of an answer: 502 Bad Gateway", 0},
		{"a bad request", withHeader(fakellm.Fail(400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0: bad"}}`), "Request-Id", "req_012"), llm.ClassBadRequest, "messages.0: bad (request req_012)", 0},
		{"409", fails(409, "conflict_error", "busy"), llm.ClassNetwork, "busy", 0},
		{"an error that is no object", fakellm.Fail(400, `{"error":"just words"}`), llm.ClassBadRequest, "just words", 0},
		{"a message alone", fakellm.Fail(400, `{"message":"just words"}`), llm.ClassBadRequest, "just words", 0},
		{"an error that is no JSON", fakellm.Fail(418, `{"error":`), llm.ClassUnknown, "error", 0},
		{"a long message", fails(400, "invalid_request_error", strings.Repeat("é ", 1000)), llm.ClassBadRequest, "é é", 0},

		{"overloaded in the stream", sse(evStart, evText, evHel, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), llm.ClassOverloaded, "Overloaded", 0},
		{"a request that is named by the key", withHeader(fakellm.Fail(500, ""), "Request-Id", "my-key-0123456789"), llm.ClassNetwork, "(request ***)", 0},
		{"an error in the stream", sse(evStart, `{"type":"error","error":{"type":"api_error","message":"Internal server error"},"request_id":"req_013"}`), llm.ClassNetwork, "(request req_013)", 0},
		{"an error of another form in the stream", sse(`{"error":{"message":"upstream gone"}}`), llm.ClassUnknown, "upstream gone", 0},
		{"a bad request in the stream", sse(`{"type":"error","error":{"type":"invalid_request_error","message":"No."}}`), llm.ClassBadRequest, "No.", 0},
		{"an error for a document", fakellm.Answer{Raw: []string{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}}, llm.ClassOverloaded, "Overloaded", 0},
		{"a document of something else", fakellm.Answer{Raw: []string{`{"message":"hello"}`}}, llm.ClassUnknown, "not in Anthropic's format", 0},
		{"a document of another wire", fakellm.Answer{Raw: []string{`{"choices":[{"message":{"content":"Hel"}}]}`}}, llm.ClassUnknown, "not in Anthropic's format", 0},
		{"a cut document", fakellm.Answer{Raw: []string{`{"type":"message","content":[{"type":"text","text":"Hel`}}, llm.ClassNetwork, "broke off", 0},
		{"a list", fakellm.Answer{Raw: []string{`[]`}}, llm.ClassUnknown, "not in Anthropic's format", 0},
		{"a page with status 200", withHeader(fakellm.Answer{Raw: []string{"<!DOCTYPE html><title>Sign in</title>"}}, "Content-Type", "text/html"), llm.ClassUnknown, "an HTML page instead of an answer: Sign in", 0},
		{"words with status 200", withHeader(fakellm.Answer{Raw: []string{"everything is fine"}}, "Content-Type", "text/plain"), llm.ClassUnknown, "everything is fine", 0},
		{"an empty body", fakellm.Answer{Raw: []string{""}}, llm.ClassNetwork, "broke off", 0},
		{"no reason", sse(evStart, evText, evHel, evLo, evClose), llm.ClassNetwork, "broke off", 0},
		{"no reason before the end mark", sse(evStart, evText, evHel, evLo, evClose, evEnd), llm.ClassNetwork, "broke off", 0},
		{"a broken piece", sse(evStart, evText, evHel[:50], evStop, evEnd), llm.ClassNetwork, "not valid JSON", 0},
		{"reset before the header", fakellm.Answer{Break: "before"}, llm.ClassNetwork, "", 0},
		{"reset in the middle", fakellm.Answer{Text: "Hel", Break: "middle"}, llm.ClassNetwork, "broke off", 0},
		{"a redirect elsewhere", withHeader(fakellm.Answer{Status: 307, Body: " "}, "Location", "http://127.0.0.1:1/v1/messages"), llm.ClassNetwork, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answer)
			got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL, Key: "sk-ant-key-0123456789", Headers: map[string]string{"X-Mine": "my-key-0123456789"}}), hello())
			var e *llm.Error
			if !errors.As(got.err, &e) {
				t.Fatalf("%v, %+v", got.err, got.reply)
			}
			if e.Class != test.class || !strings.Contains(e.Message, test.message) || e.RetryAfter != test.retry {
				t.Errorf("class %s, message %q, retry after %s", e.Class, e.Message, e.RetryAfter)
			}
			if e.Target.Provider != "claude" || strings.Contains(e.Error(), "0123456789") || len([]rune(e.Message)) > 320 {
				t.Errorf("%+v", e)
			}
			if got.reply != nil || len(s.Requests()) != 1 {
				t.Errorf("a reply in spite of it, or %d requests", len(s.Requests()))
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	for base, message := range map[string]string{
		"http://127.0.0.1:1":           "connection refused",
		"http://no-such-host.invalid/": "no-such-host.invalid",
	} {
		got := ask(t.Context(), open(t, provider.Settings{BaseURL: base}), hello())
		var e *llm.Error
		if !errors.As(got.err, &e) || e.Class != llm.ClassNetwork || !strings.Contains(e.Message, message) {
			t.Errorf("%s: %v", base, got.err)
		}
	}
	if _, err := Open(provider.Settings{BaseURL: "nonsense"}); err == nil {
		t.Error("an address that is none was taken")
	}
}

// What is sent besides the body: the key, the headers that were asked for, and
// nothing of the machine.
func TestHeaders(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "from-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "from-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-From: the-environment")
	s := fakellm.Start(t, fakellm.Text("a"), fakellm.Text("b"))
	for _, settings := range []provider.Settings{
		{BaseURL: s.URL, Key: "sk-mine", Headers: map[string]string{"X-Title": "mine"}},
		{BaseURL: s.Base() + "/messages/"},
	} {
		if got := ask(t.Context(), open(t, settings), hello()); got.err != nil {
			t.Fatal(got.err)
		}
	}
	with, without := s.Requests()[0], s.Requests()[1]
	if with.Path != "/v1/messages" || with.Header.Get("X-Api-Key") != "sk-mine" || with.Header.Get("X-Title") != "mine" || with.Header.Get("Anthropic-Version") != "2026-10-21" {
		t.Errorf("%s %v", with.Path, with.Header)
	}
	if without.Path != "/v1/messages" || without.Header.Get("X-Api-Key") != "" {
		t.Errorf("a key that nobody configured: %s %v", without.Path, without.Header)
	}
	for name, values := range with.Header {
		switch name {
		case "Accept", "Accept-Encoding", "Anthropic-Version", "Content-Length", "Content-Type", "X-Api-Key", "X-Title", "User-Agent":
		default:
			t.Errorf("%s: %q is sent", name, values)
		}
	}
	if string(with.Body) != string(without.Body) {
		t.Error("the bodies of equal requests differ")
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := fakellm.StartScript(t, fakellm.Script{Models: []string{"claude-a", "claude-b"}})
	got, err := open(t, provider.Settings{BaseURL: s.URL}).List(t.Context())
	if err != nil || !cmp.Equal(got, []string{"claude-a", "claude-b"}) {
		t.Errorf("%v, %v", got, err)
	}
	var e *llm.Error
	if _, err := open(t, provider.Settings{BaseURL: "http://127.0.0.1:1"}).List(t.Context()); !errors.As(err, &e) || e.Class != llm.ClassNetwork {
		t.Errorf("no server: %v", err)
	}
	for _, test := range []struct {
		status        int
		body, message string
		class         llm.Class
	}{
		{200, "", (&provider.Foreign{Vendor: whose}).Error(), llm.ClassUnknown},
		{200, "<html></html>", (&provider.Foreign{Vendor: whose, Body: []byte("<html></html>")}).Error(), llm.ClassUnknown},
		{200, `{"models":`, (&provider.Foreign{Vendor: whose, Body: []byte(`{"models":`)}).Error(), llm.ClassUnknown},
		{401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, "invalid x-api-key", llm.ClassAuth},
		{401, "", "Unauthorized", llm.ClassAuth},
	} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}))
		_, err := open(t, provider.Settings{BaseURL: other.URL}).List(t.Context())
		if !errors.As(err, &e) || e.Class != test.class || e.Message != test.message {
			t.Errorf("%q: %v", test.body, err)
		}
		other.Close()
	}
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		piece := strings.Repeat(" ", 1<<20)
		for {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	if _, err := open(t, provider.Settings{BaseURL: endless.URL}).List(t.Context()); !errors.As(err, &e) || e.Class != llm.ClassUnknown {
		t.Errorf("a list without an end: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, provider.Settings{BaseURL: s.URL}).List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}

// The error's cause can be followed to what the connection said.
func TestCauses(t *testing.T) {
	t.Parallel()
	s := fakellm.Start(t, fakellm.Answer{Text: "Hel", Break: "middle"})
	got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL}), hello())
	if errors.Unwrap(got.err) == nil || errors.Is(got.err, io.EOF) {
		t.Errorf("%#v", got.err)
	}
}
