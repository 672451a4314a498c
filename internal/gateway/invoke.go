package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// handTitle is the title of a session that calls by hand made, until its first
// message brings one.
const handTitle = "Calls by hand"

// Invoke implements [api.Backend]. Without a session the call belongs to one
// fixed session of the caller, so that a ref that one call gives is valid in
// the next. It doesn't hold the session and needn't wait for a run that does;
// what it did to the session's state, such as plan mode and the files it saw, is
// applied to it afterwards, and the session begins with that where there is none.
// The error is [run.ErrNotYours] when the session is another person's and the
// caller has no privileges, and [run.ErrClosed] when the gateway stops.
func (g *Gateway) Invoke(ctx context.Context, req run.Request, name string, args []byte) (tool.Outcome, error) {
	return g.InvokeTold(ctx, req, name, args, nil)
}

// InvokeTold is [Gateway.Invoke] that tells what happens to the call, on the
// caller's goroutine.
func (g *Gateway) InvokeTold(ctx context.Context, req run.Request, name string, args []byte, emit func(tool.Event)) (tool.Outcome, error) {
	if g.stopping.Load() {
		return tool.Outcome{}, run.ErrClosed
	}
	if req.Session == "" {
		req.Session = api.HandSession(req.Caller.ID)
	}
	look, err := g.Look(ctx, req)
	if err != nil {
		return tool.Outcome{}, err
	}
	if !req.Caller.Privileged() {
		owner, known, err := g.owner(ctx, look.Key)
		if err != nil {
			return tool.Outcome{}, err
		}
		if known && owner != req.Caller.ID {
			return tool.Outcome{}, run.ErrNotYours
		}
	}
	o := look.Agent.Engine.Invoke(ctx, look.Scope, look.Target, look.State, name, args, emit)
	if m := g.metrics.Load(); m != nil {
		m.Call(o)
	}
	if err := g.affect(ctx, look, o.Effects); err != nil {
		g.log.Error("what a call by hand did to its session is not kept", "session", look.Key, "tool", o.Tool, "err", err)
		o.Content = append(o.Content, llm.Text("(Not kept for the session's next calls: "+err.Error()+".)"))
	}
	return o, nil
}

// affect applies what a call by hand did to the state of its session. The call
// has happened, so that is not given up with the caller.
func (g *Gateway) affect(ctx context.Context, l Look, effects []tool.Effect) error {
	if len(effects) == 0 {
		return nil
	}
	s := l.Scope
	err := g.Runner.Affect(context.WithoutCancel(ctx), l.Key, &session.Session{
		Title: handTitle, Caller: s.Caller(), Origin: s.Origin(), Created: time.Now(),
	}, effects...)
	if errors.Is(err, session.ErrHeld) {
		return errors.New("another process works in session " + l.Key.ID + "; try again in a moment")
	}
	return err
}
