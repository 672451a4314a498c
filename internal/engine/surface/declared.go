package surface

import "github.com/goclaw/goclaw/internal/tool"

// declared leaves a run that declares its tools exactly those, and the internal
// ones, which are free of side effects.
func declared(f *Facts, e *tool.Entry) *tool.Removal {
	if e.Def.Internal || f.Declared.Allows(e.Def.Name) {
		return nil
	}
	return &tool.Removal{
		Rule:   "declared",
		Reason: "the step or profile declares its tools, and this is not one of them",
		Fix:    "declare " + e.Def.Name + " there",
	}
}
