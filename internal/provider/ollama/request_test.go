package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ollama/ollama/api"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

func encoded(t testing.TB, req llm.Request) []byte {
	t.Helper()
	body, err := encode(&req, (&Model{}).formOf(&req, 0))
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

func user(parts ...llm.Part) llm.Message      { return llm.Message{Role: llm.User, Parts: parts} }
func assistant(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Assistant, Parts: parts} }

func results(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Results, Parts: parts} }
func added(text string) llm.Part            { return llm.Part{Kind: llm.KindContext, Text: text} }

// sample has one of everything.
func sample() llm.Request {
	temperature := 0.5
	picture := func(mime string) llm.Part {
		return llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: mime, Name: "a", Data: []byte("\x89PNG")}}
	}
	return llm.Request{
		Target:  llm.Target{Provider: "ollama", Model: "qwen3", Vendor: vendor, ContextWindow: 32_768, Images: true, Tools: true},
		Static:  "You are GoClaw.\nBe <short> & \"exact\".",
		Session: "The workspace holds a.txt.",
		Tools: []llm.ToolSpec{
			{Name: "file_read", Description: "Reads a file.", Parameters: json.RawMessage(`{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}`)},
			{Name: "datetime", Description: "Tells the time.", Parameters: json.RawMessage(`{"properties":{},"type":"object"}`)},
		},
		Messages: []llm.Message{
			user(llm.Text("What is in a.txt?"), llm.Part{Kind: llm.KindFile, Text: "[attached file: uploads/a.txt]", Media: &llm.Media{Name: "uploads/a.txt"}}, added("Now: Monday"), added("Memory: </context> likes tea")),
			assistant(thought("It wants a.txt."), llm.Text("Let me see."), use("c1", "file_read", `{"path":"a.txt"}`), use("c2", "datetime", "")),
			results(result("c1", "hello\n", false), result("c2", "", false)),
			assistant(llm.Part{Kind: llm.KindReasoning, Text: "Another vendor's."}, use("c3", "file_read", `{"path": "b.t`), use("", "no such tool!", `"{\"a\":1}"`)),
			results(result("c3", "The arguments were cut off.", true), result("", "no tool of that name", true)),
			assistant(thought("Nothing to say.")),
			assistant(thought("Done."), llm.Text("It says hello.")),
			user(llm.Text("And these?"), picture("image/png"), picture("image/webp"), picture("image/gif"), llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "audio/ogg", Name: "c.ogg", Data: []byte("Ogg")}}),
			assistant(use("c4", "file_read", `{"path":"a.png"}`), use("c5", "datetime", "{}")),
			results(llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: "c4", Content: []llm.Part{picture("image/png")}}}),
			user(llm.Text("Be quick.")),
			assistant(llm.Text("A picture.")),
			user(picture("image/jpeg")),
			user(llm.Text(" ")),
		},
		Choice: llm.ChoiceNone, MaxOutput: 1000, Temperature: &temperature, Reasoning: "low",
	}
}

