package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func repeat(n int, c llm.ToolCall) []llm.ToolCall {
	calls := make([]llm.ToolCall, n)
	for i := range calls {
		calls[i] = c
		calls[i].ID = fmt.Sprint("c", i)
	}
	return calls
}

func TestSixteenCallsOfASecondTakeTwo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := set(t, []tool.Tool{reading("sleep", seconds)})
		begun := time.Now()
		out := b.run(t.Context(), repeat(16, call("sleep", `{"seconds":1}`))...)
		if took := time.Since(begun); took != 2*time.Second {
			t.Errorf("took %v", took)
		}
		for i, o := range out {
			if o.Status != tool.OK || o.Ended.Sub(o.Started) != time.Duration(1+i/8)*time.Second {
				t.Errorf("call %d: %s after %v", i, o.Status, o.Ended.Sub(o.Started))
			}
		}
	})
}

// With the pool's queue full all calls are answered, and in their order; a
// panicking, a hanging and a failing one among them harm no other.
func TestTwoHundredCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := set(t, []tool.Tool{
			reading("sleep", seconds),
			reading("panic", func(context.Context, tool.Call, none) (string, error) { panic("broken") }),
			tool.New(tool.Definition{Name: "hang", Traits: tool.Traits{ReadOnly: true, Timeout: 3 * time.Second}},
				func(context.Context, tool.Call, none) (string, error) { <-release; return "", nil }),
			reading("fail", func(context.Context, tool.Call, none) (string, error) { return "", errors.New("no luck") }),
			reading("exit", func(context.Context, tool.Call, none) (string, error) { runtime.Goexit(); return "", nil }),
		}, func(o *engine.Options) { o.Pool = pool.New(pool.Options{Queue: 16}) })
		calls := repeat(200, call("sleep", `{"seconds":1}`))
		for i, name := range map[int]string{10: "panic", 20: "hang", 30: "fail", 40: "exit"} {
			calls[i] = call(name, "{}")
		}
		want := map[int]struct {
			status tool.Status
			says   string
		}{
			10: {tool.Panicked, "Error: the tool panic broke while it worked on this call (broken)"},
			20: {tool.TimedOut, "Error: hang did not end within its time limit of 3s"},
			30: {tool.Failed, "Error: no luck"},
			40: {tool.Panicked, "Error: the tool exit broke"},
		}
		var busiest int
		var finished []int
		begun := time.Now()
		out := b.check(calls, b.Execute(t.Context(), b.offer(), calls, func(e tool.Event) {
			busiest = max(busiest, b.pool.Stats().Queued+b.pool.Stats().Blocked)
			if e.Type == tool.Finished {
				finished = append(finished, e.Index)
			}
		}))
		for i, o := range out {
			w := want[i]
			if w.status == "" {
				w.status, w.says = tool.OK, "slept 1"
			}
			if o.Status != w.status || !strings.HasPrefix(text(o), w.says) {
				t.Errorf("call %d: %s: %s", i, o.Status, text(o))
			}
		}
		// 196 seconds of sleep and 3.1 of hanging on 8 workers.
		if took := time.Since(begun); took > 26*time.Second {
			t.Errorf("took %v", took)
		}
		if busiest > 17 {
			t.Errorf("%d calls waited in the pool", busiest)
		}
		slices.Sort(finished)
		if len(slices.Compact(finished)) != 200 {
			t.Errorf("%d calls told that they finished", len(finished))
		}
		if log := b.log.String(); !strings.Contains(log, "a tool panicked") || !strings.Contains(log, "execute_test.go") ||
			!strings.Contains(log, "was left behind") {
			t.Errorf("the log lacks the stack or the tool left behind:\n%s", log)
		}
		close(release)
		if err := b.pool.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What a tool does with the end of its time, and what becomes of the call.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		traits tool.Traits
		f      func(ctx context.Context) (tool.Result, error)
		status tool.Status
		says   string
		took   time.Duration
	}{
		{
			"it heeds it",
			tool.Traits{Timeout: time.Second, ReadOnly: true},
			func(ctx context.Context) (tool.Result, error) { <-ctx.Done(); return tool.Result{}, ctx.Err() },
			tool.TimedOut, "Error: slow did not end within its time limit of 1s and was stopped. Ask for less at a time.", time.Second,
		},
		{
			"a writing tool",
			tool.Traits{Timeout: time.Second},
			func(ctx context.Context) (tool.Result, error) { <-ctx.Done(); return tool.Result{}, ctx.Err() },
			tool.TimedOut, "Error: slow did not end within its time limit of 1s and was stopped. What it had done by then stands, so look", time.Second,
		},
		{
			"it has its own words",
			tool.Traits{Timeout: time.Second},
			func(ctx context.Context) (tool.Result, error) {
				<-ctx.Done()
				return tool.Result{Content: []llm.Part{llm.Text("half of it, then time was up")}, IsError: true}, nil
			},
			tool.TimedOut, "half of it", time.Second,
		},
		{
			"it was ready at the last moment",
			tool.Traits{Timeout: time.Second},
			func(ctx context.Context) (tool.Result, error) {
				<-ctx.Done()
				return tool.TextResult("all of it"), nil
			},
			tool.OK, "all of it", time.Second,
		},
		{
			"it doesn't heed it",
			tool.Traits{Timeout: time.Second},
			func(context.Context) (tool.Result, error) {
				time.Sleep(time.Minute)
				return tool.TextResult("late"), nil
			},
			tool.TimedOut, "Error: slow did not end", 1100 * time.Millisecond,
		},
		{
			"the default",
			tool.Traits{},
			func(ctx context.Context) (tool.Result, error) { <-ctx.Done(); return tool.Result{}, ctx.Err() },
			tool.TimedOut, "Error: slow did not end within its time limit of 2m0s", 2 * time.Minute,
		},
		{
			"a limit of its own",
			tool.Traits{Timeout: time.Minute},
			func(ctx context.Context) (tool.Result, error) {
				ctx, stop := context.WithTimeout(ctx, time.Second)
				defer stop()
				<-ctx.Done()
				return tool.Result{}, fmt.Errorf("ask the server: %w", ctx.Err())
			},
			tool.Failed, "Error: ask the server: context deadline exceeded", time.Second,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := set(t, []tool.Tool{tool.New(tool.Definition{Name: "slow", Traits: c.traits},
					func(ctx context.Context, _ tool.Call, _ none) (tool.Result, error) { return c.f(ctx) })})
				begun := time.Now()
				o := b.run(t.Context(), call("slow", "{}"))[0]
				if took := time.Since(begun); took != c.took {
					t.Errorf("took %v", took)
				}
				if o.Status != c.status || !strings.HasPrefix(text(o), c.says) {
					t.Errorf("got %s: %s", o.Status, text(o))
				}
				if err := b.pool.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// When too many calls hang, new ones are refused instead of being lost as well.
func TestHangingCallsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := set(t, []tool.Tool{
			tool.New(tool.Definition{Name: "hang", Traits: tool.Traits{ReadOnly: true, Timeout: time.Second}},
				func(context.Context, tool.Call, none) (string, error) { <-release; return "", nil }),
			reading("fine", func(context.Context, tool.Call, none) (string, error) { return "fine", nil }),
		}, func(o *engine.Options) { o.Pool = pool.New(pool.Options{Workers: 2, Abandoned: 12, Log: o.Log}) })
		out := b.run(t.Context(), append(repeat(4, call("hang", "{}")), call("fine", "{}"))...)
		for i, o := range out[:4] {
			if o.Status != tool.TimedOut {
				t.Errorf("call %d: %s", i, o.Status)
			}
		}
		// They hold no worker any more, but the next call of their owner is one too many.
		if o := out[4]; o.Status != tool.Refused || o.Refusal.Rule != "exhausted" {
			t.Errorf("got %s: %s", o.Status, text(o))
		}
		close(release)
		synctest.Wait()
		if o := b.run(t.Context(), call("fine", "{}"))[0]; o.Status != tool.OK {
			t.Errorf("got %s: %s", o.Status, text(o))
		}
	})
}

