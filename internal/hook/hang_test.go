package hook_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/tool"
)

// A decider that hangs again and again is not asked any more, and blocks.
func TestHangingDecidersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bus()
		release := make(chan struct{})
		var asked atomic.Int32
		on(t, b, "hang", 1, func(context.Context, *hook.Call) (hook.Verdict, error) {
			asked.Add(1)
			<-release
			return hook.Verdict{}, nil
		})
		for range 30 {
			if d := before(t, b); d.Block == nil {
				t.Error("a call got through")
			}
		}
		if n := asked.Load(); n != 16 {
			t.Errorf("asked %d times", n)
		}
		if d := before(t, b); !strings.Contains(d.Block.Reason, "too many earlier calls of it hang") {
			t.Errorf("got %s", d.Block.Reason)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Close(ctx); err == nil || !strings.Contains(err.Error(), "16 handlers left behind") {
			t.Errorf("got %v", err)
		}
		close(release)
		closed(t, b)
	})
}

// Whoever hangs takes nobody along: no decider for what an observer of the same
// plugin does, no other plugin and no rule, however many hang.
func TestWhoHangsHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bus()
		release := make(chan struct{})
		hang := func(context.Context, hook.Event) error { <-release; return nil }
		var hanging []tool.Owner
		for i := range 10 {
			o := tool.Owner{Kind: tool.PluginOwner, ID: fmt.Sprint("p", i)}
			hanging = append(hanging, o)
			if err := b.On(o, "message_received", func(ctx context.Context, _ *hook.Message) error { return hang(ctx, hook.Event{}) }, hook.Options{Timeout: time.Second}); err != nil {
				t.Fatal(err)
			}
		}
		for _, o := range append(hanging[:1:1], weather) {
			if err := b.On(o, "before_tool_call", always(hook.Verdict{}), hook.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		told := 0
		if err := b.On(weather, "message_received", func(context.Context, *hook.Message) error { told++; return nil }, hook.Options{}); err != nil {
			t.Fatal(err)
		}
		b.SetRules([]hook.Before{{Name: "rule", Source: "config", Decide: always(hook.Verdict{})}}, nil)
		for range 30 {
			b.Received(&hook.Message{Text: "hello"})
		}
		time.Sleep(time.Minute)
		for _, h := range b.Handlers() {
			if h.Source == "plugin p0" && h.Observes && h.Failed != 30 {
				t.Errorf("%d of 30 failed", h.Failed)
			}
		}
		if d := before(t, b); d.Block != nil {
			t.Errorf("got %+v", d.Block)
		}
		if told != 30 {
			t.Errorf("told %d times", told)
		}
		close(release)
		closed(t, b)
	})
}

// A plugin that is withdrawn is told nothing more, also of what waits for it,
// and Close waits for what it left behind.
func TestWithdrawnObservers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bus()
		told, release := 0, make(chan struct{})
		if err := b.On(weather, "message_received", func(context.Context, *hook.Message) error { told++; <-release; return nil }, hook.Options{Timeout: time.Second}); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			b.Received(&hook.Message{Text: "hello"})
		}
		synctest.Wait()
		b.Withdraw(tool.PluginOwner, "weather")
		time.Sleep(time.Minute)
		if told != 1 {
			t.Errorf("told %d times", told)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 handlers left behind") {
			t.Errorf("got %v", err)
		}
		close(release)
		closed(t, b)
	})
}

// Close is through a moment after its time, however much is untold and
// whatever observers heed.
func TestCloseIsThroughInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bus()
		release := make(chan struct{})
		b.SetRules(nil, []hook.After{{Name: "gone", Timeout: time.Hour, Observe: func(context.Context, *hook.Call, *tool.Outcome) error { <-release; return nil }}})
		for range 1000 {
			b.After(&hook.Call{}, &tool.Outcome{})
		}
		b.SetRules(nil, nil) // what it is still to be told, it is
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if err := b.Close(ctx); err == nil || !strings.Contains(err.Error(), "with 1000 events untold") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begun); took > 1200*time.Millisecond {
			t.Errorf("took %v", took)
		}
		close(release)
		closed(t, b)
	})
}
