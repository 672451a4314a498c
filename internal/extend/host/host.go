// Package host gives compiled-in plugins their API and keeps what each of them
// brought; their hooks it hands to the dispatcher. It checks every registration
// against the plugin's manifest, in both directions, and fails closed: a tool
// that the manifest lacks is refused, a tool that was promised and never
// registered is noted in the registry, where explaining finds it.
//
// A [Host] holds nothing open. [Host.Load] runs each plugin's Register once, a
// panic in it costs only that plugin.
//
// Start reading at [Host.Load].
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/plugin"
)

// Host keeps what plugins brought.
type Host struct {
	log    *slog.Logger
	bus    *hook.Bus
	loaded []loaded
}

type loaded struct {
	manifest  plugin.Manifest
	tools     []tool.Tool
	notes     []tool.Note
	withdrawn bool
}

func (l *loaded) owner() tool.Owner {
	return tool.Owner{Kind: tool.PluginOwner, ID: l.manifest.ID, Version: l.manifest.Version}
}

// isID reports whether id is 1 to 64 lower-case letters, digits and dashes and
// begins with a letter.
func isID(id string) bool {
	if id == "" || len(id) > 64 || id[0] < 'a' || id[0] > 'z' {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// New returns a host without plugins, whose hooks join bus. A nil bus is for who
// runs nothing: hooks are checked then, and never asked.
func New(log *slog.Logger, bus *hook.Bus) *Host {
	if bus == nil {
		bus = hook.New(log)
	}
	return &Host{log: log, bus: bus}
}

// Load registers plugins in order. The error joins what went wrong with each;
// the others are loaded all the same.
func (h *Host) Load(plugins ...plugin.Plugin) error {
	var errs []error
	for _, p := range plugins {
		if err := h.load(p); err != nil {
			errs = append(errs, fmt.Errorf("plugin %s: %w", p.Manifest.ID, err))
		}
	}
	return errors.Join(errs...)
}

func (h *Host) load(p plugin.Plugin) error {
	m := p.Manifest
	a := &api{log: h.log.With("plugin", m.ID), bus: h.bus, loaded: loaded{manifest: m}}
	err := h.refuse(p)
	if err == nil {
		err = a.register(p.Register)
	}
	if err != nil {
		// Half a plugin is worse than none, but whom it was to stop still is.
		a.tools = nil
		if a.asked && h.bus.Fail(tool.PluginOwner, m.ID, err) > 0 {
			err = fmt.Errorf("%w; what its hooks have to let through is refused until it can be loaded", err)
		}
		a.note("", "the plugin could not be loaded: "+err.Error(), "correct the plugin")
	}
	for _, name := range m.Tools {
		switch {
		case err != nil:
			a.note(name, "its plugin could not be loaded: "+err.Error(), "correct the plugin")
		case !a.brought(name):
			a.note(name, "the manifest names it, but the plugin never registered it", "correct the plugin, or its manifest")
		}
	}
	h.loaded = append(h.loaded, a.loaded)
	return err
}

// refuse says why a plugin is not even asked to register.
func (h *Host) refuse(p plugin.Plugin) error {
	id := p.Manifest.ID
	switch {
	case !isID(id):
		return fmt.Errorf("the id %q is not lower-case letters, digits and dashes", id)
	case slices.ContainsFunc(h.loaded, func(l loaded) bool { return l.manifest.ID == id }):
		return errors.New("a plugin of this id is there already")
	case p.Register == nil:
		return errors.New("it has no Register")
	}
	return nil
}

// Withdraw takes back all that a plugin brought: its hooks are asked no more,
// and registries get none of its tools. Those that have them already give them
// back by their own Withdraw.
func (h *Host) Withdraw(id string) {
	h.bus.Withdraw(tool.PluginOwner, id)
	for i := range h.loaded {
		if h.loaded[i].manifest.ID == id {
			h.loaded[i].withdrawn = true
		}
	}
}

// Join adds what the plugins brought to a registry.
func (h *Host) Join(r *tool.Registry) {
	for _, l := range h.loaded {
		if l.withdrawn {
			continue
		}
		r.Add(l.owner(), l.tools...)
		for _, n := range l.notes {
			r.Note(n)
		}
	}
}

// api implements [plugin.API] for one plugin.
type api struct {
	loaded
	log    *slog.Logger
	bus    *hook.Bus
	closed bool
	asked  bool // Register was called, so that what it brought is the plugin's own
}

func (a *api) register(f func(plugin.API) error) (err error) {
	defer func() {
		a.closed = true
		if v := recover(); v != nil {
			a.log.Error("a plugin panicked while it registered", "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	a.asked = true
	return f(a)
}

func (a *api) RegisterTool(t plugin.Tool) error {
	if a.closed {
		return fmt.Errorf("register a tool: %w", errOver)
	}
	name := t.Definition().Name
	switch {
	case !slices.Contains(a.manifest.Tools, name):
		a.note(name, "the plugin's manifest doesn't name it", "add it to the manifest's tools")
		return fmt.Errorf("register the tool %s: the manifest doesn't name it", name)
	case a.brought(name):
		return fmt.Errorf("register the tool %s: it is registered already", name)
	}
	// Whether an agent has a tool of that name already is known when it gets
	// its tools; whether this one could be one at all is known now.
	for _, n := range tool.NewRegistry().Add(a.owner(), t) {
		return fmt.Errorf("register the tool %s: %s", name, n.Reason)
	}
	a.tools = append(a.tools, t)
	return nil
}

// errOver says that Register has returned.
var errOver = errors.New("its time to register is over")

func (a *api) On(name string, handler any, o plugin.HookOptions) error {
	if a.closed {
		return fmt.Errorf("register a handler: %w", errOver)
	}
	return a.bus.On(a.owner(), name, handler, o)
}

func (a *api) RegisterHook(name string, observer func(context.Context, plugin.Event) error, o plugin.HookOptions) error {
	if a.closed {
		return fmt.Errorf("register an observer: %w", errOver)
	}
	_, err := a.bus.Watch(a.owner(), name, observer, o)
	return err
}

// brought reports whether the plugin has registered a tool of that name.
func (a *api) brought(name string) bool {
	return slices.ContainsFunc(a.tools, func(t tool.Tool) bool { return t.Definition().Name == name })
}

func (a *api) Logger() *slog.Logger { return a.log }

// note tells why a tool of the plugin, or the plugin itself, is not registered.
func (a *api) note(name, reason, fix string) {
	a.notes = append(a.notes, tool.Note{Tool: name, Owner: a.owner(), State: "registered", Reason: reason, Fix: fix})
}
