package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
)

// Status says how a call ended.
type Status string

const (
	OK          Status = "ok"
	Failed      Status = "error"       // the tool said so
	Refused     Status = "refused"     // a step or a guard said no; nothing ran
	Invalid     Status = "invalid"     // the arguments could not be used; nothing ran
	TimedOut    Status = "timeout"     // the time limit ended it
	Cancelled   Status = "cancelled"   // the run was stopped
	Panicked    Status = "panic"       // the tool's code is broken
	Interrupted Status = "interrupted" // the process died; whether it ran is unknown
	Handed      Status = "handed"      // it went to the client that brought the tool, whose next message has the result
)

// Refusal is the one error by which a step or a guard says no.
type Refusal struct {
	Step    string     `json:"step,omitempty"`  // the step of Execute, filled in by the engine
	Guard   string     `json:"guard,omitempty"` // workspace, shell, sql, http, secret, …
	Rule    string     `json:"rule"`            // the rule's name, stable
	Reason  string     `json:"reason"`          // one sentence: what was refused and why
	Allowed string     `json:"allowed,omitempty"`
	Where   source.Pos `json:"where,omitzero"` // the configuration that decided, if any did
}

func (r *Refusal) Error() string {
	s := r.Reason
	if r.Allowed != "" {
		s += " " + r.Allowed
	}
	return s
}

// Refusef makes a refusal of a guard with a formatted reason.
func Refusef(guard, rule, allowed, format string, args ...any) *Refusal {
	return &Refusal{Guard: guard, Rule: rule, Allowed: allowed, Reason: fmt.Sprintf(format, args...)}
}

// StepTime is how long one step of a call took.
type StepTime struct {
	Step     string        `json:"step"`
	Duration time.Duration `json:"ns"`
	Note     string        `json:"note,omitempty"` // what the step changed or decided, if anything
}

// Outcome is all that is known of a call when it has ended. It is stored.
type Outcome struct {
	Call   llm.ToolCall    `json:"call"`           // as the model wrote it
	Tool   string          `json:"tool"`           // canonical name; what the model wrote when nothing fits
	Args   json.RawMessage `json:"args,omitempty"` // final arguments; empty when there never were any
	Status Status          `json:"status"`
	Step   string          `json:"step,omitempty"` // the step that ended it, when it did not get through

	// Content is what the model sees. It is never empty.
	Content []llm.Part      `json:"content"`
	Details json.RawMessage `json:"details,omitempty"`
	Refusal *Refusal        `json:"refusal,omitempty"`
	// Approval is what a person was asked before, and said. Its arguments are
	// Args.
	Approval *Approval `json:"approval,omitempty"`
	// Nested are approvals of calls that the tool made, with their arguments,
	// in the order in which these calls ended; at most 100.
	Nested []Approval `json:"nested_approvals,omitempty"`

	// Own are the calls that the tool made, in short as [Outcome.Short] gives
	// them, in the order in which they ended; of more than 200 the last. They are
	// stored apart, and no transcript has them.
	Own []Outcome `json:"-"`

	Effects []Effect `json:"effects,omitempty"`
	Touches []Touch  `json:"touches,omitempty"`

	Ref    string `json:"ref,omitempty"`    // where the whole result is kept
	Type   string `json:"type,omitempty"`   // its detected content type, when it is kept
	Chars  int    `json:"chars,omitempty"`  // its length in code points, when it is kept
	Digest string `json:"digest,omitempty"` // of the result before it was shortened; empty for tools that are meant to repeat
	Cached bool   `json:"cached,omitempty"` // answered by the result cache

	// Withheld says that whoever is told of the call may not know its tool: there
	// is nothing else but when it was and what came of it. It is never stored.
	Withheld bool `json:"withheld,omitempty"`

	// Notices tell whoever made the call by hand what of it could not be kept.
	Notices []string `json:"notices,omitempty"`

	Started time.Time  `json:"started"`
	Ended   time.Time  `json:"ended"`
	Steps   []StepTime `json:"steps,omitempty"`
}

// Ran reports whether the call had, or may have had, an effect: its tool was
// entered and came to an end of its own, and no guard refused it. A call that
// the run's end cancelled doesn't count; nothing follows it in its run.
func (o Outcome) Ran() bool {
	switch o.Status {
	case OK, Failed, TimedOut, Panicked:
		return !o.Cached
	}
	return false
}

// Failed reports whether the call brought no result: it was refused, broke or was
// stopped. A call that went to a client has not failed.
func (o Outcome) Failed() bool { return o.Status.Failed() }

// Failed is [Outcome.Failed].
func (s Status) Failed() bool { return s != OK && s != Handed }

// Withhold is what is told of the call to somebody who may not know its tool.
func (o Outcome) Withhold() Outcome {
	return Outcome{
		Withheld: true, Call: llm.ToolCall{ID: o.Call.ID}, Status: o.Status, Started: o.Started, Ended: o.Ended,
		Content: []llm.Part{llm.Text("A call of a tool that you are not told of.")},
	}
}

// Bounds of an outcome in short, in bytes.
const (
	maxShortText = 300
	maxShortArgs = 2000
)

// Short is what is kept of a call that no model wrote: how it ended and why, not
// what it brought. Of what it said there is the beginning where it failed, of its
// arguments all unless they are long.
func (o Outcome) Short() Outcome {
	s := Outcome{Tool: o.Tool, Status: o.Status, Step: o.Step, Cached: o.Cached, Started: o.Started, Ended: o.Ended}
	if len(o.Args) <= maxShortArgs {
		s.Args = o.Args
	}
	if o.Refusal != nil {
		r := *o.Refusal
		r.Reason, r.Allowed = begins(r.Reason), begins(r.Allowed)
		s.Refusal = &r
	}
	if o.Approval != nil {
		a := *o.Approval
		a.Args = nil
		s.Approval = &a
	}
	if o.Failed() {
		s.Content = []llm.Part{llm.Text(begins(llm.JoinText(o.Content)))}
	}
	return s
}

// begins is the beginning of s.
func begins(s string) string {
	if len(s) > maxShortText {
		s = strings.ToValidUTF8(s[:maxShortText], "") + "…"
	}
	return s
}

// Result is the outcome as the transcript holds it.
func (o Outcome) Result() *llm.ToolResult {
	return &llm.ToolResult{CallID: o.Call.ID, Name: o.Tool, Content: o.Content, IsError: o.Failed()}
}

// Digest is a short hash of what content holds and how the call ended.
func Digest(status Status, content []llm.Part) string {
	h := sha256.New()
	add := func(field string) {
		h.Write([]byte(field))
		h.Write([]byte{0})
	}
	add(string(status))
	for _, p := range content {
		add(string(p.Kind))
		add(p.Text)
		if p.Media != nil {
			add(p.Media.MIME)
			h.Write(p.Media.Data)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// EventType tells the variants of an [Event] apart.
type EventType uint8

const (
	Started  EventType = iota + 1 // the call at Index was admitted and runs or waits for a worker
	Progress                      // Text tells how far it is
	Finished                      // Outcome is how it ended; shown content may still shrink when the round's sum is too large
	Asked                         // Approval waits for a person; the call has not started
	Answered                      // Approval has come to its end; the call starts, or finishes without having run
)

// Event tells what happens to one of the calls given to Execute.
type Event struct {
	Type     EventType
	Index    int             // of the call among those given; of a call that its tool makes: that of its tool
	Tool     string          // canonical name; Started only
	Args     json.RawMessage // final arguments; Started only
	Text     string          // Progress only
	Outcome  *Outcome        // Finished only
	Approval *Approval       // Asked and Answered only
}
