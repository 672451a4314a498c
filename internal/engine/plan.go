package engine

import (
	"context"
	"fmt"

	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/tool"
)

// plan refuses what changes something while the session is in plan mode.
func plan(_ context.Context, inv *invocation) bool {
	if !planned(inv.state, inv.entry) {
		return true
	}
	return inv.refuse(&tool.Refusal{
		Rule:    "plan_mode",
		Reason:  fmt.Sprintf("Plan mode is on, and %s changes things, so nothing ran.", inv.entry.Def.Name),
		Allowed: "Go on with tools that only read; when the plan is settled, call exit_plan_mode.",
	})
}

// planned reports whether plan mode keeps a tool from being called. What turns
// it on changes nothing then.
func planned(st tool.State, e *tool.Entry) bool {
	return st.Plan && !e.Def.ReadOnly && e.Def.Name != selection.EnterPlanMode
}
