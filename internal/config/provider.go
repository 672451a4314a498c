package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/provider"
)

// builtin is a provider that exists without being written.
type builtin struct {
	name string
	// keyVar is the variable that usually holds the key, "" without one.
	keyVar string
	// model is what an empty setting means.
	model string
}

// builtins are in the order in which their keys are looked for.
var builtins = func() []builtin {
	var list []builtin
	for _, b := range provider.Builtins {
		if b.Name != compatible {
			list = append(list, builtin{b.Name, b.KeyVar, b.Model})
		}
	}
	return list
}()

// compatible is the type of providers of a person's own.
const compatible = provider.Compatible

// Gemini goes by two names. The older one is deprecated and served as the other.
const (
	gemini       = "gemini"
	geminiLegacy = "gemini-legacy"
)

// Deprecated is a sentence about the provider that a model string names, "" when
// it is none that should go.
func (c *Config) Deprecated(model string) string {
	name, _ := SplitModel(model)
	if c.AI.Providers[name].Type != geminiLegacy {
		return ""
	}
	return fmt.Sprintf("%s is of the type %s, which is deprecated and served as %s: write %s", name, geminiLegacy, gemini, gemini)
}

// inherit gives a deprecated provider the settings of the one by which it is
// served, where it has none of its own.
func (p *Provider) inherit(from Provider) {
	p.APIKey = cmp.Or(p.APIKey, from.APIKey)
	p.BaseURL = cmp.Or(p.BaseURL, from.BaseURL)
	p.Proxy = cmp.Or(p.Proxy, from.Proxy)
	p.Model = cmp.Or(p.Model, from.Model)
	p.ContextWindow = cmp.Or(p.ContextWindow, from.ContextWindow)
	p.MaxOutputTokens = cmp.Or(p.MaxOutputTokens, from.MaxOutputTokens)
	p.Temperature = cmp.Or(p.Temperature, from.Temperature)
	p.Reasoning = cmp.Or(p.Reasoning, from.Reasoning)
	if p.ExtraHeaders == nil {
		p.ExtraHeaders = from.ExtraHeaders
	}
	if p.Prices == nil {
		p.Prices = from.Prices
	}
}

func builtinNamed(name string) (builtin, bool) {
	for _, b := range builtins {
		if b.name == name {
			return b, true
		}
	}
	return builtin{}, false
}

// Provider is the settings of a provider with the type, and the model and key
// that an empty setting means for the built-in ones. An empty address is left
// to the provider. The key may be a reference secret:NAME. ok is false for a
// name that is neither built in nor configured.
func (c *Config) Provider(name string) (p Provider, ok bool) {
	p, ok = c.AI.Providers[name]
	if !ok {
		return Provider{}, false
	}
	if p.Type == "" {
		p.Type = compatible
	}
	if b, ok := builtinNamed(p.Type); ok && p.Model == "" {
		p.Model = b.model
	}
	return p, true
}

// providerNames are all that ai.provider may hold, in a fixed order.
func (c *Config) providerNames() []string {
	var names, own []string
	for _, b := range builtins {
		names = append(names, b.name)
	}
	for name := range c.AI.Providers {
		if !slices.Contains(names, name) {
			own = append(own, name)
		}
	}
	slices.Sort(own)
	return append(names, own...)
}

// SplitModel splits provider/model at the first slash; the model may hold
// more of them. Without a slash it is all provider.
func SplitModel(s string) (provider, model string) {
	provider, model, _ = strings.Cut(s, "/")
	return provider, model
}

// Target is a provider with the model to ask it for.
type Target struct {
	// Provider is the name under ai.providers.
	Provider string
	// Model is never empty.
	Model string
	// Settings are those of [Config.Provider].
	Settings Provider
}

// Target finds what a model string means: provider, or provider/model. The
// error says what can't be: an unknown provider, or no model.
func (c *Config) Target(s string) (Target, error) {
	name, model := SplitModel(s)
	p, ok := c.Provider(name)
	if !ok {
		return Target{}, fmt.Errorf("model %q: %s", s, c.UnknownProvider(s))
	}
	if model == "" {
		model = p.Model
	}
	if model == "" {
		return Target{}, fmt.Errorf("model %q: no model is named: write %s/MODEL or set ai.providers.%s.model", s, name, name)
	}
	return Target{Provider: name, Model: model, Settings: p}, nil
}

// UnknownProvider says that the provider of a model string doesn't exist, and
// what was probably meant.
func (c *Config) UnknownProvider(s string) string {
	name, _ := SplitModel(s)
	msg := fmt.Sprintf("there is no provider %q", name)
	if meant := c.meant(s); meant != "" {
		return msg + ": " + meant
	}
	if near := nearestOf(name, c.providerNames()); near != "" {
		return msg + ": did you mean " + near + "?"
	}
	return msg + ": known are " + strings.Join(c.providerNames(), ", ")
}

// meant says how a model string is written here that is written so elsewhere:
// with another name of the provider, or without one. It is "" when nothing of
// the kind was meant.
func (c *Config) meant(s string) string {
	name, model := SplitModel(s)
	if b, ok := knownElsewhere(name); ok {
		if model != "" {
			return fmt.Sprintf("%s is called %s here: write %s/%s", name, b, b, model)
		}
		return fmt.Sprintf("%s is called %s here", name, b)
	}
	if name == "" {
		return ""
	}
	var of []string
	for _, n := range c.providerNames() {
		if p := c.AI.Providers[n]; p.Model == s || p.Model == name {
			of = append(of, n)
		}
	}
	maker := provider.Shipped().Makes(name)
	switch {
	case len(of) > 0:
		return fmt.Sprintf("a model is written with its provider: %s/%s", of[0], c.AI.Providers[of[0]].Model)
	case maker != "":
		return fmt.Sprintf("a model is written with its provider: %s/%s", maker, s)
	case strings.Contains(s, ":") && model == "":
		return fmt.Sprintf("a model is written with its provider, as ollama/%s", s)
	}
	return ""
}

// knownElsewhere finds the built-in provider that other programs call so.
func knownElsewhere(name string) (string, bool) {
	for _, b := range provider.Builtins {
		if slices.Contains(b.Also, strings.ToLower(name)) {
			return b.Name, true
		}
	}
	return "", false
}
