package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent/prompt"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// models is the configured providers, and which of them an agent uses.
type models struct {
	config *config.Config
	env    config.Environ
	demo   bool
	set    *provider.Set

	ollamaWithin time.Duration
}

func newModels(c *config.Config, o Options, cache provider.Cache) *models {
	var settings []provider.Settings
	for name := range c.AI.Providers {
		settings = append(settings, providerSettings(c, name))
	}
	return &models{
		config: c, env: o.Environ, demo: o.AllowDemo,
		set:          provider.New(provider.Options{Vendors: builtin.Vendors(), Providers: settings, Cache: cache}),
		ollamaWithin: cmp.Or(o.OllamaWithin, 500*time.Millisecond),
	}
}

func providerSettings(c *config.Config, name string) provider.Settings {
	p, _ := c.Provider(name)
	s := provider.Settings{
		Name: name, Type: p.Type, BaseURL: p.BaseURL, Key: p.APIKey, Model: p.Model,
		ContextWindow: p.ContextWindow, MaxOutput: p.MaxOutputTokens, Images: p.Images, Files: p.Files, Tools: p.Tools,
		Prices: map[string]provider.Price{}, Headers: p.ExtraHeaders, Proxy: p.Proxy,
		Limits: provider.Limits{Total: p.Timeout, FirstByte: p.FirstByteTimeout, Idle: p.IdleTimeout},
	}
	if _, secret := config.SecretName(s.Key); secret {
		s.Key = "" // a reference is never sent in place of what it stands for
	}
	for model, price := range p.Prices {
		s.Prices[model] = provider.Price{In: price.In, Out: price.Out, Cached: price.Cached, CacheWrite: price.CacheWrite}
	}
	return s
}

// parameters are what the configuration sets for the requests of a provider.
func (m *models) parameters(name string) prompt.Parameters {
	p, ok := m.config.Provider(name)
	if !ok {
		return prompt.Parameters{}
	}
	return prompt.Parameters{MaxOutput: p.MaxOutputTokens, Temperature: p.Temperature, Reasoning: p.Reasoning}
}

// choose decides which provider and model an agent uses; model, when it isn't
// empty, goes before what is configured.
func (m *models) choose(ctx context.Context, a config.Agent, model string, probe bool) (config.Choice, error) {
	if model != "" {
		t, err := m.named(model)
		return config.Choice{Target: t, Why: "--model names it"}, err
	}
	s := config.Situation{Lookup: m.env.Lookup, Demo: m.demo}
	if probe {
		s.Ollama = func() ([]string, bool) {
			ctx, cancel := context.WithTimeout(ctx, m.ollamaWithin)
			defer cancel()
			names, err := m.set.List(ctx, "ollama")
			return names, err == nil
		}
	}
	c, err := m.config.Choose(a, s)
	if err != nil {
		return c, err
	}
	return c, m.keyed(c.Provider)
}

// named is what a model string of a request means.
func (m *models) named(model string) (config.Target, error) {
	t, err := m.config.Target(model)
	if err != nil {
		return config.Target{}, err
	}
	return t, m.keyed(t.Provider)
}

// check says why a model string of a request means nothing that can be asked.
func (m *models) check(model string) error {
	_, err := m.named(model)
	return err
}

// keyed reports an error for a provider whose key is a secret: asked without
// it, the provider would say something that misleads.
func (m *models) keyed(provider string) error {
	p, _ := m.config.Provider(provider)
	if name, ok := config.SecretName(p.APIKey); ok {
		return &secretKeyError{provider, name}
	}
	return nil
}

// secretKeyError is a [config.ErrNoKey] of a provider whose key is a secret.
type secretKeyError struct{ provider, secret string }

func (e *secretKeyError) Error() string {
	return fmt.Sprintf("choose provider: ai.providers.%s.api_key names the secret %s, and secrets are not in this version: write ${VARIABLE} there", e.provider, e.secret)
}

func (e *secretKeyError) Is(target error) bool { return target == config.ErrNoKey }

// target is what an agent's request would be built for, as far as that is
// known without asking anybody, also when it can't be made for want of a key;
// zero when it isn't.
func (m *models) target(ctx context.Context, a config.Agent, model string) llm.Target {
	// What keeps a choice from being asked is told when it is.
	c, _ := m.choose(ctx, a, model, false)
	if c.Provider == "" {
		return llm.Target{}
	}
	t, _ := m.set.For("", nil).Target(c.Provider + "/" + c.Model)
	return t
}

// isDemo reports whether provider/model is the script in place of a model.
func (m *models) isDemo(model string) bool {
	t, err := m.set.For("", nil).Target(model)
	return err == nil && t.Vendor == demoVendor
}

// demoVendor is the wire of the script.
const demoVendor = "demo"

// of makes the models of an agent. The provider is chosen when it is first
// needed, since that may ask a local Ollama.
func (m *models) of(a config.Agent) *agentModels {
	return &agentModels{models: m, agent: a}
}

