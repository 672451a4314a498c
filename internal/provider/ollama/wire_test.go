package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
		Target: llm.Target{Provider: "ollama", Model: "qwen3", Vendor: vendor, Tools: true}, Static: "Be short.",
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

// deltas are lines of which the server fills in the rest.
func deltas(list ...string) fakellm.Answer {
	var a fakellm.Answer
	for _, d := range list {
		a.Deltas = append(a.Deltas, json.RawMessage(d))
	}
	return a
}

// lines is a stream of these lines, each in a write of its own.
func lines(list ...string) fakellm.Answer {
	var a fakellm.Answer
	for _, l := range list {
		a.Raw = append(a.Raw, l+"\n")
	}
	return a
}

func calls(list ...llm.ToolCall) []llm.ToolCall { return list }

const (
	lnHel  = `{"model":"qwen3:latest","created_at":"2026-11-30T12:00:00.1Z","message":{"role":"assistant","content":"Hel"},"done":false}`
	lnLo   = `{"model":"qwen3:latest","created_at":"2026-11-30T12:00:00.2Z","message":{"role":"assistant","content":"lo"},"done":false}`
	lnCall = `{"model":"qwen3:latest","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_a","function":{"index":0,"name":"file_read","arguments":{"path":"a.txt"}}}]},"done":false}`
	lnDone = `{"model":"qwen3:latest","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":5,"load_duration":1,"prompt_eval_count":9,"prompt_eval_duration":1,"eval_count":2,"eval_duration":3}`
)

func ended(reason string) string { return strings.Replace(lnDone, `"stop"`, `"`+reason+`"`, 1) }

