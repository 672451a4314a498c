// Package owner asks the code of whoever brought a tool what it has to say before
// a call runs: what the call touches, which tool there is for a run, whether what
// was read has changed. Such code is trusted with nothing: it may panic, end its
// goroutine or never come back, and whoever asks goes on within [Limit], or at
// once when the run is stopped. Code that does not come back is left behind the
// fence of the pool, which bounds how much of that there is.
//
// An [Asker] lives as long as its fence, starts nothing of its own and has
// nothing to close. No other package calls these methods of tools: that is held by
// the architecture test.
//
// Start reading at [Asker.Touches].
package owner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/goclaw/goclaw/internal/lib/contain"
	"github.com/goclaw/goclaw/internal/tool"
)

const (
	// Limit is how long an owner has for one answer.
	Limit = 2 * time.Second
	// maxTouches is how many touches of one call are taken.
	maxTouches = 1000
	// grace is how long Stamp, which is told to stop, has for that.
	grace = 100 * time.Millisecond
	// ownFence is how many questions of an Asker without a pool may hang.
	ownFence = 32
)

// ErrSilent is the error when an owner gave no answer.
var ErrSilent = errors.New("its owner gave no answer")

// Asker asks owners. It is safe for concurrent use.
type Asker struct {
	fence *contain.Fence
	log   *slog.Logger
}

// New makes an asker that leaves behind fence what hangs. Nil is a fence of its
// own, a nil log the default logger.
func New(fence *contain.Fence, log *slog.Logger) *Asker {
	if fence == nil {
		fence = contain.NewFence(ownFence)
	}
	if log == nil {
		log = slog.Default()
	}
	return &Asker{fence, log}
}

// Touches is what a call of e is going to read and write. A tool that can't tell
// touches nothing when it only reads, unless its results are cached, and
// everything else; one that gives no answer touches everything that it may. The
// error is [ErrSilent] then, that of ctx, or a [*contain.Panic].
func (a *Asker) Touches(ctx context.Context, e *tool.Entry, call tool.Call) ([]tool.Touch, error) {
	t, ok := e.Tool.(tool.Toucher)
	switch {
	case ok:
	case !e.Def.ReadOnly || e.Def.Cacheable:
		return everything(e), nil
	default:
		return nil, nil
	}
	if foreign(e) {
		call.Args = bytes.Clone(call.Args) // which it may keep
	}
	touches, err := ask(ctx, a, e, "touches", 0, func(context.Context) []tool.Touch {
		return slices.Clip(t.Touches(call))
	})
	switch {
	case err != nil:
		return everything(e), err
	case len(touches) > maxTouches:
		return everything(e), nil
	case foreign(e):
		touches = slices.Clone(touches)
	}
	return touches, nil
}

// everything is all that a call of e can touch.
func everything(e *tool.Entry) []tool.Touch {
	return []tool.Touch{{Name: tool.Everything.Name, Write: !e.Def.ReadOnly}}
}

// Standing is what t says that a call touches, for a tool that stands in its place
// and is asked by an Asker itself. ok is false when t can't tell.
func Standing(t tool.Tool, call tool.Call) (touches []tool.Touch, ok bool) {
	toucher, ok := t.(tool.Toucher)
	if !ok {
		return nil, false
	}
	return toucher.Touches(call), true
}

// Binds reports whether the tool of e is a factory.
func Binds(e *tool.Entry) bool {
	_, ok := e.Tool.(tool.Binder)
	return ok
}

// Bind asks the factory of e for the tool of a run. Without one reason says why;
// silent says that it gave no answer.
func (a *Asker) Bind(ctx context.Context, e *tool.Entry, b tool.Binding) (made tool.Tool, reason string, silent bool) {
	type bound struct {
		made   tool.Tool
		reason string
	}
	got, err := ask(ctx, a, e, "bind", 0, func(context.Context) (out bound) {
		out.made, out.reason = e.Tool.(tool.Binder).Bind(b)
		return out
	})
	var panicked *contain.Panic
	switch {
	case errors.As(err, &panicked):
		return nil, "its factory broke, as the log of GoClaw tells", false
	case errors.Is(err, ErrSilent):
		return nil, fmt.Sprintf("its factory gave no answer within %s", Limit), true
	case err != nil:
		return nil, "the run was stopped before its factory gave an answer", true
	case got.made != nil:
		return got.made, "", false
	case got.reason == "":
		return nil, "its owner gave no reason", false
	}
	return nil, got.reason, false
}

// Stamper asks e for stamps of what a call reads; nil when it has none. The error
// is as that of [Asker.Touches].
func (a *Asker) Stamper(e *tool.Entry) func(ctx context.Context, call tool.Call, at time.Time) (stamp string, ok bool, err error) {
	t, can := e.Tool.(tool.Stamper)
	if !can {
		return nil
	}
	return func(ctx context.Context, call tool.Call, at time.Time) (string, bool, error) {
		type told struct {
			stamp string
			ok    bool
		}
		call.Args, call.Host = bytes.Clone(call.Args), nil
		got, err := contained(ctx, a, e, "stamp", grace, func(limited context.Context) (out told) {
			out.stamp, out.ok = t.Stamp(limited, call, at)
			return out
		})
		return got.stamp, got.ok && err == nil, err
	}
}

// foreign reports whether the code of e may be anybody's. That of GoClaw itself
// answers out of memory, so that it needs no goroutine for each question.
func foreign(e *tool.Entry) bool {
	switch e.Owner.Kind {
	case tool.CoreOwner, tool.FamilyOwner, tool.ClientOwner:
		return false
	}
	return true
}

// ask asks e, contained where its code may be anybody's.
func ask[T any](ctx context.Context, a *Asker, e *tool.Entry, what string, grace time.Duration, f func(context.Context) T) (got T, err error) {
	if foreign(e) {
		return contained(ctx, a, e, what, grace, f)
	}
	defer func() {
		if v := recover(); v != nil {
			err = a.broken(e, what, &contain.Panic{Value: v, Stack: debug.Stack()})
		}
	}()
	return f(ctx), nil
}

// contained asks e on a goroutine of its own.
func contained[T any](ctx context.Context, a *Asker, e *tool.Entry, what string, grace time.Duration, f func(context.Context) T) (T, error) {
	limited, stop := context.WithTimeout(ctx, Limit)
	defer stop()
	got, err := contain.Run(limited, a.fence, e.Owner.String(), grace, func() T { return f(limited) })
	if err == nil {
		return got, nil
	}
	if ctx.Err() != nil {
		return got, ctx.Err()
	}
	return got, a.broken(e, what, err)
}

// broken logs what became of a question and is the error of it.
func (a *Asker) broken(e *tool.Entry, what string, err error) error {
	var panicked *contain.Panic
	if errors.As(err, &panicked) {
		a.log.Error("a tool panicked when it was asked", "question", what, "tool", e.Def.Name, "owner", e.Owner.String(),
			"panic", panicked.Value, "stack", string(panicked.Stack))
		return panicked
	}
	a.log.Warn("a tool gave no answer when it was asked", "question", what, "tool", e.Def.Name, "owner", e.Owner.String(),
		"err", err, "left_behind", a.fence.Left())
	return fmt.Errorf("%w: %w", ErrSilent, err)
}
