package agent

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// ProcessStream runs one turn and yields what happens. The sequence begins
// with RunStarted and ends with exactly one RunFinished or RunFailed, unless
// the consumer breaks out, which stops the run.
//
// The turn's history is valid whatever happens: a reply is stored with its
// open calls before any of them runs, each result as it ends, and the rest of
// the round in one transaction.
func (a *Agent) ProcessStream(ctx context.Context, t Turn) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		l := &loop{Agent: a, turn: t, model: t.Model, ctx: ctx, stop: stop, yield: yield}
		l.emit(Event{Type: RunStarted})
		l.finish(l.answer())
	}
}

// answer is the loop: ask the model, run what it calls, until it calls nothing.
func (l *loop) answer() error {
	if err := l.begin(); err != nil {
		return err
	}
	watch := l.Watch(l.turn)
	var last *Round
	for n := 1; ; n++ {
		d := watch.Before(l.ctx, n, last)
		if d.Notice != "" {
			l.emit(Event{Type: Notice, Kind: d.NoticeKind, Text: d.Notice})
		}
		if d.Stop {
			return l.say(d)
		}
		r, sf, err := l.ask(d)
		if err != nil {
			return err
		}
		l.limited = l.limited || d.NoTools
		if len(r.Calls) == 0 {
			return l.settle(r)
		}
		if err := l.work(r, sf); err != nil {
			return err
		}
		last = r
	}
}

// begin stores the person's message with what the host adds behind it.
func (l *loop) begin() error {
	added, err := l.Prompts.Context(l.ctx, l.turn)
	if err != nil {
		return err
	}
	l.turn.Message.Parts = append(slices.Clip(l.turn.Message.Parts), added...)
	l.thread, err = l.History.Begin(l.ctx, l.turn)
	return err
}

// loop is the state of one ProcessStream. It is used by one goroutine.
type loop struct {
	*Agent
	turn  Turn
	ctx   context.Context // the run's: ended by the caller, a break or finish
	stop  context.CancelFunc
	yield func(Event) bool
	gone  bool // the consumer left: nothing may be yielded any more
	seq   int

	thread  Thread
	used    bool   // a tool ran in this turn
	model   string // who is asked: as the turn says, then whoever answered
	limited bool   // the last call was forced by a limit
	window  int    // tokens; what a target that found the thread too long is taken to hold
	text    string // the answer so far: text of the last reply
	rounds  int
	usage   llm.Usage
	usd     float64
	unknown bool // the price of some call
	// unstored says that something is not in the history although it happened:
	// that is a failure, also of a run that was stopped.
	unstored bool
}

func (l *loop) emit(e Event) {
	l.seq++
	if l.gone {
		return
	}
	e.Run, e.Session, e.Agent = l.turn.Scope.Run(), l.turn.Scope.Session(), l.turn.Scope.Agent()
	e.Seq, e.Time = l.seq, l.Now()
	if !l.yield(e) {
		l.gone = true
		l.stop()
	}
}

// finish stores how the turn ended and tells it.
func (l *loop) finish(err error) {
	end := End{Status: Done, Usage: l.usage, Rounds: l.rounds, Time: l.Now()}
	switch {
	case err != nil && l.ctx.Err() != nil && !l.unstored:
		end.Status = Stopped
	case err != nil:
		end.Status, end.Error = Failed, Advice(err)
	case l.limited:
		end.Status = Limited
	}
	if err := l.History.End(l.keep(), l.turn, end); err != nil {
		words := Advice(err)
		if end.Status == Failed {
			words = end.Error + " And " + words
		}
		end.Status, end.Error = Failed, words
	}
	e := Event{Type: RunFinished, Text: l.text, End: &RunEnd{Status: end.Status, Rounds: end.Rounds, Usage: end.Usage}}
	if !l.unknown && l.Cost != nil {
		e.End.USD = &l.usd
	}
	if end.Status == Failed {
		e.Type, e.Text = RunFailed, end.Error
	}
	l.emit(e)
}

// keep is the context for what must be stored even though the run was stopped.
func (l *loop) keep() context.Context { return context.WithoutCancel(l.ctx) }

// say ends the turn with the brake's words, which become part of the history
// behind what a person said meanwhile.
func (l *loop) say(d Directive) error {
	r := &Round{Number: l.thread.Rounds + 1, Before: d.Messages, Started: l.Now(), State: l.thread.State}
	r.Reply = llm.Reply{Message: llm.AssistantMessage(d.Reason), Finish: llm.FinishHost}
	r.Replied = r.Started
	l.limited = true
	if err := l.called(r); err != nil {
		return err
	}
	l.emit(Event{Type: TokenChunk, Text: d.Reason})
	return l.settle(r)
}

// work runs the calls of r and stores their results.
func (l *loop) work(r *Round, sf tool.Surface) error {
	var failed error
	r.Outcomes = l.Toolbox.Execute(l.ctx, sf, r.Calls, func(e tool.Event) {
		te := &ToolEvent{ID: r.Calls[e.Index].ID, Name: r.Calls[e.Index].Name, Index: e.Index, Outcome: e.Outcome}
		switch e.Type {
		case tool.Started:
			te.Args, te.Name = e.Args, e.Tool
			l.emit(Event{Type: ToolStarted, Tool: te})
		case tool.Progress:
			l.emit(Event{Type: ToolProgress, Tool: te, Text: e.Text})
		case tool.Finished:
			if err := l.History.Result(l.keep(), l.turn, r, e.Index, *e.Outcome); err != nil {
				failed, l.unstored = errors.Join(failed, err), true
			}
			te.Name, te.Args = e.Outcome.Tool, e.Outcome.Args
			l.emit(Event{Type: ToolFinished, Tool: te})
		}
	})
	for _, o := range r.Outcomes {
		l.used = l.used || o.Ran()
		r.State = r.State.Apply(o.Effects...)
		for _, e := range o.Effects {
			if e.Kind == tool.Attached {
				l.emit(Event{Type: Attachment, Ref: e.Key})
			}
		}
	}
	if err := errors.Join(failed, l.settle(r)); err != nil {
		return err
	}
	return l.ctx.Err()
}

// settle stores the end of r and makes it part of the thread.
func (l *loop) settle(r *Round) error {
	r.Ended = l.Now()
	if err := l.History.Settled(l.keep(), l.turn, r); err != nil {
		l.unstored = true
		return err
	}
	l.thread.State = r.State
	l.thread.Messages = append(l.thread.Messages, r.Messages()...)
	return nil
}
