package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

const (
	maxDepth    = 8      // of calls that tools make
	maxOwn      = 10_000 // calls that one call makes
	maxProgress = 500    // bytes of a word about how far a call is
	maxNested   = 100    // approvals of its calls that a call's outcome tells
	maxKept     = 200    // of its calls that a call's outcome tells in short
)

// host is lent to one call. It implements [tool.Host] and keeps what the
// call's own calls did. After the call has ended it does nothing any more.
type host struct {
	eng  *Engine
	inv  *invocation
	id   string // of the call
	tell func(tool.Event)
	// running ends with the call's code, its time or its run, and clock is that
	// of its time limit; nil where it can't stand still. Both are set before the
	// tool runs.
	running context.Context
	clock   *clock

	mu    sync.Mutex
	over  bool
	calls int
	state tool.State // with the effects of the calls that ended
	did   did
	open  map[string]tool.Outcome // by id: calls that run and are recorded, in short
}

// did is what the calls of a call did, which counts as its own.
type did struct {
	effects []tool.Effect
	changed []tool.Effect // of those, what calls did that changed something
	touches []tool.Touch
	asked   []tool.Approval // what people were asked about them
	own     []tool.Outcome  // they themselves, in short
}

// Progress tells whoever watches how far the call is.
func (h *host) Progress(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.tell(tool.Event{Type: tool.Progress, Text: cut(text, maxProgress)})
	}
}

// Permitted lists what the scope may use.
func (h *host) Permitted() []tool.Definition {
	var defs []tool.Definition
	for _, e := range h.inv.surface.Permitted {
		if selection.Hidden(e) == "" {
			defs = append(defs, e.Def)
		}
	}
	return defs
}

// Withheld lists what the caller's role keeps away.
func (h *host) Withheld() []tool.Removal { return surface.Withheld(h.inv.surface.Removed) }

// Resolve finds the tool that a call of this name would run.
func (h *host) Resolve(name string) (tool.Definition, error) {
	inv := &invocation{
		surface: h.inv.surface, from: h.inv.surface.Permitted, depth: h.inv.depth + 1,
		out: &tool.Outcome{Call: llm.ToolCall{Name: name}},
	}
	// Neither step waits for anything.
	if ctx := context.Background(); resolve(ctx, inv) && offered(ctx, inv) {
		return inv.entry.Def, nil
	}
	return tool.Definition{}, inv.out.Refusal
}

// Search finds permitted tools as search_tools does.
func (h *host) Search(query string, most int) tool.Found {
	h.mu.Lock()
	state := h.state
	h.mu.Unlock()
	return h.eng.selector.Search(h.eng.registry.Catalog(), tool.Call{Scope: h.inv.surface.Scope, State: state, Host: h}, query, most)
}

// Call runs another tool under the same scope and waits for it. A tool that
// waits holds no worker, so its calls take one each; any other tool's calls run
// on the worker that it holds already, and so are never put to people. It ends
// with ctx, and with the call that the host was lent to, whatever ctx is.
func (h *host) Call(ctx context.Context, name string, args json.RawMessage) tool.Outcome {
	h.mu.Lock()
	h.calls++
	call := llm.ToolCall{ID: fmt.Sprintf("%s/%d", h.id, h.calls), Name: name, Arguments: string(args)}
	over, many, state := h.over, h.calls > maxOwn, h.state
	h.mu.Unlock()

	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(h.running, func() { end(context.Cause(h.running)) })()
	asked := 0 // people who have not answered yet
	b := newBatch(h.eng, h.inv.surface, h.inv.surface.Permitted, []llm.ToolCall{call}, func(e tool.Event) {
		switch e.Type {
		case tool.Asked:
			asked++
			h.clock.hold()
		case tool.Answered:
			asked--
			h.clock.release()
		}
		h.report(e)
	})
	inv := &b.slots[0].invocation
	inv.depth, inv.state = h.inv.depth+1, state
	if inv.holder = h.inv.holder; inv.holder == "" && !h.inv.entry.Def.Waits {
		inv.holder = h.inv.out.Tool
	}
	inv.root = h.inv.root.under(h)
	b.base = state
	switch {
	case over:
		inv.end(tool.Cancelled, "Stopped: the call that asked for this one has ended, so nothing ran.")
		b.finish(inv)
	case many:
		inv.refuse(&tool.Refusal{Rule: "calls", Reason: fmt.Sprintf("A call makes at most %d calls of its own, so nothing ran.", maxOwn)})
		b.finish(inv)
	case inv.depth > maxDepth:
		inv.refuse(&tool.Refusal{Rule: "depth", Reason: fmt.Sprintf("Calls of tools nest at most %d deep, so nothing ran.", maxDepth)})
		b.finish(inv)
	case h.inv.entry.Def.Waits:
		b.run(ctx)
	default:
		b.runHere(ctx)
	}

	for range asked { // a step broke before they answered
		h.clock.release()
	}

	out := b.outcomes[0]
	for _, above := range inv.root.by {
		above.ended(call.ID)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.state = h.state.Apply(out.Effects...)
		h.did.add(&out, inv.changed)
	}
	return out
}

// add takes in what became of a call, and what it changed.
func (d *did) add(out *tool.Outcome, changed []tool.Effect) {
	d.effects = append(d.effects, out.Effects...)
	d.changed = append(d.changed, changed...)
	d.touches = gather(append(d.touches, out.Touches...), maxTouches)
	if a := out.Approval; a != nil {
		whole := *a
		whole.Args = out.Args
		d.asked = append(d.asked, whole)
	}
	d.asked = append(d.asked, out.Nested...)
	d.asked = d.asked[:min(len(d.asked), maxNested)]
	d.own = append(append(d.own, out.Own...), out.Short())
	if len(d.own) >= 2*maxKept { // not at each
		d.own = slices.Clone(d.own[len(d.own)-maxKept:])
	}
}

// report passes on, as its caller's, how far a call is and that a person is
// asked about it.
func (h *host) report(e tool.Event) {
	switch e.Type {
	case tool.Progress:
		h.Progress(e.Text)
	case tool.Asked, tool.Answered:
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.over {
			h.tell(e)
		}
	}
}

// end closes the host and returns what its calls did.
func (h *host) end() did {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	d := h.did
	for _, id := range slices.Sorted(maps.Keys(h.open)) {
		o := h.open[id]
		o.Status, o.Ended = tool.Cancelled, time.Now()
		o.Content = []llm.Part{llm.Text("The call that made this one ended while it ran. What it did stands.")}
		d.own = append(d.own, o)
	}
	h.open = nil
	d.own = d.own[max(len(d.own)-maxKept, 0):]
	d.effects, d.changed = tool.Coalesce(d.effects), tool.Coalesce(d.changed)
	return d
}
