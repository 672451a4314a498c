package config

import (
	"errors"
	"fmt"
	"strings"
)

// Situation is what the choice of a provider depends on besides the
// configuration.
type Situation struct {
	// Lookup gives a variable of the environment.
	Lookup func(name string) (string, bool)
	// Ollama reports whether a local Ollama answers, and the
	// models it has where they are known. It is called at most once, and only
	// when nothing else decided. Nil is no Ollama.
	Ollama func() (models []string, ok bool)
	// Demo allows the demo model when nothing else is there.
	Demo bool
}

// Choice is the provider and model that an agent starts with.
type Choice struct {
	Target
	// Why is a sentence for people that says what decided.
	Why string
}

// ErrNoProvider says that nothing names a provider and none was found. The
// message names the variables that would change that.
var ErrNoProvider = errors.New("no model provider is set up")

// ErrNoKey says that the provider which is named has no key.
var ErrNoKey = errors.New("has no key")

// Choose finds the provider and model of an agent. It depends on nothing but
// its arguments and the configuration:
//
//   - the agent's model, when it names one;
//   - else ai.provider, when it is written;
//   - else openai, when another agent names a model;
//   - else the first of the built-in providers that has a key in the file or
//     in the environment, a local Ollama, or the demo model where it is allowed.
//
// The error says what to set. It is [ErrNoProvider] when nothing was found, and
// [ErrNoKey] beside a choice that can't be asked yet.
func (c *Config) Choose(a Agent, s Situation) (Choice, error) {
	switch {
	case a.Model != "":
		return c.chosen(a.Model, s, fmt.Sprintf("agent %s names it: %s", a.ID, c.Where("agents.list["+bracketed(a.ID)+"].model")))
	case c.AI.Provider != "":
		return c.chosen(c.AI.Provider, s, "it is written in "+c.Where("ai.provider").String())
	}
	for _, other := range c.Agents() {
		if other.Model != "" {
			return c.chosen("openai", s, fmt.Sprintf("agent %s names no model and ai.provider is not written", a.ID))
		}
	}
	return c.find(s)
}

// find looks for a provider that would work.
func (c *Config) find(s Situation) (Choice, error) {
	var vars []string
	for _, b := range builtins {
		if b.keyVar == "" || b.name == geminiLegacy {
			continue
		}
		vars = append(vars, b.keyVar)
		if why := c.keyFound(b, s); why != "" {
			return c.chosen(b.name, s, why)
		}
	}
	if s.Ollama != nil {
		if models, ok := s.Ollama(); ok {
			return c.chosen(ollamaModel(c, models), s, "no key is set and a local Ollama answers")
		}
	}
	if s.Demo {
		return c.chosen("demo", s, fmt.Sprintf("no key is set (%s) and no local Ollama answers", strings.Join(vars, ", ")))
	}
	return Choice{}, fmt.Errorf("%w: set %s, start Ollama, or write ai.provider in %s; goclaw config set ai.provider demo takes a script without AI",
		ErrNoProvider, strings.Join(vars, " or "), c.File)
}

// keyFound says how the built-in provider b is set up, or "".
func (c *Config) keyFound(b builtin, s Situation) string {
	p := c.AI.Providers[b.name]
	if v, _ := s.Lookup(b.keyVar); v != "" {
		return b.keyVar + " is set"
	}
	if pos := c.Where("ai.providers." + b.name + ".api_key"); p.APIKey != "" && !pos.IsDefault() {
		return pos.String() + " is set"
	}
	if pos := c.Where("ai.providers." + b.name + ".base_url"); p.BaseURL != "" && !pos.IsDefault() {
		return pos.String() + " is set"
	}
	return ""
}

// ollamaModel prefers the model that is configured or usual, and takes the
// first that is there when that one is not.
func ollamaModel(c *Config, models []string) string {
	p, _ := c.Provider("ollama")
	for _, m := range models {
		if m == p.Model || strings.TrimSuffix(m, ":latest") == p.Model || strings.HasPrefix(m, p.Model+":") {
			return "ollama/" + m
		}
	}
	if len(models) > 0 && c.AI.Providers["ollama"].Model == "" {
		return "ollama/" + models[0]
	}
	return "ollama"
}

// chosen completes a choice and checks that its key is there.
func (c *Config) chosen(model string, s Situation, why string) (Choice, error) {
	t, err := c.Target(model)
	if err != nil {
		return Choice{}, fmt.Errorf("choose provider: %w (%s)", err, why)
	}
	if t.Settings.APIKey == "" {
		if b, ok := builtinNamed(t.Provider); ok && b.keyVar != "" {
			t.Settings.APIKey, _ = s.Lookup(b.keyVar)
			// A server of one's own may need no key.
			if own := c.AI.Providers[t.Provider].BaseURL != ""; t.Settings.APIKey == "" && !own {
				hint := fmt.Sprintf("or write ai.providers.%s.api_key in %s", t.Provider, c.File)
				if pos := c.Where("ai.providers." + t.Provider + ".api_key"); !pos.IsDefault() {
					hint = "or mend " + pos.String() + ", which gives no key"
				}
				return Choice{Target: t, Why: why}, fmt.Errorf("choose provider: %s %w (%s): set %s, %s", t.Provider, ErrNoKey, why, b.keyVar, hint)
			}
		}
	}
	return Choice{Target: t, Why: why}, nil
}
