package gateway

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/engine/spill"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/extend/host"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/plugin"
)

// register makes a registry with all that is compiled in. What the tools are
// given is used only when they run.
func register(limits spill.Options, picks *selection.Selector, d builtin.Deps, sessions session.Store, blobs *blob.Keeper, plugins *host.Host) (*tool.Registry, error) {
	r := tool.NewRegistry()
	r.Add(tool.Owner{Kind: tool.CoreOwner, ID: "spill"}, spill.Tools(blobs, limits)...)
	r.Add(tool.Owner{Kind: tool.CoreOwner, ID: "selection"}, picks.Tools(r.Catalog)...)
	r.Add(tool.Owner{Kind: tool.CoreOwner, ID: "engine"}, engine.Tools()...)
	r.Add(tool.Owner{Kind: tool.CoreOwner, ID: "session"}, session.Tools(sessions)...)
	d.Refs, d.Now = spill.Refs(blobs), time.Now
	if err := builtin.Register(r, d); err != nil {
		return nil, err
	}
	plugins.Join(r)
	return r, nil
}

// compiledIn is a registry whose tools are looked at and never run.
func compiledIn(plugins []plugin.Plugin) (*tool.Registry, error) {
	h := host.New(slog.New(slog.DiscardHandler), nil)
	if err := h.Load(plugins...); err != nil {
		return nil, err
	}
	return register(spill.Options{}, selection.New(selection.Options{}), builtin.Deps{Workspaces: workspace.NewSet()}, nil, nil, h)
}

// DiagnosePolicies tells of entries in the policies and hooks of c that select
// nothing: a mistyped deny protects nothing. It opens nothing.
func DiagnosePolicies(c *config.Config, plugins []plugin.Plugin) ([]surface.Diagnosis, error) {
	r, err := compiledIn(plugins)
	if err != nil {
		return nil, err
	}
	var all []surface.Diagnosis
	seen := map[string]bool{}
	for _, a := range c.Agents() {
		for _, d := range surface.New(policies(c, a), nil).Diagnose(r.Catalog()) {
			if !seen[d.String()] {
				seen[d.String()] = true
				all = append(all, d)
			}
		}
	}
	for _, h := range c.Hooks {
		all = append(all, surface.DiagnoseList(r.Catalog(), h.Tools)...)
	}
	return all, nil
}

// datasources are the databases of the configuration.
func datasources(c *config.Config) []builtin.Datasource {
	var list []builtin.Datasource
	for _, d := range c.Datasources {
		if d.Driver == "sqlite" {
			list = append(list, builtin.Datasource{Name: d.Name, DSN: d.DSN, AllowWrite: d.AllowWrite, MaxRows: d.MaxRows})
		}
	}
	return list
}

// policies are the lists of the configuration that an agent's runs are held to.
func policies(c *config.Config, a config.Agent) surface.Policies {
	p := surface.Policies{Global: block(c.Tools), Agent: block(a.Tools), Groups: map[string]map[string]surface.Policy{}}
	for name, ch := range c.Channels {
		p.Groups[name] = map[string]surface.Policy{}
		for group, g := range ch.Groups {
			p.Groups[name][group] = policy(g.Tools)
		}
	}
	p.Providers = slices.Sorted(maps.Keys(c.AI.Providers))
	own := "agents.list[" + a.ID + "]."
	p.Skills = surface.Skills{Where: c.Where(own + "skills.allow")}
	for i, name := range a.Skills.Allow {
		p.Skills.Allow = append(p.Skills.Allow, source.Text{Value: name, Pos: c.Where(fmt.Sprintf("%sskills.allow[%d]", own, i))})
	}
	for i, name := range a.Tools.Core {
		p.Core = append(p.Core, source.Text{Value: name, Pos: c.Where(fmt.Sprintf("%stools.core[%d]", own, i))})
	}
	p.Writable.Where = c.Where("datasources")
	for _, d := range c.Datasources {
		p.Writable.On = p.Writable.On || d.AllowWrite
	}
	p.Delegates = surface.Setting{On: len(a.Subagents.AllowAgents) > 0, Where: c.Where(own + "subagents.allow_agents")}
	p.MaxDepth = c.Subagents.Limits.Depth
	p.Whole = surface.Setting{On: !a.Tools.RAG.Enabled, Where: c.Where(own + "tools.rag.enabled")}
	return p
}

func block(t config.Tools) surface.Block {
	b := surface.Block{
		Policy: policy(t.Rule), ByProvider: map[string]surface.Policy{}, BySender: map[string]surface.Policy{},
		Sandbox:   surface.Policy{Allow: t.Sandbox.Allow, Deny: t.Sandbox.Deny},
		Subagents: surface.Policy{Allow: t.Subagents.Allow, Deny: t.Subagents.Deny},
	}
	for name, r := range t.ByProvider {
		b.ByProvider[name] = policy(r)
	}
	for name, r := range t.BySender {
		b.BySender[name] = policy(r)
	}
	return b
}

func policy(r config.Rule) surface.Policy {
	return surface.Policy{Profile: r.Profile, Allow: r.Allow, AlsoAllow: r.AlsoAllow, Deny: r.Deny}
}
