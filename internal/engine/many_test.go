package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Of the calls of one response the first 256 are taken; the others have their
// outcome, too.
func TestMoreCallsThanAreTaken(t *testing.T) {
	t.Parallel()
	b := set(t, []tool.Tool{writing("write", nothingAt)})
	var calls []llm.ToolCall
	for range 2000 {
		calls = append(calls, call("write", "{}"))
	}
	var told int
	out := b.check(calls, b.Execute(t.Context(), b.offer(), calls, func(e tool.Event) {
		if e.Type == tool.Finished {
			told++
		}
	}))
	for i, o := range out {
		if i < 256 && o.Status != tool.OK || i >= 256 && (o.Status != tool.Refused || o.Refusal.Rule != "too_many" || o.Digest == "") {
			t.Fatalf("call %d: %s %+v", i, o.Status, o.Refusal)
		}
	}
	if told != len(calls) {
		t.Errorf("told of the end of %d", told)
	}
}

// A stop while calls are taken up ends it there.
func TestAStopWhileCallsAreTakenUp(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	asked := 0
	b := set(t, []tool.Tool{tool.WithTouches(reading("read", nothingAt), func(tool.Call, none) []tool.Touch {
		if asked++; asked == 3 {
			stop()
		}
		return nil
	})})
	var calls []llm.ToolCall
	for range 300 {
		calls = append(calls, call("read", "{}"))
	}
	out := b.check(calls, b.Execute(ctx, b.offer(), calls, nil))
	if asked != 3 {
		t.Errorf("%d calls were taken up", asked)
	}
	for i, o := range out[:256] {
		if o.Status != tool.Cancelled {
			t.Fatalf("call %d: %s", i, o.Status)
		}
	}
}

// BenchmarkManyTouches is a response with as many calls as are taken, which all
// name many things.
func BenchmarkManyTouches(b *testing.B) {
	touches := make([]tool.Touch, 1000)
	for i := range touches {
		touches[i] = tool.Touch{Name: fmt.Sprintf("file:a/b/%d", i)}
	}
	e := set(b, []tool.Tool{tool.WithTouches(reading("read", nothingAt), func(tool.Call, none) []tool.Touch { return touches })})
	sf, calls := e.offer(), repeat(256, call("read", "{}"))
	for b.Loop() {
		e.Execute(b.Context(), sf, calls, nil)
	}
}
