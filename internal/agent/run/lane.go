package run

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
)

// lane is a busy session: the run that is going and those that wait. It is
// guarded by Runner.mu and exists only while a run is going.
type lane struct {
	key     session.Key
	active  *Run
	waiting []*Run
}

// Run is one execution of the loop.
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

	mu    sync.Mutex
	ended bool      // no message is taken in any more
	inbox []Request // what joins between two model calls
}

func newRun(r *Runner, p Profile, req Request) *Run {
	ctx, cancel := context.WithCancelCause(r.base)
	run := &Run{
		ID: session.NewID(), Agent: p.ID, Session: req.Session,
		runner: r, profile: p, request: req, ctx: ctx, cancel: cancel,
	}
	run.log = newEventLog(run.stamp)
	return run
}

func (run *Run) stamp(e *agent.Event) {
	e.Run, e.Session, e.Agent = run.ID, run.Session, run.Agent
	if e.Time.IsZero() {
		e.Time = run.runner.opts.Now()
	}
}

// Stop ends the run; its history stays valid and its events end within a
// second. A run that still waits for its turn ends at once and leaves no trace
// in the session. Stopping a run that ended already does nothing.
func (run *Run) Stop() {
	run.cancel(errStopped)
	if run.runner.withdraw(run) {
		run.endUnbegun()
		run.log.close()
	}
}

// endUnbegun writes the log of a run that was stopped before it began.
func (run *Run) endUnbegun() {
	run.log.append(agent.Event{Type: agent.RunStarted})
	run.log.append(agent.Event{Type: agent.RunFinished, End: &agent.RunEnd{Status: agent.Stopped}})
}

// withdraw takes a run out of the lane in which it waits and reports whether
// it was there.
func (r *Runner) withdraw(run *Run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lanes[session.Key{Agent: run.Agent, ID: run.Session}]
	if l == nil {
		return false
	}
	i := slices.Index(l.waiting, run)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	r.retire(run)
	return true
}

// Done is closed when the run has ended and its last event is in the log.
func (run *Run) Done() <-chan struct{} { return run.log.done }

// steer hands a message to the going run and reports whether it was in time.
func (run *Run) steer(req Request) bool {
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.ended || run.ctx.Err() != nil || !req.joins(run.request) {
		return false
	}
	run.inbox = append(run.inbox, req)
	return true
}

// joins reports whether a message may be handled by the run of going: words
// must not act under an authority that is not theirs, another person's or one
// that is wider than they were given, nor be answered elsewhere or by another
// model than was asked for.
func (req Request) joins(going Request) bool {
	return req.Caller == going.Caller && req.Origin == going.Origin && req.Delivery == going.Delivery &&
		req.Model == going.Model && req.Cap.Equal(going.Cap) && req.Declared.Equal(going.Declared)
}

// steered takes what came in since it was last asked.
func (run *Run) steered() []llm.Message {
	run.mu.Lock()
	defer run.mu.Unlock()
	var out []llm.Message
	for _, req := range run.inbox {
		out = append(out, req.Message)
	}
	run.inbox = nil
	return out
}

// leftover ends the run's ear and returns what it didn't get to hear.
func (run *Run) leftover() []Request {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.ended = true
	left := run.inbox
	run.inbox = nil
	return left
}

// drive runs a lane until nothing waits in it.
func (r *Runner) drive(l *lane, run *Run) {
	defer r.wg.Done()
	for run != nil {
		r.execute(run)
		run = r.next(l, run)
	}
}

// next takes the lane's next run, or ends the lane.
func (r *Runner) next(l *lane, ended *Run) *Run {
	left := ended.leftover()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retire(ended)
	for i := len(left) - 1; i >= 0; i-- {
		// What came too late to steer is handled next, before what waits.
		run := newRun(r, ended.profile, left[i])
		r.runs[run.ID] = run
		l.waiting = append([]*Run{run}, l.waiting...)
	}
	if len(l.waiting) == 0 {
		delete(r.lanes, l.key)
		return nil
	}
	l.active = l.waiting[0]
	l.waiting = l.waiting[1:]
	return l.active
}

// retire keeps an ended run readable and forgets the oldest ones.
func (r *Runner) retire(run *Run) {
	r.finished = append(r.finished, run.ID)
	for len(r.finished) > r.opts.Keep {
		delete(r.runs, r.finished[0])
		r.finished = r.finished[1:]
	}
}

// execute drives the loop for one run and writes its log.
func (r *Runner) execute(run *Run) {
	defer run.cancel(nil)
	defer run.log.close()
	defer func() {
		// A fault in the loop's own code must not take the other sessions
		// along. The range below is the only consumer, so that this recovers
		// nobody else's panic.
		if v := recover(); v != nil {
			slog.Error("run panicked", "run", run.ID, "panic", v, "stack", string(debug.Stack()))
			run.log.append(failed(fmt.Sprintf("internal error: %v. The log has the details; the session can go on.", v)))
		}
	}()
	if run.ctx.Err() != nil {
		run.endUnbegun()
		return
	}
	release, err := r.opts.Hold(run.ctx, session.Key{Agent: run.Agent, ID: run.Session}, func() {
		run.log.append(waiting("waiting for another process that is at work in this session"))
	})
	switch {
	case err != nil && run.ctx.Err() != nil:
		run.endUnbegun()
		return
	case err != nil:
		run.log.append(agent.Event{Type: agent.RunStarted})
		run.log.append(failed(err.Error()))
		return
	}
	defer release()

	loop := *run.profile.Loop
	loop.Watch = func(agent.Turn) agent.Watch { return agent.NewBrake(run.profile.Limits, run.steered) }
	turn := agent.Turn{
		Scope: scope(run.profile, run.request, run.ID), Message: run.request.Message,
		Model: run.request.Model, Started: r.opts.Now(),
	}
	if turn.Model == "" {
		turn.Model = run.profile.Model
	}
	for e := range loop.ProcessStream(run.ctx, turn) {
		run.log.append(e)
	}
}

// waiting tells that a run can't begin yet.
func waiting(why string) agent.Event {
	return agent.Event{Type: agent.Notice, Kind: "queued", Text: why}
}

func failed(text string) agent.Event {
	return agent.Event{Type: agent.RunFailed, Text: text, End: &agent.RunEnd{Status: agent.Failed}}
}
