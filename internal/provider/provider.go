// Package provider decides which model answers: it resolves what people write
// into targets, asks them, tries again, moves to the next one and remembers
// which are in trouble. It owns the table of known models and providers, and
// knows no vendor's wire: its children translate, one vendor each, and are
// handed in.
//
// A [Set] is made once from the configuration and lives as long as that; it
// opens a provider's client when it is first asked, and what it remembers of
// failures is in memory only; answers to equal requests it keeps where
// [Options] say, see cache.go. [Set.For] makes the [Models] of one agent. Both
// are safe for concurrent use and need no closing. A call runs on the goroutine
// of whoever ranges over it and leaves nothing behind; while it waits before
// another attempt, its context ends the wait.
//
// Start reading at [Models.Stream] and the table in action.go.
package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
)

// Options completes [New].
type Options struct {
	// Vendors are the wires of this build, by name.
	Vendors map[string]Vendor
	// Providers are the configured ones. Built-in providers that are missing
	// here are there with their defaults.
	Providers []Settings
	// Cache keeps answers for equal requests.
	Cache Cache
}

// Set is the providers of a configuration.
type Set struct {
	entries map[string]*entry
	health  health
	cache   *cache // nil when answers are not kept
}

// entry is one provider.
type entry struct {
	settings Settings
	vendor   string
	dialect  *jsonschema.Dialect
	free     bool
	problem  *problem
	open     func() (llm.Model, error)
	said     abilities
	refused  refusedMedia
}

// New makes a set. It connects to nothing and reports nothing: what is wrong
// with a provider is the answer of those who ask it, and of [Set.State].
func New(o Options) *Set {
	s := &Set{entries: map[string]*entry{}, cache: newCache(o.Cache)}
	for _, p := range o.Providers {
		s.add(p, o.Vendors)
	}
	for _, b := range Builtins {
		if b.Name != Compatible && s.entries[b.Name] == nil {
			s.add(Settings{Name: b.Name}, o.Vendors)
		}
	}
	return s
}

func (s *Set) add(p Settings, vendors map[string]Vendor) {
	e := &entry{}
	e.settings, e.vendor, e.problem = p.complete(vendors)
	e.dialect = dialectOf(e.settings, e.vendor)
	b, _ := Known(e.settings.Type)
	e.free = b.Free
	e.open = sync.OnceValues(func() (llm.Model, error) { return vendors[e.vendor].Open(e.settings) })
	s.entries[p.Name] = e
}

// fallbackName is the provider when nothing decides.
const fallbackName = "openai"

// resolve finds what a model string names: "" is otherwise, and otherwise ""
// is openai. It splits at the first slash.
func (s *Set) resolve(model, otherwise string) (*entry, llm.Target, error) {
	if model == "" {
		model = otherwise
	}
	if model == "" {
		model = fallbackName
	}
	name, model, named := strings.Cut(model, "/")
	e := s.entries[name]
	if e == nil {
		t := llm.Target{Provider: name, Model: model}
		return nil, t, problemf(llm.ClassUnknown, "there is no provider of this name; there are %s (a model is written provider/model)",
			strings.Join(s.Names(), ", ")).of(t)
	}
	if !named || model == "" {
		model = e.settings.Model
	}
	t := e.target(name, model)
	switch {
	case e.problem != nil:
		return e, t, e.problem.of(t)
	case model == "":
		return e, t, problemf(llm.ClassNoModel, "no model is configured for it").of(t)
	}
	return e, t, nil
}

// of is the problem as the failure of a target.
func (p *problem) of(t llm.Target) *llm.Error {
	return &llm.Error{Class: p.class, Target: t, Message: p.message, Err: p}
}

func (e *entry) target(name, model string) llm.Target {
	known, ok := Lookup(model)
	t := llm.Target{
		Provider: name, Model: model, Vendor: e.vendor,
		ContextWindow: known.ContextWindow, MaxOutput: known.MaxOutput, Files: known.Files,
		// Of a model that nobody knows it is tried; see refusesTools and refusedMedia.
		Images: known.Images || !ok, Tools: known.Tools || !ok,
	}
	t = e.said.recall(model).apply(t)
	if e.settings.ContextWindow > 0 {
		t.ContextWindow = e.settings.ContextWindow
	}
	if e.settings.MaxOutput > 0 {
		t.MaxOutput = e.settings.MaxOutput
	}
	for _, x := range []struct {
		written *bool
		to      *bool
	}{{e.settings.Images, &t.Images}, {e.settings.Files, &t.Files}, {e.settings.Tools, &t.Tools}} {
		if x.written != nil {
			*x.to = *x.written
		}
	}
	return t
}

