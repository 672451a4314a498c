package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/engine/owner"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/tool"
)

// decider has rules, handlers and people decide about calls.
type decider struct {
	pool    *pool.Pool
	hooks   *hook.Bus
	approve Approve
	reader  reader
	owners  *owner.Asker
}

// decide asks rules and handlers, then a person if one of them wants that. A
// person is asked about exactly what would run: all rewriting is over then.
func (d decider) decide(ctx context.Context, inv *invocation) bool {
	dec, err := d.consult(ctx, inv)
	if err != nil {
		return inv.cancelled(false)
	}
	inv.note = dec.Note
	inv.out.Args, inv.touches = dec.Call.Args, dec.Call.Touches
	switch {
	case dec.Block != nil:
		return inv.refuse(dec.Block)
	case len(dec.Asks) > 0:
		return d.ask(ctx, inv, dec.Asks)
	}
	return true
}

// consult asks rules and handlers, when they can be. The only error is that of
// ctx.
func (d decider) consult(ctx context.Context, inv *invocation) (hook.Decision, error) {
	done, err := d.pool.Decide(ctx, inv.surface.Scope.Caller().ID, inv.surface.Scope.SessionKey())
	if err != nil {
		return hook.Decision{}, err
	}
	defer done()
	e := inv.entry
	return d.hooks.Before(ctx, *inv.seen(), func(c hook.Call, args json.RawMessage) (hook.Call, error) {
		return d.rewritten(ctx, e, c, args)
	})
}

// rewritten is c with other arguments, which pass the same steps as those of a
// model.
func (d decider) rewritten(ctx context.Context, e *tool.Entry, c hook.Call, args json.RawMessage) (hook.Call, error) {
	args, _, err := d.reader.read(e, c.Scope, args)
	if err != nil {
		return c, err
	}
	if refusal := d.reader.gates(e, c.Scope, args); refusal != nil {
		return c, refusal
	}
	c.Args = args
	// One that gives no answer touches everything.
	touches, err := d.owners.Touches(ctx, e, tool.Call{ID: c.ID, Args: args, Scope: c.Scope})
	if err != nil && !errors.Is(err, owner.ErrSilent) {
		return c, errors.New("the tool broke when it was asked what they touch")
	}
	c.Touches = touches
	return c, nil
}

// ask asks a person, once for all who want it.
func (d decider) ask(ctx context.Context, inv *invocation, asks []hook.Asked) bool {
	r := approval.Request{
		Scope: inv.surface.Scope, Call: inv.out.Call.ID, Tool: inv.out.Tool, Args: inv.out.Args, Where: asks[0].Where,
	}
	var rules, reasons []string
	for _, a := range asks {
		rules = append(rules, a.Name)
		if a.Reason != "" {
			reasons = append(reasons, a.Reason)
		}
		r.Admins = r.Admins || a.Admins
	}
	if inv.holder != "" { // a person may take minutes
		r.Unasked = fmt.Sprintf("the tool %s, for which it is made, can't wait for one", inv.holder)
	}
	r.Rule, r.Reason = strings.Join(rules, ", "), strings.Join(reasons, " ")
	if d.approve == nil {
		return inv.refuse(&tool.Refusal{
			Rule: r.Rule, Where: r.Where,
			Reason: fmt.Sprintf("The rule %s wants a person to approve this call of %s, and nobody can be asked here, so nothing ran.", r.Rule, inv.out.Tool),
		})
	}
	a := d.approve(ctx, r, func(a tool.Approval) { inv.tell(tool.Event{Type: tool.Asked, Approval: &a}) })
	if a.ID != "" {
		told := a
		inv.tell(tool.Event{Type: tool.Answered, Approval: &told})
	}
	a.Args = nil // they are those of the outcome
	inv.out.Approval = &a
	switch refusal := a.Refusal(); {
	case refusal == nil:
		return true
	case ctx.Err() != nil:
		return inv.cancelled(false)
	default:
		return inv.refuse(refusal)
	}
}

// seen is the call as rules and handlers see it.
func (inv *invocation) seen() *hook.Call {
	e := inv.entry
	return &hook.Call{
		ID: inv.out.Call.ID, Scope: inv.surface.Scope, Tool: e.Def.Name, Owner: e.Owner, Def: e.Def,
		Args: inv.out.Args, Touches: inv.touches,
	}
}
