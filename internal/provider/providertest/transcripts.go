package providertest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// turns is how many turns a session has whose requests are compared.
const turns = 10

// prefixes holds that a session's request begins with the bytes of the one
// before, over ten turns with tools, and that equal requests are equal bytes.
func prefixes(t *testing.T, v Vendor) {
	s := fakellm.StartScript(t, fakellm.Script{Loop: true, Answers: []fakellm.Answer{
		{Reasoning: "I look.", Text: "Let me see.", Calls: []fakellm.Call{fakellm.Use("file_read", `{"path":"a.txt"}`), fakellm.Use("datetime", `{}`)}},
		{Text: "Done."},
	}})
	m := v.at(s, provider.Limits{})
	req := v.request()
	for n := range turns {
		req.Messages = append(req.Messages, llm.UserMessage(fmt.Sprintf("And %d?", n)))
		for {
			got := ask(t.Context(), m, req)
			if got.err != nil {
				t.Fatal(got.err)
			}
			req.Messages = append(req.Messages, identified(got.reply.Message, len(req.Messages)))
			results, some := resultsOf(req.Messages[len(req.Messages)-1])
			if !some {
				break
			}
			req.Messages = append(req.Messages, results)
		}
	}
	var before []byte
	for i, r := range s.Requests() {
		body := r.Body
		if v.Unmarked != nil {
			body = v.Unmarked(body)
		}
		if before != nil {
			if keep := before[:max(len(before)-v.Tail, 0)]; !bytes.HasPrefix(body, keep) {
				t.Fatalf("request %d doesn't begin with the one before:\n%s\n%s", i+1, before, body)
			}
		}
		before = body
	}
	last := req.Messages[:len(req.Messages)-1]
	for range 2 {
		if got := ask(t.Context(), m, llm.Request{Target: req.Target, Static: req.Static, Session: req.Session, Tools: req.Tools, Messages: last}); got.err != nil {
			t.Fatal(got.err)
		}
	}
	all := s.Requests()
	if !bytes.Equal(all[len(all)-1].Body, all[len(all)-2].Body) {
		t.Error("the bodies of equal requests differ")
	}
}

// identified gives the calls of a reply the ids that the loop would.
func identified(m llm.Message, at int) llm.Message {
	parts := make([]llm.Part, len(m.Parts))
	n := 0
	for i, p := range m.Parts {
		if p.Kind == llm.KindCall {
			c := *p.Call
			if c.ID == "" {
				c.ID = fmt.Sprintf("call_%d_%d", at, n)
			}
			p.Call = &c
			n++
		}
		parts[i] = p
	}
	return llm.Message{Role: m.Role, Parts: parts}
}

// resultsOf answers all calls of a reply.
func resultsOf(m llm.Message) (results llm.Message, some bool) {
	results.Role = llm.Results
	for i, c := range m.Calls() {
		results.Parts = append(results.Parts, llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{
			CallID: c.ID, Name: c.Name, Content: []llm.Part{llm.Text(fmt.Sprintf("result %d", i))},
		}})
	}
	return results, len(results.Parts) > 0
}

// transcripts holds that whatever a history has in it, made by whatever vendor,
// what is sent is valid: the server checks it.
func transcripts(t *testing.T, v Vendor) {
	s := fakellm.StartInMemoryScript(t, fakellm.Script{Loop: true, Answers: []fakellm.Answer{fakellm.Text("Yes.")}})
	m := v.at(s, provider.Limits{})
	rapid.Check(t, func(t *rapid.T) {
		req := v.request()
		req.Messages = history(t)
		req.Session = text.Draw(t, "session")
		req.Target.Images = rapid.Bool().Draw(t, "images")
		req.Reasoning = rapid.SampledFrom([]string{"", "off", "low", "medium", "high"}).Draw(t, "reasoning")
		req.MaxOutput = rapid.IntRange(0, 4000).Draw(t, "limit")
		if rapid.Bool().Draw(t, "no tools") {
			req.Tools = nil
		}
		if rapid.Bool().Draw(t, "forbidden") {
			req.Choice = llm.ChoiceNone
		}
		if got := ask(t.Context(), m, req); got.err != nil {
			t.Fatal(got.err)
		}
		if err := s.Forgive(); err != nil {
			t.Fatal(err)
		}
	})
}

