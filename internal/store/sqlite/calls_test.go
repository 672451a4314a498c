package sqlite_test

import (
	"testing"

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
