package surface

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// compatibility removes what the model, the origin of the run, the channel or
// the front end can't make use of.
func compatibility(f *Facts, e *tool.Entry) *tool.Removal {
	switch {
	case f.Model != llm.Target{} && !f.Model.Tools:
		return &tool.Removal{
			Rule:   "model",
			Reason: fmt.Sprintf("the model %s takes no tools", f.Model),
			Fix:    "choose a model that takes tools",
		}
	case len(e.Def.Origins) > 0 && !slices.Contains(e.Def.Origins, f.Origin):
		names := make([]string, len(e.Def.Origins))
		for i, o := range e.Def.Origins {
			names[i] = string(o)
		}
		return &tool.Removal{
			Rule:   "origin",
			Reason: fmt.Sprintf("it is only for runs of origin %s, and this one is of origin %s", strings.Join(names, ", "), f.Origin),
			Fix:    "start it from a run of origin " + strings.Join(names, " or "),
		}
	case len(e.Def.Channels) > 0 && !slices.Contains(e.Def.Channels, f.Channel):
		here := "answers to no channel"
		if f.Channel != "" {
			here = "answers to " + f.Channel
		}
		return &tool.Removal{
			Rule:   "channel",
			Reason: fmt.Sprintf("it is only for the channels %s, and this run %s", strings.Join(e.Def.Channels, ", "), here),
			Fix:    "use it from " + strings.Join(e.Def.Channels, " or "),
		}
	case f.Flush && e.Def.Category != "memory":
		return &tool.Removal{
			Rule:   "flush",
			Reason: "before a conversation is shortened only memory tools are offered",
			Fix:    "use it in the conversation itself",
		}
	}
	if e.Def.Delegates {
		if r := delegating(f); r != nil {
			return r
		}
	}
	return missing(f, e)
}

// missing is what the front end can't do that a tool needs.
func missing(f *Facts, e *tool.Entry) *tool.Removal {
	for _, need := range e.Def.Client {
		if !slices.Contains(f.Client, need) {
			return &tool.Removal{
				Rule:   "client",
				Reason: fmt.Sprintf("it needs a front end that can do %q, and this one doesn't say so", need),
				Fix:    fmt.Sprintf("use a front end that can do %q", need),
			}
		}
	}
	return nil
}

// delegating is why a run may start no others.
func delegating(f *Facts) *tool.Removal {
	switch {
	case !f.agent.Delegates.On:
		return &tool.Removal{
			Rule:   "allow_agents",
			Reason: "the agent may start no others: its subagents.allow_agents is empty",
			Where:  f.agent.Delegates.Where,
			Fix:    "name the agents that it may start in " + cmp.Or(f.agent.Delegates.Where.Key, "subagents.allow_agents"),
		}
	case f.agent.MaxDepth > 0 && f.Depth >= f.agent.MaxDepth:
		return &tool.Removal{
			Rule:   "depth",
			Reason: fmt.Sprintf("runs nest at most %d deep, and this one stands below %d", f.agent.MaxDepth, f.Depth),
			Fix:    "let a run above it do that, or raise subagents.limits.depth",
		}
	}
	return nil
}
