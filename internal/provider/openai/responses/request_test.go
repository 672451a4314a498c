package responses

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3/responses"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

var update = flag.Bool("update", false, "write the golden files anew")

func form() Form {
	return Form{
		Model: "gpt-6-luna", Vendor: "openai", Names: provider.Names["openai"], MaxOutput: 1000, Effort: "low",
		Temperature: 0.5, Tempered: true, Summary: true, Sealed: true,
	}
}

func encoded(t testing.TB, req llm.Request, f Form) []byte {
	t.Helper()
	settings, err := f.Settings()
	if err != nil {
		t.Fatal(err)
	}
	body, err := Encode(&req, f, settings)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func assistant(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Assistant, Parts: parts} }

func thinking(vendor, data string) llm.Part {
	return llm.Part{Kind: llm.KindReasoning, Text: "I should look.", Opaque: &llm.Opaque{Vendor: vendor, Data: json.RawMessage(data)}}
}

func use(id, name, args string) llm.Part {
	return llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{ID: id, Name: name, Arguments: args}}
}

func results(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Results, Parts: parts} }

func result(id string, parts ...llm.Part) llm.Part {
	return llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: id, Content: parts}}
}

// sample has one of everything, and replies of other vendors among its own.
func sample() llm.Request {
	picture := llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Name: "a.png", Data: []byte("\x89PNG")}}
	said := llm.Text("Let me see.")
	said.Opaque = phase{"commentary"}.opaque("openai")
	return llm.Request{
		Target: llm.Target{Provider: "openai", Model: "gpt-6-luna", Images: true, Files: true, Tools: true},
		Static: "You are GoClaw.\nBe <short>.", Session: "The workspace holds a.txt.",
		Tools: []llm.ToolSpec{
			{Name: "file_read", Description: "Reads a file.", Parameters: json.RawMessage(`{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}`)},
			{Name: "datetime", Description: "Tells the time.", Parameters: json.RawMessage(`{"properties":{},"type":"object"}`)},
		},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{llm.Text("What is in a.txt?"), {Kind: llm.KindContext, Text: "Now: Monday"}}},
			assistant(
				thinking("openai", `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"I should \u003clook\u003e."}],"encrypted_content":"sealed+1/="}`),
				said, use("call_1", "file_read", `{"path":"a.txt"}`), use("", "no such tool!", `"{\"a\":1}"`),
			),
			results(result("call_1", llm.Text("hello\n"))),
			assistant(thinking("openai", `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"sealed2"}`), llm.Text(" ")), // leads nowhere
			assistant(thinking("anthropic", `{"type":"thinking","thinking":"x","signature":"y"}`), llm.Text("It says hello.")),
			{Role: llm.User, Parts: []llm.Part{llm.Text("And this?"), picture, {Kind: llm.KindMedia, Media: &llm.Media{MIME: "application/pdf", Data: []byte("%PDF")}}}},
			assistant(thinking("openai", `{"id":"rs_3","summary":[]}`), use("toolu_1", "file_read", `{"path": "b.t`)), // known by name alone
			results(result("toolu_1", picture)),
			assistant(llm.Text("A picture."), llm.Text("\n\nOf a cat.")),
			{Role: llm.User, Parts: []llm.Part{{Kind: llm.KindContext, Text: "Now: Tuesday"}}},
		},
		Choice: llm.ChoiceNone,
	}
}

// TestGoldenRequests shows whole bodies. A change of theirs is a change of what
// the server's cache sees.
func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	bare, blind := form(), sample()
	bare.Bare = true
	blind.Target.Images, blind.Target.Files = false, false
	for name, test := range map[string]struct {
		req llm.Request
		f   Form
	}{
		"hello":      {llm.Request{Static: "Be short.", Messages: []llm.Message{llm.UserMessage("Hello")}}, Form{Model: "gpt-6-luna", Names: provider.Names["openai"], MaxOutput: 5, Effort: "none", Summary: true}},
		"everything": {sample(), form()},
		"bare":       {blind, bare},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := encoded(t, test.req, test.f)
			if err := fakellm.CheckResponses(body); err != nil {
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
	var p responses.ResponseNewParams
	if err := json.Unmarshal(encoded(t, sample(), form()), &p); err != nil {
		t.Fatal(err)
	}
	if p.Model != "gpt-6-luna" || p.MaxOutputTokens.Value != 1000 || p.Store.Value || !p.Store.Valid() || p.Reasoning.Effort != "low" ||
		p.Reasoning.Summary != "auto" || len(p.Include) != 1 || !strings.HasPrefix(p.Instructions.Value, "You are GoClaw.") {
		t.Errorf("settings: %+v", p)
	}
	if len(p.Tools) != 2 || p.Tools[0].OfFunction.Name != "file_read" || p.Tools[0].OfFunction.Strict.Value {
		t.Errorf("tools: %+v", p.Tools)
	}
	items := p.Input.OfInputItemList
	if len(items) != 14 || items[1].OfReasoning.EncryptedContent.Value != "sealed+1/=" || items[2].GetRole() == nil ||
		items[3].OfFunctionCall.CallID != "call_1" || items[5].OfFunctionCallOutput.CallID.Value != "call_1" {
		t.Errorf("%d items", len(items))
	}
}

// How it was stored makes no difference to what goes back.
func TestThoughtsAreWrittenInOneWay(t *testing.T) {
	t.Parallel()
	const sent = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"<b>"}],"content":[{"type":"reasoning_text","text":"é"}],"encrypted_content":"x"}`
	for _, stored := range []string{
		sent,
		`{"encrypted_content":"x","id":"rs_1","status":"completed","summary":[{"text":"\u003cb\u003e","type":"summary_text"}],"content":[{"type":"reasoning_text","text":"\u00e9"}],"type":"reasoning"}`,
	} {
		v, ok := thoughtOf(thinking("openai", stored), "openai")
		if got := string(v.appendTo(nil)); !ok || got != sent {
			t.Errorf("%s", got)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	req, f := sample(), form()
	turn := req.Messages[:5]
	for len(req.Messages) < 50 {
		req.Messages = append(turn[:len(turn):len(turn)], req.Messages...)
	}
	settings, err := f.Settings()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		body, err := Encode(&req, f, settings)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}

// A call that is demanded is demanded last, of one function where it is named.
func TestDemandingACall(t *testing.T) {
	t.Parallel()
	req, form := sample(), Form{Model: "gpt-6-luna", Names: provider.Names["openai"]}
	req.Choice = llm.ChoiceRequired
	if got := encoded(t, req, form); !bytes.HasSuffix(got, []byte(`,"tool_choice":"required"}`)) {
		t.Errorf("any: %s", got)
	}
	req.Only = "file_read"
	if got := encoded(t, req, form); !bytes.HasSuffix(got, []byte(`,"tool_choice":{"type":"function","name":"file_read"}}`)) {
		t.Errorf("one: %s", got)
	}
}
