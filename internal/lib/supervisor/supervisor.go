// Package supervisor starts goroutines for others and waits for them: the
// serving of a listener, work that comes back every few minutes.
//
// A [Group] is made by whoever owns the work. [Group.Stop] ends the context
// that all of it runs under; [Group.Wait] returns when the last of it has
// ended, or says by name what still runs. A panic ends the work in which it
// happened and is logged; the rest of the process goes on.
//
// Start reading at [Group.Go].
package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// Group is goroutines that end together.
type Group struct {
	ctx  context.Context
	stop context.CancelFunc
	log  *slog.Logger

	mu      sync.Mutex
	running []string
	idle    chan struct{} // closed when the last one has ended; nil while nobody waits
}

// New makes an empty group whose work ends with ctx. log is the default logger
// when nil.
func New(ctx context.Context, log *slog.Logger) *Group {
	if log == nil {
		log = slog.Default()
	}
	ctx, stop := context.WithCancel(ctx)
	return &Group{ctx: ctx, stop: stop, log: log}
}

// Go runs f on a goroutine of its own. f returns soon after its context ends.
// An error that it returns is logged, unless it only says that the context
// ended. name says what runs, for people.
func (g *Group) Go(name string, f func(context.Context) error) {
	g.mu.Lock()
	g.running = append(g.running, name)
	g.mu.Unlock()
	go func() {
		defer g.ended(name)
		g.once(name, f)
	}()
}

// Every runs f now and then: the first time after every, and then every time
// that long after it returned. An error or a panic is logged and the next time
// comes all the same.
func (g *Group) Every(name string, every time.Duration, f func(context.Context) error) {
	g.Go(name, func(ctx context.Context) error {
		t := time.NewTimer(every)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-t.C:
			}
			g.once(name, f)
			t.Reset(every)
		}
	})
}

// once runs f and logs what went wrong.
func (g *Group) once(name string, f func(context.Context) error) {
	defer func() {
		if v := recover(); v != nil {
			g.log.Error("work in the background panicked", "work", name, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	if err := f(g.ctx); err != nil && g.ctx.Err() == nil {
		g.log.Error("work in the background failed", "work", name, "err", err)
	}
}

func (g *Group) ended(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.running, name)
	g.running = slices.Delete(g.running, i, i+1)
	if len(g.running) == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
}

// Stop ends the context that the work runs under. It waits for nothing.
func (g *Group) Stop() { g.stop() }

// Wait returns when all work has ended. When ctx ends first, the error says
// what still runs.
func (g *Group) Wait(ctx context.Context) error {
	g.mu.Lock()
	if len(g.running) == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return fmt.Errorf("wait for %s: %w", strings.Join(g.running, ", "), context.Cause(ctx))
}
