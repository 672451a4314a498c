package sqlite_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/store/sqlite"
	"github.com/goclaw/goclaw/internal/tool"
)

func TestLastCallIsTheNewestOfItsAgent(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	h := session.NewHistory(db.Sessions(), nil)
	var name string
	for _, turn := range []struct{ agent, session, run string }{{"main", "one", "r1"}, {"main", "two", "r2"}, {"helper", "one", "r3"}} {
		key := session.Key{Agent: turn.agent, ID: turn.session}
		if _, err := sessiontest.TurnWithTool(t.Context(), h, key, turn.run, "hi"); err != nil {
			t.Fatal(err)
		}
		turns, err := db.Sessions().Turns(t.Context(), key, 1, 0, session.Whole)
		if err != nil {
			t.Fatal(err)
		}
		name = turns[0].Rounds[0].Outcomes[0].Tool
	}
	for _, c := range []struct {
		engine.CallQuery
		found bool
	}{
		{engine.CallQuery{Agent: "main", Tool: name}, true},
		{engine.CallQuery{Agent: "main", Tool: name, Session: "one"}, true},
		{engine.CallQuery{Agent: "main", Tool: name, Session: "three"}, false},
		{engine.CallQuery{Agent: "nobody", Tool: name}, false},
		{engine.CallQuery{Agent: "main", Tool: "another_tool"}, false},
		{engine.CallQuery{Agent: "main", Tool: name, Caller: "ada"}, true},
		{engine.CallQuery{Agent: "main", Tool: name, Session: "two", Caller: "ada"}, true},
		{engine.CallQuery{Agent: "main", Tool: name, Caller: "bob"}, false},
		{engine.CallQuery{Agent: "main", Tool: name, Session: "one", Caller: "bob"}, false},
	} {
		o, ok, err := db.Sessions().LastCall(t.Context(), c.CallQuery)
		if err != nil || ok != c.found || ok && (o.Tool != name || o.Status == "") {
			t.Errorf("%+v: found %v with %q %s, %v", c, ok, o.Tool, o.Status, err)
		}
	}
}

func TestEachCallTellsOfThoseAskedFor(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	h := session.NewHistory(db.Sessions(), nil)
	for _, turn := range []struct{ agent, session, run string }{{"main", "one", "r1"}, {"main", "two", "r2"}, {"helper", "one", "r3"}} {
		if _, err := sessiontest.TurnWithTool(t.Context(), h, session.Key{Agent: turn.agent, ID: turn.session}, turn.run, "hi"); err != nil {
			t.Fatal(err)
		}
	}
	var name string
	for _, c := range []struct {
		engine.CallQuery
		since time.Time
		want  int
	}{
		{engine.CallQuery{Agent: "main"}, time.Time{}, 2},
		{engine.CallQuery{Agent: "main", Session: "two"}, time.Time{}, 1},
		{engine.CallQuery{Agent: "main", Tool: "another_tool"}, time.Time{}, 0},
		{engine.CallQuery{Agent: "main", Caller: "ada"}, time.Time{}, 2},
		{engine.CallQuery{Agent: "main", Caller: "bob"}, time.Time{}, 0},
		{engine.CallQuery{Agent: "main"}, time.Now().Add(time.Hour), 0},
	} {
		var got []engine.CallFact
		if err := db.Sessions().EachCall(t.Context(), c.CallQuery, c.since, func(f engine.CallFact) { got = append(got, f) }); err != nil {
			t.Fatal(err)
		}
		if len(got) != c.want {
			t.Errorf("%+v since %v: %+v", c.CallQuery, c.since, got)
		}
		for _, f := range got {
			name = f.Tool
			if f.Tool == "" || f.Status == "" || f.Started.IsZero() || f.Took < 0 {
				t.Errorf("%+v", f)
			}
		}
	}
	n := 0
	if err := db.Sessions().EachCall(t.Context(), engine.CallQuery{Agent: "main", Tool: name}, time.Time{}, func(engine.CallFact) { n++ }); err != nil || n != 2 {
		t.Errorf("of %s it tells %d, %v", name, n, err)
	}
}

