package sessiontest

import (
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/tool"
)

// What was said while a round was under way stands against what its calls did,
// whenever they ended, as it does when the round is settled. What its request
// knew already does not.
func testInterruptedAndChanged(t *testing.T, s session.Store) {
	ctx := t.Context()
	plan := func(mode string) tool.Effect { return tool.Effect{Kind: tool.PlanMode, Value: mode} }
	saw := func(path, digest string) tool.Effect {
		return tool.Effect{Kind: tool.FileSeen, Key: path, Value: digest}
	}
	for _, c := range []struct {
		name   string
		before []int // seconds at which plan mode is turned on before the reply is stored, and after
		after  []int
		want   bool
	}{
		{"never", nil, nil, false},
		{"before the request", []int{0}, nil, false},
		{"while the model thinks", []int{2}, nil, true},
		{"while the calls run", nil, []int{3}, true},
		{"both before and after", []int{0}, []int{6}, true},
	} {
		key := session.Key{Agent: "main", ID: c.name}
		id := strings.ReplaceAll(c.name, " ", "_")
		change := func(seconds []int) {
			for _, second := range seconds {
				_, err := s.Change(ctx, key, at(second), nil, plan("on"), saw("b", "person"))
				must(t, err)
			}
		}
		value(s.Begin(ctx, key, turnOf(id, "hi", 0), "t"))(t)
		change(c.before)
		r := full(1, id)
		r.Listed = true
		must(t, s.Called(ctx, id, r))
		r.Outcomes[1].Effects = []tool.Effect{plan("off"), saw("a", "call"), saw("b", "call")}
		must(t, s.Result(ctx, id, 1, 1, r.Outcomes[1]))
		change(c.after)
		_, _, err := s.Interrupt(ctx, key, at(9))
		must(t, err)
		state := value(s.Session(ctx, key))(t).State
		a, _ := state.Digest("a")
		b, _ := state.Digest("b")
		seen := "call"
		if c.want {
			seen = "person"
		}
		equal(t, c.name, []any{state.Plan, a, b}, []any{c.want, "call", seen})
	}

	// What was said in a round that was settled is nothing to the next one.
	value(s.Begin(ctx, key, turnOf("run", "hi", 0), "t"))(t)
	r := full(1, "x")
	must(t, s.Called(ctx, "run", r))
	on := value(s.Change(ctx, key, at(50), nil, plan("on")))(t)
	r.State = on
	must(t, s.Settled(ctx, "run", r))
	next := full(2, "y")
	next.Outcomes[0].Effects = []tool.Effect{plan("off")}
	must(t, s.Called(ctx, "run", next))
	must(t, s.Result(ctx, "run", 2, 0, next.Outcomes[0]))
	equal(t, "with a round that began after", value(s.Begin(ctx, key, turnOf("run2", "again", 60), "t"))(t).State.Plan, false)
}
