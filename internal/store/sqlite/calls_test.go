package sqlite_test

import (
	"testing"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
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
		agent, session, tool string
		found                bool
	}{
		{"main", "", name, true},
		{"main", "one", name, true},
		{"main", "three", name, false},
		{"nobody", "", name, false},
		{"main", "", "another_tool", false},
	} {
		o, ok, err := db.Sessions().LastCall(t.Context(), c.agent, c.session, c.tool)
		if err != nil || ok != c.found || ok && (o.Tool != name || o.Status == "") {
			t.Errorf("%+v: found %v with %q %s, %v", c, ok, o.Tool, o.Status, err)
		}
	}
}
