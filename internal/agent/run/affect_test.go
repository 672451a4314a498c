package run_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/tool"
)

var byHand = &session.Session{Title: "by hand", Caller: auth.Principal{ID: "p", Role: auth.User, Human: true}, Origin: tool.FromAPI}

// gate makes o.Hold wait until something is sent on what it returns.
func gate(o *run.Options) chan<- struct{} {
	let, hold := make(chan struct{}), o.Hold
	o.Hold = func(ctx context.Context, key session.Key, busy func()) (func(), error) {
		select {
		case <-let:
			return hold(ctx, key, busy)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return let
}

// made is the session that calls by hand begin now.
func made() *session.Session {
	s := *byHand
	s.Created = time.Now()
	return &s
}

// stored is the session as it is stored.
func (p *process) stored() session.Session {
	p.t.Helper()
	s, err := p.db.Sessions().Session(p.t.Context(), work)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// What calls by hand do to a session while its first run waits is kept, also when
// that never begins.
func TestWhatIsDoneBeforeAFirstRunThatNeverBeginsIsKept(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *run.Run, let chan<- struct{}){
		"it is stopped": func(r *run.Run, let chan<- struct{}) {
			r.Stop()
			<-r.Done()
			let <- struct{}{}
		},
		"it fails": func(_ *run.Run, let chan<- struct{}) { let <- struct{}{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var let chan<- struct{}
				p := planner(t, t.TempDir(), func(_ *process, o *run.Options) {
					let = gate(o)
					owner, asked := o.Owner, 0
					o.Owner = func(ctx context.Context, key session.Key) (string, bool, error) {
						if asked++; asked > 1 { // by the run that begins
							return "", false, errors.New("the disk is gone")
						}
						return owner(ctx, key)
					}
				})
				r := start(t, p.Runner, ask("s", "one"))
				if err := p.Affect(t.Context(), work, made(), agent.PlanMode(true)); err != nil {
					t.Fatal(err)
				}
				end(r, let)
				<-r.Done()
				synctest.Wait()
				if r.Times().Began != (time.Time{}) {
					t.Error("the run began")
				}
				select {
				case let <- struct{}{}: // what it left needs the session
					synctest.Wait()
				default:
				}
				if s := p.stored(); !s.State.Plan || s.Title != "by hand" || s.Caller.ID != "p" || s.Turns != 0 {
					t.Errorf("the session is %+v", s)
				}
			})
		})
	}
}

// The session that such calls would begin is that of the message that begins it
// after all, with what they did.
func TestAFirstRunBeginsWithWhatWasDoneBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var let chan<- struct{}
		p := planner(t, t.TempDir(), func(_ *process, o *run.Options) { let = gate(o) })
		r := start(t, p.Runner, ask("s", "one"))
		if err := p.Affect(t.Context(), work, made(), agent.PlanMode(true)); err != nil {
			t.Fatal(err)
		}
		other := made()
		other.Caller.ID = "q"
		if err := p.Affect(t.Context(), work, other, agent.PlanMode(false)); !errors.Is(err, run.ErrNotYours) {
			t.Errorf("somebody else changed a session that a message is about to begin: %v", err)
		}
		let <- struct{}{}
		<-r.Done()
		p.Settle(t.Context(), work)
		if s := p.stored(); !s.State.Plan || s.Title != "one" || s.Turns != 1 {
			t.Errorf("the session is %+v", s)
		}
	})
}

// What was done before another process took the session is stored when that gives
// it back, though nothing waits for it here any more.
func TestWhatIsDoneOutlivesAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var let chan<- struct{}
		p := planner(t, dir, func(_ *process, o *run.Options) { let = gate(o) })
		other := planner(t, dir, nil)
		r := start(t, p.Runner, ask("s", "one"))
		if err := p.Affect(t.Context(), work, made(), agent.PlanMode(true)); err != nil {
			t.Fatal(err)
		}
		theirs := start(t, other.Runner, ask("s", "two"))
		synctest.Wait()
		r.Stop()
		<-r.Done()
		let <- struct{}{}
		synctest.Wait() // it waits for the other process
		again := start(t, p.Runner, ask("s", "three"))
		synctest.Wait()
		<-theirs.Done()
		let <- struct{}{}
		if got := notices(t.Context(), again); !slices.Equal(got, []string{"queued"}) {
			t.Errorf("what waits behind another process tells %q", got)
		}
		p.Settle(t.Context(), work)
		if s := p.stored(); !s.State.Plan || s.Turns != 2 {
			t.Errorf("the session is %+v", s)
		}
	})
}

