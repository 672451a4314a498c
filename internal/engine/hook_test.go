package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	paths "path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// hooked is an option: a bus, with what register gives it.
func hooked(t testing.TB, register ...func(*hook.Bus)) option {
	bus := hook.New(slog.New(slog.DiscardHandler))
	for _, r := range register {
		r(bus)
	}
	t.Cleanup(func() {
		if err := bus.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return func(o *engine.Options) { o.Hooks, o.Clean = bus, clean }
}

// clean is what a workspace says of paths, as far as these tests need it.
func clean(_ tool.Scope, p string) (string, error) {
	if p = paths.Clean(p); strings.HasPrefix(p, "..") {
		return "", tool.Refusef("workspace", "escape", "", "%s leads out of the workspace.", p)
	}
	return p, nil
}

type decide = func(context.Context, *hook.Call) (hook.Verdict, error)

// decides registers a decider.
func decides(name string, priority int, f decide) func(*hook.Bus) {
	return func(b *hook.Bus) {
		o := hook.Options{Name: name, Priority: priority, Timeout: 10 * time.Second}
		if err := b.On(tool.Owner{Kind: tool.PluginOwner, ID: "p"}, "before_tool_call", f, o); err != nil {
			panic(err)
		}
	}
}

// on makes f decide about calls of one tool.
func on(name string, f decide) decide {
	return func(ctx context.Context, c *hook.Call) (hook.Verdict, error) {
		if c.Tool != name {
			return hook.Verdict{}, nil
		}
		return f(ctx, c)
	}
}

func says(v hook.Verdict) decide {
	return func(context.Context, *hook.Call) (hook.Verdict, error) { return v, nil }
}

func reads(_ context.Context, c tool.Call, in path) (string, error) { return "read " + in.Path, nil }

// files is a tool that touches the file that it is given.
func file(name string, traits tool.Traits, f func(context.Context, tool.Call, path) (string, error)) tool.Tool {
	return tool.WithTouches(tool.New(tool.Definition{Name: name, Traits: traits}, f), func(_ tool.Call, in path) []tool.Touch {
		return []tool.Touch{{Name: "file:" + in.Path, Write: !traits.ReadOnly}}
	})
}

// Rules see paths in their one spelling, whatever a model or a handler wrote.
func TestHooksSeeCleanPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, saw, status string }{
		{`{"path":"secret"}`, "secret", "refused"},
		{`{"path":"./a/../secret"}`, "secret", "refused"},
		{`{"path":"a//b/../../secret/"}`, "secret", "refused"},
		{`{"path":"secrets"}`, "secrets", "ok"},
		{`{"path":"../secret"}`, "", "refused"}, // nobody is asked about what can't be
	} {
		saw := ""
		b := set(t, []tool.Tool{file("file_read", tool.Traits{ReadOnly: true}, reads)}, hooked(t, decides("guard", 0, func(_ context.Context, c *hook.Call) (hook.Verdict, error) {
			var in path
			if err := json.Unmarshal(c.Args, &in); err != nil {
				return hook.Verdict{}, err
			}
			saw = in.Path
			if in.Path == "secret" {
				return hook.Verdict{Block: &tool.Refusal{Reason: "It is secret."}}, nil
			}
			return hook.Verdict{}, nil
		})))
		o := b.run(t.Context(), call("file_read", c.args))[0]
		if saw != c.saw || string(o.Status) != c.status {
			t.Errorf("%s: it saw %q, and the call is %s: %s", c.args, saw, o.Status, text(o))
		}
	}
}

