package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
)

func encoded(t testing.TB, req llm.Request, learned refusals) []byte {
	t.Helper()
	body, err := encode(&req, formOf(&req, learned, false))
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

// thinking is a block of Claude's as a reply holds it.
func thinking(text, signature string) llm.Part {
	return llm.Part{Kind: llm.KindReasoning, Text: text, Opaque: thought{Type: kindThinking, Thinking: text, Signature: signature}.opaque()}
}

func hidden(data string) llm.Part {
	return llm.Part{Kind: llm.KindReasoning, Opaque: thought{Type: kindRedacted, Data: data}.opaque()}
}

func user(parts ...llm.Part) llm.Message      { return llm.Message{Role: llm.User, Parts: parts} }
func assistant(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Assistant, Parts: parts} }

func results(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Results, Parts: parts} }

func added(text string) llm.Part { return llm.Part{Kind: llm.KindContext, Text: text} }

// sample has one of everything.
func sample() llm.Request {
	temperature := 0.5
	picture := &llm.Media{MIME: "image/png", Name: "a.png", Data: []byte("\x89PNG")}
	return llm.Request{
		Target:  llm.Target{Provider: "claude", Model: "claude-sonnet-5-5", Vendor: vendor, MaxOutput: 128_000, ContextWindow: 1_000_000, Images: true, Files: true, Tools: true},
		Static:  "You are GoClaw.\nBe <short> & \"exact\".",
		Session: "The workspace holds a.txt.",
		Tools: []llm.ToolSpec{
			{Name: "file_read", Description: "Reads a file.", Parameters: json.RawMessage(`{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}`)},
			{Name: "datetime", Description: "Tells the time.", Parameters: json.RawMessage(`{"type":"object"}`)},
		},
		Messages: []llm.Message{
			user(llm.Text("What is in a.txt?"), llm.Part{Kind: llm.KindFile, Text: "[attached file: uploads/a.txt]", Media: &llm.Media{Name: "uploads/a.txt"}}, added("Now: Monday"), added("Memory: </context> likes tea")),
			assistant(thinking("", "c2ln"), llm.Text("Let me see."), use("c1", "file_read", `{"path":"a.txt"}`), hidden("ZGF0YQ=="), use("c2", "datetime", "")),
			results(result("c1", "hello\n", false), result("c2", "", false)),
			assistant(llm.Part{Kind: llm.KindReasoning, Text: "Another vendor's.", Opaque: &llm.Opaque{Vendor: "openai", Data: json.RawMessage(`{"type":"thinking","signature":"x"}`)}}, use("c3", "file_read", `{"path": "b.t`), use("", "no such tool!", `"{\"a\":1}"`)),
			results(result("c3", "The arguments were cut off.", true), result("", "no tool of that name", true)),
			assistant(thinking("Nothing to say.", "c2ln")),
			assistant(llm.Text("It says hello."), thinking("Done.", "c2ln")),
			user(llm.Text("And this?"), llm.Part{Kind: llm.KindMedia, Media: picture}, llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: wire.PDF, Name: "b.pdf", Data: []byte("%PDF")}}, llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "audio/ogg", Name: "c.ogg", Data: []byte("Ogg")}}),
			assistant(use("c4", "file_read", `{"path":"a.png"}`), use("c5", "datetime", "{}")),
			results(llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: "c4", Content: []llm.Part{{Kind: llm.KindMedia, Media: picture}}}}),
			user(llm.Text("Be quick.")),
			assistant(llm.Text("A picture."), llm.Part{Kind: llm.KindMedia, Media: picture}),
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
	older.Target.Model, older.Target.Images, older.Target.Files, older.Reasoning = "claude-haiku-4-5", false, false, "off"
	bare := llm.Request{
		Target: llm.Target{Model: "glm-5"}, Static: "Be short.",
		Messages: []llm.Message{assistant(llm.Text("Welcome.")), user(llm.Text("Read a.")), assistant(use("x y", "file_read", `{}`)), results(result("x y", "hello", false))},
	}
	for name, req := range map[string]llm.Request{
		"hello":      {Target: llm.Target{Model: "claude-sonnet-5-5"}, Static: "Be short.", Messages: []llm.Message{llm.UserMessage("Hello")}},
		"everything": sample(),
		"older":      older,
		"bare":       bare,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := encoded(t, req, 0)
			if err := fakellm.CheckMessages(body); err != nil {
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
	var p anthropic.MessageNewParams
	if err := json.Unmarshal(encoded(t, sample(), 0), &p); err != nil {
		t.Fatal(err)
	}
	if p.Model != "claude-sonnet-5-5" || p.MaxTokens != 1000 || p.OutputConfig.Effort != "low" || p.Thinking.OfAdaptive == nil || p.ToolChoice.OfNone == nil {
		t.Errorf("settings: %+v", p)
	}
	if len(p.Tools) != 2 || p.Tools[1].OfTool.Name != "datetime" || p.Tools[1].OfTool.CacheControl.Type != "ephemeral" || len(p.System) != 2 {
		t.Errorf("tools: %+v, system: %+v", p.Tools, p.System)
	}
	if len(p.Messages) != 11 {
		t.Fatalf("%d messages: %+v", len(p.Messages), p.Messages)
	}
	reply := p.Messages[1].OfAssistant.Content
	if reply[0].OfThinking.Signature != "c2ln" || reply[3].OfRedactedThinking.Data != "ZGF0YQ==" || reply[2].OfToolUse.ID != "c1" {
		t.Errorf("a reply: %+v", reply)
	}
	answered := p.Messages[8].OfUser.Content
	if answered[0].OfToolResult.Content[1].OfImage == nil || !answered[1].OfToolResult.IsError.Value || answered[2].OfText.Text != "Be quick." {
		t.Errorf("results: %+v", answered)
	}
}

// wireBlock is a block of a request in the order in which the API's cache sees
// it, without its mark.
type wireBlock struct {
	where  string // tool, system, user or assistant
	kind   string
	json   string
	marked bool
}

// wireBlocks takes a request apart.
func wireBlocks(t *testing.T, body []byte) []wireBlock {
	t.Helper()
	var r struct {
		Tools, System []map[string]any
		Messages      []struct {
			Role    string
			Content []map[string]any
		}
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	var out []wireBlock
	add := func(where string, blocks []map[string]any) {
		for _, b := range blocks {
			_, marked := b["cache_control"]
			delete(b, "cache_control")
			text, err := json.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			kind, _ := b["type"].(string)
			out = append(out, wireBlock{where, kind, string(text), marked})
		}
	}
	add("tool", r.Tools)
	add("system", r.System)
	for _, m := range r.Messages {
		add(m.Role, m.Content)
	}
	return out
}

// cache keeps prefixes as the API does: one entry for each mark, found again by
// looking back from a mark over at most 20 places, of which calls in a row, and
// results in a row, take one.
type cache map[string]bool

func prefix(blocks []wireBlock) string {
	var b strings.Builder
	for _, k := range blocks {
		b.WriteString(k.where + k.json)
	}
	return b.String()
}

// ask is how many blocks of a request are read from the cache; those that are
// marked are in it afterwards.
func (c cache) ask(blocks []wireBlock) (read int) {
	for i, b := range blocks {
		if !b.marked {
			continue
		}
		places := 0
		for j := i; j >= 0 && places < 20; j-- {
			if c[prefix(blocks[:j+1])] {
				read = max(read, j+1)
				break
			}
			if run := j > 0 && blocks[j-1].kind == blocks[j].kind && (blocks[j].kind == "tool_use" || blocks[j].kind == "tool_result"); !run {
				places++
			}
		}
	}
	for i, b := range blocks {
		if b.marked {
			c[prefix(blocks[:i+1])] = true
		}
	}
	return read
}

// TestTheCacheFindsWhatWasWritten plays ten turns, with rounds of tools that
// are longer than the API looks back, and images, and what a person says
// meanwhile: each request repeats the one before block by block, and reads all
// of it from the cache.
func TestTheCacheFindsWhatWasWritten(t *testing.T) {
	t.Parallel()
	req := sample()
	req.Choice, req.Messages = llm.ChoiceAuto, nil
	picture := llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Data: []byte("\x89PNG")}}
	kept := cache{}
	var before []wireBlock
	request := func() {
		t.Helper()
		body := encoded(t, req, 0)
		if err := fakellm.CheckMessages(body); err != nil {
			t.Fatal(err)
		}
		if again := encoded(t, req, 0); !bytes.Equal(body, again) {
			t.Fatal("equal requests differ")
		}
		blocks := wireBlocks(t, body)
		var marked []int
		for i, b := range blocks {
			if b.marked {
				marked = append(marked, i)
			}
		}
		// Behind the tools, behind the static prompt, where the last request
		// ended, and where this one does.
		want := []int{1, 2}
		if len(before) > 0 {
			want = append(want, len(before)-1)
		}
		if want = append(want, len(blocks)-1); !slices.Equal(marked, want) {
			t.Fatalf("blocks %v are marked, want %v", marked, want)
		}
		if len(blocks) < len(before) || prefix(blocks[:len(before)]) != prefix(before) {
			t.Fatalf("the request does not begin like the one before:\n%s\n%s", prefix(before), prefix(blocks))
		}
		if read := kept.ask(blocks); read != len(before) {
			t.Fatalf("%d blocks are read from the cache, want %d", read, len(before))
		}
		before = blocks
	}
	for turn := range 10 {
		parts := []llm.Part{llm.Text(fmt.Sprint("Question ", turn)), added(fmt.Sprint("Now: ", turn))}
		if turn%3 == 2 {
			parts = append(parts, picture)
		}
		req.Messages = append(req.Messages, user(parts...))
		request()
		for round := range turn % 4 {
			var reply, answers []llm.Part
			for n := range 1 + 5*round*round {
				id := fmt.Sprintf("c%d_%d_%d", turn, round, n)
				reply = append(reply, thinking("", "sig"+id), llm.Text("Step "+id), use(id, "file_read", `{"path":"`+id+`"}`))
				answers = append(answers, result(id, "text of "+id, n%2 == 1))
			}
			req.Messages = append(req.Messages, assistant(reply...), results(answers...))
			if round == 1 {
				req.Messages = append(req.Messages, user(llm.Text("And be quick.")))
			}
			request()
		}
		req.Messages = append(req.Messages, assistant(thinking("", fmt.Sprint("end", turn)), llm.Text(fmt.Sprint("Answer ", turn))))
	}
}

