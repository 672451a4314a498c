package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Inbox keeps the messages that were accepted and can't begin yet. It is safe
// for concurrent use, by several processes too, and each method has stored
// durably, or not at all, when it returns.
//
// An entry leaves it by Drop, or in the transaction that makes its message part
// of the history: when a turn with its run begins, or a round is stored that
// names it in [agent.Round.Joined]. So a message is in one of the two places
// at any moment, and never in both.
type Inbox interface {
	// Put stores an entry. The error is ErrKnown, and nothing changes, when the
	// inbox or the history has a message of that run.
	Put(ctx context.Context, e Entry) error
	// Drop removes the entries of runs, those that are there.
	Drop(ctx context.Context, runs ...string) error
	// Waiting lists all entries in the order in which they were accepted.
	Waiting(ctx context.Context) ([]Entry, error)
	// Find says where the message of a run is; it is not ok when it is nowhere.
	Find(ctx context.Context, run string) (at Place, ok bool, err error)
}

// Entry is a message in the inbox.
type Entry struct {
	Run     string
	Session session.Key
	Caller  auth.Principal
	Origin  tool.Origin
	Queued  time.Time // when it was accepted; no two of one process have the same
	Rest    []byte    // of the request, as JSON that only this package reads
}

// Place is where a message is.
type Place struct {
	Session session.Key
	Caller  string // id of whose message it is
	Run     string // whose turn holds it: its own run, or the one that it joined
	Waiting bool   // it is in the inbox
}

// ErrKnown says that there is a message of that run already.
var ErrKnown = errors.New("the message is known already")

// KnownError says that the message of a run with that id was taken before, by
// a process that may have ended: its events are gone and its record is there.
type KnownError struct {
	Run     string // whose record shows the answer; another id than was asked for when the message joined that run
	Session session.Key
	Waiting bool // it has not begun: it waits in the inbox, for another process or the next start
}

func (e *KnownError) Error() string {
	if e.Waiting {
		return fmt.Sprintf("the message of run %s waits already in session %s", e.Run, e.Session)
	}
	return fmt.Sprintf("run %s of session %s has had the message already", e.Run, e.Session)
}

// Is makes a KnownError an ErrKnown.
func (e *KnownError) Is(target error) bool { return target == ErrKnown }

// idBytes is how many bytes of a digest make an id of a run, as many as the
// random ones have.
const idBytes = 10

var encoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// IDOf is the id of the run that a caller's key stands for, so that a message
// which is sent again finds its run. Different callers never get the same one.
func IDOf(caller, key string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", len(caller), caller, key))
	return strings.ToLower(encoding.EncodeToString(sum[:idBytes]))
}

// isID reports whether s has the form that session.NewID makes.
func isID(s string) bool {
	b, err := encoding.DecodeString(strings.ToUpper(s))
	return err == nil && len(b) == idBytes && s == strings.ToLower(s)
}

// rest is a request without what an Entry says itself.
type rest struct {
	Delivery  tool.Delivery `json:"delivery,omitzero"`
	Message   llm.Message   `json:"message"`
	Model     string        `json:"model,omitempty"`
	WhileBusy Busy          `json:"while_busy,omitempty"`
	Asked     string        `json:"asked,omitempty"`
	System    string        `json:"system,omitempty"`
	Seed      []llm.Message `json:"seed,omitempty"`
	Fresh     bool          `json:"fresh,omitempty"`
	Plan      bool          `json:"plan,omitempty"`
	Cap       *[]string     `json:"cap,omitempty"` // nil sets no limit, an empty list allows nothing
	Declared  *[]string     `json:"declared,omitempty"`
	Allow     *[]string     `json:"allow,omitempty"`
	Deny      []string      `json:"deny,omitempty"`
	Sandbox   bool          `json:"sandbox,omitempty"`
	Flush     bool          `json:"flush,omitempty"`
	Depth     int           `json:"depth,omitempty"`
	Client    []string      `json:"client,omitempty"`

	Brought *tool.Brought    `json:"brought,omitempty"`
	Choice  agent.ToolChoice `json:"choice,omitzero"`
}

// entry is the run's message as the inbox keeps it. busy is how it was placed.
func (run *Run) entry(busy Busy) (Entry, error) {
	q := &run.request
	var brought *tool.Brought
	if len(q.Brought.Tools) > 0 {
		brought = &q.Brought
	}
	b, err := json.Marshal(rest{
		Delivery: q.Delivery, Message: q.Message, Model: q.Model, WhileBusy: busy, Asked: q.Asked, System: q.System, Seed: q.Seed, Fresh: q.Fresh, Plan: q.Plan,
		Cap: names(q.Cap), Declared: names(q.Declared), Allow: names(q.Allow), Deny: q.Deny,
		Sandbox: q.Sandbox, Flush: q.Flush, Depth: q.Depth, Client: q.Client, Brought: brought, Choice: q.Choice,
	})
	return Entry{Run: run.ID, Session: run.key(), Caller: q.Caller, Origin: q.Origin, Queued: run.queued, Rest: b}, err
}

// names is a list for JSON.
func names(l tool.List) *[]string {
	if !l.Limited() {
		return nil
	}
	all := append([]string{}, l.Names()...)
	return &all
}

// list is the inverse of names.
func list(names *[]string) tool.List {
	if names == nil {
		return tool.List{}
	}
	return tool.Only(*names...)
}

