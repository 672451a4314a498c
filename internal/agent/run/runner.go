package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/hook"
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
	// Model says why the model that a request names can't be asked, nil when it
	// can. Without it every name is taken.
	Model func(name string) error
	// Hold keeps other processes out of a session until release is called. It
	// waits while another one holds it, and calls busy when it has to.
	Hold func(ctx context.Context, key session.Key, busy func()) (release func(), err error)
	// Inbox keeps the messages that wait. Without one they are lost with the
	// process.
	Inbox Inbox
	// History writes into a session that one of its messages can't be run any
	// more. It is required beside Inbox.
	History agent.History
	// Owner says who began a session; known is false for one that doesn't
	// exist. Without it everybody may go on in every session.
	Owner func(ctx context.Context, key session.Key) (id string, known bool, err error)
	// Vouch says whether the caller of a run may still be acted for: a
	// *tool.Disowned when not. It is asked when a run begins whose message waited,
	// and again and again while runs go. Without it all may, and commands, which
	// act for whom they are told to, ask nobody.
	Vouch func(ctx context.Context, caller auth.Principal) error
	// Observe is told of every event as it happens, in order within a run. It
	// runs on the loop's way and must not wait for anything.
	Observe func(agent.Event)
	// Spent is told, in the same way, of model calls when what they used is
	// stored. The list is only to be read, and not to be kept.
	Spent func([]agent.Spent)
	// Hooks are consulted before a turn's prompts are built, and told what
	// happens; nil has none.
	Hooks *hook.Bus
	// Budget holds runs to limits; nil to none.
	Budget *budget.Keeper
	// Ended is told of each run that ended, after its last event and before its
	// viewers are at the end. Of one that is parked the process that runs it
	// tells.
	Ended func(*Run)
	// Change applies effects to the state of a session, as [session.Store] does.
	// Without it nothing can be switched in one.
	Change func(ctx context.Context, key session.Key, at time.Time, made *session.Session, effects ...tool.Effect) (tool.State, error)
	// WhileBusy is Queue when empty.
	WhileBusy Busy
	// Waiting is how many messages may wait in one session; 100 when 0.
	Waiting int
	// PerPerson is how many runs of one person may be going or wait, in all
	// sessions together; 512 when 0. Runs that [Runner.Recover] takes up count,
	// and are taken up however many they are.
	PerPerson int
	// Keep is how many finished runs stay readable; 64 when 0.
	Keep int
	// KeepBytes is about how much all of them may hold; 32 MiB when 0. The last
	// one stays whatever its size.
	KeepBytes int
	Now       func() time.Time // time.Now when nil
}

// Profile is what a run needs to know of its agent.
type Profile struct {
	ID        string
	Loop      *agent.Agent // its Watch is set by the runner
	Model     string
	Workspace string
	Skills    tool.List
	Limits    agent.Limits
	// Lend gives a run tools of its own until revoke is called; see Request.Bound.
	Lend func(run string, tools ...tool.Tool) (revoke func(), err error)
	// Bring does the same with tools of an API client for the run of a turn; see
	// Request.Brought. It tells of those that it leaves out.
	Bring func(ctx context.Context, t agent.Turn, b tool.Brought) (skipped []tool.Note, revoke func(), err error)
	// Receive has what a client answered to calls, in what the turn begins with,
	// become what a model is shown. Without it that is shown as it comes.
	Receive func(ctx context.Context, t agent.Turn) (agent.Turn, error)
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

	// ID is the run's id when the front end chose it, so that a message which
	// is sent again finds its run: Start then returns the run that has the id.
	// It has the form of session.NewID; [IDOf] makes one. Empty makes a new one.
	ID string
	// WhileBusy goes before Options.WhileBusy for this message.
	WhileBusy Busy
	// Asked is a hash of what the client asked, kept with its turn; empty for none.
	// Whoever finds the run by its id can tell so whether it asks the same.
	Asked string
	// System is what an API client says to the model besides the person's
	// words. It stands in the session context, for this run.
	System string
	// Seed is the conversation that a new session begins with, as an API client
	// tells it: people's messages and answers in turn. A session that exists
	// ignores it.
	Seed []llm.Message
	// Plan has the run begin in plan mode: a subagent inherits it so, and a
	// session may begin with it.
	Plan bool
	// Fresh keeps the run from being answered out of the cache of answers, as a
	// step of a procedure is.
	Fresh bool
	// CanAsk says that the front end asks its person for approvals. Where a
	// gateway serves, people can be asked in any case: they answer on its page.
	CanAsk bool

	// What narrows the run; see [tool.Facts].
	Cap      tool.List
	Declared tool.List
	Allow    tool.List
	Deny     []string
	Sandbox  bool
	Flush    bool
	Depth    int
	Client   []string

	// Brought are tools that an API client brings with the message: the run ends
	// with a call of one, and the client's next message has its result. Choice
	// is what the client demands of the answer.
	Brought tool.Brought
	Choice  agent.ToolChoice

	// Bound are tools that the host lends to this run alone, as a flow that sets
	// something up does; no front end has a way to bring some. They end with the
	// run, and with the process: a message that waited for another one is
	// handled without.
	Bound []tool.Tool
}

// System is the caller of work that acts for no one in particular.
var System = auth.Principal{ID: string(auth.System), Role: auth.System}

