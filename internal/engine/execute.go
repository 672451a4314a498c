package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// batch takes the calls of one response through the steps. It belongs to the
// goroutine that runs it. Others work on parts of it and report through the
// mailbox: the steps of work and show run on the pool; rules, handlers and
// people decide beside it, about a copy of the call, so that one who is late
// finds nothing to spoil.
type batch struct {
	eng      *Engine
	emit     func(tool.Event)
	base     tool.State // before any of the calls
	slots    []slot     // of the first maxCalls; the others are refused
	outcomes []tool.Outcome
	mail     *mailbox
	open     int   // calls without an outcome
	over     []int // those with one, in the order in which they got it
	cause    error // of the end of the run that stopped them; nil before
}

// slot is a call with its place among the others.
type slot struct {
	invocation
	stage    stage
	ties     []tool.Touch   // what it touches, in few words; decides about its order
	blockers int            // calls that it conflicts with and has to wait for
	since    time.Time      // it was admitted, or began to be decided about
	task     *pool.Task     // nil when it takes no worker
	asked    *tool.Approval // that people were told of and that is open; nil for none
}

const (
	// maxCalls is how many calls of one response run. What decides about their
	// order looks at all pairs.
	maxCalls = 256
	// maxTies is how many touches of each it tells apart.
	maxTies = 32
)

// stepsOfCall is how many steps a call is expected to take; more cost an
// allocation.
const stepsOfCall = 16

type stage uint8

const (
	waiting  stage = iota // admitted, or not looked at yet
	deciding              // rules, handlers or people decide about it
	sent                  // handed to the pool
	ended
)

func newBatch(e *Engine, sf *tool.Surface, from []*tool.Entry, calls []llm.ToolCall, emit func(tool.Event)) *batch {
	if emit == nil {
		emit = func(tool.Event) {}
	}
	b := &batch{
		eng: e, emit: emit, base: sf.State, open: len(calls), mail: newMailbox(),
		slots: make([]slot, min(len(calls), maxCalls)), outcomes: make([]tool.Outcome, len(calls)),
	}
	for i := range calls {
		b.outcomes[i] = begin(calls[i])
	}
	times := make([]tool.StepTime, len(b.slots)*stepsOfCall)
	for i := range b.slots {
		b.slots[i].since = b.outcomes[i].Started
		b.outcomes[i].Steps, times = times[:0:stepsOfCall], times[stepsOfCall:]
		b.slots[i].invocation = invocation{surface: sf, from: from, state: sf.State, out: &b.outcomes[i]}
		b.slots[i].tell = func(e tool.Event) {
			e.Index = i
			b.mail.tell(e)
		}
	}
	return b
}

// run takes all calls to their outcome.
func (b *batch) run(ctx context.Context) {
	for i := range b.slots {
		if ctx.Err() != nil {
			break // and all that are left end below
		}
		b.admit(ctx, i)
	}
	b.tooMany()
	b.order()
	stopped := ctx.Done()
	var place <-chan struct{} // what the next call waits for when the pool is full
	for b.open > 0 {
		if place == nil && ctx.Err() == nil {
			place = b.send(ctx)
			if b.open == 0 {
				return
			}
		}
		select {
		case <-b.mail.wake:
			b.read()
		case <-place:
			place = nil
		case <-stopped:
			stopped, place = nil, nil
			b.cause = context.Cause(ctx)
			b.stop()
		}
	}
}

// tooMany refuses the calls beyond those that run.
func (b *batch) tooMany() {
	for i := len(b.slots); i < len(b.outcomes); i++ {
		inv := invocation{out: &b.outcomes[i]}
		inv.out.Step = "resolve"
		inv.refuse(&tool.Refusal{
			Step: inv.out.Step, Rule: "too_many",
			Reason:  fmt.Sprintf("One response made %d calls, of which only the first %d are taken, so nothing ran.", len(b.outcomes), maxCalls),
			Allowed: "Make the others in the next response, fewer at a time.",
		})
		b.finish(&inv)
		b.open--
		out := b.outcomes[i]
		b.emit(tool.Event{Type: tool.Finished, Index: i, Outcome: &out})
	}
}

