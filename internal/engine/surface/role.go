package surface

import (
	"cmp"
	"fmt"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/tool"
)

const roleLayer = "role"

// role removes what is kept from some callers, and what only makes sense where
// something else is set up. Its reason is the one text that a refused call and
// a search both show.
func role(f *Facts, e *tool.Entry) *tool.Removal {
	name := e.Def.Name
	switch privileged := (auth.Principal{Role: f.Role}).Privileged(); {
	case e.Def.OwnerOnly && (f.Role != auth.Admin || !f.Human):
		return &tool.Removal{
			Rule:   "owner_only",
			Reason: fmt.Sprintf("%s is for an administrator in person; it is withheld from %s", name, f.who()),
			Fix:    "let an administrator do it",
		}
	case (e.Def.AdminOnly || e.Def.DataWrite) && !privileged:
		return &tool.Removal{
			Rule:   "admin_only",
			Reason: fmt.Sprintf("%s needs an administrator; it is withheld from %s", name, f.who()),
			Fix:    "let an administrator do it",
		}
	case e.Def.DataWrite && !f.agent.Writable.On:
		return &tool.Removal{
			Rule:   "allow_write",
			Reason: fmt.Sprintf("%s needs a data source that may be written, and none has allow_write: true", name),
			Where:  f.agent.Writable.Where,
			Fix:    "set allow_write: true for one of datasources",
		}
	case e.Def.Finder && f.agent.Whole.On:
		return &tool.Removal{
			Rule:   "selection",
			Reason: fmt.Sprintf("%s has nothing to find: every permitted tool is shown", name),
			Where:  f.agent.Whole.Where,
			Fix:    "set " + cmp.Or(f.agent.Whole.Where.Key, "tools.rag.enabled") + ": true",
		}
	case e.Def.Finder && (f.Declared.Limited() || f.Origin == tool.FromSOP):
		return &tool.Removal{
			Rule:   "selection",
			Reason: fmt.Sprintf("%s is not for a step that declares its tools", name),
			Fix:    "declare the tools that the step needs",
		}
	}
	return nil
}

// who names the caller by what they may do.
func (f *Facts) who() string {
	switch {
	case f.Role == "":
		return `the role "nobody"`
	case f.Role == auth.Admin && !f.Human:
		return "whoever is no person"
	}
	return fmt.Sprintf("the role %q", f.Role)
}

// Withheld lists what the caller's role alone keeps away, in the order of
// removed: of what is denied to the agent as well nobody is told.
func Withheld(removed []tool.Removal) []tool.Removal {
	var out []tool.Removal
	for _, r := range removed {
		if r.Layer == roleLayer && !r.Secret {
			out = append(out, r)
		}
	}
	return out
}
