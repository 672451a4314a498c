package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// builtin is a provider that exists without being written.
type builtin struct {
	name string
	// keyVar is the variable that usually holds the key, "" without one.
	keyVar string
	// baseURL and model are what an empty setting means.
	baseURL, model string
	// missing says that this version can't talk to it.
	missing bool
}

// builtins are in the order in which their keys are looked for.
var builtins = []builtin{
	{name: "openai", keyVar: "OPENAI_API_KEY", baseURL: "https://api.openai.com/v1", model: "gpt-5-mini"},
	{name: "claude", keyVar: "ANTHROPIC_API_KEY", baseURL: "https://api.anthropic.com", model: "claude-sonnet-4-5", missing: true},
	{name: "gemini", keyVar: "GEMINI_API_KEY", baseURL: "https://generativelanguage.googleapis.com/", model: "gemini-2.5-flash", missing: true},
	{name: "gemini-legacy", keyVar: "GEMINI_API_KEY", baseURL: "https://generativelanguage.googleapis.com/", model: "gemini-2.5-flash", missing: true},
	{name: "deepseek", keyVar: "DEEPSEEK_API_KEY", baseURL: "https://api.deepseek.com/v1", model: "deepseek-chat"},
	{name: "ollama", baseURL: OllamaURL, model: "qwen3"},
	{name: "demo", model: "demo"},
}

// OllamaURL is where a local Ollama serves OpenAI's wire format.
const OllamaURL = "http://127.0.0.1:11434/v1"

// compatible is the type of providers of a person's own.
const compatible = "openai-compatible"

func builtinNamed(name string) (builtin, bool) {
	for _, b := range builtins {
		if b.name == name {
			return b, true
		}
	}
	return builtin{}, false
}

// Provider is the complete settings of a provider: the type filled in, and
// the address, model and key that an empty setting means for the built-in
// ones. The key may be a reference secret:NAME. ok is false for a name that is
// neither built in nor configured.
func (c *Config) Provider(name string) (p Provider, ok bool) {
	p, ok = c.AI.Providers[name]
	if !ok {
		return Provider{}, false
	}
	if p.Type == "" {
		p.Type = compatible
	}
	if b, ok := builtinNamed(p.Type); ok {
		if p.BaseURL == "" {
			p.BaseURL = b.baseURL
		}
		if p.Model == "" {
			p.Model = b.model
		}
		// People know Ollama by its bare address; OpenAI's endpoint is below.
		if u, err := url.Parse(p.BaseURL); b.name == "ollama" && err == nil && strings.Trim(u.Path, "/") == "" {
			p.BaseURL = u.JoinPath("v1").String()
		}
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
	if near := nearest(name, c.providerNames()); near != "" {
		return msg + ": did you mean " + near + "?"
	}
	return msg + ": known are " + strings.Join(c.providerNames(), ", ")
}