func TestAnswers(t *testing.T) {
	t.Parallel()
	usage := llm.Usage{Input: 9, Output: 2}
	read := llm.ToolCall{ID: "call_a", Name: "file_read", Arguments: `{"path":"a.txt"}`}
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
			name: "TC-050 two calls in one line, without ids",
			answer: deltas(`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"calc","arguments":{"expression":"1+1"}}},
				{"function":{"name":"calc","arguments":{"expression":"2+2"}}}]}}`),
			finish: llm.FinishCalls, calls: calls(llm.ToolCall{Name: "calc", Arguments: `{"expression":"1+1"}`}, llm.ToolCall{Name: "calc", Arguments: `{"expression":"2+2"}`}),
		},
		{
			name: "thoughts in the content", text: "Hello", reasoning: "Hm.", finish: llm.FinishStop, usage: usage,
			answer: lines(strings.Replace(lnHel, `"Hel"`, `"<thin"`, 1), strings.Replace(lnHel, `"Hel"`, `"k>Hm.</think>\n\nHel"`, 1), lnLo, lnDone),
		},
		{name: "thoughts in the content without an end", answer: lines(strings.Replace(lnHel, `"Hel"`, `"<think>Hm."`, 1), lnDone), reasoning: "Hm.", finish: llm.FinishStop, usage: usage},
		{name: "a document over several lines", answer: fakellm.Answer{Raw: []string{"\xEF\xBB\xBF\n{\n  \"message\": {\n\"content\": \"Hel", "lo\"},\n", "  \"done\": true\n}"}}, text: "Hello", finish: llm.FinishStop},
		{name: "text and a call in one line, and text behind", answer: lines(strings.Replace(lnCall, `"content":""`, `"content":"Hel"`, 1), lnLo, lnDone), text: "Hello", finish: llm.FinishCalls, calls: calls(read), usage: usage},
		{name: "a call in the last line", answer: lines(lnHel, lnLo, strings.Replace(lnDone, `"content":""`, `"tool_calls":[{"id":"call_a","function":{"name":"file_read","arguments":{"path":"a.txt"}}}]`, 1)), text: "Hello", finish: llm.FinishCalls, calls: calls(read), usage: usage},
		{name: "calls in several lines, with one index and one id", answer: lines(lnCall, strings.Replace(lnCall, "a.txt", "b.txt", 1), lnDone), finish: llm.FinishCalls, calls: calls(read, llm.ToolCall{ID: "call_a", Name: "file_read", Arguments: `{"path":"b.txt"}`}), usage: usage},
		{name: "arguments keep their order and their digits", answer: lines(strings.Replace(lnCall, `{"path":"a.txt"}`, `{"z": 12345678901234567890, "a": {"c":1,"b":[]}}`, 1), lnDone), finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "call_a", Name: "file_read", Arguments: `{"z": 12345678901234567890, "a": {"c":1,"b":[]}}`}), usage: usage},
		{name: "TC-010 arguments as text", answer: lines(strings.Replace(lnCall, `{"path":"a.txt"}`, `"{\"path\":\"a.txt\"}"`, 1), lnDone), finish: llm.FinishCalls, calls: calls(read), usage: usage},
		{name: "arguments as text that was cut", answer: lines(strings.Replace(lnCall, `{"path":"a.txt"}`, `"{\"path\":\"a.t"`, 1), ended("length")), finish: llm.FinishLength, calls: calls(llm.ToolCall{ID: "call_a", Name: "file_read", Arguments: `{"path":"a.t`, Cut: true}), usage: usage},
		{name: "no arguments", answer: lines(strings.Replace(lnCall, `{"path":"a.txt"}`, `null`, 1), strings.Replace(lnCall, `,"arguments":{"path":"a.txt"}`, ``, 1), lnDone), finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "call_a", Name: "file_read", Arguments: `{}`}, llm.ToolCall{ID: "call_a", Name: "file_read", Arguments: `{}`}), usage: usage},
		{name: "arguments that are no object", answer: lines(strings.Replace(lnCall, `{"path":"a.txt"}`, `["a.txt"]`, 1), lnDone), finish: llm.FinishCalls, calls: calls(llm.ToolCall{ID: "call_a", Name: "file_read", Arguments: `["a.txt"]`}), usage: usage},
		{name: "things that are no calls", answer: lines(lnHel, `{"message":{"content":null,"tool_calls":[null,{"id":"x"},{"function":"f"},1]}}`, `{"message":{"tool_calls":{}}}`, `{"message":null}`, lnLo, lnDone), text: "Hello", finish: llm.FinishStop, usage: usage},
		{name: "unknown members and lines", answer: lines(lnHel, `{"from":"the future","done":false}`, `{"message":{"content":"lo","images":null,"mood":{"a":[1]}},"logprobs":[]}`, lnDone), text: "Hello", finish: llm.FinishStop, usage: usage},
		{name: "blank lines and CRLF", answer: fakellm.Answer{Raw: []string{"\r\n\r\n" + lnHel + "\r\n", "\r\n", lnLo + "\r\n\n", lnDone}}, text: "Hello", finish: llm.FinishStop, usage: usage},
		{name: "lines cut anywhere", answer: fakellm.Answer{Raw: []string{lnHel[:40], lnHel[40:] + "\n" + lnLo[:3], lnLo[3:] + "\n" + lnDone + "\n"}}, text: "Hello", finish: llm.FinishStop, usage: usage},
		{
			name: "TC-036 a letter cut between two writes, in text and arguments",
			answer: fakellm.Answer{RawBytes: [][]byte{
				[]byte("{\"message\":{\"content\":\"\xe7"), []byte("\x95\x8c\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":\"\xe7\x95"), []byte("\x8c\"}}}]}}\n" + lnDone),
			}},
			text: "界", finish: llm.FinishCalls, calls: calls(llm.ToolCall{Name: "f", Arguments: `{"a":"界"}`}), usage: usage,
		},
		{
			name:   "letters cut between two lines",
			answer: fakellm.Answer{RawBytes: [][]byte{[]byte("{\"message\":{\"content\":\"\xe7\x95\"}}\n{\"message\":{\"content\":\"\x8c\\ud83d\"}}\n"), []byte("{\"message\":{\"content\":\"\\ude00 \xe7\"}}\n" + lnDone + "\n")}},
			text:   "界😀 \uFFFD", finish: llm.FinishStop, usage: usage,
		},
		{name: "a line of a megabyte", answer: lines(strings.Replace(lnHel, "Hel", strings.Repeat("x", 1<<20), 1), lnDone), text: strings.Repeat("x", 1<<20), finish: llm.FinishStop, usage: usage},
		{name: "the model was only loaded", answer: lines(ended("load")), finish: llm.FinishStop, usage: usage},
		{name: "TC-007 cut by the limit behind a call", answer: lines(lnCall, ended("length")), finish: llm.FinishLength, calls: calls(read), usage: usage},
		{name: "a reason from the future", answer: lines(lnHel, lnLo, ended("tired")), text: "Hello", finish: llm.FinishStop, usage: usage},
		{name: "no counts", answer: lines(lnHel, lnLo, `{"done":true,"prompt_eval_count":null,"eval_count":-1}`), text: "Hello", finish: llm.FinishStop},
		{name: "TC-041 a call written as text", answer: fakellm.Text(`<tool_call>{"name":"calc","arguments":{}}</tool_call>`), text: `<tool_call>{"name":"calc","arguments":{}}</tool_call>`, finish: llm.FinishStop},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answer)
			got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL}), hello())
			if got.err != nil || got.reply == nil {
				t.Fatalf("no reply: %v", got.err)
			}
			if got.text != test.text || got.reply.Message.Text() != test.text || got.reasoning != test.reasoning {
				t.Errorf("streamed %q, holds %q, want %q; thought %q, want %q", got.text, got.reply.Message.Text(), test.text, got.reasoning, test.reasoning)
			}
			if diff := cmp.Diff(test.calls, got.reply.Message.Calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if got.reply.Finish != test.finish || got.reply.Usage != test.usage || got.reply.Target.Model != "qwen3" {
				t.Errorf("%+v, usage %+v", got.reply, got.reply.Usage)
			}
			if last := got.events[len(got.events)-1]; last.Type != llm.EventDone {
				t.Errorf("the last event is %+v", last)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	fails := func(status int, message string) fakellm.Answer {
		return fakellm.Fail(status, fmt.Sprintf(`{"error":%q}`, message))
	}
	withHeader := func(a fakellm.Answer, k, v string) fakellm.Answer { a.Header = map[string]string{k: v}; return a }
	for _, test := range []struct {
		name    string
		answer  fakellm.Answer
		class   llm.Class
		message string // a part of it
		retry   time.Duration
	}{
		{"no such model", fails(404, "model 'qwen3' not found"), llm.ClassNoModel, "model 'qwen3' not found; fetch it with ollama pull", 0},
		{"no such model, older", fails(404, `model "qwen3" not found, try pulling it first`), llm.ClassNoModel, "ollama pull", 0},
		{"no model's name", fails(400, "invalid model name"), llm.ClassNoModel, "invalid model name", 0},
		{"404 of a wrong address", withHeader(fakellm.Fail(404, "404 page not found"), "Content-Type", "text/plain"), llm.ClassNoModel, "no Ollama at this address", 0},
		{"no chat", fails(400, `"nomic-embed-text" does not support chat`), llm.ClassNoModel, "does not support chat", 0},
		{"too old a server", fails(500, "unable to load model: this model may be incompatible with your version of Ollama."), llm.ClassNoModel, "incompatible", 0},
		{"too little memory", fails(500, "model requires more system memory (48.2 GiB) than is available (15.1 GiB)"), llm.ClassUnknown, "48.2 GiB) than is available (15.1 GiB); a smaller model fits, or a smaller context_window", 0},
		{"too little memory of the card", fails(500, "memory layout cannot be allocated with num_gpu = 99"), llm.ClassUnknown, "smaller", 0},
		{"too long, of a runner", fails(500, "the request exceeds the available context size"), llm.ClassTooLong, "exceeds", 0},
		{"not signed in", fakellm.Fail(401, `{"error":"unauthorized","signin_url":"https://ollama.com/connect?name=x&key=secret"}`), llm.ClassAuth, "unauthorized; models in the cloud need ollama signin", 0},
		{"wrong key", fails(401, "invalid key sk-0123456789"), llm.ClassAuth, "invalid key ***", 0},
		{"a subscription", fails(403, "this model requires a subscription, upgrade for access: https://ollama.com/upgrade"), llm.ClassBilling, "subscription", 0},
		{"no cloud here", fails(403, "ollama cloud is disabled: remote inference is unavailable"), llm.ClassNoModel, "disabled", 0},
		{"the cloud's pace", withHeader(fakellm.Fail(429, `{"StatusCode":429,"Status":"429 Too Many Requests","error":"too many concurrent requests"}`), "Retry-After", "7"), llm.ClassOverloaded, "too many concurrent", 7 * time.Second},
		{"no cloud", fakellm.Fail(502, `{"error":{"message":"bad gateway","type":"api_error"}}`), llm.ClassNetwork, "bad gateway", 0},
		{"the runner died", fails(500, "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, check ollama server logs for details"), llm.ClassNetwork, "unexpectedly stopped", 0},
		{"an image that it can't read", fails(500, "image: unknown format"), llm.ClassBadRequest, "unknown format", 0},
		{"a bad request", fails(400, "json: cannot unmarshal string into Go struct field"), llm.ClassBadRequest, "cannot unmarshal", 0},
		{"an error that is no JSON", fakellm.Fail(418, `{"error":`), llm.ClassUnknown, "error", 0},

		{"an error in the stream", lines(lnHel, `{"error":"an error was encountered while running the model: unexpected EOF"}`), llm.ClassNetwork, "while running the model", 0},
		{"memory in the stream", lines(lnHel, `{"error":"CUDA error: out of memory"}`), llm.ClassUnknown, "smaller model", 0},
		{"an error for a stream", lines(`{"error":{"message":"upstream gone"},"status":500}`), llm.ClassNetwork, "upstream gone", 0},
		{"an error beside an answer", lines(`{"message":{"content":"Hel"},"error":"No."}`), llm.ClassNetwork, "No.", 0},
		{"a document of something else", lines(`{"hello":"world"}`), llm.ClassUnknown, `not in Ollama's format: {"hello":"world"}`, 0},
		{"a document of something else, on lines", fakellm.Answer{Raw: []string{"{\n\"choices\": []\n}"}}, llm.ClassUnknown, "not in Ollama's format", 0},
		{"a stream of another wire", fakellm.Answer{Raw: []string{"data: {\"choices\":[]}\n\n"}}, llm.ClassUnknown, "not in Ollama's format", 0},
		{"a list", fakellm.Answer{Raw: []string{`[]`}}, llm.ClassUnknown, "not in Ollama's format", 0},
		{"no end", lines(lnHel, lnLo), llm.ClassNetwork, "broke off", 0},
		{"a cut document", fakellm.Answer{Raw: []string{"{\"message\":{\n\"content\":\"Hel"}}, llm.ClassNetwork, "broke off", 0},
		{"a broken line", lines(lnHel, lnLo[:50], lnDone), llm.ClassNetwork, "not valid JSON", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answer)
			got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL, Key: "sk-0123456789"}), hello())
			var e *llm.Error
			if !errors.As(got.err, &e) {
				t.Fatalf("%v, %+v", got.err, got.reply)
			}
			if e.Class != test.class || !strings.Contains(e.Message, test.message) || e.RetryAfter != test.retry {
				t.Errorf("class %s, message %q, retry after %s", e.Class, e.Message, e.RetryAfter)
			}
			if e.Target.Provider != "ollama" || strings.Contains(e.Error(), "0123456789") {
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
		"http://127.0.0.1:1/v1":        "nothing answers at http://127.0.0.1:1: is Ollama running? Start it with ollama serve",
		"http://no-such-host.invalid/": "no-such-host.invalid",
	} {
		m := open(t, provider.Settings{BaseURL: base})
		_, listed := m.List(t.Context())
		for _, err := range []error{ask(t.Context(), m, hello()).err, listed} {
			var e *llm.Error
			if !errors.As(err, &e) || e.Class != llm.ClassNetwork || !strings.Contains(e.Message, message) {
				t.Errorf("%s: %v", base, err)
			}
		}
	}
	if _, err := Open(provider.Settings{BaseURL: "nonsense"}); err == nil {
		t.Error("an address that is none was taken")
	}
}

