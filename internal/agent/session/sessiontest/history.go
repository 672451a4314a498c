package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// AgentTurn is a turn as the loop has it.
func AgentTurn(k session.Key, run, text string) agent.Turn {
	return agent.Turn{
		Scope:   tool.NewScope(tool.Facts{Agent: k.Agent, Session: k.ID, Run: run, Origin: tool.FromChat, Caller: person}),
		Message: llm.UserMessage(text), Model: "openai/gpt", Started: Start,
	}
}

// Calling is a round whose reply calls tools with the given ids.
func Calling(number int, ids ...string) *agent.Round {
	r := answer(number, fmt.Sprintf("round %d", number))
	r.Reply.Finish = llm.FinishCalls
	for i, id := range ids {
		r.Reply.Message.Parts = append(r.Reply.Message.Parts, llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{
			ID: id, Name: "file_read", Arguments: fmt.Sprintf(`{"path":"%d"}`, i),
		}})
	}
	return r
}

// Outcome is a good outcome of a call.
func Outcome(c llm.ToolCall, text string) tool.Outcome {
	return tool.Outcome{
		Call: c, Tool: c.Name, Args: json.RawMessage(c.Arguments), Status: tool.OK, Content: []llm.Part{llm.Text(text)},
		Started: Start, Ended: Start.Add(time.Millisecond),
	}
}

// Work stores r, its calls and their results as the loop does: the result of
// the last one comes with the end of the round.
func Work(ctx context.Context, h agent.History, t agent.Turn, r *agent.Round, text string) error {
	if err := h.Called(ctx, t, r); err != nil {
		return err
	}
	r.Outcomes = nil
	for i, c := range r.Calls {
		r.Outcomes = append(r.Outcomes, Outcome(c, text))
		if i == len(r.Calls)-1 {
			break
		}
		if err := h.Result(ctx, t, r, i, r.Outcomes[i]); err != nil {
			return err
		}
	}
	return h.Settled(ctx, t, r)
}

// TurnWithTool runs a whole turn with one tool call through h and returns the
// thread that it began with.
func TurnWithTool(ctx context.Context, h agent.History, k session.Key, run, text string) (agent.Thread, error) {
	t := AgentTurn(k, run, text)
	thread, err := h.Begin(ctx, t)
	if err != nil {
		return thread, err
	}
	if err := Work(ctx, h, t, Calling(thread.Rounds+1, ""), "result of "+text); err != nil {
		return thread, err
	}
	return thread, h.Answered(ctx, t, answer(thread.Rounds+2, "answer to "+text), agent.End{Status: agent.Done, Time: Start, Rounds: 2})
}

func testTurn(t *testing.T, s session.Store) {
	ctx := t.Context()
	h := session.NewHistory(s, nil)
	turn := AgentTurn(key, "run1", "hi")
	turn.Message.Parts = append(turn.Message.Parts, llm.Part{Kind: llm.KindContext, Text: "Now: noon"})
	thread := value(h.Begin(ctx, turn))(t)
	equal(t, "first thread", thread, agent.Thread{Messages: []llm.Message{turn.Message}})

	live := thread.Messages
	r := Calling(1, "", "")
	r.Reply.Message.Parts = append([]llm.Part{llm.Text(""), llm.Text("I "), llm.Text("look.")}, r.Reply.Message.Parts...)
	must(t, h.Called(ctx, turn, r))
	r.Outcomes = []tool.Outcome{Outcome(r.Calls[0], "a"), Outcome(r.Calls[1], " \n")}
	// They end in another order than they were called in.
	must(t, h.Result(ctx, turn, r, 1, r.Outcomes[1]))
	must(t, h.Result(ctx, turn, r, 0, r.Outcomes[0]))
	r.Outcomes[0].Content = []llm.Part{llm.Text("a, shortened")}
	r.State = tool.State{Plan: true}
	must(t, h.Settled(ctx, turn, r))
	live = append(live, r.Messages()...)
	last := answer(2, "done")
	last.State = r.State
	must(t, Work(ctx, h, turn, last, ""))
	live = append(live, last.Messages()...)
	must(t, h.End(ctx, turn, agent.End{Status: agent.Done, Rounds: 2}))

	next := AgentTurn(key, "run2", "again")
	thread = value(h.Begin(ctx, next))(t)
	// What the loop had in memory is what comes back, so the prefix holds.
	equal(t, "second thread", loaded(t, thread), append(live, next.Message))
	equal(t, "state", []any{thread.State, thread.Rounds}, []any{tool.State{Plan: true}, 2})
	must(t, Valid(thread.Messages))
	equal(t, "empty result", thread.Messages[2].Parts[1].Result.Content, []llm.Part{llm.Text("(the tool returned nothing)")})

	_, err := h.Begin(ctx, AgentTurn(session.Key{Agent: "main", ID: "../x"}, "run3", "hi"))
	if err == nil {
		t.Error("a session name that is none was taken")
	}
}

