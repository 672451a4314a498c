package gemini

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
)

func encoded(req llm.Request, learned refusals) []byte {
	return encodedAs(req, formOf(&req, learned, false))
}

func encodedAs(req llm.Request, f form) []byte {
	body, err := encode(&req, f)
	if err != nil {
		panic(err)
	}
	return body
}

func use(id, name, args string) llm.Part {
	return llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{ID: id, Name: name, Arguments: args}}
}

// signed is p as it came with a signature, and a call with the server's id.
func signed(p llm.Part, id, signature string) llm.Part {
	p.Opaque = kept{id: id, signature: signature}.opaque()
	return p
}

func result(id, text string, isError bool) llm.Part {
	return llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: id, Name: "x", Content: []llm.Part{llm.Text(text)}, IsError: isError}}
}

func thought(text string) llm.Part { return llm.Part{Kind: llm.KindReasoning, Text: text} }

func user(parts ...llm.Part) llm.Message      { return llm.Message{Role: llm.User, Parts: parts} }
func assistant(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Assistant, Parts: parts} }

func results(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Results, Parts: parts} }
func added(text string) llm.Part            { return llm.Part{Kind: llm.KindContext, Text: text} }

func media(mime, name string) llm.Part {
	return llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: mime, Name: name, Data: []byte("data")}}
}

// sample has one of everything.
func sample() llm.Request {
	temperature := 0.5
	foreign := &llm.Opaque{Vendor: "anthropic", Data: json.RawMessage(`{"type":"thinking","thinkingSignature":"x"}`)}
	return llm.Request{
		Target:  llm.Target{Provider: "gemini", Model: "gemini-3.8-flash", Vendor: vendor, MaxOutput: 65_536, ContextWindow: 1_048_576, Images: true, Files: true, Tools: true},
		Static:  "You are GoClaw.\nBe <short> & \"exact\".",
		Session: "The workspace holds a.txt.",
		Tools: []llm.ToolSpec{
			{Name: "file_read", Description: "Reads a file.", Parameters: json.RawMessage(`{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}`)},
			{Name: "datetime", Description: "Tells the time.", Parameters: json.RawMessage(`{"properties":{},"type":"object"}`)},
		},
		Messages: []llm.Message{
			user(llm.Text("What is in a.txt?"), added("Now: Monday"), added("Memory: </context> likes tea")),
			assistant(thought("Look first."), llm.Text("Let me see."), signed(use("c1", "file_read", `{"path":"a.txt"}`), "", "c2ln"), use("c2", "datetime", "")),
			results(result("c1", "hello\n", false), result("c2", "", false)),
			assistant(signed(use("c3", "file_read", `{"path": "b.t`), "fc-3", "c2lnMw=="), signed(use("c4", "file_read", "{}"), "fc-4", "")),
			results(result("c4", "no such file", true), result("c3", "The arguments were cut off.", true)),
			assistant(llm.Text("It says "), signed(llm.Text("hello."), "", "c2lnNA=="), signed(llm.Text(""), "", "c2lnNQ==")),
			user(llm.Text("And this?"), media("image/png", "a.png"), media("application/pdf", "b.pdf"), media("image/gif", "c.gif")),
			// What another vendor's model did.
			assistant(llm.Part{Kind: llm.KindReasoning, Text: "Another's.", Opaque: foreign}, use("t1", "file_read", `{"path":"a.png"}`), use("t2", "no such tool!", `"{\"a\":1}"`), use("t3", "datetime", "{}")),
			results(
				llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: "t1", Content: []llm.Part{media("image/png", "a.png")}}},
				result("t2", "no tool of that name", true),
			),
			user(llm.Text("Be quick.")),
			assistant(signed(thought("Nothing to say."), "", "c2ln")),
			assistant(signed(thought("A picture."), "", "c2lnNg=="), llm.Text("A picture.")),
			user(added("Now: Tuesday")),
			user(llm.Text(" ")),
		},
		Choice: llm.ChoiceNone, MaxOutput: 1000, Temperature: &temperature, Reasoning: "low",
	}
}

