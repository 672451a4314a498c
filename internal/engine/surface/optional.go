package surface

import "github.com/goclaw/goclaw/internal/tool"

// optional removes tools that take part only when a list names them and that
// none does. A wildcard or a group is no naming.
func optional(f *Facts, e *tool.Entry) *tool.Removal {
	if !e.Def.Optional {
		return nil
	}
	for _, r := range f.rules {
		if r.named[e] {
			return nil
		}
	}
	fix := "add " + e.Def.Name
	if owner := e.Owner.Selector(); owner != "" {
		fix += " or " + owner
	}
	return &tool.Removal{
		Rule:   "optional",
		Reason: "it is optional, and no allow list names it (wildcards and groups don't count)",
		Fix:    fix + " to tools.also_allow",
	}
}
