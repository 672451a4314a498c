// Package agent is the loop: a person's message goes in, events come out, and
// between them the model is asked and its tools are run until it answers. It
// owns the order of these things and nothing else. What it needs it declares
// as five small interfaces ([Models], [Toolbox], [Prompts], [History],
// [Watch]); its children and the rooms below implement them.
//
// A run lives as long as the range over [Agent.ProcessStream]. The loop runs on
// the goroutine that ranges; breaking out of the range stops the run as
// cancelling its context does. Nothing is lost either way: what the model said
// and what its tools did is stored before the next step begins.
//
// Start reading at [Agent.ProcessStream] in loop.go.
package agent

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Agent runs turns. All fields but Cost are required; an Agent is safe for
// concurrent use when they are.
type Agent struct {
	Models  Models
	Toolbox Toolbox
	Prompts Prompts
	History History
	Watch   func(Turn) Watch // makes the brake of one run
	Now     func() time.Time
	// Cost is what a model call costs in US dollars, nil when that is unknown.
	// Without it no cost is told.
	Cost func(llm.Usage, llm.Target) *float64
}

// Models asks a model, whichever can answer: it picks the target, retries and
// fails over. build is called for each target that is tried, since the surface
// and the prompt depend on it, and again before one is asked again that had
// begun to answer, which was told by EventDropped. used says that this turn has
// run a tool already, so the target must not change any more.
type Models interface {
	Stream(ctx context.Context, model string, used bool, build func(llm.Target) (llm.Request, error)) iter.Seq2[llm.Event, error]
}

// Toolbox offers and runs tools.
type Toolbox interface {
	// Offer decides what a request for target is shown. It fails only when the
	// run can't go on (explicit lists that leave nothing to call).
	// The state that it returns with the surface is stored with the answer.
	Offer(ctx context.Context, s tool.Scope, t llm.Target, st tool.State, ask tool.Ask) (tool.Surface, error)
	// Execute runs calls and returns one outcome per call, in order, also when
	// ctx ends. emit runs on the caller's goroutine and never after Execute
	// returned.
	Execute(ctx context.Context, sf tool.Surface, calls []llm.ToolCall, emit func(tool.Event)) []tool.Outcome
}

// Prompts turns a thread into a request for the surface's target.
type Prompts interface {
	// Context is what the host adds after the person's words (the time, found
	// memories). It is made once per turn and stored with it.
	Context(ctx context.Context, t Turn) ([]llm.Part, error)
	// Build assembles the request, trimming messages to what the target's
	// window holds without ever splitting a call from its result.
	Build(ctx context.Context, t Turn, sf tool.Surface, messages []llm.Message) (llm.Request, RequestFacts, error)
}

// History keeps threads. Each method stores durably, all or nothing, before it
// returns.
type History interface {
	// Begin stores the person's message, which so leaves the inbox if it waited
	// there, and returns the thread that it continues, message included.
	Begin(ctx context.Context, t Turn) (Thread, error)
	// Called stores a reply and its open calls before any tool runs, with what
	// was spent on it, and takes what joined with the round out of the inbox.
	Called(ctx context.Context, t Turn, r *Round) error
	// Result stores the outcome of the call at index as it ends, while others
	// are open.
	Result(ctx context.Context, t Turn, r *Round, index int, o tool.Outcome) error
	// Settled stores what the model is going to see of the round's outcomes,
	// which brings the result of the call that ended last, the effects and the
	// state, in one transaction.
	Settled(ctx context.Context, t Turn, r *Round) error
	// Answered stores a round that calls nothing and, with it, how the turn
	// ended: what Called, Settled and End do, in one transaction.
	Answered(ctx context.Context, t Turn, r *Round, end End) error
	// End stores how a turn ended whose last round is stored.
	End(ctx context.Context, t Turn, end End) error
}

// Watch is the brake between rounds: stop, steer, budget, loop guard.
type Watch interface {
	// Before is asked before model call n (from 1) of the run; last is the
	// round before it, nil at first.
	Before(ctx context.Context, n int, last *Round) Directive
	// Request is asked before a request of about so many bytes is made, and may
	// lower its MaxOutput. What it says about that is told to whoever watches.
	// With an [*OverBudget] the run ends politely without the request.
	Request(ctx context.Context, req *llm.Request, bytes int) (notice string, err error)
	// Spent is told what a request used that Request let pass; nil says that
	// it used nothing.
	Spent(s *Spent)
}

// Directive is what the brake wants of the loop.
type Directive struct {
	// Messages join the thread before the next model call: what a person said
	// meanwhile, or the host's word to the model.
	Messages []llm.Message
	// Joined are the ids under which the inbox keeps those of Messages that a
	// person said; storing the round takes them out of it.
	Joined []string
	// Effects change the state before the call: what a person switched meanwhile.
	Effects []tool.Effect
	// NoTools makes the next call the last one: tools stay in the request, but
	// may not be called. If the model then says nothing, Reason is said.
	NoTools bool
	// Stop ends the run now, politely, with Reason for the person.
	Stop   bool
	Reason string
	// Notice is told to whoever watches; NoticeKind sorts it (limit, guard, …).
	Notice     string
	NoticeKind string
}

// Turn is what one run works on.
type Turn struct {
	Scope   tool.Scope
	Message llm.Message // the person's
	Model   string      // "", provider or provider/model; empty means the configured default
	Started time.Time

	System string        // what an API client adds to the session context; empty for none
	Seed   []llm.Message // what a new session begins with, before Message; nil for nothing
	Added  []Addition    // what hooks add to the session context
	Fresh  bool          // a model is to answer, not the cache of answers
	Choice ToolChoice    // what the client demands of the answer
	Asked  string        // a hash of what the client asked, to be kept with the turn; empty for none
	// Effects change the session's state as the turn begins, and are stored with
	// its message: what a person switched holds whatever becomes of the turn.
	Effects []tool.Effect
}