// TestGoldenRequests shows whole bodies.
func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	blind := sample()
	blind.Target.Model, blind.Target.Images, blind.Reasoning = "llama3.2:tools", false, ""
	for name, req := range map[string]llm.Request{
		"hello":      {Target: llm.Target{Model: "qwen3"}, Static: "Be short.", Messages: []llm.Message{llm.UserMessage("Hello")}},
		"everything": sample(),
		"blind":      blind,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := encoded(t, req)
			if err := fakellm.CheckOllama(body); err != nil {
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

// The server's own types read what the encoder wrote.
func TestTheServersTypesReadRequests(t *testing.T) {
	t.Parallel()
	var r api.ChatRequest
	if err := json.Unmarshal(encoded(t, sample()), &r); err != nil {
		t.Fatal(err)
	}
	var o api.Options
	if err := o.FromMap(r.Options); err != nil || o.NumCtx != 32_768 || o.NumPredict != 1000 || o.Temperature != 0.5 {
		t.Errorf("%+v, %v", o, err)
	}
	if r.Model != "qwen3" || !*r.Stream || *r.Truncate || *r.Shift || r.Think.String() != "low" || !r.Think.IsValid() || r.KeepAlive != nil || r.Format != nil {
		t.Errorf("%+v", r)
	}
	if len(r.Tools) != 2 || r.Tools[0].Function.Parameters.Properties.Len() != 1 || r.Tools[0].Function.Parameters.Required[0] != "path" {
		t.Errorf("%v", r.Tools)
	}
	reply, told := r.Messages[2], r.Messages[3]
	path, _ := reply.ToolCalls[0].Function.Arguments.Get("path")
	if reply.Thinking != "It wants a.txt." || path != "a.txt" || reply.ToolCalls[1].Function.Index != 1 || told.ToolName != "file_read" || told.ToolCallID != reply.ToolCalls[0].ID {
		t.Errorf("%+v\n%+v", reply, told)
	}
}

// TestRequestsGrow plays turns: each request begins with the bytes of the one
// before, whether or not tools may be called, and equal ones are equal.
func TestRequestsGrow(t *testing.T) {
	t.Parallel()
	req := sample()
	all := req.Messages
	var before []byte
	for n := range len(all) {
		if all[n].Role == llm.Results { // belongs to the reply before it
			continue
		}
		end := n + 1
		if end < len(all) && all[end].Role == llm.Results {
			end++
		}
		req.Messages = all[:end]
		req.Choice = llm.ChoiceNone
		body := encoded(t, req)
		req.Choice = llm.ChoiceAuto
		if again := encoded(t, req); !bytes.Equal(body, again) {
			t.Fatalf("what may be called changes the request:\n%s\n%s", body, again)
		}
		if len(before) > 0 && !bytes.HasPrefix(body, before[:len(before)-2]) {
			t.Fatalf("message %d: the request does not begin like the one before:\n%s\n%s", n, before, body)
		}
		before = body
	}
}

// TestForms says how the settings are put to models of which more or less is
// known.
func TestForms(t *testing.T) {
	t.Parallel()
	thinks := facts{told: true, thinks: true}
	levels := facts{told: true, thinks: true, levels: true}
	for _, test := range []struct {
		known   facts
		want    string
		learned refusals
		think   any
	}{
		{facts{}, "", 0, nil},
		{facts{}, "low", 0, "low"},
		{facts{}, "low", refusedLevels, true},
		{facts{}, "low", refusedThinking, nil},
		{facts{}, "off", 0, false},
		{facts{told: true}, "high", 0, nil},
		{facts{told: true}, "off", 0, nil},
		{thinks, "", 0, nil},
		{thinks, "high", 0, true},
		{thinks, "off", 0, false},
		{levels, "medium", 0, "medium"},
		{levels, "off", 0, "low"},
		{levels, "medium", refusedLevels, true},
	} {
		if got := test.known.think(test.want, test.learned); got != test.think {
			t.Errorf("%+v, %q, %b: %v, want %v", test.known, test.want, test.learned, got, test.think)
		}
	}
	for _, test := range []struct {
		configured int
		known      facts
		want       int
	}{
		{0, facts{}, maxWindow},
		{0, facts{length: 8_192}, 8_192},
		{0, facts{length: 262_144}, maxWindow},
		{0, facts{length: 262_144, remote: true}, 262_144},
		{0, facts{remote: true}, maxWindow},
		{0, facts{length: 262_144, chosen: 65_536}, 65_536},
		{0, facts{length: 8_192, chosen: 65_536}, 8_192},
		{100_000, facts{length: 262_144, chosen: 65_536}, 100_000},
	} {
		m := newModel(provider.Settings{ContextWindow: test.configured}, nil)
		if got := m.windowOf(test.known); got != test.want {
			t.Errorf("%d, %+v: %d, want %d", test.configured, test.known, got, test.want)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, turns := range []int{0, 5, 50, 500} {
		b.Run(fmt.Sprint("turns=", turns), func(b *testing.B) {
			req := history(turns)
			m := &Model{}
			b.ReportAllocs()
			for b.Loop() {
				body, err := encode(&req, m.formOf(&req, 0))
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(body)))
			}
		})
	}
}
