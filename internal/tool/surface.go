package tool

import (
	"time"

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
	// Secret says that what an admin decided about the agent takes the tool as
	// well, whatever took it first, so that models and users are not told of it.
	Secret bool `json:"-"`
}

// Ask is what a request is for, as far as the pick of its tools depends on it.
type Ask struct {
	Message llm.Message   // the person's, of the turn; what the host added to it counts for nothing
	Idle    time.Duration // how long the session was quiet before the turn; 0 when it is new
}

// Why is what a tool is offered for.
type Why string

const (
	ForCore       Why = "core"       // a core tool
	ForInternal   Why = "internal"   // an internal tool
	ForConfigured Why = "configured" // tools.core names it
	ForContents   Why = "contents"   // what the message holds calls for it
	ForPinned     Why = "pinned"     // it is always there where it works, as search_tools is
	ForClient     Why = "client"     // the API client brought it
	ForPrior      Why = "prior"      // one of those the agent uses most
	ForEveryday   Why = "everyday"   // one that most agents use, as long as this one has used few
	ForContinuity Why = "continuity" // the turn before used it
	ForMessage    Why = "message"    // the message speaks of it
	ForMeaning    Why = "meaning"    // the message means something like it
	ForFew        Why = "few"        // it was installed on purpose, and there is little of that
	ForSearch     Why = "search"     // search_tools found it in this turn
	ForKept       Why = "kept"       // the session's list has it, nothing else
	ForAll        Why = "all"        // no selection runs
	ForDeclared   Why = "declared"   // the step or profile declares it; no selection runs
)

// Pick says why one tool is offered.
type Pick struct {
	Tool    string   `json:"tool"`
	Why     Why      `json:"why"`               // the first of its reasons, in the order of the constants
	Score   float64  `json:"score,omitempty"`   // how well the message fits it; 0 when that was not asked
	Reasons []string `json:"reasons,omitempty"` // of the score, a phrase each
}

// Surface is what one request is offered, with all that was decided on the
// way. It is immutable.
type Surface struct {
	Scope  Scope
	Target llm.Target
	State  State // with what the pick changed; to be stored when the request was answered

	// Offered is shown to the model, in this order. Permitted is what the
	// layers before selection left, ordered by name; Offered is within it.
	Offered   []*Entry
	Permitted []*Entry
	// Removed has one entry for each tool that is not permitted: the first
	// layer that removed it.
	Removed []Removal
	// Picks says why tools are offered: all of them, in the same order, when
	// they were picked for this request, else those that joined the list of an
	// earlier request of the turn.
	Picks []Pick
	// Notices are for the trace: that the session's list began anew, what could
	// not be asked.
	Notices []string
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
