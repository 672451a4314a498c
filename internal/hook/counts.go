package hook

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/lib/source"
)

// Info tells of a handler.
type Info struct {
	Hook     string        `json:"hook"` // where it is asked: before_tool_call, …
	Name     string        `json:"name"`
	Source   string        `json:"source,omitempty"`
	Where    source.Pos    `json:"where,omitzero"`
	Priority int           `json:"priority"`
	Timeout  time.Duration `json:"timeout_ns"`
	Observes bool          `json:"observes"`         // it can't change what happens
	Broken   string        `json:"broken,omitempty"` // why it fails whenever it is asked, so that what it has to let through is blocked

	Asked  int       `json:"asked"` // since it was registered
	Failed int       `json:"failed,omitempty"`
	Missed int       `json:"missed,omitempty"` // events that it was too slow for
	Error  string    `json:"error,omitempty"`  // the last one
	At     time.Time `json:"at,omitzero"`      // when that was
}

// counts is what a handler did so far.
type counts struct {
	mu            sync.Mutex
	asked, failed int
	err           string
	at            time.Time
}

func (c *counts) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if err != nil {
		c.failed++
		c.err, c.at = err.Error(), time.Now()
	}
}

// Handlers lists rules and handlers by hook and, within a hook, in the order in
// which they are asked.
func (b *Bus) Handlers() []Info {
	var all []Info
	for _, p := range points() {
		for _, h := range b.at(p.name) {
			all = append(all, h.info())
		}
	}
	slices.SortStableFunc(all, func(x, y Info) int { return cmp.Compare(x.Hook, y.Hook) })
	return all
}

func (h *handler) info() Info {
	i := Info{
		Hook: h.point, Name: h.name, Source: h.source, Where: h.where, Priority: h.priority, Timeout: h.timeout,
		Observes: h.observes(),
	}
	if h.broken != nil {
		i.Broken = h.broken.Error()
	}
	h.counts.mu.Lock()
	i.Asked, i.Failed, i.Error, i.At = h.counts.asked, h.counts.failed, h.counts.err, h.counts.at
	h.counts.mu.Unlock()
	h.line.mu.Lock()
	i.Missed = h.line.missed
	h.line.mu.Unlock()
	return i
}

// observes reports whether what the handler says can't change anything.
func (h *handler) observes() bool {
	switch h.call.(type) {
	case decides, prompts, persists, sends, installs:
		return false
	}
	return true
}
