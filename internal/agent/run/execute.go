package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// execute runs the active run of a lane and writes its log.
func (r *Runner) execute(l *lane, run *Run) {
	if run.placed() != nil {
		return // it could not be stored, which Start says
	}
	defer r.finish(run)
	defer run.closeGuard()
	defer r.rescue(run)
	if run.ctx.Err() != nil || r.isDraining() {
		r.leave(run)
		return
	}
	if err := r.hold(l, run); err != nil {
		r.refuse(run, err)
		return
	}
	if run.guarded {
		if _, err := r.owns(l.key, run.request.Caller); err != nil {
			r.refuse(run, err)
			return
		}
	}
	if (run.recovered || l.contended) && !r.stillWaits(run) {
		return
	}
	if err := r.vouch(run); err != nil {
		r.refuse(run, err)
		return
	}
	if run.broken != "" {
		r.tellBroken(run)
		return
	}
	if run.ctx.Err() != nil { // while it waited for all that
		r.leave(run)
		return
	}
	r.loop(l, run)
}

// finish ends a run's log and keeps it for those who come late.
func (r *Runner) finish(run *Run) {
	if _, _, ok := run.End(); ok && r.opts.Ended != nil {
		r.opts.Ended(run)
	}
	r.sent(run)
	run.end()
	r.retire(run)
}

// hold takes the session for the lane, if it has not got it yet.
func (r *Runner) hold(l *lane, run *Run) error {
	if l.release != nil {
		return nil
	}
	heldBack := sync.OnceFunc(func() { r.heldBack(l, run) })
	if err := r.affectedBefore(l, run, heldBack); err != nil {
		return err
	}
	release, err := r.opts.Hold(run.ctx, l.key, heldBack)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l.release = release
	return nil
}

// affectedBefore waits for what this process itself changes in the session and
// began before the lane: that is no work of another process.
func (r *Runner) affectedBefore(l *lane, run *Run, heldBack func()) error {
	r.mu.Lock()
	a := r.affects[l.key]
	r.mu.Unlock()
	if a == nil {
		return nil
	}
	held := a.held
	for {
		select {
		case <-a.done:
			return nil
		case <-held:
			heldBack()
			held = nil
		case <-run.ctx.Done():
			return context.Cause(run.ctx)
		}
	}
}

// refuse ends a run that could not begin.
func (r *Runner) refuse(run *Run, err error) {
	if run.ctx.Err() != nil {
		r.leave(run)
		return
	}
	run.tell(agent.Event{Type: agent.RunStarted})
	run.fail(err)
	if errors.Is(err, ErrNotYours) {
		r.drop(run)
	} else {
		r.giveUp(run)
	}
}

// giveUp ends the waiting of a message whose run failed before it began. Its
// person was told; of one that waited through a start of the gateway nobody
// may watch the run, so it has its next chance at the next start.
func (r *Runner) giveUp(run *Run) {
	if run.recovered && !run.stopped() {
		_, words, _ := run.End()
		run.logger().Error("a message that waited was not run and waits for the next start", "err", words)
		return
	}
	r.drop(run)
}

// leave ends a run that was stopped before it began: a gateway that stops
// leaves it to its next start.
func (r *Runner) leave(run *Run) {
	if (r.isDraining() || run.interrupted()) && !run.stopped() && r.park(run) {
		return
	}
	r.drop(run)
	run.endUnbegun()
}

// interrupted reports whether the gateway ended the run.
func (run *Run) interrupted() bool {
	return errors.Is(context.Cause(run.ctx), agent.ErrInterrupted)
}

// stopped reports whether the run was ended for good: by a person, or because its
// own may not be acted for.
func (run *Run) stopped() bool {
	cause := context.Cause(run.ctx)
	var disowned *tool.Disowned
	return errors.Is(cause, errStopped) || errors.As(cause, &disowned)
}

