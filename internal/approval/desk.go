// Package approval asks people whether a call may run. It owns open requests,
// what was said to them, and grants: standing permissions for one exact call.
//
// Life: a [Desk] is made once per process and starts nothing but, while calls
// wait, one goroutine that looks for answers of other processes. [Desk.Ask] blocks
// its caller until somebody answers, in whatever process, until it is too late,
// or until its context ends; every way out but an allowing answer means no.
// [Desk.Answer] never blocks for long. Of several who answer one request, one is
// heard and the others are told so. A request is stored before anybody is told
// of it; what a dead process left open is closed by [Desk.Sweep], and by whoever
// looks at it, as is what nobody answered in time. There is
// nothing to close but [Desk.Close], which gives back the mark by which others
// see that this process lives.
//
// Start reading at [Desk.Ask].
package approval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/tool"
)

// DefaultTimeout is how long people have to answer when nothing else is set.
const DefaultTimeout = 5 * time.Minute

// storeWithin bounds what is stored when a run that waited was stopped.
const storeWithin = 10 * time.Second

// Options completes a [Desk].
type Options struct {
	Store Store
	// Claim marks the desk of an id as one of a living process until release is
	// called or the process dies. It fails when a living process has it.
	Claim func(id string) (release func(), err error)
	NewID func() string
	Now   func() time.Time // time.Now when nil
	Log   *slog.Logger     // slog.Default when nil
}

// Desk is where calls of this process ask, and where people answer calls of
// all processes. It is safe for concurrent use.
type Desk struct {
	opts Options
	id   string

	mu      sync.Mutex
	release func()                   // of the claim; nil before the first request
	closed  bool                     // nobody can be asked any more
	waiting map[string]chan struct{} // by request; holds a token when it may have come to its end
	look    *look                    // for answers of other processes; nil while nobody waits
}

// New makes a desk. It opens nothing.
func New(o Options) *Desk {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Desk{opts: o, id: o.NewID(), waiting: map[string]chan struct{}{}}
}

// Ask asks whether a call may run and waits for the end of that. asked, which
// may be nil, is told on the caller's goroutine when people can answer; it is
// not when a grant allows the call, or when nobody can be asked. What can't be
// stored is a no.
func (d *Desk) Ask(ctx context.Context, r Request, asked func(tool.Approval)) tool.Approval {
	a := d.approval(r)
	key, err := KeyOf(r.Args)
	if err != nil {
		return d.refused(a, "its arguments can't be shown to anybody")
	}
	g, err := d.opts.Store.Use(ctx, a.Caller.ID, a.Agent, a.Tool, key, a.Admins, a.Created)
	switch {
	case err == nil:
		a.Status, a.Grant, a.By, a.Ended = tool.ApprovalAllowed, g.ID, g.By, a.Created
		return a
	case ctx.Err() != nil:
		return a.Stopped(context.Cause(ctx), d.now())
	case !errors.Is(err, ErrUnknown):
		d.opts.Log.Error("standing permissions can't be read", "err", err)
		return d.refused(a, "it can't be read what was permitted before")
	case r.Unasked != "":
		return d.refused(a, r.Unasked)
	case !r.Scope.CanAsk():
		return d.refused(a, unasked(a.Origin))
	}
	a.ID = d.opts.NewID()
	a.Expires = a.Created.Add(cmp.Or(r.Timeout, DefaultTimeout))
	answered, err := d.enter(ctx, a)
	if err != nil {
		d.opts.Log.Error("a request for approval can't be stored", "err", err)
		return d.refused(a, "the request can't be stored")
	}
	defer d.leave(a.ID)
	if asked != nil {
		asked(a)
	}
	return d.wait(ctx, a, answered)
}

// now is the time as it is stored.
func (d *Desk) now() time.Time { return d.opts.Now().UTC().Round(0) }

// unasked says why nobody can be asked from where a run comes from.
func unasked(o tool.Origin) string {
	switch o {
	case tool.FromChat:
		return "this command can't ask anybody (a terminal, goclaw chat and the page of a gateway can)"
	case tool.FromCron, tool.FromSOP, tool.FromWebhook, tool.FromSubagent:
		return "nobody can be asked from here (where a gateway serves, people answer on its page)"
	}
	return "nobody can be asked from here"
}

func (d *Desk) approval(r Request) tool.Approval {
	s := r.Scope
	return tool.Approval{
		Agent: s.Agent(), Session: s.Session(), Run: s.Run(), Call: r.Call, Origin: s.Origin(), Caller: s.Caller(),
		Tool: r.Tool, Args: r.Args, Rule: r.Rule, Reason: r.Reason, Where: r.Where, Admins: r.Admins,
		Status: tool.ApprovalOpen, Created: d.now(),
	}
}

// refused is a no because nobody can be asked.
func (d *Desk) refused(a tool.Approval, problem string) tool.Approval {
	a.ID, a.Expires = "", time.Time{}
	a.Status, a.Problem, a.Ended = tool.ApprovalDenied, problem, d.now()
	return a
}