// A message that comes while a call by hand changes its session waits for that,
// and isn't told that another process is at work.
func TestAMessageWaitsSilentlyForACallByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		p := planner(t, t.TempDir(), func(_ *process, o *run.Options) {
			change := o.Change
			o.Change = func(ctx context.Context, key session.Key, at time.Time, made *session.Session, effects ...tool.Effect) (tool.State, error) {
				<-let
				return change(ctx, key, at, made, effects...)
			}
		})
		p.recover() // a gateway that serves keeps what waits for another process
		failed := make(chan error)
		affect := func(on bool) { failed <- p.Affect(t.Context(), work, made(), agent.PlanMode(on)) }
		go affect(true)
		synctest.Wait()
		r := start(t, p.Runner, ask("s", "one"))
		synctest.Wait()
		go affect(false)
		synctest.Wait()
		if got := p.waits(); len(got) != 0 {
			t.Errorf("the inbox has %q", got)
		}
		close(let)
		if err := errors.Join(<-failed, <-failed); err != nil {
			t.Error(err)
		}
		if got := notices(t.Context(), r); len(got) != 0 {
			t.Errorf("the message is told %q", got)
		}
		p.Settle(t.Context(), work)
		if s := p.stored(); s.State.Plan || s.Turns != 1 {
			t.Errorf("the session is %+v", s)
		}
	})
}

// What was done is not given up while this process lives, however long another one
// holds the session. Meanwhile nobody waits with it: what can't be kept is said.
func TestWhatIsDoneWaitsAsLongAsItTakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := planner(t, dir, nil)
		release, err := session.NewHolds(filepath.Join(dir, "locks")).Hold(t.Context(), work)
		if err != nil {
			t.Fatal(err)
		}
		r := start(t, p.Runner, ask("s", "one"))
		if err := p.Affect(t.Context(), work, made(), agent.PlanMode(true)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := p.Free(t.Context(), work); !errors.Is(err, session.ErrHeld) {
			t.Errorf("while a run waits for another process: %v", err)
		}
		r.Stop()
		<-r.Done()
		time.Sleep(2 * time.Minute)
		if err := p.Affect(t.Context(), work, made(), agent.PlanMode(false)); !errors.Is(err, session.ErrHeld) {
			t.Errorf("a change meanwhile: %v", err)
		}
		if err := p.Free(t.Context(), work); !errors.Is(err, session.ErrHeld) {
			t.Errorf("while what is done waits for another process: %v", err)
		}
		release()
		p.Settle(t.Context(), work)
		time.Sleep(time.Second)
		if s := p.stored(); !s.State.Plan {
			t.Errorf("the session is %+v", s)
		}
		if err := p.Free(t.Context(), work); err != nil {
			t.Error(err)
		}
	})
}

// Whoever looks whether a session is free is no other process to a message that
// comes meanwhile.
func TestLookingWhetherASessionIsFreeIsNoWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var let chan<- struct{}
		p := planner(t, t.TempDir(), func(_ *process, o *run.Options) { let = gate(o) })
		p.recover()
		free := make(chan error)
		go func() { free <- p.Free(t.Context(), work) }()
		synctest.Wait()
		r := start(t, p.Runner, ask("s", "one"))
		synctest.Wait()
		if got := p.waits(); len(got) != 0 {
			t.Errorf("the inbox has %q", got)
		}
		let <- struct{}{}
		if err := <-free; err != nil {
			t.Error(err)
		}
		let <- struct{}{}
		if got := notices(t.Context(), r); len(got) != 0 {
			t.Errorf("the message is told %q", got)
		}
		p.Settle(t.Context(), work)
		if err := p.Free(cancelled(t), work); !errors.Is(err, context.Canceled) {
			t.Errorf("of who gives up: %v", err)
		}
	})
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
