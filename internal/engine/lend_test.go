package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"

	"github.com/goclaw/goclaw/internal/engine"
)

func TestLentTools(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, tool.Call, none) (string, error) { return "done", nil }
	lent := func(name, schema string) tool.Tool {
		return tool.New(tool.Definition{Name: name, Parameters: json.RawMessage(schema)}, nothing)
	}
	dialect := &jsonschema.Dialect{
		Name: "picky", Top: []string{"type", "properties"}, Below: []string{"type", "description", "properties"}, Properties: true,
	}
	b := set(t, []tool.Tool{reading("one", nothing)}, func(o *engine.Options) {
		o.Policies = deny("*")
		o.Dialects = func(llm.Target) *jsonschema.Dialect { return dialect }
	})
	b.scope.Run, b.scope.Cap, b.scope.Caller = "r", tool.Only(), user
	if _, err := b.Lend("r", lent("one", `{"type":"object"}`)); err == nil || !strings.Contains(err.Error(), "the name belongs to") {
		t.Errorf("a taken name: %v", err)
	}
	if _, err := b.Lend("r", lent("Bad", `{"type":"object"}`)); err == nil {
		t.Error("a bad name was lent")
	}
	revoke, err := b.Lend("r", lent("pair", `{"type":"object","properties":{}}`), lent("odd", `{"type":"array"}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second decision is remembered
		sf := b.offer()
		if got := tool.Names(sf.Offered); len(got) != 1 || got[0] != "pair" {
			t.Fatalf("offered %v", got)
		}
		removed := map[string]string{}
		for _, r := range sf.Removed {
			removed[r.Tool] = r.Layer
		}
		if removed["odd"] != "schema" || removed["one"] != "cap" {
			t.Errorf("removed %v", removed)
		}
	}
	other := b.scope
	other.Run = "another"
	if sf, err := b.Engine.Offer(t.Context(), tool.NewScope(other), model, tool.State{}, tool.Ask{}); err == nil || len(sf.Permitted) > 0 {
		t.Errorf("another run is offered %v", tool.Names(sf.Permitted))
	}
	sf := b.offer()
	call := []llm.ToolCall{{ID: "1", Name: "pair", Arguments: "{}"}}
	if o := b.Execute(t.Context(), sf, call, nil)[0]; o.Status != tool.OK {
		t.Errorf("got %s: %s", o.Status, llm.JoinText(o.Content))
	}
	revoke()
	if o := b.Execute(t.Context(), sf, call, nil)[0]; o.Status != tool.Refused || o.Refusal.Rule != "revoked" {
		t.Errorf("after the run: %s: %s", o.Status, llm.JoinText(o.Content))
	}
	if sf, err := b.Engine.Offer(t.Context(), tool.NewScope(b.scope), model, tool.State{}, tool.Ask{}); err == nil || len(sf.Permitted) > 0 {
		t.Errorf("after the run it is offered %v", tool.Names(sf.Permitted))
	}
}

// A lent tool's calls pass what every call passes: rules, people, cleaned
// paths, and the handlers that change what is kept. Nothing of one run's tool is
// an answer for another's.
func TestLentToolsPassEveryStep(t *testing.T) {
	t.Parallel()
	var asked []string
	bus := hooked(t,
		decides("rule", 1, func(_ context.Context, c *hook.Call) (hook.Verdict, error) {
			if strings.Contains(string(c.Args), `"secret"`) {
				return hook.Verdict{Block: &tool.Refusal{Reason: "It is secret."}}, nil
			}
			return hook.Verdict{Ask: &hook.Ask{Reason: "May it?"}}, nil
		}),
		func(b *hook.Bus) {
			f := func(_ context.Context, _ *hook.Call, r tool.Result) (tool.Result, error) {
				r.Content[0].Text = strings.ReplaceAll(r.Content[0].Text, "hunter2", "***")
				return r, nil
			}
			if err := b.On(tool.Owner{Kind: tool.PluginOwner, ID: "mask"}, "tool_result_persist", f, hook.Options{}); err != nil {
				panic(err)
			}
		})
	b := set(t, nil, bus, caching(newCache()), func(o *engine.Options) {
		o.Policies = deny("*")
		o.Approve = func(_ context.Context, r approval.Request, _ func(tool.Approval)) tool.Approval {
			asked = append(asked, r.Tool+string(r.Args))
			if strings.Contains(string(r.Args), "never") {
				return tool.Approval{Status: tool.ApprovalDenied, By: "ann"}
			}
			return tool.Approval{Status: tool.ApprovalAllowed, By: "ann"}
		}
	})
	for _, run := range []string{"one", "two"} {
		b.scope.Run = run
		revoke, err := b.Lend(run, file("step", tool.Traits{ReadOnly: true, Cacheable: true}, func(_ context.Context, _ tool.Call, in path) (string, error) {
			return run + " read hunter2 of " + in.Path, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ args, status, text string }{
			{`{"path":"a"}`, "ok", run + " read *** of a"},
			{`{"path":"./b/../secret"}`, "refused", "It is secret."},
			{`{"path":"never"}`, "refused", ""},
			{`{"path":"../a"}`, "refused", "leads out of the workspace"},
			{`{"file":"a"}`, "invalid", "file"},
		} {
			o := b.run(t.Context(), call("step", c.args))[0]
			if string(o.Status) != c.status || !strings.Contains(text(o), c.text) || o.Cached {
				t.Errorf("%s: %s: %s", c.args, o.Status, text(o))
			}
		}
		b.state.Plan = true
		if o := b.run(t.Context(), call("step", `{"path":"a"}`))[0]; o.Status != tool.OK {
			t.Errorf("plan mode keeps a tool that reads away: %s", text(o))
		}
		b.state.Plan = false
		revoke()
	}
	if want := `step{"path":"a"} step{"path":"never"} step{"path":"a"}`; strings.Join(asked, " ") != want+" "+want {
		t.Errorf("asked about %v", asked)
	}
}

// A name is lent once, and stands for one tool whatever comes into the registry.
func TestLentNamesAreNeverDoubled(t *testing.T) {
	t.Parallel()
	one := func(text string) tool.Tool {
		return tool.New(tool.Definition{Name: "step", Traits: tool.Traits{ReadOnly: true}}, func(context.Context, tool.Call, none) (string, error) { return text, nil })
	}
	var registry *tool.Registry
	b := set(t, nil, func(o *engine.Options) { registry = o.Registry })
	b.scope.Run = "r"
	revoke, err := b.Lend("r", one("lent"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Lend("r", one("again")); err == nil || !strings.Contains(err.Error(), "step is lent to it already") {
		t.Errorf("lent twice: %v", err)
	}
	if _, err := b.Lend("r", one("x"), one("x")); err == nil {
		t.Error("two of a name were lent at once")
	}
	registry.Add(tool.Owner{Kind: tool.PluginOwner, ID: "p"}, one("the plugin's"))
	sf := b.offer()
	if got := tool.Names(sf.Offered); len(got) != 1 {
		t.Errorf("offered %v", got)
	}
	if o := b.run(t.Context(), call("step", "{}"))[0]; text(o) != "lent" {
		t.Errorf("got %s", text(o))
	}
	revoke()
	if o := b.run(t.Context(), call("step", "{}"))[0]; text(o) != "the plugin's" {
		t.Errorf("got %s", text(o))
	}
}

// Whoever brings a tool can't have it pass where only ours do.
func TestForeignMarksOpenNothing(t *testing.T) {
	t.Parallel()
	var registry *tool.Registry
	b := set(t, nil, func(o *engine.Options) { registry = o.Registry })
	registry.Add(tool.Owner{Kind: tool.PluginOwner, ID: "p"}, tool.New(tool.Definition{Name: "sly", Traits: tool.Traits{Internal: true, Core: true}}, func(context.Context, tool.Call, none) (string, error) { return "wrote", nil }))
	b.state.Plan = true
	if o := b.run(t.Context(), call("sly", "{}"))[0]; o.Status != tool.Refused || o.Refusal.Rule != "plan_mode" {
		t.Errorf("in plan mode: %s: %s", o.Status, text(o))
	}
	b.state.Plan = false
	b.scope.Declared = tool.Only("other")
	if sf, err := b.Engine.Offer(t.Context(), tool.NewScope(b.scope), model, tool.State{}, tool.Ask{}); err == nil || len(sf.Permitted) > 0 {
		t.Errorf("a step that declares others has %v", tool.Names(sf.Permitted))
	}
}
