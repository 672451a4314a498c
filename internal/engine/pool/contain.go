package pool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

var (
	// ErrAbandoned says that a call did not return in time and was left behind.
	ErrAbandoned = errors.New("pool: the call did not return and was left behind")
	// ErrExited says that a call ended its goroutine instead of returning.
	ErrExited = errors.New("pool: the call ended its goroutine")
	// ErrExhausted says that too many calls that were left behind still run, of
	// all owners or of the one.
	ErrExhausted = errors.New("pool: too many calls that were left behind still run")
)

// Panic is the error of a call that panicked.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprint("panic: ", p.Value) }

// Contain runs f, whose code is owner's and nobody vouches for, on a goroutine
// of its own and returns what it returns. A panic becomes a [*Panic]. When ctx
// has ended f has grace to return; after that it is left behind and Contain
// returns [ErrAbandoned]: f goes on, what it returns is dropped, and it counts
// until it ends. While too many are left behind, Contain runs nothing and
// returns [ErrExhausted]; an owner whose code hangs comes to that before it
// takes the others along.
//
// f must not write to anything that is read after Contain returned.
func Contain[T any](ctx context.Context, p *Pool, owner string, grace time.Duration, f func() T) (T, error) {
	var zero T
	if err := p.admit(owner); err != nil {
		return zero, err
	}
	c := &contained[T]{pool: p, owner: owner, done: make(chan struct{})}
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

// contained is one call of Contain.
type contained[T any] struct {
	pool  *Pool
	owner string
	value T
	err   error
	done  chan struct{} // closed when value and err are set

	returned, abandoned bool // guarded by the pool's lock
}

func (c *contained[T]) run(f func() T) {
	c.err = ErrExited
	defer func() {
		if v := recover(); v != nil {
			c.err = &Panic{Value: v, Stack: debug.Stack()}
		}
		p := c.pool
		p.mu.Lock()
		c.returned = true
		if c.abandoned {
			p.leave(c.owner, -1)
			p.settle()
		}
		p.mu.Unlock()
		close(c.done)
	}()
	c.value = f()
	c.err = nil
}

// abandon leaves the call behind, unless it has returned.
func (c *contained[T]) abandon() bool {
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.returned {
		return false
	}
	c.abandoned = true
	p.leave(c.owner, 1)
	return true
}

// leave counts calls that are left behind.
func (p *Pool) leave(owner string, n int) {
	p.abandoned += n
	if p.left[owner] += n; p.left[owner] == 0 {
		delete(p.left, owner)
	}
}

func (p *Pool) admit(owner string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.abandoned >= p.limit || p.left[owner] >= max(p.limit/4, 1) {
		return ErrExhausted
	}
	return nil
}
