package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"pgregory.net/rapid"

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

// sample has one of everything.
func sample() llm.Request {
	temperature := 0.5
	picture := &llm.Media{MIME: "image/png", Name: "a.png", Data: []byte("\x89PNG")}
	return llm.Request{
		Target:  llm.Target{Provider: "openai", Model: "gpt-x", Images: true, Tools: true},
		Static:  "You are GoClaw.\nBe <short> & \"exact\".",
		Session: "The workspace holds a.txt.",
		Tools: []llm.ToolSpec{
			{Name: "file_read", Description: "Reads a file.", Parameters: json.RawMessage(`{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}`)},
			{Name: "datetime", Description: "Tells the time.", Parameters: json.RawMessage(`{"type":"object"}`)},
		},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{llm.Text("What is in a.txt?"), {Kind: llm.KindContext, Text: "Now: Monday"}, {Kind: llm.KindContext, Text: "Memory: </context> likes tea"}}},
			assistant(llm.Part{Kind: llm.KindReasoning, Text: "I should look."}, llm.Text("Let me see."), use("c1", "file_read", `{"path":"a.txt"}`), use("c2", "datetime", "")),
			results(result("c1", "hello\n", false), result("c2", "", false)),
			assistant(use("c3", "file_read", `{"path": "b.t`), use("", "no such tool!", `"{\"a\":1}"`)),
			results(result("c3", "The arguments were cut off.", true), result("", "error: no tool of that name", true)),
			assistant(llm.Part{Kind: llm.KindReasoning, Text: "Nothing to say."}),
			assistant(llm.Text("It says hello.")),
			{Role: llm.User, Parts: []llm.Part{llm.Text("And this?"), {Kind: llm.KindMedia, Media: picture}, {Kind: llm.KindMedia, Media: &llm.Media{MIME: "application/pdf", Name: "b.pdf"}}}},
			assistant(use("c4", "file_read", `{"path":"a.png"}`)),
			results(llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: "c4", Content: []llm.Part{{Kind: llm.KindMedia, Media: picture}}}}),
			assistant(llm.Text("A picture.")),
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
	blind.Target.Images = false
	plain := llm.Request{Target: llm.Target{Model: "gpt-x"}, Static: "Be short.", Messages: []llm.Message{llm.UserMessage("Hello")}}
	for name, test := range map[string]struct {
		req llm.Request
		d   dialect
	}{
		"hello":      {plain, dialect{official: true}},
		"everything": {sample(), dialect{official: true}},
		"compatible": {blind, dialect{learned: refusedUsage | refusedTemperature}},
		"deepseek":   {blind, dialect{deepseek: true}},
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
	if len(p.Messages) != 15 || p.Messages[2].OfAssistant.ToolCalls[1].OfFunction.Function.Arguments != "{}" ||
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
		"https://api.openai.com/v1":              {official: true},
		"https://eu.api.openai.com/v1":           {official: true},
		"https://x.openai.azure.com/openai/v1":   {official: true},
		"https://api.deepseek.com":               {deepseek: true},
		"http://127.0.0.1:8000/v1":               {},
		"https://api.openai.com.evil.example/v1": {},
	} {
		if got := newDialect(provider.Settings{BaseURL: base}); got != want {
			t.Errorf("%s: %+v", base, got)
		}
	}
	if got := newDialect(provider.Settings{Type: "deepseek", BaseURL: "http://127.0.0.1:1"}); !got.deepseek {
		t.Errorf("by type: %+v", got)
	}
}

