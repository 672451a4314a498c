package openai

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// theirs is a client that takes the server at base for OpenAI's own.
func theirs(t testing.TB, base string) *Model {
	t.Helper()
	m := open(t, provider.Settings{BaseURL: base, Key: "sk-test-key-0123456789"})
	m.dialect.official, m.dialect.vendor = true, "openai"
	return m
}

// luna is a request to a model that reasons beside tools in one of the APIs
// only.
func luna() llm.Request {
	req := hello()
	req.Target.Model = "gpt-6-luna"
	return req
}

func TestWhichAPI(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, model, base string
		kind              string // of provider
		reasoning         string
		bare              bool // without tools
		learned           refusals
		responses         bool
	}{
		{name: "reasons beside tools", model: "gpt-6-luna", responses: true},
		{name: "with an effort", model: "gpt-6-luna", reasoning: "high", responses: true},
		{name: "need not reason", model: "gpt-6-luna", reasoning: "off"},
		{name: "has no tools", model: "gpt-6-luna", reasoning: "high", bare: true},
		{name: "can't but reason", model: "gpt-6-astra", reasoning: "off", responses: true},
		{name: "by its date", model: "gpt-6-astra-2026-09-03", responses: true},
		{name: "an older one", model: "gpt-5.2", reasoning: "high"},
		{name: "doesn't reason", model: "gpt-4o"},
		{name: "nobody knows it", model: "gpt-x"},
		{name: "elsewhere", model: "gpt-6-luna", base: "http://127.0.0.1:8000/v1"},
		{name: "a proxy in front of OpenAI", model: "gpt-6-luna", kind: "openai", base: "http://127.0.0.1:8000/v1", responses: true},
		{name: "by the name that a proxy gives it", model: "openai/gpt-6-luna", kind: "openai", base: "http://127.0.0.1:8000/v1", responses: true},
		{name: "a proxy without", model: "gpt-6-luna", kind: "openai", base: "http://127.0.0.1:8000/v1", learned: refusedResponses},
		{name: "another's model behind a proxy", model: "claude-sonnet-5-5", kind: "openai", base: "http://127.0.0.1:8000/v1"},
		{name: "what is only compatible", model: "gpt-6-luna", kind: provider.Compatible, base: "http://127.0.0.1:8000/v1"},
		{name: "Azure", model: "gpt-6-luna", base: "https://x.openai.azure.com/openai/v1", responses: true},
		{name: "the address says so", model: "gpt-x", base: "http://127.0.0.1:8000/v1/responses/", bare: true, responses: true},
		{name: "the address says no", model: "gpt-6-luna", base: "https://api.openai.com/v1/chat/completions"},
		{name: "the model is only there", model: "gpt-x", learned: wantsResponses, bare: true, responses: true},
		{name: "its tools are only there", model: "gpt-x", learned: toolsInResponses, responses: true},
		{name: "no tools, then", model: "gpt-x", learned: toolsInResponses, bare: true},
		{name: "no reasoning, then", model: "gpt-x", learned: toolsInResponses, reasoning: "off"},
		{name: "there is none", model: "gpt-6-luna", learned: refusedResponses | wantsResponses},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.base == "" {
				test.base = "https://api.openai.com/v1"
			}
			d := newDialect(provider.Settings{BaseURL: test.base, Type: test.kind})
			d.learned = test.learned
			req := luna()
			req.Target.Model, req.Reasoning = test.model, test.reasoning
			if test.bare {
				req.Tools = nil
			}
			known, _ := provider.Lookup(test.model)
			if got := d.responses(&req, known); got != test.responses {
				t.Errorf("Responses: %v", got)
			}
		})
	}
}

// What OpenAI documents of its models holds behind a proxy, too: none is sent
// what they don't take, and a proxy that has one of the two APIs only is asked
// for the other once.
func TestProxiesInFrontOfOpenAI(t *testing.T) {
	t.Parallel()
	half := 0.5
	req := luna()
	req.MaxOutput, req.Temperature = 100, &half
	for _, status := range []int{404, 405, 501} {
		s := fakellm.Start(t, fakellm.Fail(status, ""), fakellm.Text("Hello"), fakellm.Text("Hello"))
		m := open(t, provider.Settings{BaseURL: s.Base(), Type: "openai", Key: "k"})
		for range 2 {
			if got := ask(t.Context(), m, req); got.err != nil || got.text != "Hello" {
				t.Fatalf("%d: %q, %v", status, got.text, got.err)
			}
		}
		for i, r := range s.Requests() {
			if want := i == 0; (r.Path == "/v1/responses") != want {
				t.Errorf("%d: request %d went to %s", status, i, r.Path)
			}
			if body := string(r.Body); strings.Contains(body, `"temperature"`) || strings.Contains(body, `"max_tokens"`) {
				t.Errorf("%d: %s", status, body)
			}
		}
		if last := string(s.Requests()[2].Body); !strings.Contains(last, `"max_completion_tokens":100`) {
			t.Errorf("%d: %s", status, last)
		}
	}
}

