// Package sessiontest checks implementations of [session.Store], alone and
// under [session.History]. Each calls [Run] from a test of its own.
//
// It is imported by tests only. Start reading at [Run].
package sessiontest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Run checks the stores that open returns, a new and empty one each time.
func Run(t *testing.T, open func(t *testing.T) session.Store) {
	for _, test := range []struct {
		name string
		f    func(*testing.T, session.Store)
	}{
		{"what is stored comes back", testWhole},
		{"an answer with the end of its turn", testAnswered},
		{"depths", testDepths},
		{"nothing is stored twice", testDedupe},
		{"what doesn't fit is refused", testRefused},
		{"usage", testUsage},
		{"changed", testChanged},
		{"made", testMade},
		{"interrupted", testInterrupted},
		{"interrupted and changed meanwhile", testInterruptedAndChanged},
		{"killed behind a reply", testListedAndKilled},
		{"interrupted at the next begin", testInterruptedAtBegin},
		{"taken ids", testTaken},
		{"snapshots", testSnapshots},
		{"images and files", testMedia},
		{"seeded", testSeeded},
		{"fork", testFork},
		{"a fork goes on", testForkGoesOn},
		{"fork refused", testForkRefused},
		{"list", testList},
		{"titles", testTitles},
		{"runs", testRuns},
		{"search", testSearch},
		{"search in scripts without spaces", testSearchScripts},
		{"rename", testRename},
		{"delete", testDelete},
		{"history: a turn", testTurn},
		{"history: seeds", testSeeds},
		{"history: calls of a client", testClient},
		{"history: calls that a client tells", testClientSeed},
		{"history: any seed", testAnySeed},
		{"history: seeds refused", testSeedRefused},
		{"export of seeds", testSeedExport},
		{"history: a fork's thread", testForkThread},
		{"fork for somebody", testForkFor},
		{"export of a fork", testForkExport},
		{"history: ids of calls", testIDs},
		{"history: sweep", testSweep},
		{"history: stopped", testStopped},
		{"history: crash anywhere", testCrash},
		{"history: many sessions at once", testMany},
		{"history: snapshot", testHistorySnapshot},
		{"export", testExport},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.f(t, open(t))
		})
	}
}

// Start is when the tests' sessions begin.
var Start = time.Date(2025, 11, 30, 12, 0, 0, 123456789, time.UTC)

func at(seconds int) time.Time { return Start.Add(time.Duration(seconds) * time.Second) }

var (
	key    = session.Key{Agent: "main", ID: "work"}
	person = auth.Principal{ID: "ada", Name: "Ada", Role: auth.User, Human: true}
)

func turnOf(run, text string, second int) session.Turn {
	return session.Turn{
		Run: run, Message: llm.UserMessage(text), Asked: "a hash", Model: "asked/for", Caller: person, Origin: tool.FromChat, Started: at(second),
	}
}