// touching makes a tool that says what it touches: "r:name" or "w:name", comma
// separated.
func touching(name string, f func(context.Context, tool.Call, touchIn) (tool.Result, error)) tool.Tool {
	return tool.WithTouches(tool.New(tool.Definition{Name: name}, f), func(_ tool.Call, in touchIn) []tool.Touch { return in.touches() })
}

type touchIn struct {
	Touch string `json:"touch"`
}

func (in touchIn) touches() (out []tool.Touch) {
	for t := range strings.SplitSeq(in.Touch, ",") {
		how, name, _ := strings.Cut(t, ":")
		out = append(out, tool.Touch{Name: name, Write: how == "w"})
	}
	return out
}

// Calls whose touches conflict run in the order of the calls, all others side
// by side.
func TestConflictingCallsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		touch []string
		want  []int // when each ends, in seconds
	}{
		{[]string{"w:file:a", "r:file:a", "r:file:a"}, []int{1, 2, 2}},
		{[]string{"r:file:a", "w:file:a", "r:file:a"}, []int{1, 2, 3}},
		{[]string{"w:file:a", "w:file:b", "w:file:ab", "r:db:a"}, []int{1, 1, 1, 1}},
		{[]string{"w:file:a/b", "r:file:a", "r:file:", "r:file:a/c"}, []int{1, 2, 2, 1}},
		{[]string{"w:file:a,r:db:x", "w:db:x", "w:db:x/y,w:file:b", "r:file:b"}, []int{1, 2, 3, 4}},
		{[]string{"r:file:a", "w:", "r:net:host"}, []int{1, 2, 3}},
	} {
		t.Run(strings.Join(c.touch, " "), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := set(t, []tool.Tool{touching("work", func(context.Context, tool.Call, touchIn) (tool.Result, error) {
					time.Sleep(time.Second)
					return tool.TextResult("done"), nil
				})})
				var calls []llm.ToolCall
				for _, touch := range c.touch {
					calls = append(calls, call("work", fmt.Sprintf(`{"touch":%q}`, touch)))
				}
				begun := time.Now()
				for i, o := range b.run(t.Context(), calls...) {
					if got := o.Ended.Sub(begun); got != time.Duration(c.want[i])*time.Second {
						t.Errorf("call %d ended after %v", i, got)
					}
				}
			})
		})
	}
}

