// Package selection picks from a permitted surface what one request is shown:
// what is pinned, what the agent and the session used lately, and what the
// message calls for. A session keeps one list, whose tools keep their places,
// because a provider caches a prompt by its prefix and tools come first in it.
//
// A [Selector] belongs to one agent and lives as long as it. It keeps nothing
// of a session: what earlier turns left comes in with the state and goes out
// with it, so that the same state gives the same list. It blocks only while it
// computes, or while one of its options does; it starts nothing and has
// nothing to close.
//
// Start reading at [Selector.Select].
package selection

import (
	"context"

	"github.com/goclaw/goclaw/internal/tool"
)

// Options completes a [Selector].
type Options struct {
	Enabled bool // else everything is shown that is permitted
}

// Selector picks for the runs of one agent. It is safe for concurrent use.
type Selector struct{ o Options }

// New returns a selector.
func New(o Options) *Selector { return &Selector{o: o} }

// Request is what is picked from, and for what.
type Request struct {
	Catalog   *tool.Catalog
	Permitted []*tool.Entry // of the catalog, ordered by name
	Scope     tool.Scope
	State     tool.State
	Ask       tool.Ask
}

// Choice is what a request is shown, and why.
type Choice struct {
	Offered []*tool.Entry
	Picks   []tool.Pick // see [tool.Surface]
	Notices []string
	State   tool.State // what is to be known by the next request
}

// Select picks what a request is shown.
func (s *Selector) Select(_ context.Context, r Request) Choice {
	c := Choice{Offered: all(r.Permitted), State: r.State}
	c.State.Tools = tool.Names(c.Offered)
	if r.State.Picked != r.Scope.Run() {
		c.State.Picked, c.State.Used = r.Scope.Run(), nil
		for _, e := range c.Offered {
			c.Picks = append(c.Picks, tool.Pick{Tool: e.Def.Name, Why: tool.ForAll})
		}
	}
	return c
}

// all is what a request is shown when nothing is picked: the core tools, then
// the internal ones, then the others, each ordered by name as permitted is.
// Left out is only what no model may call.
func all(permitted []*tool.Entry) []*tool.Entry {
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
