package surface

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// compatibility removes what the model, the origin of the run or the channel
// can't make use of.
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
	}
	return nil
}