// Names lists the providers, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.entries)) }

// Problem is why a provider can't be asked at all, nil when it can: a key or an
// address is missing, its wire is not in this version, there is none of this
// name.
func (s *Set) Problem(name string) error {
	e, _, err := s.resolve(name, "")
	if e != nil && e.problem == nil {
		return nil // that it has no model of its own keeps nobody from asking
	}
	return err
}

// client is the client of a provider.
func (s *Set) client(name string) (llm.Model, error) {
	if err := s.Problem(name); err != nil {
		return nil, err
	}
	m, err := s.entries[name].open()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return m, nil
}

// List asks a provider which models it has.
func (s *Set) List(ctx context.Context, name string) ([]string, error) {
	m, err := s.client(name)
	if err != nil {
		return nil, err
	}
	l, ok := m.(Lister)
	if !ok {
		return nil, fmt.Errorf("list models of %s: %w", name, errors.ErrUnsupported)
	}
	names, err := l.List(ctx)
	return names, about(err, llm.Target{Provider: name})
}

// Probe asks a provider what one of its models can do.
func (s *Set) Probe(ctx context.Context, t llm.Target) (Abilities, error) {
	m, err := s.client(t.Provider)
	if err != nil {
		return Abilities{}, err
	}
	p, ok := m.(Prober)
	if !ok {
		return Abilities{}, fmt.Errorf("probe %s: %w", t, errors.ErrUnsupported)
	}
	probed, err := p.Probe(ctx, t.Model)
	return probed, about(err, t.Short())
}

// about names the target in the failure of a client.
func about(err error, t llm.Target) error {
	var e *llm.Error
	if errors.As(err, &e) {
		e.Target = t
	}
	return err
}

// Cost is what usage at t costs in US dollars, nil when the price is unknown.
func (s *Set) Cost(u llm.Usage, t llm.Target) *float64 {
	e := s.entries[t.Provider]
	if e == nil {
		return nil
	}
	usd := 0.0
	if p, ok := e.settings.Prices[t.Model]; ok {
		usd = p.Cost(u)
	} else if known, ok := Lookup(t.Model); ok && known.Price != nil {
		usd = known.Price.Cost(u)
	} else if p, ok := Shipped().embedding(t.Model); ok {
		usd = p.Cost(u)
	} else if !e.free {
		return nil
	}
	return &usd
}

// State is what is known of a target.
type State struct {
	Target  llm.Target `json:"target"`
	Address string     `json:"address,omitempty"` // scheme, host and port
	// Problem is why it can't be asked at all: a missing key, a wire that this
	// version doesn't have.
	Problem string `json:"problem,omitempty"`
	// Failures counts those of the last five minutes; three cool it down.
	Failures   int       `json:"failures,omitempty"`
	Cooling    time.Time `json:"cooling,omitzero"` // until when it is skipped
	LastError  string    `json:"last_error,omitempty"`
	LastFailed time.Time `json:"last_failed,omitzero"`
}

// State lists the providers with their own models, and all targets in trouble,
// sorted by name.
func (s *Set) State() []State {
	byTarget := map[string]*State{}
	for name, e := range s.entries {
		t := e.target(name, e.settings.Model)
		st := &State{Target: t, Address: addressOf(e.settings.BaseURL)}
		if e.problem != nil {
			st.Problem = e.problem.Error()
		}
		byTarget[t.String()] = st
	}
	for _, tr := range s.health.troubled() {
		st := byTarget[tr.target.String()]
		if st == nil {
			st = &State{Target: tr.target}
			if e := s.entries[tr.target.Provider]; e != nil {
				st.Address = addressOf(e.settings.BaseURL)
			}
			byTarget[tr.target.String()] = st
		}
		st.Failures, st.Cooling, st.LastError, st.LastFailed = len(tr.failures), tr.until, tr.last, tr.lastAt
	}
	out := make([]State, 0, len(byTarget))
	for _, name := range slices.Sorted(maps.Keys(byTarget)) {
		out = append(out, *byTarget[name])
	}
	return out
}

func addressOf(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