// A tool that doesn't say what it touches touches everything, unless it only
// reads.
func TestToolsThatCannotTell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cached := tool.New(tool.Definition{Name: "cached", Traits: tool.Traits{ReadOnly: true, Cacheable: true}}, seconds)
		b := set(t, []tool.Tool{writing("write", seconds), reading("read", seconds), cached})
		args := `{"seconds":1}`
		out := b.run(t.Context(), call("write", args), call("read", args), call("write", args), call("cached", args), call("cached", args))
		begun := out[0].Started
		for i, want := range []int{1, 1, 2, 3, 3} {
			if got := out[i].Ended.Sub(begun); got != time.Duration(want)*time.Second {
				t.Errorf("call %d ended after %v", i, got)
			}
		}
		if got := out[0].Touches; !slices.Equal(got, []tool.Touch{tool.Everything}) || out[1].Touches != nil {
			t.Errorf("touches %v and %v", got, out[1].Touches)
		}
	})
}

// Later calls of a response see the effects of earlier ones that changed
// something, not of those that only read.
func TestEffectsWithinAResponse(t *testing.T) {
	t.Parallel()
	seen := func(traits tool.Traits, name string) tool.Tool {
		return tool.WithTouches(tool.New(tool.Definition{Name: name, Traits: traits}, func(_ context.Context, c tool.Call, in path) (tool.Result, error) {
			digest, _ := c.State.Digest(in.Path)
			r := tool.TextResult("knew " + digest)
			r.Effects = []tool.Effect{{Kind: tool.FileSeen, Key: in.Path, Value: name}}
			return r, nil
		}), func(_ tool.Call, in path) []tool.Touch {
			return []tool.Touch{{Name: "file:" + in.Path, Write: !traits.ReadOnly}}
		})
	}
	b := set(t, []tool.Tool{seen(tool.Traits{}, "write"), seen(tool.Traits{ReadOnly: true}, "read")})
	b.state = b.state.Apply(tool.Effect{Kind: tool.FileSeen, Key: "a", Value: "before"})
	a := `{"path":"a"}`
	out := b.run(t.Context(), call("read", a), call("write", a), call("read", a), call("write", a), call("write", `{"path":"b"}`))
	for i, want := range []string{"knew before", "knew before", "knew write", "knew write", "knew "} {
		if text(out[i]) != want {
			t.Errorf("call %d %q, want %q", i, text(out[i]), want)
		}
	}
}

