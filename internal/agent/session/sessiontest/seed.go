package sessiontest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
)

// told is a turn of a conversation that a client tells, without an answer if
// reply is empty.
func told(number, round int, ask, reply string) session.Turn {
	t := turnOf("", ask, 0)
	t.Number, t.Seeded, t.Status, t.Ended = number, true, agent.Done, at(0)
	if reply != "" {
		t.Rounds = []agent.Round{{
			Number: round, Reply: llm.Reply{Message: llm.AssistantMessage(reply), Finish: llm.FinishStop},
			Started: at(0), Replied: at(0), Ended: at(0),
		}}
	}
	t.Model, t.USD = "", new(float64)
	return t
}

func testSeeded(t *testing.T, s session.Store) {
	ctx := t.Context()
	seed := []session.Turn{told(1, 1, "Where is the harbour?", "In the north."), told(2, 0, "And then", ""), told(3, 2, "who keeps it?", "Nobody.")}
	begun := value(s.Begin(ctx, key, turnOf("run1", "go on", 1), "t", seed...))(t)
	equal(t, "begun", begun, session.Begun{New: true, Turn: 4, Rounds: 2})
	other := session.Key{Agent: "main", ID: "other"}
	value(s.Begin(ctx, other, turnOf("run2", "hi", 2), "t", seed[0]))(t)

	turns := value(s.Turns(ctx, key, 1, 3, session.Whole))(t)
	equal(t, "what was told", turns, seed)
	one := value(s.Session(ctx, key))(t)
	equal(t, "the session", []any{one.Turns, one.Rounds, one.Usage, one.Status}, []any{4, 2, llm.Usage{}, agent.Running})

	// They are no runs, by whatever they are looked for.
	for _, f := range []session.RunFilter{{}, {Agent: "main"}, {ID: "work", Limit: 1}, {Status: agent.Done}, {Caller: person.ID}, {Run: "seed:1:1"}} {
		runs, _, err := s.Runs(ctx, f)
		must(t, err)
		for _, r := range runs {
			if r.Seeded || r.Run == "" || f.Status == agent.Done {
				t.Errorf("runs %+v: %+v", f, r)
			}
		}
	}
	equal(t, "unfinished", value(s.Unfinished(ctx))(t), []session.Key{key, other})

	hits := value(s.Search(ctx, session.Query{Text: "nobody"}))(t)
	if len(hits) != 1 || hits[0].Turn != 3 || hits[0].Role != llm.Assistant || hits[0].Session != key {
		t.Errorf("hits %+v", hits)
	}
	if hits := value(s.Search(ctx, session.Query{Text: "harbour", ID: "work"}))(t); len(hits) != 1 || hits[0].Role != llm.User {
		t.Errorf("hits %+v", hits)
	}

	// The session goes on as any other, and takes no second conversation.
	must(t, s.Called(ctx, "run1", full(3, "x")))
	must(t, s.End(ctx, "run1", agent.End{Status: agent.Done, Time: at(3)}))
	begun = value(s.Begin(ctx, key, turnOf("run3", "more", 4), "t", seed...))(t)
	equal(t, "begun again", []any{begun.New, begun.Turn, begun.Rounds}, []any{false, 5, 3})
	equal(t, "usage", value(s.Session(ctx, key))(t).Usage, full(3, "x").Reply.Usage)

	must(t, s.Delete(ctx, key))
	must(t, s.Delete(ctx, other))
	if hits := value(s.Search(ctx, session.Query{Text: "harbour"}))(t); len(hits) != 0 {
		t.Errorf("words outlived their session: %+v", hits)
	}
	wrong := told(1, 2, "a", "b")
	if _, err := s.Begin(ctx, key, turnOf("run4", "hi", 5), "t", wrong); err == nil {
		t.Error("a round out of order was stored")
	}
	_, err := s.Session(ctx, key)
	wantErr(t, "what is refused leaves nothing", err, session.ErrNotFound)
}

// said shows a thread in short: who, and what.
func said(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		text := m.Text()
		if text == "" && len(m.Parts) > 0 {
			text = "(" + string(m.Parts[0].Kind) + ")"
		}
		fmt.Fprintf(&b, "%c %s|", m.Role[0], text)
	}
	return strings.ReplaceAll(b.String(), "\n", "/")
}

