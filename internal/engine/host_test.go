package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// caller makes a tool that calls others: each of its arguments is a call.
func caller(name string, traits tool.Traits) tool.Tool {
	type one struct {
		Tool string          `json:"tool"`
		Args json.RawMessage `json:"args,omitempty"`
	}
	return tool.New(tool.Definition{Name: name, Traits: traits}, func(ctx context.Context, c tool.Call, in struct {
		Calls []one `json:"calls"`
	},
	) (string, error) {
		var said []string
		for _, n := range in.Calls {
			o := c.Host.Call(ctx, n.Tool, n.Args)
			said = append(said, fmt.Sprintf("%s %s: %s", o.Call.ID, o.Status, text(o)))
		}
		return strings.Join(said, "\n"), nil
	})
}

func TestToolsCallTools(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{true, false} {
		t.Run(fmt.Sprintf("waits=%v", waits), func(t *testing.T) {
			t.Parallel()
			write := tool.WithTouches(tool.New(tool.Definition{Name: "write"}, func(_ context.Context, c tool.Call, in path) (tool.Result, error) {
				known, _ := c.State.Digest(in.Path)
				r := tool.TextResult("knew \u202e" + known)
				r.Effects = []tool.Effect{{Kind: tool.FileSeen, Key: in.Path, Value: "written"}}
				return r, nil
			}), func(_ tool.Call, in path) []tool.Touch { return []tool.Touch{{Name: "file:" + in.Path, Write: true}} })
			b := set(t, []tool.Tool{
				caller("script", tool.Traits{Waits: waits, ReadOnly: true}), write,
				tool.New(tool.Definition{Name: "undo", Traits: tool.Traits{Inverse: true}}, func(context.Context, tool.Call, none) (string, error) { return "undone", nil }),
				reading("panic", func(context.Context, tool.Call, none) (string, error) { panic("broken") }),
				writing("denied", func(context.Context, tool.Call, none) (string, error) { return "ran", nil }),
			}, func(o *engine.Options) {
				o.Policies = deny("denied")
				// One worker: a tool that waited for its own call's worker would wait for ever.
				o.Pool = pool.New(pool.Options{Workers: 1, Log: o.Log})
			})
			o := b.run(t.Context(), call("script", `{"calls":[{"tool":"Write","args":{"path":"a"}},{"tool":"write","args":{"path":"a"}},
				{"tool":"write","args":{}},{"tool":"nope"},{"tool":"undo"},{"tool":"denied"},{"tool":"panic"}]}`))[0]
			var got []string
			for line := range strings.SplitSeq(text(o), "\n") {
				if strings.HasPrefix(line, "c_script/") {
					got = append(got, line[:min(len(line), 40)])
				}
			}
			want := []string{
				"c_script/1 ok: knew ⟦U+202E⟧", "c_script/2 ok: knew ⟦U+202E⟧written", "c_script/3 invalid: Error: The arguments ",
				"c_script/4 refused: Refused: No tool \"no", "c_script/5 refused: Refused: No tool \"un", "c_script/6 refused: Refused: No tool \"de",
				"c_script/7 panic: Error: the tool panic ",
			}
			for i, w := range want {
				if i >= len(got) || !strings.HasPrefix(got[i], w[:min(len(w), 40)]) && got[i] != w {
					t.Errorf("call %d: got %q, want %q", i+1, got, w)
					break
				}
			}
			// What they did counts as the caller's: it is all that is stored.
			if n := len(o.Effects); n != 1 || o.Effects[0].Value != "written" {
				t.Errorf("effects %+v", o.Effects)
			}
			if want := (tool.Touch{Name: "file:a", Write: true}); !slices.Contains(o.Touches, want) {
				t.Errorf("touches %+v", o.Touches)
			}
		})
	}
}

func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{true, false} {
		self := tool.New(tool.Definition{Name: "self", Traits: tool.Traits{Waits: waits, ReadOnly: true}},
			func(ctx context.Context, c tool.Call, _ none) (string, error) {
				return "+" + text(c.Host.Call(ctx, "self", nil)), nil
			})
		b := set(t, []tool.Tool{self}, func(o *engine.Options) { o.Pool = pool.New(pool.Options{Workers: 1}) })
		o := b.run(t.Context(), call("self", "{}"))[0]
		if want := strings.Repeat("+", 9) + "Refused: Calls of tools nest at most 8 deep, so nothing ran."; text(o) != want {
			t.Errorf("got %q", text(o))
		}
	}
}