func testIDs(t *testing.T, s session.Store) {
	ctx := t.Context()
	h := session.NewHistory(s, nil)
	turn := AgentTurn(key, "run1", "hi")
	value(h.Begin(ctx, turn))(t)
	long := strings.Repeat("x", 65)
	for i, c := range []struct{ ids, want []string }{
		{[]string{"c1", "c1", ""}, []string{"c1", "call_1_1", "call_1_2"}},
		{[]string{"c1", "c2", long, "a b", "é"}, []string{"call_2_0", "c2", "call_2_2", "call_2_3", "call_2_4"}},
		{[]string{"", "call_3_0", "call_3_2", ""}, []string{"call_3_0_2", "call_3_0", "call_3_2", "call_3_3"}},
		{[]string{"call_5_0", "call_5_0_2"}, []string{"call_5_0", "call_5_0_2"}},
		{[]string{"", ""}, []string{"call_5_0_3", "call_5_1"}},
	} {
		r := Calling(i+1, c.ids...)
		before := r.Reply.Message.Parts[1].Call
		must(t, Work(ctx, h, turn, r, "x"))
		var got []string
		for _, call := range r.Calls {
			got = append(got, call.ID)
		}
		equal(t, fmt.Sprintf("ids %q", c.ids), got, c.want)
		equal(t, "ids in the reply", r.Reply.Message.Calls(), r.Calls)
		if before.ID != c.ids[0] {
			t.Error("the provider's own reply was changed")
		}
	}
	must(t, h.End(ctx, turn, agent.End{Status: agent.Done}))
	must(t, Valid(value(h.Begin(ctx, AgentTurn(key, "run2", "hi")))(t).Messages))
}

func testSweep(t *testing.T, s session.Store) {
	ctx := t.Context()
	h := session.NewHistory(s, nil)
	dir := t.TempDir()
	elsewhere, holds := session.NewHolds(dir), session.NewHolds(dir)
	held := session.Key{Agent: "main", ID: "held"}
	for _, k := range []session.Key{key, held} {
		turn := AgentTurn(k, "run-"+k.ID, "hi")
		value(h.Begin(ctx, turn))(t)
		must(t, h.Called(ctx, turn, Calling(1, "", "")))
	}
	release := value(elsewhere.Hold(ctx, held))(t)
	equal(t, "swept", value(h.Sweep(ctx, holds))(t), session.Swept{Turns: 1, Calls: 2, Held: 1})
	equal(t, "held", value(s.Session(ctx, held))(t).Status, agent.Running)
	wantErr(t, "delete a held session", session.Delete(ctx, s, holds, held), session.ErrHeld)
	release()
	equal(t, "swept", value(h.Sweep(ctx, holds))(t), session.Swept{Turns: 1, Calls: 2})
	equal(t, "swept", value(h.Sweep(ctx, holds))(t), session.Swept{})
	must(t, Valid(value(h.Begin(ctx, AgentTurn(key, "next", "hi")))(t).Messages))
	must(t, session.Delete(ctx, s, holds, held))
}

// testStopped checks that what a stopped run did is stored although its
// context has ended, and that nothing new begins.
func testStopped(t *testing.T, s session.Store) {
	ctx, stop := context.WithCancel(t.Context())
	h := session.NewHistory(s, nil)
	turn := AgentTurn(key, "run1", "hi")
	value(h.Begin(ctx, turn))(t)
	stop()
	must(t, Work(ctx, h, turn, Calling(1, ""), "x"))
	partial := answer(2, "I was just")
	partial.Reply.Finish = llm.FinishStopped
	must(t, Work(ctx, h, turn, partial, ""))
	must(t, h.End(ctx, turn, agent.End{Status: agent.Stopped}))
	_, err := h.Begin(ctx, AgentTurn(key, "run2", "hi"))
	wantErr(t, "begin with a context that ended", err, context.Canceled)
	must(t, h.End(ctx, AgentTurn(key, "run2", "hi"), agent.End{Status: agent.Stopped}))

	thread := value(h.Begin(t.Context(), AgentTurn(key, "run3", "go on")))(t)
	must(t, Valid(thread.Messages))
	if got := thread.Messages[3].Text(); !strings.HasPrefix(got, "I was just\n\n[the answer broke off") {
		t.Errorf("partial answer in the thread: %q", got)
	}
}

