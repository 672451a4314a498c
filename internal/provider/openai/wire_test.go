package openai

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

// open returns a client of the server at base, made as the program makes it.
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
		Target: llm.Target{Provider: "openai", Model: "gpt-x", Tools: true}, Static: "Be short.",
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

// deltas are chunks in the form of the cases: {"delta": …, "finish": …}.
func deltas(list ...string) fakellm.Answer {
	var a fakellm.Answer
	for _, d := range list {
		a.Deltas = append(a.Deltas, json.RawMessage(d))
	}
	return a
}

func calls(parts ...llm.ToolCall) []llm.ToolCall { return parts }

// sse is a stream of events with these data, each in a write of its own.
func sse(data ...string) fakellm.Answer {
	var a fakellm.Answer
	for _, d := range data {
		a.Raw = append(a.Raw, "data: "+d+"\n\n")
	}
	return a
}

const (
	chunkHel   = `{"id":"x","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}`
	chunkLo    = `{"id":"x","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}`
	chunkStop  = `{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	chunkUsage = `{"id":"x","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	usage := &fakellm.Usage{Input: 9, Cached: 4, Output: 2, Reasoning: 1}
	helloUsage := llm.Usage{Input: 9, Output: 2}
	for _, test := range []struct {
		name      string
		answer    fakellm.Answer
		text      string
		reasoning string
		calls     []llm.ToolCall
		finish    llm.Finish
		usage     llm.Usage
	}{
		{
			name:   "text",
			answer: fakellm.Answer{Text: "Hello 界", Pieces: 2, Usage: usage},
			text:   "Hello 界", finish: llm.FinishStop, usage: llm.Usage{Input: 9, Cached: 4, Output: 2, Reasoning: 1},
		},
		{
			name:   "reasoning, text and calls",
			answer: fakellm.Answer{Reasoning: "Look first.", Text: "Let me see.", Pieces: 3, Calls: []fakellm.Call{fakellm.Use("file_read", `{"path":"a.txt"}`), fakellm.Use("datetime", ``)}},
			text:   "Let me see.", reasoning: "Look first.", finish: llm.FinishCalls,
			calls: calls(llm.ToolCall{ID: "call-1_0", Name: "file_read", Arguments: `{"path":"a.txt"}`}, llm.ToolCall{ID: "call-1_1", Name: "datetime"}),
		},
		{
			name:   "a whole document for a stream",
			answer: fakellm.Answer{Whole: true, Text: "Hello", Reasoning: "hm", Calls: []fakellm.Call{fakellm.Use("datetime", `{}`)}, Usage: usage},
			text:   "Hello", reasoning: "hm", finish: llm.FinishCalls,
			calls: calls(llm.ToolCall{ID: "call-1_0", Name: "datetime", Arguments: "{}"}), usage: llm.Usage{Input: 9, Cached: 4, Output: 2, Reasoning: 1},
		},
		{name: "a whole document without a finish reason", answer: fakellm.Answer{Whole: true, Text: "Hello", Finish: "none"}, text: "Hello", finish: llm.FinishStop},
		{
			name:   "a document behind a byte order mark",
			answer: fakellm.Answer{Raw: []string{"\xEF\xBB\xBF", `{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}]}`}},
			text:   "Hello", finish: llm.FinishStop,
		},
		{name: "no end mark", answer: sse(chunkHel, chunkLo, chunkStop), text: "Hello", finish: llm.FinishStop},
		{name: "usage and no end mark", answer: sse(chunkHel, chunkLo, chunkStop, chunkUsage), text: "Hello", finish: llm.FinishStop, usage: helloUsage},
		{
			name:   "no line end at the end",
			answer: fakellm.Answer{Raw: []string{"data: " + chunkHel + "\n\n", "data: " + chunkStop + "\n\ndata: [DONE]"}},
			text:   "Hel", finish: llm.FinishStop,
		},
		{
			name: "CRLF, comments, other fields, no space",
			answer: fakellm.Answer{Raw: []string{
				": keep alive\r\n\r\n", "event: message\r\nid: 7\r\ndata:" + chunkHel + "\r\n\r\n", "data: ping\r\n\r\n", "data: " + chunkLo + "\r\n\r\n",
				"data:\r\n\r\n", "data: " + chunkStop + "\r\n\r\n", "data: [DONE]\r\n\r\n",
			}},
			text: "Hello", finish: llm.FinishStop,
		},
		{
			name: "white space around the data",
			answer: fakellm.Answer{Raw: []string{
				"data:  " + chunkHel + "\n\n", "data:\t" + chunkLo + " \n\n", "data: " + chunkStop + "\n\n", "data: [DONE] \n\n", "data: " + chunkLo + "\n\n",
			}},
			text: "Hello", finish: llm.FinishStop,
		},
		{
			name:   "no empty lines between events",
			answer: fakellm.Answer{Raw: []string{"data: " + chunkHel + "\ndata: " + chunkLo + "\n", "data: " + chunkStop + "\ndata: [DONE]\n"}},
			text:   "Hello", finish: llm.FinishStop,
		},
		{
			name:   "bare documents, one a line",
			answer: fakellm.Answer{Raw: []string{chunkHel + "\n" + chunkLo + "\n", chunkStop + "\n" + chunkUsage + "\n"}},
			text:   "Hello", finish: llm.FinishStop, usage: helloUsage,
		},
		{
			name: "an event in several lines and several writes",
			answer: fakellm.Answer{Raw: []string{
				"da", "ta: {\"choices\":\ndata: [{\"delta\":{\"content\":\"He", "llo\"}}]}\n", "\ndata: " + chunkStop + "\n\n",
			}},
			text: "Hello", finish: llm.FinishStop,
		},
		{
			// TC-036
			name: "a letter cut between two writes, in text and arguments",
			answer: fakellm.Answer{RawBytes: [][]byte{
				[]byte("data: {\"choices\":[{\"delta\":{\"content\":\"\xe7"), []byte("\x95\x8c\",\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"file_write\",\"arguments\":\"{\\\"content\\\":\\\"\xe7\x95"),
				[]byte("\x8c\\\"}\"}}]}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"),
			}},
			text: "界", finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "c1", Name: "file_write", Arguments: `{"content":"界"}`}),
		},
		{
			name:   "a letter cut between two deltas",
			answer: fakellm.Answer{RawBytes: [][]byte{[]byte("data: {\"choices\":[{\"delta\":{\"content\":\"\xe7\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"\x95\x8c!\"},\"finish_reason\":\"stop\"}]}\n\n")}},
			text:   "界!", finish: llm.FinishStop,
		},
		{name: "nothing", answer: fakellm.Answer{}, finish: llm.FinishStop},
		{name: "TC-042 an empty answer", answer: deltas(`{"delta":{"content":""}}`, `{"finish":"stop"}`), finish: llm.FinishStop},
		{name: "cut by the limit", answer: fakellm.Answer{Text: "Hel", Finish: "length"}, text: "Hel", finish: llm.FinishLength},
		{name: "withheld", answer: fakellm.Answer{Text: "Hel", Finish: "filter"}, text: "Hel", finish: llm.FinishFilter},
		{
			name: "TC-001 no arguments", answer: deltas(`{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"datetime","arguments":""}}]}}`, `{"finish":"tool_calls"}`),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "c1", Name: "datetime"}),
		},
		{
			name: "TC-006 cut arguments", answer: deltas(`{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"file_read","arguments":"{\"path\": \"a.txt\""}}]}}`, `{"finish":"tool_calls"}`),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "c1", Name: "file_read", Arguments: `{"path": "a.txt"`, Cut: true}),
		},
		{
			name: "TC-007 cut by the limit", answer: deltas(`{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"file_write","arguments":"{\"path\":\"a.txt\",\"content\":\"half"}}]}}`, `{"finish":"length"}`),
			finish: llm.FinishLength, calls: calls(llm.ToolCall{ID: "c1", Name: "file_write", Arguments: `{"path":"a.txt","content":"half`, Cut: true}),
		},
		{
			name: "TC-009 single quotes", answer: deltas(`{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"file_read","arguments":"{'path': 'a.txt'}"}}]}}`, `{"finish":"tool_calls"}`),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "c1", Name: "file_read", Arguments: `{'path': 'a.txt'}`}),
		},
		{
			name: "TC-010 encoded twice", answer: deltas(`{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"file_read","arguments":"\"{\\\"path\\\":\\\"a.txt\\\"}\""}}]}}`, `{"finish":"tool_calls"}`),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "c1", Name: "file_read", Arguments: `"{\"path\":\"a.txt\"}"`}),
		},
		{
			name:   "TC-022 one id twice",
			answer: deltas(`{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"calc","arguments":"{\"expression\":\"1+1\"}"}},{"index":1,"id":"c1","function":{"name":"calc","arguments":"{\"expression\":\"2+2\"}"}}]}}`, `{"finish":"tool_calls"}`),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "c1", Name: "calc", Arguments: `{"expression":"1+1"}`}, llm.ToolCall{ID: "c1", Name: "calc", Arguments: `{"expression":"2+2"}`}),
		},
		{
			name: "TC-024 no id", answer: deltas(`{"delta":{"tool_calls":[{"index":0,"function":{"name":"datetime","arguments":"{}"}}]}}`, `{"finish":"tool_calls"}`),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{Name: "datetime", Arguments: "{}"}),
		},
		{
			name: "TC-030 arguments in three pieces",
			answer: deltas(`{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"file_read","arguments":"{\"pa"}}]}}`,
				`{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"th\":\"a.t"}}]}}`, `{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"xt\"}"}}]}}`, `{"finish":"tool_calls"}`),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "c1", Name: "file_read", Arguments: `{"path":"a.txt"}`}),
		},
		{
			name: "TC-031 two calls interleaved",
			answer: deltas(`{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"calc","arguments":"{\"expression\":"}}]}}`,
				`{"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"calc","arguments":"{\"expression\":"}}]}}`,
				`{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"1+1\"}"}}]}}`, `{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"\"2+2\"}"}}]}}`, `{"finish":"tool_calls"}`),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "c1", Name: "calc", Arguments: `{"expression":"1+1"}`}, llm.ToolCall{ID: "c2", Name: "calc", Arguments: `{"expression":"2+2"}`}),
		},
		{
			name: "TC-039 content null", answer: deltas(`{"delta":{"content":null,"tool_calls":[{"index":0,"id":"c1","function":{"name":"datetime","arguments":"{}"}}]}}`, `{"finish":"tool_calls"}`),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "c1", Name: "datetime", Arguments: "{}"}),
		},
		{
			name: "TC-041 a call as text", answer: deltas(`{"delta":{"content":"<tool_call>{\"name\":\"calc\"}</tool_call>"}}`, `{"finish":"stop"}`),
			text: `<tool_call>{"name":"calc"}</tool_call>`, finish: llm.FinishStop,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answer)
			got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.Base(), Key: "sk-test-key"}), hello())
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
			if got.reply.Finish != test.finish || got.reply.Usage != test.usage || got.reply.Target.Model != "gpt-x" {
				t.Errorf("%+v", got.reply)
			}
			if last := got.events[len(got.events)-1]; last.Type != llm.EventDone {
				t.Errorf("the last event is %+v", last)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	withHeader := func(a fakellm.Answer, k, v string) fakellm.Answer { a.Header = map[string]string{k: v}; return a }
	for _, test := range []struct {
		name    string
		answer  fakellm.Answer
		class   llm.Class
		message string // a part of it
		retry   time.Duration
	}{
		{"401", fakellm.Fail(401, `{"error":{"message":"Incorrect API key provided: sk-test-key-0123456789.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`), llm.ClassAuth, "Incorrect API key provided: ***", 0},
		{"403", fakellm.Fail(403, `{"error":{"message":"Country not supported"}}`), llm.ClassAuth, "Country", 0},
		{"402", fakellm.Fail(402, `{"error":{"message":"Insufficient Balance"}}`), llm.ClassBilling, "Insufficient Balance", 0},
		{"404", fakellm.Fail(404, `{"error":{"message":"The model gpt-x does not exist","code":"model_not_found"}}`), llm.ClassNoModel, "does not exist", 0},
		{"404 of a wrong address", withHeader(fakellm.Fail(404, "404 page not found"), "Content-Type", "text/plain"), llm.ClassNoModel, "either the model or the address", 0},
		{"context length", fakellm.Fail(400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`), llm.ClassTooLong, "8192", 0},
		{"413", fakellm.Fail(413, ""), llm.ClassTooLong, "Request Entity Too Large", 0},
		{"quota", withHeader(fakellm.Fail(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`), "Retry-After", "5"), llm.ClassQuota, "quota", 5 * time.Second},
		{"rate limit", withHeader(fakellm.Fail(429, `{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}`), "Retry-After", "7"), llm.ClassOverloaded, "Rate limit", 7 * time.Second},
		{"rate limit in milliseconds", withHeader(fakellm.Fail(429, `{}`), "Retry-After-Ms", "1500"), llm.ClassOverloaded, "{}", 1500 * time.Millisecond},
		{"503", fakellm.Fail(503, ""), llm.ClassOverloaded, "Service Unavailable", 0},
		{"529", fakellm.Fail(529, `{"error":{"message":"Overloaded"}}`), llm.ClassOverloaded, "Overloaded", 0},
		{"500", fakellm.Fail(500, `{"error":{"message":"oops","type":"server_error"}}`), llm.ClassNetwork, "oops", 0},
		{"502 as a page", withHeader(fakellm.Fail(502, "<html>\n<head><title>502 Bad Gateway</title></head><body>"+strings.Repeat("x", 5000)+"</body></html>"), "Content-Type", "text/html"), llm.ClassNetwork, "an HTML page instead of an answer: 502 Bad Gateway", 0},
		{"504", fakellm.Fail(504, ""), llm.ClassNetwork, "Gateway Timeout", 0},
		{"400", fakellm.Fail(400, `{"error":{"message":"bad things","type":"invalid_request_error"}}`), llm.ClassBadRequest, "bad things", 0},
		{"422", fakellm.Fail(422, `{"detail":[{"msg":"field required"}]}`), llm.ClassBadRequest, "field required", 0},
		{"error that is no object", fakellm.Fail(400, `{"error":"just words"}`), llm.ClassBadRequest, "just words", 0},
		{"error that is no JSON", fakellm.Fail(418, `{"error":`), llm.ClassUnknown, "error", 0},
		{"a long message", fakellm.Fail(400, `{"error":{"message":"`+strings.Repeat("é ", 1000)+`"}}`), llm.ClassBadRequest, "é é", 0},

		{"an error in the stream", sse(chunkHel, `{"error":{"message":"The server had an error while processing","type":"server_error"}}`), llm.ClassNetwork, "server had an error", 0},
		{"an error for a document", fakellm.Answer{Raw: []string{`{"error":{"message":"model is loading","code":503}}`}}, llm.ClassOverloaded, "loading", 0},
		{"a document of something else", fakellm.Answer{Raw: []string{`{"message":"hello"}`}}, llm.ClassUnknown, "not in OpenAI's format", 0},
		{"a cut document", fakellm.Answer{Raw: []string{`{"choices":[{"message":{"content":"Hel`}}, llm.ClassNetwork, "broke off", 0},
		{"a page with status 200", withHeader(fakellm.Answer{Raw: []string{"<!DOCTYPE html><title>Sign in</title>"}}, "Content-Type", "text/html"), llm.ClassUnknown, "an HTML page instead of an answer: Sign in", 0},
		{"words with status 200", withHeader(fakellm.Answer{Raw: []string{"everything is fine"}}, "Content-Type", "text/plain"), llm.ClassUnknown, "everything is fine", 0},
		{"an empty body", fakellm.Answer{Raw: []string{""}}, llm.ClassNetwork, "broke off", 0},
		{"blank lines", fakellm.Answer{Raw: []string{"\n\n\r\n"}}, llm.ClassNetwork, "broke off", 0},
		{"no finish reason", sse(chunkHel, chunkLo), llm.ClassNetwork, "broke off", 0},
		{"no finish reason before the end mark", sse(chunkHel, chunkLo, "[DONE]"), llm.ClassNetwork, "broke off", 0},
		{"the finish reason is an error", sse(chunkHel, `{"choices":[{"delta":{},"finish_reason":"error"}]}`), llm.ClassNetwork, "broke off", 0},
		{"a broken piece", sse(chunkHel, `{"choices":[{"delta":{"content":"lo"`, chunkStop), llm.ClassNetwork, "not valid JSON", 0},
		{"reset before the header", fakellm.Answer{Break: "before"}, llm.ClassNetwork, "", 0},
		{"reset in the middle", fakellm.Answer{Text: "Hel", Break: "middle"}, llm.ClassNetwork, "broke off", 0},
		{"closed in the middle", sse(chunkHel), llm.ClassNetwork, "broke off", 0},
		{"a redirect elsewhere", withHeader(fakellm.Answer{Status: 307, Body: " "}, "Location", "http://127.0.0.1:1/v1/chat/completions"), llm.ClassNetwork, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answer)
			got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.Base(), Key: "sk-test-key-0123456789"}), hello())
			var e *llm.Error
			if !errors.As(got.err, &e) {
				t.Fatalf("%v, %+v", got.err, got.reply)
			}
			if e.Class != test.class || !strings.Contains(e.Message, test.message) || e.RetryAfter != test.retry {
				t.Errorf("class %s, message %q, retry after %s", e.Class, e.Message, e.RetryAfter)
			}
			if e.Target.Provider != "openai" || strings.Contains(e.Error(), "0123456789") || len([]rune(e.Message)) > 300 {
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
		"http://127.0.0.1:1/v1":        "connection refused",
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
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OPENAI_ORG_ID", "org-from-the-environment")
	s := fakellm.Start(t, fakellm.Text("a"), fakellm.Text("b"))
	for _, settings := range []provider.Settings{
		{BaseURL: s.Base(), Key: "sk-mine", Headers: map[string]string{"X-Title": "mine"}},
		{BaseURL: s.Base()},
	} {
		if got := ask(t.Context(), open(t, settings), hello()); got.err != nil {
			t.Fatal(got.err)
		}
	}
	with, without := s.Requests()[0], s.Requests()[1]
	if with.Path != "/v1/chat/completions" || with.Header.Get("Authorization") != "Bearer sk-mine" || with.Header.Get("X-Title") != "mine" {
		t.Errorf("%s %v", with.Path, with.Header)
	}
	if without.Header.Get("Authorization") != "" {
		t.Errorf("a key that nobody configured: %v", without.Header)
	}
	for name, values := range with.Header {
		switch name {
		case "Accept", "Accept-Encoding", "Authorization", "Content-Length", "Content-Type", "X-Title", "User-Agent":
		default:
			t.Errorf("%s: %q is sent", name, values)
		}
	}
	if string(with.Body) != string(without.Body) {
		t.Error("the bodies of equal requests differ")
	}
}