func TestHostTellsWhatIsPermitted(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, tool.Call, none) (string, error) { return "", nil }
	b := set(t, []tool.Tool{
		reading("look", func(_ context.Context, c tool.Call, _ none) (string, error) {
			var names []string
			for _, d := range c.Host.Permitted() {
				names = append(names, d.Name)
			}
			for _, r := range c.Host.Withheld() {
				names = append(names, r.Reason)
			}
			return strings.Join(names, " | "), nil
		}),
		reading("other", nothing), reading("denied", nothing),
		tool.New(tool.Definition{Name: "undo", Traits: tool.Traits{Inverse: true}}, nothing),
		tool.New(tool.Definition{Name: "guarded", Traits: tool.Traits{AdminOnly: true}}, nothing),
	}, func(o *engine.Options) { o.Policies = deny("denied") })
	b.scope.Caller = user
	want := `look | other | guarded needs an administrator; it is withheld from the role "user"`
	if o := b.run(t.Context(), call("look", "{}"))[0]; text(o) != want {
		t.Errorf("got %q", text(o))
	}
}

// What a tool is told of a name is what a call of it would get.
func TestHostResolvesAsCallsDo(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, tool.Call, none) (string, error) { return "", nil }
	names := []string{"other", " functions.OTHER", "the_one", "theone", "nope", "denied", "undo", "guarded", "Guarded", ""}
	b := set(t, []tool.Tool{
		reading("look", func(ctx context.Context, c tool.Call, _ none) (string, error) {
			var told []string
			for _, name := range names {
				def, err := c.Host.Resolve(name)
				o := c.Host.Call(ctx, name, nil)
				switch {
				case err != nil && (o.Status != tool.Refused || text(o) != "Refused: "+err.Error()):
					told = append(told, fmt.Sprintf("%q: %v, and called: %s", name, err, text(o)))
				case err == nil && (o.Status != tool.OK || o.Tool != def.Name):
					told = append(told, fmt.Sprintf("%q: %s, and called: %s", name, def.Name, text(o)))
				}
			}
			return "told: " + strings.Join(told, "\n"), nil
		}),
		reading("other", nothing), reading("denied", nothing), reading("the_one", nothing), reading("the__one", nothing),
		tool.New(tool.Definition{Name: "undo", Traits: tool.Traits{Inverse: true}}, nothing),
		tool.New(tool.Definition{Name: "guarded", Traits: tool.Traits{AdminOnly: true}}, nothing),
	}, func(o *engine.Options) { o.Policies = deny("denied") })
	b.scope.Caller = user
	if o := b.run(t.Context(), call("look", "{}"))[0]; text(o) != "told: " {
		t.Error(text(o))
	}
}

// Progress of a tool's own calls is the tool's, and nothing is told any more
// when the call that lent the host has ended.
func TestHostAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var late tool.Outcome
		b := set(t, []tool.Tool{
			reading("talk", func(_ context.Context, c tool.Call, _ none) (string, error) {
				c.Host.Progress("talking")
				return "done", nil
			}),
			tool.New(tool.Definition{Name: "linger", Traits: tool.Traits{ReadOnly: true, Timeout: time.Second}},
				func(_ context.Context, c tool.Call, _ none) (string, error) {
					c.Host.Call(context.Background(), "talk", nil)
					time.Sleep(time.Minute)
					c.Host.Progress("too late")
					late = c.Host.Call(context.Background(), "talk", nil)
					return "done", nil
				}),
		})
		var told []string
		calls := []llm.ToolCall{call("linger", "{}")}
		out := b.check(calls, b.Execute(t.Context(), b.offer(), calls, func(e tool.Event) {
			if e.Type == tool.Progress {
				told = append(told, e.Text)
			}
		}))
		if out[0].Status != tool.TimedOut {
			t.Errorf("got %s: %s", out[0].Status, text(out[0]))
		}
		if err := b.pool.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if !slices.Equal(told, []string{"talking"}) {
			t.Errorf("told %q", told)
		}
		if late.Status != tool.Cancelled || !strings.Contains(text(late), "has ended, so nothing ran") || late.Ended.IsZero() {
			t.Errorf("got %s: %s", late.Status, text(late))
		}
	})
}

// A run that is stopped stops the calls of its calls.
func TestStopReachesNestedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := set(t, []tool.Tool{reading("sleep", seconds), caller("script", tool.Traits{Waits: true, ReadOnly: true}), caller("plain", tool.Traits{ReadOnly: true})})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		args := `{"calls":[{"tool":"sleep","args":{"seconds":60}}]}`
		for _, o := range b.run(ctx, call("script", args), call("plain", args)) {
			if !strings.Contains(text(o), "cancelled: Stopped: the run was stopped while sleep ran") {
				t.Errorf("got %s: %s", o.Status, text(o))
			}
		}
		if took := time.Since(begun); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// What calls of a call's own did is kept within bounds, and covers all the same
