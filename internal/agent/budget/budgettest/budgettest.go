// Package budgettest checks implementations of [budget.Ledger] together with
// the store of sessions that enters it. Each calls [Run] from a test of its own.
//
// It is imported by tests only. Start reading at [Run].
package budgettest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Stores are two sides of one new and empty database.
type Stores struct {
	Sessions session.Store
	Ledger   budget.Ledger
}

// Run checks the stores that open returns, new and empty ones each time.
func Run(t *testing.T, open func(t testing.TB) Stores) {
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		testNothing(t, open(t))
	})
	t.Run("days of a zone", func(t *testing.T) {
		t.Parallel()
		testZones(t, open(t))
	})
	t.Run("whatever happens, each call counts once", func(t *testing.T) {
		t.Parallel()
		testOnce(t, open(t))
	})
}

var start = time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC)

func testNothing(t *testing.T, s Stores) {
	r, err := budget.Make(t.Context(), s.Ledger, budget.Query{By: []budget.By{budget.ByDay, budget.ByRun}})
	if err != nil || len(r.Rows) != 0 || r.Total.Calls != 0 || r.Total.USD == nil || *r.Total.USD != 0 {
		t.Errorf("nothing adds up to %+v, %v", r, err)
	}
	if used, err := s.Ledger.Session(t.Context(), "main", "none"); err != nil || used != (budget.Amount{}) {
		t.Errorf("a session that isn't there used %+v, %v", used, err)
	}
	if days, last, err := s.Ledger.Behind(t.Context(), 0, start); err != nil || len(days) != 0 || last != 0 {
		t.Errorf("behind nothing are %+v up to %d, %v", days, last, err)
	}
}

// testZones checks that calls belong to the day that a zone has, also on the day
// that is an hour shorter, and where a day begins at an odd minute.
func testZones(t *testing.T, s Stores) {
	w := world{s: s, t: t}
	w.begin("main", "s", "run", "ada")
	for hour := range 30 {
		w.enter("run", agent.Spent{
			Target: llm.Target{Provider: "p", Model: "m"}, Time: start.Add(time.Duration(hour) * time.Hour), Usage: llm.Usage{Input: 1}, USD: new(0.5),
		})
	}
	for _, tc := range []struct {
		zone *time.Location
		want map[string]int
	}{
		{time.UTC, map[string]int{"2026-03-28": 2, "2026-03-29": 24, "2026-03-30": 4}},
		{time.FixedZone("Kathmandu", 5*3600+45*60), map[string]int{"2026-03-29": 21, "2026-03-30": 9}},
		{zone(t, "Europe/Berlin"), map[string]int{"2026-03-28": 1, "2026-03-29": 23, "2026-03-30": 6}},
	} {
		r, err := budget.Make(t.Context(), s.Ledger, budget.Query{By: []budget.By{budget.ByDay}, Zone: tc.zone})
		got := map[string]int{}
		for _, row := range r.Rows {
			got[row.Day] = row.Calls
		}
		if d := cmp.Diff(tc.want, got); err != nil || d != "" || !slices.IsSortedFunc(r.Rows, func(a, b budget.Row) int { return a.At.Compare(b.At) }) {
			t.Errorf("in %s (-want +got): %v\n%s", tc.zone, err, d)
		}
	}
}