// Whatever the tools are like and whenever the run is stopped: each call gets
// its one outcome, soon, and nothing runs that was not begun.
func TestStopAtAnyMoment(t *testing.T) {
	t.Parallel()
	kinds := []string{"heeds", "ignores", "writes", "waits", "fails", "unknown"}
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 30).Draw(rt, "calls")
		lengths := rapid.SliceOfN(rapid.IntRange(0, 3000), len(names), len(names)).Draw(rt, "milliseconds")
		after := time.Duration(rapid.IntRange(0, 5000).Draw(rt, "stop")) * time.Millisecond
		workers := rapid.IntRange(1, 4).Draw(rt, "workers")
		queue := rapid.IntRange(1, 4).Draw(rt, "queue")
		synctest.Test(t, func(t *testing.T) {
			var begun, running atomic.Int32
			sleep := func(heed bool) func(context.Context, tool.Call, struct {
				MS int `json:"ms"`
			}) (string, error) {
				return func(ctx context.Context, c tool.Call, in struct {
					MS int `json:"ms"`
				},
				) (string, error) {
					begun.Add(1)
					running.Add(1)
					defer running.Add(-1)
					if !heed {
						ctx = context.WithoutCancel(ctx)
					}
					select {
					case <-time.After(time.Duration(in.MS) * time.Millisecond):
						c.Host.Progress("done")
						return "slept", nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				}
			}
			b := set(t, []tool.Tool{
				reading("heeds", sleep(true)), reading("ignores", sleep(false)), writing("writes", sleep(true)),
				tool.New(tool.Definition{Name: "waits", Traits: tool.Traits{Waits: true, ReadOnly: true}}, sleep(true)),
				reading("fails", func(context.Context, tool.Call, struct {
					MS int `json:"ms"`
				},
				) (string, error) {
					begun.Add(1)
					return "", errors.New("no")
				}),
			}, func(o *engine.Options) {
				o.Pool = pool.New(pool.Options{Workers: workers, Queue: queue, Abandoned: 100})
			})
			calls := make([]llm.ToolCall, len(names))
			for i, name := range names {
				calls[i] = call(name, fmt.Sprintf(`{"ms":%d}`, lengths[i]))
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(after, cancel)
			start := time.Now()
			told := make([]int, len(calls))
			over := false
			out := b.check(calls, b.Execute(ctx, b.offer(), calls, func(e tool.Event) {
				if over {
					t.Error("an event came after the end")
				}
				if e.Type == tool.Finished {
					told[e.Index]++
					if e.Outcome.Call != calls[e.Index] {
						t.Error("an event tells of another call")
					}
				}
			}))
			over = true
			if took := time.Since(start); took > after+100*time.Millisecond && ctx.Err() != nil {
				t.Errorf("took %v when stopped after %v", took, after)
			}
			ran := int32(0)
			for i, o := range out {
				if told[i] != 1 {
					t.Errorf("call %d was told %d times", i, told[i])
				}
				switch {
				case o.Ran(), o.Status == tool.Cancelled && o.Step == "run" && strings.Contains(text(o), "while"):
					ran++
				case o.Status != tool.Cancelled && names[i] != "unknown":
					t.Errorf("call %d (%s): %s: %s", i, names[i], o.Status, text(o))
				}
			}
			if ran != begun.Load() {
				t.Errorf("%d calls say that they ran, %d did", ran, begun.Load())
			}
			if err := b.pool.Close(t.Context()); err != nil || running.Load() != 0 {
				t.Errorf("%d calls still run: %v", running.Load(), err)
			}
		})
	})
}

// A run that was stopped before it called anything gets its outcomes as well.
func TestStoppedBefore(t *testing.T) {
	t.Parallel()
	b := set(t, []tool.Tool{reading("read", func(context.Context, tool.Call, none) (string, error) { return "read", nil })})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, o := range b.run(ctx, repeat(20, call("read", "{}"))...) {
		if o.Status != tool.Cancelled || o.Ran() || text(o) != "Stopped: the run was stopped before read began, so nothing ran." {
			t.Errorf("got %s: %s", o.Status, text(o))
		}
	}
}

// goroutine is the number of the present goroutine.
func goroutine() string {
	b := make([]byte, 64)
	b, _, _ = bytes.Cut(b[len("goroutine "):runtime.Stack(b, false)], []byte(" "))
	return string(b)
}

