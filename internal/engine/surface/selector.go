package surface

import (
	"strings"

	"github.com/goclaw/goclaw/internal/tool"
)

// Groups are the names that may follow group: in a list, in the order in which
// people read them.
var Groups = []string{
	"fs", "shell", "git", "web", "data", "dev", "media", "memory", "sessions",
	"automation", "messaging", "code", "plugins", "mcp",
}

// Profiles are the named profiles with the categories that they let pass
// beside core and internal tools. The nil list lets everything pass.
var Profiles = map[string][]string{
	"full":      nil,
	"coding":    {"fs", "shell", "git", "web", "memory", "sessions", "code"},
	"messaging": {"messaging", "memory", "sessions"},
	"minimal":   {},
}

// form is what an entry of a list is.
type form uint8

const (
	exact form = iota
	pattern
	group
	plugin
	server
)

// selector is an entry of a list, read.
type selector struct {
	form form
	text string // without its prefix, lower case
}

func parseSelector(text string) selector {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, p := range [...]struct {
		prefix string
		form   form
	}{{"group:", group}, {"plugin:", plugin}, {"mcp:", server}} {
		if rest, ok := strings.CutPrefix(text, p.prefix); ok {
			return selector{p.form, strings.TrimSpace(rest)}
		}
	}
	if isPattern(text) {
		return selector{pattern, text}
	}
	return selector{exact, text}
}

// matches reports whether the selector selects e. An empty one selects nothing.
func (s selector) matches(e *tool.Entry) bool {
	switch s.form {
	case exact:
		return s.text == e.Def.Name
	case pattern:
		return match(s.text, e.Def.Name)
	case group:
		return inCategory(s.text, e)
	case plugin:
		return isPlugin(e.Owner) && match(s.text, strings.ToLower(e.Owner.ID))
	default:
		return e.Owner.Kind == tool.MCPOwner && match(s.text, strings.ToLower(e.Owner.ID))
	}
}

// names reports whether the selector can name an optional tool: by its own name
// or its owner's.
func (s selector) names() bool {
	return s.form != pattern && s.form != group && !isPattern(s.text)
}

func inCategory(name string, e *tool.Entry) bool {
	switch name {
	case "":
		return false
	case "plugins":
		return isPlugin(e.Owner)
	case "mcp":
		return e.Owner.Kind == tool.MCPOwner
	}
	return name == e.Def.Category
}

func isPlugin(o tool.Owner) bool {
	return o.Kind == tool.PluginOwner || o.Kind == tool.SubprocessOwner
}

// ownerSelector is the entry that selects all tools of o, if there is one.
func ownerSelector(o tool.Owner) string {
	switch {
	case isPlugin(o):
		return "plugin:" + o.ID
	case o.Kind == tool.MCPOwner:
		return "mcp:" + o.ID
	}
	return ""
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

func isPattern(text string) bool { return strings.ContainsAny(text, "*?") }

// match reports whether pattern, in which * is any number of characters and ?
// is one, is all of text. Its time is bounded by the product of both lengths.
func match(pattern, text string) bool {
	p, t := 0, 0
	star, after := -1, 0 // the last star, and where in text what follows it was tried
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, after = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			after++
			p, t = star+1, after
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