// what they did; nor does one make calls without end.
func TestWhatCallsOfCallsDidIsBounded(t *testing.T) {
	t.Parallel()
	many := tool.New(tool.Definition{Name: "many", Traits: tool.Traits{Waits: true}}, func(ctx context.Context, c tool.Call, _ none) (string, error) {
		for i := range 10_010 {
			if o := c.Host.Call(ctx, "write", fmt.Appendf(nil, `{"path":"%d"}`, i%1000)); (o.Status == tool.OK) != (i < 10_000) {
				return "", fmt.Errorf("call %d: %s: %s", i, o.Status, text(o))
			}
		}
		return "done", nil
	})
	write := tool.WithTouches(tool.New(tool.Definition{Name: "write"}, func(_ context.Context, _ tool.Call, in path) (tool.Result, error) {
		r := tool.TextResult("ok")
		r.Effects = []tool.Effect{{Kind: tool.FileSeen, Key: in.Path, Value: "v"}}
		return r, nil
	}), func(_ tool.Call, in path) []tool.Touch { return []tool.Touch{{Name: "file:" + in.Path, Write: true}} })
	b := set(t, []tool.Tool{many, write})
	o := b.run(t.Context(), call("many", "{}"))[0]
	if text(o) != "done" {
		t.Fatalf("%s: %s", o.Status, text(o))
	}
	if len(o.Effects) != 500 || o.Effects[499].Key != "999" {
		t.Errorf("%d effects", len(o.Effects))
	}
	if len(o.Touches) > 200 || !tool.Conflict(o.Touches, []tool.Touch{{Name: "file:7"}}) {
		t.Errorf("%d touches: %+v", len(o.Touches), o.Touches[:min(5, len(o.Touches))])
	}
}

// A call that a tool makes under a context of its own ends with the tool's all
// the same: with its time, and with the run.
func TestCallsEndWithTheirCall(t *testing.T) {
	t.Parallel()
	for why, limit := range map[string]time.Duration{"its time is up": time.Second, "the run is stopped": time.Hour} {
		for _, waits := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				var inner tool.Outcome
				b := set(t, []tool.Tool{
					reading("sleep", seconds),
					tool.New(tool.Definition{Name: "outer", Traits: tool.Traits{ReadOnly: true, Waits: waits, Timeout: limit}},
						func(_ context.Context, c tool.Call, _ none) (string, error) {
							inner = c.Host.Call(context.Background(), "sleep", json.RawMessage(`{"seconds":60}`))
							return "done", nil
						}),
				})
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				begun := time.Now()
				b.run(ctx, call("outer", "{}"))
				if took := time.Since(begun); took > 2*time.Second {
					t.Errorf("%s: took %v", why, took)
				}
				if inner.Status != tool.Cancelled {
					t.Errorf("%s: got %s: %s", why, inner.Status, text(inner))
				}
			})
		}
	}
}

// A thousand calls that wait for a person hold no worker and little memory, and
// nothing of them is left when the run is stopped. It measures the memory of the
// process, so nothing runs beside it.
func TestAThousandCallsThatWaitForAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := hook.New(nil)
		bus.SetRules([]hook.Before{{Name: "ask", Decide: func(context.Context, *hook.Call) (hook.Verdict, error) { return hook.Verdict{Ask: &hook.Ask{}}, nil }}}, nil)
		b := set(t, []tool.Tool{reading("sleep", seconds)}, func(o *engine.Options) {
			o.Hooks = bus
			o.Approve = func(ctx context.Context, _ approval.Request, asked func(tool.Approval)) tool.Approval {
				a := tool.Approval{ID: "a", Status: tool.ApprovalOpen}
				asked(a)
				<-ctx.Done()
				a.Status = tool.ApprovalStopped
				return a
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan []tool.Outcome, 4)
		var before, during runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range 4 {
			go func() { ended <- b.run(ctx, repeat(250, call("sleep", `{"seconds":1}`))...) }()
		}
		synctest.Wait()
		runtime.GC()
		runtime.ReadMemStats(&during)
		if s := b.pool.Stats(); s.Aside != 1000 || s.Busy != 0 || s.Queued != 0 {
			t.Errorf("the pool has %+v", s)
		}
		if each := int64(during.HeapAlloc+during.StackInuse-before.HeapAlloc-before.StackInuse) / 1000; each > 32<<10 {
			t.Errorf("each takes %d bytes", each)
		}
		cancel()
		for range 4 {
			for _, o := range <-ended {
				if o.Status != tool.Cancelled {
					t.Fatalf("%s: %s", o.Status, text(o))
				}
			}
		}
		synctest.Wait()
		if s := b.pool.Stats(); s.Aside != 0 || s.Abandoned != 0 {
			t.Errorf("the pool has %+v", s)
		}
	})
}
