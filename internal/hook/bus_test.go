package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var weather = tool.Owner{Kind: tool.PluginOwner, ID: "weather"}

func bus() *hook.Bus { return hook.New(slog.New(slog.NewTextHandler(io.Discard, nil))) }

func closed(t *testing.T, b *hook.Bus) {
	t.Helper()
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// on registers a decider.
func on(t *testing.T, b *hook.Bus, name string, priority int, f func(context.Context, *hook.Call) (hook.Verdict, error)) {
	t.Helper()
	if err := b.On(weather, "before_tool_call", f, hook.Options{Name: name, Priority: priority, Timeout: time.Second}); err != nil {
		t.Fatal(err)
	}
}

// plain takes any JSON for arguments.
func plain(c hook.Call, args json.RawMessage) (hook.Call, error) {
	if !json.Valid(args) {
		return c, errors.New("they are no JSON")
	}
	c.Args = args
	return c, nil
}

func args(s string) hook.Verdict { return hook.Verdict{Args: json.RawMessage(s)} }

func block(reason string) hook.Verdict { return hook.Verdict{Block: &tool.Refusal{Reason: reason}} }

func wants(reason string) hook.Verdict { return hook.Verdict{Ask: &hook.Ask{Reason: reason}} }

// always makes a decider that says v.
func always(v hook.Verdict) func(context.Context, *hook.Call) (hook.Verdict, error) {
	return func(context.Context, *hook.Call) (hook.Verdict, error) { return v, nil }
}

func before(t *testing.T, b *hook.Bus) hook.Decision {
	t.Helper()
	d, err := b.Before(t.Context(), hook.Call{Tool: "write", Args: json.RawMessage(`{"path":"a"}`)}, plain)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheSecondOfTwoRewritersSeesWhatTheFirstMadeOfIt(t *testing.T) {
	t.Parallel()
	b := bus()
	var saw string
	on(t, b, "second", 1, func(_ context.Context, c *hook.Call) (hook.Verdict, error) {
		saw = string(c.Args)
		return args(`{"path":"b","mode":1}`), nil
	})
	on(t, b, "first", 2, func(_ context.Context, c *hook.Call) (hook.Verdict, error) {
		c.Args[2] = 'X' // its own copy
		return args(`{"path":"b"}`), nil
	})
	d := before(t, b)
	if saw != `{"path":"b"}` || string(d.Call.Args) != `{"path":"b","mode":1}` || d.Block != nil {
		t.Errorf("it saw %s, and %s is left: %+v", saw, d.Call.Args, d.Block)
	}
	if !strings.HasPrefix(d.Note, "first (plugin weather) rewrote path in ") || !strings.Contains(d.Note, "; second (plugin weather) rewrote mode in ") {
		t.Errorf("the trace says %q", d.Note)
	}
}

func TestBlocksAndAsks(t *testing.T) {
	t.Parallel()
	failing := func(context.Context, *hook.Call) (hook.Verdict, error) {
		return hook.Verdict{}, errors.New("no database")
	}
	for _, c := range []struct {
		why      string
		deciders map[string]func(context.Context, *hook.Call) (hook.Verdict, error) // "name priority"
		block    string
		asks     []string
		note     string
	}{
		{"nobody", nil, "", nil, ""},
		{"one with nothing to say", map[string]func(context.Context, *hook.Call) (hook.Verdict, error){"a 1": always(hook.Verdict{})}, "", nil, "1 let it through in "},
		{
			"a block below an approval",
			map[string]func(context.Context, *hook.Call) (hook.Verdict, error){"ask 9": always(wants("really?")), "no 1": always(block("never"))},
			"never", nil, "ask (plugin weather) wants a person asked in ",
		},
		{
			"a block above an approval",
			map[string]func(context.Context, *hook.Call) (hook.Verdict, error){"no 9": always(block("never")), "ask 1": always(wants("really?"))},
			"never", nil, "no (plugin weather) blocked in ",
		},
		{
			"two that want a person asked",
			map[string]func(context.Context, *hook.Call) (hook.Verdict, error){"x 1": always(wants("second?")), "y 2": always(wants("first?"))},
			"",
			[]string{"first?", "second?"},
			"y (plugin weather) wants a person asked in ",
		},
		{
			"one that fails",
			map[string]func(context.Context, *hook.Call) (hook.Verdict, error){"f 1": failing},
			"The hook f (plugin weather), which has to let such calls through, failed: no database; nothing ran.", nil, "f (plugin weather) failed: no database in ",
		},
		{
			"one that panics",
			map[string]func(context.Context, *hook.Call) (hook.Verdict, error){"p 1": func(context.Context, *hook.Call) (hook.Verdict, error) { panic("oh") }},
			"The hook p (plugin weather), which has to let such calls through, broke (an administrator finds the reason in the log of GoClaw); nothing ran.", nil, "",
		},
		{
			"one that ends its goroutine",
			map[string]func(context.Context, *hook.Call) (hook.Verdict, error){"e 1": func(context.Context, *hook.Call) (hook.Verdict, error) { runtime.Goexit(); return hook.Verdict{}, nil }},
			"broke (the call ended its goroutine)", nil, "",
		},
		{
			"one that rewrites into nonsense",
			map[string]func(context.Context, *hook.Call) (hook.Verdict, error){"n 1": always(args(`{`))},
			"rewrote the arguments into some that can't be used: they are no JSON; nothing ran.", nil, "n (plugin weather) rewrote the arguments into some that can't be used in ",
		},
		{
			"a note",
			map[string]func(context.Context, *hook.Call) (hook.Verdict, error){"n 1": always(hook.Verdict{Note: "told the web UI"})},
			"", nil, "n (plugin weather) told the web UI in ",
		},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			b := bus()
			for spec, f := range c.deciders {
				var name string
				var priority int
				if _, err := fmt.Sscan(spec, &name, &priority); err != nil {
					t.Fatal(err)
				}
				on(t, b, name, priority, f)
			}
			d := before(t, b)
			got := ""
			if d.Block != nil {
				got = d.Block.Reason
			}
			if !strings.Contains(got, c.block) || (got == "") != (c.block == "") {
				t.Errorf("blocked with %q, want %q", got, c.block)
			}
			var asks []string
			for _, a := range d.Asks {
				asks = append(asks, a.Reason)
			}
			if !slices.Equal(asks, c.asks) {
				t.Errorf("asks %q, want %q", asks, c.asks)
			}
			if !strings.HasPrefix(d.Note, c.note) {
				t.Errorf("the trace says %q, want %q", d.Note, c.note)
			}
			closed(t, b)
		})
	}
}

