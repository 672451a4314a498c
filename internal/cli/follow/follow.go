// Package follow hands on what happens in the runs of a session, one run after
// the other.
//
// Life: [Start] begins to follow and owns two goroutines; they end with its
// context, and [Follower.Wait] waits for them. Nothing is dropped: a run's
// events wait for their reader, who may be slow and gets chunks of text merged.
//
// Start reading at [Follower.next].
package follow

import (
	"context"
	"sync"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
)

// Follower hands on the events of runs: those of the run that is going on, and
// of those that it was told of, in their order.
type Follower struct {
	runner *run.Runner
	events chan Event
	moved  chan struct{} // holds a token when some run changed its state
	wg     sync.WaitGroup

	mu    sync.Mutex
	queue []*run.Run // that it was told of

	// Of the goroutine that follows.
	seen map[string]bool
	last session.Key // of the run that was followed last
}

// Event is an event with the run that it belongs to.
type Event struct {
	Of *run.Run
	agent.Event
}

// Start begins to follow runs of any session until ctx ends.
func Start(ctx context.Context, r *run.Runner) *Follower {
	f := &Follower{
		runner: r, events: make(chan Event), moved: make(chan struct{}, 1), seen: map[string]bool{},
	}
	changes := r.Changes(ctx)
	f.wg.Go(func() {
		for range changes {
			f.move()
		}
	})
	f.wg.Go(func() {
		for {
			next := f.next(ctx)
			if next == nil || !f.hand(ctx, next) {
				return
			}
		}
	})
	return f
}

// Events yields what happens, until ctx ends. It is never closed.
func (f *Follower) Events() <-chan Event { return f.events }

// Wait waits for the goroutines.
func (f *Follower) Wait() { f.wg.Wait() }

// move makes the one that follows look again.
func (f *Follower) move() {
	select {
	case f.moved <- struct{}{}:
	default:
	}
}

// Tell adds a run to those that are followed. It never blocks.
func (f *Follower) Tell(r *run.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, r)
	f.move()
}

// told is the first run of the queue that was not followed yet, nil for none.
func (f *Follower) told() *run.Run {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) > 0 && f.seen[f.queue[0].ID] {
		f.queue = f.queue[1:]
	}
	if len(f.queue) == 0 {
		return nil
	}
	return f.queue[0]
}

// hand hands on a run's events; false when ctx ended.
func (f *Follower) hand(ctx context.Context, r *run.Run) bool {
	f.seen[r.ID] = true
	for e := range r.Events(ctx, 0) {
		select {
		case f.events <- Event{r, e}:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// next waits for a run that has begun and was not followed yet; nil when ctx
// ended.
func (f *Follower) next(ctx context.Context) *run.Run {
	for {
		told := f.told()
		if told != nil {
			f.last = session.Key{Agent: told.Agent, ID: told.Session}
		}
		if going, _ := f.runner.Session(f.last); going != nil && !f.seen[going.ID] {
			return going
		}
		if told != nil && told.State() != run.Queued {
			return told
		}
		select {
		case <-f.moved:
		case <-ctx.Done():
			return nil
		}
	}
}