// enter stores a request and returns what is told of its answer.
func (d *Desk) enter(ctx context.Context, a tool.Approval) (<-chan struct{}, error) {
	answered := make(chan struct{}, 1)
	d.mu.Lock()
	err := d.claim()
	if err == nil {
		d.waiting[a.ID] = answered
		d.looking()
	}
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := d.opts.Store.Open(ctx, d.id, a); err != nil {
		d.leave(a.ID)
		return nil, err
	}
	return answered, nil
}

// claim marks the desk as one of a living process. The caller holds d.mu.
func (d *Desk) claim() (err error) {
	if d.closed {
		return errors.New("the gateway is shutting down")
	}
	if d.release == nil && d.opts.Claim != nil {
		d.release, err = d.opts.Claim(d.id)
	}
	return err
}

// wait waits for the end of a request.
func (d *Desk) wait(ctx context.Context, a tool.Approval, answered <-chan struct{}) tool.Approval {
	late := time.NewTimer(a.Expires.Sub(d.opts.Now()))
	defer late.Stop()
	for {
		select {
		case <-answered:
		case <-late.C:
			return d.expire(ctx, a, tool.ApprovalExpired)
		case <-ctx.Done():
			return d.expire(ctx, a, tool.ApprovalStopped)
		}
		now, err := d.opts.Store.Get(ctx, a.ID)
		switch {
		case err == nil && now.Status != tool.ApprovalOpen:
			return now
		case errors.Is(err, ErrUnknown):
			a.Status, a.Ended = tool.ApprovalStopped, d.now() // somebody removed it
			return a
		case err != nil && ctx.Err() == nil:
			d.opts.Log.Debug("an answer can't be looked for now", "approval", a.ID, "err", err)
		}
	}
}

