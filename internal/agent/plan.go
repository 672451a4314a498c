package agent

import "github.com/goclaw/goclaw/internal/tool"

// What the model is told of plan mode. It stands in the thread and not in the
// prompt, which so stays the same when plan mode is switched. It names no tool,
// since the agent may lack any; exit_plan_mode tells of itself.
const (
	planOn = "Plan mode is on in this conversation: tools that change something are refused. Find out what you need with tools that only read, " +
		"then tell the person your plan. Plan mode ends when they have agreed to it, not before."
	planOff = "Plan mode is off again: tools that change something run."
)

// plan applies what a person switched, and has the model told, before call n of
// the run, whether plan mode is on: in each turn while it is, and once when it
// was ended by somebody else than the model.
func (l *loop) plan(d *Directive, n int) {
	st := &l.thread.State
	*st = st.Apply(d.Effects...)
	switch {
	case st.Plan && (n == 1 || !st.Told):
		d.Messages = append(d.Messages, HostMessage(planOn))
	case !st.Plan && st.Told:
		d.Messages = append(d.Messages, HostMessage(planOff))
	}
	st.Told = st.Plan
}

// PlanMode is the effect that turns plan mode on or off.
func PlanMode(on bool) tool.Effect {
	if on {
		return tool.Effect{Kind: tool.PlanMode, Value: "on"}
	}
	return tool.Effect{Kind: tool.PlanMode, Value: "off"}
}
