package surface

import (
	"fmt"

	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

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
	if near := widely(f.rules, e); near != nil {
		return near
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

// widely is the removal of an optional tool that a list means and does not name;
// nil when there is no such list.
func widely(rules []*rule, e *tool.Entry) *tool.Removal {
	for _, list := range []struct {
		name string
		of   func(*rule) []source.Text
	}{
		{"also_allow", func(r *rule) []source.Text { return r.policy.AlsoAllow }},
		{"allow", func(r *rule) []source.Text { return r.policy.Allow }},
	} {
		for _, r := range rules {
			i := first(parseAll(list.of(r)), e)
			if i < 0 {
				continue
			}
			entry := list.of(r)[i]
			key := r.key(entry.Pos, list.name)
			add := fmt.Sprintf("%q", e.Def.Name)
			if owner := e.Owner.Selector(); owner != "" {
				add += fmt.Sprintf(" or %q", owner)
			}
			return &tool.Removal{
				Rule: "optional", Where: entry.Pos,
				Reason: fmt.Sprintf("it is optional, and %q of %s names no tool (wildcards and groups don't count)", entry.Value, key),
				Fix:    fmt.Sprintf("write %s beside %q in %s", add, entry.Value, key),
			}
		}
	}
	return nil
}
