package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/tool"
)

// ledger has calls of two tools.
type ledger struct{ stored }

func (ledger) EachCall(_ context.Context, q engine.CallQuery, _ time.Time, tell func(engine.CallFact)) error {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := 1; i <= 100; i++ {
		tell(engine.CallFact{Tool: "one", Status: tool.OK, Started: at.Add(time.Duration(i) * time.Second), Took: time.Duration(101-i) * time.Millisecond})
	}
	for _, s := range []tool.Status{tool.OK, tool.Failed, tool.Refused} {
		tell(engine.CallFact{Tool: "two", Status: s, Started: at, Took: time.Hour})
	}
	return nil
}

func TestOverview(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, tool.Call, none) (string, error) { return "", nil }
	r := tool.NewRegistry()
	r.Add(tool.Owner{Kind: tool.CoreOwner}, reading("one", nothing), reading("two", nothing), tool.New(tool.Definition{Name: "withheld", Traits: tool.Traits{AdminOnly: true}}, nothing))
	r.Note(tool.Note{Tool: "lost", State: "registered", Reason: "its name is taken", Fix: "rename it"})
	r.Note(tool.Note{Tool: "lost", State: "registered", Reason: "again"})
	r.Note(tool.Note{State: "registered", Reason: "a whole plugin"})
	e := engine.New(engine.Options{Registry: r, Calls: ledger{}})
	list, err := e.Overview(t.Context(), tool.NewScope(tool.Facts{Agent: "a", Caller: user}), model, tool.State{}, tool.Ask{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ name, stopped, fix, executed string }{
		{"lost", "registered", "rename it", "-"}, {"one", "", "", "yes"}, {"two", "", "", "NO"}, {"withheld", "exposed", "let an administrator do it", "-"},
	}
	if len(list) != len(want) {
		t.Fatalf("got %+v", list)
	}
	for i, w := range want {
		k := list[i]
		if k.Tool != w.name || k.Stopped() != w.stopped || k.Fix != w.fix || string(k.States[5].Verdict) != w.executed || (k.Entry == nil) != (w.name == "lost") {
			t.Errorf("%s: stopped at %q, fix %q, %+v", k.Tool, k.Stopped(), k.Fix, k.States)
		}
	}
	if c := list[1].Calls; c.Count != 100 || c.Failures != 0 || c.P50 != 50*time.Millisecond || c.P95 != 95*time.Millisecond || c.Ended != tool.OK {
		t.Errorf("calls of one: %+v", c)
	}
	if c := list[2].Calls; c.Count != 3 || c.Failures != 2 || c.P95 != time.Hour || c.Ended != tool.Refused {
		t.Errorf("calls of two: %+v", c)
	}
	nobody, err := e.Stats(t.Context(), tool.NewScope(tool.Facts{Agent: "a"}), "one", time.Time{})
	if err != nil || len(nobody) != 0 {
		t.Errorf("nobody is told of %v, %v", nobody, err)
	}
}

// counting counts how often all calls are read.
type counting struct {
	ledger
	reads *int
}

func (c counting) EachCall(ctx context.Context, q engine.CallQuery, since time.Time, tell func(engine.CallFact)) error {
	*c.reads++
	return c.ledger.EachCall(ctx, q, since, tell)
}

func TestCallsOfAllToolsAreNotReadForEachQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		e := engine.New(engine.Options{Registry: tool.NewRegistry(), Calls: counting{reads: &reads}})
		ask := func(who auth.Principal, name string, want int) {
			t.Helper()
			s := tool.NewScope(tool.Facts{Agent: "a", Caller: who})
			stats, err := e.Stats(t.Context(), s, name, time.Now().Add(-time.Hour))
			if err != nil || stats["one"].Count != 100 || reads != want {
				t.Errorf("%d reads, want %d; %v", reads, want, err)
			}
		}
		ask(user, "", 1)
		time.Sleep(4 * time.Second)
		ask(user, "", 1)
		ask(admin, "", 2) // who is told of others
		ask(user, "one", 3)
		time.Sleep(time.Second)
		ask(user, "", 4)
		if err := e.KeepCall(t.Context(), tool.NewScope(tool.Facts{Agent: "a", Caller: user}), tool.Outcome{Tool: "one"}); err != nil {
			t.Fatal(err)
		}
		ask(user, "", 5)
	})
}
