package engine

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/goclaw/goclaw/internal/engine/owner"
	"github.com/goclaw/goclaw/internal/tool"
)

// Lend binds tools of the host to one run, as a flow that sets something up
// needs them: they are offered whatever policies say, pinned, and still pass the
// schema layer and all hooks. Nothing that a plugin registers or a hook returns
// comes this way.
//
// What is returned takes them back, when the run settles: references that
// somebody kept refuse from then on. The error says that a tool is unusable, or
// has the name of one that the agent has, or that was lent to the run before.
func (e *Engine) Lend(run string, tools ...tool.Tool) (revoke func(), err error) {
	cat, own := e.registry.Catalog(), tool.NewRegistry()
	handles := make([]*handle, len(tools))
	for i, t := range tools {
		h := &handle{Tool: t, def: t.Definition()}
		h.def.Core = true                                  // which is what pins it
		h.def.Cacheable, h.def.CallerCached = false, false // another run's tool of that name is another tool
		if other, taken := cat.Find(h.def.Name); taken {
			return nil, fmt.Errorf("lend %s to a run: the name belongs to %s", h.def.Name, other.Owner)
		}
		if notes := own.Add(tool.Owner{Kind: tool.CoreOwner, ID: "host"}, h); len(notes) > 0 {
			return nil, fmt.Errorf("lend %s to a run: %s", h.def.Name, notes[0].Reason)
		}
		handles[i] = h
	}
	back, err := e.decider.Lend(run, own.Catalog().Entries)
	if err != nil {
		return nil, fmt.Errorf("lend to a run: %w", err)
	}
	return func() {
		back()
		for _, h := range handles {
			h.gone.Store(true)
		}
	}, nil
}

// handle is a lent tool, as long as it is lent.
type handle struct {
	tool.Tool
	def  tool.Definition
	gone atomic.Bool
}

func (h *handle) Definition() tool.Definition { return h.def }

func (h *handle) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	if h.gone.Load() {
		return tool.Result{}, &tool.Refusal{Rule: "revoked", Reason: h.def.Name + " belonged to a run that has ended, so nothing ran."}
	}
	return h.Tool.Execute(ctx, call)
}

// Touches implements [tool.Toucher], for tools that can't tell as well.
func (h *handle) Touches(call tool.Call) []tool.Touch {
	if touches, ok := owner.Standing(h.Tool, call); ok {
		return touches
	}
	if h.def.ReadOnly {
		return nil
	}
	return []tool.Touch{tool.Everything}
}
