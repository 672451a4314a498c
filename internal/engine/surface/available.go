package surface

import (
	"fmt"
	"runtime/debug"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// available removes what its factory did not make for this run.
func available(f *Facts, e *tool.Entry) *tool.Removal {
	for _, d := range f.Declined {
		if d.Tool == e.Def.Name {
			return &tool.Removal{
				Rule:   "factory",
				Reason: "it is not available here: " + d.Reason,
				Fix:    "mend what it names as missing",
			}
		}
	}
	return nil
}

// bound are the tools that factories made for one run, by name.
type bound map[string]tool.Tool

// bind asks the factories of the catalog, as far as the run's cap reaches,
// for the tools of this run.
func (d *Decider) bind(g *generation, s tool.Scope, t llm.Target) (bound, []Declined) {
	if len(g.factories) == 0 {
		return nil, nil
	}
	tools, declined := make(bound, len(g.factories)), []Declined(nil)
	for _, e := range g.factories {
		if !s.Cap().Allows(e.Def.Name) {
			continue
		}
		made, reason := d.make(e, s, t)
		if made == nil {
			if reason == "" {
				reason = "its owner gave no reason"
			}
			declined = append(declined, Declined{e.Def.Name, reason})
			continue
		}
		tools[e.Def.Name] = made
	}
	return tools, declined
}

// make calls one factory, which is code of the tool's owner and may break.
func (d *Decider) make(e *tool.Entry, s tool.Scope, t llm.Target) (made tool.Tool, reason string) {
	defer func() {
		if v := recover(); v != nil {
			d.log.Error("the factory of a tool panicked", "tool", e.Def.Name, "owner", e.Owner.String(),
				"panic", v, "stack", string(debug.Stack()))
			made, reason = nil, fmt.Sprintf("its factory is broken (%v)", v)
		}
	}()
	return e.Tool.(tool.Binder).Bind(tool.Binding{Scope: s, Target: t})
}

// with is the decision with the tools that were made for one run in the place
// of their factories.
func (dec *Decision) with(tools bound) *Decision {
	if len(tools) == 0 {
		return dec
	}
	out := *dec
	out.Permitted = make([]*tool.Entry, len(dec.Permitted))
	for i, e := range dec.Permitted {
		if made := tools[e.Def.Name]; made != nil {
			own := *e
			own.Tool = made
			e = &own
		}
		out.Permitted[i] = e
	}
	return &out
}
