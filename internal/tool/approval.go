package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/lib/source"
)

// Answer is what a person says to an [Approval].
type Answer string

const (
	AllowOnce   Answer = "allow_once"
	AllowAlways Answer = "allow_always" // the same call of the same person is not asked about again
	Deny        Answer = "deny"
)

// Answers lists all answers in the order in which people are offered them.
var Answers = []Answer{AllowOnce, AllowAlways, Deny}

// UnmarshalText takes the answers also as people write them, allow-once.
func (a *Answer) UnmarshalText(text []byte) error {
	*a = Answer(strings.ReplaceAll(string(text), "-", "_"))
	return nil
}

// ApprovalStatus says how far an [Approval] is.
type ApprovalStatus string

const (
	ApprovalOpen    ApprovalStatus = "open"
	ApprovalAllowed ApprovalStatus = "allowed"
	ApprovalDenied  ApprovalStatus = "denied"  // a person said no, or nobody could be asked
	ApprovalExpired ApprovalStatus = "expired" // nobody answered in time
	ApprovalStopped ApprovalStatus = "stopped" // the run ended before anybody answered
	ApprovalLost    ApprovalStatus = "lost"    // the process that asked died
)

// Approval is what a person is asked before a call runs, and what came of it.
// Anything but [ApprovalAllowed] means that the call does not run.
type Approval struct {
	ID      string         `json:"id,omitempty"` // of the request; empty when nobody was asked
	Agent   string         `json:"agent"`
	Session string         `json:"session,omitempty"`
	Run     string         `json:"run"`
	Call    string         `json:"call"` // id of the call in its session
	Origin  Origin         `json:"origin"`
	Caller  auth.Principal `json:"caller"` // for whom the run acts

	Tool string          `json:"tool"`           // canonical name
	Args json.RawMessage `json:"args,omitempty"` // exactly what would run; in a stored outcome they are those of the outcome

	Rule   string     `json:"rule"`             // who asks: a rule, or a handler of a plugin
	Reason string     `json:"reason,omitempty"` // what the rule says about it
	Where  source.Pos `json:"where,omitzero"`   // where the rule is written
	// Admins says that only an admin may answer: the rule guards what users do.
	// Else the person for whom the run acts may, too.
	Admins bool `json:"admins,omitempty"`

	Status  ApprovalStatus `json:"status"`
	Created time.Time      `json:"created"`
	Expires time.Time      `json:"expires,omitzero"`  // from then on it is a no
	Ended   time.Time      `json:"ended,omitzero"`    // it was answered, or can't be any more
	Answer  Answer         `json:"answer,omitempty"`  // what a person said
	By      string         `json:"by,omitempty"`      // who said it
	Grant   string         `json:"grant,omitempty"`   // id of the standing permission that allowed the call, or that the answer made
	Problem string         `json:"problem,omitempty"` // why nobody could be asked, or can be any more
}

// Allowed reports whether the call may run.
func (a Approval) Allowed() bool { return a.Status == ApprovalAllowed }

// Refusal says, to model and person, why the call does not run; nil when it
// may.
func (a Approval) Refusal() *Refusal {
	r := &Refusal{Rule: a.Rule, Where: a.Where}
	switch a.Status {
	case ApprovalAllowed:
		return nil
	case ApprovalDenied:
		if a.By == "" {
			r.Reason = fmt.Sprintf("The rule %s wants a person to approve this call of %s, and %s, so nothing ran.", a.Rule, a.Tool, a.Problem)
			r.Allowed = "Go on without it, and say what was to be done."
			break
		}
		r.Reason = fmt.Sprintf("%s was asked whether this call of %s may run and said no, so nothing ran.", a.By, a.Tool)
		r.Allowed = "Don't call it again unchanged: ask what is wanted instead."
	case ApprovalExpired:
		r.Reason = fmt.Sprintf("The rule %s wants a person to approve this call of %s, and nobody answered within %s, so nothing ran.",
			a.Rule, a.Tool, a.Expires.Sub(a.Created).Round(time.Second))
		r.Allowed = "Say what was to be done, so that it can be asked for again."
	case ApprovalLost:
		r.Reason = fmt.Sprintf("The process ended while this call of %s waited for a person's approval (rule %s), which nobody had given, so it never ran.", a.Tool, a.Rule)
		r.Allowed = "Call it again if it is still wanted: it is asked about again."
	case ApprovalStopped:
		if a.Problem != "" {
			r.Reason = fmt.Sprintf("This call of %s waited for a person's approval, and meanwhile %s, so nothing ran.", a.Tool, a.Problem)
			break
		}
		fallthrough
	default:
		r.Reason = fmt.Sprintf("The run ended while this call of %s waited for a person's approval, so nothing ran.", a.Tool)
	}
	return r
}

// Disowned is the error, and the cause of the end of a run, when nothing may run
// any more for a person.
type Disowned struct {
	Why string // half a sentence, such as bob was removed
}

func (d *Disowned) Error() string {
	return "who said it may not ask for this any more (" + d.Why + ")"
}

// Removed is the Disowned of a person who was removed.
func Removed(person string) *Disowned { return &Disowned{person + " was removed"} }

// Stopped is a as it stands when its run was ended, for cause.
func (a Approval) Stopped(cause error, at time.Time) Approval {
	a.Status, a.Ended = ApprovalStopped, at
	var d *Disowned
	if errors.As(cause, &d) {
		a.Problem = d.Why
	}
	return a
}
