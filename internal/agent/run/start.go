package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
)

// Start gives req its place and returns its run, whose events will show the
// answer or say which run gives it. When the session's run is going, the
// message is in the inbox when Start returns. The run doesn't end with
// anybody's context.
//
// A request with the id of a run that is known gets that run; the error is a
// [KnownError] when only its record is left. ErrNotYours says that the session
// belongs to somebody else, ErrFull that no more may wait in it, ErrCrowded that
// the person has too much under way, ErrClosed that nothing new is taken.
func (r *Runner) Start(req Request) (*Run, error) {
	p, err := r.resolve(req)
	if err != nil {
		return nil, err
	}
	if err := req.check(); err != nil {
		return nil, fmt.Errorf("start a run: %w", err)
	}
	if run, err := r.again(req); run != nil || err != nil {
		return run, err
	}
	guarded := r.opts.Owner != nil && req.Session != "" && !req.Caller.Privileged()
	if req.Session == "" {
		req.Session = session.NewID()
	}
	exists := false
	if guarded {
		if exists, err = r.owns(session.Key{Agent: p.ID, ID: req.Session}, req.Caller); err != nil {
			return nil, err
		}
	}
	run := newRun(r, p, req)
	run.guarded = guarded

	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		run.cancel(nil)
		return nil, ErrClosed
	}
	if first := r.runs[run.ID]; first != nil {
		r.mu.Unlock()
		run.cancel(nil)
		return first.whose(req.Caller)
	}
	if r.load(req.Caller.ID) >= r.opts.PerPerson {
		r.mu.Unlock()
		run.cancel(nil)
		return nil, ErrCrowded
	}
	l := r.lanes[run.key()]
	if l == nil {
		r.stampQueued(run)
		r.runs[run.ID] = run
		r.open(run.key(), run)
		r.mu.Unlock()
		r.received(run)
		return run, nil
	}
	if guarded && !exists && l.active.request.Caller.ID != req.Caller.ID {
		// The session is about to begin, with somebody else's message.
		r.mu.Unlock()
		run.cancel(nil)
		return nil, ErrNotYours
	}
	if len(l.joining)+len(l.waiting) >= r.opts.Waiting {
		r.mu.Unlock()
		run.cancel(nil)
		return nil, ErrFull
	}
	going := l.active
	busy := l.place(run, r.busy(req))
	r.mu.Unlock()
	waits, err := r.store(run, going, busy)
	if err == nil {
		r.received(run)
	}
	return waits, err
}

// load is how many runs of a person are going or wait. The caller holds r.mu.
func (r *Runner) load(person string) int {
	n := 0
	for _, l := range r.lanes {
		n += l.load(person)
	}
	return n
}

// check reports what is wrong with req.
func (req *Request) check() error {
	switch {
	case len(req.Message.Parts) == 0:
		return errors.New("the message is empty")
	case !req.Caller.Role.Valid() || req.Origin == "":
		return fmt.Errorf("no caller or origin (%q, %q)", req.Caller.Role, req.Origin)
	case req.ID != "" && !isID(req.ID):
		return fmt.Errorf("%q is not the id of a run", req.ID)
	}
	switch req.WhileBusy {
	case "", Queue, Steer, Interrupt:
		return nil
	}
	return fmt.Errorf("a message can't %q while the session is busy: it can %s, %s or %s", req.WhileBusy, Queue, Steer, Interrupt)
}

// busy is what req does when its session's run is going.
func (r *Runner) busy(req Request) Busy {
	switch {
	case len(req.Brought.Tools) > 0:
		return Queue // the run that is going has not got them
	case slices.ContainsFunc(req.Message.Parts, func(p llm.Part) bool { return p.Kind == llm.KindResult }):
		return Queue // what it answers is no call of the run that is going
	case req.WhileBusy != "":
		return req.WhileBusy
	}
	return r.opts.WhileBusy
}

// again returns the run that has the id of req already, nil when none has. It
// fails when nothing new is taken any more.
func (r *Runner) again(req Request) (*Run, error) {
	r.mu.Lock()
	run, closed := r.runs[req.ID], r.closed
	r.mu.Unlock()
	switch {
	case run != nil:
		return run.whose(req.Caller)
	case closed:
		return nil, ErrClosed
	case req.ID == "":
		return nil, nil
	}
	return nil, r.recorded(req)
}

// whose returns the run to its caller, and nothing to anybody else. One that
// is about to be stored is waited for.
func (run *Run) whose(caller auth.Principal) (*Run, error) {
	if run.request.Caller.ID != caller.ID {
		return nil, ErrNotYours
	}
	if err := run.placed(); err != nil {
		return nil, err
	}
	return run, nil
}

// recorded fails when the message of req is in the history or the inbox.
func (r *Runner) recorded(req Request) error {
	if r.opts.Inbox == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.base, storeLimit)
	defer cancel()
	at, ok, err := r.opts.Inbox.Find(ctx, req.ID)
	switch {
	case err != nil:
		return fmt.Errorf("start a run: look for %s: %w", req.ID, err)
	case !ok:
		return nil
	case at.Caller != req.Caller.ID:
		return ErrNotYours
	}
	return &KnownError{Run: at.Run, Session: at.Session, Waiting: at.Waiting}
}

// owns reports whether the session exists, and fails with ErrNotYours when
// somebody else began it.
func (r *Runner) owns(key session.Key, caller auth.Principal) (exists bool, err error) {
	ctx, cancel := context.WithTimeout(r.base, storeLimit)
	defer cancel()
	id, known, err := r.opts.Owner(ctx, key)
	switch {
	case err != nil:
		return false, fmt.Errorf("find out whose session %s is: %w", key, err)
	case known && id != caller.ID:
		return true, ErrNotYours
	}
	return known, nil
}

// stampQueued notes when a run was accepted. No two have the same time, so
// that their order is kept with them. The caller holds r.mu.
func (r *Runner) stampQueued(run *Run) {
	now := r.opts.Now().Round(0) // what is stored has no monotonic clock
	if !now.After(r.queued) {
		now = r.queued.Add(1)
	}
	r.queued, run.queued = now, now
}