func zone(t *testing.T, name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// entry is a call as it was made.
type entry struct {
	agent, session, run, person string // session is empty when it was deleted, or there was none
	agent.Spent
}

// world is what was done to stores, and what they should tell.
type world struct {
	s      Stores
	t      testing.TB
	runs   map[string]*entry // those that are open, by id
	rounds map[session.Key]int
	made   []*entry
	agents []string
	steps  int
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) begin(agentID, id, run, person string) {
	w.t.Helper()
	key := session.Key{Agent: agentID, ID: id}
	begun, err := w.s.Sessions.Begin(context.Background(), key, session.Turn{
		Run: run, Message: llm.UserMessage("hi"), Origin: tool.FromChat, Started: start, Caller: auth.Principal{ID: person, Role: auth.User},
	}, "t")
	w.must(err)
	if w.runs == nil {
		w.runs, w.rounds = map[string]*entry{}, map[session.Key]int{}
	}
	for other, e := range w.runs {
		if e.agent == agentID && e.session == id {
			delete(w.runs, other) // it was interrupted
		}
	}
	w.runs[run] = &entry{agent: agentID, session: id, run: run, person: person}
	w.rounds[key] = begun.Rounds
}

// enter stores calls with a round that runs a tool.
func (w *world) enter(run string, calls ...agent.Spent) {
	w.t.Helper()
	w.must(w.s.Sessions.Called(context.Background(), run, w.round(run, calls)))
	w.note(run, calls)
}

func (w *world) round(run string, calls []agent.Spent) *agent.Round {
	e := w.runs[run]
	key := session.Key{Agent: e.agent, ID: e.session}
	w.rounds[key]++
	return &agent.Round{Number: w.rounds[key], Spent: calls, Reply: llm.Reply{Message: llm.AssistantMessage("x"), Finish: llm.FinishStop}}
}

func (w *world) note(run string, calls []agent.Spent) {
	for _, c := range calls {
		e := *w.runs[run]
		e.Spent = c
		w.made = append(w.made, &e)
	}
}

// testOnce does what may happen to sessions, in any order, and checks that the
// ledger tells each call once, however it is added up. Each case has agents of
// its own.
func testOnce(t *testing.T, s Stores) {
	var last int64
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		w := &world{s: s, t: t, agents: []string{fmt.Sprint("main", count), fmt.Sprint("other", count)}}
		behind := map[string]budget.Amount{}
		readOn := func() {
			list, next, err := s.Ledger.Behind(context.Background(), last, start.Truncate(24*time.Hour))
			w.must(err)
			last = next
			for _, d := range list {
				behind[d.Agent] = plus(behind[d.Agent], d.Used)
			}
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			w.step(rt)
			if rapid.Bool().Draw(rt, "read on") {
				readOn()
			}
		}
		readOn()
		for _, agent := range w.agents {
			w.check(rt, agent, behind[agent])
		}
	})
}

func plus(a, b budget.Amount) budget.Amount {
	return budget.Amount{Tokens: a.Tokens + b.Tokens, USD: a.USD + b.USD}
}

// step does one of the things that happen.
func (w *world) step(rt *rapid.T) {
	ctx := context.Background()
	w.steps++
	n := w.steps
	open := slices.Sorted(maps.Keys(w.runs))
	key := session.Key{Agent: rapid.SampledFrom(w.agents).Draw(rt, "agent"), ID: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "session")}
	what := rapid.SampledFrom([]string{"begin", "round", "round", "answer", "end", "fork", "delete", "embed"}).Draw(rt, "step")
	if len(open) == 0 && (what == "round" || what == "answer" || what == "end") {
		what = "begin"
	}
	run := ""
	if len(open) > 0 {
		run = rapid.SampledFrom(open).Draw(rt, "run")
	}
	calls := rapid.SliceOfN(rapid.Custom(spent), 0, 3).Draw(rt, "calls")
	switch what {
	case "begin":
		w.begin(key.Agent, key.ID, fmt.Sprintf("run-%s-%d", w.agents[0], n), rapid.SampledFrom([]string{"ada", "bob"}).Draw(rt, "person"))
	case "round":
		w.enter(run, calls...)
	case "answer":
		w.must(w.s.Sessions.Answered(ctx, run, w.round(run, calls), agent.End{Status: agent.Done, Time: start}))
		w.note(run, calls)
		delete(w.runs, run)
	case "end":
		w.must(w.s.Sessions.End(ctx, run, agent.End{Status: agent.Failed, Spent: calls, Time: start}))
		w.note(run, calls)
		w.must(w.s.Sessions.End(ctx, run, agent.End{Status: agent.Failed, Spent: calls, Time: start})) // too late
		delete(w.runs, run)
	case "fork":
		f := session.Session{Key: session.Key{Agent: key.Agent, ID: fmt.Sprintf("fork%d", n)}, ForkOf: &session.Point{Session: key.ID, Turn: 1}, Created: start}
		_ = w.s.Sessions.Fork(ctx, f) // there may be nothing to fork, or it may not have ended
	case "embed":
		for _, c := range calls {
			w.must(w.s.Ledger.Enter(ctx, key.Agent, "system", c))
			w.made = append(w.made, &entry{agent: key.Agent, person: "system", Spent: c})
		}
	case "delete":
		for run, e := range w.runs {
			if e.agent == key.Agent && e.session == key.ID {
				delete(w.runs, run)
			}
		}
		if w.s.Sessions.Delete(ctx, key) == nil {
			for _, e := range w.made {
				if e.agent == key.Agent && e.session == key.ID {
					e.session = ""
				}
			}
		}
	}
}