// testCrash stops a history after any number of its steps, as a process that
// dies does, and looks at the thread that the next one gets.
func testCrash(t *testing.T, s session.Store) {
	ctx := t.Context()
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		k := session.Key{Agent: "main", ID: fmt.Sprint("crash", count)}
		h := session.NewHistory(s, nil)
		var before []llm.Message
		for n := range rapid.IntRange(1, 4).Draw(rt, "turns") {
			turn := AgentTurn(k, fmt.Sprintf("%s-%d", k.ID, n), "ask")
			thread, err := h.Begin(ctx, turn)
			if err != nil {
				rt.Fatal(err)
			}
			if err := Valid(thread.Messages); err != nil {
				rt.Fatal(err)
			}
			if len(before) > 0 && !strings.HasPrefix(text(thread.Messages), text(before)) {
				rt.Fatalf("the thread's prefix changed:\n%s\nwas\n%s", text(thread.Messages), text(before))
			}
			before = thread.Messages
			if err := untilCrash(ctx, rt, h, turn, thread.Rounds); err != nil && !errors.Is(err, errCrash) {
				rt.Fatal(err)
			}
		}
	})
}

var errCrash = errors.New("the process died")

// untilCrash goes on with a turn for some steps.
func untilCrash(ctx context.Context, rt *rapid.T, h *session.History, turn agent.Turn, rounds int) error {
	left := rapid.IntRange(0, 12).Draw(rt, "steps")
	step := func(f func() error) error {
		if left--; left < 0 {
			return errCrash
		}
		return f()
	}
	for range rapid.IntRange(0, 3).Draw(rt, "rounds") {
		r := Calling(rounds+1, rapid.SliceOfN(rapid.SampledFrom([]string{"", "c1", "c2", "call_2_0"}), 1, 3).Draw(rt, "ids")...)
		if rapid.Bool().Draw(rt, "silent") {
			r.Reply.Message.Parts[0].Text = "\n"
		}
		if err := step(func() error { return h.Called(ctx, turn, r) }); err != nil {
			return err
		}
		for i, c := range r.Calls {
			o := Outcome(c, rapid.SampledFrom([]string{"x", "", " "}).Draw(rt, "result"))
			r.Outcomes = append(r.Outcomes, o)
			if i == len(r.Calls)-1 && rapid.Bool().Draw(rt, "with the round") {
				break
			}
			if err := step(func() error { return h.Result(ctx, turn, r, i, o) }); err != nil {
				return err
			}
		}
		if err := step(func() error { return h.Settled(ctx, turn, r) }); err != nil {
			return err
		}
		rounds = r.Number
	}
	last := answer(rounds+1, rapid.SampledFrom([]string{"done", "", "\n"}).Draw(rt, "answer"))
	last.Reply.Finish = rapid.SampledFrom([]llm.Finish{llm.FinishStop, llm.FinishStopped}).Draw(rt, "finish")
	end := agent.End{Status: rapid.SampledFrom([]agent.Status{agent.Done, agent.Failed, agent.Stopped, agent.Limited}).Draw(rt, "status")}
	if rapid.Bool().Draw(rt, "in one") {
		return step(func() error { return h.Answered(ctx, turn, last, end) })
	}
	if err := step(func() error { return Work(ctx, h, turn, last, "") }); err != nil {
		return err
	}
	return step(func() error { return h.End(ctx, turn, end) })
}