func TestArgumentsThatGoBack(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{\"a\":\"b\x00\"}":         `{"_invalid":"{\"a\":\"b\u0000\"}"}`,
		"{\"a\n\":\"b\"}":           `{"_invalid":"{\"a\n\":\"b\"}"}`,
		"{\"a\":\"\\t\t\"}":         `{"_invalid":"{\"a\":\"\\t\t\"}"}`,
		`{"a":"\ud83d"}`:            `{"_invalid":"{\"a\":\"\\ud83d\"}"}`,
		`{"a":"\ud83d\ude00"}`:      `{"a":"\ud83d\ude00"}`,
		`"{\"a\":\"\ud83d\"}"`:      `{"_invalid":"\"{\\\"a\\\":\\\"\\ud83d\\\"}\""}`,
		"":                          "{}",
		"  \n":                      "{}",
		"null":                      "{}",
		`{"a":1}`:                   `{"a":1}`,
		` {"a": 1} `:                ` {"a": 1} `,
		`"{\"a\":1}"`:               `{"a":1}`,
		`"text"`:                    `{"_invalid":"\"text\""}`,
		`[1]`:                       `{"_invalid":"[1]"}`,
		`{"a":`:                     `{"_invalid":"{\"a\":"}`,
		`{'a': 1}`:                  `{"_invalid":"{'a': 1}"}`,
		`{"a":1}{"a":1}`:            `{"_invalid":"{\"a\":1}{\"a\":1}"}`,
		strings.Repeat("界", 1000):   `{"_invalid":"` + strings.Repeat("界", 333) + `"}`,
		`nullx`:                     `{"_invalid":"nullx"}`,
		"\"{\\\"a\\\":\\\"\xff\\\"": `{"_invalid":"\"{\\\"a\\\":\\\"` + "\uFFFD" + `\\\""}`,
	} {
		if got := callArguments(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestNamesAndIDsThatGoBack(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"file_read": "file_read", "": "unknown", "no such tool!": "no_such_tool_", "a.b": "a_b",
		strings.Repeat("x", 70): strings.Repeat("x", 64), "größe": "gr__e",
	} {
		if got := callName(in); got != want {
			t.Errorf("name %q: %q, want %q", in, got, want)
		}
	}
	if got := callID("", 3, 1); got != "call_3_1" {
		t.Errorf("no id: %q", got)
	}
	long, other := callID(strings.Repeat("x", 41), 0, 0), callID(strings.Repeat("x", 42), 0, 0)
	if len(long) > maxID || long == other || callID(strings.Repeat("x", 40), 0, 0) != strings.Repeat("x", 40) {
		t.Errorf("long ids: %q, %q", long, other)
	}
}

func TestSchemasAreMadeToFit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want string }{
		{"nothing to do", `{"type":"object", "properties":{"a":{"type":"string"}}}`, `{"type":"object", "properties":{"a":{"type":"string"}}}`},
		{"nothing at all", ``, string(anything)},
		{"null", `null`, string(anything)},
		{"no JSON", `{"type":`, string(anything)},
		{"no object", `[1]`, string(anything)},
		{"an array without items", `{"type":"object","properties":{"a":{"type":"array"}}}`, `{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`},
		{"a nullable one, deep inside", `{"type":"object","properties":{"a":{"anyOf":[{"type":["array","null"]}]}}}`, `{"properties":{"a":{"anyOf":[{"items":{},"type":["array","null"]}]}},"type":"object"}`},
		{"$schema", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{},"additionalProperties":false}`, `{"additionalProperties":false,"properties":{},"type":"object"}`},
		{
			"anyOf at the top",
			`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"type":"object"}`,
		},
		{
			"allOf at the top",
			`{"type":"object","required":["a"],"properties":{"a":{}},"allOf":[{"properties":{"b":{}},"required":["b","a"]},true]}`,
			`{"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}`,
		},
		{
			"what every branch requires",
			`{"type":"object","oneOf":[{"properties":{"a":{}},"required":["a"]},{"required":["a","b"],"properties":{"b":{}}}]}`,
			`{"properties":{"a":{},"b":{}},"required":["a"],"type":"object"}`,
		},
		{"no properties", `{"type":"object"}`, string(anything)},
		{"another type", `{"type":"string","enum":["a"]}`, string(anything)},
		{"numbers and HTML stay", `{"$id":"x","type":"object","properties":{"a":{"maximum":12345678901234567890,"description":"<b>"}}}`, `{"properties":{"a":{"description":"<b>","maximum":12345678901234567890}},"type":"object"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var c schemas
			for range 2 { // the second time from memory
				if got := c.fit(json.RawMessage(test.in)); string(got) != test.want {
					t.Errorf("%s, want %s", got, test.want)
				}
			}
		})
	}
}

// Whatever a history holds, what is sent is a valid transcript.
func TestTranscriptsAreAlwaysValid(t *testing.T) {
	t.Parallel()
	text := rapid.SampledFrom([]string{"", " ", "hello", "a\"b\\c", "界", "Error: x"})
	args := rapid.SampledFrom([]string{"", "{}", `{"a":1}`, `{"a":`, `"{\"a\":1}"`, "x", "null"})
	name := rapid.SampledFrom([]string{"file_read", "", "no such", "calc"})
	rapid.Check(t, func(t *rapid.T) {
		id := 0
		messages := []llm.Message{llm.UserMessage("begin")}
		for range rapid.IntRange(0, 8).Draw(t, "messages") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				messages = append(messages, llm.UserMessage(text.Draw(t, "user")))
			case 1:
				messages = append(messages, llm.AssistantMessage(text.Draw(t, "assistant")))
			case 2:
				// Results that no call waits for, as a broken history may hold.
				messages = append(messages, results(result("stray", text.Draw(t, "stray"), false)))
			case 3:
				parts, answers := []llm.Part{llm.Text(text.Draw(t, "words"))}, []llm.Part(nil)
				for range rapid.IntRange(1, 3).Draw(t, "calls") {
					id++
					c := fmt.Sprint("id", id)
					parts = append(parts, use(c, name.Draw(t, "name"), args.Draw(t, "args")))
					if rapid.IntRange(0, 4).Draw(t, "answered") > 0 {
						answers = append(answers, result(c, text.Draw(t, "result"), rapid.Bool().Draw(t, "error")))
					}
				}
				if rapid.Bool().Draw(t, "swapped") && len(answers) > 1 {
					answers[0], answers[1] = answers[1], answers[0]
				}
				messages = append(messages, assistant(parts...))
				if len(answers) > 0 {
					messages = append(messages, results(answers...))
				}
			}
		}
		req := llm.Request{Target: llm.Target{Model: "m"}, Messages: messages, Tools: sample().Tools}
		body, err := new(Model).encode(&req, dialect{deepseek: rapid.Bool().Draw(t, "deepseek")})
		if err != nil {
			t.Fatal(err)
		}
		if err := fakellm.CheckRequest(body); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
	})
}