// runHere takes a single call to its outcome on this goroutine, for a tool that
// holds a worker already.
func (b *batch) runHere(ctx context.Context) {
	s := &b.slots[0]
	s.tell = b.emit
	if !take(ctx, b.eng.log, b.eng.admit, &s.invocation) ||
		b.eng.hooks.Decides() && !take(ctx, b.eng.log, b.eng.before, &s.invocation) {
		b.finish(&s.invocation)
		b.settle(0)
		return
	}
	b.admitted(0)
	b.lend(0)
	b.work(ctx, 0)
}

// admit takes one call through the first phase, and begins the second where
// somebody has a say.
func (b *batch) admit(ctx context.Context, i int) {
	s := &b.slots[i]
	switch {
	case !take(ctx, b.eng.log, b.eng.admit, &s.invocation):
		b.finish(&s.invocation)
		b.settle(i)
	case b.eng.hooks.Decides():
		s.tie()
		b.decide(ctx, i)
	default:
		s.tie()
		b.admitted(i)
	}
}

// tie notes what the call must not overlap with.
func (s *slot) tie() { s.ties = gather(s.touches, maxTies) }

// admitted notes that nothing speaks against the call at i.
func (b *batch) admitted(i int) {
	s := &b.slots[i]
	s.stage, s.since = waiting, time.Now()
	b.emit(tool.Event{Type: tool.Started, Index: i, Tool: s.out.Tool, Args: s.out.Args})
}

// decide has the call at i decided about, which may take long.
func (b *batch) decide(ctx context.Context, i int) {
	s := &b.slots[i]
	s.stage, s.since = deciding, time.Now()
	j := judged{index: i, inv: s.invocation}
	out := *s.out
	out.Steps = slices.Clip(out.Steps)
	j.inv.out = &out
	err := b.eng.pool.Aside(func() {
		defer func() { b.mail.judge(j) }()
		j.goes = take(ctx, b.eng.log, b.eng.before, &j.inv)
	})
	if err != nil { // the pool is closed
		s.cancelled(false)
		b.leave(i)
	}
}

// judge takes in what was decided about a call, unless it was stopped before.
func (b *batch) judge(j judged) {
	s := &b.slots[j.index]
	if s.stage != deciding {
		return
	}
	out := s.out
	*out = *j.inv.out
	j.inv.out = out
	s.invocation = j.inv
	if !j.goes { // and others waited for it by what it touched before
		b.finish(&s.invocation)
		b.settle(j.index)
		return
	}
	before := s.ties
	if s.tie(); !slices.Equal(before, s.ties) {
		b.reorder(j.index, before)
	}
	b.admitted(j.index)
}

// order finds out which calls have to wait for which: each for the earlier ones
// that it conflicts with.
func (b *batch) order() {
	for j := range b.slots {
		for i := range j {
			if b.slots[i].stage != ended && b.conflict(i, j) {
				b.slots[j].blockers++
			}
		}
	}
}

// reorder finds that out anew for the call at i, which touches other things
// than it did before. A later call that it now conflicts with and that runs
// already it waits for, since the order is lost then and they still must not
// overlap.
func (b *batch) reorder(i int, before []tool.Touch) {
	s := &b.slots[i]
	s.blockers = 0
	for j := range b.slots {
		o := &b.slots[j]
		conflict := b.conflict(i, j)
		switch {
		case j == i || o.stage == ended:
		case j < i || o.stage == sent:
			if conflict {
				s.blockers++
			}
		default:
			if tool.Conflict(before, o.ties) {
				o.blockers--
			}
			if conflict {
				o.blockers++
			}
		}
	}
}

func (b *batch) conflict(i, j int) bool {
	return tool.Conflict(b.slots[i].ties, b.slots[j].ties)
}

// send hands calls to the pool, in their order, as far as they wait for no
// other. When the pool is full it returns what to wait for before the next.
func (b *batch) send(ctx context.Context) <-chan struct{} {
	for i := range b.slots {
		s := &b.slots[i]
		if s.stage != waiting || s.blockers > 0 {
			continue
		}
		s.stage = sent
		s.state = b.stateFor(i)
		b.lend(i)
		run := func() {
			defer b.mail.end(i)
			b.queued(i)
			b.work(ctx, i)
		}
		var err error
		if s.entry.Def.Waits {
			err = b.eng.pool.Aside(run)
		} else {
			s.task, err = b.eng.pool.Submit(pool.Share{Person: s.surface.Scope.Caller().ID, Session: s.surface.Scope.SessionKey()}, run)
		}
		if err != nil { // the pool is closed
			s.cancelled(false)
			b.leave(i)
		} else if s.task != nil && s.task.Place() != nil {
			return s.task.Place()
		}
	}
	return nil
}