// What is changed at the end of a request leaves all before it as it was.
func TestForbiddingToolsComesLast(t *testing.T) {
	t.Parallel()
	req := sample()
	forbidden := encoded(t, req, 0)
	req.Choice = llm.ChoiceAuto
	if allowed := encoded(t, req, 0); !bytes.Equal(forbidden, append(bytes.TrimSuffix(allowed, []byte("}")), `,"tool_choice":{"type":"none"}}`...)) {
		t.Errorf("%s\n%s", forbidden, allowed)
	}
}

// Thinking goes back as it came, whoever stored it in between.
func TestThinkingSurvivesStoring(t *testing.T) {
	t.Parallel()
	msg := assistant(thinking("a <b> & \u2028 é", "c2ln+/=="), hidden("ZGF0YQ=="), use("c1", "datetime", "{}"))
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
	want := encoded(t, req, 0)
	req.Messages[1] = read
	if got := encoded(t, req, 0); !bytes.Equal(got, want) {
		t.Errorf("%s\n%s", got, want)
	}
	if part := `{"type":"thinking","thinking":"a <b> & \u2028 é","signature":"c2ln+/=="},{"type":"redacted_thinking","data":"ZGF0YQ=="}`; !strings.Contains(string(want), part) {
		t.Errorf("%s lacks %s", want, part)
	}
}