// The query of an address goes with each request; Azure's older address, which
// has one, wants the key in a header of its own.
func TestAddressWithAQuery(t *testing.T) {
	t.Parallel()
	const query = "api-version=2024-10-21"
	for _, path := range []string{"/openai/deployments/d", "/openai/deployments/d/", "/openai/deployments/d/chat/completions"} {
		s := fakellm.Start(t, fakellm.Text("a"))
		m := open(t, provider.Settings{BaseURL: s.URL + path + "?" + query, Key: "sk-mine"})
		if got := ask(t.Context(), m, hello()); got.err != nil {
			t.Fatal(got.err)
		}
		if r := s.Requests()[0]; r.Path != "/openai/deployments/d/chat/completions" || r.Query != query || r.Header.Get("Authorization") != "Bearer sk-mine" {
			t.Errorf("%s: asked %s?%s with %v", path, r.Path, r.Query, r.Header)
		}
	}
	var listed string
	lists := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { listed = r.URL.RequestURI() }))
	defer lists.Close()
	_, _ = open(t, provider.Settings{BaseURL: lists.URL + "/v1?" + query}).List(t.Context())
	if listed != "/v1/models?"+query {
		t.Errorf("listed at %s", listed)
	}
	for base, want := range map[string]string{
		"https://x.openai.azure.com/openai/deployments/d?" + query: "Api-Key",
		"https://x.openai.azure.com/openai/v1":                     "Authorization",
		"https://api.openai.com/v1?" + query:                       "Authorization",
	} {
		var with http.Header
		m := newModel(provider.Settings{BaseURL: base, Key: "sk-mine"}, &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			with = r.Header
			return nil, errors.New("no")
		})})
		_ = ask(t.Context(), m, hello())
		for _, name := range []string{"Api-Key", "Authorization"} {
			if (with.Get(name) != "") != (name == want) {
				t.Errorf("%s: %s: %q", base, name, with.Get(name))
			}
		}
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that refuses a setting is asked again without it, once and for all.
func TestLessons(t *testing.T) {
	t.Parallel()
	half := 0.5
	req := hello()
	req.Temperature, req.Reasoning, req.MaxOutput, req.Choice = &half, "low", 100, llm.ChoiceNone
	req.Messages = append(req.Messages, assistant(use("toolu_1", "datetime", "{}")), results(result("toolu_1", "noon", false)))
	for _, test := range []struct {
		name, refusal string
		gone, there   string
	}{
		{"usage", `{"error":{"message":"Unrecognized request argument supplied: stream_options","param":null}}`, "stream_options", `"temperature"`},
		{"temperature", `{"error":{"message":"Unsupported value: 'temperature' does not support 0.5 with this model.","param":"temperature","code":"unsupported_value"}}`, `"temperature"`, "stream_options"},
		{"effort", `{"error":{"message":"Unrecognized request argument supplied: reasoning_effort","param":null}}`, "reasoning_effort", "stream_options"},
		{"effort with tools", `{"error":{"message":"Function tools with reasoning_effort are not supported for gpt-x in /v1/chat/completions.","param":"reasoning_effort","code":null}}`, `"low"`, `"reasoning_effort":"none"`},
		{"limit", `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model.","param":"max_tokens","code":"unsupported_parameter"}}`, `"max_tokens"`, `"max_completion_tokens":100`},
		{"choice", `{"detail":"extra fields not permitted: tool_choice"}`, "tool_choice", "stream_options"},
		{"choice as a list", `{"detail":[{"type":"extra_forbidden","loc":["body","tool_choice"],"msg":"Extra inputs are not permitted"}]}`, "tool_choice", "stream_options"},
		{"Groq's effort", "{\"error\":{\"message\":\"`reasoning_effort` must be one of `none` or `default`\",\"type\":\"invalid_request_error\"}}", "reasoning_effort", "stream_options"},
		{"xAI's effort", `{"error":"Model grok-4 does not support parameter reasoningEffort."}`, "reasoning_effort", "stream_options"},
		{"LM Studio's content", `{"error":"Invalid 'content': 'content' field must be a string or an array of objects. Got null."}`, `"content":null`, `"content":""`},
		{"Ollama's content", `{"error":{"message":"invalid message content type: <nil>"}}`, `"content":null`, `"content":""`},
		{"Mistral's ids", `{"object":"error","message":"Tool call id was toolu_1 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_function_call","param":null,"code":"3280"}`, `"toolu_1"`, `"tool_call_id":"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, fakellm.Fail(400, test.refusal), fakellm.Text("a"), fakellm.Text("b"))
			m := open(t, provider.Settings{BaseURL: s.Base()})
			for range 2 {
				if got := ask(t.Context(), m, req); got.err != nil {
					t.Fatal(got.err)
				}
			}
			sent := s.Requests()
			if !strings.Contains(string(sent[0].Body), test.gone) {
				t.Errorf("%s was not there: %s", test.gone, sent[0].Body)
			}
			for _, r := range sent[1:] {
				if strings.Contains(string(r.Body), test.gone) || !strings.Contains(string(r.Body), test.there) {
					t.Errorf("%s", r.Body)
				}
			}
		})
	}
	t.Run("reasoning has to go back", func(t *testing.T) {
		t.Parallel()
		s := fakellm.Start(t, fakellm.Fail(400, `{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}`), fakellm.Text("a"))
		m := open(t, provider.Settings{BaseURL: s.Base()})
		m.dialect.vendor = "" // as in the sample
		if got := ask(t.Context(), m, sample()); got.err != nil {
			t.Fatal(got.err)
		}
		if body := string(s.Requests()[1].Body); !strings.Contains(body, `"reasoning_content":"I should look."`) || !strings.Contains(body, `"reasoning_content":""`) {
			t.Error(body)
		}
	})
	t.Run("in vain", func(t *testing.T) {
		t.Parallel()
		refusal := fakellm.Fail(400, `{"error":{"message":"stream_options is not supported"}}`)
		s := fakellm.Start(t, refusal, refusal)
		var e *llm.Error
		if got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.Base()}), hello()); !errors.As(got.err, &e) || e.Class != llm.ClassBadRequest {
			t.Error(got.err)
		}
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	s := fakellm.Start(t)
	got, err := open(t, provider.Settings{BaseURL: s.Base()}).List(t.Context())
	if err != nil || !cmp.Equal(got, []string{"fake-model"}) {
		t.Errorf("%v, %v", got, err)
	}
	var e *llm.Error
	if _, err := open(t, provider.Settings{BaseURL: "http://127.0.0.1:1"}).List(t.Context()); !errors.As(err, &e) || e.Class != llm.ClassNetwork {
		t.Errorf("no server: %v", err)
	}
	for _, body := range []string{"", "<html></html>", `{"models":`} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		_, err := open(t, provider.Settings{BaseURL: other.URL}).List(t.Context())
		if !errors.As(err, &e) || e.Message != (&provider.Foreign{Vendor: whose, Body: []byte(body)}).Error() {
			t.Errorf("%q: %v", body, err)
		}
		other.Close()
	}
	for _, test := range []struct {
		status        int
		body, message string
		class         llm.Class
	}{
		{401, "", "Unauthorized", llm.ClassAuth},
		{401, `{"error":"bad key"}`, "bad key", llm.ClassAuth},
		{404, `{"detail":"Not Found"}`, "Not Found; either the model or the address is not known there", llm.ClassNoModel},
		{429, `{"error":{"message":"slow down"}}`, "slow down", llm.ClassOverloaded},
		{502, "<html><title>502 Bad Gateway</title></html>", "an HTML page instead of an answer: 502 Bad Gateway", llm.ClassNetwork},
	} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}))
		_, err := open(t, provider.Settings{BaseURL: other.URL}).List(t.Context())
		if !errors.As(err, &e) || e.Class != test.class || e.Message != test.message || e.Status != test.status {
			t.Errorf("%d %q: %v", test.status, test.body, err)
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
}

// The error's cause can be followed to what the connection said.
func TestCauses(t *testing.T) {
	t.Parallel()
	s := fakellm.Start(t, fakellm.Answer{Text: "Hel", Break: "middle"})
	got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.Base()}), hello())
	if errors.Unwrap(got.err) == nil || errors.Is(got.err, io.EOF) {
		t.Errorf("%#v", got.err)
	}
}
