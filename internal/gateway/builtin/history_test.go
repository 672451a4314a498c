package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// speakers are providers that between them speak every wire there is, each with
// a model that reasons and takes tools.
var speakers = []struct{ kind, model, path string }{
	{"openai", "gpt-6-luna", "/v1"},
	{"claude", "claude-sonnet-5-5", ""},
	{"gemini", "gemini-3.8-flash", ""},
	{"deepseek", "deepseek-flash", ""},
	{"ollama", "qwen3", ""},
	{provider.Compatible, "m", "/v1"},
	{"demo", "demo", ""},
}

// A conversation goes on with any provider, whoever led it so far: what a
// server is sent holds all that was said, called and found, and is valid by
// what its vendor documents.
func TestAnyProviderGoesOnWithTheHistoryOfAnyOther(t *testing.T) {
	t.Parallel()
	wires := map[string]bool{}
	for _, from := range speakers {
		for _, to := range speakers {
			t.Run(from.kind+" to "+to.kind, func(t *testing.T) {
				t.Parallel()
				c := &conversation{server: fakellm.StartScript(t, fakellm.Script{Loop: true, Answers: []fakellm.Answer{
					{
						Reasoning: "I look at both.", Text: "Let me see.",
						Calls: []fakellm.Call{fakellm.Use("file_read", `{"path":"a.txt"}`), fakellm.Use("datetime", `{}`), fakellm.Use("file_read", `{"path":"b.txt"}`)},
					},
					{Reasoning: "That's it.", Text: "It is noon."},
				}})}
				// There and back: what came of the first leg has to survive the second.
				for leg, s := range []struct{ kind, model, path string }{from, to, from} {
					c.turn(t, provider.Settings{Name: s.kind, Type: s.kind, Model: s.model, BaseURL: c.server.URL + s.path, Key: "sk-test"}, leg)
				}
			})
		}
		set := provider.New(provider.Options{Vendors: builtin.Vendors()})
		target, _ := set.For(from.kind+"/"+from.model, nil).Target("") // that no key is configured doesn't matter
		wires[target.Vendor] = true
	}
	for name := range builtin.Vendors() {
		if !wires[name] {
			t.Errorf("nobody speaks %s", name)
		}
	}
}

// conversation is one that moves from provider to provider.
type conversation struct {
	server   *fakellm.Server
	messages []llm.Message
	said     []string // what every later request has to hold
}

// turn says something and answers calls until a reply has none.
func (c *conversation) turn(t *testing.T, s provider.Settings, leg int) {
	t.Helper()
	models := provider.New(provider.Options{Vendors: builtin.Vendors(), Providers: []provider.Settings{s}}).For(s.Name, nil)
	words := fmt.Sprintf("Question %d", leg)
	c.messages = append(c.messages, llm.UserMessage(words))
	c.said = append(c.said, words)
	for round := range 3 {
		asked := len(c.server.Requests())
		reply := c.ask(t, models)
		if all := c.server.Requests(); len(all) > asked { // the demo model asks nobody
			for _, words := range c.said {
				if !strings.Contains(string(all[asked].Body), words) {
					t.Errorf("leg %d, round %d: %q is not in the request\n%s", leg, round, words, all[asked].Body)
				}
			}
		}
		c.messages = append(c.messages, reply)
		words, _, _ := strings.Cut(reply.Text(), "\"") // up to what JSON would escape
		words, _, _ = strings.Cut(words, "\n")
		c.said = append(c.said, words)
		calls := reply.Calls()
		if len(calls) == 0 {
			return
		}
		results := llm.Message{Role: llm.Results}
		for i := range calls {
			text := fmt.Sprintf("result %d of round %d of leg %d", i, round, leg)
			results.Parts = append(results.Parts, llm.Part{Kind: llm.KindResult, Result: &llm.ToolResult{
				CallID: calls[i].ID, Name: calls[i].Name, Content: []llm.Part{llm.Text(text)},
			}})
			c.said = append(c.said, text)
		}
		c.messages = append(c.messages, results)
	}
	t.Errorf("leg %d: calls and no end", leg)
}

// ask gives a reply as the loop keeps it: each of its calls has an id.
func (c *conversation) ask(t *testing.T, models *provider.Models) llm.Message {
	t.Helper()
	var reply *llm.Reply
	build := func(target llm.Target) (llm.Request, error) {
		return llm.Request{Target: target, Static: "Be short.", Messages: c.messages, Reasoning: "low", Tools: []llm.ToolSpec{
			{Name: "datetime", Description: "Tell the time.", Parameters: []byte(`{"properties":{},"type":"object"}`)},
			{Name: "file_read", Description: "Read a file.", Parameters: []byte(`{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}`)},
		}}, nil
	}
	for e, err := range models.Stream(t.Context(), "", false, build) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == llm.EventDone {
			reply = e.Reply
		}
	}
	for i, p := range reply.Message.Parts {
		if p.Kind == llm.KindCall && p.Call.ID == "" {
			p.Call.ID = fmt.Sprintf("call_%d_%d", len(c.messages), i)
		}
	}
	return reply.Message
}
