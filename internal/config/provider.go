package config

import (
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
	// missing says that this version can't talk to it.
	missing bool
}

// notYet are the built-in providers whose wires are not in this version. A
// test of the gateway holds this list against the wires that are compiled in.
var notYet = []string{"claude", "gemini", "gemini-legacy"}

// builtins are in the order in which their keys are looked for.
var builtins = func() []builtin {
	var list []builtin
	for _, b := range provider.Builtins {
		if b.Name != compatible {
			list = append(list, builtin{b.Name, b.KeyVar, b.Model, slices.Contains(notYet, b.Name)})
		}
	}
	return list
}()

// compatible is the type of providers of a person's own.
const compatible = provider.Compatible

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
// error says what can't be: an unknown provider, one that this version does
// not have, or no model.
func (c *Config) Target(s string) (Target, error) {
	name, model := SplitModel(s)
	p, ok := c.Provider(name)
	if !ok {
		return Target{}, fmt.Errorf("model %q: %s", s, c.unknownProvider(name))
	}
	if b, ok := builtinNamed(p.Type); ok && b.missing {
		return Target{}, fmt.Errorf("model %q: the provider %s is not in this version", s, p.Type)
	}
	if model == "" {
		model = p.Model
	}
	if model == "" {
		return Target{}, fmt.Errorf("model %q: no model is named: write %s/MODEL or set ai.providers.%s.model", s, name, name)
	}
	return Target{Provider: name, Model: model, Settings: p}, nil
}

func (c *Config) unknownProvider(name string) string {
	msg := fmt.Sprintf("there is no provider %q", name)
	if near := nearestOf(name, c.providerNames()); near != "" {
		return msg + ": did you mean " + near + "?"
	}
	return msg + ": known are " + strings.Join(c.providerNames(), ", ")
}