// full is a round in which every field is set.
func full(number int, id string) *agent.Round {
	target := llm.Target{Provider: "openai", Model: "gpt", Vendor: "openai", ContextWindow: 1000, MaxOutput: 100, Images: true, Tools: true}
	calls := []llm.ToolCall{
		{ID: id + "_a", Name: "file_read", Arguments: `{"path":"a <b>"}`},
		{ID: id + "_b", Name: "Calc", Arguments: `{"expression": "1+1"`, Cut: true},
	}
	return &agent.Round{
		Number: number,
		Before: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Kind: llm.KindContext, Text: "hint"}}}},
		Reply: llm.Reply{
			Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
				{Kind: llm.KindReasoning, Text: "thinking", Opaque: &llm.Opaque{Vendor: "openai", Data: json.RawMessage(`{"sig":"x"}`)}},
				llm.Text("Let me look <there>."),
				{Kind: llm.KindCall, Call: &calls[0]},
				{Kind: llm.KindCall, Call: &calls[1]},
			}},
			Finish: llm.FinishCalls, Usage: fullUsage, Target: target, Model: "gpt-2025", ID: "resp_1", Cached: true,
		},
		Spent: []agent.Spent{{Target: target, Time: at(3), Usage: fullUsage, USD: new(0.5)}}, USD: new(0.5),
		Calls: calls,
		Request: agent.RequestFacts{
			Target: target, Sections: []agent.Section{{Name: "core", Place: "static", Source: "config", Bytes: 12, Digest: "abc"}},
			Tools: []string{"calc", "file_read"}, Messages: 3, Dropped: 1, Bytes: 500,
		},
		Outcomes: []tool.Outcome{
			{
				Call: calls[0], Tool: "file_read", Args: json.RawMessage(`{"path":"a <b>"}`), Status: tool.OK,
				Content: []llm.Part{{Kind: llm.KindText, Text: "one\ntwo\x00 \u2028", Origin: "file"}},
				Details: json.RawMessage(`{"lines":2}`),
				Effects: []tool.Effect{{Kind: tool.FileSeen, Key: "a <b>", Value: "d1", Args: json.RawMessage(`[1]`)}},
				Touches: []tool.Touch{{Name: "file:a <b>"}}, Ref: "0123456789abcdef", Type: "text", Chars: 9000, Digest: "dg", Cached: true,
				Started: at(3), Ended: at(4), Steps: []tool.StepTime{{Step: "run", Duration: time.Millisecond, Note: "n"}},
				Approval: &tool.Approval{ID: "a1", Tool: "file_read", Rule: "look", Status: tool.ApprovalAllowed, Created: at(2), Expires: at(9), Ended: at(3), Answer: tool.AllowAlways, By: "ada", Grant: "g1"},
				Nested:   []tool.Approval{{ID: "a2", Call: "c1/1", Tool: "shell", Args: json.RawMessage(`{"command":"ls"}`), Rule: "look", Status: tool.ApprovalDenied, Created: at(3), Expires: at(9), Ended: at(4), Answer: tool.Deny, By: "ada"}},
			},
			{
				Call: calls[1], Tool: "calc", Status: tool.Invalid, Step: "arguments",
				Content: []llm.Part{llm.Text("the arguments were cut"), {Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Data: []byte("png")}}},
				Refusal: &tool.Refusal{Step: "arguments", Rule: "cut", Reason: "It was cut.", Allowed: "Say it again."},
				Started: at(3), Ended: at(3),
			},
		},
		State: tool.State{Plan: true, Tools: []string{"calc"}, Files: []tool.SeenFile{{Path: "a <b>", Digest: "d1"}}},
		Attempts: []llm.Attempt{{
			Target: llm.Target{Provider: "p", Model: "m"}, Class: llm.ClassOverloaded, Status: 529, Message: "busy",
			Started: at(1), Ended: at(2), Next: llm.Failover, To: &llm.Target{Provider: "q", Model: "n"},
		}, {Target: llm.Target{Provider: "q"}, Class: llm.ClassNetwork, Message: "reset", Started: at(1), Ended: at(2), Next: llm.Retry, Wait: time.Second}},
		Notices:   []agent.Told{{Kind: "budget", Text: "nearly used up"}, {Kind: "limit", Text: "cut off", Behind: true}},
		Retracted: 2,
		Started:   at(1), FirstToken: at(2), Replied: at(3), Ended: at(5),
	}
}

var fullUsage = llm.Usage{Input: 100, Cached: 60, CacheWrite: 10, Output: 20, Reasoning: 5}