// request is the inverse of Run.entry. A field that is not known is an error:
// it could be one that narrows what the run may do. What the entry itself says
// is in the request in any case.
func (e *Entry) request() (Request, error) {
	q := Request{Agent: e.Session.Agent, Session: e.Session.ID, Origin: e.Origin, Caller: e.Caller, ID: e.Run}
	var r rest
	d := json.NewDecoder(bytes.NewReader(e.Rest))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		if r.Message.Role == llm.User {
			q.Message = r.Message // what a person said is shown, though it isn't run
		}
		return q, err
	}
	q.Delivery, q.Message, q.Model, q.WhileBusy = r.Delivery, r.Message, r.Model, r.WhileBusy
	q.Asked, q.System, q.Seed, q.Fresh, q.Plan, q.Cap, q.Declared = r.Asked, r.System, r.Seed, r.Fresh, r.Plan, list(r.Cap), list(r.Declared)
	q.Allow, q.Deny, q.Sandbox, q.Flush, q.Depth, q.Client = list(r.Allow), r.Deny, r.Sandbox, r.Flush, r.Depth, r.Client
	if q.Choice = r.Choice; r.Brought != nil {
		q.Brought = *r.Brought
	}
	return q, q.check()
}

// row is the place of a run in the inbox. It exists from when the run gets its
// place on; done is closed when it has been stored, or could not be.
type row struct {
	done chan struct{}
	err  error
}

func newRow() *row { return &row{done: make(chan struct{})} }

// placed waits until the run's message is stored, if it has to be, and returns
// why it could not be.
func (run *Run) placed() error {
	run.mu.Lock()
	row := run.row
	run.mu.Unlock()
	if row == nil {
		return nil
	}
	<-row.done
	return row.err
}

// isPlaced reports whether the run's message is stored.
func (run *Run) isPlaced() bool {
	run.mu.Lock()
	row := run.row
	run.mu.Unlock()
	select {
	case <-row.done:
		return row.err == nil
	default:
		return false
	}
}

// isStored reports whether the run's message was put into an inbox. Putting it
// there must have ended.
func (run *Run) isStored() bool {
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.row != nil && run.row.err == nil && run.runner.opts.Inbox != nil
}

// put stores the run's message in its row, which it has got.
func (r *Runner) put(ctx context.Context, run *Run, busy Busy) error {
	var err error
	if r.opts.Inbox != nil {
		var e Entry
		if e, err = run.entry(busy); err == nil {
			ctx, cancel := context.WithTimeout(ctx, storeLimit)
			defer cancel()
			err = r.opts.Inbox.Put(ctx, e)
		}
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	run.row.err = err
	close(run.row.done)
	if err == nil && r.opts.Inbox != nil {
		run.keep()
	}
	return err
}

// store puts a run that has its place into the inbox, and stops the run going
// if it is to interrupt it.
func (r *Runner) store(run, going *Run, busy Busy) (*Run, error) {
	if err := r.put(r.base, run, busy); err != nil {
		r.mu.Lock()
		if l := r.lanes[run.key()]; l != nil {
			l.remove(run)
		}
		delete(r.runs, run.ID)
		r.mu.Unlock()
		run.end()
		if errors.Is(err, ErrKnown) {
			if known := r.recorded(run.request); known != nil {
				return nil, known
			}
		}
		return nil, fmt.Errorf("start a run: keep the message while it waits: %w", err)
	}
	if busy == Interrupt && run.ctx.Err() == nil {
		going.overtake()
	}
	r.watchers.tell(run.key())
	return run, nil
}

// heldBack is called when a run has to wait for another process. A gateway,
// which may have promised an answer, keeps the message meanwhile.
func (r *Runner) heldBack(l *lane, run *Run) {
	run.notice("queued", "waiting for another process that is at work in this session", "")
	r.mu.Lock()
	l.contended = true
	keep := r.serving
	r.mu.Unlock()
	run.mu.Lock()
	keep = keep && run.row == nil
	if keep {
		run.row = newRow()
	}
	run.mu.Unlock()
	if keep {
		// Not even a gateway that stops in this moment breaks its promise.
		if err := r.put(context.WithoutCancel(r.base), run, Queue); err != nil {
			run.logger().Warn("a message that waits for another process is not kept", "err", err)
		}
	}
}

// drop takes the message of a run that will not begin out of the inbox.
func (r *Runner) drop(run *Run) {
	run.mu.Lock()
	kept := run.row != nil && !run.parked
	run.mu.Unlock()
	if !kept || r.opts.Inbox == nil || run.placed() != nil {
		return
	}
	// It must not come back after the next start, also when this is the end of
	// this one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.base), storeLimit)
	defer cancel()
	if err := r.opts.Inbox.Drop(ctx, run.ID); err != nil {
		run.logger().Error("a message that was withdrawn stays in the inbox and is answered after the next start", "err", err)
	}
}

// park leaves a message to the next start of the gateway and reports whether
// it could.
func (r *Runner) park(run *Run) bool {
	if r.opts.Inbox == nil {
		return false
	}
	run.mu.Lock()
	missing := run.row == nil
	if missing {
		run.row = newRow()
	}
	run.mu.Unlock()
	if missing {
		_ = r.put(context.WithoutCancel(r.base), run, Queue) // placed returns it
	}
	if err := run.placed(); err != nil {
		run.logger().Error("a message that waits is not kept", "err", err)
		return false
	}
	run.mu.Lock()
	run.parked = true
	run.mu.Unlock()
	run.notice("parked", "the gateway stops; this message is kept and answered after its next start", "")
	return true
}
