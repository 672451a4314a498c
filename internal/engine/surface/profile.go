package surface

import "github.com/goclaw/goclaw/internal/tool"

// Profiles are the named profiles with the categories that they let pass
// beside core and internal tools. The nil list lets everything pass.
var Profiles = map[string][]string{
	"full":      nil,
	"coding":    {"fs", "shell", "git", "web", "memory", "sessions", "code"},
	"messaging": {"messaging", "memory", "sessions"},
	"minimal":   {},
}

// inProfile reports whether a profile lets e pass. A profile that doesn't
// exist lets pass what the smallest one does.
func inProfile(name string, e *tool.Entry) bool {
	categories, known := Profiles[name]
	if known && categories == nil || e.Def.Core || e.Def.Internal {
		return true
	}
	for _, c := range categories {
		if c == e.Def.Category {
			return true
		}
	}
	return false
}