func TestWhatRulesDecide(t *testing.T) {
	t.Parallel()
	nested := caller("script", tool.Traits{Waits: true, ReadOnly: true})
	for _, c := range []struct {
		why      string
		decide   []func(*hook.Bus)
		call     llm.ToolCall
		status   tool.Status
		step     string
		args     string
		says     string
		note     string
		nothing  bool // nobody may have run
		approves tool.ApprovalStatus
	}{
		{
			why: "rewritten arguments run", decide: []func(*hook.Bus){decides("fix", 0, says(hook.Verdict{Args: json.RawMessage(`{"path":"x/../b"}`)}))},
			call: call("file_read", `{"path":"a"}`), status: tool.OK, args: `{"path":"b"}`, says: "read b", note: "fix (plugin p) rewrote path in 0s",
		},
		{
			why: "rewritten arguments that don't fit", decide: []func(*hook.Bus){decides("fix", 0, says(hook.Verdict{Args: json.RawMessage(`{"file":"b"}`)}))},
			call: call("file_read", `{"path":"a"}`), status: tool.Refused, step: "before", args: `{"path":"a"}`, nothing: true,
			says: `The hook fix (plugin p), which has to let such calls through, rewrote the arguments into some that can't be used: missing required field "path"`,
		},
		{
			why: "rewritten arguments that lead out", decide: []func(*hook.Bus){decides("fix", 0, says(hook.Verdict{Args: json.RawMessage(`{"path":"a/../../b"}`)}))},
			call: call("file_read", `{"path":"a"}`), status: tool.Refused, step: "before", args: `{"path":"a"}`, nothing: true,
			says: "../b leads out of the workspace",
		},
		{
			why: "a block", decide: []func(*hook.Bus){decides("no", 0, says(hook.Verdict{Block: &tool.Refusal{Reason: "Not today.", Allowed: "Ask tomorrow."}}))},
			call: call("file_read", `{"path":"a"}`), status: tool.Refused, step: "before", args: `{"path":"a"}`, nothing: true,
			says: "Refused: Not today. Ask tomorrow.", note: "no (plugin p) blocked in 0s",
		},
		{
			why: "a call that a tool makes", decide: []func(*hook.Bus){decides("no", 0, on("file_read", says(hook.Verdict{Block: &tool.Refusal{Reason: "Not today."}})))},
			call: call("script", `{"calls":[{"tool":"file_read","args":{"path":"a"}}]}`), status: tool.OK, nothing: true,
			says: "refused: Refused: Not today.",
		},
		{
			why: "a person allows it", decide: []func(*hook.Bus){decides("ask", 0, says(hook.Verdict{Ask: &hook.Ask{Reason: "May it?"}}))},
			call: call("file_read", `{"path":"a"}`), status: tool.OK, args: `{"path":"a"}`, says: "read a", approves: tool.ApprovalAllowed,
		},
		{
			why: "a person doesn't", decide: []func(*hook.Bus){decides("ask", 0, says(hook.Verdict{Ask: &hook.Ask{Reason: "May it?"}}))},
			call: call("file_read", `{"path":"a"}`), status: tool.Refused, step: "before", args: `{"path":"a"}`, nothing: true,
			says: "ann was asked whether this call of file_read may run and said no", approves: tool.ApprovalDenied,
		},
		{
			why: "a step before says no", decide: []func(*hook.Bus){decides("never asked", 0, func(context.Context, *hook.Call) (hook.Verdict, error) { panic("asked") })},
			call: call("file_read", `{}`), status: tool.Invalid, step: "arguments", nothing: true, says: "path",
		},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ran atomic.Int32
				var asked []approval.Request
				b := set(t, []tool.Tool{nested, file("file_read", tool.Traits{ReadOnly: true}, func(ctx context.Context, call tool.Call, in path) (string, error) {
					ran.Add(1)
					return reads(ctx, call, in)
				})}, hooked(t, c.decide...), func(o *engine.Options) {
					o.Approve = func(_ context.Context, r approval.Request, told func(tool.Approval)) tool.Approval {
						asked = append(asked, r)
						a := tool.Approval{ID: "1", Tool: r.Tool, Args: r.Args, Rule: r.Rule, Status: c.approves, By: "ann"}
						told(a)
						return a
					}
				})
				var events []string
				calls := []llm.ToolCall{c.call}
				o := b.check(calls, b.Execute(t.Context(), b.offer(), calls, func(e tool.Event) {
					events = append(events, fmt.Sprint(e.Type))
				}))[0]
				if o.Status != c.status || o.Step != c.step || c.args != "" && string(o.Args) != c.args || !strings.Contains(text(o), c.says) {
					t.Errorf("got %s at %q with %s: %s", o.Status, o.Step, o.Args, text(o))
				}
				if (ran.Load() == 0) != c.nothing {
					t.Errorf("ran %d times", ran.Load())
				}
				for _, s := range o.Steps {
					if s.Step == "before" && c.note != "" && s.Note != c.note {
						t.Errorf("the trace says %q", s.Note)
					}
				}
				if c.approves == "" {
					return
				}
				if len(asked) != 1 || asked[0].Rule != "ask" || asked[0].Reason != "May it?" || string(asked[0].Args) != c.args || o.Approval == nil || o.Approval.Status != c.approves {
					t.Errorf("asked %+v, the outcome has %+v", asked, o.Approval)
				}
				if !strings.HasPrefix(strings.Join(events, " "), fmt.Sprint(tool.Asked, " ", tool.Answered)) {
					t.Errorf("told %v", events)
				}
			})
		})
	}
}