// worked stores a turn whose only call made calls of its own.
func worked(t *testing.T, db *sqlite.DB, key session.Key, run, name string, own ...tool.Outcome) {
	t.Helper()
	h := session.NewHistory(db.Sessions(), nil)
	turn := sessiontest.AgentTurn(key, run, "hi")
	thread, err := h.Begin(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	r := sessiontest.Calling(thread.Rounds+1, "")
	r.Reply.Message.Parts[len(r.Reply.Message.Parts)-1].Call.Name = name
	if err := h.Called(t.Context(), turn, r); err != nil {
		t.Fatal(err)
	}
	o := sessiontest.Outcome(r.Calls[0], "done")
	o.Own = own
	r.Outcomes = []tool.Outcome{o}
	for range 2 { // what is stored again is there once
		if err := h.Result(t.Context(), turn, r, 0, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Settled(t.Context(), turn, r); err != nil {
		t.Fatal(err)
	}
	if err := h.End(t.Context(), turn, agent.End{Status: agent.Done, Rounds: 1}); err != nil {
		t.Fatal(err)
	}
}

// made is a call in short that ended so many seconds after the others.
func made(name string, status tool.Status, seconds int) tool.Outcome {
	at := sessiontest.Start.Add(time.Duration(seconds) * time.Second)
	return tool.Outcome{Tool: name, Status: status, Started: at, Ended: at.Add(time.Second), Refusal: &tool.Refusal{Step: "before", Rule: "no", Reason: "No."}}
}

// Calls that a call's tool made, and calls by hand, are found, counted and
// forgotten with their session; those of a fork's beginning count where they ran.
func TestCallsThatNoModelWrote(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	s := db.Sessions()
	key := session.Key{Agent: "main", ID: "work"}
	worked(t, db, key, "r1", "tool_code", made("file_write", tool.OK, 1), made("file_write", tool.OK, 2), made("file_delete", tool.Refused, 3))
	f := fork(t, db, 1)
	last := func(q engine.CallQuery) string {
		t.Helper()
		q.Agent = "main"
		c, ok, err := s.LastCall(t.Context(), q)
		if err != nil || !ok {
			return fmt.Sprint(ok, err)
		}
		rule := ""
		if c.Refusal != nil {
			rule = c.Refusal.Rule
		}
		return fmt.Sprint(c.Status, " ", c.Parent, " ", c.Hand, " ", rule)
	}
	count := func(q engine.CallQuery, since time.Time) (n int) {
		t.Helper()
		q.Agent = "main"
		if err := s.EachCall(t.Context(), q, since, func(engine.CallFact) { n++ }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, c := range []struct {
		engine.CallQuery
		last  string
		count int
	}{
		{engine.CallQuery{Tool: "file_delete"}, "refused tool_code  no", 1},
		{engine.CallQuery{Tool: "file_delete", Session: key.ID, Caller: "ada"}, "refused tool_code  no", 1},
		{engine.CallQuery{Tool: "file_delete", Session: f.ID}, "refused tool_code  no", 0},
		{engine.CallQuery{Tool: "file_delete", Session: "other"}, "false <nil>", 0},
		{engine.CallQuery{Tool: "file_delete", Caller: "bob"}, "false <nil>", 0},
		{engine.CallQuery{Tool: "file_write"}, "ok tool_code  no", 2},
		{engine.CallQuery{}, "false <nil>", 4},
	} {
		if got, n := last(c.CallQuery), count(c.CallQuery, time.Time{}); got != c.last || n != c.count {
			t.Errorf("%+v: %q, and %d of them; want %q and %d", c.CallQuery, got, n, c.last, c.count)
		}
	}
	if n := count(engine.CallQuery{Tool: "file_write"}, sessiontest.Start.Add(2*time.Second)); n != 1 {
		t.Errorf("since the second there are %d", n)
	}
	if used, err := s.MostUsed(t.Context(), "main", sessiontest.Start.Add(-time.Hour), 9); err != nil || strings.Join(used, " ") != "file_write tool_code" {
		t.Errorf("used: %v, %v", used, err)
	}

	hand := func(name string, o tool.Outcome, own ...tool.Outcome) {
		t.Helper()
		o.Own = own
		if err := s.KeepCall(t.Context(), engine.SideCall{Outcome: o, Agent: "main", Session: name, Caller: "bob"}); err != nil {
			t.Fatal(err)
		}
	}
	hand("work", made("file_delete", tool.OK, 10))
	hand("hand", made("tool_code", tool.OK, 12), made("file_write", tool.Failed, 11))
	nameless := made("nothing", tool.Refused, 13)
	nameless.Step = "resolve"
	hand("hand", nameless)
	for q, want := range map[engine.CallQuery]string{
		{Tool: "file_delete"}:                "ok  bob no",
		{Tool: "file_delete", Caller: "ada"}: "refused tool_code  no",
		{Tool: "file_write", Caller: "bob"}:  "error tool_code bob no",
		{Tool: "nothing"}:                    "false <nil>",
	} {
		if got := last(q); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
	if used, err := s.MostUsed(t.Context(), "main", sessiontest.Start.Add(-time.Hour), 9); err != nil || strings.Join(used, " ") != "file_write tool_code" {
		t.Errorf("used after calls by hand: %v, %v", used, err)
	}
	for range 500 {
		hand("hand", made("calc", tool.OK, 20))
	}
	hand("hand", made("calc", tool.OK, 20))
	if n := count(engine.CallQuery{Tool: "calc"}, time.Time{}); n != 500 {
		t.Errorf("%d calls by hand are kept", n)
	}
	if err := s.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if got := last(engine.CallQuery{Tool: "file_delete"}); got != "false <nil>" {
		t.Errorf("after its session is gone: %s", got)
	}
	if got := last(engine.CallQuery{Tool: "file_delete", Session: f.ID}); got != "refused tool_code  no" {
		t.Errorf("the fork has %s", got)
	}
}
