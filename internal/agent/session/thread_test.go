package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// written shows a thread as one line per message.
func written(messages []llm.Message) []string {
	var lines []string
	for _, m := range messages {
		line := string(m.Role) + ":"
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				line += fmt.Sprintf(" <%s %s>", p.Call.Name, p.Call.ID)
			case p.Result != nil:
				line += fmt.Sprintf(" <%s %s %v %q>", p.Result.Name, p.Result.CallID, p.Result.IsError, llm.JoinText(p.Result.Content))
			case p.Kind == llm.KindReasoning:
				line += " (" + p.Text + ")"
			default:
				line += fmt.Sprintf(" %q", p.Text)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func reply(finish llm.Finish, parts ...llm.Part) agent.Round {
	r := agent.Round{Reply: llm.Reply{Message: llm.Message{Role: llm.Assistant, Parts: parts}, Finish: finish}}
	r.Calls = r.Reply.Message.Calls()
	for _, c := range r.Calls {
		r.Outcomes = append(r.Outcomes, tool.Outcome{Call: c, Tool: c.Name})
	}
	return r
}

func call(id string) llm.Part {
	return llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{ID: id, Name: "Calc", Arguments: "{}"}}
}

func done(r agent.Round, index int, status tool.Status, text string) agent.Round {
	r.Outcomes[index].Tool, r.Outcomes[index].Status = "calc", status
	r.Outcomes[index].Content = []llm.Part{llm.Text(text)}
	return r
}

func TestThread(t *testing.T) {
	t.Parallel()
	ask := llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text("hi"), {Kind: llm.KindContext, Text: "Now: noon"}}}
	const asked = `user: "hi" "Now: noon"`
	const interrupted = "interrupted: the process ended while this call ran; it may or may not have taken effect; check before repeating it"
	for _, c := range []struct {
		name   string
		status agent.Status
		rounds []agent.Round
		want   []string
	}{
		{"an answer", agent.Done, []agent.Round{reply(llm.FinishStop, llm.Text("hello"))}, []string{`assistant: "hello"`}},
		{
			"results in the order of the calls", agent.Done,
			[]agent.Round{
				done(done(reply(llm.FinishCalls, llm.Text(""), call("a"), call("b")), 1, tool.OK, "2"), 0, tool.Failed, "no file"),
				reply(llm.FinishStop, llm.Text("2")),
			},
			[]string{`assistant: <Calc a> <Calc b>`, `tool: <calc a true "no file"> <calc b false "2">`, `assistant: "2"`},
		},
		{
			"killed while a tool ran", agent.Interrupted,
			[]agent.Round{done(reply(llm.FinishCalls, llm.Text("look"), call("a"), call("b")), 0, tool.OK, "1")},
			[]string{
				`assistant: "look" <Calc a> <Calc b>`, `tool: <calc a false "1"> <Calc b true "` + interrupted + `">`,
				`assistant: "[no answer: the process ended during the run]"`,
			},
		},
		{"killed while the model answered", agent.Interrupted, nil, []string{`assistant: "[no answer: the process ended during the run]"`}},
		{"never swept", agent.Running, nil, []string{`assistant: "[no answer: the process ended during the run]"`}},
		{"failed at once", agent.Failed, nil, []string{`assistant: "[no answer: the run failed]"`}},
		{
			"failed after a tool", agent.Failed,
			[]agent.Round{done(reply(llm.FinishCalls, call("a")), 0, tool.OK, "1")},
			[]string{`assistant: <Calc a>`, `tool: <calc a false "1">`, `assistant: "[no answer: the run failed]"`},
		},
		{
			"stopped within the answer", agent.Stopped,
			[]agent.Round{reply(llm.FinishStopped, llm.Text("I was"))},
			[]string{`assistant: "I was" "\n\n[the answer broke off: the run was stopped]"`},
		},
		{
			"broke off", agent.Failed,
			[]agent.Round{reply(llm.FinishStopped, llm.Text("I was"))},
			[]string{`assistant: "I was" "\n\n[the answer broke off: the run failed]"`},
		},
		{"empty answer", agent.Done, []agent.Round{reply(llm.FinishStop)}, []string{`assistant: "[no answer]"`}},
		{"blank answer", agent.Done, []agent.Round{reply(llm.FinishStop, llm.Text(" \n"))}, []string{`assistant: "[no answer]"`}},
		{
			"reasoning alone", agent.Done,
			[]agent.Round{reply(llm.FinishStop, llm.Part{Kind: llm.KindReasoning, Text: "hm"})},
			[]string{`assistant: (hm) "[no answer]"`},
		},
		{
			"pieces of text", agent.Done,
			[]agent.Round{reply(llm.FinishStop, llm.Text("\n"), llm.Text("a"), llm.Text(""), llm.Text(" b"), llm.Part{Kind: llm.KindReasoning, Text: "hm"}, llm.Text(" "))},
			[]string{`assistant: "\na b" (hm)`},
		},
		{
			"empty result", agent.Done,
			[]agent.Round{done(reply(llm.FinishCalls, call("a")), 0, tool.OK, ""), reply(llm.FinishStop, llm.Text("ok"))},
			[]string{`assistant: <Calc a>`, `tool: <calc a false "(the tool returned nothing)">`, `assistant: "ok"`},
		},
		{
			"a word of the host", agent.Limited,
			[]agent.Round{
				done(reply(llm.FinishCalls, call("a")), 0, tool.OK, "1"),
				{Before: []llm.Message{{Role: llm.User}, host("limit")}, Reply: llm.Reply{Message: llm.AssistantMessage("so far"), Finish: llm.FinishStop}},
			},
			[]string{`assistant: <Calc a>`, `tool: <calc a false "1">`, `user: "limit"`, `assistant: "so far"`},
		},
		{
			"words that nothing answered", agent.Failed,
			[]agent.Round{
				done(reply(llm.FinishCalls, call("a")), 0, tool.OK, "1"),
				{Before: []llm.Message{llm.UserMessage("and this")}, Reply: llm.Reply{Finish: llm.FinishStopped}},
			},
			[]string{`assistant: <Calc a>`, `tool: <calc a false "1">`, `user: "and this"`, `assistant: "[no answer: the run failed]"`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			turns := []session.Turn{{Message: ask, Status: c.status, Rounds: c.rounds}, {Message: llm.UserMessage("go on"), Status: agent.Running}}
			thread := session.Thread(turns)
			if err := sessiontest.Valid(thread); err != nil {
				t.Error(err)
			}
			want := append(append([]string{asked}, c.want...), `user: "go on"`)
			if diff := cmp.Diff(want, written(thread)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			// Making a thread must not change what it is made of.
			if diff := cmp.Diff(thread, session.Thread(turns)); diff != "" {
				t.Errorf("the second time (-first +second):\n%s", diff)
			}
		})
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 30)
	family := "👩‍👩‍👧‍👦"
	for _, c := range []struct{ text, want string }{
		{"Read main.go", "Read main.go"},
		{"  Read\n\n\tmain.go \u00a0 now ", "Read main.go now"},
		{"", "Untitled"},
		{" \n", "Untitled"},
		{"\x1b[31mred\x07\u202eevil\ufffd", "[31mredevil"},
		{long, strings.TrimSpace(long[:60]) + "…"},
		{strings.Repeat("x", 60), strings.Repeat("x", 60)},
		{strings.Repeat("x", 61), strings.Repeat("x", 59) + "…"},
		{"short " + strings.Repeat("y", 80), "short " + strings.Repeat("y", 53) + "…"},
		{strings.Repeat("é", 59) + "xe\u0301e\u0301", strings.Repeat("é", 59) + "…"},
		{strings.Repeat(family, 10), strings.Repeat(family, 8) + "…"},
		{strings.Repeat("文", 70), strings.Repeat("文", 59) + "…"},
	} {
		got := session.Title(llm.UserMessage(c.text))
		if got != c.want {
			t.Errorf("title of %.20q: %q, want %q", c.text, got, c.want)
		}
		if n := len([]rune(got)); n > 60 {
			t.Errorf("title of %.20q has %d code points", c.text, n)
		}
	}
	picture := llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.KindContext, Text: "Now"}, {Kind: llm.KindMedia, Media: &llm.Media{Name: "cat.png"}}}}
	if got := session.Title(picture); got != "cat.png" {
		t.Errorf("title of a picture: %q", got)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"work", "A", "2025-11-30", "api:ada.x_1", session.NewID(), strings.Repeat("x", 128)} {
		if err := (session.Key{Agent: "main", ID: id}).Check(); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, id := range []string{"", ".", "../x", "-x", "a b", "a/b", "é", "a\n", "x\x00", strings.Repeat("x", 129)} {
		if (session.Key{Agent: "main", ID: id}).Check() == nil || (session.Key{Agent: id, ID: "work"}).Check() == nil {
			t.Errorf("%q was taken", id)
		}
	}
	if a, b := session.NewID(), session.NewID(); a == b || len(a) != 16 {
		t.Errorf("ids %q and %q", a, b)
	}
}

