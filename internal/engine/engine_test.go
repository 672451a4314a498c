package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	admin = auth.Principal{ID: "ann", Role: auth.Admin, Human: true}
	user  = auth.Principal{ID: "bob", Role: auth.User, Human: true}
	model = llm.Target{Provider: "openai", Model: "gpt-x", Tools: true}
)

// reading makes a tool that only reads.
func reading[In any](name string, f func(context.Context, tool.Call, In) (string, error)) tool.Tool {
	return tool.New(tool.Definition{Name: name, Traits: tool.Traits{ReadOnly: true}}, f)
}

// writing makes a tool that changes something.
func writing[In any](name string, f func(context.Context, tool.Call, In) (string, error)) tool.Tool {
	return tool.New(tool.Definition{Name: name}, f)
}

type path struct {
	Path string `json:"path"`
}

type none struct{}

// bench is an engine with its tools, and what is needed to use it.
type bench struct {
	*engine.Engine
	t     testing.TB
	pool  *pool.Pool
	scope tool.Facts
	state tool.State
	idle  time.Duration // how long the session was quiet
	log   *syncWriter
}

// syncWriter collects a log.
type syncWriter struct {
	mu sync.Mutex
	b  strings.Builder
}

func (w *syncWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *syncWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// option changes the parts of the engine that set makes.
type option func(*engine.Options)

// set makes a bench with tools.
func set(t testing.TB, tools []tool.Tool, options ...option) *bench {
	t.Helper()
	r := tool.NewRegistry()
	if notes := r.Add(tool.Owner{Kind: tool.FamilyOwner, ID: "test"}, tools...); len(notes) > 0 {
		t.Fatalf("registering: %+v", notes)
	}
	log := &syncWriter{}
	o := engine.Options{Registry: r, Log: slog.New(slog.NewTextHandler(io.MultiWriter(log), nil))}
	for _, change := range options {
		change(&o)
	}
	if o.Pool == nil {
		o.Pool = pool.New(pool.Options{Log: o.Log})
	}
	return &bench{
		Engine: engine.New(o), t: t, pool: o.Pool, log: log,
		scope: tool.Facts{Agent: "main", Session: "s", Caller: admin, Origin: tool.FromChat},
	}
}

func (b *bench) offer() tool.Surface {
	b.t.Helper()
	sf, err := b.Offer(b.t.Context(), tool.NewScope(b.scope), model, b.state, tool.Ask{})
	if err != nil {
		b.t.Fatal(err)
	}
	return sf
}

// run executes calls and checks what holds for every set of calls.
func (b *bench) run(ctx context.Context, calls ...llm.ToolCall) []tool.Outcome {
	b.t.Helper()
	return b.check(calls, b.Execute(ctx, b.offer(), calls, nil))
}

// check holds outcomes against what is promised of all outcomes.
func (b *bench) check(calls []llm.ToolCall, out []tool.Outcome) []tool.Outcome {
	b.t.Helper()
	if len(out) != len(calls) {
		b.t.Fatalf("%d outcomes for %d calls", len(out), len(calls))
	}
	for i, o := range out {
		if o.Call != calls[i] {
			b.t.Errorf("outcome %d is of call %+v, want %+v", i, o.Call, calls[i])
		}
		if text := llm.JoinText(o.Content); len(o.Content) == 0 || strings.TrimSpace(text) == "" && o.Content[0].Media == nil {
			b.t.Errorf("outcome %d has no content: %+v", i, o)
		}
		if o.Status == "" || o.Tool == "" && strings.TrimSpace(calls[i].Name) != "" || o.Started.IsZero() || o.Ended.Before(o.Started) {
			b.t.Errorf("outcome %d is incomplete: %+v", i, o)
		}
		if (o.Status == tool.OK) != (o.Step == "") {
			b.t.Errorf("outcome %d is %s at step %q", i, o.Status, o.Step)
		}
		if (o.Status == tool.Refused) != (o.Refusal != nil) {
			b.t.Errorf("outcome %d is %s with refusal %+v", i, o.Status, o.Refusal)
		}
	}
	return out
}

// call makes a call with arguments written as JSON.
func call(name, args string) llm.ToolCall {
	return llm.ToolCall{ID: "c_" + name, Name: name, Arguments: args}
}

func text(o tool.Outcome) string { return llm.JoinText(o.Content) }

func deny(entries ...string) surface.Policies {
	var list []source.Text
	for i, e := range entries {
		list = append(list, source.Text{Value: e, Pos: source.Pos{Key: "tools.deny", File: "config.yaml", Line: 41 + i}})
	}
	return surface.Policies{Global: surface.Block{Policy: surface.Policy{Deny: list}}}
}

func TestOffer(t *testing.T) {
	t.Parallel()
	tools := []tool.Tool{
		reading("zeta", func(context.Context, tool.Call, none) (string, error) { return "", nil }),
		tool.New(tool.Definition{Name: "memory", Traits: tool.Traits{Core: true}}, func(context.Context, tool.Call, none) (string, error) { return "", nil }),
		tool.New(tool.Definition{Name: "calc", Traits: tool.Traits{Internal: true}}, func(context.Context, tool.Call, none) (string, error) { return "", nil }),
		writing("alpha", func(context.Context, tool.Call, none) (string, error) { return "", nil }),
	}
	b := set(t, tools, func(o *engine.Options) { o.Policies = deny("alpha", "nonsense") })
	if got := strings.Join(tool.Names(b.offer().Offered), " "); got != "memory calc zeta" {
		t.Errorf("offered %s", got)
	}
	if d := b.Diagnose(); len(d) != 1 || d[0].Entry != "nonsense" {
		t.Errorf("diagnosed %v", d)
	}

	b.scope.Cap = tool.Only("alpha")
	_, err := b.Offer(t.Context(), tool.NewScope(b.scope), model, tool.State{}, tool.Ask{})
	var empty *engine.NoToolsError
	want := `offer tools: nothing is left to call under the run's cap; alpha: denied by tools.deny "alpha" (config.yaml:41); ` +
		"calc: it is not among the tools that the run was started with; memory: it is not among the tools that the run was started with; and 1 more"
	if !errors.As(err, &empty) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A run without tools is fine as long as nobody asked for some.
func TestOfferNothing(t *testing.T) {
	t.Parallel()
	b := set(t, nil)
	if sf := b.offer(); len(sf.Offered) != 0 {
		t.Errorf("offered %v", tool.Names(sf.Offered))
	}
	if out := b.run(t.Context()); len(out) != 0 {
		t.Errorf("got %v", out)
	}
	out := b.run(t.Context(), call("shell", "{}"))
	if out[0].Status != tool.Refused || !strings.Contains(text(out[0]), "answer without") {
		t.Errorf("got %s", text(out[0]))
	}
}

func TestInvoke(t *testing.T) {
	t.Parallel()
	undo := tool.New(tool.Definition{Name: "undo_it", Traits: tool.Traits{Inverse: true}},
		func(_ context.Context, c tool.Call, in path) (string, error) { return "undid " + in.Path, nil })
	b := set(t, []tool.Tool{undo, writing("denied", func(context.Context, tool.Call, none) (string, error) { return "ran", nil })},
		func(o *engine.Options) { o.Policies = deny("denied") })
	invoke := func(name, args string) tool.Outcome {
		return b.Invoke(t.Context(), tool.NewScope(b.scope), llm.Target{}, b.state, name, json.RawMessage(args), nil)
	}
	if o := invoke("undo_it", `{"path":"a"}`); o.Status != tool.OK || text(o) != "undid a" {
		t.Errorf("got %s: %s", o.Status, text(o))
	}
	if o := invoke("denied", `{}`); o.Status != tool.Refused || o.Refusal.Step != "offered" {
		t.Errorf("got %s: %s", o.Status, text(o))
	}
	if o := invoke("undo_it", `{"path":`); o.Status != tool.Invalid || o.Step != "arguments" {
		t.Errorf("got %s: %s", o.Status, text(o))
	}
	// The model never sees it.
	if o := b.run(t.Context(), call("undo_it", `{"path":"a"}`)); o[0].Status != tool.Refused {
		t.Errorf("got %s: %s", o[0].Status, text(o[0]))
	}
}

func TestPoolClosed(t *testing.T) {
	t.Parallel()
	b := set(t, []tool.Tool{
		writing("run", func(context.Context, tool.Call, none) (string, error) { return "ran", nil }),
		tool.New(tool.Definition{Name: "wait", Traits: tool.Traits{Waits: true}}, func(context.Context, tool.Call, none) (string, error) { return "ran", nil }),
	})
	if err := b.pool.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, o := range b.run(t.Context(), call("run", "{}"), call("wait", "{}"), call("run", "{}")) {
		if o.Status != tool.Cancelled || o.Ran() {
			t.Errorf("got %s: %s", o.Status, text(o))
		}
	}
}

// seconds sleeps as long as it is told and heeds its context.
func seconds(ctx context.Context, _ tool.Call, in struct {
	Seconds float64 `json:"seconds"`
},
) (string, error) {
	timer := time.NewTimer(time.Duration(in.Seconds * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return fmt.Sprintf("slept %g", in.Seconds), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
