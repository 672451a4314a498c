package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/tool"
)

// maxNearest is how many names are proposed in place of one that isn't there.
const maxNearest = 5

// offered refuses what the request was not offered. It tells what the caller's
// role withholds, and nothing of what policy took: an agent does not learn of
// tools that are denied to it.
func offered(_ context.Context, inv *invocation) bool {
	if inv.entry != nil && (inv.depth == 0 || selection.Hidden(inv.entry) == "") {
		return true
	}
	written := inv.out.Call.Name
	if r, ok := withheld(inv.surface.Removed, written); ok {
		inv.out.Tool = r.Tool
		return inv.refuse(&tool.Refusal{Rule: "role", Reason: r.Reason + ".", Where: r.Where})
	}
	inv.entry = nil
	return inv.refuse(&tool.Refusal{
		Rule:    "not_offered",
		Reason:  fmt.Sprintf("No tool %s was offered in this request, so nothing ran.", quoted(written)),
		Allowed: proposal(written, inv.from),
	})
}

// withheld finds what a name means among the tools that the role keeps away.
func withheld(removed []tool.Removal, name string) (tool.Removal, bool) {
	kept := surface.Withheld(removed)
	for _, r := range kept {
		if r.Tool == strings.TrimSpace(name) {
			return r, true
		}
	}
	for _, g := range guesses(name) {
		for _, r := range kept {
			if g.fits(r.Tool) {
				return r, true
			}
		}
	}
	return tool.Removal{}, false
}

// proposal names what can be called in place of name.
func proposal(name string, from []*tool.Entry) string {
	var names []string
	for _, e := range from {
		if selection.Hidden(e) == "" {
			names = append(names, e.Def.Name)
		}
	}
	if near := nearest.Names(unprefixed(name), names, maxNearest); len(near) > 0 {
		return "Nearest that were: " + strings.Join(near, ", ") + "."
	}
	switch {
	case len(names) == 0:
		return "No tool can be called in this request: answer without."
	case len(names) <= maxNearest:
		return "Those that were: " + strings.Join(names, ", ") + "."
	}
	return fmt.Sprintf("None of a similar name was; the nearest of the %d that were are %s.", len(names),
		strings.Join(nearest.Sorted(unprefixed(name), names, maxNearest), ", "))
}
