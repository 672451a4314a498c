package provider

import (
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
)

// A target that fails too often is left alone for a while.
const (
	failureLimit  = 3
	failureWindow = 5 * time.Minute
	coolFirst     = time.Minute
	coolMost      = 15 * time.Minute
	// maxTroubled bounds how many targets are remembered: model names can come
	// from outside.
	maxTroubled = 1000
	// maxFailures bounds how many failures of a target are remembered.
	maxFailures = 1000
)

// health remembers which targets are in trouble. The zero value is ready.
type health struct {
	mu sync.Mutex
	of map[string]*trouble // by target; one that answers is forgotten
}

type trouble struct {
	target   llm.Target
	failures []time.Time   // not older than the window
	length   time.Duration // of the last cooldown; 0 before the first
	since    time.Time     // when it began; failures until then led to it, and count for no other
	until    time.Time
	last     string // the last error
	lastAt   time.Time
}

// answered notes that t works.
func (h *health) answered(t llm.Target) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, t.String())
}

// failed notes that a request to t, begun at began, failed after all its
// attempts. A target that fails again within the window after a cooldown cools
// down at once and for twice as long.
func (h *health) failed(t llm.Target, e *llm.Error, began time.Time) {
	w := actionFor(e.Class).health
	if w == harmless {
		return
	}
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	tr := h.of[t.String()]
	if tr == nil {
		if h.of == nil {
			h.of = map[string]*trouble{}
		}
		h.makeRoom()
		tr = &trouble{target: t}
		h.of[t.String()] = tr
	}
	tr.last, tr.lastAt = e.Error(), now
	tr.failures = append(tr.recent(now), now)
	tr.failures = tr.failures[max(len(tr.failures)-maxFailures, 0):]
	if tr.length > 0 && began.Before(tr.since) {
		return // one of many that were under way when it began to cool down
	}
	if now.Sub(tr.until) >= failureWindow {
		tr.length = 0
	}
	if w != atOnce && tr.length == 0 && tr.counted() < failureLimit {
		return
	}
	tr.length = min(max(2*tr.length, coolFirst), coolMost)
	tr.since, tr.until = now, now.Add(tr.length)
}

// counted is how many failures count for the next cooldown.
func (tr *trouble) counted() (n int) {
	for _, at := range tr.failures {
		if at.After(tr.since) {
			n++
		}
	}
	return n
}

// recent are the failures that are not older than the window.
func (tr *trouble) recent(now time.Time) []time.Time {
	for i, at := range tr.failures {
		if now.Sub(at) < failureWindow {
			return tr.failures[i:]
		}
	}
	return nil
}

// makeRoom forgets the target that failed longest ago when there are too many.
func (h *health) makeRoom() {
	if len(h.of) < maxTroubled {
		return
	}
	oldest := ""
	for k, tr := range h.of {
		if oldest == "" || tr.lastAt.Before(h.of[oldest].lastAt) {
			oldest = k
		}
	}
	delete(h.of, oldest)
}

// cooling is until when t is left alone; zero when it isn't.
func (h *health) cooling(t llm.Target) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if tr := h.of[t.String()]; tr != nil && time.Now().Before(tr.until) {
		return tr.until
	}
	return time.Time{}
}

// troubled lists what is known of targets in trouble.
func (h *health) troubled() []trouble {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	out := make([]trouble, 0, len(h.of))
	for _, tr := range h.of {
		known := *tr
		known.failures = tr.recent(now)
		if now.After(known.until) {
			known.until = time.Time{}
		}
		out = append(out, known)
	}
	return out
}
