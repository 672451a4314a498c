package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/engine/cache"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/lib/contain"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// grace is how long a tool has to return when its time is up or its run was
// stopped. After that its call is answered without it.
const grace = 100 * time.Millisecond

// errLimit is why the context of a call ends when its time is up.
var errLimit = errors.New("the time limit of the call is reached")

// runner runs tools. Their code is trusted with nothing: it may panic, hang or
// return nonsense, and costs its own call only.
type runner struct {
	pool  *pool.Pool
	cache *cache.Cache
	calls Calls // nil records nothing
	limit time.Duration
	log   *slog.Logger
}

// returned is what a tool's code gave back.
type returned struct {
	result tool.Result
	err    error
}

// run runs the call, unless the cache answered it. It never ends it: that the
// tool failed is a result like any other.
func (r runner) run(ctx context.Context, inv *invocation) bool {
	if ctx.Err() != nil {
		return inv.cancelled(false)
	}
	if inv.out.Cached {
		return true
	}
	if err := r.record(ctx, inv); err != nil {
		if ctx.Err() != nil {
			return inv.cancelled(false)
		}
		r.log.Error("a call that nothing tells of is not made", "tool", inv.out.Tool, "err", err)
		return inv.refuse(&tool.Refusal{
			Rule: "record", Reason: "The call could not be recorded before it ran, so nothing ran.",
			Allowed: "Look at the log and at the room on the disk, then try again.",
		})
	}
	limit := r.limit
	if t := inv.entry.Def.Timeout; t > 0 {
		limit = t
	}
	limited, clock, stop := limited(ctx, limit, inv.entry.Def.Waits)
	defer stop()
	inv.host.running, inv.host.clock = limited, clock
	t, call, writing := inv.entry.Tool, inv.call(), r.writing(inv)
	got, err := contain.Run(limited, r.pool.Fence(), inv.entry.Owner.String(), grace, func() (got returned) {
		// Here and not below, for code that was left behind goes on writing.
		defer func() { writing.End(got.result.Touched...) }()
		got.result, got.err = t.Execute(limited, call)
		return got
	})
	if errors.Is(err, contain.ErrExhausted) {
		writing.End() // it never began
	}
	timeUp := ctx.Err() == nil && context.Cause(limited) == errLimit
	switch {
	case err != nil:
		r.broken(ctx, inv, err, limit)
	case got.err != nil:
		inv.result.Touched = got.result.Touched
		failed(ctx, inv, got.err, timeUp, limit)
	default:
		inv.result = got.result
		succeeded(inv, timeUp)
	}
	if inv.out.Failed() {
		inv.out.Step = "run"
	}
	return true
}

// writing tells the cache what the call begins to change. What a tool does that
// waits for calls of its own, these tell themselves.
func (r runner) writing(inv *invocation) *cache.Write {
	touches := inv.touches
	if inv.entry.Def.Waits {
		touches = nil
	}
	return r.cache.Write(inv.surface.Scope.Workspace(), touches)
}

// succeeded takes what the tool returned. A tool that tells of a failure after
// its time was up tells of that.
func succeeded(inv *invocation, timeUp bool) {
	inv.out.Status, inv.out.Content = tool.OK, filled(inv.result.Content)
	switch {
	case inv.entry.Owner.Kind == tool.ClientOwner:
		inv.out.Status = tool.Handed
	case !inv.result.IsError:
	case timeUp:
		inv.out.Status = tool.TimedOut
	default:
		inv.out.Status = tool.Failed
	}
}

// failed sorts an error that the tool returned.
func failed(ctx context.Context, inv *invocation, err error, timeUp bool, limit time.Duration) {
	var refusal *tool.Refusal
	switch {
	case errors.As(err, &refusal):
		own := *refusal
		own.Step = "run"
		inv.refuse(&own)
	case ctx.Err() != nil:
		inv.cancelled(true)
	case timeUp:
		timedOut(inv, limit)
	default:
		inv.end(tool.Failed, "Error: "+err.Error())
	}
}

// broken sorts what happened to a call whose code did not return.
func (r runner) broken(ctx context.Context, inv *invocation, err error, limit time.Duration) {
	var panicked *contain.Panic
	switch {
	case errors.As(err, &panicked):
		r.log.Error("a tool panicked", "tool", inv.out.Tool, "owner", inv.entry.Owner.String(),
			"panic", panicked.Value, "stack", string(panicked.Stack))
		inv.crashed("the tool "+inv.out.Tool, panicked.Value)
	case errors.Is(err, contain.ErrExhausted):
		inv.refuse(&tool.Refusal{
			Rule:    "exhausted",
			Reason:  "Too many earlier calls hang although their time is up, of this tool and its like or of all, so nothing ran.",
			Allowed: "Wait until they have ended, or restart GoClaw.",
		})
	case errors.Is(err, contain.ErrAbandoned):
		r.log.Warn("a tool did not stop when it was told to and was left behind", "tool", inv.out.Tool,
			"owner", inv.entry.Owner.String(), "left_behind", r.pool.Stats().Abandoned)
		if ctx.Err() != nil {
			inv.cancelled(true)
		} else {
			timedOut(inv, limit)
		}
	default:
		r.log.Error("a tool ended without a result", "tool", inv.out.Tool, "owner", inv.entry.Owner.String(), "err", err)
		inv.crashed("the tool "+inv.out.Tool, err)
	}
}

func timedOut(inv *invocation, limit time.Duration) {
	advice := "Ask for less at a time."
	if !inv.entry.Def.ReadOnly {
		advice = "What it had done by then stands, so look before you try again, and ask for less at a time."
	}
	inv.end(tool.TimedOut, fmt.Sprintf("Error: %s did not end within its time limit of %s and was stopped. %s", inv.out.Tool, limit, advice))
}

// filled is content that says something: providers refuse results without text.
func filled(content []llm.Part) []llm.Part {
	blank := ""
	for _, p := range content {
		if p.Kind != llm.KindText || strings.TrimSpace(p.Text) != "" {
			return content
		}
		blank += p.Text
	}
	if blank != "" {
		return []llm.Part{llm.Text(fmt.Sprintf("(no output but white space: %s)", quoted(blank)))}
	}
	return []llm.Part{llm.Text("(no output)")}
}
