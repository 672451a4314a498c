package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Observers are told of results, errors and durations; nobody waits for them,
// and what they do with what they got changes nothing.
func TestObserversOfCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		told := map[string]string{}
		bus := hook.New(nil)
		bus.SetRules(nil, []hook.After{{Name: "audit", Timeout: time.Hour, Observe: func(_ context.Context, c *hook.Call, o *tool.Outcome) error {
			mu.Lock()
			defer mu.Unlock()
			told[c.Tool] = fmt.Sprintf("%s after %s: %s %s", o.Status, o.Ended.Sub(o.Started), llm.JoinText(o.Content), o.Details)
			o.Content[0].Text, o.Args[0] = "changed", 'X'
			time.Sleep(time.Minute)
			return nil
		}}})
		b := set(t, []tool.Tool{
			reading("sleep", seconds),
			reading("fail", func(context.Context, tool.Call, none) (string, error) { return "", errors.New("no luck") }),
			tool.New(tool.Definition{Name: "detailed", Traits: tool.Traits{ReadOnly: true}}, func(context.Context, tool.Call, none) (tool.Result, error) {
				return tool.Result{Content: []llm.Part{llm.Text("x")}, Details: map[string]int{"n": 1}}, nil
			}),
		}, func(o *engine.Options) { o.Hooks = bus })
		begun := time.Now()
		out := b.run(t.Context(), call("sleep", `{"seconds":1}`), call("fail", "{}"), call("detailed", "{}"), call("nope", "{}"))
		if took := time.Since(begun); took != time.Second {
			t.Errorf("took %v", took)
		}
		if err := bus.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want := map[string]string{
			"sleep": "ok after 1s: slept 1 ", "fail": "error after 0s: Error: no luck ", "detailed": `ok after 0s: x {"n":1}`,
		}
		for name, w := range want {
			if told[name] != w {
				t.Errorf("%s: told %q", name, told[name])
			}
		}
		if len(told) != len(want) {
			t.Errorf("told %v", told)
		}
		if text(out[0]) != "slept 1" || string(out[0].Args) != `{"seconds":1}` {
			t.Errorf("the outcome is %s with %s", text(out[0]), out[0].Args)
		}
	})
}

// What is stored, and what the model sees, is what handlers of results made of
// it; the guard against circles looks at what came before.
func TestResultsAreTransformed(t *testing.T) {
	t.Parallel()
	n := 0
	b := set(t, []tool.Tool{
		reading("secret", func(context.Context, tool.Call, none) (string, error) { return "the key is hunter2", nil }),
		reading("fail", func(context.Context, tool.Call, none) (string, error) { return "", errors.New("hunter2 was refused") }),
	}, hooked(t, func(bus *hook.Bus) {
		f := func(_ context.Context, _ *hook.Call, r tool.Result) (tool.Result, error) {
			n++
			r.Content[0].Text = strings.ReplaceAll(r.Content[0].Text, "hunter2", fmt.Sprint("***", n))
			r.Details = map[string]string{"big": strings.Repeat("x", 10<<10)}
			return r, nil
		}
		if err := bus.On(tool.Owner{Kind: tool.PluginOwner, ID: "mask"}, "tool_result_persist", f, hook.Options{}); err != nil {
			t.Fatal(err)
		}
	}))
	one, two, bad := b.run(t.Context(), call("secret", "{}"))[0], b.run(t.Context(), call("secret", "{}"))[0], b.run(t.Context(), call("fail", "{}"))[0]
	if text(one) != "the key is ***1" || !strings.Contains(string(one.Details), "too large to keep") || one.Digest != two.Digest || one.Digest == "" {
		t.Errorf("got %s, details %s, digests %s and %s", text(one), one.Details, one.Digest, two.Digest)
	}
	if text(bad) != "Error: ***3 was refused" || bad.Status != tool.Failed {
		t.Errorf("got %s: %s", bad.Status, text(bad))
	}
	if i := slices.IndexFunc(one.Steps, func(s tool.StepTime) bool {
		return s.Step == "persist" && strings.HasPrefix(s.Note, "plugin mask changed it in ")
	}); i < 0 {
		t.Errorf("steps %+v", one.Steps)
	}
}

