package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/plugin"
)

// points are the checkpoints by their typed names, with the name of the event,
// and what a handler is given in a run that reads a file. Those that nothing
// comes to yet have the reason.
var points = map[string]struct {
	event string
	given []string // once for each time, in order
	yet   string
}{
	"gateway_start":       {event: "gateway:start", given: []string{"test"}},
	"message_received":    {event: "message:received", given: []string{"main s ada: What does it say?"}},
	"session_start":       {event: "session:start", given: []string{"main s ada chat"}},
	"before_prompt_build": {event: "before_prompt_build", given: []string{"main s ada: What does it say?"}},
	"llm_input":           {event: "llm:input", given: []string{"openai/m 1 messages with tools", "openai/m 3 messages with tools"}},
	"llm_output":          {event: "llm:output", given: []string{"openai/m 1 calls, tool_calls", "openai/m 0 calls, stop"}},
	"before_tool_call":    {event: "before_tool_call", given: []string{`main s ada: file_read{"path":"a.txt"} by family files, touches [{file:a.txt false}]`}},
	"after_tool_call":     {event: "after_tool_call", given: []string{`file_read{"path":"a.txt"} ok: hello with details`}},
	"tool_result_persist": {event: "tool_result_persist", given: []string{`file_read{"path":"a.txt"}: hello with details`}},
	"message_sent":        {event: "message:sent", given: []string{"main s ada: It says hello."}},
	"session_end":         {event: "session:end", given: []string{"main s ada chat"}},
	"gateway_stop":        {event: "gateway:stop", given: []string{"test"}},
	"message_sending":     {event: "message:sending", yet: "there are no channels: answers are read, not sent"},
	"before_install":      {event: "before_install", yet: "nothing can be installed"},
}

// what is given, in short; it holds every field that the point promises.
func what(t *testing.T, given any) string {
	who := func(s interface {
		Agent() string
		Session() string
	}, caller string,
	) string {
		return s.Agent() + " " + s.Session() + " " + caller
	}
	result := func(content []plugin.Part, details any) string {
		text := strings.TrimSpace(content[0].Text)
		if raw, ok := details.(json.RawMessage); ok && json.Valid(raw) {
			text += " with details"
		}
		return text
	}
	switch v := given.(type) {
	case *plugin.Gateway:
		if !strings.HasPrefix(v.Address, "127.0.0.1:") {
			t.Errorf("the address is %q", v.Address)
		}
		return v.Version
	case *plugin.Message:
		if v.Message.Text() != v.Text {
			t.Errorf("%q is told as %q", v.Message.Text(), v.Text)
		}
		return who(v.Scope, v.Scope.Caller().ID) + ": " + v.Text
	case *plugin.Session:
		return v.Agent + " " + v.ID + " " + v.Caller.ID + " " + string(v.Origin)
	case *plugin.Prompt:
		return who(v.Scope, v.Scope.Caller().ID) + ": " + v.Message.Text()
	case *plugin.ModelInput:
		if len(v.System) == 0 || !slices.Contains(v.Tools, "file_read") {
			t.Errorf("a request has %d parts of the system prompt and the tools %v", len(v.System), v.Tools)
		}
		return fmt.Sprintf("%s %d messages with tools", v.Target, len(v.Messages))
	case *plugin.ModelOutput:
		if v.Cached || v.Took <= 0 {
			t.Errorf("an answer took %v; cached: %v", v.Took, v.Cached)
		}
		return fmt.Sprintf("%s %d calls, %s", v.Target, len(v.Message.Calls()), v.Finish)
	case *plugin.HookCall:
		if v.ID == "" || v.Def.Name != v.Tool {
			t.Errorf("a call is %q of %q", v.ID, v.Def.Name)
		}
		return fmt.Sprintf("%s: %s%s by %s, touches %v", who(v.Scope, v.Scope.Caller().ID), v.Tool, v.Args, v.Owner, v.Touches)
	case *plugin.CallEnded:
		if v.Outcome.Ended.Before(v.Outcome.Started) || v.Outcome.Started.IsZero() {
			t.Errorf("a call took from %v to %v", v.Outcome.Started, v.Outcome.Ended)
		}
		return fmt.Sprintf("%s%s %s: %s", v.Call.Tool, v.Call.Args, v.Outcome.Status, result(v.Outcome.Content, v.Outcome.Details))
	case *plugin.CallReturned:
		return fmt.Sprintf("%s%s: %s", v.Call.Tool, v.Call.Args, result(v.Result.Content, v.Result.Details))
	}
	t.Errorf("given a %T", given)
	return ""
}