// What a decider does when its time is up, or the run's.
func TestDecidersThatAreNotReady(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why    string
		decide func(context.Context) hook.Verdict
		took   time.Duration
	}{
		{"it heeds its abort signal", func(ctx context.Context) hook.Verdict { <-ctx.Done(); return hook.Verdict{} }, time.Second},
		{"it ignores it", func(context.Context) hook.Verdict { time.Sleep(time.Hour); return hook.Verdict{} }, 1100 * time.Millisecond},
		{"it is a moment late", func(context.Context) hook.Verdict { time.Sleep(1050 * time.Millisecond); return hook.Verdict{} }, 1050 * time.Millisecond},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := bus()
				on(t, b, "slow", 1, func(ctx context.Context, _ *hook.Call) (hook.Verdict, error) { return c.decide(ctx), nil })
				begun := time.Now()
				d := before(t, b)
				if took := time.Since(begun); took != c.took {
					t.Errorf("took %v", took)
				}
				if d.Block == nil || !strings.Contains(d.Block.Reason, "was not ready within its time limit of 1s") || d.Block.Rule != "slow" {
					t.Errorf("got %+v", d.Block)
				}

				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				begun = time.Now()
				if _, err := b.Before(ctx, hook.Call{}, plain); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a run that is stopped got %v", err)
				}
				if took := time.Since(begun); took > 600*time.Millisecond {
					t.Errorf("stopping took %v", took)
				}
				closed(t, b)
			})
		})
	}
}

// A rule that is taken away while it decides about a call decides about that
// one still, and about none after it.
func TestRulesThatGoWhileTheyDecide(t *testing.T) {
	t.Parallel()
	b := bus()
	asked, release := make(chan struct{}), make(chan struct{})
	b.SetRules([]hook.Before{{Name: "ask", Source: "config", Decide: func(context.Context, *hook.Call) (hook.Verdict, error) {
		close(asked)
		<-release
		return block("no"), nil
	}}}, nil)
	decided := make(chan hook.Decision)
	go func() {
		d, err := b.Before(context.Background(), hook.Call{Args: json.RawMessage(`{}`)}, plain)
		if err != nil {
			t.Error(err)
		}
		decided <- d
	}()
	<-asked
	b.SetRules(nil, nil)
	if d := before(t, b); d.Block != nil || b.Decides() {
		t.Errorf("a call after it got %+v", d.Block)
	}
	close(release)
	if d := <-decided; d.Block == nil || d.Block.Rule != "ask" {
		t.Errorf("its call got %+v", d.Block)
	}
	closed(t, b)
}