func TestEventsComeOnTheCallersGoroutine(t *testing.T) {
	t.Parallel()
	b := set(t, []tool.Tool{
		reading("talk", func(_ context.Context, c tool.Call, _ none) (string, error) {
			for i := range 1000 {
				c.Host.Progress(fmt.Sprint("step ", i))
			}
			return "done", nil
		}),
	})
	me := goroutine()
	calls := append(repeat(20, call("talk", "{}")), call("nope", "{}"))
	state := make([]tool.EventType, len(calls)) // the last event of each call
	args := 0
	b.check(calls, b.Execute(t.Context(), b.offer(), calls, func(e tool.Event) {
		if goroutine() != me {
			t.Error("an event came on another goroutine")
		}
		last := state[e.Index]
		switch e.Type {
		case tool.Started:
			if last != 0 || e.Tool != "talk" {
				t.Errorf("started %q after %v", e.Tool, last)
			}
			args += len(e.Args)
		case tool.Progress:
			if last == 0 || last == tool.Finished || !strings.HasPrefix(e.Text, "step ") {
				t.Errorf("progress %q after %v", e.Text, last)
			}
		case tool.Finished:
			if last == tool.Finished || e.Outcome == nil || last == 0 && e.Index != 20 {
				t.Errorf("finished after %v", last)
			}
		}
		state[e.Index] = e.Type
	}))
	if args != 40 || slices.Contains(state, tool.Started) || state[20] != tool.Finished {
		t.Errorf("%d bytes of arguments, last events %v", args, state)
	}
}

// A caller who is slow to take events never holds up the tools; it misses old
// progress only.
func TestSlowCallersMissOldProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := set(t, []tool.Tool{reading("talk", func(_ context.Context, c tool.Call, _ none) (string, error) {
			for i := range 100 {
				time.Sleep(time.Millisecond)
				c.Host.Progress(fmt.Sprint(i))
			}
			return "done", nil
		})})
		var got []string
		begun := time.Now()
		b.Execute(t.Context(), b.offer(), []llm.ToolCall{call("talk", "{}")}, func(e tool.Event) {
			if e.Type == tool.Progress {
				got = append(got, e.Text)
				time.Sleep(40 * time.Millisecond)
			}
			if e.Type == tool.Finished && e.Outcome.Ended.Sub(begun) != 100*time.Millisecond {
				t.Errorf("the tool took %v", e.Outcome.Ended.Sub(begun))
			}
		})
		if len(got) < 2 || len(got) > 4 || got[0] != "0" || got[len(got)-1] != "99" {
			t.Errorf("got %v", got)
		}
	})
}

// A session with a few calls does not wait for one with many.
func TestSessionsShareThePool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := set(t, []tool.Tool{reading("sleep", seconds)})
		execute := func(session string, calls []llm.ToolCall) time.Duration {
			sf := b.offer()
			sf.Scope = tool.NewScope(tool.Facts{Session: session})
			begun := time.Now()
			b.check(calls, b.Execute(t.Context(), sf, calls, nil))
			return time.Since(begun)
		}
		var greedy sync.WaitGroup
		greedy.Go(func() {
			calls := make([]llm.ToolCall, 200)
			for i := range calls {
				calls[i] = call("sleep", fmt.Sprintf(`{"seconds":%g}`, 1+float64(i)/100)) // they end one after the other
			}
			execute("greedy", calls)
		})
		synctest.Wait()
		// The first four workers that come free are its own.
		if took := execute("modest", repeat(4, call("sleep", `{"seconds":1}`))); took != 2030*time.Millisecond {
			t.Errorf("took %v", took)
		}
		greedy.Wait()
	})
}

func TestStepsAreTimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := set(t, []tool.Tool{writing("sleep", seconds)}) // writing: one after the other
		o := b.run(t.Context(), repeat(2, call("sleep", `{"seconds":1}`))...)[1]
		var got []string
		for _, s := range o.Steps {
			got = append(got, fmt.Sprint(s.Step, " ", s.Duration))
		}
		want := []string{
			"resolve 0s", "offered 0s", "plan 0s", "arguments 0s", "policy 0s", "touches 0s", "queue 1s",
			"plan 0s", "cache 0s", "run 1s", "touched 0s", "after 0s", "persist 0s", "spill 0s", "hint 0s",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		if _, err := json.Marshal(o); err != nil {
			t.Error(err)
		}
	})
}