// text is messages in a form that can be compared for a prefix.
func text(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		line, err := json.Marshal(m)
		if err != nil {
			return err.Error()
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// testMany runs 20 sessions of 10 turns at once: all rows are there, each in
// its own session.
func testMany(t *testing.T, s session.Store) {
	ctx := t.Context()
	h := session.NewHistory(s, nil)
	const sessions, turns = 20, 10
	var wg sync.WaitGroup
	errs := make([]error, sessions)
	for i := range sessions {
		wg.Go(func() {
			k := session.Key{Agent: "main", ID: fmt.Sprint("s", i)}
			for n := range turns {
				if _, err := TurnWithTool(ctx, h, k, fmt.Sprintf("%s-%d", k.ID, n), fmt.Sprintf("[%s %d]", k.ID, n)); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	for i := range sessions {
		k := session.Key{Agent: "main", ID: fmt.Sprint("s", i)}
		thread := session.Thread(value(s.Turns(ctx, k, 1, 0, session.Spoken))(t))
		must(t, Valid(thread))
		if len(thread) != 4*turns {
			t.Errorf("session %s has %d messages, want %d", k, len(thread), 4*turns)
		}
		all := text(thread)
		if own := strings.Count(all, fmt.Sprintf("[s%d ", i)); own != 3*turns || own != strings.Count(all, "[s") {
			t.Errorf("session %s holds words of others", k)
		}
	}
}

func testHistorySnapshot(t *testing.T, s session.Store) {
	ctx, key := t.Context(), key
	h := session.NewHistory(s, nil)
	taken := 0
	take := func() (string, error) {
		taken++
		return fmt.Sprint("listing ", taken), nil
	}
	snapshot := func() string { return value(h.Snapshot(ctx, key.Agent, key.ID, "files", take))(t) }
	equal(t, "without a session", []string{snapshot(), snapshot()}, []string{"listing 1", "listing 2"})
	turn := AgentTurn(key, "run", "hi")
	value(h.Begin(ctx, turn))(t)
	equal(t, "within one", []string{snapshot(), snapshot()}, []string{"listing 3", "listing 3"})
	must(t, h.Called(ctx, turn, Calling(1, "")))
	// Whoever goes on, as another process does, finds it with the first round.
	h = session.NewHistory(s, nil)
	value(h.Begin(ctx, AgentTurn(key, "run2", "hi")))(t)
	equal(t, "in the next turn", snapshot(), "listing 3")

	for name, finish := range map[string]func(agent.Turn) error{
		"answered": func(t agent.Turn) error { return h.Answered(ctx, t, answer(1, "x"), agent.End{Status: agent.Done}) },
		"failed":   func(t agent.Turn) error { return h.End(ctx, t, agent.End{Status: agent.Failed}) },
	} {
		taken, key = 0, session.Key{Agent: "main", ID: name}
		turn := AgentTurn(key, name, "hi")
		value(h.Begin(ctx, turn))(t)
		equal(t, name, snapshot(), "listing 1")
		must(t, finish(turn))
		equal(t, name+", later", snapshot(), "listing 1")
	}

	turn = AgentTurn(key, "run3", "hi")
	value(h.Begin(ctx, turn))(t)
	failed := errors.New("no folder")
	_, err := h.Snapshot(ctx, key.Agent, key.ID, "skills", func() (string, error) { return "", failed })
	wantErr(t, "take fails", err, failed)
}

func testExport(t *testing.T, s session.Store) {
	ctx := t.Context()
	const turns = 70 // more than an export reads at once
	for i := range turns {
		store(t, s, key, fmt.Sprint("run", i), fmt.Sprint("ask ", i), "answer", 10*i)
	}
	var b strings.Builder
	must(t, session.ExportJSONL(ctx, &b, s, key))
	counts := map[string]int{}
	for line := range strings.Lines(b.String()) {
		var one struct {
			Type    string       `json:"type"`
			Number  int          `json:"number"`
			Outcome tool.Outcome `json:"outcome"`
		}
		must(t, json.Unmarshal([]byte(line), &one))
		counts[one.Type]++
		if one.Type == "turn" && one.Number != counts["turn"] {
			t.Fatalf("turn %d stands in place %d", one.Number, counts["turn"])
		}
		if one.Type == "call" && one.Outcome.Status == "" {
			t.Fatalf("a call without an outcome: %s", line)
		}
	}
	equal(t, "lines", counts, map[string]int{"session": 1, "turn": turns, "round": 2 * turns, "call": 2 * turns})
	b.Reset()
	must(t, session.ExportMarkdown(ctx, &b, s, key))
	if n := strings.Count(b.String(), "\n## "); n != turns {
		t.Errorf("%d headings in Markdown, want %d", n, turns)
	}
	wantErr(t, "export of nothing", session.ExportMarkdown(ctx, &b, s, session.Key{Agent: "main", ID: "x"}), session.ErrNotFound)
}
