// Package contain runs code that nobody vouches for, such as tools and the
// handlers of plugins: it may panic, end its goroutine or never come back, and
// costs its own call only. Code that does not come back when it is told to is
// left behind and goes on; how much may be left behind at once, in all and of
// one owner, is bounded by a [Fence].
//
// A fence has no goroutine of its own. Each call of [Run] has one, which Run
// waits for unless it leaves it behind; [Fence.Wait] waits for those.
//
// Start reading at [Run].
package contain

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

var (
	// ErrAbandoned says that a call did not return in time and was left behind.
	ErrAbandoned = errors.New("the call did not return and was left behind")
	// ErrExited says that a call ended its goroutine instead of returning.
	ErrExited = errors.New("the call ended its goroutine")
	// ErrExhausted says that too many calls that were left behind still run, of
	// all owners or of the one.
	ErrExhausted = errors.New("too many calls that were left behind still run")
)

// Panic is the error of a call that panicked.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprint("panic: ", p.Value) }

// Fence counts the calls that were left behind and still run. It is safe for
// concurrent use.
type Fence struct {
	limit int

	mu   sync.Mutex
	all  int
	left map[string]int // by owner
	none chan struct{}  // closed when all gets 0; nil while nobody waits for that
}

// NewFence makes a fence behind which at most limit calls may be left at any
// time, a quarter of them of one owner.
func NewFence(limit int) *Fence { return &Fence{limit: limit, left: map[string]int{}} }

// Left is how many calls were left behind and still run.
func (f *Fence) Left() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all
}

// Wait waits until no call that was left behind runs any more, or until ctx
// ends, whose error it returns then.
func (f *Fence) Wait(ctx context.Context) error {
	f.mu.Lock()
	if f.all == 0 {
		f.mu.Unlock()
		return nil
	}
	if f.none == nil {
		f.none = make(chan struct{})
	}
	none := f.none
	f.mu.Unlock()
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *Fence) admit(owner string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all >= f.limit || f.left[owner] >= max(f.limit/4, 1) {
		return ErrExhausted
	}
	return nil
}

// leave counts calls that are left behind. The caller holds the lock.
func (f *Fence) leave(owner string, n int) {
	f.all += n
	if f.left[owner] += n; f.left[owner] == 0 {
		delete(f.left, owner)
	}
	if f.all == 0 && f.none != nil {
		close(f.none)
		f.none = nil
	}
}

// Run runs f, whose code is owner's, on a goroutine of its own and returns what
// it returns. A panic becomes a [*Panic]. When ctx has ended f has grace to
// return; after that it is left behind and Run returns [ErrAbandoned]: f goes
// on, what it returns is dropped, and it counts until it ends. While too many
// are left behind, Run runs nothing and returns [ErrExhausted]; an owner whose
// code hangs comes to that before it takes the others along.
//
// f must not write to anything that is read after Run returned.
func Run[T any](ctx context.Context, fence *Fence, owner string, grace time.Duration, f func() T) (T, error) {
	var zero T
	if err := fence.admit(owner); err != nil {
		return zero, err
	}
	c := &contained[T]{fence: fence, owner: owner, done: make(chan struct{})}
	go c.run(f)

	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
		return c.value, c.err
	case <-timer.C:
	}
	if c.abandon() {
		return zero, ErrAbandoned
	}
	<-c.done
	return c.value, c.err
}

// contained is one call of Run.
type contained[T any] struct {
	fence *Fence
	owner string
	value T
	err   error
	done  chan struct{} // closed when value and err are set

	returned, abandoned bool // guarded by the fence's lock
}

func (c *contained[T]) run(f func() T) {
	c.err = ErrExited
	defer func() {
		if v := recover(); v != nil {
			c.err = &Panic{Value: v, Stack: debug.Stack()}
		}
		c.fence.mu.Lock()
		c.returned = true
		if c.abandoned {
			c.fence.leave(c.owner, -1)
		}
		c.fence.mu.Unlock()
		close(c.done)
	}()
	c.value = f()
	c.err = nil
}

// abandon leaves the call behind, unless it has returned.
func (c *contained[T]) abandon() bool {
	c.fence.mu.Lock()
	defer c.fence.mu.Unlock()
	if c.returned {
		return false
	}
	c.abandoned = true
	c.fence.leave(c.owner, 1)
	return true
}