func TestSnippet(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("before ", 50) + "the Café stands\nhere " + strings.Repeat("after ", 50)
	for _, c := range []struct{ text, query, want string }{
		{"a short text", "text", "a short text"},
		{"one\ntwo\x1b", "none", "one two"},
		{long, "cafe", "… before before before before before before the Café stands here after after after after after after after after after after after after after after after…"},
		{"xx café", `"caf"`, "xx café"},
		{"", "x", ""},
	} {
		got := session.Snippet(c.text, session.Terms(c.query))
		if got != c.want {
			t.Errorf("snippet of %.20q for %s:\n%q, want\n%q", c.text, c.query, got, c.want)
		}
		if n := len([]rune(got)); n > 160 {
			t.Errorf("snippet has %d code points", n)
		}
	}
}

func FuzzSnippet(f *testing.F) {
	f.Add("the Café 文件 stands", `caf "文 件"`)
	f.Add("\xff\xfe e\u0301", "e")
	f.Fuzz(func(t *testing.T, text, query string) {
		terms := session.Terms(query)
		for _, term := range terms {
			if len(term.Words) == 0 || strings.ContainsAny(strings.Join(term.Words, ""), "\"*(): ") {
				t.Errorf("term %q of %q", term.Words, query)
			}
		}
		if n := len([]rune(session.Snippet(text, terms))); n > 160 {
			t.Errorf("snippet has %d code points", n)
		}
		if n := len([]rune(session.Title(llm.UserMessage(text)))); n > 60 || n == 0 {
			t.Errorf("title has %d code points", n)
		}
	})
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	at := time.Now()
	o := session.Interrupted(llm.ToolCall{ID: "a", Name: "calc"}, at)
	if o.Status != tool.Interrupted || o.Ran() || !o.Result().IsError || o.Result().CallID != "a" || !o.Ended.Equal(at) {
		t.Errorf("%+v", o)
	}
}
