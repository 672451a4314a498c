package provider

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/goclaw/goclaw/internal/llm"
)

// How many models of a list are asked about, and how many at a time.
const (
	maxAsked     = 64
	askedAtATime = 8
)

// Ask asks a provider about its models called names, the first 64 of them, a few
// at a time, so that [Set.Offered] tells what they take. It waits two seconds for
// each answer, and does nothing where the server doesn't tell.
func (s *Set) Ask(ctx context.Context, provider string, names []string) {
	client, err := s.client(provider)
	if _, tells := client.(Prober); err != nil || !tells {
		return
	}
	e := s.entries[provider]
	free := make(chan struct{}, askedAtATime)
	var wait sync.WaitGroup
	for _, name := range names[:min(len(names), maxAsked)] {
		free <- struct{}{}
		wait.Go(func() {
			e.ask(ctx, client, llm.Target{Provider: provider, Model: name})
			<-free
		})
	}
	wait.Wait()
}

// Offered is a model of a provider, with what the configuration says of it in
// the place of the model table.
type Offered struct {
	Model
	Known   bool `json:"known"`             // to the model table
	Told    bool `json:"told,omitempty"`    // the provider's server says what it takes
	Default bool `json:"default,omitempty"` // what the provider's name alone stands for
	Free    bool `json:"free,omitempty"`    // costs nothing per token
}

// Offered lists what GoClaw knows of the models of a provider: those of the
// table, newest first, then its own model and those with a price in the
// configuration, by name. names, unless it is nil, are the models to list
// instead, as [Set.List] gives them.
func (s *Set) Offered(provider string, names []string) ([]Offered, error) {
	e := s.entries[provider]
	if e == nil {
		return nil, fmt.Errorf("there is no provider %q", provider)
	}
	place := map[string]int{}
	for i, m := range Shipped().Of(e.settings.Type).Models {
		place[m.Name] = i + 1
	}
	if names == nil {
		for name := range place {
			names = append(names, name)
		}
		for name := range e.settings.Prices {
			names = append(names, name)
		}
		if e.settings.Model != "" {
			names = append(names, e.settings.Model)
		}
	}
	names = slices.Clone(names)
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(place, a), rank(place, b)), cmp.Compare(a, b))
	})
	out := []Offered{}
	for _, name := range slices.Compact(names) {
		out = append(out, e.offered(provider, name))
	}
	return out, nil
}

// rank is the place of a name in the table, behind all others when it has none.
func rank(place map[string]int, name string) int {
	if at := place[name]; at > 0 {
		return at
	}
	return len(place) + 1
}

func (e *entry) offered(provider, name string) Offered {
	known, ok := Lookup(name)
	t := e.target(provider, name)
	o := Offered{Model: known, Known: ok, Told: e.said.recall(name).Known, Default: name == e.settings.Model, Free: e.free}
	o.Name, o.ContextWindow, o.MaxOutput, o.Tools, o.Images, o.Files = name, t.ContextWindow, t.MaxOutput, t.Tools, t.Images, t.Files
	if p, ok := e.settings.Prices[name]; ok {
		o.Price, o.Free = &p, false
	} else if e.free {
		o.Price = nil
	}
	return o
}
