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
	// ErrExhausted says that too many calls that were left behind still run.
	ErrExhausted = errors.New("pool: too many calls that were left behind still run")
)

// Panic is the error of a call that panicked.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprint("panic: ", p.Value) }

// Contain runs f, whose code nobody vouches for, on a goroutine of its own and
// returns what it returns. A panic becomes a [*Panic]. When ctx has ended f has
// grace to return; after that it is left behind and Contain returns
// [ErrAbandoned]: f goes on, what it returns is dropped, and it counts until it
// ends. While too many are left behind, Contain runs nothing and returns
// [ErrExhausted].
//
// f must not write to anything that is read after Contain returned.
func Contain[T any](ctx context.Context, p *Pool, grace time.Duration, f func() T) (T, error) {
	var zero T
	if err := p.admit(); err != nil {
		return zero, err
	}
	c := &contained[T]{pool: p, done: make(chan struct{})}
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
			p.abandoned--
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
	p.abandoned++
	return true
}

func (p *Pool) admit() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.abandoned >= p.limit {
		return ErrExhausted
	}
	return nil
}