// expire ends a request that nobody answered; an answer that came at the same
// moment counts. What can't be stored is a no all the same.
func (d *Desk) expire(ctx context.Context, a tool.Approval, status tool.ApprovalStatus) tool.Approval {
	if a.Status, a.Ended = status, d.now(); status == tool.ApprovalStopped {
		a = a.Stopped(context.Cause(ctx), a.Ended)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	now, err := d.opts.Store.Close(ctx, a, nil)
	var closed *ClosedError
	switch {
	case err == nil:
		return now
	case errors.As(err, &closed) && status == tool.ApprovalExpired:
		return closed.Approval
	case errors.As(err, &closed):
		return a // the run is over, whatever was said
	}
	d.opts.Log.Error("the end of a request for approval can't be stored", "approval", a.ID, "err", err)
	return a
}

// Answer says what p answers to a request. The error is [ErrUnknown] also when
// it is none of p's business, [ErrAdmins] when p may see it and not answer, and
// a [*ClosedError] when it had come to its end before.
func (d *Desk) Answer(ctx context.Context, p auth.Principal, id string, answer tool.Answer) (tool.Approval, error) {
	a, err := d.opts.Store.Get(ctx, id)
	if err != nil {
		return tool.Approval{}, err
	}
	if err := MayAnswer(p, a); err != nil {
		return tool.Approval{}, err
	}
	if _, err := d.settle(ctx, a); err != nil { // then closing it says how it ended
		return tool.Approval{}, err
	}
	a.Status, a.Answer, a.By, a.Ended = tool.ApprovalAllowed, answer, p.ID, d.now()
	var g *Grant
	switch answer {
	case tool.AllowOnce:
	case tool.AllowAlways:
		if g, err = d.grant(p, a); err != nil {
			return tool.Approval{}, err
		}
		a.Grant = g.ID
	case tool.Deny:
		a.Status = tool.ApprovalDenied
	default:
		return tool.Approval{}, fmt.Errorf("answer an approval: %q is none of allow_once, allow_always and deny", answer)
	}
	if a, err = d.opts.Store.Close(ctx, a, g); err != nil {
		return tool.Approval{}, err
	}
	d.opts.Log.Info("an approval was answered", "approval", a.ID, "tool", a.Tool, "agent", a.Agent, "answer", string(answer), "by", p.ID)
	d.mu.Lock()
	defer d.mu.Unlock()
	if w := d.waiting[id]; w != nil {
		wake(w)
	}
	return a, nil
}

// Find finds the open request that a person means by the beginning of its id
// among those that f names; an empty one means the only one there is. The error
// says in words why it isn't plain.
func (d *Desk) Find(ctx context.Context, p auth.Principal, f Filter, id string) (tool.Approval, error) {
	f.Status, f.Limit = tool.ApprovalOpen, maxFound
	list, _, err := d.List(ctx, p, f)
	if err != nil {
		return tool.Approval{}, err
	}
	var found []tool.Approval
	for _, a := range list {
		if strings.HasPrefix(a.ID, id) {
			found = append(found, a)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && id == "":
		return tool.Approval{}, errors.New("nothing waits for approval here")
	case len(found) == 0:
		return tool.Approval{}, fmt.Errorf("nothing that waits for approval here has an id that begins with %s", id)
	}
	var names []string
	for _, a := range slices.Backward(found) {
		names = append(names, a.ID+" ("+a.Tool+")")
	}
	return tool.Approval{}, fmt.Errorf("several calls wait: say which by its id: %s", strings.Join(names, ", "))
}

// maxFound bounds among how many requests one is found.
const maxFound = 100

// grant is the standing permission that an answer makes.
func (d *Desk) grant(p auth.Principal, a tool.Approval) (*Grant, error) {
	key, err := KeyOf(a.Args)
	if err != nil {
		return nil, err
	}
	return &Grant{
		ID: d.opts.NewID(), Person: a.Caller.ID, Agent: a.Agent, Tool: a.Tool, Args: a.Args, Rule: a.Rule,
		By: p.ID, Admin: p.Role == auth.Admin, Created: a.Ended, Key: key,
	}, nil
}

// List lists requests that p may see: an admin all, others those of their runs.
func (d *Desk) List(ctx context.Context, p auth.Principal, f Filter) (list []tool.Approval, next string, err error) {
	if p.Role != auth.Admin {
		f.Caller = p.ID
	}
	list, next, err = d.opts.Store.List(ctx, f)
	if err != nil {
		return nil, "", err
	}
	changed, err := d.settle(ctx, list...)
	if err != nil {
		return nil, "", err
	}
	if changed {
		return d.opts.Store.List(ctx, f)
	}
	return list, next, nil
}

// settle closes what nobody waits for any more if something of that is among
// list: requests whose time is over, and those of dead processes. It reports
// whether it closed any.
func (d *Desk) settle(ctx context.Context, list ...tool.Approval) (changed bool, err error) {
	now, late, foreign := d.now(), false, false
	d.mu.Lock()
	for _, a := range list {
		if a.Status == tool.ApprovalOpen {
			late = late || !now.Before(a.Expires)
			foreign = foreign || d.waiting[a.ID] == nil
		}
	}
	d.mu.Unlock()
	expired, swept := 0, 0
	if late {
		if expired, err = d.opts.Store.Expire(ctx, now); err != nil {
			return false, err
		}
	}
	if foreign {
		swept, err = d.Sweep(ctx)
	}
	return expired+swept > 0, err
}

// Grants lists the grants that p may see: an admin all, others their own.
func (d *Desk) Grants(ctx context.Context, p auth.Principal) ([]Grant, error) {
	return d.opts.Store.Grants(ctx, own(p))
}

// Granted is the grant by which a call with these arguments would pass without
// anybody being asked, if there is one; admins says that only one that an admin
// gave counts. Nothing is noted as used.
func (d *Desk) Granted(ctx context.Context, caller, agent, toolName string, args json.RawMessage, admins bool) (Grant, bool, error) {
	key, err := KeyOf(args)
	if err != nil {
		return Grant{}, false, nil // such a call is refused
	}
	g, err := d.opts.Store.Find(ctx, caller, agent, toolName, key, admins)
	if errors.Is(err, ErrUnknown) {
		return Grant{}, false, nil
	}
	return g, err == nil, err
}

// Revoke takes a grant back, from the next call on. The error is [ErrUnknown]
// also when it is another person's and p is no admin.
func (d *Desk) Revoke(ctx context.Context, p auth.Principal, id string) error {
	return d.opts.Store.Revoke(ctx, id, own(p))
}

// own is the person to whom p is limited; empty when p is not.
func own(p auth.Principal) string {
	if p.Role == auth.Admin {
		return ""
	}
	return p.ID
}

// Sweep closes what dead processes left open and says how many requests.
func (d *Desk) Sweep(ctx context.Context) (int, error) {
	if d.opts.Claim == nil {
		return 0, nil // nobody can be seen to live
	}
	desks, err := d.opts.Store.Desks(ctx)
	if err != nil {
		return 0, fmt.Errorf("close requests that nobody waits for: %w", err)
	}
	swept := 0
	for _, id := range desks {
		if id == d.id {
			continue
		}
		release, err := d.opts.Claim(id)
		if err != nil {
			continue // its process lives
		}
		n, err := d.opts.Store.Abandon(ctx, id, d.now())
		release()
		if err != nil {
			return swept, fmt.Errorf("close requests that nobody waits for: %w", err)
		}
		swept += n
	}
	return swept, nil
}

// Purge removes requests that ended before the given time and says how many.
func (d *Desk) Purge(ctx context.Context, before time.Time) (int, error) {
	return d.opts.Store.Purge(ctx, before)
}

// Close gives back the mark of this process. Whoever waits then has been
// stopped before.
func (d *Desk) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.release != nil {
		d.release()
		d.release = nil
	}
}
