package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/tool"
)

// planSwitch is what a person turned plan mode to.
type planSwitch struct {
	on     bool
	stored bool // the session has it; only the run going is yet to know
}

// SetPlan turns plan mode of a session on or off. A run that is going in it
// follows before its next model call; calls that run are not held up. The error
// is [session.ErrNotFound] when there is no such session, and [session.ErrHeld]
// when another process works in it.
func (r *Runner) SetPlan(ctx context.Context, key session.Key, on bool) error {
	for {
		r.mu.Lock()
		l := r.lanes[key]
		r.mu.Unlock()
		done, err := true, error(nil)
		if l == nil {
			err = r.changePlan(ctx, key, on)
		} else {
			done, err = r.planIn(ctx, l, on)
		}
		if done && err == nil {
			r.watchers.tell(key)
		}
		if done {
			return err
		}
	}
}

// planIn turns plan mode on or off in a session that is busy. It is not done when
// the session is so no more.
func (r *Runner) planIn(ctx context.Context, l *lane, on bool) (done bool, err error) {
	l.state.Lock()
	defer l.state.Unlock()
	r.mu.Lock()
	gone, waits, away := r.lanes[l.key] != l, l.release == nil, l.release == nil && l.contended
	r.mu.Unlock()
	switch {
	case gone:
		return false, nil
	case away:
		return true, fmt.Errorf("switch plan mode of session %s: %w", l.key, session.ErrHeld)
	}
	before := l.plan
	l.plan = &planSwitch{on: on}
	if waits {
		return true, nil // the run begins with it
	}
	_, err = r.opts.Change(ctx, l.key, agent.PlanMode(on))
	switch {
	case err == nil:
		l.plan.stored = true
	case !errors.Is(err, session.ErrNotFound): // else it is about to begin
		l.plan = before
		return true, fmt.Errorf("switch plan mode: %w", err)
	}
	return true, nil
}

// changePlan turns plan mode on or off in a session in which no run of this
// process is.
func (r *Runner) changePlan(ctx context.Context, key session.Key, on bool) error {
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	hold, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	held := false
	release, err := r.opts.Hold(hold, key, func() { held = true; stop(session.ErrHeld) })
	if err != nil && held {
		err = session.ErrHeld
	}
	if err != nil {
		return fmt.Errorf("switch plan mode of session %s: %w", key, err)
	}
	defer release()
	if _, err := r.opts.Change(ctx, key, agent.PlanMode(on)); err != nil {
		return fmt.Errorf("switch plan mode: %w", err)
	}
	return nil
}

// switched is what plan mode was switched to since the active run was last told.
// What is not told is stored with whatever the run stores next.
func (l *lane) switched() []tool.Effect {
	l.state.Lock()
	defer l.state.Unlock()
	effects := l.switches()
	l.plan = nil
	return effects
}

// storing has store write the session's state, changed by what a person switched
// meanwhile: it was asked for before that.
func (l *lane) storing(store func(switched []tool.Effect) error) error {
	l.state.Lock()
	defer l.state.Unlock()
	err := store(l.switches())
	if err == nil {
		l.plan = nil
	}
	return err
}

// switches are the effects of what a person switched. The caller holds l.state.
func (l *lane) switches() []tool.Effect {
	if l.plan == nil {
		return nil
	}
	return []tool.Effect{agent.PlanMode(l.plan.on)}
}

// keepPlan stores what plan mode was switched to before a run that did not begin.
// While the session isn't held that is left to the next run.
func (r *Runner) keepPlan(l *lane, run *Run) {
	l.state.Lock()
	defer l.state.Unlock()
	switch {
	case l.plan == nil || l.release == nil:
		return
	case l.plan.stored:
		l.plan = nil
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.ctx), storeLimit)
	defer cancel()
	_, err := r.opts.Change(ctx, l.key, agent.PlanMode(l.plan.on))
	switch {
	case err == nil:
		l.plan = nil
	case !errors.Is(err, session.ErrNotFound): // else the next run may be the first
		run.logger().Error("plan mode could not be switched", "on", l.plan.on, "err", err)
	}
}

// leavePlan stores what plan mode was switched to in a lane that has ended without
// having got its session.
func (r *Runner) leavePlan(l *lane, last *Run) {
	l.state.Lock()
	defer l.state.Unlock()
	if l.plan == nil || l.release != nil {
		return
	}
	err := r.changePlan(context.WithoutCancel(r.base), l.key, l.plan.on)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		last.logger().Error("plan mode could not be switched", "on", l.plan.on, "err", err)
	}
}
