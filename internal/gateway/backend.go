package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/agent/prompt"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/tool"
)

// The gateway is what the HTTP interface asks; the command line asks it the
// same.
var _ api.Backend = (*Gateway)(nil)

// Agents implements [api.Backend]. Where nothing else decides, a local Ollama
// is looked for, which can take half a second; that it isn't there is
// remembered for a moment.
func (g *Gateway) Agents(ctx context.Context) []api.Agent {
	return g.describeAll(func(a *agentModels) (string, error) { return a.lately(ctx) })
}

// Models implements [api.Backend]. It asks no provider for its list.
func (g *Gateway) Models(ctx context.Context, agent, model string) (api.ModelChoices, error) {
	c := api.ModelChoices{Agent: agent}
	if model != "" {
		t, err := g.models.named(model)
		if err != nil {
			return c, err
		}
		c.Asked = t.Provider + "/" + t.Model
	}
	a, err := g.Agent(agent)
	if err != nil {
		return c, err
	}
	if c.Default, err = a.models.lately(ctx); err != nil {
		c.Default = "" // why stands with the agent
	} else {
		c.Models = append(c.Models, c.Default)
	}
	for _, p := range g.ProvidersInUse(ctx, false) {
		offered, err := g.OfferedModels(ctx, p.Name, false)
		if err != nil || g.ProviderProblem(p.Name) != nil {
			continue // doctor says why
		}
		for _, m := range offered {
			if name := p.Name + "/" + m.Name; !slices.Contains(c.Models, name) {
				c.Models = append(c.Models, name)
			}
		}
	}
	return c, nil
}

func (g *Gateway) describeAll(model func(*agentModels) (string, error)) []api.Agent {
	var list []api.Agent
	for _, c := range g.Config.Agents() {
		list = append(list, g.describe(c, model))
	}
	return list
}

// describe says who answers for an agent, or why nobody does.
func (g *Gateway) describe(c config.Agent, modelOf func(*agentModels) (string, error)) api.Agent {
	d := api.Agent{ID: c.ID, Name: c.Name, Default: c.Default}
	a, err := g.Agent(c.ID)
	if err != nil {
		d.Problem = err.Error()
		return d
	}
	model, err := modelOf(a.models)
	if err != nil {
		d.Problem = err.Error()
		return d
	}
	d.Provider, d.Model, _ = strings.Cut(model, "/")
	d.Demo = g.models.isDemo(model)
	return d
}

// Surface implements [api.Backend]. A surface that is empty because lists leave
// nothing is what was asked for, though a run would end with it.
func (g *Gateway) Surface(ctx context.Context, req run.Request) (api.Surface, error) {
	look, err := g.Look(ctx, req)
	if err != nil {
		return api.Surface{}, err
	}
	sf, err := look.Agent.Engine.Offer(ctx, look.Scope, look.Target, look.State, look.Ask)
	var none *engine.NoToolsError
	if err != nil && !errors.As(err, &none) {
		return api.Surface{}, err
	}
	v := api.Surface{
		Agent: look.Scope.Agent(), Session: req.Session, Origin: req.Origin, Role: req.Caller.Role, Target: sf.Target,
		Offered: []api.Tool{}, Others: []api.Tool{}, Removed: append([]tool.Removal{}, sf.Removed...), Picks: sf.Picks, Notices: sf.Notices,
		Doubts: g.doubts(look, req),
	}
	for _, e := range sf.Offered {
		v.Offered = append(v.Offered, listed(e))
	}
	for _, e := range sf.Permitted {
		if _, ok := tool.Find(sf.Offered, e.Def.Name); !ok {
			v.Others = append(v.Others, listed(e))
		}
	}
	return v, nil
}

func listed(e *tool.Entry) api.Tool {
	d := e.Def
	return api.Tool{
		Name: d.Name, Description: d.Description, Owner: e.Owner.String(), Category: d.Category,
		ReadOnly: d.ReadOnly, Internal: d.Internal, Core: d.Core, Parameters: d.Parameters,
	}
}

