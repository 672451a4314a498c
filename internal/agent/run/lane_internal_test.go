package run

import (
	"testing"
	"testing/synctest"

	"github.com/goclaw/goclaw/internal/agent"
)

// Whoever hears that a run has ended may ask for its session, which the run
// gives back a moment later.
func TestSettlingWaitsForTheSessionToBeGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(Options{})
		run := newRun(r, Profile{ID: "main"}, Request{Session: "s"})
		key := run.key()
		settle := func() <-chan struct{} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				r.Settle(t.Context(), key)
			}()
			synctest.Wait()
			return done
		}
		settled := func(done <-chan struct{}) bool {
			synctest.Wait()
			select {
			case <-done:
				return true
			default:
				return false
			}
		}
		if !settled(settle()) {
			t.Fatal("it waits for a session in which nothing goes on")
		}
		l := &lane{key: key, active: run, moved: make(chan struct{})}
		r.lanes[key] = l
		if !settled(settle()) {
			t.Error("it waits for a run that goes on")
		}
		run.tell(agent.Event{Type: agent.RunFinished, End: &agent.RunEnd{Status: agent.Done}})
		waits := settle()
		if settled(waits) {
			t.Error("it doesn't wait for the session")
		}
		l.waiting = []*Run{newRun(r, Profile{ID: "main"}, Request{Session: "s"})}
		if !settled(settle()) {
			t.Error("it waits though another run comes next")
		}
		r.next(l)
		if !settled(waits) {
			t.Error("it waits for the run behind the one that ended")
		}
		l.active.tell(agent.Event{Type: agent.RunFinished, End: &agent.RunEnd{Status: agent.Done}})
		waits = settle()
		if settled(waits) {
			t.Error("it doesn't wait for the session")
		}
		r.next(l)
		if !settled(waits) {
			t.Error("it waits though the session was given back")
		}
	})
}