// What is sent besides the body: the key and the headers that were asked for,
// and nothing of the machine or of the environment. An address that ends with
// the path of an API means the server.
func TestHeadersAndAddresses(t *testing.T) {
	t.Setenv("OLLAMA_HOST", "http://127.0.0.1:1")
	t.Setenv("OLLAMA_AUTH", "true")
	t.Setenv("OLLAMA_API_KEY", "from-the-environment")
	t.Setenv("OLLAMA_CONTEXT_LENGTH", "77")
	s := fakellm.StartScript(t, fakellm.Script{Loop: true, Answers: []fakellm.Answer{fakellm.Text("a")}})
	for _, path := range []string{"", "/", "/v1", "/v1/", "/api", "/v1/chat/completions", "/v1/responses/", "/api/chat"} {
		m := open(t, provider.Settings{BaseURL: s.URL + path, Key: "sk-mine", Headers: map[string]string{"X-Title": "mine"}})
		if got := ask(t.Context(), m, hello()); got.err != nil {
			t.Fatal(got.err)
		}
		if names, err := m.List(t.Context()); err != nil || len(names) != 1 || names[0] != "fake-model" {
			t.Errorf("%v, %v", names, err)
		}
	}
	if got := ask(t.Context(), open(t, provider.Settings{BaseURL: s.URL}), hello()); got.err != nil {
		t.Fatal(got.err)
	}
	requests := s.Requests()
	if len(requests) != 9 {
		t.Fatalf("%d requests", len(requests))
	}
	for i, r := range requests {
		h := r.Header
		if i < 8 && (h.Get("Authorization") != "Bearer sk-mine" || h.Get("X-Title") != "mine") || i == 8 && h.Get("Authorization") != "" {
			t.Errorf("request %d: %v", i, h)
		}
		if r.Path != "/api/chat" || r.Query != "" || h.Get("User-Agent") != "GoClaw" || h.Get("Content-Type") != "application/json" || strings.Contains(string(r.Body), "77") {
			t.Errorf("request %d: %s?%s %v\n%s", i, r.Path, r.Query, h, r.Body)
		}
	}
}