// ToolChoice is what an API client demands: that the model calls a tool, until
// the turn ends with a call of one that the client brought.
type ToolChoice struct {
	Required bool   `json:"required,omitempty"`
	Only     string `json:"only,omitempty"` // it is this one; empty for any
}

// offered reports whether sf has what is demanded: a tool of the client.
func (c ToolChoice) offered(sf *tool.Surface) bool {
	return slices.ContainsFunc(sf.Offered, func(e *tool.Entry) bool {
		return e.Owner.Kind == tool.ClientOwner && (c.Only == "" || c.Only == e.Def.Name)
	})
}

// Unoffered says that the tool which a client demands is not offered, or, where
// it names none, none of its tools.
type Unoffered struct{ Tool, Reason string }

func (u *Unoffered) Error() string {
	if u.Tool == "" {
		return "the model can't be made to call a tool of the client: " + u.Reason
	}
	return "the model can't be made to call " + u.Tool + ": " + u.Reason
}

// reasonOf is why sf doesn't offer a client's tool of that name. What an admin
// decided about the agent is not told: whoever asks may be anybody.
func reasonOf(sf *tool.Surface, name string) string {
	for _, r := range sf.Removed {
		if r.Tool == name && !r.Secret {
			return r.Reason
		}
	}
	if _, own := tool.Find(sf.Offered, name); own {
		return "the agent has a tool of that name"
	}
	return "it is not offered here; the agent's admin sees why with goclaw tools explain " + name
}

// Addition is text of a hook.
type Addition struct{ By, Text string }

// Thread is a session's conversation as the next request needs it.
type Thread struct {
	Messages []llm.Message // what earlier turns left, then the message of this one
	State    tool.State
	Rounds   int // stored so far in this session
	// Last is when something last happened in the session before this turn;
	// zero when it is new.
	Last time.Time
	// Earlier are the rounds that the same message of a person took before calls
	// of theirs went to the client whose answer begins this turn, in order.
	Earlier []Round
	// Load brings the bytes of images and files that Messages only names, nil
	// when they are no longer kept. It is called by one goroutine at a time, and
	// is nil when Messages has them all.
	Load func(context.Context, *llm.Media) ([]byte, error)
}

// Round is one model call with the tool calls of its answer: the unit of
// storage and of the trace.
type Round struct {
	Number   int           // within the session, from 1
	Before   []llm.Message // what joined the thread just before this call
	Joined   []string      // ids of the messages of Before that the inbox kept until now
	Reply    llm.Reply     // ids of calls are unique within the session
	Calls    []llm.ToolCall
	Outcomes []tool.Outcome // one per call, in order
	State    tool.State     // after the round's effects
	Listed   bool           // its request was shown another list of tools than the one before
	Request  RequestFacts
	// Spent are the model calls that were made for it: that which gave the
	// reply, and before it those whose answers were not used. Only what is yet to
	// be stored has them.
	Spent []Spent
	USD   *float64 // what they cost; nil when it is unknown of one

	Attempts  []llm.Attempt // calls for it that failed, in order
	Notices   []Told        // what whoever watched was told besides, in order
	Retracted int           // how often text that had been shown was taken back

	Started    time.Time // the model was asked
	FirstToken time.Time // its first delta came; zero when none did
	Replied    time.Time // its answer was complete
	Ended      time.Time // its tools had ended
}

// Told is a notice that is stored with the round during which it was given.
type Told struct {
	Kind string `json:"kind"` // as that of the event
	Text string `json:"text"`
	// Behind says that it came behind the answer and is about its end.
	Behind bool `json:"behind,omitempty"`
}

// RequestFacts is what the trace keeps of a request.
type RequestFacts struct {
	Target   llm.Target `json:"target"`
	Sections []Section  `json:"sections,omitempty"`
	Tools    []string   `json:"tools,omitempty"`
	// Picks tells why each of Tools is there, in the same order; with a later
	// request of a turn, why those are that joined since.
	Picks []tool.Pick `json:"picks,omitempty"`
	// Notices tell what happened when the tools were picked.
	Notices  []string `json:"notices,omitempty"`
	Messages int      `json:"messages"`
	Dropped  int      `json:"dropped,omitempty"` // messages left out to fit the window
	Bytes    int      `json:"bytes"`             // of sections, tools and messages, as text
}

// Section is a named part of the prompt.
type Section struct {
	Name   string `json:"name"`
	Place  string `json:"place"` // static, session or message
	Source string `json:"source,omitempty"`
	Bytes  int    `json:"bytes"`
	Digest string `json:"digest"`
	Text   string `json:"-"`
}

// Status says how a turn ended.
type Status string

const (
	Running     Status = "running"
	Done        Status = "done"
	Failed      Status = "failed"
	Stopped     Status = "stopped"
	Limited     Status = "limited"     // done, but only because a limit was reached
	Interrupted Status = "interrupted" // the process died, or had to end before the turn did
)

// ErrInterrupted, as the cause for which a run's context ends, makes its turn
// end as [Interrupted] and not as [Stopped]: its host ended it, not its person.
var ErrInterrupted = errors.New("the gateway stops")

// End is how a turn ended.
type End struct {
	Status Status
	Error  string  // one sentence for the person; only when Failed
	Spent  []Spent // model calls that belong to no stored round
	Rounds int
	Time   time.Time
}
