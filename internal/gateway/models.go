package gateway

import (
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
}

// ollamaWithin is how long a local Ollama may take to say that it is there.
const ollamaWithin = 500 * time.Millisecond

func newModels(c *config.Config, o Options) *models {
	var settings []provider.Settings
	for name := range c.AI.Providers {
		settings = append(settings, providerSettings(c, name))
	}
	return &models{
		config: c, env: o.Environ, demo: o.AllowDemo,
		set: provider.New(provider.Options{Vendors: builtin.Vendors(), Providers: settings}),
	}
}

func providerSettings(c *config.Config, name string) provider.Settings {
	p, _ := c.Provider(name)
	s := provider.Settings{
		Name: name, Type: p.Type, BaseURL: p.BaseURL, Key: p.APIKey, Model: p.Model,
		ContextWindow: p.ContextWindow, MaxOutput: p.MaxOutputTokens,
		Prices: map[string]provider.Price{}, Headers: p.ExtraHeaders, Proxy: p.Proxy,
		Limits: provider.Limits{Total: p.Timeout, FirstByte: p.FirstByteTimeout, Idle: p.IdleTimeout},
	}
	if _, secret := config.SecretName(s.Key); secret {
		s.Key = "" // a reference is never sent in place of what it stands for
	}
	for model, price := range p.Prices {
		s.Prices[model] = provider.Price{In: price.In, Out: price.Out, Cached: price.Cached}
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
		t, err := m.config.Target(model)
		if err != nil {
			return config.Choice{}, err
		}
		return config.Choice{Target: t, Why: "--model names it"}, m.keyed(t.Provider)
	}
	s := config.Situation{Lookup: m.env.Lookup, Demo: m.demo}
	if probe {
		s.Ollama = func() ([]string, bool) {
			ctx, cancel := context.WithTimeout(ctx, ollamaWithin)
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

// keyed reports an error for a provider whose key is a secret: asked without
// it, the provider would say something that misleads.
func (m *models) keyed(provider string) error {
	p, _ := m.config.Provider(provider)
	if name, ok := config.SecretName(p.APIKey); ok {
		return fmt.Errorf("choose provider: ai.providers.%s.api_key names the secret %s, and secrets are not in this version: write ${VARIABLE} there", provider, name)
	}
	return nil
}

// target is what an agent's request would be built for, as far as that is
// known without asking anybody; zero when it isn't.
func (m *models) target(ctx context.Context, a config.Agent, model string) llm.Target {
	c, err := m.choose(ctx, a, model, false)
	if err != nil {
		return llm.Target{}
	}
	t, err := m.set.For("", nil).Target(c.Provider + "/" + c.Model)
	if err != nil {
		return llm.Target{}
	}
	return t
}

// of makes the models of an agent. The provider is chosen when it is first
// needed, since that may ask a local Ollama.
func (m *models) of(a config.Agent) *agentModels {
	return &agentModels{models: m, agent: a}
}

// agentModels implements agent.Models for one agent.
type agentModels struct {
	*models
	agent config.Agent

	mu     sync.Mutex
	chosen string // provider/model, once it is known
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
			if !used && !yield(llm.Event{Type: llm.EventNotice, Text: "not among the fallbacks: " + why}, nil) {
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

// Choice is the provider and model that answers.
type Choice struct {
	config.Choice
	// Found says that nobody wrote it down: it was found in the environment.
	Found bool
}

// Choose says which provider and model an agent uses, and why. model, when it
// isn't empty, goes before what is configured.
func (g *Gateway) Choose(ctx context.Context, agent, model string) (Choice, error) {
	a, ok := g.Config.Agent(agent)
	if !ok {
		return Choice{}, g.noAgent(agent)
	}
	c, err := g.models.choose(ctx, a, model, true)
	return Choice{Choice: c, Found: model == "" && a.Model == "" && g.Config.AI.Provider == ""}, err
}

// Cost is what usage of a target costs in US dollars at today's prices, nil
// when the price is unknown.
func (g *Gateway) Cost(u llm.Usage, t llm.Target) *float64 { return g.models.set.Cost(u, t) }

// ListModels asks a provider which models it has. It returns nil without an
// error when the provider can't be asked that.
func (g *Gateway) ListModels(ctx context.Context, name string) ([]string, error) {
	return g.models.set.List(ctx, name)
}
