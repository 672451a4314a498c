package engine

import (
	"context"
	"sync"
	"time"
)

// clock ends the context of a call when it has run for its time. It stands
// still while a person is asked about a call that the call makes. A nil clock
// does nothing.
type clock struct {
	end context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	left  time.Duration // when since began
	since time.Time
	holds int
}

// limited is ctx for a call that may run for limit. Only tools that wait for
// calls of their own get a clock, and those no deadline that they could read.
func limited(ctx context.Context, limit time.Duration, waits bool) (context.Context, *clock, func()) {
	if !waits {
		ctx, stop := context.WithTimeoutCause(ctx, limit, errLimit)
		return ctx, nil, stop
	}
	ctx, end := context.WithCancelCause(ctx)
	c := &clock{end: end, left: limit, since: time.Now()}
	c.timer = time.AfterFunc(limit, c.ring)
	return ctx, c, c.stop
}

func (c *clock) ring() { c.end(errLimit) }

// stop ends the context whatever time is left.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds++ // so that nobody winds it up again
	c.timer.Stop()
	c.end(nil)
}

// hold stops the clock until release was called as often as hold.
func (c *clock) hold() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds++; c.holds == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
}

func (c *clock) release() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds--; c.holds == 0 {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}