// work is the argument of a tool that touches a file for so many seconds.
type work struct {
	Path    string `json:"path"`
	Seconds int    `json:"seconds"`
}

func (w work) call() llm.ToolCall {
	return call("work", fmt.Sprintf(`{"path":%q,"seconds":%d}`, w.Path, w.Seconds))
}

// worker is that tool. done is told when each call ran.
func worker(done func(in work, begun, ended time.Time)) tool.Tool {
	return tool.WithTouches(tool.New(tool.Definition{Name: "work"}, func(ctx context.Context, _ tool.Call, in work) (string, error) {
		begun := time.Now()
		select {
		case <-time.After(time.Duration(in.Seconds) * time.Second):
		case <-ctx.Done():
		}
		done(in, begun, time.Now())
		return "worked on " + in.Path, ctx.Err()
	}), func(_ tool.Call, in work) []tool.Touch { return []tool.Touch{{Name: "file:" + in.Path, Write: true}} })
}

// While a call waits for a decider or a person, only those that conflict with
// it wait as well.
func TestOnlyConflictingCallsWaitForADecision(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		to    string // what the decider rewrites the first call to, after 3 seconds; empty for nothing
		calls []work
		want  []int // when each ends, in seconds
	}{
		{"others go on", "", []work{{"a", 1}, {"b", 1}, {"a", 1}, {"a/b", 1}, {"c", 2}}, []int{4, 1, 5, 6, 2}},
		{"it turns out to touch something else", "b", []work{{"a", 1}, {"a", 1}, {"c", 1}}, []int{4, 4, 1}},
		{"of which a later call runs just then", "b", []work{{"a", 1}, {"b", 5}}, []int{6, 5}},
		{"of which a later call waits just then", "b", []work{{"a", 1}, {"", 1}, {"b", 5}}, []int{4, 5, 10}},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			for _, how := range []string{"decider", "person"} {
				synctest.Test(t, func(t *testing.T) {
					wait := func() { time.Sleep(3 * time.Second) }
					b := set(t, []tool.Tool{worker(func(work, time.Time, time.Time) {})}, hooked(t, decides("slow", 0, func(_ context.Context, call *hook.Call) (hook.Verdict, error) {
						switch {
						case call.ID != "0":
							return hook.Verdict{}, nil
						case how == "person" && c.to == "":
							return hook.Verdict{Ask: &hook.Ask{}}, nil
						}
						wait()
						if c.to == "" {
							return hook.Verdict{}, nil
						}
						return hook.Verdict{Args: json.RawMessage(fmt.Sprintf(`{"path":%q,"seconds":1}`, c.to))}, nil
					})), func(o *engine.Options) {
						o.Approve = func(context.Context, approval.Request, func(tool.Approval)) tool.Approval {
							wait()
							return tool.Approval{Status: tool.ApprovalAllowed}
						}
					})
					var calls []llm.ToolCall
					for i, w := range c.calls {
						one := w.call()
						one.ID = fmt.Sprint(i)
						calls = append(calls, one)
					}
					begun := time.Now()
					for i, o := range b.run(t.Context(), calls...) {
						if got := o.Ended.Sub(begun); o.Status != tool.OK || got != time.Duration(c.want[i])*time.Second {
							t.Errorf("%s: call %d is %s after %v: %s", how, i, o.Status, got, text(o))
						}
					}
				})
			}
		})
	}
}

