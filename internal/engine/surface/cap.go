package surface

import "github.com/goclaw/goclaw/internal/tool"

// inCap removes what the run was not started with.
func inCap(f *Facts, e *tool.Entry) *tool.Removal {
	if f.Cap.Allows(e.Def.Name) {
		return nil
	}
	return &tool.Removal{
		Rule:   "cap",
		Reason: "it is not among the tools that the run was started with",
		Fix:    "start the run with " + e.Def.Name + " in its cap",
	}
}
