package openai

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

func encoded(t testing.TB, req llm.Request, d dialect) []byte {
	t.Helper()
	body, err := new(Model).encode(&req, d)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func use(id, name, args string) llm.Part {
	return llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{ID: id, Name: name, Arguments: args}}
}

func result(id, text string, isError bool) llm.Part {
	return llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: id, Name: "x", Content: []llm.Part{llm.Text(text)}, IsError: isError}}
}

func assistant(parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.Assistant, Parts: parts}
}
func results(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Results, Parts: parts} }

// thought is what the server of a dialect without a name thought.
func thought(text string) llm.Part {
	return llm.Part{Kind: llm.KindReasoning, Text: text, Opaque: &llm.Opaque{Data: json.RawMessage(`{}`)}}
}

// sample has one of everything.
func sample() llm.Request {
	temperature := 0.5
	picture := &llm.Media{MIME: "image/png", Name: "a.png", Data: []byte("\x89PNG")}
	return llm.Request{
		Target:  llm.Target{Provider: "openai", Model: "gpt-x", Images: true, Files: true, Tools: true},
		Static:  "You are GoClaw.\nBe <short> & \"exact\".",
		Session: "The workspace holds a.txt.",
		Tools: []llm.ToolSpec{
			{Name: "file_read", Description: "Reads a file.", Parameters: json.RawMessage(`{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}`)},
			{Name: "datetime", Description: "Tells the time.", Parameters: json.RawMessage(`{"properties":{},"type":"object"}`)},
		},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{llm.Text("What is in a.txt?"), {Kind: llm.KindFile, Text: "[attached file: uploads/a.txt]", Media: &llm.Media{Name: "uploads/a.txt"}}, {Kind: llm.KindContext, Text: "Now: Monday"}, {Kind: llm.KindContext, Text: "Memory: </context> likes tea"}}},
			assistant(thought("I should look."), llm.Text("Let me see."), use("c1", "file_read", `{"path":"a.txt"}`), use("c2", "datetime", "")),
			results(result("c1", "hello\n", false), result("c2", "", false)),
			assistant(use("c3", "file_read", `{"path": "b.t`), use("", "no such tool!", `"{\"a\":1}"`)),
			results(result("c3", "The arguments were cut off.", true), result("", "error: no tool of that name", true)),
			assistant(thought("Nothing to say.")),
			assistant(llm.Text("It says hello.")),
			{Role: llm.User, Parts: []llm.Part{llm.Text("And this?"), {Kind: llm.KindMedia, Media: picture}, {Kind: llm.KindMedia, Media: &llm.Media{MIME: "application/pdf", Name: "b.pdf", Data: []byte("%PDF")}}}},
			assistant(use("c4", "file_read", `{"path":"a.png"}`)),
			results(llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: "c4", Content: []llm.Part{{Kind: llm.KindMedia, Media: picture}}}}),
			assistant(llm.Text("A picture."), llm.Part{Kind: llm.KindMedia, Media: picture}),
			{Role: llm.User, Parts: []llm.Part{{Kind: llm.KindContext, Text: "Now: Tuesday"}}},
		},
		Choice: llm.ChoiceNone, MaxOutput: 1000, Temperature: &temperature, Reasoning: "low",
	}
}

