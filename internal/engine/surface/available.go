package surface

import (
	"context"

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
// for the tools of this run. An owner that gave no answer is not asked for its
// other tools.
func (d *Decider) bind(ctx context.Context, g *generation, s tool.Scope, t llm.Target) (bound, []Declined) {
	if len(g.factories) == 0 {
		return nil, nil
	}
	tools, declined := make(bound, len(g.factories)), []Declined(nil)
	late := map[tool.Owner]string{} // what the first of its factories was answered for
	for _, e := range g.factories {
		if !s.Cap().Allows(e.Def.Name) {
			continue
		}
		reason, silent := late[e.Owner], false
		var made tool.Tool
		if reason == "" {
			made, reason, silent = d.owners.Bind(ctx, e, tool.Binding{Scope: s, Target: t})
		}
		if silent {
			late[e.Owner] = reason
		}
		if made == nil {
			declined = append(declined, Declined{e.Def.Name, reason})
			continue
		}
		tools[e.Def.Name] = made
	}
	return tools, declined
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
