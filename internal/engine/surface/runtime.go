package surface

import (
	"fmt"

	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// runtimeRule is the name of the rule of what a request brings. It is asked
// last, so that what it removes no other rule of the policies does.
const runtimeRule = "runtime"

// runtime is the rule of the lists that a request brings, nil when it brings
// none. Unlike a policy's, its allow list allows nothing when it is empty, and
// it names no optional tool: what a request may bring must not add to what the
// configuration permits.
func runtime(f *Facts, cat *tool.Catalog) *rule {
	if !f.Allow.Limited() && len(f.Deny) == 0 {
		return nil
	}
	r := &rule{name: runtimeRule, kind: lists, removed: map[*tool.Entry]*tool.Removal{}}
	if f.Allow.Limited() {
		r.allow = "the tools that the request allows"
	}
	allow, deny := parseAll(asTexts(f.Allow.Names())), parseAll(asTexts(f.Deny))
	for _, e := range cat.Entries {
		switch i := first(deny, e); {
		case i >= 0:
			r.removed[e] = &tool.Removal{
				Rule: r.name, Reason: fmt.Sprintf("denied by the request itself, with %q", f.Deny[i]),
				Fix: fmt.Sprintf("leave %q out of the request's tools_deny", f.Deny[i]),
			}
		case f.Allow.Limited() && first(allow, e) < 0:
			r.removed[e] = &tool.Removal{
				Rule: r.name, Reason: "not among the tools that the request itself allows",
				Fix: fmt.Sprintf("add %q to the request's tools_allow, or leave that out", e.Def.Name),
			}
		}
	}
	return r
}

func asTexts(names []string) []source.Text {
	out := make([]source.Text, len(names))
	for i, n := range names {
		out[i] = source.Text{Value: n}
	}
	return out
}
