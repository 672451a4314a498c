package host_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/extend/host"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/plugin"
)

func named(name string) plugin.Tool {
	return plugin.NewTool(plugin.Definition{Name: name, Description: "Does nothing."}, func(context.Context, plugin.Call, struct{}) (string, error) {
		return "", nil
	})
}

func TestRegistrationsAreHeldAgainstTheManifest(t *testing.T) {
	t.Parallel()
	h := host.New(slog.New(slog.DiscardHandler), nil)
	err := h.Load(
		plugin.Plugin{
			Manifest: plugin.Manifest{ID: "good", Version: "1.0", Tools: []string{"good_one", "good_two"}},
			Register: func(a plugin.API) error {
				if err := a.RegisterTool(named("good_one")); err != nil {
					t.Error(err)
				}
				if err := a.RegisterTool(named("sneaky")); err == nil {
					t.Error("a tool that the manifest lacks was registered")
				}
				return nil
			},
		},
		plugin.Plugin{Manifest: plugin.Manifest{ID: "broken", Tools: []string{"broken_one"}}, Register: func(plugin.API) error { panic("no") }},
		plugin.Plugin{Manifest: plugin.Manifest{ID: "good"}, Register: func(plugin.API) error { return nil }},
		plugin.Plugin{Manifest: plugin.Manifest{ID: "Bad Id"}},
	)
	for _, want := range []string{"plugin broken: panic: no", "plugin good: a plugin of this id is there", `plugin Bad Id: the id "Bad Id"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %q doesn't say %q", err, want)
		}
	}

	r := tool.NewRegistry()
	r.Add(tool.Owner{Kind: tool.FamilyOwner, ID: "files"}, named("file_read"))
	h.Join(r)
	c := r.Catalog()
	if len(c.Entries) != 2 || c.Entries[1].Owner.String() != "plugin good 1.0" {
		t.Errorf("registered: %v", tool.Names(c.Entries))
	}
	notes := map[string]string{}
	for _, n := range c.Notes {
		notes[n.Tool] += n.State + ": " + n.Reason
	}
	for name, want := range map[string]string{"sneaky": "registered: the plugin's manifest", "good_two": "registered: the manifest names it", "broken_one": "registered: its plugin could not be loaded: panic: no", "": "the plugin could not be loaded: a plugin of this id"} {
		if !strings.Contains(notes[name], want) {
			t.Errorf("the note on %q is %q, want %q", name, notes[name], want)
		}
	}
}

// A plugin that fails after it registered who decides about calls lets none
// through, with words that name it; its observers are gone.
func TestAPluginThatFailsGuardsOn(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	bus := hook.New(log)
	h := host.New(log, bus)
	err := h.Load(plugin.Plugin{Manifest: plugin.Manifest{ID: "guard"}, Register: func(a plugin.API) error {
		if err := plugin.On(a, plugin.BeforeToolCall, func(context.Context, *plugin.HookCall) (plugin.Verdict, error) {
			t.Error("it is asked")
			return plugin.Verdict{}, nil
		}, plugin.HookOptions{}); err != nil {
			return err
		}
		if err := a.RegisterHook("before_tool_call", func(context.Context, plugin.Event) error { t.Error("it is told"); return nil }, plugin.HookOptions{}); err != nil {
			return err
		}
		return errors.New("no licence")
	}}, plugin.Plugin{Manifest: plugin.Manifest{ID: "early"}, Register: func(plugin.API) error { return errors.New("no") }})
	if err == nil || !strings.Contains(err.Error(), "plugin guard: no licence; what its hooks have to let through is refused") || !strings.Contains(err.Error(), "plugin early: no") {
		t.Errorf("loading says %v", err)
	}
	d, err := bus.Before(t.Context(), hook.Call{Tool: "shell", Args: []byte("{}")}, nil)
	if err != nil || d.Block == nil || !strings.Contains(d.Block.Error(), "The hook plugin guard, which has to let such calls through, can't be asked, since its plugin could not be loaded (an administrator finds the reason with goclaw hooks list); nothing ran.") ||
		strings.Contains(d.Block.Error()+d.Note, "licence") || strings.Contains(d.Block.Error(), "may pass later") {
		t.Errorf("got %v (%v)", d.Block, err)
	}
	if all := bus.Handlers(); len(all) != 1 || all[0].Broken != "no licence" || all[0].Error != "no licence" {
		t.Errorf("admins hear %+v", all)
	}
	h.Withdraw("guard")
	if d, err := bus.Before(t.Context(), hook.Call{Tool: "shell", Args: []byte("{}")}, nil); err != nil || d.Block != nil {
		t.Errorf("a plugin that was withdrawn: %v (%v)", d.Block, err)
	}
	if err := bus.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAToolThatCantBeOneIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	h := host.New(slog.New(slog.DiscardHandler), nil)
	if err := h.Load(plugin.Plugin{
		Manifest: plugin.Manifest{ID: "bad", Tools: []string{"Bad_Name", "bad_schema", "twice"}},
		Register: func(a plugin.API) error {
			for name, bad := range map[string]plugin.Tool{
				"name":   named("Bad_Name"),
				"schema": plugin.NewTool(plugin.Definition{Name: "bad_schema", Parameters: []byte(`{"type":"objekt"}`)}, func(context.Context, plugin.Call, struct{}) (string, error) { return "", nil }),
			} {
				if err := a.RegisterTool(bad); err == nil {
					t.Errorf("a bad %s was registered", name)
				}
			}
			if err := a.RegisterTool(named("twice")); err != nil {
				t.Error(err)
			}
			if err := a.RegisterTool(named("twice")); err == nil {
				t.Error("a tool was registered twice")
			}
			return nil
		},
	}); err != nil {
		t.Fatal(err)
	}
	r := tool.NewRegistry()
	h.Join(r)
	if names := tool.Names(r.Catalog().Entries); !slices.Equal(names, []string{"twice"}) {
		t.Errorf("registered: %v", names)
	}
}

func TestAPluginNeverReplacesABuiltInTool(t *testing.T) {
	t.Parallel()
	h := host.New(slog.New(slog.DiscardHandler), nil)
	if err := h.Load(plugin.Plugin{
		Manifest: plugin.Manifest{ID: "thief", Tools: []string{"file_read"}},
		Register: func(a plugin.API) error { return a.RegisterTool(named("file_read")) },
	}); err != nil {
		t.Fatal(err)
	}
	for _, pluginFirst := range []bool{true, false} {
		r := tool.NewRegistry()
		builtin := func() { r.Add(tool.Owner{Kind: tool.FamilyOwner, ID: "files"}, named("file_read")) }
		if pluginFirst {
			h.Join(r)
			builtin()
		} else {
			builtin()
			h.Join(r)
		}
		c := r.Catalog()
		if len(c.Entries) != 1 || c.Entries[0].Owner.Kind != tool.FamilyOwner || len(c.Notes) != 1 || c.Notes[0].Owner.ID != "thief" {
			t.Errorf("plugin first %v: %v owned by %v, notes %+v", pluginFirst, tool.Names(c.Entries), c.Entries[0].Owner, c.Notes)
		}
	}
}

// A plugin's hooks join the dispatcher in its name, a wrong one is refused with
// what was wanted, and they go with the plugin.
func TestHooks(t *testing.T) {
	t.Parallel()
	bus := hook.New(slog.New(slog.DiscardHandler))
	h := host.New(slog.New(slog.DiscardHandler), bus)
	var kept plugin.API
	decide := func(context.Context, *plugin.HookCall) (plugin.Verdict, error) {
		return plugin.Verdict{Block: &plugin.Refusal{Reason: "no"}}, nil
	}
	err := h.Load(
		plugin.Plugin{Manifest: plugin.Manifest{ID: "good", Tools: []string{"good_one"}}, Register: func(a plugin.API) error {
			kept = a
			if err := a.On("before_tool_call", func() {}, plugin.HookOptions{}); err == nil || !strings.Contains(err.Error(), "takes a func(context.Context, *hook.Call) (hook.Verdict, error), not a func()") {
				t.Errorf("a handler of another type: %v", err)
			}
			if err := a.RegisterHook("llm:inputs", func(context.Context, plugin.Event) error { return nil }, plugin.HookOptions{}); err == nil {
				t.Error("an event that there is none of was taken")
			}
			return errors.Join(
				a.RegisterTool(named("good_one")),
				plugin.On(a, plugin.BeforeToolCall, decide, plugin.HookOptions{Priority: 3}),
				a.On(plugin.AfterToolCall.Name(), func(context.Context, *plugin.HookCall, *plugin.Outcome) error { return nil }, plugin.HookOptions{}),
				a.RegisterHook("llm:input", func(context.Context, plugin.Event) error { return nil }, plugin.HookOptions{}),
			)
		}},
		plugin.Plugin{Manifest: plugin.Manifest{ID: "half"}, Register: func(a plugin.API) error {
			return errors.Join(plugin.On(a, plugin.BeforeToolCall, decide, plugin.HookOptions{}), errors.New("no"))
		}},
		// Half a plugin leaves nothing behind but what it was to stop, and takes nothing of another's along.
		plugin.Plugin{Manifest: plugin.Manifest{ID: "good"}, Register: func(plugin.API) error { return errors.New("never asked") }},
	)
	if err == nil || !strings.Contains(err.Error(), "plugin half: no") {
		t.Errorf("got %v", err)
	}
	var hooks []string
	for _, i := range bus.Handlers() {
		hooks = append(hooks, i.Hook+" of "+i.Source)
	}
	if want := []string{"after_tool_call of plugin good", "before_tool_call of plugin good", "before_tool_call of plugin half", "llm_input of plugin good"}; !slices.Equal(hooks, want) {
		t.Errorf("registered %q", hooks)
	}
	if err := plugin.On(kept, plugin.BeforeToolCall, decide, plugin.HookOptions{}); err == nil {
		t.Error("a handler was registered when Register had returned")
	}
	h.Withdraw("good")
	h.Withdraw("half")
	r := tool.NewRegistry()
	h.Join(r)
	if n := len(bus.Handlers()) + len(r.Catalog().Entries); n != 0 {
		t.Errorf("%d things of a plugin that was withdrawn are there", n)
	}
}