// A call that waits holds no worker: all workers are free for others.
func TestNobodyHoldsAWorkerWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := set(t, []tool.Tool{file("write", tool.Traits{}, func(context.Context, tool.Call, path) (string, error) { return "wrote", nil }), reading("sleep", seconds)},
			hooked(t, decides("ask", 0, on("write", says(hook.Verdict{Ask: &hook.Ask{}})))), func(o *engine.Options) {
				o.Pool = pool.New(pool.Options{Workers: 1, Queue: 1})
				o.Approve = func(ctx context.Context, _ approval.Request, _ func(tool.Approval)) tool.Approval {
					time.Sleep(time.Minute)
					return tool.Approval{Status: tool.ApprovalAllowed}
				}
			})
		var calls []llm.ToolCall
		for i := range 20 {
			calls = append(calls, call("write", fmt.Sprintf(`{"path":"%d"}`, i)))
		}
		calls = append(calls, repeat(3, call("sleep", `{"seconds":1}`))...)
		begun := time.Now()
		var took []time.Duration
		for i, o := range b.run(t.Context(), calls...) {
			if o.Status != tool.OK || i < 20 && o.Ended.Sub(begun) != time.Minute {
				t.Errorf("call %d is %s after %v", i, o.Status, o.Ended.Sub(begun))
			}
			took = append(took, o.Ended.Sub(begun))
		}
		slices.Sort(took[20:])
		if !slices.Equal(took[20:], []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}) {
			t.Errorf("the others took %v", took[20:])
		}
	})
}

// The time limit of a call doesn't run while a person is asked about a call
// that it makes; all else counts.
func TestTheClockStandsStillWhileAPersonIsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why    string
		answer time.Duration
		seconds,
		ended int
		says string
	}{
		{"the person takes an hour", time.Hour, 2, 3602, "slept 2"},
		{"the calls take too long", time.Hour, 6, 3605, "stopped while sleep ran"},
		{"nobody is asked for long", 0, 2, 2, "slept 2"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := set(t, []tool.Tool{caller("script", tool.Traits{Waits: true, ReadOnly: true, Timeout: 5 * time.Second}), reading("sleep", seconds)},
					hooked(t, decides("ask", 0, on("sleep", says(hook.Verdict{Ask: &hook.Ask{}})))), func(o *engine.Options) {
						o.Approve = func(_ context.Context, r approval.Request, told func(tool.Approval)) tool.Approval {
							a := tool.Approval{ID: "1", Status: tool.ApprovalAllowed}
							told(a)
							time.Sleep(c.answer)
							return a
						}
					})
				begun := time.Now()
				calls := []llm.ToolCall{call("script", fmt.Sprintf(`{"calls":[{"tool":"sleep","args":{"seconds":%d}}]}`, c.seconds))}
				var told []tool.EventType
				o := b.check(calls, b.Execute(t.Context(), b.offer(), calls, func(e tool.Event) { told = append(told, e.Type) }))[0]
				if took := time.Since(begun); !strings.Contains(text(o), c.says) || took.Round(time.Second) != time.Duration(c.ended)*time.Second {
					t.Errorf("%s after %v: %s", o.Status, took, text(o))
				}
				if !slices.Equal(told, []tool.EventType{tool.Started, tool.Asked, tool.Answered, tool.Finished}) {
					t.Errorf("told %v", told)
				}
				// It stands with the call that made it, as it was shown.
				if n := o.Nested; len(n) != 1 || n[0].ID != "1" || string(n[0].Args) != fmt.Sprintf(`{"seconds":%d}`, c.seconds) || o.Approval != nil {
					t.Errorf("kept is %+v", n)
				}
			})
		})
	}
}