// What the pieces of a history are drawn from.
var (
	text  = rapid.SampledFrom([]string{"", " ", "hello", "a\"b\\c", "界", "Error: x", "\xff"})
	args  = rapid.SampledFrom([]string{"", "{}", `{"a":1}`, `{"a":`, `"{\"a\":1}"`, "x", "null", "\xff"})
	name  = rapid.SampledFrom([]string{"file_read", "", "no such", "datetime", "a.b:c-d", strings.Repeat("x", 99)})
	ids   = rapid.SampledFrom([]string{"a", "b", "", "toolu_1", "x y", "call_1_0", "call_1_0_0", strings.Repeat("i", 99)})
	media = rapid.SampledFrom([]*llm.Media{
		nil,
		{MIME: "image/png"},
		{MIME: "image/png", Data: []byte("x")},
		{MIME: "application/pdf", Data: []byte("x")},
		{MIME: "text/x", Data: []byte("x")},
	})
	opaque = rapid.SampledFrom([]*llm.Opaque{
		nil,
		{Vendor: "anthropic", Data: json.RawMessage(`{"type":"thinking","thinking":"So.","signature":"c2ln"}`)},
		{Vendor: "openai", Data: json.RawMessage(`{"id":"rs_1","encrypted_content":"x"}`)},
		{Vendor: "gemini", Data: json.RawMessage(`{"thoughtSignature":"c2ln"}`)},
		{Vendor: "from-the-future", Data: json.RawMessage(`{}`)},
	})
	reasoning = rapid.Custom(func(t *rapid.T) llm.Part {
		return llm.Part{Kind: llm.KindReasoning, Text: text.Draw(t, "reasoning"), Opaque: opaque.Draw(t, "opaque")}
	})
)

// history draws a transcript such as failover, crashes and trimming leave.
func history(t *rapid.T) (messages []llm.Message) {
	for range rapid.IntRange(0, 8).Draw(t, "messages") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			messages = append(messages, llm.Message{Role: llm.User, Parts: []llm.Part{
				llm.Text(text.Draw(t, "user")), {Kind: llm.KindMedia, Media: media.Draw(t, "media")}, {Kind: llm.KindContext, Text: text.Draw(t, "context")},
			}})
		case 1:
			messages = append(messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{
				reasoning.Draw(t, "first"), llm.Text(text.Draw(t, "assistant")), reasoning.Draw(t, "last"),
			}})
		case 2: // results that no call waits for
			messages = append(messages, llm.Message{Role: llm.Results, Parts: []llm.Part{result(t, "stray", "file_read")}})
		case 3:
			messages = append(messages, round(t)...)
		}
	}
	return messages
}

// round is a reply with calls and what results of them there are.
func round(t *rapid.T) []llm.Message {
	reply := llm.Message{Role: llm.Assistant, Parts: []llm.Part{reasoning.Draw(t, "thought"), llm.Text(text.Draw(t, "words"))}}
	var results []llm.Part
	for range rapid.IntRange(1, 3).Draw(t, "calls") {
		c := llm.ToolCall{ID: ids.Draw(t, "id"), Name: name.Draw(t, "name"), Arguments: args.Draw(t, "args")}
		reply.Parts = append(reply.Parts, llm.Part{Kind: llm.KindCall, Call: &c, Opaque: opaque.Draw(t, "signature")})
		if rapid.IntRange(0, 4).Draw(t, "answered") > 0 {
			results = append(results, result(t, c.ID, c.Name))
		}
	}
	if len(results) > 1 && rapid.Bool().Draw(t, "swapped") {
		results[0], results[1] = results[1], results[0]
	}
	if len(results) == 0 {
		return []llm.Message{reply}
	}
	return []llm.Message{reply, {Role: llm.Results, Parts: results}}
}

func result(t *rapid.T, id, name string) llm.Part {
	r := &llm.ToolResult{CallID: id, Name: name, Content: []llm.Part{llm.Text(text.Draw(t, "result"))}, IsError: rapid.Bool().Draw(t, "error")}
	if m := media.Draw(t, "picture"); m != nil {
		r.Content = append(r.Content, llm.Part{Kind: llm.KindMedia, Media: m})
	}
	return llm.Part{Kind: llm.KindResult, Result: r}
}

// made holds that an image which another vendor's model made is not lost: a
// line says that it was there, and who takes images is shown it again.
func made(t *testing.T, v Vendor) {
	s := fakellm.StartScript(t, fakellm.Script{Loop: true, Answers: []fakellm.Answer{fakellm.Text("Done.")}})
	m := v.at(s, provider.Limits{})
	picture := llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Name: "cat.png", Data: []byte("a picture of a cat")}}
	for _, images := range []bool{true, false} {
		for _, parts := range [][]llm.Part{{picture}, {llm.Text("Here."), picture}} {
			req := v.request()
			req.Target.Images = images
			req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: parts}, llm.UserMessage("Make it blue."))
			if got := ask(t.Context(), m, req); got.err != nil {
				t.Fatal(got.err)
			}
			all := s.Requests()
			body := all[len(all)-1].Body
			if !bytes.Contains(body, []byte("You made: cat.png")) {
				t.Errorf("nothing tells of the picture: %s", body)
			}
			if shown := bytes.Contains(body, []byte(base64.StdEncoding.EncodeToString(picture.Media.Data))); shown != images {
				t.Errorf("the picture is there: %v, want %v: %s", shown, images, body)
			}
		}
	}
}
