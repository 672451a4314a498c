package tool

import (
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
)

// Removal says why a tool is not on a surface.
type Removal struct {
	Tool   string     `json:"tool"`
	Layer  string     `json:"layer"`          // cap, available, policy, …
	Rule   string     `json:"rule,omitempty"` // the named rule within the layer
	Reason string     `json:"reason"`         // one sentence
	Where  source.Pos `json:"where,omitzero"` // the configuration that decided, if any did
	Fix    string     `json:"fix,omitempty"`  // what to do about it
}

// Surface is what one request is offered, with all that was decided on the
// way. It is immutable.
type Surface struct {
	Scope  Scope
	Target llm.Target
	State  State

	// Offered is shown to the model, in this order. Permitted is what the
	// layers before selection left, ordered by name; Offered is within it.
	Offered   []*Entry
	Permitted []*Entry
	// Removed has one entry for each tool that is not permitted: the first
	// layer that removed it.
	Removed []Removal
}

// Specs is what the model sees of the surface.
func (s Surface) Specs() []llm.ToolSpec {
	specs := make([]llm.ToolSpec, len(s.Offered))
	for i, e := range s.Offered {
		specs[i] = e.Spec
	}
	return specs
}

// Find returns the entry of the canonical name among entries.
func Find(entries []*Entry, name string) (*Entry, bool) {
	for _, e := range entries {
		if e.Def.Name == name {
			return e, true
		}
	}
	return nil, false
}

// Names lists the names of entries in their order.
func Names(entries []*Entry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Def.Name
	}
	return names
}
