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
	// NotInThisVersion names what was found and can't be used yet, a sentence
	// each.
	NotInThisVersion []string
}

// ErrNoProvider says that nothing names a provider and none was found. The
// message names the variables that would change that.
var ErrNoProvider = errors.New("no model provider is set up")

// Choose finds the provider and model of an agent. It depends on nothing but
// its arguments and the configuration:
//
//   - the agent's model, when it names one;
//   - else ai.provider, when it is written;
//   - else openai, when another agent names a model;
//   - else the first of the built-in providers that has a key in the file or
//     in the environment, a local Ollama, or the demo model where it is allowed.
//
// The error says what to set, and is [ErrNoProvider] when nothing was found.
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
	var missing, vars, later []string
	for _, b := range builtins {
		if b.keyVar == "" || b.name == "gemini-legacy" {
			continue
		}
		if b.missing {
			later = append(later, b.keyVar)
		} else {
			vars = append(vars, b.keyVar)
		}
		why := c.keyFound(b, s)
		if why == "" {
			continue
		}
		if b.missing {
			missing = append(missing, fmt.Sprintf("%s, but the provider %s is not in this version", why, b.name))
			continue
		}
		choice, err := c.chosen(b.name, s, why)
		choice.NotInThisVersion = missing
		return choice, err
	}
	if s.Ollama != nil {
		if models, ok := s.Ollama(); ok {
			choice, err := c.chosen(ollamaModel(c, models), s, "no key is set and a local Ollama answers")
			choice.NotInThisVersion = missing
			return choice, err
		}
	}
	if s.Demo {
		why := fmt.Sprintf("no key is set (%s) and no local Ollama answers", strings.Join(vars, ", "))
		if len(missing) > 0 {
			why = strings.Join(missing, "; ") + "; no other key is set and no local Ollama answers"
		}
		choice, err := c.chosen("demo", s, why)
		choice.NotInThisVersion = missing
		return choice, err
	}
	hint := fmt.Sprintf("set %s, start Ollama, or write ai.provider in %s", strings.Join(vars, " or "), c.File)
	if len(later) > 0 {
		hint += fmt.Sprintf(" (%s: these providers are not in this version)", strings.Join(later, ", "))
	}
	if len(missing) > 0 {
		hint = strings.Join(missing, "; ") + "; " + hint
	}
	return Choice{NotInThisVersion: missing}, fmt.Errorf("%w: %s", ErrNoProvider, hint)
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
				return Choice{}, fmt.Errorf("choose provider: %s has no key (%s): set %s, %s", t.Provider, why, b.keyVar, hint)
			}
		}
	}
	return Choice{Target: t, Why: why}, nil
}
