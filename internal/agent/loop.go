package agent

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// ProcessStream runs one turn and yields what happens. The sequence begins
// with RunStarted and ends with exactly one RunFinished or RunFailed, unless
// the consumer breaks out, which stops the run.
//
// The turn's history is valid whatever happens: a reply is stored with its
// open calls before any of them runs, each result as it ends, the last one
// together with the rest of the round, and a reply that calls nothing together
// with the end of the turn. Nobody is told of a result before it is stored.
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
	l.watch = l.Watch(l.turn)
	var last *Round
	for n := 1; ; n++ {
		d := l.watch.Before(l.ctx, n, last)
		l.plan(&d, n)
		if d.Notice != "" {
			l.notice(Told{Kind: d.NoticeKind, Text: d.Notice}, nil)
		}
		if d.Stop {
			l.say(d, "")
			return nil
		}
		r, sf, err := l.ask(d)
		if r == nil {
			return err
		}
		l.limited = l.limited || d.NoTools
		if len(r.Calls) == 0 {
			l.close(r)
			return nil
		}
		if err := l.called(r); err != nil {
			return err
		}
		l.attach(r)
		if err := l.work(r, sf); err != nil {
			return err
		}
		if l.handed = r.Handed(); len(l.handed) > 0 {
			return nil // the client goes on
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
	l.asked.Message = l.turn.Message
	if !l.thread.Last.IsZero() {
		l.asked.Idle = max(l.turn.Started.Sub(l.thread.Last), 0)
	}
	return err
}

// loop is the state of one ProcessStream. It is used by one goroutine.
type loop struct {
	*Agent
	turn  Turn
	watch Watch
	ctx   context.Context // the run's: ended by the caller, a break or finish
	stop  context.CancelFunc
	yield func(Event) bool
	gone  bool // the consumer left: nothing may be yielded any more
	seq   int

	thread  Thread
	asked   tool.Ask     // what the turn's tools are picked for
	used    bool         // a tool ran in this turn
	model   string       // who is asked: as the turn says, then whoever answered
	limited bool         // the last call was forced by a limit
	shorter bool         // a target found the thread too long in this turn
	text    string       // the answer so far: text of the last reply
	last    *Round       // calls nothing; to be stored with the end of the turn
	handed  []ToolEvent  // calls that went to the client, with which the turn ends
	gaveUp  *llm.Attempt // with which the model call of this round failed
	rounds  int
	spent   []Spent // by all model calls so far
	stored  int     // how many of them are in the history
	open    bool    // a request is under way whose use is not known yet
	told    []Told  // to be stored with this round
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

// finish stores how the turn ended, with its last round if that is still to be
// stored, and tells it.
func (l *loop) finish(err error) {
	end := l.ending(err)
	if l.last != nil {
		l.last.Ended = end.Time
		if failed := l.History.Answered(l.keep(), l.turn, l.last, end); failed != nil {
			l.last, l.unstored = nil, true
			l.rounds--
			err = errors.Join(err, failed)
			end = l.ending(err)
		}
	}
	if l.last == nil {
		if failed := l.History.End(l.keep(), l.turn, end); failed != nil {
			words := Advice(failed)
			if end.Status == Failed {
				words = end.Error + " And " + words
			}
			end.Status, end.Error = Failed, words
			err = errors.Join(err, failed)
		}
	}
	usage, usd := Sum(l.spent)
	e := Event{Type: RunFinished, Text: l.text, End: &RunEnd{Status: end.Status, Rounds: end.Rounds, Usage: usage}}
	if l.last != nil {
		l.attach(l.last)
		e.End.Cached = l.last.Reply.Cached
		if l.last.Reply.Finish.Cuts() {
			e.End.Cut = l.last.Reply.Finish
		}
	}
	if l.Cost != nil {
		e.End.USD = usd
	}
	if end.Status == Done {
		e.End.Calls = l.handed
	}
	if end.Status == Failed {
		e.Type, e.Text, e.End.Err, e.Attempt = RunFailed, end.Error, err, l.gaveUp
	}
	l.emit(e)
}

// attach tells what the model made in r, which is stored.
func (l *loop) attach(r *Round) {
	for _, e := range r.Attachments() {
		l.emit(e)
	}
}

// ending is how the turn ends after err.
func (l *loop) ending(err error) End {
	end := End{Status: Done, Rounds: l.rounds, Time: l.Now()}
	if l.last == nil {
		end.Spent = l.spent[l.stored:]
	}
	switch {
	case err != nil && l.ctx.Err() != nil && !l.unstored:
		end.Status = Stopped
		if errors.Is(context.Cause(l.ctx), ErrInterrupted) {
			end.Status = Interrupted
		}
	case err != nil:
		end.Status, end.Error = Failed, Advice(err)
	case l.limited:
		end.Status = Limited
	}
	return end
}

// keep is the context for what must be stored even though the run was stopped.
func (l *loop) keep() context.Context { return context.WithoutCancel(l.ctx) }

// say ends the turn with the brake's words, which become part of the history
// behind what a person said meanwhile and what a model had said already.
func (l *loop) say(d Directive, said string) {
	r := &Round{Number: l.thread.Rounds + 1, Before: d.Messages, Joined: d.Joined, Started: l.Now(), State: l.thread.State}
	if said != "" {
		said += "\n\n"
		d.Reason = "\n\n" + d.Reason
	}
	r.Reply = llm.Reply{Message: llm.AssistantMessage(said + strings.TrimSpace(d.Reason)), Finish: llm.FinishHost}
	r.Replied = r.Started
	l.limited = true
	l.emit(Event{Type: TokenChunk, Text: d.Reason})
	l.close(r)
}

// work runs the calls of r and stores their results. That of the call which
// ends last is stored with the end of the round: nothing but the fitting of
// results to each other lies in between, and what is stored so can't be half of
// a round. Until then it isn't told to anybody either.
func (l *loop) work(r *Round, sf tool.Surface) error {
	var failed error
	var last Event
	open := len(r.Calls)
	r.Outcomes = l.Toolbox.Execute(l.ctx, sf, r.Calls, func(e tool.Event) {
		te := &ToolEvent{ID: r.Calls[e.Index].ID, Name: r.Calls[e.Index].Name, Index: e.Index, Outcome: e.Outcome}
		switch e.Type {
		case tool.Started:
			te.Args, te.Name = e.Args, e.Tool
			l.emit(Event{Type: ToolStarted, Tool: te})
		case tool.Progress:
			l.emit(Event{Type: ToolProgress, Tool: te, Text: e.Text})
		case tool.Asked, tool.Answered:
			l.emit(approvalNotice(te, e.Approval))
		case tool.Finished:
			te.Name, te.Args = e.Outcome.Tool, e.Outcome.Args
			ended := Event{Type: ToolFinished, Tool: te}
			if open--; open == 0 {
				last = ended
				return
			}
			if err := l.History.Result(l.keep(), l.turn, r, e.Index, *e.Outcome); err != nil {
				failed, l.unstored = errors.Join(failed, err), true
			}
			l.emit(ended)
		}
	})
	for _, o := range r.Outcomes {
		l.used = l.used || o.Ran()
		r.State = r.State.Apply(o.Effects...)
		for _, used := range append(slices.Clip(o.Own), o) {
			if used.Ran() || used.Cached {
				r.State = r.State.Using(used.Tool)
			}
		}
		for _, e := range o.Effects {
			if e.Kind == tool.PlanMode {
				r.State.Told = r.State.Plan // its result says so
			}
		}
	}
	failed = errors.Join(failed, l.settle(r))
	if last.Tool != nil {
		l.emit(last)
	}
	for _, o := range r.Outcomes {
		for _, e := range o.Effects {
			if e.Kind == tool.Attached {
				l.emit(Event{Type: Attachment, Ref: e.Key})
			}
		}
	}
	if failed != nil {
		return failed
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
