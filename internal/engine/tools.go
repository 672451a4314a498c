package engine

import (
	"context"
	_ "embed"
	"strings"

	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/tool"
)

var (
	//go:embed enter_plan_mode.md
	enterText string
	//go:embed exit_plan_mode.md
	exitText string
)

// Tools returns the tools of this room: enter_plan_mode and exit_plan_mode.
func Tools() []tool.Tool {
	traits := tool.Traits{Category: "sessions", Tags: []string{"plan", "propose"}}
	// Entering counts as a change, so that calls behind it in the same response
	// wait for it and are refused; what leaving allows, the model learns first, so
	// no script leaves it and goes on.
	leaving := traits
	leaving.ReadOnly, leaving.DirectOnly = true, true
	return []tool.Tool{
		tool.New(tool.Definition{Name: selection.EnterPlanMode, Description: strings.TrimSpace(enterText), Traits: traits}, enterPlan),
		tool.New(tool.Definition{Name: selection.ExitPlanMode, Description: strings.TrimSpace(exitText), Traits: leaving}, exitPlan),
	}
}

func enterPlan(_ context.Context, call tool.Call, _ struct{}) (tool.Result, error) {
	if call.State.Plan {
		return tool.TextResult("Plan mode is on already."), nil
	}
	r := tool.TextResult("Plan mode is on. Tools that change something are refused until it is off. " +
		"Find out what is needed with tools that only read, then tell the person your plan and wait for their word.")
	r.Effects = []tool.Effect{{Kind: tool.PlanMode, Value: "on"}}
	return r, nil
}

func exitPlan(_ context.Context, call tool.Call, _ struct{}) (tool.Result, error) {
	if !call.State.Plan {
		return tool.TextResult("Plan mode is not on."), nil
	}
	r := tool.TextResult("Plan mode is off. Tools that change something run again from your next step on.")
	r.Effects = []tool.Effect{{Kind: tool.PlanMode, Value: "off"}}
	return r, nil
}
