package surface

import (
	"fmt"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/tool"
)

const roleLayer = "role"

// role removes what is kept from callers without privilege. Its reason is the
// one text that a refused call and a search both show.
func role(f *Facts, e *tool.Entry) *tool.Removal {
	if !e.Def.AdminOnly || (auth.Principal{Role: f.Role}).Privileged() {
		return nil
	}
	who := string(f.Role)
	if who == "" {
		who = "nobody"
	}
	return &tool.Removal{
		Rule:   "admin_only",
		Reason: fmt.Sprintf("%s needs an administrator; it is withheld from the role %q", e.Def.Name, who),
		Fix:    "let an administrator do it",
	}
}

// Withheld lists what the caller's role alone keeps away, in the order of
// removed.
func Withheld(removed []tool.Removal) []tool.Removal {
	var out []tool.Removal
	for _, r := range removed {
		if r.Layer == roleLayer {
			out = append(out, r)
		}
	}
	return out
}
