package provider

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
)

// Watch holds one model call to its [Limits] by ending the context of the
// request. It is used by one goroutine, which calls Stop when the call is
// over; the timer that runs until then is all it needs.
type Watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	free   context.CancelFunc
	timer  *time.Timer
	idle   time.Duration
	heard  atomic.Int64 // the time-out that counts since the first byte; 0 before
	last   bool         // the time that is left gets no longer by what comes
}

// timeout is the cause with which a Watch ends a context.
type timeout struct {
	message string
	total   bool // the whole call took too long
}

func (t *timeout) Error() string { return t.message }

// Watch begins to count and returns the context for the request.
func (l Limits) Watch(ctx context.Context) (context.Context, *Watch) {
	l = l.complete()
	w := &Watch{idle: l.Idle}
	total := &timeout{fmt.Sprintf("the answer was not complete within %s", short(l.Total)), true}
	w.ctx, w.free = context.WithTimeoutCause(ctx, l.Total, total)
	w.ctx, w.cancel = context.WithCancelCause(w.ctx)
	w.timer = time.AfterFunc(l.FirstByte, func() {
		t := &timeout{message: fmt.Sprintf("no answer within %s", short(l.FirstByte)) + because(l.Late)}
		if idle := time.Duration(w.heard.Load()); idle > 0 {
			t.message = fmt.Sprintf("the answer stopped for %s", short(idle)) + because(l.Silent)
		}
		w.cancel(t)
	})
	return w.ctx, w
}

// because adds a cause to a message.
func because(cause string) string {
	if cause == "" {
		return ""
	}
	return ": " + cause
}

// Heard says that a byte of the answer came.
func (w *Watch) Heard() {
	if w.heard.Load() != int64(w.idle) {
		w.heard.Store(int64(w.idle))
	}
	if !w.last {
		w.timer.Reset(w.idle)
	}
}

// Hurry lets the call go on for at most d from now on, whatever comes: the
// answer is complete in substance. Bytes don't lengthen that, another Hurry
// does.
func (w *Watch) Hurry(d time.Duration) {
	w.idle, w.last = min(w.idle, d), true
	w.heard.Store(int64(w.idle))
	w.timer.Reset(w.idle)
}

// Err is the time-out that ended the call, nil when none did. One of the whole
// call is no fault of the network: the same again would take as long, and be
// paid for again.
func (w *Watch) Err() *llm.Error {
	var t *timeout
	switch {
	case !errors.As(context.Cause(w.ctx), &t):
		return nil
	case t.total:
		return &llm.Error{Class: llm.ClassUnknown, Message: t.message + "; timeout sets how long it may take", Err: t}
	}
	return &llm.Error{Class: llm.ClassNetwork, Message: t.message, Err: t}
}

// Stop ends the context and the counting.
func (w *Watch) Stop() {
	w.timer.Stop()
	w.cancel(context.Canceled)
	w.free()
}

// short is d without needless zeros: 1m and not 1m0s.
func short(d time.Duration) string {
	switch {
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d >= time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return d.String()
}
