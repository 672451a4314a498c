package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
)

// Stop ends the run; its history stays valid and its events end within a
// second. A run that still waits for its turn ends at once and leaves no trace
// in the session. One whose message was taken in by another run, or that ended
// already, stays as it is.
func (run *Run) Stop() {
	r := run.runner
	run.cancel(errStopped)
	r.mu.Lock()
	l := r.lanes[run.key()]
	waited := l != nil && l.remove(run)
	r.mu.Unlock()
	if waited {
		r.withdraw(run)
	}
}

// withdraw ends a run that was taken out of its lane.
func (r *Runner) withdraw(run *Run) {
	run.cancel(errStopped)
	r.drop(run)
	run.endUnbegun()
	r.finish(run)
	r.watchers.tell(run.key())
}

// StopSession stops the going run of a session and returns whether there was one.
// Messages that wait stay in the queue.
func (r *Runner) StopSession(key session.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lanes[key]
	if l == nil {
		return false
	}
	l.active.cancel(errStopped)
	return true
}

// StopAll stops the going run of a session and withdraws the messages that
// wait. It returns how many of each there were; stopped is 0 or 1.
func (r *Runner) StopAll(key session.Key) (stopped, withdrawn int) {
	r.mu.Lock()
	l := r.lanes[key]
	if l == nil {
		r.mu.Unlock()
		return 0, 0
	}
	waiting := l.all()
	l.joining, l.waiting = nil, nil
	l.active.cancel(errStopped)
	r.mu.Unlock()
	for _, run := range waiting {
		r.withdraw(run)
	}
	return 1, len(waiting)
}

// Close takes no more runs, stops those that are going, withdraws those that
// wait, and waits for all of them, at most until ctx ends.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(ErrClosed)
	select {
	case <-r.idle():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close the runner: %w", ctx.Err())
	}
}

// stopWithin is how long Drain waits for runs that it has stopped.
const stopWithin = 10 * time.Second

// Drain takes no more runs and lets those that are going end by themselves, at
// most until ctx ends; then it stops them, and their turns end as interrupted.
// Messages that wait stay in the inbox for the next start, of which their
// viewers are told at once. The error says that runs didn't stop when they were
// told to.
func (r *Runner) Drain(ctx context.Context) error {
	var waiting, held []*Run
	r.mu.Lock()
	r.closed, r.draining = true, true
	for _, l := range r.lanes {
		waiting = append(waiting, l.waiting...)
		l.waiting = nil
		if l.release == nil && l.contended {
			held = append(held, l.active)
		}
		r.watchers.tell(l.key)
	}
	r.mu.Unlock()
	for _, run := range waiting {
		r.leave(run)
		r.finish(run)
		r.watchers.tell(run.key())
	}
	for _, run := range held {
		run.cancel(agent.ErrInterrupted)
	}
	idle := r.idle()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	r.stop(agent.ErrInterrupted)
	late := time.NewTimer(stopWithin)
	defer late.Stop()
	select {
	case <-idle:
		return nil
	case <-late.C:
		return errors.New("drain the runner: runs didn't stop when they were told to")
	}
}

func (r *Runner) isDraining() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining
}

// idle is closed when no run is going any more.
func (r *Runner) idle() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(done)
	}()
	return done
}
