package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
)

// Recover puts the messages that a process left in the inbox back in their
// order and runs them, each under the id that it had. A gateway calls it once,
// before it takes messages; from then on it also keeps those that wait for
// another process. Commands don't: what they leave waits for the gateway.
//
// A message that can't be run any more, because it can't be read or its agent
// is gone, is told in the log and becomes a failed turn of its session.
func (r *Runner) Recover(ctx context.Context) error {
	r.mu.Lock()
	r.serving = true
	r.mu.Unlock()
	if r.opts.Inbox == nil {
		return nil
	}
	entries, err := r.opts.Inbox.Waiting(ctx)
	if err != nil {
		return fmt.Errorf("go on with the messages that wait: %w", err)
	}
	revived := make([]*Run, len(entries))
	for i := range entries {
		revived[i] = r.revive(&entries[i])
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	lanes := map[session.Key][]*Run{}
	for _, run := range revived {
		if r.runs[run.ID] != nil {
			run.cancel(nil)
			continue // this process has taken it in itself
		}
		r.runs[run.ID] = run
		if run.queued.After(r.queued) {
			r.queued = run.queued
		}
		if l := r.lanes[run.key()]; l != nil {
			l.enqueue(run)
		} else {
			lanes[run.key()] = append(lanes[run.key()], run)
		}
	}
	for key, runs := range lanes {
		l := &lane{}
		for _, run := range runs {
			l.enqueue(run)
		}
		r.open(key, l.waiting[0], l.waiting[1:]...)
	}
	if len(revived) > 0 {
		slog.Info("going on with messages that waited", "messages", len(revived), "sessions", len(lanes))
	}
	return nil
}

// revive makes the run of an entry.
func (r *Runner) revive(e *Entry) *Run {
	req, err := e.request()
	broken := ""
	if err != nil {
		broken = fmt.Sprintf("This message waited while GoClaw was started again, and can't be read any more (%v). Say it again.", err)
		if len(req.Message.Parts) == 0 {
			req.Message = llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.KindContext, Text: "(a message that can't be read any more)"}}}
		}
	}
	p, err := r.opts.Profile(e.Session.Agent)
	if err == nil && p.ID != e.Session.Agent {
		err = fmt.Errorf("there is no agent %q any more", e.Session.Agent)
	}
	if err != nil {
		p = Profile{ID: e.Session.Agent}
		if broken == "" {
			broken = fmt.Sprintf("This message waited while GoClaw was started again, and its agent can't answer any more: %v.", err)
		}
	}
	run := newRun(r, p, req)
	run.queued, run.recovered, run.broken = e.Queued, true, broken
	run.urgent = req.WhileBusy == Interrupt || req.WhileBusy == Steer
	run.guarded = r.opts.Owner != nil && !req.Caller.Privileged() && broken == ""
	// Those who watched it wait know the numbers of its events in the process
	// before, and want what is behind them. There were fewer than milliseconds
	// have passed since it was accepted.
	run.log.seq = max(int(r.opts.Now().Sub(e.Queued).Milliseconds()), 0)
	run.row = newRow()
	close(run.row.done)
	run.keep()
	return run
}

// stillWaits reports whether a message that another process could have run is
// there still to be run, now that no other can be at work in its session.
func (r *Runner) stillWaits(run *Run) bool {
	if !run.isStored() {
		return true // nobody else knew of it
	}
	at, ok, err := r.opts.Inbox.Find(run.ctx, run.ID)
	switch {
	case err != nil:
		r.refuse(run, fmt.Errorf("look for the message in the inbox: %w", err))
	case ok && at.Waiting:
		return true
	case ok:
		run.notice("joined", "another process has taken it in", at.Run)
		run.tell(agent.Event{Type: agent.RunFinished, Ref: at.Run, End: &agent.RunEnd{Status: agent.Done}})
	default:
		run.endUnbegun() // it was withdrawn there
	}
	return false
}

// tellBroken makes a message that can't be run a failed turn of its session.
func (r *Runner) tellBroken(run *Run) {
	run.logger().Error("a message that waited can't be run", "err", run.broken)
	run.tell(agent.Event{Type: agent.RunStarted})
	turn := run.turn()
	_, err := r.opts.History.Begin(run.ctx, turn)
	if err == nil {
		run.begun(turn.Started)
		err = r.opts.History.End(context.WithoutCancel(run.ctx), turn, agent.End{Status: agent.Failed, Error: run.broken, Time: r.opts.Now()})
	}
	if err != nil {
		run.logger().Error("its session was not told", "err", err)
	}
	run.fail(errors.New(run.broken))
}
