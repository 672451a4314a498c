// Package run starts, queues, steers and stops runs. It alone drives the loop
// and it alone mints scopes, from a request whose caller the front end has
// established.
//
// Life: a [Runner] is made once per process. Start returns as soon as the run
// has its place; one goroutine per busy session then drives that session's
// runs one after the other, so that runs of one session never overlap. A run
// goes on when its viewers leave. [Runner.Close] stops every run and waits for
// the goroutines. A finished run's events stay readable for a while; a slow
// viewer never blocks the loop, it gets chunks of text merged instead.
//
// Start reading at [Runner.Start], then drive in lane.go.
package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Busy says what a message does that arrives while its session's run is going.
type Busy string

const (
	Queue     Busy = "queue"     // it waits its turn
	Steer     Busy = "steer"     // it is handed to the running loop between two model calls
	Interrupt Busy = "interrupt" // it stops the run and is handled next
)

// Options completes a [Runner].
type Options struct {
	// Profile resolves an agent's id; main and default name the default agent.
	Profile func(id string) (Profile, error)
	// Hold keeps other processes out of a session until release is called. It
	// waits while another one holds it.
	Hold func(ctx context.Context, key session.Key) (release func(), err error)
	// WhileBusy is Queue when empty.
	WhileBusy Busy
	// Keep is how many finished runs stay readable; 64 when 0.
	Keep int
	Now  func() time.Time // time.Now when nil
}

// Profile is what a run needs to know of its agent.
type Profile struct {
	ID        string
	Loop      *agent.Agent // its Watch is set by the runner
	Model     string
	Workspace string
	Skills    tool.List
	Limits    agent.Limits
}

// Request asks for a run. Caller is whom the front end found to be there; no
// part of a request widens what that caller may do.
type Request struct {
	Agent    string // empty means the default agent
	Session  string // empty means a new one
	Origin   tool.Origin
	Caller   auth.Principal
	Delivery tool.Delivery
	Message  llm.Message
	Model    string // overrides the agent's model for this run

	Cap      tool.List
	Declared tool.List
}

// Runner starts runs and knows those that are going.
type Runner struct {
	opts Options
	wg   sync.WaitGroup
	base context.Context
	stop context.CancelCauseFunc

	mu       sync.Mutex
	closed   bool
	lanes    map[session.Key]*lane
	runs     map[string]*Run
	finished []string // ids of finished runs, oldest first
}

// ErrClosed says that the runner takes no more runs.
var ErrClosed = errors.New("the gateway is shutting down")

// errStopped is the cause of a run that its person stopped.
var errStopped = errors.New("stopped")

// New returns a runner.
func New(o Options) *Runner {
	if o.WhileBusy == "" {
		o.WhileBusy = Queue
	}
	if o.Keep == 0 {
		o.Keep = 64
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	base, stop := context.WithCancelCause(context.Background())
	return &Runner{opts: o, base: base, stop: stop, lanes: map[session.Key]*lane{}, runs: map[string]*Run{}}
}

// Scope mints the scope that a run of req would have, for looking at tools or
// calling one outside a run. Without a session it belongs to none.
func (r *Runner) Scope(req Request) (tool.Scope, Profile, error) {
	p, err := r.opts.Profile(req.Agent)
	if err != nil {
		return tool.Scope{}, Profile{}, err
	}
	return scope(p, req, session.NewID()), p, nil
}

func scope(p Profile, req Request, id string) tool.Scope {
	return tool.NewScope(tool.Facts{
		Agent: p.ID, Session: req.Session, Run: id, Origin: req.Origin, Caller: req.Caller,
		Workspace: p.Workspace, Delivery: req.Delivery, Cap: req.Cap, Declared: req.Declared, Skills: p.Skills,
	})
}

// Start gives req its place and returns the run that handles it: a new one, or
// the going one when it is steered. The run doesn't end with anybody's context.
func (r *Runner) Start(req Request) (*Run, error) {
	p, err := r.opts.Profile(req.Agent)
	if err != nil {
		return nil, err
	}
	if len(req.Message.Parts) == 0 {
		return nil, errors.New("start a run: the message is empty")
	}
	if !req.Caller.Role.Valid() || req.Origin == "" {
		return nil, fmt.Errorf("start a run: no caller or origin (%q, %q)", req.Caller.Role, req.Origin)
	}
	if req.Session == "" {
		req.Session = session.NewID()
	}
	run := newRun(r, p, req)

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, ErrClosed
	}
	k := session.Key{Agent: p.ID, ID: req.Session}
	l := r.lanes[k]
	if l == nil {
		l = &lane{key: k, active: run}
		r.lanes[k] = l
		r.runs[run.ID] = run
		r.wg.Add(1)
		go r.drive(l, run)
		return run, nil
	}
	switch {
	case r.opts.WhileBusy == Steer && l.active.steer(req):
		run.cancel(nil)
		return l.active, nil
	case r.opts.WhileBusy == Interrupt:
		// Behind those that interrupted before it: what was said first is
		// handled first.
		l.waiting = append(l.waiting, run)
		l.active.cancel(errStopped)
	default:
		l.waiting = append(l.waiting, run)
		run.log.append(agent.Event{Type: agent.Notice, Kind: "queued", Text: "waiting for the session's current run to end"})
	}
	r.runs[run.ID] = run
	return run, nil
}

// Run returns a run that is going or ended not long ago.
func (r *Runner) Run(id string) (*Run, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run, ok := r.runs[id]
	return run, ok
}

// StopSession stops the going run of a session and returns whether there was one.
// Messages that wait stay in the queue.
func (r *Runner) StopSession(key session.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lanes[key]
	if l == nil {
		return false
	}
	l.active.cancel(errStopped)
	return true
}

// Close takes no more runs, stops those that are going and waits for them, at
// most until ctx ends.
func (r *Runner) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(ErrClosed)
	done := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close the runner: %w", ctx.Err())
	}
}
