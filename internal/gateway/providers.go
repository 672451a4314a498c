package gateway

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// ProviderInUse is a provider that is set up or asked for.
type ProviderInUse struct {
	Name string
	// Key is where its key is from: a variable or a place of the configuration;
	// "" when it has none.
	Key string
	// Uses are what names it.
	Uses []ModelUse
}

// ModelUse is a provider or provider/model that is written somewhere.
type ModelUse struct {
	Model string // as it is written
	By    string // "agent main", "ai.fallback[0]", …
}

// ProvidersInUse lists the providers that are written in the configuration, have
// a key in the environment, or are named by an agent or a list of fallbacks,
// sorted by name. Those that are merely built in are not among them, names that
// no provider has are. ask allows to look for a local Ollama where nothing else
// decides.
func (g *Gateway) ProvidersInUse(ctx context.Context, ask bool) []ProviderInUse {
	found := map[string]*ProviderInUse{}
	of := func(name string) *ProviderInUse {
		if found[name] == nil {
			found[name] = &ProviderInUse{Name: name, Key: g.keyOf(name)}
		}
		return found[name]
	}
	for name := range g.Config.AI.Providers {
		if g.setUp(name) {
			of(name)
		}
	}
	use := func(model, by string) {
		name, _ := config.SplitModel(model)
		p := of(name)
		p.Uses = append(p.Uses, ModelUse{model, by})
	}
	for i, model := range g.Config.AI.Fallback {
		use(model, fmt.Sprintf("ai.fallback[%d]", i))
	}
	for _, a := range g.Config.Agents() {
		written := cmp.Or(a.Model, g.Config.AI.Provider)
		c, err := g.models.choose(ctx, a, "", ask)
		switch {
		case err == nil:
			use(c.Provider+"/"+c.Model, "agent "+a.ID)
		case written != "":
			use(written, "agent "+a.ID)
		}
		for i, model := range a.Fallback {
			use(model, fmt.Sprintf("agents.list[%s].fallback[%d]", a.ID, i))
		}
	}
	list := make([]ProviderInUse, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, *found[name])
	}
	return list
}

// setUp reports whether somebody has set up a provider.
func (g *Gateway) setUp(name string) bool {
	b, builtin := provider.Known(name)
	if !builtin || !g.Config.Where("ai.providers["+name+"]").IsDefault() {
		return true
	}
	// The variable of gemini's key is that of gemini-legacy too, which nobody
	// means who doesn't write it, and everybody who does.
	legacy := !g.Config.Where("ai.providers[gemini-legacy]").IsDefault()
	if name == "gemini-legacy" || name == "gemini" && legacy {
		return false
	}
	return b.KeyVar != "" && g.opts.Environ.Get(b.KeyVar) != ""
}

// keyOf says where the key of a provider is from.
func (g *Gateway) keyOf(name string) string {
	p, _ := g.Config.Provider(name)
	if p.APIKey == "" {
		return ""
	}
	if pos := g.Config.Where("ai.providers[" + name + "].api_key"); !pos.IsDefault() {
		return pos.String()
	}
	b, _ := provider.Known(name)
	return b.KeyVar
}

// OfferedModels lists the models of a provider, see [provider.Set.Offered]; live
// asks the provider which it has, and what they take where it tells that. The error is [errors.ErrUnsupported] when it
// can't be asked that.
func (g *Gateway) OfferedModels(ctx context.Context, name string, live bool) ([]provider.Offered, error) {
	var names []string
	if live {
		var err error
		if names, err = g.models.set.List(ctx, name); err != nil {
			return nil, err
		}
		if names == nil {
			names = []string{}
		}
		g.models.set.Ask(ctx, name, names)
	}
	return g.models.set.Offered(name, names)
}

// ProviderProblem is why a provider can't be asked at all, nil when it can.
func (g *Gateway) ProviderProblem(name string) error {
	if err := g.models.keyed(name); err != nil {
		return err
	}
	return g.models.set.Problem(name)
}

// ProbeModel asks a provider what one of its models can do. The error is
// [errors.ErrUnsupported] when it can't be asked that.
func (g *Gateway) ProbeModel(ctx context.Context, name, model string) (provider.Abilities, error) {
	return g.models.set.Probe(ctx, llm.Target{Provider: name, Model: model})
}

// TryTools asks a model whether it takes tools, see [provider.Set.TryTools].
func (g *Gateway) TryTools(ctx context.Context, name, model string) (refused *llm.Error, err error) {
	return g.models.set.TryTools(ctx, llm.Target{Provider: name, Model: model})
}

// KnownModel is what is known of a model without asking anybody.
func (g *Gateway) KnownModel(name, model string) provider.Offered {
	list, err := g.models.set.Offered(name, []string{model})
	if err != nil {
		return provider.Offered{Model: provider.Model{Name: model, Tools: true}}
	}
	return list[0]
}
