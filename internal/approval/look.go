package approval

import (
	"context"
	"time"
)

// poll is how often a desk looks for answers that other processes wrote down.
// That none will come can't be known: the next command of a terminal may answer.
const poll = 250 * time.Millisecond

// look is the looking for answers to the open requests of a desk. One goroutine
// does that for all of them, as long as there are some.
type look struct {
	stop context.CancelFunc
	done chan struct{}
}

// looking begins to look unless the desk does. The caller holds d.mu.
func (d *Desk) looking() {
	if d.look != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &look{stop: stop, done: make(chan struct{})}
	d.look = l
	go func() {
		defer close(l.done)
		tick := time.NewTicker(poll)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				d.pollOnce(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// pollOnce wakes the calls whose requests are open no more, in one query for all.
func (d *Desk) pollOnce(ctx context.Context) {
	open, err := d.opts.Store.Waiting(ctx, d.id)
	if err != nil {
		if ctx.Err() == nil {
			d.opts.Log.Debug("answers can't be looked for now", "err", err)
		}
		return
	}
	is := make(map[string]bool, len(open))
	for _, id := range open {
		is[id] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, w := range d.waiting {
		if !is[id] {
			wake(w)
		}
	}
}

// wake tells a call that waits to look how its request stands.
func wake(w chan<- struct{}) {
	select {
	case w <- struct{}{}:
	default: // it was told and has not looked yet
	}
}

// leave ends the waiting for a request, and with the last one the looking.
func (d *Desk) leave(id string) {
	d.mu.Lock()
	delete(d.waiting, id)
	var l *look
	if len(d.waiting) == 0 {
		l, d.look = d.look, nil
	}
	d.mu.Unlock()
	if l != nil {
		l.stop()
		<-l.done
	}
}