// spent makes a call. Costs are sums of powers of two, which add up exactly.
func spent(rt *rapid.T) agent.Spent {
	c := agent.Spent{
		Target: llm.Target{Provider: "p", Model: rapid.SampledFrom([]string{"m", "n"}).Draw(rt, "model")},
		Time:   start.Add(time.Duration(rapid.IntRange(0, 100).Draw(rt, "hours")) * time.Hour),
	}
	if rapid.Bool().Draw(rt, "counted") {
		in := int64(rapid.IntRange(1, 1000).Draw(rt, "in"))
		c.Usage = llm.Usage{Input: in, Cached: in / 2, CacheWrite: in / 4, Output: 7, Reasoning: 3}
		if rapid.Bool().Draw(rt, "whole") {
			if rapid.Bool().Draw(rt, "priced") {
				c.USD = new(float64(in) / 64)
			}
			return c
		}
		c.Guess = llm.Usage{Output: 10}
	} else {
		c.Guess = llm.Usage{Input: 100, Output: 10}
	}
	if rapid.Bool().Draw(rt, "priced") {
		c.GuessUSD = new(0.25)
	}
	return c
}

// key is how a call is told when it is added up by one thing.
func (e *entry) key(by budget.By) budget.Row {
	switch by {
	case budget.ByDay:
		return budget.Row{Day: e.Time.Format(time.DateOnly)}
	case budget.ByAgent:
		return budget.Row{Agent: e.agent}
	case budget.ByModel:
		return budget.Row{Model: e.Target.String()}
	case budget.ByPerson:
		return budget.Row{Person: e.person}
	case budget.BySession:
		return budget.Row{Agent: e.agent, Session: e.session}
	}
	return budget.Row{Run: e.run}
}

// counts is what a row says of how much.
type counts struct {
	Calls, Unpriced, Uncounted int
	Usage                      llm.Usage
	Known                      float64
}

func countsOf(r budget.Row) counts {
	return counts{r.Calls, r.Unpriced, r.Uncounted, r.Usage, r.Known}
}

func (c *counts) add(e *entry) {
	c.Calls++
	c.Usage = c.Usage.Add(e.Usage)
	if e.USD == nil {
		c.Unpriced++
	} else {
		c.Known += *e.USD
	}
	if !e.Counted() {
		c.Uncounted++
	}
}

// budgetOf is what a call counts for budgets.
func (e *entry) budgetOf() budget.Amount {
	a := budget.Amount{Tokens: e.Usage.Input + e.Usage.Output + e.Guess.Input + e.Guess.Output}
	if e.USD != nil {
		a.USD = *e.USD
	} else if e.GuessUSD != nil {
		a.USD = *e.GuessUSD
	}
	return a
}

// check holds what is told of an agent against what was done; behind is what was
// read on piece by piece.
func (w *world) check(rt *rapid.T, agentID string, behind budget.Amount) {
	ctx := context.Background()
	var total counts
	var all budget.Amount
	sessions := map[session.Key]budget.Amount{}
	made := slices.DeleteFunc(slices.Clone(w.made), func(e *entry) bool { return e.agent != agentID })
	for _, e := range made {
		total.add(e)
		a, key := e.budgetOf(), session.Key{Agent: e.agent, ID: e.session}
		all, sessions[key] = plus(all, a), plus(sessions[key], a)
	}
	for _, by := range budget.Bys {
		want := map[budget.Row]counts{}
		for _, e := range made {
			c := want[e.key(by)]
			c.add(e)
			want[e.key(by)] = c
		}
		r, err := budget.Make(ctx, w.s.Ledger, budget.Query{By: []budget.By{by}, Agent: agentID})
		w.must(err)
		got := map[budget.Row]counts{}
		for _, row := range r.Rows {
			got[budget.Row{Day: row.Day, Agent: row.Agent, Model: row.Model, Person: row.Person, Session: row.Session, Run: row.Run}] = countsOf(row)
		}
		if d := cmp.Diff(want, got); d != "" {
			rt.Fatalf("by %s (-want +got):\n%s", by, d)
		}
		if d := cmp.Diff(total, countsOf(r.Total)); d != "" || (r.Total.USD == nil) != (total.Unpriced > 0) {
			rt.Fatalf("the total by %s (-want +got):\n%s", by, d)
		}
	}
	for key, want := range sessions {
		if key.ID == "" {
			continue
		}
		if got, err := w.s.Ledger.Session(ctx, key.Agent, key.ID); err != nil || got != want {
			rt.Fatalf("session %s used %+v, %v, want %+v", key, got, err, want)
		}
		var used counts
		for _, e := range made {
			if e.session == key.ID {
				used.add(e)
			}
		}
		r, err := budget.Make(ctx, w.s.Ledger, budget.Query{By: []budget.By{budget.ByRun}, Agent: agentID, Session: key.ID})
		w.must(err)
		if d := cmp.Diff(used, countsOf(r.Total)); d != "" {
			rt.Fatalf("the total of session %s (-want +got):\n%s", key, d)
		}
	}
	if behind != all {
		rt.Fatalf("read on piece by piece, all used %+v, want %+v", behind, all)
	}
}