// TestGoldenRequests shows whole bodies. A change of theirs is a change of what
// the provider's cache sees.
func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	older := sample()
	older.Target.Model, older.Reasoning = "gemini-2.5-flash", "off"
	blind := sample()
	blind.Target = llm.Target{Model: "gemini-from-the-future"}
	blind.Reasoning, blind.Temperature, blind.MaxOutput = "", nil, 0
	for name, req := range map[string]llm.Request{
		"hello":      {Target: llm.Target{Model: "gemini-3.8-flash"}, Static: "Be short.", Messages: []llm.Message{llm.UserMessage("Hello")}},
		"everything": sample(),
		"older":      older,
		"blind":      blind,
		"begins and ends with the model": {
			Target: llm.Target{Model: "m"}, Messages: []llm.Message{assistant(llm.Text("Welcome.")), user(llm.Text("Read a.")), assistant(llm.Text("No."))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := encoded(req, 0)
			if err := fakellm.CheckContents(body, !strings.HasPrefix(req.Target.Model, "gemini-2")); err != nil {
				t.Error(err)
			}
			var shown bytes.Buffer
			if err := json.Indent(&shown, body, "", "  "); err != nil {
				t.Fatalf("%v\n%s", err, body)
			}
			shown.WriteByte('\n')
			golden := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".json")
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

// What is changed at the end of a request leaves all before it as it was.
func TestForbiddingToolsComesLast(t *testing.T) {
	t.Parallel()
	req := sample()
	forbidden := encoded(req, 0)
	req.Choice = llm.ChoiceAuto
	allowed := encoded(req, 0)
	if want := append(bytes.TrimSuffix(allowed, []byte("}")), `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}`...); !bytes.Equal(forbidden, want) {
		t.Errorf("%s\n%s", forbidden, want)
	}
	req.Choice, req.Tools = llm.ChoiceNone, nil
	if none := encoded(req, 0); bytes.Contains(none, []byte("toolConfig")) {
		t.Errorf("function calling is set without functions: %s", none)
	}
}

// A signature goes back as it came, whoever stored it in between, and on its
// part; the mark for another's call never changes once it was written.
func TestSignaturesSurvive(t *testing.T) {
	t.Parallel()
	msg := assistant(signed(llm.Text("a <b> & \u2028 é"), "", "c2ln+/=="), signed(use("c1", "datetime", "{}"), "fc <1>", "c2lnMg=="), signed(llm.Text(""), "", "c2lnMw=="))
	stored, err := json.Marshal(msg)
	if err != nil {
		t.Fatal(err)
	}
	var read llm.Message
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}
	req := hello()
	req.Messages = append(req.Messages, msg)
	want := encoded(req, 0)
	req.Messages[1] = read
	if got := encoded(req, 0); !bytes.Equal(got, want) {
		t.Errorf("%s\n%s", got, want)
	}
	part := `{"text":"a <b> & \u2028 é","thoughtSignature":"c2ln+/=="},{"functionCall":{"id":"fc <1>","name":"datetime","args":{}},"thoughtSignature":"c2lnMg=="},{"text":"","thoughtSignature":"c2lnMw=="}`
	if !strings.Contains(string(want), part) {
		t.Errorf("%s lacks %s", want, part)
	}
	if again := encodedAs(req, formOf(&req, 0, true)); strings.Contains(string(again), "c2ln") || !strings.Contains(string(again), skipSignature) {
		t.Errorf("bare: %s", again)
	}
}

// What is not ours is no signature.
func TestForeignOpaqueIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, o := range []*llm.Opaque{
		nil,
		{Vendor: vendor},
		{Vendor: vendor, Data: json.RawMessage(`[]`)},
		{Vendor: vendor, Data: json.RawMessage(`{"thoughtSignature":1}`)},
		{Vendor: "anthropic", Data: json.RawMessage(`{"thoughtSignature":"x","id":"x"}`)},
	} {
		req := hello()
		call := use("c", "datetime", "{}")
		call.Opaque = o
		req.Messages = append(req.Messages, assistant(llm.Part{Kind: llm.KindReasoning, Text: "x", Opaque: o}, call), user(llm.Text("and?")))
		body := encoded(req, 0)
		if err := fakellm.CheckContents(body, true); err != nil || strings.Contains(string(body), `"x"`) {
			t.Errorf("%+v: %v\n%s", o, err, body)
		}
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		model, want string
		learned     refusals
		limit       int
		body        string // of thinkingConfig; "" when there is none
	}{
		{"gemini-3.8-flash", "", 0, 0, `{"includeThoughts":true}`},
		{"gemini-3.8-flash", "off", 0, 0, `{"thinkingLevel":"LOW"}`},
		{"gemini-3.8-flash", "high", 0, 0, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"models/gemini-3-flash-preview", "off", 0, 0, `{"thinkingLevel":"MINIMAL"}`},
		{"gemini-4-argon", "medium", 0, 0, `{"includeThoughts":true,"thinkingLevel":"MEDIUM"}`},
		{"gemini-2.5-pro", "", 0, 0, `{"includeThoughts":true}`},
		{"gemini-2.5-pro", "off", 0, 0, `{"thinkingBudget":128}`},
		{"gemini-2.5-pro", "high", 0, 4000, `{"includeThoughts":true,"thinkingBudget":2000}`},
		{"gemini-2.5-flash", "off", 0, 0, `{"thinkingBudget":0}`},
		{"gemini-2.5-flash", "high", 0, 0, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.5-flash-lite", "", 0, 0, ``},
		{"gemini-2.5-flash-lite", "low", 0, 100, `{"includeThoughts":true,"thinkingBudget":512}`},
		{"from-the-future", "", 0, 0, ``},
		{"from-the-future", "low", 0, 0, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"from-the-future", "off", 0, 0, `{"thinkingLevel":"MINIMAL"}`},
		{"from-the-future", "off", refusedLevel, 0, `{"thinkingBudget":0}`},
		{"from-the-future", "low", refusedLevel | refusedBudget, 0, `{"includeThoughts":true}`},
		{"from-the-future", "low", refusedThinking, 0, ``},
	} {
		req := llm.Request{Target: llm.Target{Model: test.model}, Reasoning: test.want, MaxOutput: test.limit}
		got := ""
		if c := formOf(&req, test.learned, false).settings(); c != nil && c.ThinkingConfig != nil {
			b, err := json.Marshal(c.ThinkingConfig)
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		want := orderless(t, test.body)
		if got := orderless(t, got); got != want {
			t.Errorf("%s %q after %b: %s, want %s", test.model, test.want, test.learned, got, want)
		}
	}
}

// orderless is a document with its members in alphabetical order.
func orderless(t *testing.T, doc string) string {
	t.Helper()
	if doc == "" {
		return ""
	}
	var v any
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Whatever a history holds, what is sent is a valid transcript.
func TestTranscriptsAreAlwaysValid(t *testing.T) {
	t.Parallel()
	text := rapid.SampledFrom([]string{"", " ", "hello", "a\"b\\c", "界", "\xff"})
	args := rapid.SampledFrom([]string{"", "{}", `{"a":1}`, `{"a":`, `"{\"a\":1}"`, "x", "null"})
	name := rapid.SampledFrom([]string{"file_read", "", "no such", "calc", strings.Repeat("x", 99)})
	ids := rapid.SampledFrom([]string{"a", "b", "", "call_1_0"})
	signatures := rapid.SampledFrom([]string{"", "c2ln", "c2lnMg=="})
	pictures := rapid.SampledFrom([]*llm.Media{nil, {MIME: "image/png"}, {MIME: "image/png", Data: []byte("x")}, {MIME: "image/gif", Data: []byte("x")}})
	rapid.Check(t, func(t *rapid.T) {
		var messages []llm.Message
		for range rapid.IntRange(0, 6).Draw(t, "messages") {
			if rapid.Bool().Draw(t, "user") {
				messages = append(messages, user(llm.Text(text.Draw(t, "words")), llm.Part{Kind: llm.KindMedia, Media: pictures.Draw(t, "media")}))
				continue
			}
			reply := []llm.Part{
				signed(thought(text.Draw(t, "thought")), "", signatures.Draw(t, "of the thought")), signed(llm.Text(text.Draw(t, "words")), "", signatures.Draw(t, "of the words")),
				signed(llm.Part{Kind: llm.KindMedia, Media: pictures.Draw(t, "made")}, "", signatures.Draw(t, "of the picture")),
			}
			var answers []llm.Part
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				id := ids.Draw(t, "id")
				reply = append(reply, signed(use(id, name.Draw(t, "name"), args.Draw(t, "args")), ids.Draw(t, "own id"), signatures.Draw(t, "of the call")))
				if rapid.IntRange(0, 4).Draw(t, "answered") > 0 {
					answer := result(id, text.Draw(t, "result"), rapid.Bool().Draw(t, "error"))
					answer.Result.Content = append(answer.Result.Content, llm.Part{Kind: llm.KindMedia, Media: pictures.Draw(t, "shown")})
					answers = append(answers, answer)
				}
			}
			messages = append(messages, assistant(append(reply, signed(llm.Text(""), "", signatures.Draw(t, "at the end")))...))
			if len(answers) > 0 {
				messages = append(messages, results(answers...))
			}
		}
		model := rapid.SampledFrom([]string{"gemini-3.8-flash", "gemini-2.5-pro", "m"}).Draw(t, "model")
		req := llm.Request{
			Target: llm.Target{Model: model, Images: rapid.Bool().Draw(t, "images")}, Messages: messages,
			Reasoning: rapid.SampledFrom([]string{"", "off", "low", "high"}).Draw(t, "reasoning"), MaxOutput: rapid.IntRange(0, 4000).Draw(t, "limit"),
		}
		learned := refusals(rapid.IntRange(0, int(refusedSystem)*2-1).Draw(t, "learned"))
		body := encodedAs(req, formOf(&req, learned, rapid.Bool().Draw(t, "bare")))
		if err := fakellm.CheckContents(body, !strings.HasPrefix(model, "gemini-2")); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
	})
}

// A file that is larger than all that has room was never shown: nothing says
// that newer ones took its place.
func TestAFileThatNeverHasRoom(t *testing.T) {
	t.Parallel()
	big := media("application/pdf", "big.pdf")
	big.Media.Data = make([]byte, llm.MaxFile)
	req := llm.Request{Target: llm.Target{Model: "gemini-3.8-flash", Files: true}, Messages: []llm.Message{user(llm.Text("Read it."), big)}}
	if body := string(encoded(req, 0)); !strings.Contains(body, "This model can't see what is in it.") || strings.Contains(body, "newer images") {
		t.Errorf("%.400s", body)
	}
}

// A call that is demanded is demanded last, of one function where it is named.
func TestDemandingACall(t *testing.T) {
	t.Parallel()
	req := sample()
	req.Choice = llm.ChoiceRequired
	if got := encoded(req, 0); !bytes.HasSuffix(got, []byte(`,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`)) {
		t.Errorf("any: %s", got)
	}
	req.Only = "file_read"
	if got := encoded(req, 0); !bytes.HasSuffix(got, []byte(`,"toolConfig":{"functionCallingConfig":{"allowedFunctionNames":["file_read"],"mode":"ANY"}}}`)) {
		t.Errorf("one: %s", got)
	}
}
