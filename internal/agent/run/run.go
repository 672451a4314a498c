// Package run starts, queues, steers and stops runs. It alone drives the loop
// and it alone mints scopes, from a request whose caller the front end has
// established.
//
// Life: a [Runner] is made once per process. Start returns as soon as the run
// has its place; one goroutine per busy session then drives that session's
// runs one after the other, so that runs of one session never overlap. A run
// goes on when its viewers leave. A finished run's events stay readable for a
// while; a slow viewer never blocks the loop, it gets chunks of text merged
// instead.
//
// No message is lost or answered twice: one that has to wait is in the [Inbox]
// before Start returns, and leaves it in the transaction that makes it part of
// the history. A gateway that starts puts what a dead process left back into
// its order ([Runner.Recover]); one that stops finishes what is going and
// leaves the rest ([Runner.Drain]). [Runner.Close] stops everything, as a
// command does at its end. All of them wait for the goroutines.
//
// Start reading at [Runner.Start], then drive in lane.go.
package run

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/agent/session"
)

// Run is one execution of the loop, or a message that waits for its own.
type Run struct {
	ID      string
	Agent   string
	Session string

	runner  *Runner
	profile Profile
	request Request
	ctx     context.Context
	cancel  context.CancelCauseFunc
	log     *eventLog

	queued    time.Time     // when it was accepted: the order of those that wait
	guarded   bool          // its caller must be who began the session
	recovered bool          // it comes from the inbox of another process
	broken    string        // why it can't be run, for the person; empty when it can
	history   *record       // once the loop was begun
	guard     *budget.Guard // nil when the run has no limits
	urgent    bool          // it goes before what waits in turn; guarded by Runner.mu

	mu        sync.Mutex
	row       *row // its place in the inbox; nil when it has none
	parked    bool // it is left in the inbox
	overtaken bool // another message interrupts it
	began     time.Time
	ended     time.Time
	last      agent.Event   // RunFinished or RunFailed; zero before, and of a run that is parked
	kept      chan struct{} // made when somebody asks for it
	safe      bool          // kept is closed, or would be if it existed
}

func newRun(r *Runner, p Profile, req Request) *Run {
	ctx, cancel := context.WithCancelCause(r.base)
	run := &Run{
		ID: req.ID, Agent: p.ID, Session: req.Session,
		runner: r, profile: p, request: req, ctx: ctx, cancel: cancel,
	}
	if run.ID == "" {
		run.ID = session.NewID()
	}
	run.log = newEventLog(run.stamp)
	run.log.observe = r.opts.Observe
	return run
}

func (run *Run) stamp(e agent.Event) agent.Event {
	e.Run, e.Session, e.Agent = run.ID, run.Session, run.Agent
	if e.Time.IsZero() {
		e.Time = run.runner.opts.Now()
	}
	return e
}

// State says how far a run is.
type State string

const (
	Queued  State = "queued"
	Running State = "running"
	Ended   State = "ended"
)

// Times are when a run got so far; zero where it did not yet.
type Times struct {
	Queued time.Time // it was accepted
	Began  time.Time // its message was stored as a turn
	Ended  time.Time // its last event
}

// Request is what the run was asked for, with the session that it got.
func (run *Run) Request() Request { return run.request }

// State says how far the run is.
func (run *Run) State() State {
	select {
	case <-run.log.done:
		return Ended
	default:
	}
	r := run.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.lanes[run.key()]; l != nil && (slices.Contains(l.waiting, run) || slices.Contains(l.joining, run)) {
		return Queued
	}
	return Running
}

// Times says when the run got how far.
func (run *Run) Times() Times {
	run.mu.Lock()
	defer run.mu.Unlock()
	return Times{Queued: run.queued, Began: run.began, Ended: run.ended}
}

// End is how the run ended, with the answer, or what went wrong when its status
// is failed. It is not ok before the end, and for a run that is parked.
func (run *Run) End() (end agent.RunEnd, text string, ok bool) {
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.last.End == nil {
		return agent.RunEnd{}, "", false
	}
	return *run.last.End, run.last.Text, true
}

// Done is closed when the run has ended and its last event is in the log.
func (run *Run) Done() <-chan struct{} { return run.log.done }

// Kept is closed when the message survives the death of the process, because
// the inbox or the history holds it, and when the run ended without that.
func (run *Run) Kept() <-chan struct{} {
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.kept == nil {
		run.kept = make(chan struct{})
		if run.safe {
			close(run.kept)
		}
	}
	return run.kept
}

// keep tells those who wait for Kept. The caller holds run.mu.
func (run *Run) keep() {
	if !run.safe && run.kept != nil {
		close(run.kept)
	}
	run.safe = true
}

// begun notes that the message is a turn of the history now.
func (run *Run) begun(at time.Time) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.began = at
	run.keep()
	if run.overtaken {
		run.cancel(errStopped)
	}
}

// overtake stops the run for another message. What was said to it stays in the
// history in any case, so a run that has not begun is stopped when it has.
func (run *Run) overtake() {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.overtaken = true
	if !run.began.IsZero() {
		run.cancel(errStopped)
	}
}

// listens reports whether the run may take in what is said to it meanwhile.
func (run *Run) listens() bool {
	run.mu.Lock()
	defer run.mu.Unlock()
	return !run.overtaken && run.ctx.Err() == nil
}

// hasBegun reports whether the message is a turn of the history.
func (run *Run) hasBegun() bool {
	run.mu.Lock()
	defer run.mu.Unlock()
	return !run.began.IsZero()
}

// tell appends an event to the log.
func (run *Run) tell(e agent.Event) {
	if e.End != nil {
		run.mu.Lock()
		run.last = e
		run.mu.Unlock()
	}
	run.log.append(e)
}

// end closes the log and forgets what only a run needs that is still to end.
func (run *Run) end() {
	run.cancel(nil)
	run.mu.Lock()
	run.ended = run.runner.opts.Now()
	run.keep()
	run.mu.Unlock()
	run.log.close()
}

// endUnbegun writes the log of a run that was stopped before it began.
func (run *Run) endUnbegun() {
	run.tell(agent.Event{Type: agent.RunStarted})
	run.tell(agent.Event{Type: agent.RunFinished, End: &agent.RunEnd{Status: agent.Stopped}})
}

// fail writes the end of a run that could not be run.
func (run *Run) fail(err error) {
	run.tell(agent.Event{Type: agent.RunFailed, Text: err.Error(), End: &agent.RunEnd{Status: agent.Failed, Err: err}})
}

// notice tells something beside the run's own course.
func (run *Run) notice(kind, text, ref string) {
	run.tell(agent.Event{Type: agent.Notice, Kind: kind, Text: text, Ref: ref})
}

func (run *Run) key() session.Key { return session.Key{Agent: run.Agent, ID: run.Session} }

func (run *Run) logger() *slog.Logger {
	return slog.With("run", run.ID, "agent", run.Agent, "session", run.Session)
}

// size is about how many bytes the run holds once it has ended.
func (run *Run) size() int {
	n := run.log.size() + messageBytes(run.request.Message) + len(run.request.System)
	for _, m := range run.request.Seed {
		n += messageBytes(m)
	}
	for _, t := range run.request.Brought.Tools {
		n += fixedBytes + len(t.Description) + len(t.Parameters)
	}
	return n
}