// A run that is stopped stores what its last calls gave, and what a handler
// takes out of results is taken out of that too.
func TestResultsOfAStoppedRunAreTransformed(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	b := set(t, []tool.Tool{reading("secret", func(context.Context, tool.Call, none) (string, error) {
		stop()
		return "the key is hunter2", nil
	})}, hooked(t, func(bus *hook.Bus) {
		f := func(_ context.Context, _ *hook.Call, r tool.Result) (tool.Result, error) {
			r.Content[0].Text = strings.ReplaceAll(r.Content[0].Text, "hunter2", "***")
			return r, nil
		}
		if err := bus.On(tool.Owner{Kind: tool.PluginOwner, ID: "mask"}, "tool_result_persist", f, hook.Options{}); err != nil {
			t.Fatal(err)
		}
	}))
	if o := b.run(ctx, call("secret", "{}"))[0]; text(o) != "the key is ***" {
		t.Errorf("%s: %s", o.Status, text(o))
	}
}

// A thousand calls over fifty sessions, with rules, handlers and observers: all
// are answered, no session waits for others more than its share, nothing is
// left.
func TestAThousandCallsWithHooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen, told atomic.Int32
		bus := hook.New(nil)
		owner := tool.Owner{Kind: tool.PluginOwner, ID: "p"}
		for name, f := range map[string]any{
			"before_tool_call": func(_ context.Context, c *hook.Call) (hook.Verdict, error) {
				time.Sleep(10 * time.Millisecond)
				return hook.Verdict{Args: json.RawMessage(strings.Replace(string(c.Args), `"seconds":0`, `"seconds":1`, 1))}, nil
			},
			"after_tool_call": func(context.Context, *hook.Call, *tool.Outcome) error { told.Add(1); return nil },
			"tool_result_persist": func(_ context.Context, c *hook.Call, r tool.Result) (tool.Result, error) {
				r.Content[0].Text += " " + c.ID
				return r, nil
			},
		} {
			if err := bus.On(owner, name, f, hook.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		bus.SetRules([]hook.Before{{Name: "count", Guards: true, Decide: func(context.Context, *hook.Call) (hook.Verdict, error) {
			seen.Add(1)
			return hook.Verdict{}, nil
		}}}, nil)
		r := tool.NewRegistry()
		r.Add(tool.Owner{Kind: tool.FamilyOwner, ID: "test"}, reading("sleep", seconds))
		p := pool.New(pool.Options{Workers: 8, Queue: 64})
		e := engine.New(engine.Options{Registry: r, Pool: p, Hooks: bus})
		var wg sync.WaitGroup
		begun := time.Now()
		ends := make([]time.Duration, 50)
		for i := range 50 {
			wg.Go(func() {
				scope := tool.NewScope(tool.Facts{Agent: "main", Session: fmt.Sprint(i), Caller: auth.Principal{ID: fmt.Sprint("p", i%5), Role: auth.User}, Origin: tool.FromChat})
				sf, err := e.Offer(t.Context(), scope, model, tool.State{}, tool.Ask{})
				if err != nil {
					t.Error(err)
					return
				}
				calls := repeat(20, call("sleep", `{"seconds":0}`))
				out := e.Execute(t.Context(), sf, calls, nil)
				for j, o := range out {
					if o.Status != tool.OK || o.Call != calls[j] || text(o) != fmt.Sprintf("slept 1 c%d", j) {
						t.Errorf("session %d, call %d: %s: %s", i, j, o.Status, text(o))
					}
				}
				ends[i] = time.Since(begun)
			})
		}
		wg.Wait()
		if err := bus.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if seen.Load() != 1000 || told.Load() != 1000 {
			t.Errorf("the rule saw %d calls, the observer %d", seen.Load(), told.Load())
		}
		// 1,000 seconds on 8 workers. Nobody was served much before the others.
		if first, last := slices.Min(ends), slices.Max(ends); last > 126*time.Second || first < 80*time.Second {
			t.Errorf("the first session was through after %v, the last after %v", first, last)
		}
	})
}
