package provider

import (
	"fmt"
	"strings"
)

// Situation is what decides which provider is used.
type Situation struct {
	Configured string // ai.provider as it is written; "" when it isn't
	AgentModel bool   // an agent names a model of its own
	// HasKey tells whether a variable of the environment is set.
	HasKey func(variable string) bool
	// Ollama lists the models of a local Ollama, none when it doesn't answer.
	// It is asked only when no key decides.
	Ollama  func() []string
	Demo    bool            // the scripted model may take the place of a missing one
	Vendors map[string]Open // of this build
}

// Choice is the provider that is used when a model string names none.
type Choice struct {
	Model string // provider or provider/model
	Why   string // a sentence or two for people; "" when the configuration decided
	Found bool   // it is there: a key, a server, or the demo model
}

// Choose picks the provider. It is a pure function of s.
func Choose(s Situation) Choice {
	if s.Configured != "" {
		return Choice{Model: s.Configured, Found: true}
	}
	if s.AgentModel {
		return Choice{Model: fallbackName, Found: true}
	}
	var usable, absent []string
	for _, b := range Builtins {
		if b.KeyVar == "" || b.Name == "gemini-legacy" {
			continue
		}
		switch has, here := s.HasKey(b.KeyVar), b.here(s.Vendors); {
		case has && here:
			return Choice{Model: b.Name, Found: true, Why: fmt.Sprintf("Using %s: %s is set.%s", b.Name, b.KeyVar, unused(absent))}
		case has:
			absent = append(absent, fmt.Sprintf("%s is set, but %s is not in this version", b.KeyVar, b.Name))
		case here:
			usable = append(usable, b.KeyVar)
		}
	}
	if models := s.Ollama(); len(models) > 0 {
		model := preferred(models)
		return Choice{Model: "ollama/" + model, Found: true, Why: fmt.Sprintf("Using ollama with %s: it answers on this machine.%s", model, unused(absent))}
	}
	way := fmt.Sprintf("Set %s, or start Ollama with a model.%s", strings.Join(usable, " or "), unused(absent))
	if s.Demo {
		return Choice{Model: "demo", Found: true, Why: "No model was found, so the demo model answers: it is a script and no AI. " + way}
	}
	return Choice{Model: fallbackName, Why: "No model was found. " + way}
}

func unused(absent []string) string {
	if len(absent) == 0 {
		return ""
	}
	return " " + strings.Join(absent, "; ") + "."
}

// here reports whether a build with vendors can reach b.
func (b Builtin) here(vendors map[string]Open) bool {
	for _, w := range b.Wires {
		if vendors[w.Vendor] != nil {
			return true
		}
	}
	return false
}

// preferred is the shipped default when it is installed, in whatever size, and
// the first one otherwise.
func preferred(models []string) string {
	b, _ := Known("ollama")
	for _, m := range models {
		if name, _, _ := strings.Cut(m, ":"); name == b.Model {
			return m
		}
	}
	return models[0]
}
