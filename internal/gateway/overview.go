package gateway

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// callsOf is how far back calls are counted.
const callsOf = 30 * 24 * time.Hour

// KnownTools implements [api.Backend].
func (g *Gateway) KnownTools(ctx context.Context, req run.Request, f api.ToolFilter) (api.KnownTools, error) {
	look, err := g.Look(ctx, req)
	if err != nil {
		return api.KnownTools{}, err
	}
	all, err := look.Agent.Engine.Overview(ctx, look.Scope, look.Target, look.State, look.Ask, time.Now().Add(-callsOf))
	if err != nil {
		return api.KnownTools{}, err
	}
	page := api.KnownTools{Agent: look.Scope.Agent(), Target: look.Target, Tools: []api.KnownTool{}, States: map[string]int{}}
	for _, k := range all {
		t := known(&k)
		if !f.Holds(t) {
			continue
		}
		page.Total++
		page.States[t.Stopped]++
		switch {
		case f.State != nil && *f.State != t.Stopped, f.After != "" && t.Name <= f.After:
		case len(page.Tools) < f.Limit:
			page.Tools = append(page.Tools, t)
		default:
			page.Next = page.Tools[len(page.Tools)-1].Name
		}
	}
	return page, nil
}

func known(k *engine.Known) api.KnownTool {
	t := api.KnownTool{Name: k.Tool, States: k.States, Stopped: k.Stopped(), Fix: k.Fix, Calls: k.Calls}
	if e := k.Entry; e != nil {
		line, _, _ := strings.Cut(e.Def.Description, "\n")
		t.Description, t.Owner, t.Category = line, e.Owner.String(), e.Def.Category
		t.ReadOnly = e.Def.ReadOnly
	}
	// Of a tool that never came to be no layer says whether it would be denied.
	t.Secret = k.Entry == nil || k.Secret()
	return t
}

// Tool implements [api.Backend].
func (g *Gateway) Tool(ctx context.Context, req run.Request, name string) (api.ToolDetail, error) {
	look, err := g.Look(ctx, req)
	if err != nil {
		return api.ToolDetail{}, err
	}
	x, err := g.explained(ctx, look, req, name)
	if err != nil {
		return api.ToolDetail{}, err
	}
	d := api.ToolDetail{Explanation: x, Schemas: []api.ToolSchema{}}
	cat := look.Agent.Engine.Known(look.Scope)
	entry, ok := cat.Find(x.Tool)
	if !ok {
		if slices.ContainsFunc(cat.Notes, func(n tool.Note) bool { return n.Tool == x.Tool }) {
			return d, nil // it never came to be, and why stands in the explanation
		}
		return d, api.NoTool(name)
	}
	stats, err := look.Agent.Engine.Stats(ctx, look.Scope, x.Tool, time.Now().Add(-callsOf))
	if err != nil {
		return d, err
	}
	if c := stats[x.Tool]; c != nil {
		d.Calls = *c
	}
	shown := listed(entry)
	d.Tool, d.Tags, d.Output = &shown, entry.Def.Tags, entry.Def.Output
	for _, p := range g.ProvidersInUse(ctx, false) {
		dialect := g.models.set.Dialect(llm.Target{Provider: p.Name})
		shown, removal := surface.Show(dialect, entry)
		s := api.ToolSchema{Provider: p.Name}
		if removal != nil {
			s.Problem = removal.Reason
		} else {
			s.Description, s.Parameters, s.Changes = shown.Spec.Description, shown.Spec.Parameters, shown.Changes
		}
		d.Schemas = append(d.Schemas, s)
	}
	return d, nil
}
