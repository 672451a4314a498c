package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/tool"
)

// meanwhile is what changed in a session beside the run that is going in it: a
// person switched something, or a call by hand did.
type meanwhile struct {
	effects []tool.Effect
	made    *session.Session // as which the session begins if no run begins it; nil when it then has none of this
	stored  bool             // the session has them; only the run is yet to know
}

// join returns m and the effects that come after it, without those that they make
// void, so that they don't pile up.
func (m *meanwhile) join(made *session.Session, effects []tool.Effect) *meanwhile {
	var before []tool.Effect
	if m != nil {
		before = m.effects
		if m.made != nil {
			made = m.made
		}
	}
	return &meanwhile{effects: tool.Coalesce(slices.Concat(before, effects)), made: made}
}

// affecting is a session without a run whose state is being changed. Whoever
// begins a run in it, or changes it as well, waits for that.
type affecting struct {
	done chan struct{} // closed at the end
	held chan struct{} // closed when it has to wait for another process
}

// wait waits until the session is changed. The error is [session.ErrHeld] when that
// has to wait for another process, and else why ctx ended.
func (a *affecting) wait(ctx context.Context) error {
	select {
	case <-a.done:
		return nil
	default:
	}
	select {
	case <-a.done:
		return nil
	case <-a.held:
		return session.ErrHeld
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
// held up. Where there is no such session it begins as made, without a turn, or
// with the message that is about to begin it. The error is [session.ErrNotFound]
// when there is none and made is nil, [session.ErrHeld] when another process works
// in it, and [ErrNotYours] when somebody else's message is about to begin it.
func (r *Runner) Affect(ctx context.Context, key session.Key, made *session.Session, effects ...tool.Effect) error {
	for {
		l, own, other := r.affected(key)
		done, err := true, error(nil)
		switch {
		case other != nil:
			if err = other.wait(ctx); err == nil {
				continue
			}
			return fmt.Errorf("change the state of session %s: %w", key, err)
		case own != nil:
			err = r.affectIdle(ctx, key, &meanwhile{effects: effects, made: made}, nil)
			r.affectedNow(key, own)
		default:
			done, err = r.affectBusy(ctx, l, made, effects)
		}
		if done && err == nil {
			r.watchers.tell(key)
		}
		if done {
			return err
		}
	}
}

// Free waits until no other process works in a session, so that what is done to
// its state now can most likely be kept. Runs of this process don't count, and those
// that begin meanwhile are not told of another process for it. When ctx ends first
// the error is its cause, and it is [session.ErrHeld] when a run of this process
// waits for the other one.
func (r *Runner) Free(ctx context.Context, key session.Key) error {
	for {
		l, own, other := r.affected(key)
		switch {
		case other != nil:
			if err := other.wait(ctx); err != nil {
				return err
			}
			continue
		case own != nil:
			defer r.affectedNow(key, own)
			release, err := r.opts.Hold(ctx, key, func() { close(own.held) })
			if err == nil {
				release()
			}
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if l.release == nil && l.contended {
			return session.ErrHeld
		}
		return nil
	}
}

// Switched is what became of plan mode in a session beside the run of that id, and
// that this run does not know yet. Of what isn't the run that is going there only
// the stored session can tell more: known is false then.
func (r *Runner) Switched(key session.Key, run string) (on, known bool) {
	r.mu.Lock()
	l := r.lanes[key]
	known = l != nil && l.active.ID == run
	r.mu.Unlock()
	if l == nil {
		return false, false
	}
	l.state.Lock()
	defer l.state.Unlock()
	if l.meanwhile == nil {
		return false, known
	}
	for _, e := range l.meanwhile.effects {
		if e.Kind == tool.PlanMode {
			on, known = tool.State{}.Apply(e).Plan, true
		}
	}
	return on, known
}

// affected finds who has to do with the state of a session: the lane that is busy
// in it, or who changes it at the moment. Where nobody is, own is the caller's
// right to change it until [Runner.affectedNow].
func (r *Runner) affected(key session.Key) (l *lane, own, other *affecting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l, other = r.lanes[key], r.affects[key]; l == nil && other == nil {
		own = r.affect(key)
	}
	return l, own, other
}

// affect notes that a session is about to be changed. The caller holds r.mu.
func (r *Runner) affect(key session.Key) *affecting {
	a := &affecting{done: make(chan struct{}), held: make(chan struct{})}
	r.affects[key] = a
	return a
}

func (r *Runner) affectedNow(key session.Key, own *affecting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.affects, key)
	close(own.done)
}

// affectBusy is Affect in a session that is busy. It is not done when the session
// is so no more.
func (r *Runner) affectBusy(ctx context.Context, l *lane, made *session.Session, effects []tool.Effect) (done bool, err error) {
	l.state.Lock()
	defer l.state.Unlock()
	r.mu.Lock()
	gone, waits, away, active := r.lanes[l.key] != l, l.release == nil, l.release == nil && l.contended, l.active
	r.mu.Unlock()
	switch {
	case gone:
		return false, nil
	case away:
		return true, fmt.Errorf("change the state of session %s: %w", l.key, session.ErrHeld)
	}
	next := l.meanwhile.join(made, effects)
	if !waits {
		_, err = r.opts.Change(ctx, l.key, r.opts.Now(), nil, next.effects...)
	}
	switch {
	case !waits && err == nil:
		next.stored = true
	case !waits && !errors.Is(err, session.ErrNotFound):
		return true, fmt.Errorf("change the state of session %s: %w", l.key, err)
	case made != nil && made.Caller.ID != active.request.Caller.ID && !made.Caller.Privileged():
		// It waits, or is about to begin with what somebody else says.
		if exists, err := r.exists(ctx, l.key); err != nil || !exists {
			return true, errors.Join(err, ErrNotYours)
		}
	}
	l.meanwhile = next // the run begins with what isn't stored
	return true, nil
}

// exists reports whether there is a session, as far as can be known.
func (r *Runner) exists(ctx context.Context, key session.Key) (bool, error) {
	if r.opts.Owner == nil {
		return true, nil
	}
	_, known, err := r.opts.Owner(ctx, key)
	return known, err
}

// affectIdle stores m in a session in which no run of this process is. When another
// process holds it, busy is called and ends the wait with stop when it likes; nil
// ends it at once with [session.ErrHeld]. Nothing else takes longer than storeLimit.
func (r *Runner) affectIdle(ctx context.Context, key session.Key, m *meanwhile, busy func(stop context.CancelCauseFunc)) error {
	hold, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	limit := time.AfterFunc(storeLimit, func() { stop(context.DeadlineExceeded) })
	defer limit.Stop()
	if busy == nil {
		busy = func(stop context.CancelCauseFunc) { stop(session.ErrHeld) }
	}
	release, err := r.opts.Hold(hold, key, func() {
		limit.Stop()
		busy(stop)
	})
	if err != nil {
		if ctx.Err() == nil && hold.Err() != nil {
			err = context.Cause(hold)
		}
		return fmt.Errorf("change the state of session %s: %w", key, err)
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, storeLimit)
	defer cancel()
	if _, err := r.opts.Change(ctx, key, r.opts.Now(), m.made, m.effects...); err != nil {
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

// keepState stores what came meanwhile before a run that did not begin, in a
// session that there is already and that is held: else the next run may be its
// first.
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
	_, err := r.opts.Change(ctx, l.key, r.opts.Now(), nil, l.meanwhile.effects...)
	switch {
	case err == nil:
		l.meanwhile = nil
	case !errors.Is(err, session.ErrNotFound):
		run.logger().Warn("what was switched in the session could not be stored yet", "err", err)
	}
}

// leaves is what a lane that ends leaves to be stored, nil for nothing, with the
// right to do that before anybody else begins something in the session. The caller
// holds l.state and r.mu.
func (r *Runner) leaves(l *lane) *affecting {
	if l.meanwhile == nil || l.meanwhile.stored {
		return nil
	}
	return r.affect(l.key)
}

// leaveState stores what came meanwhile in a lane that has ended and whose runs
// did not begin. It waits for another process that works there as long as this one
// lives: what is lost then, or since the database takes nothing, is told to the log.
func (r *Runner) leaveState(l *lane, last *Run) {
	if l.left == nil {
		return
	}
	defer r.affectedNow(l.key, l.left)
	err := r.affectIdle(context.WithoutCancel(r.base), l.key, l.meanwhile, func(stop context.CancelCauseFunc) {
		close(l.left.held)
		context.AfterFunc(r.base, func() { stop(context.Cause(r.base)) })
	})
	switch {
	case err == nil:
		r.watchers.tell(l.key)
	case !errors.Is(err, session.ErrNotFound) || l.meanwhile.made != nil: // else there is nothing that could have been switched
		last.logger().Error("what was switched in the session is lost, since it could not be stored", "err", err)
	}
}
