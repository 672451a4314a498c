package tool

import "strings"

// Groups are the names that may follow group: in a list of tools, in the order
// in which people read them.
var Groups = []string{
	"fs", "shell", "git", "web", "data", "dev", "media", "memory", "sessions",
	"automation", "messaging", "code", "plugins", "mcp", "client",
}

// SelectorKind is what an entry of a list of tools selects by.
type SelectorKind uint8

const (
	ByName    SelectorKind = iota // a tool's canonical name
	ByPattern                     // * is any number of characters, ? is one
	ByGroup                       // group:fs: a category, or what kind of owner brought it
	ByPlugin                      // plugin:ID: all that the plugin brought
	ByServer                      // mcp:ID: all that the MCP server has
)

// Selector is an entry of a list of tools, as policies and rules on calls have
// them.
type Selector struct {
	Kind SelectorKind
	Text string // without its prefix, lower case
}

// ParseSelector reads an entry of a list. Every text is one; an empty one
// selects nothing.
func ParseSelector(text string) Selector {
	text = strings.ToLower(strings.TrimSpace(text))
	for _, p := range [...]struct {
		prefix string
		kind   SelectorKind
	}{{"group:", ByGroup}, {"plugin:", ByPlugin}, {"mcp:", ByServer}} {
		if rest, ok := strings.CutPrefix(text, p.prefix); ok {
			return Selector{p.kind, strings.TrimSpace(rest)}
		}
	}
	if isPattern(text) {
		return Selector{ByPattern, text}
	}
	return Selector{ByName, text}
}

// Selects reports whether s selects the tool of that definition that owner
// brought.
func (s Selector) Selects(d *Definition, owner Owner) bool {
	switch s.Kind {
	case ByName:
		return s.Text == d.Name
	case ByPattern:
		return match(s.Text, d.Name)
	case ByGroup:
		return inGroup(s.Text, d, owner)
	case ByPlugin:
		return owner.isPlugin() && match(s.Text, strings.ToLower(owner.ID))
	default:
		return owner.Kind == MCPOwner && match(s.Text, strings.ToLower(owner.ID))
	}
}

// Names reports whether s can name an optional tool: by its own name or its
// owner's.
func (s Selector) Names() bool {
	return s.Kind != ByPattern && s.Kind != ByGroup && !isPattern(s.Text)
}

func inGroup(name string, d *Definition, owner Owner) bool {
	switch name {
	case "":
		return false
	case "plugins":
		return owner.isPlugin()
	case "mcp":
		return owner.Kind == MCPOwner
	case "client":
		return owner.Kind == ClientOwner
	}
	return name == d.Category
}

func (o Owner) isPlugin() bool { return o.Kind == PluginOwner || o.Kind == SubprocessOwner }

// Selector is the entry that selects all tools of o, "" when there is none.
func (o Owner) Selector() string {
	switch {
	case o.isPlugin():
		return "plugin:" + o.ID
	case o.Kind == MCPOwner:
		return "mcp:" + o.ID
	}
	return ""
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
