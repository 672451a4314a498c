package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/tool"
)

// vouchEvery is how often it is asked whether the callers of runs that go may
// still be acted for: other processes remove people.
const vouchEvery = 250 * time.Millisecond

// vouching is the asking, by one goroutine for all runs, as long as there are
// some.
type vouching struct {
	mu   sync.Mutex
	busy int                // lanes of a gateway that serves
	stop context.CancelFunc // nil while nothing goes
	done chan struct{}
}

// begin is called when a lane begins in a gateway that serves, and end when that
// lane has ended.
func (v *vouching) begin(r *Runner) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.busy++; v.busy > 1 {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	v.stop, v.done = stop, done
	go func() {
		defer close(done)
		tick := time.NewTicker(vouchEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.vouchAll(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
}

func (v *vouching) end() {
	v.mu.Lock()
	if v.busy--; v.busy > 0 {
		v.mu.Unlock()
		return
	}
	stop, done := v.stop, v.done
	v.mu.Unlock()
	stop()
	<-done
}

// vouchAll stops the runs that go for somebody who may not be acted for any
// more. What of theirs waits is held against that when it is to begin.
func (r *Runner) vouchAll(ctx context.Context) {
	going := map[auth.Principal][]*Run{}
	r.mu.Lock()
	for _, l := range r.lanes {
		caller := l.active.request.Caller
		going[caller] = append(going[caller], l.active)
	}
	r.mu.Unlock()
	for caller, runs := range going {
		limit, cancel := context.WithTimeout(ctx, storeLimit)
		err := r.opts.Vouch(limit, caller)
		cancel()
		var disowned *tool.Disowned
		if !errors.As(err, &disowned) {
			continue // what can't be told is asked again
		}
		for _, run := range runs {
			run.disown(disowned)
		}
	}
}

// disown stops the run since its person may not be acted for any more.
func (run *Run) disown(why *tool.Disowned) {
	if run.ctx.Err() != nil {
		return
	}
	run.logger().Warn("a run is stopped: its person may not be acted for any more", "why", why.Why)
	run.notice("stopping", "the run is stopped: "+why.Why, "")
	run.cancel(why)
}

// vouch holds the caller of a message that waited against who they are now: it
// carries the authority that they had when they said it.
func (r *Runner) vouch(run *Run) error {
	if !r.isServing() || r.opts.Vouch == nil || run.broken != "" || !run.isStored() {
		return nil
	}
	err := r.opts.Vouch(run.ctx, run.request.Caller)
	var disowned *tool.Disowned
	if errors.As(err, &disowned) {
		run.broken = fmt.Sprintf("This message waited, and is not answered any more: %v.", err)
		return nil
	}
	return err
}