// TestGoldenRequests shows whole bodies. A change of theirs is a change of what
// every provider's cache sees.
func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	blind := sample()
	blind.Target.Images, blind.Target.Files = false, false
	plain := llm.Request{Target: llm.Target{Model: "gpt-x"}, Static: "Be short.", Messages: []llm.Message{llm.UserMessage("Hello")}}
	for name, test := range map[string]struct {
		req llm.Request
		d   dialect
	}{
		"hello":      {plain, dialect{official: true}},
		"everything": {sample(), dialect{official: true}},
		"compatible": {blind, dialect{learned: refusedUsage | refusedTemperature}},
		"deepseek":   {blind, dialect{deepseek: true, own: true}},
		"mistral":    {sample(), dialect{mistral: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := encoded(t, test.req, test.d)
			if err := fakellm.CheckRequest(body); err != nil {
				t.Error(err)
			}
			var shown bytes.Buffer
			if err := json.Indent(&shown, body, "", "  "); err != nil {
				t.Fatalf("%v\n%s", err, body)
			}
			shown.WriteByte('\n')
			golden := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(golden, shown.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), shown.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The SDK's types read what the encoder wrote: it is the wire that they know.
func TestTheSDKReadsRequests(t *testing.T) {
	t.Parallel()
	var p openai.ChatCompletionNewParams
	if err := json.Unmarshal(encoded(t, sample(), dialect{official: true}), &p); err != nil {
		t.Fatal(err)
	}
	if p.Model != "gpt-x" || p.MaxCompletionTokens.Value != 1000 || p.Temperature.Value != 0.5 || p.ReasoningEffort != "low" ||
		!p.StreamOptions.IncludeUsage.Value || p.ToolChoice.OfAuto.Value != "none" {
		t.Errorf("settings: %+v", p)
	}
	if len(p.Tools) != 2 || p.Tools[0].OfFunction.Function.Name != "file_read" {
		t.Errorf("tools: %+v", p.Tools)
	}
	if len(p.Messages) != 16 || p.Messages[2].OfAssistant.ToolCalls[1].OfFunction.Function.Arguments != "{}" ||
		p.Messages[3].OfTool.ToolCallID != "c1" || p.Messages[9].OfUser.Content.OfArrayOfContentParts == nil {
		t.Errorf("%d messages: %+v", len(p.Messages), p.Messages)
	}
}

// Settings are encoded anew when any of them changes.
func TestSettingsAreNotMixedUp(t *testing.T) {
	t.Parallel()
	m := new(Model)
	half, more := 0.5, 0.7
	variants := []func(*llm.Request){
		func(*llm.Request) {},
		func(r *llm.Request) { r.Target.Model = "gpt-y" },
		func(r *llm.Request) { r.MaxOutput = 7 },
		func(r *llm.Request) { r.Temperature = &half },
		func(r *llm.Request) { r.Temperature = &more },
		func(r *llm.Request) { r.Reasoning = "high" },
		func(r *llm.Request) { r.Tools = nil },
	}
	for _, d := range []dialect{{}, {official: true}, {deepseek: true}, {learned: refusedUsage}, {learned: refusedThinking}} {
		for range 2 {
			for i, change := range variants {
				req := hello()
				req.MaxOutput = 5
				change(&req)
				got, err := m.encode(&req, d)
				if want := encoded(t, req, d); err != nil || !bytes.Equal(got, want) {
					t.Errorf("variant %d: %s, %v; want %s", i, got, err, want)
				}
			}
		}
	}
}

// A request that goes on repeats the bytes of the one before, but for what
// closes the body.
func TestRequestsGrowAtTheEnd(t *testing.T) {
	t.Parallel()
	req := sample()
	req.Choice = llm.ChoiceAuto
	all := req.Messages
	var before []byte
	for n := 1; n <= len(all); n++ {
		if n < len(all) && all[n].Role == llm.Results {
			continue // a request never ends between calls and their results
		}
		req.Messages = all[:n]
		body := encoded(t, req, dialect{})
		if prefix := bytes.TrimSuffix(before, []byte("]}")); !bytes.HasPrefix(body, prefix) {
			t.Fatalf("with %d messages the body does not begin like the one before:\n%s\n%s", n, before, body)
		}
		if again := encoded(t, req, dialect{}); !bytes.Equal(body, again) {
			t.Fatalf("equal requests differ:\n%s\n%s", body, again)
		}
		before = body
	}
	last := req
	last.Choice = llm.ChoiceNone
	if body := encoded(t, last, dialect{}); !bytes.HasPrefix(body, bytes.TrimSuffix(before, []byte("}"))) {
		t.Errorf("forbidding tools changes the body before its end:\n%s\n%s", before, body)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	half := 0.5
	tools := sample().Tools
	for _, test := range []struct {
		name string
		req  llm.Request
		d    dialect
		want string
	}{
		{"nothing", llm.Request{}, dialect{}, `{"stream_options":{"include_usage":true}}`},
		{"official limit", llm.Request{MaxOutput: 5}, dialect{official: true, learned: refusedUsage}, `{"max_completion_tokens":5}`},
		{"official limit refused", llm.Request{MaxOutput: 5}, dialect{official: true, learned: refusedUsage | refusedTokens}, `{"max_tokens":5}`},
		{"compatible limit", llm.Request{MaxOutput: 5}, dialect{learned: refusedUsage}, `{"max_tokens":5}`},
		{"compatible limit refused", llm.Request{MaxOutput: 5}, dialect{learned: refusedUsage | refusedTokens}, `{"max_completion_tokens":5}`},
		{"temperature", llm.Request{Temperature: &half}, dialect{learned: refusedUsage}, `{"temperature":0.5}`},
		{"temperature refused", llm.Request{Temperature: &half}, dialect{learned: refusedUsage | refusedTemperature}, `{}`},
		{
			"a model with its own temperature",
			llm.Request{Temperature: &half, Target: llm.Target{Model: "gpt-5-mini"}},
			dialect{official: true, learned: refusedUsage},
			`{"model":"gpt-5-mini"}`,
		},
		{
			"OpenAI's model behind a proxy",
			llm.Request{MaxOutput: 5, Temperature: &half, Target: llm.Target{Model: "o3"}},
			dialect{fronts: true, learned: refusedUsage},
			`{"model":"o3","max_completion_tokens":5}`,
		},
		{
			"another's model behind a proxy",
			llm.Request{MaxOutput: 5, Temperature: &half, Target: llm.Target{Model: "claude-opus-5"}},
			dialect{fronts: true, learned: refusedUsage},
			`{"model":"claude-opus-5","max_tokens":5,"temperature":0.5}`,
		},
		{
			"OpenAI's model on a server that is compatible",
			llm.Request{MaxOutput: 5, Temperature: &half, Target: llm.Target{Model: "o3"}},
			dialect{learned: refusedUsage},
			`{"model":"o3","max_tokens":5,"temperature":0.5}`,
		},
		{
			"a temperature beside no reasoning",
			llm.Request{Reasoning: "off", Temperature: &half, Target: llm.Target{Model: "gpt-5.4"}},
			dialect{official: true, learned: refusedUsage},
			`{"model":"gpt-5.4","temperature":0.5,"reasoning_effort":"none"}`,
		},
		{
			"no temperature beside reasoning",
			llm.Request{Reasoning: "low", Temperature: &half, Target: llm.Target{Model: "gpt-5.4"}},
			dialect{fronts: true, learned: refusedUsage},
			`{"model":"gpt-5.4","reasoning_effort":"low"}`,
		},
		{
			"effort off, a model that has none",
			llm.Request{Reasoning: "off", Target: llm.Target{Model: "gpt-5-mini"}},
			dialect{official: true, learned: refusedUsage},
			`{"model":"gpt-5-mini","reasoning_effort":"minimal"}`,
		},
		{
			"effort for a model that doesn't reason",
			llm.Request{Reasoning: "high", Target: llm.Target{Model: "gpt-4o"}},
			dialect{official: true, learned: refusedUsage},
			`{"model":"gpt-4o"}`,
		},
		{"effort for an unknown model", llm.Request{Reasoning: "off"}, dialect{learned: refusedUsage}, `{"reasoning_effort":"none"}`},
		{"effort refused", llm.Request{Reasoning: "low"}, dialect{learned: refusedUsage | refusedEffort}, `{}`},
		{
			"tools beside no reasoning only",
			llm.Request{Reasoning: "high", Target: llm.Target{Model: "gpt-6-luna"}, Tools: tools},
			dialect{official: true, learned: refusedUsage},
			`{"model":"gpt-6-luna","reasoning_effort":"none"}`,
		},
		{
			"the same without tools",
			llm.Request{Reasoning: "high", Target: llm.Target{Model: "gpt-6-luna"}},
			dialect{official: true, learned: refusedUsage},
			`{"model":"gpt-6-luna","reasoning_effort":"high"}`,
		},
		{"the same as learned", llm.Request{Tools: tools}, dialect{learned: refusedUsage | refusedThinking}, `{"reasoning_effort":"none"}`},
		{"DeepSeek's switch", llm.Request{Reasoning: "off"}, dialect{deepseek: true, learned: refusedUsage}, `{"thinking":{"type":"disabled"}}`},
		{
			"DeepSeek's effort",
			llm.Request{Reasoning: "medium", Target: llm.Target{Model: "deepseek-flash"}},
			dialect{deepseek: true, learned: refusedUsage},
			`{"model":"deepseek-flash","reasoning_effort":"medium"}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := settings(&test.req, test.d)
			if err != nil || string(got) != test.want {
				t.Errorf("%s, %v; want %s", got, err, test.want)
			}
		})
	}
}

func TestDialects(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]dialect{
		"https://api.openai.com/v1":              {official: true, vendor: "openai"},
		"https://eu.api.openai.com/v1":           {official: true, vendor: "openai"},
		"https://x.openai.azure.com/openai/v1":   {official: true, vendor: "x.openai.azure.com"},
		"https://api.deepseek.com":               {deepseek: true, own: true, vendor: "api.deepseek.com"},
		"https://api.mistral.ai/v1":              {mistral: true, vendor: "api.mistral.ai"},
		"http://127.0.0.1:8000/v1":               {vendor: "127.0.0.1:8000"},
		"http://127.0.0.1:8000/v1/responses":     {vendor: "127.0.0.1:8000", api: responsesOnly},
		"https://api.openai.com.evil.example/v1": {vendor: "api.openai.com.evil.example"},
	} {
		if got := newDialect(provider.Settings{BaseURL: base}); got != want {
			t.Errorf("%s: %+v", base, got)
		}
	}
	if got := newDialect(provider.Settings{Type: "deepseek", BaseURL: "http://127.0.0.1:1"}); !got.deepseek || got.own {
		t.Errorf("by type: %+v", got)
	}
}

// A call that is demanded is demanded last, of one function where it is named.
func TestDemandingACall(t *testing.T) {
	t.Parallel()
	req := sample()
	req.Choice = llm.ChoiceRequired
	if got := encoded(t, req, dialect{}); !bytes.HasSuffix(got, []byte(`,"tool_choice":"required"}`)) {
		t.Errorf("any: %s", got)
	}
	req.Only = "file_read"
	if got := encoded(t, req, dialect{}); !bytes.HasSuffix(got, []byte(`,"tool_choice":{"type":"function","function":{"name":"file_read"}}}`)) {
		t.Errorf("one: %s", got)
	}
	if got := encoded(t, req, dialect{learned: refusedChoice}); bytes.Contains(got, []byte("tool_choice")) {
		t.Errorf("a server that refuses it: %s", got)
	}
}
