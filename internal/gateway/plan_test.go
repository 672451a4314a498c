package gateway_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/fakellm"
)

func write(name string) fakellm.Answer {
	return fakellm.Calls(fakellm.Use("file_write", `{"path":"`+name+`","content":"x"}`))
}

// lastTold is what the host told the model last in request n.
func (r *rig) lastTold(n int) string {
	r.t.Helper()
	all := r.sent(n)
	return all[len(all)-1].text()
}

// Plan mode holds in its session, through a restart, and nowhere else.
func TestPlanModeOfOneSession(t *testing.T) {
	t.Parallel()
	r := setup(
		t, "",
		fakellm.Calls(fakellm.Use("enter_plan_mode", `{}`)), write("a.txt"), fakellm.Text("My plan."),
		write("b.txt"), fakellm.Text("Wrote b."),
		write("c.txt"), fakellm.Text("Still planning."),
		fakellm.Calls(fakellm.Use("exit_plan_mode", `{}`)), write("d.txt"), fakellm.Text("Done."),
	)
	r.say("planned", "enter plan mode and make a plan")
	r.say("other", "write a file")
	if _, ok := r.file("a.txt"); ok {
		t.Error("a planned session wrote")
	}
	if _, ok := r.file("b.txt"); !ok {
		t.Error("another session could not write")
	}
	r.close()
	r.open()
	r.say("planned", "and c")
	if _, ok := r.file("c.txt"); ok {
		t.Error("a planned session wrote after a restart")
	}
	if told := r.lastTold(6); !strings.Contains(told, "Plan mode is on in this conversation") {
		t.Errorf("the model was told %q", told)
	}
	r.say("planned", "agreed, do it")
	if _, ok := r.file("d.txt"); !ok {
		t.Error("nothing was written after the plan was settled")
	}
}

// A person switches it, too, in a session that exists and for one that begins.
func TestAPersonSwitchesPlanMode(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Text("Hi."), write("a.txt"), fakellm.Text("Planning."), write("b.txt"), fakellm.Text("Wrote."), write("c.txt"), fakellm.Text("Planning."))
	key := session.Key{Agent: "main", ID: "s"}
	if err := r.Runner.SetPlan(t.Context(), key, true); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("a session that isn't there: %v", err)
	}
	r.say("s", "hello")
	r.settle("s")
	if err := r.Runner.SetPlan(t.Context(), key, true); err != nil {
		t.Fatal(err)
	}
	r.say("s", "write a")
	r.settle("s")
	if err := r.Runner.SetPlan(t.Context(), key, false); err != nil {
		t.Fatal(err)
	}
	r.say("s", "write b")
	if told := r.lastTold(4); !strings.Contains(told, "Plan mode is off again") {
		t.Errorf("the model was told %q", told)
	}
	req := admin("new", "write c")
	req.Plan = true
	r.watch(r.start(req))
	for name, want := range map[string]bool{"a.txt": false, "b.txt": true, "c.txt": false} {
		if _, ok := r.file(name); ok != want {
			t.Errorf("%s is there: %v", name, ok)
		}
	}
	r.settle("new")
	if s, err := r.Sessions.Session(t.Context(), session.Key{Agent: "main", ID: "new"}); err != nil || !s.State.Plan {
		t.Errorf("%+v %v", s.State, err)
	}
}

// What is switched while a run is going holds from its next model call on, and
// when it makes none, in the session.
func TestPlanModeIsSwitchedUnderARun(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Answer{Hang: "before"})
	key := session.Key{Agent: "main", ID: "s"}
	going := r.start(admin("s", "go on"))
	if err := r.model.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := r.Runner.SetPlan(t.Context(), key, true); err != nil {
		t.Fatal(err)
	}
	going.Stop()
	r.watch(going)
	r.settle("s")
	if s, err := r.Sessions.Session(t.Context(), key); err != nil || !s.State.Plan {
		t.Errorf("%+v %v", s.State, err)
	}
}

// settle waits until a session is given back.
func (r *rig) settle(id string) {
	r.Runner.Settle(r.t.Context(), session.Key{Agent: "main", ID: id})
}