// loop drives the loop for one run.
func (r *Runner) loop(l *lane, run *Run) {
	loop := *run.profile.Loop
	brake := agent.NewBrake(run.profile.Limits, func() ([]llm.Message, []string) { return r.takeIn(l) })
	var watch agent.Watch = brake
	if r.opts.Budget != nil {
		if run.guard = r.opts.Budget.Guard(run.Agent, run.Session, run.ID, watch); run.guard != nil {
			watch = run.guard
		}
	}
	run.history = &record{History: loop.History, lane: l, run: run, brake: brake}
	loop.Watch = func(agent.Turn) agent.Watch { return &tally{watch, run.history} }
	loop.History = run.history
	if len(run.request.Bound) > 0 {
		revoke, err := run.profile.Lend(run.ID, run.request.Bound...)
		if err != nil {
			r.refuse(run, err)
			return
		}
		defer revoke()
	}
	loop.Prompts = &requests{loop.Prompts, r.opts.Hooks}
	turn, failures, err := r.Consult(run.ctx, run.turn(), false)
	if err != nil {
		failures = nil // the run was stopped, which the loop sees
	}
	skipped, err := r.bring(run, turn)
	if err != nil {
		r.refuse(run, err)
		return
	}
	defer skipped.revoke()
	for e := range loop.ProcessStream(run.ctx, turn) {
		if e.End != nil && run.interrupted() {
			if !run.hasBegun() && r.park(run) {
				return
			}
			if e.End.Status == agent.Interrupted {
				run.notice("stopping", `the gateway stops: what was done until now is kept; say "go on" after its next start`, "")
			}
		}
		run.tell(e)
		for _, f := range failures {
			run.notice("hook", f, "")
		}
		for _, n := range skipped.notes {
			run.notice("tools", fmt.Sprintf("the client's tool %s is left out: %s", n.Tool, n.Reason), "")
		}
		failures, skipped.notes = nil, nil
	}
	if !run.hasBegun() {
		r.giveUp(run)
	}
}

// loan is what a client's tools are brought under.
type loan struct {
	notes  []tool.Note // of those that were left out
	revoke func()
}

// bring brings the client's tools, if there are any.
func (r *Runner) bring(run *Run, t agent.Turn) (*loan, error) {
	if len(run.request.Brought.Tools) == 0 {
		return &loan{revoke: func() {}}, nil
	}
	notes, revoke, err := run.profile.Bring(run.ctx, t, run.request.Brought)
	return &loan{notes, revoke}, err
}

// rescue ends a run whose code broke. A fault in the loop's own code must not
// take the other sessions along. The runner is the only one who ranges over the
// loop, so that this recovers nobody else's panic.
func (r *Runner) rescue(run *Run) {
	v := recover()
	if v == nil {
		return
	}
	run.logger().Error("run panicked", "panic", v, "stack", string(debug.Stack()))
	words := fmt.Sprintf("internal error: %v. The log has the details; the session can go on.", v)
	if run.profile.Loop != nil {
		run.endBroken(words)
	}
	if !run.hasBegun() {
		r.drop(run) // it would break the next process, too
	}
	run.fail(errors.New(words))
}

// turn is what the loop is to work on.
func (run *Run) turn() agent.Turn {
	t := agent.Turn{
		Scope: run.runner.scope(run.profile, run.request, run.ID), Message: run.request.Message,
		Model: run.request.Model, Started: run.runner.opts.Now(), System: run.request.System, Seed: run.request.Seed, Fresh: run.request.Fresh,
		Choice: run.request.Choice, Asked: run.request.Asked,
	}
	if run.request.Plan {
		t.Effects = []tool.Effect{agent.PlanMode(true)}
	}
	if t.Model == "" {
		t.Model = run.profile.Model
	}
	return t
}

// closeGuard gives back what the run has set aside, when all that it used is
// entered.
func (run *Run) closeGuard() {
	if run.guard != nil {
		run.guard.Close()
	}
}

// endBroken stores that the loop's own code broke, so that the session is not
// left running, and what was spent until then. The code that broke may be that
// of the history.
func (run *Run) endBroken(words string) {
	defer func() {
		if v := recover(); v != nil {
			run.logger().Error("the end of a run that panicked was not stored", "panic", v)
		}
	}()
	end := agent.End{Status: agent.Failed, Error: words, Time: run.runner.opts.Now()}
	if run.history != nil {
		end.Spent = run.history.unstored
	}
	if err := run.profile.Loop.History.End(context.WithoutCancel(run.ctx), run.turn(), end); err != nil {
		run.logger().Error("the end of a run that panicked was not stored", "err", err)
	} else if run.history != nil {
		run.history.spent(end.Spent)
	}
}

