package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/tool"
)

// handTitle is the title of a session that calls by hand made, until its first
// message brings one.
const handTitle = "Calls by hand"

// Bounds of what is done beside a call by hand.
const (
	// holdLimit is how long another process may work in the session before a
	// call that changes something is refused for it: another call by hand takes
	// no longer.
	holdLimit = time.Second
	keepLimit = 10 * time.Second // for storing the call
)

// Invoke implements [api.Backend]. Without a session the call belongs to one
// fixed session of the caller, so that a ref that one call gives is valid in
// the next. It doesn't hold the session and needn't wait for a run of this process
// that does; what it did to the session's state, such as plan mode and the files
// it saw, is applied to it afterwards, and the session begins with that where
// there is none. The call is recorded in short beside the conversation, before it
// runs and when it has ended.
//
// The error says that nothing ran: it is [run.ErrNotYours] when the session is
// another person's and the caller has no privileges, [session.ErrHeld] when another
// process works in it and the tool changes something, and [run.ErrClosed] when the
// gateway stops. A call that ran has its outcome, with notices of what could not be
// kept.
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
	if err := g.within(ctx, look, name); err != nil {
		return tool.Outcome{}, err
	}
	o := look.Agent.Engine.Invoke(ctx, look.Scope, look.Target, look.State, name, args, emit)
	if m := g.metrics.Load(); m != nil {
		m.Call(o)
	}
	g.settle(context.WithoutCancel(ctx), look, &o)
	return o, nil
}

// within reports, before a tool runs that changes something, that another process
// works in the session, so that what the call does to its state could not be kept.
func (g *Gateway) within(ctx context.Context, l Look, name string) error {
	cat := l.Agent.Registry.Catalog()
	writes := slices.ContainsFunc(engine.Meant(name, tool.Names(cat.Entries)), func(n string) bool {
		e, _ := cat.Find(n)
		return !e.Def.ReadOnly
	})
	if !writes || !l.Stored {
		return nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, holdLimit, session.ErrHeld)
	defer cancel()
	err := g.Runner.Free(limited, l.Key)
	if errors.Is(err, session.ErrHeld) {
		return fmt.Errorf("nothing ran: another process works in session %s, so that what %s does to it could not be kept: %w", l.Key, name, session.ErrHeld)
	}
	return err
}

// settle keeps what a call by hand did, and that it was made. The outcome tells
// what could not be kept: the call has happened all the same.
func (g *Gateway) settle(ctx context.Context, l Look, o *tool.Outcome) {
	if err := g.affect(ctx, l, o.Effects); err != nil {
		why := "it could not be stored"
		switch {
		case errors.Is(err, session.ErrHeld):
			why = "another process works in it"
		case errors.Is(err, run.ErrNotYours):
			why = "somebody else has begun it meanwhile"
		default:
			g.log.Error("what a call by hand did to its session is not kept", "session", l.Key.String(), "tool", o.Tool, "err", err)
		}
		o.Notices = append(o.Notices, fmt.Sprintf("what %s did to the state of session %s is not kept, since %s; the call itself ended as it says", o.Tool, l.Key, why))
	}
	ctx, cancel := context.WithTimeout(ctx, keepLimit)
	defer cancel()
	if err := l.Agent.Engine.KeepCall(ctx, l.Scope, *o); err != nil {
		g.log.Error("a call by hand is not recorded", "session", l.Key.String(), "tool", o.Tool, "err", err)
		o.Notices = append(o.Notices, "the call is not recorded, since that could not be stored: explaining and counting don't know it")
	}
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
