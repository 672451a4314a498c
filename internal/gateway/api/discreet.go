package api

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// discreet reports whether the caller is told of tools as an agent is: to it a
// tool that the configuration denies is none. It depends on who asks, not on
// whose run is looked at.
func (c Caller) discreet() bool { return c.Role != auth.Admin }

func secretIn(states []engine.StateLine) bool {
	return slices.ContainsFunc(states, func(s engine.StateLine) bool { return tool.Secret(s.Layer, s.Rule) })
}

// discreetly is v without what users are not told.
func (v Surface) discreetly() Surface {
	v.Removed = slices.DeleteFunc(slices.Clone(v.Removed), func(r tool.Removal) bool { return r.Secret() })
	for i := range v.Removed {
		v.Removed[i].Where = nearby(v.Removed[i].Where)
	}
	v.Doubts = nil // which would tell by silence that a denied tool exists
	return v
}

// known are the names of the tools of which v tells.
func (v Surface) known() []string {
	var names []string
	for _, list := range [][]Tool{v.Offered, v.Others} {
		for _, t := range list {
			names = append(names, t.Name)
		}
	}
	for _, r := range v.Removed {
		names = append(names, r.Tool)
	}
	slices.Sort(names)
	return names
}

// discreetly is x as users are told it. of is what they are told of all tools,
// and name what they asked for: of a tool that is denied to them they hear what
// they would of a name that nothing has.
func discreetly(x Explanation, of Surface, name string) Explanation {
	if x.Strange() || secretIn(x.States) {
		return engine.Strange(strings.TrimSpace(name), x.Agent, of.known())
	}
	x.States, x.Remarks = slices.Clone(x.States), slices.Clone(x.Remarks)
	for i := range x.States {
		x.States[i].Where = nearby(x.States[i].Where)
	}
	for i := range x.Remarks {
		x.Remarks[i].Where = nearby(x.Remarks[i].Where)
	}
	x.Doubts = nil
	return x
}

// nearby is p without the folder, which is the machine's business.
func nearby(p source.Pos) source.Pos {
	if p.File != "" {
		p.File = filepath.Base(p.File)
	}
	return p
}
