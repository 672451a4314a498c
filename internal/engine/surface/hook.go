package surface

import "github.com/goclaw/goclaw/internal/tool"

// hooks removes what the handlers of before_prompt_build leave out of a turn,
// and what changes something when one of them failed.
func hooks(f *Facts, e *tool.Entry) *tool.Removal {
	n := &f.Narrowed
	switch {
	case !n.Allow.Allows(e.Def.Name):
		return &tool.Removal{
			Rule:   "tools_allow",
			Reason: "the tools that hooks allow in this turn don't include it (" + n.By + ")",
			Fix:    "have " + n.By + " allow " + e.Def.Name + ", or disable what brought that hook",
		}
	case n.Failed != "" && !e.Def.ReadOnly:
		return &tool.Removal{
			Rule:   "failed",
			Reason: "a hook failed, so that this turn has only tools that read (" + n.Failed + ")",
			Fix:    "mend " + n.Failed + ", or disable what brought that hook; the log says what went wrong",
		}
	}
	return nil
}
