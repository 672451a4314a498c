package engine

import (
	"cmp"
	"context"

	"github.com/goclaw/goclaw/internal/tool"
)

// root is the call that a person or a model made and that led to a call, which
// is recorded with it. The zero value stands for a call that a model wrote: its
// round tells of it.
type root struct {
	hand bool    // a person made it
	id   string  // of the call
	tool string  // that the call was for, of calls that it led to; empty for itself
	by   []*host // lent to the calls between, it included
}

// under is the root of a call that is made by the one which h was lent to.
func (r root) under(h *host) root {
	return root{
		hand: r.hand, id: cmp.Or(r.id, h.id), tool: cmp.Or(r.tool, h.inv.out.Tool),
		by: append(r.by[:len(r.by):len(r.by)], h),
	}
}

// record stores that a call begins of which no round tells, so that whatever it
// does is known of even if the process dies. Of the calls that tools make it does
// so with those that may change something: a script may make thousands.
func (r runner) record(ctx context.Context, inv *invocation) error {
	from := inv.root
	if r.calls == nil || from.id == "" || inv.depth > 0 && inv.entry.Def.ReadOnly {
		return nil
	}
	o := inv.out.Short()
	s := inv.surface.Scope
	c := SideCall{Outcome: o, Parent: from.tool, Root: from.id, Agent: s.Agent(), Session: s.Session(), Caller: s.Caller().ID}
	if !from.hand {
		c.Run = s.Run()
	}
	if err := r.calls.OpenCall(ctx, c); err != nil {
		return err
	}
	for _, h := range from.by {
		h.begun(inv.out.Call.ID, o)
	}
	return nil
}

// begun notes a call that was recorded and that this one led to.
func (h *host) begun(id string, o tool.Outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return
	}
	if h.open == nil {
		h.open = map[string]tool.Outcome{}
	}
	h.open[id] = o
}

// ended forgets a call that has its outcome.
func (h *host) ended(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, id)
}
