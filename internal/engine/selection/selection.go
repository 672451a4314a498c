// Package selection picks from a permitted surface what one request is shown.
// What it shows is everything that may be shown, in an order that does not
// depend on the message, so that equal surfaces are equal bytes: a provider
// caches a prompt by its prefix, and tools come first in it.
//
// It is a function without state. Start reading at [Pick].
package selection

import "github.com/goclaw/goclaw/internal/tool"

// Pick returns what a request is shown of the permitted tools, which are
// ordered by name: the core tools, then the internal ones, then the others,
// each ordered by name. Left out is only what no model may call.
func Pick(permitted []*tool.Entry) []*tool.Entry {
	picked := make([]*tool.Entry, 0, len(permitted))
	for rank := range ranks {
		for _, e := range permitted {
			if rankOf(e) == rank {
				picked = append(picked, e)
			}
		}
	}
	return picked
}

// Hidden says why a permitted tool is never shown to a model; it is empty when
// nothing speaks against it.
func Hidden(e *tool.Entry) string {
	if e.Def.Inverse {
		return "it undoes what another tool did and is never offered to a model"
	}
	return ""
}

// ranks is the number of groups in which tools are shown.
const ranks = 3

// rankOf is the group of e; what is hidden is in none.
func rankOf(e *tool.Entry) int {
	switch {
	case e.Def.Inverse:
		return ranks
	case e.Def.Core:
		return 0
	case e.Def.Internal:
		return 1
	}
	return 2
}
