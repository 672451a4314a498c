package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
)

// SetPlan turns plan mode of a session on or off. A run that is going in it
// follows before its next model call; calls that run are not held up. The error
// is [session.ErrNotFound] when there is no such session, and [session.ErrHeld]
// when another process works in it.
func (r *Runner) SetPlan(ctx context.Context, key session.Key, on bool) error {
	r.mu.Lock()
	l := r.lanes[key]
	waits := false
	if l != nil {
		l.plan, waits = &on, l.release == nil
	}
	r.mu.Unlock()
	if waits {
		return nil // the run begins with it
	}
	if l == nil {
		ctx, cancel := context.WithTimeout(ctx, storeLimit)
		defer cancel()
		held := false
		hold, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		release, err := r.opts.Hold(hold, key, func() { held = true; stop(session.ErrHeld) })
		if err != nil && held {
			err = session.ErrHeld
		}
		if err != nil {
			return fmt.Errorf("switch plan mode of session %s: %w", key, err)
		}
		defer release()
	}
	// The run stores its own state with each round, so it is told as well.
	_, err := r.opts.Change(ctx, key, agent.PlanMode(on))
	if l != nil && errors.Is(err, session.ErrNotFound) {
		return nil // it is about to begin
	}
	if err != nil {
		return fmt.Errorf("switch plan mode: %w", err)
	}
	return nil
}

// switched is what plan mode was switched to since the active run of l was last
// told.
func (r *Runner) switched(l *lane) (on, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.plan == nil {
		return false, false
	}
	on, l.plan = *l.plan, nil
	return on, true
}

// keepPlan stores what plan mode was switched to after the last model call of
// run, which stored its own state behind that.
func (r *Runner) keepPlan(l *lane, run *Run) {
	on, ok := r.switched(l)
	if !ok || l.release == nil {
		return // without having held the session the run did not begin
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.ctx), storeLimit)
	defer cancel()
	if _, err := r.opts.Change(ctx, l.key, agent.PlanMode(on)); err != nil {
		run.logger().Error("plan mode could not be switched", "on", on, "err", err)
	}
}
