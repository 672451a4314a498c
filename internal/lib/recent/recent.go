// Package recent keeps what somewhere else is asked for now and then, such as a
// table that other processes change: it is asked anew when the answer has become
// old, by one caller at a time and without keeping those waiting who can do with
// the last one.
//
// A [Value] starts nothing and has nothing to close. It blocks only while its
// source is asked.
package recent

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Value is an answer of a source. It is safe for concurrent use and must not be
// copied.
type Value[T any] struct {
	ask   func(ctx context.Context) (T, error)
	age   time.Duration
	log   *slog.Logger
	about string // as the log calls it

	asking sync.Mutex // held while the source is asked

	mu      sync.Mutex
	last    T
	asked   time.Time // zero: there is no answer yet, or it is not to be used any more
	forgets int       // counts up
}

// New returns what ask answers, at most age old. What keeps it from answering is
// told log once an age, as what about names.
func New[T any](age time.Duration, log *slog.Logger, about string, ask func(ctx context.Context) (T, error)) *Value[T] {
	return &Value[T]{ask: ask, age: age, log: log, about: about}
}

// Get returns the answer. While an old one is replaced, other callers get the old
// one. When the source fails the last answer stands for another age.
func (v *Value[T]) Get(ctx context.Context) T {
	last, stale, usable := v.know()
	if !stale {
		return last
	}
	if usable {
		if !v.asking.TryLock() {
			return last
		}
	} else {
		v.asking.Lock()
	}
	defer v.asking.Unlock()
	if last, stale, _ = v.know(); !stale { // somebody asked meanwhile
		return last
	}
	return v.refresh(ctx)
}

func (v *Value[T]) know() (last T, stale, usable bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last, v.asked.IsZero() || time.Since(v.asked) >= v.age, !v.asked.IsZero()
}

// refresh asks. An answer to a question that was put before Forget is not kept.
func (v *Value[T]) refresh(ctx context.Context) T {
	v.mu.Lock()
	forgets := v.forgets
	v.mu.Unlock()
	answer, err := v.ask(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			v.log.Warn(v.about+" not read", "err", err)
			v.asked = time.Now()
		}
		return v.last
	}
	v.last = answer
	if forgets == v.forgets {
		v.asked = time.Now()
	}
	return answer
}

// Outdate has the source asked by the next caller, as if the answer had become
// old.
func (v *Value[T]) Outdate() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.forgets++; !v.asked.IsZero() {
		v.asked = time.Unix(0, 0)
	}
}

// Forget has the source asked before the next answer.
func (v *Value[T]) Forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked, v.forgets = time.Time{}, v.forgets+1
}
