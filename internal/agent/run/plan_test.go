package run_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/tool"
)

// planner is a process in whose sessions plan mode can be switched.
func planner(t *testing.T, dir string, change func(*process, *run.Options)) *process {
	t.Helper()
	return born(t, dir, run.Queue, func(p *process, o *run.Options) {
		o.Change = p.db.Sessions().Change
		if change != nil {
			change(p, o)
		}
	})
}

// plans reports whether plan mode is on in the session as it is stored.
func (p *process) plans() bool {
	p.t.Helper()
	s, err := p.db.Sessions().Session(p.t.Context(), work)
	if err != nil {
		p.t.Fatal(err)
	}
	return s.State.Plan
}

// ends are the ways in which a run ends whose model call gives nothing that
// could be stored.
var ends = map[string]func(*testing.T, *process, *run.Run, string) *process{
	"it is stopped": func(t *testing.T, p *process, r *run.Run, _ string) *process {
		r.Stop()
		<-r.Done()
		p.Settle(t.Context(), work)
		return p
	},
	"its process is killed": func(t *testing.T, p *process, _ *run.Run, dir string) *process {
		p.kill()
		p.end()
		return planner(t, dir, nil)
	},
}

// Plan mode with which a message begins outlives a run that stores no round.
func TestPlanModeBeginsWithItsMessage(t *testing.T) {
	t.Parallel()
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				p := planner(t, dir, nil)
				req := ask("s", "one")
				req.Plan = true
				r := start(t, p.Runner, req)
				synctest.Wait()
				if p = end(t, p, r, dir); !p.plans() {
					t.Error("plan mode is off")
				}
			})
		})
	}
}

// What a person switches stays so, although the round under way was asked for
// before, and the next model call gives nothing.
func TestPlanModeOutlivesTheRunInWhichItIsSwitched(t *testing.T) {
	t.Parallel()
	for name, end := range ends {
		for _, on := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					dir, asked := t.TempDir(), make(chan struct{}, 2)
					p := planner(t, dir, func(p *process, _ *run.Options) { p.asked = func() { asked <- struct{}{} } })
					req := ask("s", "call")
					req.Plan = !on
					r := start(t, p.Runner, req)
					<-asked
					if err := p.SetPlan(t.Context(), work, on); err != nil {
						t.Fatal(err)
					}
					<-asked // the second call: the first round is stored
					if p = end(t, p, r, dir); p.plans() != on {
						t.Errorf("plan mode is %v, and was switched to %v", !on, on)
					}
				})
			})
		}
	}
}

// What is switched while a run only waits for its session holds for the one that
// begins, whichever that is, and in the session when none does.
func TestPlanModeIsSwitchedBeforeARunBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{}, 1)
		p := planner(t, t.TempDir(), func(p *process, o *run.Options) {
			hold := o.Hold
			o.Hold = func(ctx context.Context, key session.Key, busy func()) (func(), error) {
				select {
				case <-let:
					return hold(ctx, key, busy)
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		})
		let <- struct{}{}
		<-start(t, p.Runner, ask("s", "zero")).Done()
		p.Settle(t.Context(), work)

		for _, on := range []bool{true, false} {
			first, second := start(t, p.Runner, ask("s", "one")), start(t, p.Runner, ask("s", "two"))
			if err := p.SetPlan(t.Context(), work, on); err != nil {
				t.Fatal(err)
			}
			first.Stop()
			<-first.Done()
			let <- struct{}{}
			<-second.Done()
			p.Settle(t.Context(), work)
			if p.plans() != on {
				t.Errorf("plan mode is %v for the run that began, and was switched to %v", !on, on)
			}
		}

		only := start(t, p.Runner, ask("s", "three"))
		if err := p.SetPlan(t.Context(), work, true); err != nil {
			t.Fatal(err)
		}
		only.Stop()
		<-only.Done()
		let <- struct{}{}
		synctest.Wait()
		if !p.plans() {
			t.Error("plan mode is off in a session whose run did not begin")
		}
	})
}

// While another process works in the session it can't be switched, whether or
// not a message waits for that here.
func TestPlanModeIsNotSwitchedUnderAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p, other := planner(t, dir, nil), planner(t, dir, nil)
		r := start(t, other.Runner, ask("s", "one"))
		synctest.Wait()
		waits := start(t, p.Runner, ask("s", "two"))
		synctest.Wait()
		if err := p.SetPlan(t.Context(), work, true); !errors.Is(err, session.ErrHeld) {
			t.Errorf("switched under another process: %v", err)
		}
		<-r.Done()
		<-waits.Done()
		p.Settle(t.Context(), work)
		if p.plans() {
			t.Error("what was refused was done")
		}
	})
}

// What calls by hand did to a busy session is in its state when the run is over,
// and of what is about the same only the last.
func TestASessionIsAffectedWhileItsRunGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := planner(t, t.TempDir(), nil)
		r := start(t, p.Runner, ask("s", "one"))
		for _, e := range []tool.Effect{
			{Kind: tool.FileSeen, Key: "a", Value: "1"},
			{Kind: tool.FileSeen, Key: "b", Value: "1"},
			{Kind: tool.FileSeen, Key: "a", Value: "2"},
			agent.PlanMode(true),
			{Kind: tool.FileSeen, Key: "b"},
		} {
			if err := p.Affect(t.Context(), work, nil, e); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		<-r.Done()
		p.Settle(t.Context(), work)
		s, err := p.db.Sessions().Session(t.Context(), work)
		if err != nil {
			t.Fatal(err)
		}
		if files := s.State.Files; !s.State.Plan || len(files) != 1 || files[0] != (tool.SeenFile{Path: "a", Digest: "2"}) {
			t.Errorf("the state is %+v", s.State)
		}
	})
}

// What this process does itself to a session at once is all kept.
func TestASessionIsAffectedByManyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := planner(t, t.TempDir(), nil)
		made := &session.Session{Title: "by hand", Created: time.Now()}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if err := p.Affect(t.Context(), work, made, tool.Effect{Kind: tool.FileSeen, Key: fmt.Sprint(i), Value: "1"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		s, err := p.db.Sessions().Session(t.Context(), work)
		if err != nil || len(s.State.Files) != 20 {
			t.Errorf("the state is %+v, %v", s.State, err)
		}
	})
}
