// Package hook is where rules and handlers are consulted at the checkpoints of
// a run and of the gateway. One dispatcher, the [Bus], has two fronts: typed
// handlers ([Bus.On]) may decide, change or observe, each as its hook allows;
// observers of the event registry ([Bus.Watch]) are told. Admin rules
// ([Bus.SetRules]) stand in one order with the typed handlers, highest priority
// first.
//
// Who decides is asked one after the other, on the way of what is decided, and
// fails closed: a decider that returns an error, panics or is not ready in time
// blocks. Who changes results or messages is asked in the same way and passed
// over when it fails. Who observes is told on a goroutine of its own, one thing
// after the other, and nobody waits for it; one that is too slow misses what
// exceeds a bound. Each handler has a time limit, at which its context ends;
// one that goes on is left behind, and who has left too many behind is not asked
// any more, which for a decider means that it blocks. That costs nobody else
// anything, and no decider for what an observer of the same plugin does.
//
// A Bus lives as long as its process; [Bus.Close] has observers told what they
// are still to be told. What a handler is given is a copy of its own, and what
// it returns is copied: it changes things by what it returns only.
//
// Start reading at [Before] and [Verdict], then at [Bus.Before].
package hook

import (
	"context"
	"encoding/json"
	"time"

	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// DefaultTimeout is how long a handler has that sets no limit of its own.
const DefaultTimeout = 5 * time.Second

// Call is a tool call as handlers see it. Each handler gets a copy of its own.
type Call struct {
	ID      string // of the call within its session; a/1 is the first call that the call a makes
	Scope   tool.Scope
	Tool    string // canonical name
	Owner   tool.Owner
	Def     tool.Definition
	Args    json.RawMessage // repaired, valid, its paths in their one spelling
	Touches []tool.Touch    // what it is going to read and write, as far as the tool can tell
}

// Verdict is what a decider wants. The zero value lets the call through as it
// is. With Block nothing else counts.
type Verdict struct {
	// Args, unless nil, are the arguments to go on with. They are held against
	// the tool's schema again; those that don't fit block the call.
	Args json.RawMessage
	// Block ends the call. Its Rule and Where are filled in from the handler's
	// name and place where they are empty.
	Block *tool.Refusal
	// Ask lets the call through only when a person allows it.
	Ask *Ask
	// Note is what the trace tells of the decision besides: a few words without
	// secrets, such as "told the web UI".
	Note string
}

// Ask has a person asked before the call runs.
type Ask struct {
	Reason string // one sentence: why it is asked
	Admins bool   // only an admin may answer
}

// Before decides about calls before they run. It fails closed: one that
// returns an error, panics or is not ready in time blocks the call.
type Before struct {
	Name     string     // for people; what a refusal names
	Source   string     // who brought it: "config", "plugin weather"
	Where    source.Pos // where it is written, if anywhere
	Priority int        // higher goes first
	Timeout  time.Duration
	// Guards says that it is asked again, at the end, when another one rewrote
	// the arguments after it had seen them: what it lets through is what runs.
	Guards bool
	// Decide must return soon after ctx ends and must not keep the call.
	Decide func(ctx context.Context, c *Call) (Verdict, error)
}

// After is told how calls ended: with which result or error, after how long, on
// cache hits and failures too. It can't change anything, nobody waits for it,
// and what goes wrong in it is recorded and harms no call. It is told of one
// call after the other, in the order in which they ended.
type After struct {
	Name     string
	Source   string
	Where    source.Pos
	Priority int // higher is begun first
	Timeout  time.Duration
	// Observe gets copies of its own. The outcome is whole: nothing was spilled
	// or cut yet.
	Observe func(ctx context.Context, c *Call, o *tool.Outcome) error
}