// ActsFor is whom a run of an origin acts for that an admin looks at or starts
// by hand and names nobody: a schedule acts for no person, whoever tries it.
func ActsFor(o tool.Origin, by auth.Principal) auth.Principal {
	if o.Unattended() && by.Role == auth.Admin {
		return System
	}
	return by
}

// Runner starts runs and knows those that are going.
type Runner struct {
	opts Options
	wg   sync.WaitGroup
	base context.Context
	stop context.CancelCauseFunc

	watchers watchers
	vouching vouching

	mu       sync.Mutex
	closed   bool // no more messages are taken
	draining bool // what has not begun is left to the next start
	serving  bool // a gateway serves: what waits for another process is kept, too, and people can be asked
	lanes    map[session.Key]*lane
	affects  map[session.Key]*affecting
	runs     map[string]*Run
	queued   time.Time // of the last message
	finished []ended   // oldest first
	size     int       // of finished
}

// ended is a finished run that is kept, with its size.
type ended struct {
	run  *Run
	size int
}

var (
	// ErrClosed says that the runner takes no more runs.
	ErrClosed = errors.New("the gateway is shutting down")
	// ErrFull says that too many messages wait in the session.
	ErrFull = errors.New("too many messages wait in this session already: wait until some are answered, or stop it")
	// ErrCrowded says that too many runs of the person are going or wait.
	ErrCrowded = errors.New("too many of your runs are going or wait already: wait until some have ended, or stop some")
	// ErrNotYours says that the session, or the run whose id was given, belongs
	// to somebody else.
	ErrNotYours = errors.New("this session is somebody else's: begin one of your own")
)

// errStopped is the cause of a run that its person stopped.
var errStopped = errors.New("stopped")

// storeLimit bounds how long Start waits for the inbox, and whoever withdraws
// a message.
const storeLimit = 30 * time.Second

// New returns a runner.
func New(o Options) *Runner {
	if o.WhileBusy == "" {
		o.WhileBusy = Queue
	}
	if o.Waiting == 0 {
		o.Waiting = 100
	}
	if o.PerPerson == 0 {
		o.PerPerson = 512
	}
	if o.Keep == 0 {
		o.Keep = 64
	}
	if o.KeepBytes == 0 {
		o.KeepBytes = 32 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	base, stop := context.WithCancelCause(context.Background())
	return &Runner{opts: o, base: base, stop: stop, lanes: map[session.Key]*lane{}, affects: map[session.Key]*affecting{}, runs: map[string]*Run{}}
}

// CheckModel says why the model that a request names can't be asked. No name is
// that of the agent's own.
func (r *Runner) CheckModel(name string) error {
	if name == "" || r.opts.Model == nil {
		return nil
	}
	return r.opts.Model(name)
}

// resolve finds what req names: its agent, and the model if it names one.
func (r *Runner) resolve(req Request) (Profile, error) {
	p, err := r.opts.Profile(req.Agent)
	if err != nil {
		return Profile{}, err
	}
	return p, r.CheckModel(req.Model)
}

// Scope mints the scope that a run of req would have, for looking at tools or
// calling one outside a run. Without a session it belongs to none.
func (r *Runner) Scope(req Request) (tool.Scope, Profile, error) {
	p, err := r.resolve(req)
	if err != nil {
		return tool.Scope{}, Profile{}, err
	}
	return r.scope(p, req, session.NewID()), p, nil
}

func (r *Runner) scope(p Profile, req Request, id string) tool.Scope {
	return tool.NewScope(tool.Facts{
		Agent: p.ID, Session: req.Session, Run: id, Origin: req.Origin, Caller: req.Caller,
		Workspace: p.Workspace, Delivery: req.Delivery, CanAsk: req.CanAsk || r.isServing(), Cap: req.Cap, Declared: req.Declared, Skills: p.Skills,
		Allow: req.Allow, Deny: req.Deny, Sandbox: req.Sandbox, Flush: req.Flush, Depth: req.Depth, Client: req.Client,
	})
}

// isServing reports whether the runner is a gateway's that serves.
func (r *Runner) isServing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.serving
}

// Run returns a run that waits, is going or ended not long ago.
func (r *Runner) Run(id string) (*Run, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run, ok := r.runs[id]
	return run, ok
}

// Session returns the run that is going in a session, nil when none is, and
// those that wait: first those that are to join it, then the others in the
// order in which they are handled.
func (r *Runner) Session(key session.Key) (going *Run, waiting []*Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lanes[key]
	if l == nil {
		return nil, nil
	}
	return l.active, l.all()
}

// Count says how many runs are going and how many wait.
func (r *Runner) Count() (going, waiting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lanes {
		waiting += len(l.waiting) + len(l.joining)
	}
	return len(r.lanes), waiting
}

// retire keeps an ended run readable and forgets the oldest ones.
func (r *Runner) retire(run *Run) {
	size := run.size()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = append(r.finished, ended{run, size})
	r.size += size
	for len(r.finished) > 1 && (len(r.finished) > r.opts.Keep || r.size > r.opts.KeepBytes) {
		oldest := r.finished[0]
		r.finished[0] = ended{}
		r.finished, r.size = r.finished[1:], r.size-oldest.size
		delete(r.runs, oldest.run.ID)
	}
}