// A rule that guards sees what runs, whoever rewrote it after the rule.
func TestGuardsSeeWhatRuns(t *testing.T) {
	t.Parallel()
	b := bus()
	var saw []string
	pos := source.Pos{Key: "hooks[guard]", File: "config.yaml", Line: 7}
	b.SetRules([]hook.Before{{
		Name: "guard", Source: "config", Where: pos, Priority: 100, Guards: true,
		Decide: func(_ context.Context, c *hook.Call) (hook.Verdict, error) {
			saw = append(saw, string(c.Args))
			if strings.Contains(string(c.Args), "secret") {
				return block("secret is nobody's business"), nil
			}
			return wants("may it?"), nil
		},
	}}, nil)
	to := `{"path":"b"}`
	on(t, b, "rewriter", 1, func(context.Context, *hook.Call) (hook.Verdict, error) { return args(to), nil })
	d := before(t, b)
	if d.Block != nil || len(d.Asks) != 1 || d.Asks[0].Name != "guard" || d.Asks[0].Where != pos {
		t.Errorf("got %+v", d)
	}
	to = `{"path":"secret"}`
	d = before(t, b)
	if d.Block == nil || d.Block.Rule != "guard" || d.Block.Where != pos || d.Asks != nil {
		t.Errorf("got %+v", d)
	}
	if want := []string{`{"path":"a"}`, `{"path":"b"}`, `{"path":"a"}`, `{"path":"secret"}`}; !slices.Equal(saw, want) {
		t.Errorf("it saw %q", saw)
	}
}

// What a handler decided about other arguments than those that are left it decides
// again, once; but the last word on the arguments is that of the lower priority.
func TestHandlersSeeWhatRuns(t *testing.T) {
	t.Parallel()
	b := bus()
	asked := 0
	on(t, b, "guard", 100, func(_ context.Context, c *hook.Call) (hook.Verdict, error) {
		asked++
		if strings.Contains(string(c.Args), "secret") {
			return block("secret is nobody's business"), nil
		}
		return args(`{"path":"mine"}`), nil
	})
	to := `{"path":"b"}`
	on(t, b, "rewriter", 50, func(context.Context, *hook.Call) (hook.Verdict, error) { return args(to), nil })
	on(t, b, "last", 10, func(context.Context, *hook.Call) (hook.Verdict, error) { return hook.Verdict{}, nil })
	if d := before(t, b); d.Block != nil || string(d.Call.Args) != to || asked != 2 {
		t.Errorf("asked %d times, got %+v", asked, d)
	}
	to = `{"path":"secret"}`
	if d := before(t, b); d.Block == nil || d.Block.Rule != "guard" {
		t.Errorf("got %+v", d)
	}
}

// Rules and handlers stand in one order; among equals rules see what handlers
// made of a call.
func TestOneOrder(t *testing.T) {
	t.Parallel()
	b := bus()
	var order []string
	named := func(name string) func(context.Context, *hook.Call) (hook.Verdict, error) {
		return func(context.Context, *hook.Call) (hook.Verdict, error) {
			order = append(order, name)
			return hook.Verdict{}, nil
		}
	}
	on(t, b, "p", 5, named("plugin 5"))
	b.SetRules([]hook.Before{{Name: "x", Priority: 5, Decide: named("rule 5")}, {Name: "y", Priority: 9, Decide: named("rule 9")}}, nil)
	on(t, b, "q", 5, named("plugin 5, later"))
	on(t, b, "r", 7, named("plugin 7"))
	on(t, b, "s", -1, named("plugin -1"))
	before(t, b)
	if want := []string{"rule 9", "plugin 7", "plugin 5", "plugin 5, later", "rule 5", "plugin -1"}; !slices.Equal(order, want) {
		t.Errorf("asked %q", order)
	}
	// Others take the place of the rules, and a plugin that is disabled takes its
	// handlers along.
	order = nil
	b.SetRules([]hook.Before{{Name: "z", Decide: named("rule 0")}}, nil)
	b.Withdraw(tool.PluginOwner, "weather")
	before(t, b)
	if !slices.Equal(order, []string{"rule 0"}) {
		t.Errorf("asked %q", order)
	}
}