// Every point is come to at its time, for handlers of both registries, with
// what it promises.
func TestEveryPoint(t *testing.T) {
	t.Parallel()
	var typed, observed events
	r := hooked(t, func(a plugin.API) error {
		err := a.On("?", nil, plugin.HookOptions{})
		_, names, _ := strings.Cut(err.Error(), "there are ")
		if all := strings.Split(names, ", "); !slices.Equal(slices.Sorted(slices.Values(all)), slices.Sorted(maps.Keys(points))) {
			t.Errorf("the points are %v", all)
		}
		for name, p := range points {
			if err := a.RegisterHook(p.event, func(_ context.Context, e plugin.Event) error {
				observed.add(name, what(t, e.Data))
				return nil
			}, plugin.HookOptions{}); err != nil {
				return err
			}
		}
		return onAll(a, func(name string, given any) { typed.add(name, what(t, given)) })
	}, fakellm.Calls(fakellm.Use("file_read", `{"path":"./x/../a.txt"}`)), fakellm.Text("It says hello."))
	s := r.serve(gateway.ServeOptions{})
	r.write("a.txt", "hello\n")
	r.say("s", "What does it say?")
	if err := r.DeleteSession(t.Context(), session.Key{Agent: "main", ID: "s"}); err != nil {
		t.Fatal(err)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if err := r.Hooks.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, p := range points {
		for front, e := range map[string]*events{"typed handlers": &typed, "observers": &observed} {
			if got := e.told[name]; !slices.Equal(got, p.given) {
				t.Errorf("%s of %s are given %q, want %q", front, name, got, p.given)
			}
		}
		if (p.yet == "") != (len(p.given) > 0) {
			t.Errorf("%s has no reason why nothing comes to it", name)
		}
	}
}

// onAll registers a handler of every typed hook that changes nothing.
func onAll(a plugin.API, tell func(name string, given any)) error {
	observe := func(name string, of reflect.Type) any {
		return reflect.MakeFunc(of, func(in []reflect.Value) []reflect.Value {
			tell(name, in[1].Interface())
			out := make([]reflect.Value, of.NumOut())
			for i := range out {
				out[i] = reflect.Zero(of.Out(i))
			}
			return out
		}).Interface()
	}
	for name, of := range map[string]reflect.Type{
		"before_prompt_build": reflect.TypeFor[func(context.Context, *plugin.Prompt) (plugin.PromptWish, error)](),
		"before_tool_call":    reflect.TypeFor[func(context.Context, *plugin.HookCall) (plugin.Verdict, error)](),
		"message_sending":     reflect.TypeFor[func(context.Context, *plugin.Message) (plugin.SendWish, error)](),
		"before_install":      reflect.TypeFor[func(context.Context, *plugin.Install) (plugin.InstallWish, error)](),
		"llm_input":           reflect.TypeFor[plugin.Observer[*plugin.ModelInput]](),
		"llm_output":          reflect.TypeFor[plugin.Observer[*plugin.ModelOutput]](),
		"message_received":    reflect.TypeFor[plugin.Observer[*plugin.Message]](),
		"message_sent":        reflect.TypeFor[plugin.Observer[*plugin.Message]](),
		"session_start":       reflect.TypeFor[plugin.Observer[*plugin.Session]](),
		"session_end":         reflect.TypeFor[plugin.Observer[*plugin.Session]](),
		"gateway_start":       reflect.TypeFor[plugin.Observer[*plugin.Gateway]](),
		"gateway_stop":        reflect.TypeFor[plugin.Observer[*plugin.Gateway]](),
	} {
		if err := a.On(name, observe(name, of), plugin.HookOptions{}); err != nil {
			return err
		}
	}
	if err := plugin.On(a, plugin.AfterToolCall, func(_ context.Context, c *plugin.HookCall, o *plugin.Outcome) error {
		tell("after_tool_call", &plugin.CallEnded{Call: c, Outcome: o})
		return nil
	}, plugin.HookOptions{}); err != nil {
		return err
	}
	return plugin.On(a, plugin.ToolResultPersist, func(_ context.Context, c *plugin.HookCall, r plugin.Result) (plugin.Result, error) {
		tell("tool_result_persist", &plugin.CallReturned{Call: c, Result: r})
		return r, nil
	}, plugin.HookOptions{})
}