// What is no block of Claude's is not sent as one.
func TestForeignThinkingIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, o := range []*llm.Opaque{
		nil,
		{Vendor: "gemini", Data: json.RawMessage(`{"type":"thinking","thinking":"x","signature":"x"}`)},
		{Vendor: vendor, Data: json.RawMessage(`{"type":"thinking","thinking":"x"}`)},
		{Vendor: vendor, Data: json.RawMessage(`{"type":"redacted_thinking"}`)},
		{Vendor: vendor, Data: json.RawMessage(`{"type":"text","text":"x"}`)},
		{Vendor: vendor, Data: json.RawMessage(`[]`)},
		{Vendor: vendor},
	} {
		req := hello()
		req.Messages = append(req.Messages, assistant(llm.Part{Kind: llm.KindReasoning, Text: "x", Opaque: o}, llm.Text("yes")), user(llm.Text("and?")))
		body := encoded(t, req, 0)
		if err := fakellm.CheckMessages(body); err != nil || strings.Contains(string(body), `"x"`) {
			t.Errorf("%+v: %v\n%s", o, err, body)
		}
	}
}

// Whatever a history holds, what is sent is a valid transcript.
func TestTranscriptsAreAlwaysValid(t *testing.T) {
	t.Parallel()
	text := rapid.SampledFrom([]string{"", " ", "hello", "a\"b\\c", "界", "Error: x", "\xff"})
	args := rapid.SampledFrom([]string{"", "{}", `{"a":1}`, `{"a":`, `"{\"a\":1}"`, "x", "null", "\xff"})
	name := rapid.SampledFrom([]string{"file_read", "", "no such", "calc", strings.Repeat("x", 99)})
	ids := rapid.SampledFrom([]string{"a", "b", "", "toolu_1", "x y", "call_1_0", "call_1_0_0", strings.Repeat("i", 99)})
	reasoning := rapid.SampledFrom([]llm.Part{thinking("", "c2ln"), thinking("So.", "c2ln"), hidden("ZGF0YQ=="), {Kind: llm.KindReasoning, Text: "foreign"}})
	media := rapid.SampledFrom([]*llm.Media{nil, {MIME: "image/png"}, {MIME: "image/png", Data: []byte("x")}, {MIME: wire.PDF, Data: []byte("x")}, {MIME: "text/x", Data: []byte("x")}})
	rapid.Check(t, func(t *rapid.T) {
		var messages []llm.Message
		for range rapid.IntRange(0, 8).Draw(t, "messages") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				messages = append(messages, user(llm.Text(text.Draw(t, "user")), llm.Part{Kind: llm.KindMedia, Media: media.Draw(t, "media")}, added(text.Draw(t, "context"))))
			case 1:
				messages = append(messages, assistant(reasoning.Draw(t, "first"), llm.Text(text.Draw(t, "assistant")), reasoning.Draw(t, "last")))
			case 2:
				// Results that no call waits for, as a broken history may hold.
				messages = append(messages, results(result("stray", text.Draw(t, "stray"), false)))
			case 3:
				parts, answers := []llm.Part{reasoning.Draw(t, "thought"), llm.Text(text.Draw(t, "words"))}, []llm.Part(nil)
				for range rapid.IntRange(1, 3).Draw(t, "calls") {
					c := ids.Draw(t, "id")
					parts = append(parts, use(c, name.Draw(t, "name"), args.Draw(t, "args")))
					if rapid.IntRange(0, 4).Draw(t, "answered") > 0 {
						answers = append(answers, result(c, text.Draw(t, "result"), rapid.Bool().Draw(t, "error")))
					}
				}
				messages = append(messages, assistant(parts...))
				if len(answers) > 0 {
					messages = append(messages, results(answers...))
				}
			}
		}
		req := llm.Request{
			Target:  llm.Target{Model: rapid.SampledFrom([]string{"claude-sonnet-5-5", "claude-opus-4-5", "m"}).Draw(t, "model"), Images: rapid.Bool().Draw(t, "images"), Files: rapid.Bool().Draw(t, "files")},
			Session: text.Draw(t, "session"), Messages: messages,
			Reasoning: rapid.SampledFrom([]string{"", "off", "low", "high"}).Draw(t, "reasoning"), MaxOutput: rapid.IntRange(0, 4000).Draw(t, "limit"),
		}
		if rapid.Bool().Draw(t, "tools") {
			req.Tools = sample().Tools
		}
		learned := refusals(rapid.IntRange(0, int(refusedDrops)*2-1).Draw(t, "learned"))
		body, err := encode(&req, formOf(&req, learned, rapid.Bool().Draw(t, "bare")))
		if err != nil {
			t.Fatal(err)
		}
		if err := fakellm.CheckMessages(body); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
	})
}