func TestRegistering(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	b := hook.New(slog.New(slog.NewTextHandler(&log, nil)))
	for _, c := range []struct {
		name string
		fn   any
		err  string
	}{
		{"before_tool_cal", always(hook.Verdict{}), `there is no hook "before_tool_cal": there are before_prompt_build, before_tool_call, after_tool_call, tool_result_persist, message_sending, before_install, llm_input, llm_output, message_received, message_sent, session_start, session_end, gateway_start, gateway_stop`},
		{"before_tool_call", func() {}, "before_tool_call takes a func(context.Context, *hook.Call) (hook.Verdict, error), not a func()"},
		{"before_tool_call", nil, "before_tool_call takes a func"},
		{"before_tool_call", always(hook.Verdict{}), ""},
		{"llm_input", func(context.Context, *hook.ModelInput) error { return nil }, ""},
	} {
		err := b.On(weather, c.name, c.fn, hook.Options{})
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	see := func(context.Context, hook.Event) error { return nil }
	for name, want := range map[string]struct {
		only bool
		err  string
	}{
		"gateway:start": {}, "gateway:stop": {}, "message:received": {}, "message:sending": {}, "message:sent": {},
		"llm:input": {}, "llm:output": {}, "session:start": {}, "session:end": {},
		"before_tool_call": {only: true}, "before_prompt_build": {only: true}, "after_tool_call": {only: true},
		"tool_result_persist": {only: true}, "llm_input": {only: true},
		"":           {err: `there is no event ""`},
		"llm:inputs": {err: `there is no event "llm:inputs": there are before_prompt_build, before_tool_call, after_tool_call, message:sending, llm:input`},
	} {
		log.Reset()
		only, err := b.Watch(weather, name, see, hook.Options{})
		if only != want.only || (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%s: got %v, %v", name, only, err)
		}
		if strings.Contains(log.String(), "only observes") != want.only {
			t.Errorf("%s: the log says %q", name, log.String())
		}
	}
	if n := len(b.Handlers()); n != 16 {
		t.Errorf("%d handlers", n)
	}
}

// An observer that is slow or breaks harms nobody, is told everything in its
// order, and nobody waits for it.
func TestObservers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bus()
		var mu sync.Mutex
		told := map[string][]string{}
		watch := func(name, event string, f func(context.Context) error) {
			if _, err := b.Watch(weather, event, func(ctx context.Context, e hook.Event) error {
				mu.Lock()
				told[name] = append(told[name], e.Data.(*hook.Ended).Call.ID)
				mu.Unlock()
				return f(ctx)
			}, hook.Options{Name: name, Timeout: time.Second}); err != nil {
				t.Fatal(err)
			}
		}
		watch("quick", "after_tool_call", func(context.Context) error { return nil })
		watch("slow", "after_tool_call", func(ctx context.Context) error { <-ctx.Done(); return nil })
		watch("deaf", "after_tool_call", func(context.Context) error { time.Sleep(10 * time.Second); return nil })
		watch("broken", "after_tool_call", func(context.Context) error { panic("no") })
		b.SetRules(nil, []hook.After{{Name: "rule", Observe: func(_ context.Context, c *hook.Call, o *tool.Outcome) error {
			mu.Lock()
			defer mu.Unlock()
			told["rule"] = append(told["rule"], c.ID+string(o.Status))
			return errors.New("can't write")
		}}})
		begun := time.Now()
		o := &tool.Outcome{Status: tool.OK, Content: []llm.Part{llm.Text("x")}}
		for i := range 5 {
			b.After(&hook.Call{ID: fmt.Sprint(i)}, o)
		}
		if took := time.Since(begun); took != 0 {
			t.Errorf("telling took %v", took)
		}
		closed(t, b)
		want := []string{"0", "1", "2", "3", "4"}
		for _, name := range []string{"quick", "slow", "deaf", "broken"} {
			if !slices.Equal(told[name], want) {
				t.Errorf("%s was told %q", name, told[name])
			}
		}
		if got := told["rule"]; !slices.Equal(got, []string{"0ok", "1ok", "2ok", "3ok", "4ok"}) {
			t.Errorf("the rule was told %q", got)
		}
		for _, h := range b.Handlers() {
			if want := map[string]int{"quick": 0}[h.Name]; h.Asked != 5 || (h.Failed == 0) != (h.Name == "quick") && want == 0 {
				t.Errorf("%s: asked %d times, failed %d times", h.Name, h.Asked, h.Failed)
			}
		}
		b.After(&hook.Call{ID: "late"}, o) // after the end nobody is told
	})
}