// stateFor is the state as the call at i finds it: with what calls changed that
// it stands behind and that have ended, in the order in which they did. What they
// only read, or calls that they made, the model did not know yet when it wrote
// this one.
func (b *batch) stateFor(i int) tool.State {
	var effects []tool.Effect
	for _, j := range b.over {
		if j < i || b.conflict(i, j) { // or it ran before this one came to touch other things
			effects = append(effects, b.slots[j].changed...)
		}
	}
	if len(effects) == 0 {
		return b.base
	}
	return b.base.Apply(effects...)
}

// lend makes the host of the call at i.
func (b *batch) lend(i int) {
	s := &b.slots[i]
	s.host = &host{eng: b.eng, inv: &s.invocation, id: s.out.Call.ID, state: s.state, tell: s.tell}
}

// queued notes how long the call at i waited for its turn, or for a decision.
func (b *batch) queued(i int) {
	s := &b.slots[i]
	step := "queue"
	if s.stage == deciding {
		step = "before"
	}
	s.out.Steps = append(s.out.Steps, tool.StepTime{Step: step, Duration: time.Since(s.since)})
}

// work takes the call at i through the phases after admit.
func (b *batch) work(ctx context.Context, i int) {
	inv := &b.slots[i].invocation
	defer b.finish(inv)
	if take(ctx, b.eng.log, b.eng.work, inv) && inv.depth == 0 {
		take(ctx, b.eng.log, b.eng.show, inv)
	}
}

// finish completes an outcome, whatever came before.
func (b *batch) finish(inv *invocation) {
	if inv.host != nil {
		inv.host.end()
	}
	inv.reading.End()
	if inv.out.Status == "" {
		inv.crashed("GoClaw itself", "a step ended its goroutine")
	}
	if inv.out.Digest == "" {
		inv.digest()
	}
	inv.out.Ended = time.Now()
}

// read takes in what the workers told.
func (b *batch) read() {
	told, decided, done := b.mail.read()
	for _, e := range told {
		switch s := &b.slots[e.Index]; s.stage {
		case ended:
			continue // it was stopped, and whoever decided about it was late
		case deciding: // else it is about a call that this one makes
			switch e.Type {
			case tool.Asked:
				s.asked = e.Approval
			case tool.Answered:
				s.asked = nil
			}
		}
		b.emit(e)
	}
	slices.SortFunc(decided, func(x, y judged) int { return cmp.Compare(x.index, y.index) })
	for _, j := range decided {
		b.judge(j)
	}
	for _, i := range done {
		b.settle(i)
	}
}

// settle takes in that the call at i has its outcome.
func (b *batch) settle(i int) {
	ran := b.slots[i].stage == sent
	b.slots[i].stage = ended
	b.open--
	b.over = append(b.over, i)
	for j := range b.slots {
		s := &b.slots[j]
		// An earlier call waits for a later one only when that ran already.
		if (s.stage == waiting || s.stage == deciding) && s.blockers > 0 && (j > i || ran) && b.conflict(i, j) {
			s.blockers--
		}
	}
	out := b.outcomes[i]
	b.emit(tool.Event{Type: tool.Finished, Index: i, Outcome: &out})
}

// stop ends all calls that have not begun. Those that run see the end of their
// context and are left behind when they don't heed it.
func (b *batch) stop() {
	b.read()
	for i := range b.slots {
		s := &b.slots[i]
		if s.stage == waiting || s.stage == deciding || s.stage == sent && s.task != nil && s.task.Cancel() {
			s.cancelled(false)
			b.leave(i)
		}
	}
}

// unanswered ends what people were asked about the call at i, whose run ended
// before they answered.
func (b *batch) unanswered(i int) {
	s := &b.slots[i]
	told := s.asked.Stopped(b.cause, time.Now().UTC())
	s.asked = nil
	b.emit(tool.Event{Type: tool.Answered, Index: i, Approval: &told})
	kept := told
	kept.Args = nil // they are those of the outcome
	s.out.Approval, s.out.Args = &kept, told.Args
}

// leave ends the call at i, which never began.
func (b *batch) leave(i int) {
	s := &b.slots[i]
	b.queued(i)
	s.out.Step = s.out.Steps[len(s.out.Steps)-1].Step
	if s.asked != nil {
		b.unanswered(i)
	}
	b.finish(&s.invocation)
	b.settle(i)
}