// A person is asked only where all that waits meanwhile can: a tool that holds a
// worker would hold it for minutes, and its time would run out.
func TestNobodyIsAskedWhileAToolHoldsAWorker(t *testing.T) {
	t.Parallel()
	nest := func(tools ...string) llm.ToolCall {
		args := `{"seconds":1}`
		for i := len(tools) - 1; i >= 0; i-- {
			next := "sleep"
			if i < len(tools)-1 {
				next = tools[i+1]
			}
			args = fmt.Sprintf(`{"calls":[{"tool":%q,"args":%s}]}`, next, args)
		}
		return call(tools[0], args)
	}
	for _, c := range []struct {
		call    llm.ToolCall
		unasked string
	}{
		{nest("script"), ""},
		{nest("script", "script"), ""},
		{nest("plain"), "the tool plain, for which it is made, can't wait for one"},
		{nest("script", "plain"), "the tool plain, for which it is made, can't wait for one"},
		{nest("plain", "script"), "the tool plain, for which it is made, can't wait for one"},
	} {
		asked := 0
		b := set(t, []tool.Tool{
			caller("script", tool.Traits{Waits: true, ReadOnly: true}), caller("plain", tool.Traits{ReadOnly: true}),
			reading("sleep", func(context.Context, tool.Call, struct {
				Seconds int `json:"seconds"`
			},
			) (string, error) {
				return "slept", nil
			}),
		},
			hooked(t, decides("ask", 0, on("sleep", says(hook.Verdict{Ask: &hook.Ask{}})))), func(o *engine.Options) {
				o.Approve = func(_ context.Context, r approval.Request, _ func(tool.Approval)) tool.Approval {
					asked++
					if r.Unasked != c.unasked {
						t.Errorf("%s: %q", c.call.Arguments, r.Unasked)
					}
					return tool.Approval{Status: tool.ApprovalAllowed, Grant: "g"}
				}
			})
		if o := b.run(t.Context(), c.call)[0]; asked != 1 || !strings.Contains(text(o), "slept") || len(o.Nested) != 1 {
			t.Errorf("%s: asked %d times, %+v: %s", c.call.Arguments, asked, o.Nested, text(o))
		}
	}
}

// A run that ends while people are asked, about its calls or about calls of
// these, tells that and keeps it.
func TestARunEndsWhileAPersonIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := set(t, []tool.Tool{caller("script", tool.Traits{Waits: true, ReadOnly: true}), reading("sleep", seconds)},
			hooked(t, decides("ask", 0, on("sleep", says(hook.Verdict{Ask: &hook.Ask{}})))), func(o *engine.Options) {
				o.Approve = func(ctx context.Context, r approval.Request, told func(tool.Approval)) tool.Approval {
					a := tool.Approval{ID: r.Call, Args: r.Args, Status: tool.ApprovalOpen}
					told(a)
					<-ctx.Done()
					a.Status = tool.ApprovalStopped
					return a
				}
			})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		calls := []llm.ToolCall{call("script", `{"calls":[{"tool":"sleep","args":{"seconds":1}}]}`), call("sleep", `{"seconds":2}`)}
		told := map[string][]tool.ApprovalStatus{}
		out := b.check(calls, b.Execute(ctx, b.offer(), calls, func(e tool.Event) {
			if e.Approval != nil {
				told[e.Approval.ID] = append(told[e.Approval.ID], e.Approval.Status)
			}
		}))
		for _, id := range []string{"c_script/1", "c_sleep"} {
			if !slices.Equal(told[id], []tool.ApprovalStatus{tool.ApprovalOpen, tool.ApprovalStopped}) {
				t.Errorf("of %s is told %q", id, told[id])
			}
		}
		if n := out[0].Nested; len(n) != 1 || n[0].Status != tool.ApprovalStopped || string(n[0].Args) != `{"seconds":1}` {
			t.Errorf("of the call's call is kept %+v", n)
		}
		if a := out[1].Approval; a == nil || a.Status != tool.ApprovalStopped || a.Args != nil || string(out[1].Args) != `{"seconds":2}` {
			t.Errorf("of the call is kept %+v", a)
		}
	})
}

