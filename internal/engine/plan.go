package engine

import (
	"context"
	"fmt"

	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/tool"
)

// Planned reports whether plan mode was switched on in a session beside the call
// that asks, which knows the state only as it was when its response came.
type Planned func(ctx context.Context, s tool.Scope) (bool, error)

// planner knows which sessions are in plan mode.
type planner struct{ now Planned }

// plan refuses what changes something while the session is in plan mode.
func (p planner) plan(ctx context.Context, inv *invocation) bool {
	on := planned(inv.state, inv.entry)
	if st := (tool.State{Plan: true}); !on && p.now != nil && planned(st, inv.entry) {
		var err error
		if on, err = p.now(ctx, inv.surface.Scope); err != nil {
			return inv.end(tool.Failed, fmt.Sprintf("Error: it can't be read whether plan mode is on, so nothing ran: %v.", err))
		}
	}
	if !on {
		return true
	}
	leave := "tell the person, who switches plan mode off."
	if _, ok := tool.Find(inv.surface.Permitted, selection.ExitPlanMode); ok {
		leave = "call " + selection.ExitPlanMode + "."
		if inv.depth > 0 { // one that a script makes can't be that
			leave = "let the script end, call " + selection.ExitPlanMode + " outside of it, and make this call after that."
		}
	}
	return inv.refuse(&tool.Refusal{
		Rule:    "plan_mode",
		Reason:  fmt.Sprintf("Plan mode is on, and %s changes things, so nothing ran.", inv.entry.Def.Name),
		Allowed: "Go on with tools that only read; when the plan is settled, " + leave,
	})
}

// planned reports whether plan mode keeps a tool from being called. What turns
// it on changes nothing then.
func planned(st tool.State, e *tool.Entry) bool {
	return st.Plan && !e.Def.ReadOnly && e.Def.Name != selection.EnterPlanMode
}