// Prompt implements [api.Backend].
func (g *Gateway) Prompt(ctx context.Context, req run.Request) (api.Prompt, error) {
	p, err := g.PreviewPrompt(ctx, req)
	if err != nil {
		return api.Prompt{}, err
	}
	v := api.Prompt{
		Agent: p.Agent, Session: p.Session, Target: p.Request.Target, Sections: []api.PromptSection{},
		Window: p.Request.Target.ContextWindow, Last: p.LastUsage,
	}
	var before map[string]string // digests by name
	if p.Last != nil {
		before = map[string]string{}
		for _, s := range p.Last.Sections {
			before[s.Name] = s.Digest
		}
	}
	for _, s := range p.Sections {
		section := api.PromptSection{
			Name: s.Name, Place: s.Place, Source: s.Source, Bytes: s.Bytes, Tokens: prompt.Tokens(s.Bytes), Text: s.Text,
		}
		// What follows the person's words is new each turn.
		if before != nil && s.Place != prompt.Message {
			switch digest, known := before[s.Name]; {
			case !known:
				section.Changed = "new"
			case digest != s.Digest:
				section.Changed = "changed"
			}
		}
		v.Sections = append(v.Sections, section)
	}
	for _, t := range p.Request.Tools {
		v.Tools.Count++
		v.Tools.Bytes += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	v.Tools.Tokens = prompt.Tokens(v.Tools.Bytes)
	// The last message is the one that the request is for.
	for _, m := range p.Request.Messages[:max(len(p.Request.Messages)-1, 0)] {
		v.Messages.Count++
		v.Messages.Bytes += prompt.Bytes(m)
	}
	v.Messages.Tokens = prompt.Tokens(v.Messages.Bytes)
	return v, nil
}

// lister is the tool by which an agent learns what files there are. A person
// learns no more of them through the agent.
const lister = "file_list"

// Files implements [api.Backend]. It is refused where the run would not be
// permitted to list the files itself.
func (g *Gateway) Files(ctx context.Context, req run.Request, query string, limit int) (api.Files, error) {
	look, err := g.Look(ctx, req)
	if err != nil {
		return api.Files{}, err
	}
	sf, err := look.Agent.Engine.Offer(ctx, look.Scope, look.Target, look.State, look.Ask)
	var none *engine.NoToolsError
	if err != nil && !errors.As(err, &none) {
		return api.Files{}, err
	}
	if _, ok := tool.Find(sf.Permitted, lister); !ok {
		why := "there is no such tool"
		for _, r := range sf.Removed {
			if r.Tool == lister && (!r.Secret || look.Scope.Caller().Privileged()) {
				why = r.Reason
			}
		}
		return api.Files{}, trouble(http.StatusForbidden, "refused", "the files of this agent can't be listed, since "+lister+" is not permitted: "+why)
	}
	ws, err := g.workspaces.Open(look.Scope.Workspace())
	if err != nil {
		return api.Files{}, err
	}
	found, err := ws.Find(ctx, query, limit)
	if err != nil {
		return api.Files{}, err
	}
	f := api.Files{Agent: look.Scope.Agent(), Files: []api.File{}, LeftOut: found.LeftOut, Partial: found.Partial}
	for _, n := range found.Names {
		f.Files = append(f.Files, api.File{Path: n.Path, Folder: n.Folder})
	}
	return f, nil
}

// DeleteSession implements [api.Backend].
func (g *Gateway) DeleteSession(ctx context.Context, key session.Key) error {
	g.Runner.Settle(ctx, key)
	if going, _ := g.Runner.Session(key); going != nil {
		return fmt.Errorf("delete session %s: %w", key, session.ErrHeld)
	}
	s, err := g.Sessions.Session(ctx, key)
	if err != nil {
		return err
	}
	if err := session.Delete(ctx, g.Sessions, g.holds, key); err != nil {
		return err
	}
	g.Hooks.SessionEnd(hook.Session{Agent: key.Agent, ID: key.ID, Caller: s.Caller, Origin: s.Origin})
	g.Runner.Touch(key)
	return nil
}

// Status implements [api.Backend]. It asks nobody and takes microseconds.
func (g *Gateway) Status(ctx context.Context) api.Status {
	agents := g.describeAll(func(a *agentModels) (string, error) { return a.known(ctx) })
	pool := g.pool.Stats()
	fault := g.storeFault()
	s := api.Status{
		Version: g.opts.Version, Started: g.started, Ready: g.ready.Load() && fault == nil, Fault: fault, Problems: g.problems(agents, fault),
		Providers: g.providers(agents), Pool: api.PoolStatus{Workers: g.pool.Workers(), Busy: pool.Busy, Spare: pool.Spare, Queued: pool.Queued + pool.Blocked},
	}
	s.Runs.Running, s.Runs.Queued = g.Runner.Count()
	return s
}

// problems are what an admin should know and mend.
func (g *Gateway) problems(agents []api.Agent, fault error) []string {
	list := []string{}
	if fault != nil {
		list = append(list, fault.Error())
	}
	if disks := g.disks.Load(); disks != nil {
		for _, p := range *disks {
			list = append(list, p.String())
		}
	}
	if err := g.store.Replaced(); err != nil {
		list = append(list, err.Error())
	}
	if g.Config.Notice != "" {
		list = append(list, g.Config.Notice)
	}
	if changed := ConfigChanged(config.Options{Home: g.opts.Home, Environ: g.opts.Environ}, g.actedDigest()); changed != "" {
		list = append(list, changed)
	}
	for _, w := range g.Config.Warnings {
		list = append(list, w.String())
	}
	if g.pluginProblem != "" {
		list = append(list, g.pluginProblem)
	}
	if g.forsaken != "" {
		list = append(list, "agent "+g.forsaken+". To keep it: "+KeepMain)
	}
	for _, a := range agents {
		if a.Problem != "" {
			list = append(list, "agent "+a.ID+": "+a.Problem)
		}
	}
	return list
}

// providers tells how those do that agents use or fall back to, and all others
// that are in trouble.
func (g *Gateway) providers(agents []api.Agent) []api.ProviderStatus {
	used := slices.Clone(g.Config.AI.Fallback)
	for _, a := range agents {
		if a.Provider != "" {
			used = append(used, a.Provider+"/"+a.Model)
		}
		if c, ok := g.Config.Agent(a.ID); ok {
			used = append(used, c.Fallback...)
		}
	}
	list := []api.ProviderStatus{}
	for _, s := range g.models.set.State() {
		name := s.Target.String()
		// A name without a model stands for the provider's own.
		isUsed := slices.Contains(used, name) || slices.Contains(used, s.Target.Provider)
		if !isUsed && s.Failures == 0 && s.Cooling.IsZero() {
			continue
		}
		reason := s.Problem
		if !s.LastFailed.IsZero() {
			reason = s.LastError
		}
		list = append(list, api.ProviderStatus{Provider: s.Target.Provider, Model: s.Target.Model, Failures: s.Failures, Until: s.Cooling, LastFailed: s.LastFailed, Reason: reason})
	}
	for _, name := range used {
		provider, model, _ := strings.Cut(name, "/")
		known := slices.ContainsFunc(list, func(p api.ProviderStatus) bool {
			return p.Provider == provider && (model == "" || p.Model == model)
		})
		if !known {
			list = append(list, api.ProviderStatus{Provider: provider, Model: model})
		}
	}
	return list
}

// trouble makes a problem for a client of the HTTP interface.
func trouble(status int, code, detail string) *api.Problem {
	return &api.Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}