// record is the history of one run, which notices what has been stored, and
// tells the log of what could not be: the person who is told of it is not
// always who can mend it.
type record struct {
	agent.History
	lane     *lane
	run      *Run
	brake    *agent.Brake
	unstored []agent.Spent // model calls that no round or end was stored with
	plan     bool          // plan mode was on when the state was last stored
}

// tally tells the record what the loop spends.
type tally struct {
	agent.Watch
	record *record
}

// Before hands over what changed in the session meanwhile.
func (t *tally) Before(ctx context.Context, n int, last *agent.Round) agent.Directive {
	d := t.Watch.Before(ctx, n, last)
	d.Effects = append(d.Effects, t.record.lane.news()...)
	return d
}

func (t *tally) Spent(s *agent.Spent) {
	if s != nil {
		t.record.unstored = append(t.record.unstored, *s)
	}
	t.Watch.Spent(s)
}

func (h *record) Begin(ctx context.Context, t agent.Turn) (thread agent.Thread, err error) {
	if receive := h.run.profile.Receive; receive != nil {
		if t, err = receive(ctx, t); err != nil {
			return thread, h.noted(fmt.Errorf("begin a turn: %w", err))
		}
	}
	err = h.lane.storing(func(meanwhile []tool.Effect) (err error) {
		t.Effects = append(slices.Clip(t.Effects), meanwhile...)
		thread, err = h.History.Begin(ctx, t)
		return err
	})
	if err == nil {
		h.plan = thread.State.Plan
		h.brake.Resume(thread.Earlier)
		h.run.runner.sessionBegins(t, &thread)
		h.run.begun(t.Started)
		h.run.runner.watchers.tell(h.lane.key)
	}
	return thread, h.noted(err)
}

func (h *record) Called(ctx context.Context, t agent.Turn, r *agent.Round) error {
	err := h.History.Called(ctx, t, r)
	if err == nil {
		h.stored(r)
	}
	return h.noted(err)
}

func (h *record) Result(ctx context.Context, t agent.Turn, r *agent.Round, index int, o tool.Outcome) error {
	return h.noted(h.History.Result(ctx, t, r, index, o))
}

func (h *record) Settled(ctx context.Context, t agent.Turn, r *agent.Round) error {
	err := h.lane.storing(func(meanwhile []tool.Effect) error {
		r.State = r.State.Apply(meanwhile...)
		return h.History.Settled(ctx, t, r)
	})
	if err == nil && r.State.Plan != h.plan {
		h.plan = r.State.Plan
		h.run.runner.watchers.tell(h.lane.key)
	}
	return h.noted(err)
}

func (h *record) Answered(ctx context.Context, t agent.Turn, r *agent.Round, end agent.End) error {
	err := h.lane.storing(func(meanwhile []tool.Effect) error {
		r.State = r.State.Apply(meanwhile...)
		return h.History.Answered(ctx, t, r, end)
	})
	if err == nil {
		h.stored(r)
	}
	return h.noted(err)
}

func (h *record) End(ctx context.Context, t agent.Turn, end agent.End) error {
	err := h.History.End(ctx, t, end)
	if err == nil {
		h.spent(end.Spent)
	}
	return h.noted(err)
}

// noted is err, which the log has then.
func (h *record) noted(err error) error {
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, session.ErrNotAwaited) { // which the client is told
		h.run.logger().Error("a run can't be stored", "err", err)
	}
	return err
}

// stored tells of a reply that was stored.
func (h *record) stored(r *agent.Round) {
	h.run.runner.replied(h.run, r)
	h.spent(r.Spent)
	if len(r.Joined) > 0 {
		h.run.runner.joined(h.lane, r.Joined)
	}
}

// spent tells of model calls that are in the ledger now.
func (h *record) spent(calls []agent.Spent) {
	h.unstored = h.unstored[min(len(calls), len(h.unstored)):]
	if tell := h.run.runner.opts.Spent; tell != nil && len(calls) > 0 {
		tell(calls)
	}
}