func testSeeds(t *testing.T, s session.Store) {
	u, a := llm.UserMessage, llm.AssistantMessage
	picture := llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Name: "cat.png", Data: []byte("p")}}}}
	for i, c := range []struct {
		seed   []llm.Message
		thread string // before the turn's own message
		title  string
		turns  int
	}{
		{nil, "", "now", 0},
		{[]llm.Message{u("hi"), a("hello")}, "u hi|a hello|", "hi", 1},
		{[]llm.Message{u("hi"), a("hello"), u("and"), a("well")}, "u hi|a hello|u and|a well|", "hi", 2},
		{[]llm.Message{a("welcome"), u("hi"), a("hello")}, "u (context)|a welcome|u hi|a hello|", "hi", 2},
		{[]llm.Message{a("welcome")}, "u (context)|a welcome|", "now", 1},
		{[]llm.Message{u("one"), u("two"), a("three")}, "u one|u two|a three|", "one", 2},
		{[]llm.Message{u("one"), a("two"), a("three"), u("four")}, "u one|a two//three|u four|", "one", 2},
		{[]llm.Message{u("one"), u("two")}, "u one|u two|", "one", 2},
		{[]llm.Message{u(" "), {Role: llm.User}, a("\n"), u("one"), a("")}, "u one|", "one", 1},
		{[]llm.Message{picture, a("a cat")}, "u (media)|a a cat|", "cat.png", 1},
	} {
		testSeed(t, s, i, c.seed, c.thread, c.title, c.turns)
	}
}

// testSeed begins session number i with a conversation, and goes on.
func testSeed(t *testing.T, s session.Store, i int, seed []llm.Message, want, title string, turns int) {
	t.Helper()
	ctx := t.Context()
	h := session.NewHistory(s, nil)
	k := session.Key{Agent: "main", ID: fmt.Sprint("s", i)}
	turn := AgentTurn(k, fmt.Sprint("run", i), "now")
	turn.Seed = seed
	thread := value(h.Begin(ctx, turn))(t)
	must(t, Valid(thread.Messages))
	equal(t, "thread", said(thread.Messages), want+"u now|")
	one := value(s.Session(ctx, k))(t)
	equal(t, "title and turns", []any{one.Title, one.Turns}, []any{title, turns + 1})
	equal(t, "rounds so far", thread.Rounds, one.Rounds)
	must(t, Work(ctx, h, turn, answer(thread.Rounds+1, "done"), ""))
	must(t, h.End(ctx, turn, agent.End{Status: agent.Done}))

	// The next turn gets the same bytes, and a seed no more.
	next := AgentTurn(k, fmt.Sprint("next", i), "next")
	next.Seed = []llm.Message{llm.UserMessage("ignored"), llm.AssistantMessage("ignored")}
	again := value(h.Begin(ctx, next))(t)
	if !strings.HasPrefix(text(loaded(t, again)), text(thread.Messages)) || len(again.Messages) != len(thread.Messages)+2 {
		t.Errorf("thread %d goes on as %s", i, said(again.Messages))
	}
	must(t, h.End(ctx, next, agent.End{Status: agent.Done}))
	runs, _, err := s.Runs(ctx, session.RunFilter{Agent: k.Agent, ID: k.ID})
	must(t, err)
	equal(t, "runs", len(runs), 2)
}

