package sqlite_test

import (
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/engine"
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