// However calls are decided about, rewritten and stopped: each has its one
// outcome, in order; those that conflict never run at once; and nobody waits
// for a decision that is not about them.
func TestDecidingAtAnyMoment(t *testing.T) {
	t.Parallel()
	type plan struct {
		work
		delay int    // of its decider, in seconds
		to    string // what it is rewritten to
		kind  string // pass, block, fail, ask, hang
	}
	names := []string{"a", "b", "c", "a/b"}
	rapid.Check(t, func(rt *rapid.T) {
		plans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) plan {
			return plan{
				work:  work{rapid.SampledFrom(names).Draw(t, "path"), rapid.IntRange(0, 3).Draw(t, "seconds")},
				delay: rapid.IntRange(0, 4).Draw(t, "delay"),
				to:    rapid.SampledFrom(append([]string{"", ""}, names...)).Draw(t, "to"),
				kind:  rapid.SampledFrom([]string{"pass", "pass", "block", "fail", "ask", "hang"}).Draw(t, "kind"),
			}
		}), 1, 12).Draw(rt, "calls")
		stop := rapid.IntRange(0, 40).Draw(rt, "stop")
		synctest.Test(t, func(t *testing.T) {
			type ran struct {
				in           work
				begun, ended time.Time
			}
			var mu sync.Mutex
			var all []ran
			b := set(t, []tool.Tool{worker(func(in work, begun, ended time.Time) {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, ran{in, begun, ended})
			})}, hooked(t, decides("d", 0, func(_ context.Context, c *hook.Call) (v hook.Verdict, err error) {
				var i int
				if _, err := fmt.Sscan(c.ID, &i); err != nil {
					return v, err
				}
				p := plans[i]
				time.Sleep(time.Duration(p.delay) * time.Second)
				if p.to != "" {
					v.Args = json.RawMessage(fmt.Sprintf(`{"path":%q,"seconds":%d}`, p.to, p.Seconds))
				}
				switch p.kind {
				case "block":
					v.Block = &tool.Refusal{Reason: "no"}
				case "fail":
					err = errors.New("no")
				case "ask":
					v.Ask = &hook.Ask{Reason: c.ID}
				case "hang":
					time.Sleep(15 * time.Second)
				}
				return v, err
			})), func(o *engine.Options) {
				o.Pool = pool.New(pool.Options{Workers: 20, Abandoned: 100})
				o.Approve = func(ctx context.Context, r approval.Request, _ func(tool.Approval)) tool.Approval {
					select {
					case <-time.After(2 * time.Second):
						return tool.Approval{Status: tool.ApprovalAllowed}
					case <-ctx.Done():
						return tool.Approval{Status: tool.ApprovalStopped}
					}
				}
			})
			var calls []llm.ToolCall
			for i, p := range plans {
				one := p.call()
				one.ID = fmt.Sprint(i)
				calls = append(calls, one)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(stop)*time.Second)
			defer cancel()
			begun := time.Now()
			out := b.run(ctx, calls...)
			if took := time.Since(begun); took > time.Duration(stop)*time.Second+100*time.Millisecond {
				t.Errorf("took %v though it was stopped after %d s", took, stop)
			}
			for i, x := range all {
				for _, y := range all[:i] {
					conflict := tool.Conflict([]tool.Touch{{Name: "file:" + x.in.Path, Write: true}}, []tool.Touch{{Name: "file:" + y.in.Path, Write: true}})
					if conflict && x.begun.Before(y.ended) && y.begun.Before(x.ended) {
						t.Errorf("%+v and %+v overlap", x, y)
					}
				}
			}
			alone := func(i int) bool {
				mine := map[string]bool{plans[i].Path[:1]: true}
				if to := plans[i].to; to != "" {
					mine[to[:1]] = true
				}
				for j, p := range plans {
					if j != i && (mine[p.Path[:1]] || p.to != "" && mine[p.to[:1]]) {
						return false
					}
				}
				return true
			}
			for i, o := range out {
				p := plans[i]
				stopped := o.Status == tool.Cancelled
				if stopped && ctx.Err() == nil {
					t.Errorf("call %d was stopped", i)
				}
				if !stopped && (o.Status == tool.OK) != (p.kind == "pass" || p.kind == "ask") {
					t.Errorf("call %d, %s, is %s: %s", i, p.kind, o.Status, text(o))
				}
				if want := p.delay + p.Seconds; p.kind == "pass" && alone(i) && !stopped && o.Ended.Sub(begun) != time.Duration(want)*time.Second {
					t.Errorf("call %d ended after %v, want %d s", i, o.Ended.Sub(begun), want)
				}
			}
			if err := b.pool.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	})
}