func testSeedExport(t *testing.T, s session.Store) {
	ctx := t.Context()
	h := session.NewHistory(s, nil)
	k := session.Key{Agent: "main", ID: "told"}
	turn := AgentTurn(k, "run", "now")
	turn.Seed = []llm.Message{llm.AssistantMessage("welcome"), llm.UserMessage("hi"), llm.AssistantMessage("hello")}
	thread := value(h.Begin(ctx, turn))(t)
	must(t, Work(ctx, h, turn, answer(thread.Rounds+1, "done"), ""))
	must(t, h.End(ctx, turn, agent.End{Status: agent.Done}))
	var b strings.Builder
	must(t, session.ExportMarkdown(ctx, &b, s, k))
	for _, words := range []string{"## 1. Ada, ", "UTC, as a client told it\n\n\nwelcome\n", "> hi\n\nhello\n", "> now\n\ndone\n"} {
		if !strings.Contains(b.String(), words) {
			t.Errorf("the transcript doesn't say %q:\n%s", words, b.String())
		}
	}
	b.Reset()
	must(t, session.ExportJSONL(ctx, &b, s, k))
	var seeded, rounds int
	for line := range strings.Lines(b.String()) {
		var one struct {
			Type   string `json:"type"`
			Seeded bool   `json:"seeded"`
			Run    string `json:"run"`
		}
		must(t, json.Unmarshal([]byte(line), &one))
		switch {
		case one.Type == "round":
			rounds++
		case one.Type == "turn" && one.Seeded:
			seeded++
		}
		if one.Type == "turn" && one.Seeded != (one.Run == "") {
			t.Errorf("a turn that was told and its run: %s", line)
		}
	}
	equal(t, "exported", []int{seeded, rounds}, []int{2, 3})
}

func testSeedRefused(t *testing.T, s session.Store) {
	ctx := t.Context()
	h := session.NewHistory(s, nil)
	refused := session.Key{Agent: "main", ID: "refused"}
	for _, m := range []llm.Message{
		{Role: llm.Results, Parts: []llm.Part{{Kind: llm.KindResult, Result: &llm.ToolResult{}}}},
		{Role: llm.User, Parts: []llm.Part{{Kind: llm.KindResult, Result: &llm.ToolResult{CallID: "a"}}}},
		{Role: llm.User, Parts: []llm.Part{{Kind: llm.KindCall, Call: &llm.ToolCall{ID: "a", Name: "calc"}}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.KindCall, Call: &llm.ToolCall{Name: "calc"}}}},
		{Role: "system", Parts: []llm.Part{llm.Text("x")}},
	} {
		turn := AgentTurn(refused, "refused", "now")
		turn.Seed = []llm.Message{llm.UserMessage("hi"), m}
		if _, err := h.Begin(ctx, turn); err == nil || !strings.Contains(err.Error(), "message 1 of") {
			t.Errorf("a conversation with %+v was taken (%v)", m, err)
		}
	}
	_, err := s.Session(ctx, refused)
	wantErr(t, "what was refused", err, session.ErrNotFound)
}

// testAnySeed checks that whatever is told makes a valid thread, in which all
// that was said stands in order.
func testAnySeed(t *testing.T, s session.Store) {
	ctx := t.Context()
	h := session.NewHistory(s, nil)
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		k := session.Key{Agent: "main", ID: fmt.Sprint("any", count)}
		turn := AgentTurn(k, k.ID, "now")
		turn.Seed = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) llm.Message {
			m := llm.Message{Role: rapid.SampledFrom([]llm.Role{llm.User, llm.Assistant}).Draw(rt, "role")}
			for _, text := range rapid.SliceOfN(rapid.SampledFrom([]string{"", " ", "\n", "a", "b c"}), 0, 3).Draw(rt, "parts") {
				m.Parts = append(m.Parts, llm.Text(text))
			}
			return m
		}), 0, 8).Draw(rt, "seed")
		thread, err := h.Begin(ctx, turn)
		if err == nil {
			err = Valid(thread.Messages)
		}
		if err != nil {
			rt.Fatal(err)
		}
		words := func(messages []llm.Message) string {
			all := ""
			for _, m := range messages {
				all += m.Text()
			}
			return strings.Join(strings.Fields(all), "")
		}
		if got, want := words(thread.Messages), words(turn.Seed)+"now"; got != want {
			rt.Fatalf("the thread says %q, want %q", got, want)
		}
		stored, err := s.Turns(ctx, k, 1, 0, session.Spoken)
		if err != nil || text(session.Thread(stored)) != text(thread.Messages) {
			rt.Fatalf("what is stored is another thread: %s (%v)", said(session.Thread(stored)), err)
		}
		if err := h.End(ctx, turn, agent.End{Status: agent.Stopped}); err != nil {
			rt.Fatal(err)
		}
	})
}
