package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/plugin"
)

// hooked is a rig with a plugin of these hooks.
func hooked(t *testing.T, register func(plugin.API) error, answers ...fakellm.Answer) *rig {
	t.Helper()
	model := fakellm.Start(t, answers...)
	text := fmt.Sprintf("ai:\n  provider: openai\n  providers:\n    openai: {api_key: key, model: m, base_url: %q}\n", model.Base())
	return configured(t, model, text, plugin.Plugin{Manifest: plugin.Manifest{ID: "hooks"}, Register: register})
}

// events collects what observers are told.
type events struct {
	mu   sync.Mutex
	told map[string][]string
}

func (e *events) add(name, what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.told == nil {
		e.told = map[string][]string{}
	}
	e.told[name] = append(e.told[name], what)
}

func TestObserversAreToldOfATurn(t *testing.T) {
	t.Parallel()
	var e events
	see := func(name string, what func(any) string) func(plugin.API) error {
		return func(a plugin.API) error {
			return a.RegisterHook(name, func(_ context.Context, ev plugin.Event) error {
				if ev.Name != name || ev.Time.IsZero() {
					t.Errorf("%s is called %s at %v", name, ev.Name, ev.Time)
				}
				e.add(name, what(ev.Data))
				return nil
			}, plugin.HookOptions{})
		}
	}
	r := hooked(t, func(a plugin.API) error {
		return errors.Join(
			see("message:received", func(v any) string { return v.(*plugin.Message).Text })(a),
			see("session:start", func(v any) string { s := v.(*plugin.Session); return s.Agent + " " + s.ID + " " + s.Caller.ID })(a),
			see("before_prompt_build", func(v any) string { return v.(*plugin.Prompt).Message.Text() })(a),
			see("llm:input", func(v any) string {
				in := v.(*plugin.ModelInput)
				return fmt.Sprintf("%s %d messages", in.Target, len(in.Messages))
			})(a),
			see("llm:output", func(v any) string {
				out := v.(*plugin.ModelOutput)
				return fmt.Sprintf("%s%d calls", out.Message.Text(), len(out.Message.Calls()))
			})(a),
			see("before_tool_call", func(v any) string { c := v.(*plugin.HookCall); return c.Tool + string(c.Args) })(a),
			see("after_tool_call", func(v any) string {
				c := v.(*plugin.CallEnded)
				return c.Call.Tool + " " + string(c.Outcome.Status)
			})(a),
			see("message:sent", func(v any) string { return v.(*plugin.Message).Text })(a),
			see("session:end", func(v any) string { return v.(*plugin.Session).ID })(a),
		)
	}, fakellm.Calls(fakellm.Use("file_read", `{"path":"./x/../a.txt"}`)), fakellm.Text("It says hello."), fakellm.Text("Again."))
	r.write("a.txt", "hello\n")
	r.say("s", "What does it say?")
	r.say("s", "And now?")
	if err := r.DeleteSession(t.Context(), session.Key{Agent: "main", ID: "s"}); err != nil {
		t.Fatal(err)
	}
	if err := r.Hooks.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"message:received":    {"What does it say?", "And now?"},
		"session:start":       {"main s ada"},
		"before_prompt_build": {"What does it say?", "And now?"},
		"llm:input":           {"openai/m 1 messages", "openai/m 3 messages", "openai/m 5 messages"},
		"llm:output":          {"1 calls", "It says hello.0 calls", "Again.0 calls"},
		"before_tool_call":    {`file_read{"path":"a.txt"}`},
		"after_tool_call":     {"file_read ok"},
		"message:sent":        {"It says hello.", "Again."},
		"session:end":         {"s"},
	} {
		if got := e.told[name]; !slices.Equal(got, want) {
			t.Errorf("%s: told %q, want %q", name, got, want)
		}
	}
}

