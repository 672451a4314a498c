package provider

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
)

// Prober is implemented by clients whose server says what its models can do.
type Prober interface {
	// Probe asks about one model. It loads nothing and costs nothing.
	Probe(ctx context.Context, model string) (Abilities, error)
}

// Abilities is what a server says of one of its models.
type Abilities struct {
	ContextWindow int // tokens; 0 when it doesn't say
	MaxOutput     int // tokens of one answer; 0 when it doesn't say

	// Known says that the server tells what the model takes; without it the
	// fields below mean nothing.
	Known     bool
	Images    bool
	Files     bool // PDF
	Tools     bool
	Reasoning bool // can be told to think
}

// What a server says of a model holds for a while, since there a model can be
// replaced by another of its name; a server that didn't answer is asked again
// sooner. A call waits for the answer for a short time only.
const (
	probeWithin = 2 * time.Second
	probeHolds  = 10 * time.Minute
	probeAgain  = 30 * time.Second
	// maxProbed bounds of how many models that is kept: names can come from
	// outside.
	maxProbed = 1000
)

// abilities remembers what a server said of its models. The zero value is
// ready.
type abilities struct {
	mu sync.Mutex
	of map[string]said
}

type said struct {
	Abilities
	until   time.Time // when it is asked again
	noTools bool      // learned from a refusal, which goes before what it says
}

func (a *abilities) recall(model string) said {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of[model]
}

func (a *abilities) keep(model string, s said) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil || len(a.of) >= maxProbed {
		a.of = map[string]said{}
	}
	a.of[model] = s
}

// ask returns t as the server of e says it is. It never fails: of a model about
// which nothing can be learned, what was known holds.
func (e *entry) ask(ctx context.Context, m llm.Model, t llm.Target) llm.Target {
	p, ok := m.(Prober)
	if !ok || time.Now().Before(e.said.recall(t.Model).until) {
		return t
	}
	within, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	found, err := p.Probe(within, t.Model)
	if err != nil && ctx.Err() != nil {
		return t // which says nothing of the server
	}
	s := said{Abilities: found, until: time.Now().Add(probeHolds)}
	if err != nil {
		s = e.said.recall(t.Model)
		s.until = time.Now().Add(probeAgain)
	}
	e.said.keep(t.Model, s)
	return e.target(t.Provider, t.Model)
}

// Asked is [Models.Target] as the provider's server says it is, which is asked
// now unless it was lately.
func (m *Models) Asked(ctx context.Context, model string) (llm.Target, error) {
	e, t, err := m.set.resolve(model, m.otherwise)
	if err != nil {
		return t, err
	}
	client, err := e.open()
	if err != nil {
		return t, fmt.Errorf("open %s: %w", t.Provider, err)
	}
	return e.ask(ctx, client, t), nil
}

// takesNone notes that t takes no tools, and returns it so.
func (e *entry) takesNone(t llm.Target) llm.Target {
	s := e.said.recall(t.Model)
	s.noTools, s.until = true, time.Now().Add(probeHolds)
	e.said.keep(t.Model, s)
	t.Tools = false
	return t
}

// apply changes t to what is known of it.
func (s said) apply(t llm.Target) llm.Target {
	if s.ContextWindow > 0 {
		t.ContextWindow = s.ContextWindow
	}
	if s.MaxOutput > 0 {
		t.MaxOutput = s.MaxOutput
	}
	if s.Known {
		t.Images, t.Files, t.Tools = s.Images, s.Files, s.Tools
	}
	t.Tools = t.Tools && !s.noTools
	return t
}
