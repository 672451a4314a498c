package run

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/goclaw/goclaw/internal/agent/session"
)

// Changes yields the key of each session in which, from the call on, a run
// gets its place, begins, joins another one or ends, or that [Runner.Touch]
// names, until ctx ends. A session that changes often while the consumer is
// busy is yielded once. What is returned may be ranged over once.
func (r *Runner) Changes(ctx context.Context) iter.Seq[session.Key] {
	v := &watcher{keys: map[session.Key]bool{}, more: make(chan struct{}, 1)}
	r.watchers.add(v)
	context.AfterFunc(ctx, func() { r.watchers.remove(v) })
	return func(yield func(session.Key) bool) {
		defer r.watchers.remove(v)
		for {
			select {
			case <-ctx.Done():
				return
			case <-v.more:
			}
			for _, key := range v.take() {
				if !yield(key) {
					return
				}
			}
		}
	}
}

// Touch tells those who watch that a session changed in another way: a new
// title, or its end.
func (r *Runner) Touch(key session.Key) { r.watchers.tell(key) }

// watchers are those who watch for changes. Telling them never blocks.
type watchers struct {
	mu  sync.Mutex
	all map[*watcher]bool
}

// watcher collects what changed until its consumer comes for it.
type watcher struct {
	mu   sync.Mutex
	keys map[session.Key]bool
	more chan struct{} // holds a token while there are keys
}

func (w *watchers) add(v *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[*watcher]bool{}
	}
	w.all[v] = true
}

func (w *watchers) remove(v *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, v)
}

func (w *watchers) tell(key session.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for v := range w.all {
		v.mu.Lock()
		v.keys[key] = true
		v.mu.Unlock()
		select {
		case v.more <- struct{}{}:
		default:
		}
	}
}

func (v *watcher) take() []session.Key {
	v.mu.Lock()
	defer v.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(v.keys), session.Key.Compare)
	clear(v.keys)
	return keys
}