// Before a turn hooks may add to the session context and narrow the tools; one
// that fails leaves only tools that read, and the person is told.
func TestHooksBeforeATurn(t *testing.T) {
	t.Parallel()
	var wish plugin.PromptWish
	var fails error
	r := hooked(t, func(a plugin.API) error {
		return plugin.On(a, plugin.BeforePromptBuild, func(context.Context, *plugin.Prompt) (plugin.PromptWish, error) { return wish, fails }, plugin.HookOptions{})
	}, fakellm.Text("one"), fakellm.Text("two"), fakellm.Calls(fakellm.Use("file_write", `{"path":"a.txt","content":"x"}`)), fakellm.Text("three"))
	tools := func(n int) string {
		var body struct {
			Tools []struct {
				Function struct {
					Name string `json:"name"`
				} `json:"function"`
			} `json:"tools"`
		}
		if err := json.Unmarshal(r.model.Requests()[n-1].Body, &body); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, offered := range body.Tools {
			names = append(names, offered.Function.Name)
		}
		return strings.Join(names, " ")
	}
	wish = plugin.PromptWish{Context: "It is raining.", ToolsAllow: plugin.Only("calc", "file_write", "invented")}
	r.say("s", "first")
	mustContain(t, "the first request", string(r.model.Requests()[0].Body), "It is raining.")
	if got := tools(1); got != "calc file_write" {
		t.Errorf("offered %s", got)
	}
	fails = errors.New("no network")
	got := r.say("s", "second")
	if strings.Contains(string(r.model.Requests()[1].Body), "raining") || strings.Contains(tools(2), "file_write") || !strings.Contains(tools(2), "calc") {
		t.Errorf("offered %s", tools(2))
	}
	if !slices.ContainsFunc(got.events, func(e agent.Event) bool {
		return e.Type == agent.Notice && e.Kind == "hook" && strings.Contains(e.Text, "failed: no network: this turn has only tools that read")
	}) || got.events[0].Type != agent.RunStarted {
		t.Errorf("told %+v", got.events[:2])
	}
	// What isn't offered is refused, and not told apart from what isn't there.
	r.say("s", "third")
	if text := r.results(4)[0].text(); !strings.Contains(text, `No tool "file_write" was offered`) {
		t.Errorf("the call is answered with %q", text)
	}
	// The other looks agree with what a turn is offered.
	look, err := r.Look(t.Context(), admin("s", "fourth"))
	if err != nil {
		t.Fatal(err)
	}
	sf, err := look.Agent.Engine.Offer(t.Context(), look.Scope, look.Target, look.State, look.Ask)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(sf.Removed, func(x tool.Removal) bool { return x.Tool == "file_write" })
	if i < 0 || sf.Removed[i].Layer != "hook" || sf.Removed[i].Rule != "failed" {
		t.Errorf("removed %+v", sf.Removed)
	}
}

// Lists of hooks that leave nothing end the run before a model is asked.
func TestHooksThatLeaveNoTool(t *testing.T) {
	t.Parallel()
	r := hooked(t, func(a plugin.API) error {
		return plugin.On(a, plugin.BeforePromptBuild, func(context.Context, *plugin.Prompt) (plugin.PromptWish, error) {
			return plugin.PromptWish{ToolsAllow: plugin.Only()}, nil
		}, plugin.HookOptions{Name: "nothing"})
	})
	got := r.say("s", "hello")
	if got.end.Type != agent.RunFailed || !strings.Contains(got.end.Text, "the tools that hooks allow (nothing (plugin hooks))") || len(r.model.Requests()) > 0 {
		t.Errorf("%s: %s", got.end.Type, got.end.Text)
	}
}

// A command that is stopped ends at once: an observer that still works is told to
// stop, and nothing else is cut short by it.
func TestClosingDoesNotWaitForObserversOfAStoppedCommand(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan error, 1)
	r := hooked(t, func(a plugin.API) error {
		return a.RegisterHook("message:sent", func(ctx context.Context, _ plugin.Event) error {
			close(begun)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return ctx.Err()
		}, plugin.HookOptions{Timeout: time.Hour})
	}, fakellm.Text("There."))
	r.say("s", "Go")
	<-begun
	going, err := r.Runner.Start(admin("other", "Go on"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Gateway.Close(ctx); err != nil {
		t.Errorf("it was not closed whole: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the observer ended with %v", err)
	}
	if _, _, over := going.End(); !over {
		t.Error("a run was left behind")
	}
	r.plugins = nil
	r.open() // for the rig to close
}