// An observer that can't keep up misses what exceeds the bound, and Close gives
// up on the rest when its time is up.
func TestObserversThatCantKeepUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := hook.New(slog.New(slog.NewTextHandler(&log, nil)))
		told := 0
		if err := b.On(weather, "message_received", func(ctx context.Context, _ *hook.Message) error {
			told++
			<-ctx.Done()
			return nil
		}, hook.Options{Timeout: time.Minute}); err != nil {
			t.Fatal(err)
		}
		for range 5000 {
			b.Received(&hook.Message{Text: "hello"})
		}
		synctest.Wait()
		if missed := b.Handlers()[0].Missed; missed < 900 || missed > 904 {
			t.Errorf("missed %d", missed)
		}
		big := &hook.Message{Message: llm.UserMessage(strings.Repeat("x", 20<<20))}
		b2 := bus()
		if err := b2.On(weather, "message_received", func(ctx context.Context, _ *hook.Message) error { <-ctx.Done(); return nil }, hook.Options{Timeout: time.Minute}); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			b2.Received(big)
			synctest.Wait()
		}
		if missed := b2.Handlers()[0].Missed; missed != 3 {
			t.Errorf("missed %d large ones", missed)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Close(ctx); err == nil || !strings.Contains(err.Error(), "events untold") {
			t.Errorf("got %v", err)
		}
		if told != 1 {
			t.Errorf("told %d times", told)
		}
		if want := `msg="an observer was not told everything before the end" hook=message_received handler="plugin weather" untold=4097`; !strings.Contains(log.String(), want) {
			t.Errorf("the log has %s", log.String())
		}
		if err := b2.Close(ctx); err == nil {
			t.Error("nothing was untold")
		}
	})
}

// Whatever deciders say and in whatever order they were registered: the order
// of priorities decides alone.
func TestOrderOfRegistrationDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		type decider struct {
			name    string
			verdict hook.Verdict
			fails   bool
		}
		n := rapid.IntRange(1, 8).Draw(rt, "deciders")
		var all []decider
		for i := range n {
			d := decider{name: fmt.Sprint("d", i)}
			switch rapid.IntRange(0, 4).Draw(rt, "kind") {
			case 0:
				d.verdict = block("no")
			case 1:
				d.verdict = wants("may it?")
			case 2:
				d.verdict = args(fmt.Sprintf(`{"path":"%d"}`, i))
			case 3:
				d.fails = true
			}
			all = append(all, d)
		}
		decide := func(order []int) (hook.Decision, []string) {
			b := bus()
			var saw []string
			for _, i := range order {
				d := all[i]
				if err := b.On(weather, "before_tool_call", func(_ context.Context, c *hook.Call) (hook.Verdict, error) {
					saw = append(saw, d.name+string(c.Args))
					if d.fails {
						return hook.Verdict{}, errors.New("no")
					}
					return d.verdict, nil
				}, hook.Options{Name: d.name, Priority: i}); err != nil {
					rt.Fatal(err)
				}
			}
			d, err := b.Before(context.Background(), hook.Call{Args: json.RawMessage(`{}`)}, plain)
			if err != nil {
				rt.Fatal(err)
			}
			return d, saw
		}
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		one, saw := decide(order)
		other, sawToo := decide(rapid.Permutation(order).Draw(rt, "order"))
		if !slices.Equal(saw, sawToo) || string(one.Call.Args) != string(other.Call.Args) || !slices.Equal(one.Asks, other.Asks) || (one.Block == nil) != (other.Block == nil) {
			rt.Errorf("%v and %v\n%+v\n%+v", saw, sawToo, one, other)
		}
		blocks := slices.ContainsFunc(all, func(d decider) bool { return d.fails || d.verdict.Block != nil })
		if (one.Block != nil) != blocks || one.Block != nil && one.Asks != nil {
			rt.Errorf("blocked %v, want %v; asks %v", one.Block, blocks, one.Asks)
		}
	})
}

// A nil bus has no handlers.
func TestNoBus(t *testing.T) {
	t.Parallel()
	var b *hook.Bus
	d, err := b.Before(t.Context(), hook.Call{Tool: "x"}, plain)
	if err != nil || d.Block != nil || d.Call.Tool != "x" || b.Decides() || b.Builds() || b.Persists() {
		t.Errorf("got %+v, %v", d, err)
	}
	b.After(&hook.Call{}, &tool.Outcome{})
}
