package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// A call that comes to touch what a later one changed already knows of that.
func TestARewrittenCallKnowsWhatRanBeforeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		changed := make(chan struct{})
		b := set(t, []tool.Tool{tool.WithTouches(tool.New(tool.Definition{Name: "write"}, func(_ context.Context, c tool.Call, in path) (tool.Result, error) {
			digest, _ := c.State.Digest(in.Path)
			r := tool.TextResult("knew " + digest)
			r.Effects = []tool.Effect{{Kind: tool.FileSeen, Key: in.Path, Value: "written"}}
			return r, nil
		}), func(_ tool.Call, in path) []tool.Touch { return []tool.Touch{{Name: "file:" + in.Path, Write: true}} })},
			hooked(t, decides("elsewhere", 0, func(ctx context.Context, c *hook.Call) (hook.Verdict, error) {
				if c.ID != "first" {
					return hook.Verdict{}, nil
				}
				<-changed
				return hook.Verdict{Args: json.RawMessage(`{"path":"b"}`)}, nil
			})))
		out := b.Execute(t.Context(), b.offer(), []llm.ToolCall{{ID: "first", Name: "write", Arguments: `{"path":"a"}`}, {ID: "second", Name: "write", Arguments: `{"path":"b"}`}}, func(e tool.Event) {
			if e.Type == tool.Finished && e.Index == 1 {
				close(changed)
			}
		})
		if got := text(out[0]); got != "knew written" {
			t.Errorf("got %q", got)
		}
	})
}

// Rules and handlers are asked about a bounded number of calls at once, whatever
// a model sends, and one person's calls keep nobody else's waiting.
func TestDecidersAreAskedWithinBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		b := set(t, []tool.Tool{reading("read", reads)}, hooked(t, decides("slow", 0, func(context.Context, *hook.Call) (hook.Verdict, error) {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Second)
			return hook.Verdict{}, nil
		})))
		var others sync.WaitGroup
		many := func(who string, n int) time.Duration {
			f := b.scope
			f.Caller = auth.Principal{ID: who, Role: auth.User}
			sf, err := b.Offer(t.Context(), tool.NewScope(f), model, b.state, tool.Ask{})
			if err != nil {
				t.Error(err)
				return 0
			}
			begun := time.Now()
			for i, o := range b.Execute(t.Context(), sf, repeat(n, call("read", `{"path":"a"}`)), nil) {
				if o.Status != tool.OK {
					t.Errorf("call %d of %s is %s: %s", i, who, o.Status, text(o))
				}
			}
			return time.Since(begun)
		}
		others.Go(func() { many("bob", 250) })
		synctest.Wait()
		if n := most.Load(); n != pool.DecidingEach {
			t.Errorf("%d calls of one person are decided about at once", n)
		}
		if took := many("ann", 1); took != time.Second {
			t.Errorf("another person's call took %v", took)
		}
		for _, who := range []string{"c", "d", "e", "f", "g"} {
			others.Go(func() { many(who, 100) })
		}
		others.Wait()
		if n := most.Load(); n != pool.Deciding {
			t.Errorf("%d calls were decided about at once", n)
		}
	})
}

// A call that waits for a person is refused when they switch plan mode on
// meanwhile, and allow it all the same; so is one that a call makes.
func TestPlanModeIsSwitchedWhileAPersonIsAsked(t *testing.T) {
	t.Parallel()
	var planned, broken bool
	var ran atomic.Int32
	write := writing("write", func(context.Context, tool.Call, none) (string, error) { ran.Add(1); return "wrote", nil })
	script := tool.New(tool.Definition{Name: "script", Traits: tool.Traits{ReadOnly: true, Waits: true}}, func(ctx context.Context, c tool.Call, _ none) (string, error) {
		return text(c.Host.Call(ctx, "write", json.RawMessage("{}"))), nil
	})
	b := set(t, []tool.Tool{write, script}, hooked(t, decides("ask", 0, func(_ context.Context, c *hook.Call) (hook.Verdict, error) {
		if c.Tool != "write" {
			return hook.Verdict{}, nil
		}
		return hook.Verdict{Ask: &hook.Ask{}}, nil
	})), func(o *engine.Options) {
		o.Approve = func(_ context.Context, r approval.Request, told func(tool.Approval)) tool.Approval {
			a := tool.Approval{ID: "1", Tool: r.Tool, Status: tool.ApprovalOpen}
			told(a)
			planned, a.Status = !broken, tool.ApprovalAllowed
			return a
		}
		o.Planned = func(_ context.Context, s tool.Scope) (bool, error) {
			if s.Session() != "s" {
				t.Errorf("asked about the session %q", s.Session())
			}
			if broken {
				return false, errors.New("the disk is gone")
			}
			return planned, nil
		}
	})
	if o := b.run(t.Context(), call("write", "{}"))[0]; o.Status != tool.Refused || o.Refusal.Rule != "plan_mode" || o.Approval == nil {
		t.Errorf("got %s: %s", o.Status, text(o))
	}
	planned = false
	if o := b.run(t.Context(), call("script", "{}"))[0]; !strings.Contains(text(o), "Plan mode is on") {
		t.Errorf("a script's call: %s: %s", o.Status, text(o))
	}
	broken = true
	if o := b.run(t.Context(), call("write", "{}"))[0]; o.Status != tool.Failed || !strings.Contains(text(o), "the disk is gone") {
		t.Errorf("got %s: %s", o.Status, text(o))
	}
	if ran.Load() != 0 {
		t.Errorf("ran %d times", ran.Load())
	}
}
