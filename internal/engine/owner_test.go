package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/owner"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// brought has a plugin bring tools besides.
func brought(t *testing.T, tools ...tool.Tool) option {
	return func(o *engine.Options) {
		if notes := o.Registry.Add(tool.Owner{Kind: tool.PluginOwner, ID: "odd"}, tools...); len(notes) > 0 {
			t.Fatal(notes)
		}
	}
}

// stuck is a tool whose questions are answered when free is closed.
type stuck struct {
	tool.Tool
	free <-chan struct{}
}

func (s stuck) Touches(tool.Call) []tool.Touch {
	<-s.free
	return nil
}

// stuckFactory is one whose Bind is.
type stuckFactory struct{ stuck }

func (s stuckFactory) Bind(tool.Binding) (tool.Tool, string) {
	<-s.free
	return s.Tool, ""
}

// A tool of a plugin that hangs when it is asked what a call touches costs its
// call the time limit, and a stop of the run ends that at once.
func TestTouchesThatHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		defer close(free)
		b := set(t, []tool.Tool{reading("fine", nothingAt)}, brought(t, stuck{writing("odd", nothingAt), free}))
		begun := time.Now()
		out := b.run(t.Context(), call("odd", "{}"), call("fine", "{}"))
		if out[0].Status != tool.OK || out[1].Status != tool.OK || time.Since(begun) > owner.Limit+time.Second {
			t.Errorf("got %s and %s after %s", out[0].Status, out[1].Status, time.Since(begun))
		}
		if len(out[0].Touches) != 1 || out[0].Touches[0] != tool.Everything {
			t.Errorf("it touches %v", out[0].Touches)
		}

		ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer stop()
		begun = time.Now()
		out = b.check([]llm.ToolCall{call("odd", "{}")}, b.Execute(ctx, b.offer(), []llm.ToolCall{call("odd", "{}")}, nil))
		if took := time.Since(begun); out[0].Status != tool.Cancelled || took != 200*time.Millisecond {
			t.Errorf("a stopped run got %s after %s", out[0].Status, took)
		}
	})
}

// One that hangs is asked in vain a bounded number of times, and then no more.
func TestHangingOwnersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		defer close(free)
		b := set(t, nil, brought(t, stuck{reading("odd", nothingAt), free}))
		for range 20 {
			b.run(t.Context(), call("odd", "{}"))
		}
		if left := b.pool.Stats().Abandoned; left != 8 {
			t.Errorf("%d questions hang", left)
		}
		begun := time.Now()
		b.run(t.Context(), call("odd", "{}"))
		if took := time.Since(begun); took != 0 {
			t.Errorf("another one took %s", took)
		}
	})
}

// A factory of a plugin that hangs has declined, and so have the others of its
// owner; a stop of the run ends the waiting at once.
func TestFactoriesThatHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		defer close(free)
		b := set(t, []tool.Tool{reading("fine", nothingAt)}, brought(t,
			stuckFactory{stuck{reading("odd", nothingAt), free}}, stuckFactory{stuck{reading("odder", nothingAt), free}}))
		begun := time.Now()
		sf := b.offer()
		if took := time.Since(begun); took != owner.Limit {
			t.Errorf("it took %s", took)
		}
		if got := tool.Names(sf.Offered); len(got) != 1 || got[0] != "fine" {
			t.Errorf("offered %v", got)
		}
		for _, r := range sf.Removed {
			if !strings.Contains(r.Reason, "gave no answer within 2s") {
				t.Errorf("%s: %s", r.Tool, r.Reason)
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer stop()
		begun = time.Now()
		b.Invoke(ctx, tool.NewScope(b.scope), llm.Target{}, tool.State{}, "odd", nil, nil)
		if took := time.Since(begun); took != 200*time.Millisecond {
			t.Errorf("a stopped one took %s", took)
		}
	})
}

// What a tool that breaks is asked for a call that nobody makes breaks nothing.
func TestImaginedCallsOfBrokenTools(t *testing.T) {
	t.Parallel()
	panics := func(tool.Call, none) []tool.Touch { panic("no idea") }
	b := set(t, []tool.Tool{tool.WithTouches(reading("own", nothingAt), panics)}, brought(t, tool.WithTouches(reading("odd", nothingAt), panics)))
	for _, name := range []string{"own", "odd"} {
		c, notes := b.Imagine(t.Context(), tool.NewScope(b.scope), name, json.RawMessage("{}"))
		if c.Tool != name || len(notes) != 1 || !strings.Contains(notes[0], name) {
			t.Errorf("%s: %+v, %q", name, c, notes)
		}
	}
}

func nothingAt(context.Context, tool.Call, none) (string, error) { return "done", nil }