// agentModels implements agent.Models for one agent.
type agentModels struct {
	*models
	agent config.Agent

	mu       sync.Mutex
	chosen   string // provider/model, once it is known
	missed   error  // why none was found when somebody last looked; nil when one was, or nobody did
	missedAt time.Time
}

// Stream implements agent.Models.
func (a *agentModels) Stream(ctx context.Context, model string, used bool, build func(llm.Target) (llm.Request, error)) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		model, err := a.asked(ctx, model)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		fallback, skipped := a.fallback()
		for _, why := range skipped {
			if !used && !yield(llm.Event{Type: llm.EventNotice, Kind: "fallback", Text: "not among the fallbacks: " + why}, nil) {
				return
			}
		}
		for e, err := range a.set.For("", fallback).Stream(ctx, model, used, build) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// asked is the provider and model that a run asks for, else the agent's own.
func (a *agentModels) asked(ctx context.Context, model string) (string, error) {
	if model == "" || model == a.agent.Model {
		return a.choice(ctx)
	}
	name, _, _ := strings.Cut(model, "/")
	return model, a.keyed(name)
}

// fallback lists what the agent asks when its model fails, and why others that
// are configured can't be asked.
func (a *agentModels) fallback() (list, skipped []string) {
	all := a.config.AI.Fallback
	if a.agent.Fallback != nil {
		all = a.agent.Fallback
	}
	for _, model := range all {
		name, _, _ := strings.Cut(model, "/")
		if err := a.keyed(name); err != nil {
			skipped = append(skipped, err.Error())
			continue
		}
		list = append(list, model)
	}
	return list, skipped
}

// choice is the agent's own model. A failure is not remembered: a key or an
// Ollama may come. Nor is what was chosen for a run that was stopped meanwhile,
// since an Ollama that had no time to answer counts as not there.
func (a *agentModels) choice(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.chosen == "" {
		c, err := a.choose(ctx, a.agent, "", true)
		if err := errors.Join(err, ctx.Err()); err != nil {
			return "", err
		}
		a.chosen = c.Provider + "/" + c.Model
	}
	return a.chosen, nil
}

// missFor is how long it is remembered that an agent has no model, for those
// who only look: a page that asks every second must not have a local Ollama
// looked for each time.
const missFor = 2 * time.Second

// known is what is known of the agent's own model without asking anybody.
func (a *agentModels) known(ctx context.Context) (string, error) {
	a.mu.Lock()
	chosen, missed := a.chosen, a.missed
	a.mu.Unlock()
	if chosen != "" || missed != nil {
		return chosen, missed
	}
	c, err := a.choose(ctx, a.agent, "", false)
	return c.Provider + "/" + c.Model, err
}

// lately is the agent's own model, as [agentModels.choice], for those who only
// look.
func (a *agentModels) lately(ctx context.Context) (string, error) {
	a.mu.Lock()
	missed := a.missed
	fresh := a.chosen == "" && time.Since(a.missedAt) < missFor
	a.mu.Unlock()
	if fresh {
		return "", missed
	}
	model, err := a.choice(ctx)
	if err == nil || ctx.Err() == nil {
		a.mu.Lock()
		a.missed, a.missedAt = err, time.Now()
		a.mu.Unlock()
	}
	return model, err
}

// probed is what the agent's request would be built for, after a local Ollama was
// looked for where nothing else is set up, and the server was asked what the
// model takes. Both answers are remembered for a while. model goes before the
// agent's own.
func (a *agentModels) probed(ctx context.Context, model string) llm.Target {
	t := a.target(ctx, a.agent, model)
	if t.Provider == "" {
		found, err := a.lately(ctx)
		if err != nil {
			return t
		}
		t, _ = a.set.For("", nil).Target(found)
	}
	asked, err := a.set.For("", nil).Asked(ctx, t.String())
	if err != nil {
		return t // why it can't be asked is told when it is
	}
	return asked
}

// Choice is the provider and model that answers.
type Choice struct {
	config.Choice
	// Found says that nobody wrote it down: it was found in the environment.
	Found bool
	// Demo says that a script answers in place of a model.
	Demo bool
}

// Choose says which provider and model an agent uses, and why. model, when it
// isn't empty, goes before what is configured.
func (g *Gateway) Choose(ctx context.Context, agent, model string) (Choice, error) {
	a, ok := g.Config.Agent(agent)
	if !ok {
		return Choice{}, g.noAgent(agent)
	}
	c, err := g.models.choose(ctx, a, model, true)
	return Choice{
		Choice: c, Found: model == "" && a.Model == "" && g.Config.AI.Provider == "",
		Demo: err == nil && g.models.isDemo(c.Provider+"/"+c.Model),
	}, err
}

// ListModels asks a provider which models it has. It returns nil without an
// error when the provider can't be asked that.
func (g *Gateway) ListModels(ctx context.Context, name string) ([]string, error) {
	return g.models.set.List(ctx, name)
}
