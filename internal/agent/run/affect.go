package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/tool"
)

// meanwhile is what changed in a session beside the run that is going in it: a
// person switched something, or a call by hand did.
type meanwhile struct {
	effects []tool.Effect
	stored  bool // the session has them; only the run is yet to know
}

// join returns m and the effects that come after it, without those that they make
// void, so that they don't pile up.
func (m *meanwhile) join(effects []tool.Effect) *meanwhile {
	var before []tool.Effect
	if m != nil {
		before = m.effects
	}
	return &meanwhile{effects: tool.Coalesce(slices.Concat(before, effects))}
}

// SetPlan turns plan mode of a session on or off, as [Runner.Affect] does.
func (r *Runner) SetPlan(ctx context.Context, key session.Key, on bool) error {
	if err := r.Affect(ctx, key, nil, agent.PlanMode(on)); err != nil {
		return fmt.Errorf("switch plan mode: %w", err)
	}
	return nil
}

// Affect applies effects to the state of a session from beside its runs. A run
// that is going in it follows before its next model call; calls that run are not
// held up. Where there is no such session it begins as made, without a turn. The
// error is [session.ErrNotFound] when there is none and made is nil, and
// [session.ErrHeld] when another process works in it.
func (r *Runner) Affect(ctx context.Context, key session.Key, made *session.Session, effects ...tool.Effect) error {
	for {
		r.mu.Lock()
		l := r.lanes[key]
		r.mu.Unlock()
		done, err := true, error(nil)
		if l == nil {
			err = r.affectIdle(ctx, key, made, effects)
		} else {
			done, err = r.affectBusy(ctx, l, effects)
		}
		if done && err == nil {
			r.watchers.tell(key)
		}
		if done {
			return err
		}
	}
}

// affectBusy is Affect in a session that is busy. It is not done when the session
// is so no more.
func (r *Runner) affectBusy(ctx context.Context, l *lane, effects []tool.Effect) (done bool, err error) {
	l.state.Lock()
	defer l.state.Unlock()
	r.mu.Lock()
	gone, waits, away := r.lanes[l.key] != l, l.release == nil, l.release == nil && l.contended
	r.mu.Unlock()
	switch {
	case gone:
		return false, nil
	case away:
		return true, fmt.Errorf("change the state of session %s: %w", l.key, session.ErrHeld)
	}
	next := l.meanwhile.join(effects)
	if waits {
		l.meanwhile = next // the run begins with them
		return true, nil
	}
	_, err = r.opts.Change(ctx, l.key, nil, next.effects...)
	if err != nil && !errors.Is(err, session.ErrNotFound) { // else it is about to begin
		return true, fmt.Errorf("change the state of session %s: %w", l.key, err)
	}
	next.stored, l.meanwhile = err == nil, next
	return true, nil
}

// affectIdle is Affect in a session in which no run of this process is.
func (r *Runner) affectIdle(ctx context.Context, key session.Key, made *session.Session, effects []tool.Effect) error {
	// What this process does here itself takes turns, and is nobody else's work.
	r.affecting.Lock()
	defer r.affecting.Unlock()
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
		return fmt.Errorf("change the state of session %s: %w", key, err)
	}
	defer release()
	if _, err := r.opts.Change(ctx, key, made, effects...); err != nil {
		return fmt.Errorf("change the state of session %s: %w", key, err)
	}
	return nil
}

// news are the effects that the active run does not know yet. What it is not told
// is stored with whatever it stores next.
func (l *lane) news() []tool.Effect {
	l.state.Lock()
	defer l.state.Unlock()
	if l.meanwhile == nil {
		return nil
	}
	effects := l.meanwhile.effects
	l.meanwhile = nil
	return effects
}

// storing has store write the session's state, changed by what came meanwhile: it
// was asked for before that.
func (l *lane) storing(store func(meanwhile []tool.Effect) error) error {
	l.state.Lock()
	defer l.state.Unlock()
	var effects []tool.Effect
	if l.meanwhile != nil {
		effects = l.meanwhile.effects
	}
	err := store(effects)
	if err == nil {
		l.meanwhile = nil
	}
	return err
}

// keepState stores what came meanwhile before a run that did not begin. While the
// session isn't held that is left to the next run.
func (r *Runner) keepState(l *lane, run *Run) {
	l.state.Lock()
	defer l.state.Unlock()
	switch {
	case l.meanwhile == nil || l.release == nil:
		return
	case l.meanwhile.stored:
		l.meanwhile = nil
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(run.ctx), storeLimit)
	defer cancel()
	_, err := r.opts.Change(ctx, l.key, nil, l.meanwhile.effects...)
	switch {
	case err == nil:
		l.meanwhile = nil
	case !errors.Is(err, session.ErrNotFound): // else the next run may be the first
		run.logger().Error("what was switched in the session could not be stored", "err", err)
	}
}

// leaveState stores what came meanwhile in a lane that has ended without having
// got its session.
func (r *Runner) leaveState(l *lane, last *Run) {
	l.state.Lock()
	defer l.state.Unlock()
	if l.meanwhile == nil || l.release != nil {
		return
	}
	err := r.affectIdle(context.WithoutCancel(r.base), l.key, nil, l.meanwhile.effects)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		last.logger().Error("what was switched in the session could not be stored", "err", err)
	}
}
