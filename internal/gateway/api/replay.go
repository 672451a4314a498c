package api

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// replay tells a run again from its record, as nearly as that says how it went:
// in place of chunks come whole texts, and notices that nobody stored are
// missing. The same record gives the same events. Of a run that is still going
// elsewhere it tells what is sure not to change, so that a viewer who comes
// again reads on.
type replay struct {
	run   session.Run
	seq   int
	yield func(agent.Event) bool
	gone  bool // nobody reads any more, or what follows is not known yet
}

// replayed yields the events of a run that was read whole.
func replayed(r session.Run) iter.Seq[agent.Event] {
	return func(yield func(agent.Event) bool) {
		p := &replay{run: r, yield: yield}
		p.emit(r.Started, agent.Event{Type: agent.RunStarted})
		var last llm.Reply
		for i := range r.Rounds {
			if p.gone {
				return
			}
			p.round(&r.Rounds[i])
			last = r.Rounds[i].Reply
		}
		if r.Status != agent.Running {
			p.end(last)
		}
	}
}

func (p *replay) emit(at time.Time, e agent.Event) {
	if p.gone {
		return
	}
	p.seq++
	e.Run, e.Session, e.Agent, e.Seq, e.Time = p.run.Run, p.run.Session.ID, p.run.Session.Agent, p.seq, at
	p.gone = !p.yield(leanEvent(e))
}

func (p *replay) round(r *agent.Round) {
	for _, m := range r.Before {
		if text := session.Words(m); text != "" {
			p.emit(r.Started, agent.Event{Type: agent.Notice, Kind: "joined", Text: text})
		}
	}
	notices := func(behind bool) {
		for _, n := range r.Notices {
			if n.Behind == behind {
				p.emit(r.Started, agent.Event{Type: agent.Notice, Kind: n.Kind, Text: n.Text})
			}
		}
	}
	notices(false)
	for i := range r.Attempts {
		if a := &r.Attempts[i]; a.Told != "" {
			p.emit(a.Ended, agent.Event{Type: agent.Notice, Kind: string(a.Next), Text: a.Told, Attempt: a})
		}
	}
	if r.Reply.Finish != llm.FinishHost { // else no model was asked
		facts, target := r.Request, r.Request.Target
		p.emit(r.Started, agent.Event{Type: agent.PromptBuilt, Request: &facts})
		p.emit(r.Started, agent.Event{Type: agent.ModelStarted, Target: &target})
	}
	first := r.FirstToken
	if first.IsZero() {
		first = r.Replied
	}
	for _, part := range r.Reply.Message.Parts {
		switch {
		case part.Text == "":
		case part.Kind == llm.KindReasoning:
			p.emit(first, agent.Event{Type: agent.ReasoningChunk, Text: part.Text})
		case part.Kind == llm.KindText:
			p.emit(first, agent.Event{Type: agent.TokenChunk, Text: part.Text})
		}
	}
	notices(true)
	for _, e := range r.Attachments() {
		p.emit(r.Replied, e)
	}
	for i := range r.Outcomes {
		p.call(r, i)
	}
	for _, o := range r.Outcomes {
		for _, e := range o.Effects {
			if e.Kind == tool.Attached {
				p.emit(o.Ended, agent.Event{Type: agent.Attachment, Ref: e.Key})
			}
		}
	}
}

// call tells a call and what came of it. Calls that ran side by side are told
// one behind the other, since the end of one may not be known yet.
func (p *replay) call(r *agent.Round, i int) {
	o := r.Outcomes[i]
	if o.Status == "" {
		if p.run.Status == agent.Running {
			p.gone = true // it may be running: what comes next depends on it
			return
		}
		o = session.Interrupted(o.Call, p.run.Ended)
	}
	e := agent.ToolEvent{ID: o.Call.ID, Name: o.Tool, Index: i, Args: o.Args}
	before, within := agent.ApprovalEvents(&o, i)
	for _, e := range before {
		p.emit(e.Time, e)
	}
	if begun(o) {
		started := e
		p.emit(o.Started, agent.Event{Type: agent.ToolStarted, Tool: &started})
	}
	for _, e := range within {
		p.emit(e.Time, e)
	}
	e.Outcome = &o
	p.emit(o.Ended, agent.Event{Type: agent.ToolFinished, Tool: &e})
}

// begun reports whether a call was admitted and told to have started. What is
// refused or can't be used mostly isn't, nor is what was stopped while it was
// decided about; what is refused later has waited for a worker before.
func begun(o tool.Outcome) bool {
	return o.Step != "before" && o.Status != tool.Refused && o.Status != tool.Invalid ||
		slices.ContainsFunc(o.Steps, func(s tool.StepTime) bool { return s.Step == "queue" })
}

func (p *replay) end(last llm.Reply) {
	r := p.run
	e := agent.Event{Type: agent.RunFinished, Text: last.Message.Text(), End: &agent.RunEnd{
		Status: r.Status, Rounds: len(r.Rounds), Usage: r.Usage, Cached: last.Cached, USD: r.USD,
	}}
	if len(last.Message.Calls()) == 0 && last.Finish.Cuts() {
		e.End.Cut = last.Finish
	}
	if n := len(r.Rounds); n > 0 && r.Status == agent.Done {
		e.End.Calls = r.Rounds[n-1].Handed()
	}
	if r.Status == agent.Failed {
		e.Type, e.Text = agent.RunFailed, r.Error
	}
	p.emit(r.Ended, e)
}

// keptSource yields a run's events made from its record behind at, as v has them
// told. A viewer that saw other events of it is told that it begins anew.
func keptSource(r session.Run, prefix string, at position, v *sight) func(context.Context) iter.Seq[item] {
	return func(context.Context) iter.Seq[item] {
		return func(yield func(item) bool) {
			if !at.kept {
				at = position{}
				if !yield(item{name: "run_replayed", data: Kept{Run: r.Run}}) {
					return
				}
			}
			for e := range replayed(r) {
				if e.Seq <= at.seq {
					continue
				}
				if e, ok := v.event(e); ok && !yield(item{event: e, prefix: prefix, kept: true}) {
					return
				}
			}
		}
	}
}