// A result that is a failure holds text only; what came with it isn't lost.
func TestImagesOfFailuresFollow(t *testing.T) {
	t.Parallel()
	r := result("a", "It broke.", true)
	r.Result.Content = append(r.Result.Content, llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Data: []byte("x")}})
	req := llm.Request{Target: llm.Target{Model: "claude-sonnet-5-5", Images: true}, Messages: []llm.Message{
		user(llm.Text("Look.")), assistant(use("a", "look", "{}")), results(r),
	}}
	const want = `"content":[{"type":"text","text":"It broke."}]},{"type":"text","text":"Images from the failed calls above:"},{"type":"image",`
	if body := encoded(t, req, 0); !strings.Contains(string(body), want) {
		t.Errorf("%s", body)
	}
}

// A call is demanded of a model that doesn't think: the API refuses both at once.
func TestDemandingACall(t *testing.T) {
	t.Parallel()
	req := sample()
	req.Choice = llm.ChoiceRequired
	if got := encoded(t, req, 0); bytes.Contains(got, []byte("tool_choice")) {
		t.Errorf("a model that thinks: %s", got)
	}
	req.Target.Model, req.Reasoning = "claude-haiku-4-5", "off"
	if got := encoded(t, req, 0); !bytes.HasSuffix(got, []byte(`,"tool_choice":{"type":"any"}}`)) {
		t.Errorf("any: %s", got)
	}
	req.Only = "file_read"
	if got := encoded(t, req, 0); !bytes.HasSuffix(got, []byte(`,"tool_choice":{"type":"tool","name":"file_read"}}`)) {
		t.Errorf("one: %s", got)
	}
}