// answer is a round with text alone.
func answer(number int, text string) *agent.Round {
	target, used := llm.Target{Provider: "openai", Model: "gpt"}, llm.Usage{Input: 10, Output: 1}
	return &agent.Round{
		Number: number, Started: at(number), Replied: at(number), Ended: at(number),
		Reply: llm.Reply{Message: llm.AssistantMessage(text), Finish: llm.FinishStop, Usage: used, Target: target},
		Spent: []agent.Spent{{Target: target, Time: at(number), Usage: used, USD: new(0.25)}}, USD: new(0.25),
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// value returns v, or ends the test with err.
func value[V any](v V, err error) func(*testing.T) V {
	return func(t *testing.T) V {
		t.Helper()
		must(t, err)
		return v
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func equal(t *testing.T, what string, got, want any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, append(opts, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(agent.Thread{}, "Load"))...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// store stores a turn of one full round and an answer.
func store(t *testing.T, s session.Store, k session.Key, run, ask, reply string, second int) {
	t.Helper()
	ctx := t.Context()
	turn := turnOf(run, ask, second)
	begun := value(s.Begin(ctx, k, turn, session.Title(turn.Message)))(t)
	r := full(begun.Rounds+1, run)
	must(t, s.Called(ctx, run, r))
	must(t, s.Settled(ctx, run, r))
	last := answer(begun.Rounds+2, reply)
	must(t, s.Called(ctx, run, last))
	must(t, s.Settled(ctx, run, last))
	must(t, s.End(ctx, run, agent.End{Status: agent.Done, Rounds: 2, Time: at(second + 9)}))
}

func testWhole(t *testing.T, s session.Store) {
	ctx := t.Context()
	turn := turnOf("run1", "hello <you>", 0)
	turn.Message.Parts = append(turn.Message.Parts, llm.Part{Kind: llm.KindContext, Text: "Now: \u0000 12:00"})
	begun := value(s.Begin(ctx, key, turn, "hello"))(t)
	equal(t, "begun", begun, session.Begun{New: true, Turn: 1})
	r := full(1, "x")
	must(t, s.Called(ctx, "run1", r))

	open := value(s.Turns(ctx, key, 1, 0, session.Whole))(t)[0].Rounds[0]
	for i, o := range open.Outcomes {
		equal(t, "open outcome", o, tool.Outcome{Call: r.Calls[i], Tool: r.Calls[i].Name})
	}
	for i, o := range r.Outcomes {
		o.Content = []llm.Part{llm.Text("as it ended")}
		must(t, s.Result(ctx, "run1", 1, i, o))
	}
	must(t, s.Settled(ctx, "run1", r))
	must(t, s.End(ctx, "run1", agent.End{Status: agent.Limited, Error: "e", Time: at(6), Rounds: 1}))

	want := turn
	want.Number, want.Model, want.Status, want.Error, want.Ended, want.Usage = 1, "openai/gpt", agent.Limited, "e", at(6), r.Reply.Usage
	want.USD = new(0.5)
	want.Rounds = []agent.Round{*r}
	want.Rounds[0].State, want.Rounds[0].Spent = tool.State{}, nil
	equal(t, "turns", value(s.Turns(ctx, key, 1, 0, session.Whole))(t), []session.Turn{want})

	equal(t, "session", value(s.Session(ctx, key))(t), session.Session{
		Key: key, Title: "hello", Origin: tool.FromChat, Caller: person, Created: at(0), Updated: at(6),
		Turns: 1, Rounds: 1, Usage: r.Reply.Usage, USD: new(0.5), Status: agent.Limited, State: &r.State, Plan: true,
	})
	begun = value(s.Begin(ctx, key, turnOf("run2", "again", 9), "ignored"))(t)
	equal(t, "begun again", begun, session.Begun{Turn: 2, Rounds: 1, Last: at(6), State: r.State})
	equal(t, "title", value(s.Session(ctx, key))(t).Title, "hello")
}

// testAnswered checks that an answer which is stored with the end of its turn is
// what the three steps store, and that it is stored whole or not at all.
func testAnswered(t *testing.T, s session.Store) {
	ctx := t.Context()
	files := session.Snapshot{Name: "files", Text: "a"}
	last := answer(2, "the harbour")
	last.Before = []llm.Message{llm.UserMessage("and this")}
	last.State = tool.State{Plan: true}
	end := agent.End{Status: agent.Limited, Error: "e", Spent: lost(500, 50), Time: at(9)}
	var sessions [2]session.Session
	var turns [2][]session.Turn
	for i, name := range []string{"steps", "one"} {
		k := session.Key{Agent: "main", ID: name}
		value(s.Begin(ctx, k, turnOf(name, "where", 0), "t"))(t)
		must(t, s.Called(ctx, name, full(1, "x")))
		must(t, s.Settled(ctx, name, full(1, "x")))
		if name == "one" {
			wrong := answer(3, "no")
			if s.Answered(ctx, name, wrong, end, files) == nil || s.Answered(ctx, name, full(2, "y"), end, files) == nil {
				t.Error("an answer out of order, or one with calls, was stored")
			}
			turn := value(s.Turns(ctx, k, 1, 0, session.Spoken))(t)[0]
			_, kept, err := s.Snapshot(ctx, k, "files")
			equal(t, "after a refused answer", []any{turn.Status, len(turn.Rounds), kept, err}, []any{agent.Running, 1, false, nil})
			must(t, s.Answered(ctx, name, last, end, files))
			refused := s.Answered(ctx, name, answer(3, "more"), end)
			if refused == nil {
				t.Error("an answer after the end was stored")
			}
		} else {
			must(t, s.Called(ctx, name, last, files))
			must(t, s.Settled(ctx, name, last))
			must(t, s.End(ctx, name, end))
		}
		text, kept, err := s.Snapshot(ctx, k, "files")
		equal(t, "snapshot", []any{text, kept, err}, []any{"a", true, nil})
		sessions[i], turns[i] = value(s.Session(ctx, k))(t), value(s.Turns(ctx, k, 1, 0, session.Whole))(t)
		sessions[i].ID, turns[i][0].Run = "", ""
	}
	equal(t, "session", sessions[1], sessions[0])
	equal(t, "turns", turns[1], turns[0])
	if hits := value(s.Search(ctx, session.Query{Text: "harbour"}))(t); len(hits) != 2 {
		t.Errorf("the answers are found as %+v", hits)
	}
	wantErr(t, "the answer of an unknown run", s.Answered(ctx, "none", answer(1, "x"), end), session.ErrNotFound)
}

func testDepths(t *testing.T, s session.Store) {
	ctx := t.Context()
	for i := range 3 {
		store(t, s, key, fmt.Sprintf("run%d", i), "ask", "answer", 10*i)
	}
	whole := value(s.Turns(ctx, key, 2, 3, session.Whole))(t)
	equal(t, "numbers", []int{whole[0].Number, whole[1].Number, len(whole)}, []int{2, 3, 2})
	heads := value(s.Turns(ctx, key, 2, 2, session.Heads))(t)
	one := whole[0]
	one.Rounds = nil
	equal(t, "heads", heads, []session.Turn{one})

	traced := value(s.Turns(ctx, key, 2, 2, session.Traced))(t)[0]
	for i, r := range traced.Rounds {
		w := whole[0].Rounds[i]
		equal(t, "traced", []any{r.Number, r.Request, r.Started, r.FirstToken, r.Replied, r.Ended, r.Reply.Usage, r.Reply.Target, r.Reply.Finish, r.Attempts, r.Notices, r.Retracted},
			[]any{w.Number, w.Request, w.Started, w.FirstToken, w.Replied, w.Ended, w.Reply.Usage, w.Reply.Target, w.Reply.Finish, w.Attempts, w.Notices, w.Retracted})
		if len(r.Outcomes) != len(w.Outcomes) {
			t.Fatalf("traced: %d outcomes, want %d", len(r.Outcomes), len(w.Outcomes))
		}
		for j, o := range r.Outcomes {
			equal(t, "traced outcome", []any{o.Call.ID, o.Tool, o.Status, o.Steps, o.Started, o.Ended, o.Refusal},
				[]any{w.Outcomes[j].Call.ID, w.Outcomes[j].Tool, w.Outcomes[j].Status, w.Outcomes[j].Steps, w.Outcomes[j].Started, w.Outcomes[j].Ended, w.Outcomes[j].Refusal})
		}
	}
	spoken := agent.Thread{Messages: session.Thread(value(s.Turns(ctx, key, 1, 0, session.Spoken))(t)), Load: s.Content}
	equal(t, "the thread of what was spoken", loaded(t, spoken),
		session.Thread(value(s.Turns(ctx, key, 1, 0, session.Whole))(t)))

	equal(t, "beyond the end", value(s.Turns(ctx, key, 7, 9, session.Whole))(t), []session.Turn{})
	_, err := s.Turns(ctx, session.Key{Agent: "other", ID: "work"}, 1, 0, session.Whole)
	wantErr(t, "turns of another agent's session", err, session.ErrNotFound)
	_, err = s.Session(ctx, session.Key{Agent: "main", ID: "none"})
	wantErr(t, "a session that isn't there", err, session.ErrNotFound)
}

// testDedupe checks that values which equal another one come back as they were.
func testDedupe(t *testing.T, s session.Store) {
	ctx := t.Context()
	value(s.Begin(ctx, key, turnOf("run", "hi", 0), "t"))(t)
	r := full(1, "x")
	for i, o := range []tool.Outcome{
		{Status: tool.OK, Content: []llm.Part{llm.Text(`{"a":1}`)}, Details: json.RawMessage(`{"a":1}`), Args: json.RawMessage(r.Calls[0].Arguments)},
		{Status: tool.OK, Content: []llm.Part{llm.Text("=")}, Details: json.RawMessage(`"="`), Args: json.RawMessage(`{}`)},
	} {
		o.Call, o.Tool = r.Calls[i], r.Calls[i].Name
		r.Outcomes[i] = o
	}
	must(t, s.Called(ctx, "run", r))
	must(t, s.Settled(ctx, "run", r))
	equal(t, "outcomes", value(s.Turns(ctx, key, 1, 0, session.Whole))(t)[0].Rounds[0].Outcomes, r.Outcomes)
}

func testRefused(t *testing.T, s session.Store) {
	ctx := t.Context()
	refused := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s was stored", what)
		}
	}
	value(s.Begin(ctx, key, turnOf("run", "hi", 0), "t"))(t)
	_, err := s.Begin(ctx, key, turnOf("run", "hi", 0), "t")
	refused("a second turn of one run", err)
	if n := value(s.Session(ctx, key))(t).Turns; n != 1 {
		t.Errorf("%d turns after a refused one, want 1", n)
	}
	refused("a round out of order", s.Called(ctx, "run", full(2, "x")))
	must(t, s.Called(ctx, "run", full(1, "x")))
	refused("the same round again", s.Called(ctx, "run", full(1, "y")))
	refused("a call id again", s.Called(ctx, "run", full(2, "x")))
	wantErr(t, "a round of an unknown run", s.Called(ctx, "none", full(2, "z")), session.ErrNotFound)
	wantErr(t, "a result of an unknown round", s.Result(ctx, "run", 2, 0, full(1, "x").Outcomes[0]), session.ErrNotFound)
	wantErr(t, "a result of an unknown call", s.Result(ctx, "run", 1, 2, full(1, "x").Outcomes[0]), session.ErrNotFound)
	wantErr(t, "settling an unknown round", s.Settled(ctx, "run", full(2, "x")), session.ErrNotFound)
	short := full(1, "x")
	short.Outcomes = short.Outcomes[:1]
	refused("a round with too few outcomes", s.Settled(ctx, "run", short))
	wantErr(t, "the end of an unknown run", s.End(ctx, "none", agent.End{Status: agent.Done}), session.ErrNotFound)

	rounds := value(s.Turns(ctx, key, 1, 0, session.Whole))(t)[0].Rounds
	if len(rounds) != 1 || rounds[0].Outcomes[0].Status != "" {
		t.Errorf("refused steps left traces: %+v", rounds)
	}
	must(t, s.End(ctx, "run", agent.End{Status: agent.Done, Time: at(9)}))
	must(t, s.End(ctx, "run", agent.End{Status: agent.Failed, Error: "late", Time: at(10)}))
	if turn := value(s.Turns(ctx, key, 1, 0, session.Heads))(t)[0]; turn.Status != agent.Done || turn.Error != "" {
		t.Errorf("a second end replaced the first: %+v", turn)
	}
	refused("a round after the end", s.Called(ctx, "run", full(2, "z")))
}

// lost is a call that belongs to no round, and whose price is unknown.
func lost(input, output int64) []agent.Spent {
	return []agent.Spent{{Target: llm.Target{Provider: "other", Model: "m"}, Time: at(8), Usage: llm.Usage{Input: input, Output: output}}}
}

func testUsage(t *testing.T, s session.Store) {
	ctx := t.Context()
	value(s.Begin(ctx, key, turnOf("run1", "hi", 0), "t"))(t)
	must(t, s.Called(ctx, "run1", full(1, "x")))
	one := value(s.Session(ctx, key))(t)
	equal(t, "usage before the end", []any{one.Usage, one.USD}, []any{fullUsage, new(0.5)})
	must(t, s.End(ctx, "run1", agent.End{Status: agent.Done, Time: at(1)}))

	value(s.Begin(ctx, key, turnOf("run2", "hi", 2), "t"))(t)
	must(t, s.Called(ctx, "run2", full(2, "y")))
	must(t, s.End(ctx, "run2", agent.End{Status: agent.Done, Spent: lost(7, 3), Time: at(3)}))
	must(t, s.End(ctx, "run2", agent.End{Status: agent.Done, Spent: lost(7, 3), Time: at(4)}))
	more := fullUsage.Add(llm.Usage{Input: 7, Output: 3})
	turns := value(s.Turns(ctx, key, 1, 0, session.Heads))(t)
	equal(t, "usage of the turns", []any{turns[0].Usage, turns[0].USD, turns[1].Usage, turns[1].USD}, []any{fullUsage, new(0.5), more, (*float64)(nil)})
	one = value(s.Session(ctx, key))(t)
	equal(t, "usage of the session", []any{one.Usage, one.USD}, []any{fullUsage.Add(more), (*float64)(nil)})
}

func testChanged(t *testing.T, s session.Store) {
	ctx := t.Context()
	on := tool.Effect{Kind: tool.PlanMode, Value: "on"}
	_, err := s.Change(ctx, key, at(20), nil, on)
	wantErr(t, "nothing to change", err, session.ErrNotFound)
	store(t, s, key, "run1", "hello", "hi", 0)
	var want tool.State
	equal(t, "turned off", value(s.Change(ctx, key, at(20), nil, tool.Effect{Kind: tool.PlanMode, Value: "off"}))(t), want)
	equal(t, "stored", value(s.Session(ctx, key))(t).State, &want)
	want.Plan = true
	equal(t, "turned on", value(s.Change(ctx, key, at(20), nil, on, on))(t), want)
	equal(t, "begun with it", value(s.Begin(ctx, key, turnOf("run2", "again", 30), "ignored"))(t).State, want)

	off := turnOf("run3", "once more", 40)
	off.Effects = []tool.Effect{{Kind: tool.PlanMode, Value: "off"}}
	equal(t, "turned off with a message", value(s.Begin(ctx, key, off, "ignored"))(t).State, tool.State{})
	equal(t, "which is stored", value(s.Session(ctx, key))(t).State, &tool.State{})
	other := session.Key{Agent: "main", ID: "other"}
	first := turnOf("run4", "hello", 50)
	first.Effects = []tool.Effect{on}
	equal(t, "turned on with the first message", value(s.Begin(ctx, other, first, "t"))(t).State, want)
	equal(t, "which is stored, too", value(s.Session(ctx, other))(t).State, &want)
}

// A session that was made without a turn begins with its first one, and what a
// client told of it before.
func testMade(t *testing.T, s session.Store) {
	ctx := t.Context()
	made := &session.Session{Title: "by hand", Caller: person, Origin: tool.FromAPI, Created: at(1)}
	want := value(s.Change(ctx, key, at(1), made, tool.Effect{Kind: tool.PlanMode, Value: "on"}))(t)
	equal(t, "turned on", want, tool.State{Plan: true})
	equal(t, "changed again", value(s.Change(ctx, key, at(2), &session.Session{Title: "other"}))(t), want)
	one := value(s.Session(ctx, key))(t)
	equal(t, "made", one, session.Session{
		Key: key, Title: "by hand", Caller: person, Origin: tool.FromAPI, Created: at(1), Updated: at(1), USD: new(0.0), Status: agent.Done, Plan: true, State: &want,
	})
	equal(t, "turns", len(value(s.Turns(ctx, key, 1, 0, session.Whole))(t)), 0)

	begun := value(s.Begin(ctx, key, turnOf("run", "go on", 2), "t", told(1, 1, "Where?", "There.")))(t)
	equal(t, "begun", begun, session.Begun{New: true, Turn: 2, Rounds: 1, State: want, Last: at(1)})
	one = value(s.Session(ctx, key))(t)
	equal(t, "the session", []any{one.Title, one.Turns, one.Rounds, one.Status, one.Created}, []any{"t", 2, 1, agent.Running, at(1)})
}

func testInterrupted(t *testing.T, s session.Store) {
	ctx := t.Context()
	value(s.Begin(ctx, key, turnOf("run", "hi", 0), "t"))(t)
	r := full(1, "x")
	r.Outcomes[1].Effects = []tool.Effect{{Kind: tool.FileSeen, Key: "a.txt", Value: "digest"}}
	must(t, s.Called(ctx, "run", r))
	must(t, s.Result(ctx, "run", 1, 1, r.Outcomes[1]))
	equal(t, "unfinished", value(s.Unfinished(ctx))(t), []session.Key{key})

	turns, calls, err := s.Interrupt(ctx, key, at(9))
	must(t, err)
	equal(t, "closed", []int{turns, calls}, []int{1, 1})
	turn := value(s.Turns(ctx, key, 1, 0, session.Whole))(t)[0]
	equal(t, "turn", []any{turn.Status, turn.Ended}, []any{agent.Interrupted, at(9)})
	equal(t, "outcomes", turn.Rounds[0].Outcomes, []tool.Outcome{session.Interrupted(r.Calls[0], at(9)), r.Outcomes[1]})
	after := value(s.Session(ctx, key))(t)
	equal(t, "status", after.Status, agent.Interrupted)
	if d, ok := after.State.Digest("a.txt"); !ok || d != "digest" {
		t.Errorf("the effect of a call that had ended is lost: %+v", after.State)
	}
	equal(t, "a list that was not another one", after.State.Tools, []string(nil))
	equal(t, "unfinished", value(s.Unfinished(ctx))(t), []session.Key(nil))

	turns, calls, err = s.Interrupt(ctx, key, at(10))
	must(t, err)
	equal(t, "closed again", []int{turns, calls}, []int{0, 0})
	_, _, err = s.Interrupt(ctx, session.Key{Agent: "main", ID: "none"}, at(10))
	wantErr(t, "interrupt", err, session.ErrNotFound)
}

// The list of tools that a request was shown is known to the next turn whatever
// happens after the reply; the rest of the state is not taken from the round yet.
func testListedAndKilled(t *testing.T, s session.Store) {
	ctx := t.Context()
	value(s.Begin(ctx, key, turnOf("run", "hi", 0), "t"))(t)
	on := value(s.Change(ctx, key, at(20), nil, tool.Effect{Kind: tool.PlanMode, Value: "on"}))(t)
	r := full(1, "x")
	r.Listed = true
	r.State = tool.State{Tools: []string{"calc", "file_read"}, Picked: "run", Meant: []string{"calc"}, Presets: []tool.PresetChoice{{Tool: "calc", Names: []string{}}}, Dropped: 7}
	must(t, s.Called(ctx, "run", r))
	want := on.Listing(r.State)
	equal(t, "stored with the reply", value(s.Session(ctx, key))(t).State, &want)
	begun := value(s.Begin(ctx, key, turnOf("run2", "again", 30), "ignored"))(t)
	equal(t, "begun with it after the process died", begun.State, want)
}

func testInterruptedAtBegin(t *testing.T, s session.Store) {
	ctx := t.Context()
	other := session.Key{Agent: "main", ID: "other"}
	value(s.Begin(ctx, other, turnOf("other", "hi", 0), "t"))(t)
	value(s.Begin(ctx, key, turnOf("run1", "hi", 0), "t"))(t)
	must(t, s.Called(ctx, "run1", full(1, "x")))
	value(s.Begin(ctx, key, turnOf("run2", "hi", 5), "t"))(t)
	turns := value(s.Turns(ctx, key, 1, 0, session.Spoken))(t)
	equal(t, "status", []agent.Status{turns[0].Status, turns[1].Status}, []agent.Status{agent.Interrupted, agent.Running})
	for _, o := range turns[0].Rounds[0].Outcomes {
		equal(t, "status of a call", o.Status, tool.Interrupted)
	}
	equal(t, "status", value(s.Session(ctx, key))(t).Status, agent.Running)
	equal(t, "another session", value(s.Turns(ctx, other, 1, 0, session.Heads))(t)[0].Status, agent.Running)
}

func testTaken(t *testing.T, s session.Store) {
	ctx := t.Context()
	value(s.Begin(ctx, key, turnOf("run", "hi", 0), "t"))(t)
	must(t, s.Called(ctx, "run", full(1, "x")))
	equal(t, "taken", value(s.Taken(ctx, key, []string{"y", "x_b", "x_a"}))(t), []string{"x_b", "x_a"})
	equal(t, "taken elsewhere", value(s.Taken(ctx, session.Key{Agent: "b", ID: "work"}, []string{"x_a"}))(t), []string(nil))
}

func testSnapshots(t *testing.T, s session.Store) {
	ctx := t.Context()
	wantErr(t, "keep for no session", s.KeepSnapshot(ctx, key, session.Snapshot{Name: "files", Text: "a"}), session.ErrNotFound)
	value(s.Begin(ctx, key, turnOf("run", "hi", 0), "t"))(t)
	_, ok, err := s.Snapshot(ctx, key, "files")
	equal(t, "before", []any{ok, err}, []any{false, nil})
	for _, text := range []string{"", "a\nb"} {
		must(t, s.KeepSnapshot(ctx, key, session.Snapshot{Name: "files", Text: text}))
		got, ok, err := s.Snapshot(ctx, key, "files")
		equal(t, "kept", []any{got, ok, err}, []any{text, true, nil})
	}
	_, ok, err = s.Snapshot(ctx, key, "skills")
	equal(t, "another name", []any{ok, err}, []any{false, nil})
}
