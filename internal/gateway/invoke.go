package gateway

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/gateway/api"
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
	if err := g.mayAffect(ctx, look); err != nil {
		return tool.Outcome{}, err
	}
	o := look.Agent.Engine.Invoke(ctx, look.Scope, look.Target, look.State, name, args, emit)
	if m := g.metrics.Load(); m != nil {
		m.Call(o)
	}
	if err := g.affect(ctx, look, o.Effects); err != nil {
		return o, fmt.Errorf("%s ended with %q, and what it did to session %s is not kept: %w", o.Tool, o.Status, look.Key, err)
	}
	return o, nil
}

// mayAffect reports why the caller of l may not touch the session, nil when they
// may: it is theirs, or nobody's yet.
func (g *Gateway) mayAffect(ctx context.Context, l Look) error {
	c := l.Scope.Caller()
	if c.Privileged() {
		return nil
	}
	owner, known, err := g.owner(ctx, l.Key)
	if err == nil && known && owner != c.ID {
		err = run.ErrNotYours
	}
	return err
}

// affect applies what a call by hand did to the state of its session. The call
// has happened, so that is not given up with the caller.
func (g *Gateway) affect(ctx context.Context, l Look, effects []tool.Effect) error {
	// What a model has read of a file is what counts for its next change of it, so
	// a person who looks at it or changes it leaves that be.
	if l.Turns > 0 {
		effects = slices.DeleteFunc(slices.Clone(effects), func(e tool.Effect) bool {
			_, seen := l.State.Digest(e.Key)
			return e.Kind == tool.FileSeen && seen
		})
	}
	if len(effects) == 0 {
		return nil
	}
	if err := g.mayAffect(ctx, l); err != nil {
		return err // somebody else began it meanwhile
	}
	s := l.Scope
	return g.Runner.Affect(context.WithoutCancel(ctx), l.Key, &session.Session{
		Title: handTitle, Caller: s.Caller(), Origin: s.Origin(), Created: time.Now(),
	}, effects...)
}
