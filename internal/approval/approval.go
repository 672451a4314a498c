package approval

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// Request asks whether a call may run.
type Request struct {
	Scope tool.Scope
	Call  string          // id of the call within its session
	Tool  string          // canonical name
	Args  json.RawMessage // final: a person is shown exactly what would run

	Rule   string     // who asks: the name of a rule, or of a plugin's handler; of several, joined by commas
	Reason string     // what it says about it, one sentence
	Where  source.Pos // where it is written, if anywhere
	Admins bool       // only an admin may answer

	// Unasked says why nobody can be asked about this call although people can
	// be asked about others of its run; empty when they can.
	Unasked string

	Timeout time.Duration // how long people have to answer; DefaultTimeout when 0
}

// Grant is a standing permission that an answer allow_always made: the same
// call is not asked about again. It binds person, agent, tool and the exact
// arguments.
type Grant struct {
	ID      string          `json:"id"`
	Person  string          `json:"person"` // id of the caller whose calls it lets through
	Agent   string          `json:"agent"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"` // as they were shown when it was given
	Rule    string          `json:"rule"` // that had asked
	By      string          `json:"by"`   // who gave it
	Admin   bool            `json:"admin,omitempty"`
	Created time.Time       `json:"created"`
	Used    time.Time       `json:"used,omitzero"` // it last let a call through
	Uses    int             `json:"uses,omitempty"`

	Key Key `json:"-"` // of Args
}

var (
	// ErrUnknown says that there is no such request or grant, or that it is none
	// of the asker's business.
	ErrUnknown = errors.New("there is no such approval")
	// ErrAdmins says that only an admin may answer.
	ErrAdmins = errors.New("only an admin may answer this: the rule guards what users do")
	// ErrCursor says that a list can't go on behind what was given.
	ErrCursor = errors.New("not a place in the list of approvals")
)

// ClosedError says that a request has come to its end already: of several who
// answer one is heard.
type ClosedError struct{ Approval tool.Approval }

func (e *ClosedError) Error() string {
	a := e.Approval
	switch {
	case a.By != "" && a.Answer != "":
		return "approval " + a.ID + " was answered already: " + string(a.Answer) + " by " + a.By
	case a.Status == tool.ApprovalExpired:
		return "approval " + a.ID + " came to its end at " + a.Ended.UTC().Format(time.RFC3339) + ": nobody had answered in time"
	case a.Status == tool.ApprovalStopped && a.Problem != "":
		return "approval " + a.ID + " is no longer wanted: " + a.Problem
	case a.Status == tool.ApprovalStopped:
		return "approval " + a.ID + " is no longer wanted: its run has ended"
	}
	return "approval " + a.ID + " is no longer wanted: the process that asked has ended"
}

// DefaultLimit is how many requests a list has when nobody says otherwise.
const DefaultLimit = 50

// Filter says which requests are listed, the latest first.
type Filter struct {
	ID      string              // empty for all
	Caller  string              // of whose runs; empty for all
	Agent   string              // empty for all
	Session string              // empty for all; names one of Agent
	Status  tool.ApprovalStatus // empty for all
	Limit   int                 // DefaultLimit when 0
	After   string              // cursor of the page before; empty begins anew
}

// Store keeps requests and grants. It is safe for concurrent use, by several
// processes too, and each method has stored durably, or not at all, when it
// returns. Times come back in UTC with their nanoseconds.
type Store interface {
	// Open stores a new request of the desk.
	Open(ctx context.Context, desk string, a tool.Approval) error
	// Close stores the end of the request a.ID (status, answer, by whom, when)
	// unless it has one; grant, unless it is nil, is stored with it and takes the
	// place of an equal one. It returns the request as it is then; the error is a
	// [*ClosedError] when it had ended before, ErrUnknown when there is none.
	Close(ctx context.Context, a tool.Approval, grant *Grant) (tool.Approval, error)
	// Get returns a request, or ErrUnknown.
	Get(ctx context.Context, id string) (tool.Approval, error)
	// List returns requests and the cursor of the next page, empty at the end.
	List(ctx context.Context, f Filter) (list []tool.Approval, next string, err error)
	// Expire closes the open requests whose time is over at now as expired, at the
	// end of that time, and says how many.
	Expire(ctx context.Context, now time.Time) (int, error)
	// Waiting lists the ids of the open requests of a desk.
	Waiting(ctx context.Context, desk string) ([]string, error)
	// Desks lists the desks that have open requests.
	Desks(ctx context.Context) ([]string, error)
	// Abandon closes the open requests of a desk as lost and says how many.
	Abandon(ctx context.Context, desk string, at time.Time) (int, error)

	// Find returns the grant that binds all of these. It is ErrUnknown when there
	// is none; with admin only those count that an admin gave.
	Find(ctx context.Context, person, agent, tool string, key Key, admin bool) (Grant, error)
	// Use is Find, and notes that the grant was used.
	Use(ctx context.Context, person, agent, tool string, key Key, admin bool, at time.Time) (Grant, error)
	// Grants lists grants, the latest first; those of person unless it is empty.
	Grants(ctx context.Context, person string) ([]Grant, error)
	// Revoke removes a grant, of person unless it is empty, or returns
	// ErrUnknown.
	Revoke(ctx context.Context, id, person string) error
	// Purge removes requests that ended before the given time and says how many.
	Purge(ctx context.Context, before time.Time) (int, error)
}

// MayAnswer is nil when p may answer a: an admin may, and the person for whom
// the run acts unless the rule guards them, or they come with less than the run
// has. Else it is ErrAdmins, or ErrUnknown when p may not even see it.
func MayAnswer(p auth.Principal, a tool.Approval) error {
	switch {
	case p.Role == auth.Admin:
		return nil
	case p.Role != auth.User || p.ID != a.Caller.ID:
		return ErrUnknown // nobody learns of what others do
	case a.Admins, a.Caller.Role != auth.User: // they hold a token of less than what the run has
		return ErrAdmins
	}
	return nil
}