func TestAddressesThatNameAnAPI(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1", "/v1/chat/completions", "/v1/responses/"} {
		s := fakellm.Start(t, fakellm.Text("Hello"))
		m := open(t, provider.Settings{BaseURL: s.URL + path})
		if got := ask(t.Context(), m, hello()); got.err != nil || got.text != "Hello" {
			t.Errorf("%s: %q, %v", path, got.text, got.err)
		}
		want := strings.TrimSuffix(path, "/")
		if want == "/v1" {
			want = "/v1/chat/completions"
		}
		if got := s.Requests()[0].Path; got != want {
			t.Errorf("%s: asked %s", path, got)
		}
		if _, err := m.List(t.Context()); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A server that says where a model is to be asked is asked there, and so is one
// that says that there is nothing at that place; what it said is remembered.
func TestServersTeachTheAPI(t *testing.T) {
	t.Parallel()
	const chat, items = "/v1/chat/completions", "/v1/responses"
	only := fakellm.Fail(404, `{"error":{"message":"This model is only supported in v1/responses and not in v1/chat/completions.","type":"invalid_request_error","param":"model","code":null}}`)
	tools := fakellm.Fail(400, `{"error":{"message":"Function tools with reasoning_effort are not supported for gpt-x in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.","type":"invalid_request_error","param":"reasoning_effort","code":null}}`)
	nothing := fakellm.Fail(404, `{"detail":"Not Found"}`)
	fine := fakellm.Text("Hello")
	for _, test := range []struct {
		name    string
		theirs  bool
		model   string
		answers []fakellm.Answer
		asked   []string
		class   llm.Class // of the first call
		last    string    // in the last body
	}{
		{"only there", false, "gpt-x", []fakellm.Answer{only, fine, fine}, []string{chat, items, items}, "", `"input"`},
		{"tools only there", false, "gpt-x", []fakellm.Answer{tools, fine, fine}, []string{chat, items, items}, "", `"input"`},
		{"and not there either", false, "gpt-x", []fakellm.Answer{tools, nothing, fine, fine}, []string{chat, items, chat, chat}, "", `"reasoning_effort":"none"`},
		{"no such API", true, "gpt-6-luna", []fakellm.Answer{nothing, fine, fine}, []string{items, chat, chat}, "", `"reasoning_effort":"none"`},
		{"nowhere", false, "gpt-x", []fakellm.Answer{only, nothing, only, only}, []string{chat, items, chat, chat}, llm.ClassNoModel, `"messages"`},
		{
			"no such model", true, "gpt-6-luna",
			[]fakellm.Answer{fakellm.Fail(404, `{"error":{"message":"The model gpt-6-luna does not exist","code":"model_not_found"}}`), fine},
			[]string{items, items},
			llm.ClassNoModel, `"input"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answers...)
			m := open(t, provider.Settings{BaseURL: s.Base()})
			m.dialect.official = test.theirs
			req := luna()
			req.Target.Model = test.model
			for i := range 2 {
				got := ask(t.Context(), m, req)
				var e *llm.Error
				if test.class == "" || i > 0 && s.Left() == 0 && got.err == nil {
					if got.err != nil || got.text != "Hello" {
						t.Errorf("call %d: %q, %v", i, got.text, got.err)
					}
				} else if !errors.As(got.err, &e) || e.Class != test.class {
					t.Errorf("call %d: %v", i, got.err)
				}
			}
			var asked []string
			for _, r := range s.Requests() {
				asked = append(asked, r.Path)
			}
			if diff := cmp.Diff(test.asked, asked); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if last := s.Requests()[len(asked)-1]; !strings.Contains(string(last.Body), test.last) {
				t.Errorf("%s", last.Body)
			}
		})
	}
}

// What the model thought goes back in place, and is left out once the server
// refuses it.
func TestReasoningGoesBack(t *testing.T) {
	t.Parallel()
	s := fakellm.Start(t,
		fakellm.Answer{Reasoning: "Look first.", Text: "Let me see.", Calls: []fakellm.Call{fakellm.Use("file_read", `{"path":"a.txt"}`)}},
		fakellm.Fail(400, `{"error":{"message":"The encrypted content seal...ed-1 could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`),
		fakellm.Text("It says hello."),
	)
	m, req := theirs(t, s.Base()), luna()
	got := ask(t.Context(), m, req)
	if got.err != nil || got.reasoning != "Look first." || got.reply.Finish != llm.FinishCalls {
		t.Fatalf("%+v, %v", got.reply, got.err)
	}
	stored, err := json.Marshal(got.reply.Message) // and back, as the history does
	if err != nil {
		t.Fatal(err)
	}
	var reply llm.Message
	if err := json.Unmarshal(stored, &reply); err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, reply, results(result(got.reply.Message.Calls()[0].ID, "hello", false)))
	if got := ask(t.Context(), m, req); got.err != nil || got.text != "It says hello." {
		t.Fatalf("%q, %v", got.text, got.err)
	}
	const thought = `{"type":"reasoning","id":"rs-1","summary":[{"type":"summary_text","text":"Look first."}],"encrypted_content":"sealed-1"},{"type":"message","role":"assistant","content":"Let me see."},{"type":"function_call"`
	sent := s.Requests()
	if body := string(sent[1].Body); !strings.Contains(body, thought) {
		t.Errorf("%s", body)
	}
	if body := string(sent[2].Body); strings.Contains(body, "rs-1") || !strings.Contains(body, `"function_call_output"`) {
		t.Errorf("%s", body)
	}
	// Another server gets nothing of it.
	other := open(t, provider.Settings{BaseURL: "http://127.0.0.1:1/v1/responses"})
	body, err := other.encodeItems(&req, other.dialect.form(&req, provider.Model{}, false))
	if err != nil || strings.Contains(string(body), "sealed-1") {
		t.Errorf("%s, %v", body, err)
	}
}

// A server that refuses a setting of the other API is asked again without it.
func TestLessonsOfResponses(t *testing.T) {
	t.Parallel()
	half := 0.5
	req := luna()
	req.Target.Model, req.Temperature, req.Reasoning, req.MaxOutput = "gpt-x", &half, "low", 5
	for _, test := range []struct{ name, refusal, gone, there string }{
		{"summary", `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","param":"reasoning.summary","code":"unsupported_value"}}`, `"summary"`, `"effort":"low"`},
		{"effort", `{"error":{"message":"Unsupported parameter: 'reasoning.effort' is not supported with this model.","param":"reasoning.effort","code":"unsupported_parameter"}}`, `"reasoning":`, `"temperature"`},
		{"encryption", `{"error":{"message":"Encrypted content is not supported with this model.","param":"include","code":null}}`, `"include"`, `"effort":"low"`},
		{"temperature", `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","param":"temperature"}}`, `"temperature"`, `"effort":"low"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, fakellm.Fail(400, test.refusal), fakellm.Text("a"), fakellm.Text("b"))
			m := open(t, provider.Settings{BaseURL: s.Base() + "/responses"})
			for range 2 {
				if got := ask(t.Context(), m, req); got.err != nil {
					t.Fatal(got.err)
				}
			}
			for i, r := range s.Requests() {
				if strings.Contains(string(r.Body), test.gone) != (i == 0) || !strings.Contains(string(r.Body), test.there) {
					t.Errorf("%d: %s", i, r.Body)
				}
			}
		})
	}
}

func TestFailuresOfResponses(t *testing.T) {
	t.Parallel()
	event := func(kind, rest string) fakellm.Answer {
		return fakellm.Answer{Deltas: []json.RawMessage{json.RawMessage(`{"event":"` + kind + `",` + rest + `}`)}}
	}
	for _, test := range []struct {
		name    string
		answer  fakellm.Answer
		class   llm.Class
		message string
	}{
		{"the response failed", event("response.failed", `"response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow down"}}`), llm.ClassOverloaded, "Slow down"},
		{"of its own fault", event("response.failed", `"response":{"status":"failed","error":{"code":"server_error","message":"An error occurred"}}`), llm.ClassNetwork, "An error occurred"},
		{"without a word", event("response.failed", `"response":{"status":"failed","error":null}`), llm.ClassNetwork, "broke off"},
		{"an error", event("error", `"code":"insufficient_quota","message":"No money","param":null`), llm.ClassQuota, "No money"},
		{"an error inside", event("error", `"error":{"type":"server_error","message":"Oops"}`), llm.ClassNetwork, "Oops"},
		{"no end", fakellm.Answer{Text: "Hel", Finish: "none"}, llm.ClassNetwork, "broke off"},
		{"reset", fakellm.Answer{Text: "Hel", Break: "middle"}, llm.ClassNetwork, "broke off"},
		{"another format", fakellm.Answer{Raw: []string{chunkHel}}, llm.ClassUnknown, "not in OpenAI's format"},
		{"a page", fakellm.Answer{Raw: []string{"<!DOCTYPE html><title>Sign in</title>"}}, llm.ClassUnknown, "Sign in"},
		{"an empty body", fakellm.Answer{Raw: []string{""}}, llm.ClassNetwork, "broke off"},
		{"quota", fakellm.Fail(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`), llm.ClassQuota, "quota"},
		{"too long", fakellm.Fail(400, `{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}`), llm.ClassTooLong, "context window"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, test.answer)
			got := ask(t.Context(), theirs(t, s.Base()), luna())
			var e *llm.Error
			if !errors.As(got.err, &e) || e.Class != test.class || !strings.Contains(e.Message, test.message) || e.Target.Model != "gpt-6-luna" {
				t.Errorf("%v", got.err)
			}
		})
	}
}
