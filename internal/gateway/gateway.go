// Package gateway builds the product out of its rooms, in one readable order:
// configuration, log, state, blobs, models, plugins, history, workspaces, pool,
// runner, and each agent when it is first asked for.
//
// Life: [Open] opens everything that can fail and leaves nothing half open.
// One-shot commands open a gateway, ask it and close it; they work beside a
// running one on the same home folder. [Gateway.Serve] answers HTTP until it is
// told to end, and then lets runs finish; one gateway serves a home folder.
// [Gateway.Close] stops runs, waits for them, and closes what Open opened in
// the opposite order.
//
// Start reading at [Open], then agent.go; serve.go for what answers HTTP, and
// backend.go for what it asks.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/engine/cache"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/engine/preset"
	"github.com/goclaw/goclaw/internal/extend/host"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/gateway/telemetry"
	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/plugin"
)

// Options says where a gateway lives and what it is built with.
type Options struct {
	Home    string // absolute
	Version string // of the program
	Environ config.Environ
	Plugins []plugin.Plugin
	// LastGood opens on the last good configuration when the file is broken. It
	// is for what has to keep running; Config.Notice then says so.
	LastGood bool
	// AllowDemo lets the demo model answer when no provider is set up.
	AllowDemo bool
	// OllamaWithin is how long a local Ollama may take to say that it is there,
	// where nothing else decides which model answers; half a second when 0.
	OllamaWithin time.Duration
	// Program runs the scripts of tool_code; without one there are none.
	Program builtin.Program
	// Log makes the process's log from the configuration.
	Log func(config.Log) (*slog.Logger, error)
}

// Gateway is everything that runs agents in this process.
type Gateway struct {
	Config   *config.Config
	Runner   *run.Runner
	Sessions session.Store
	Users    auth.Users
	// Approvals is where calls ask people and people answer them.
	Approvals *approval.Desk
	// Presets are the calls that people wrote down.
	Presets *preset.Book

	opts    Options
	log     *slog.Logger
	store   *builtin.Store
	blobs   *blob.Keeper
	pool    *pool.Pool
	scripts *builtin.Scripts
	results *cache.Cache // of tools; nil when the cache is off
	models  *models
	budget  *budget.Keeper
	plugins *host.Host
	history *session.History
	holds   *session.Holds
	ledger  *ledger

	workspaces *workspace.Set

	// Hooks consults the rules of the configuration and the handlers of plugins.
	Hooks *hook.Bus
	rules rules

	pluginProblem string
	forsaken      string // see [Gateway.Forsaken]; set when the gateway serves

	// What follows is set while the gateway serves.
	started  time.Time
	serving  atomic.Bool
	disks    atomic.Pointer[[]DiskProblem] // as they were last looked at
	ready    atomic.Bool
	stopping atomic.Bool
	metrics  atomic.Pointer[telemetry.Metrics]
	// announce tells other processes the digest of the configuration that is
	// acted on. It is called with rules.edit held.
	announce func(digest string) error

	mu     sync.Mutex
	agents map[string]*Agent
}

// What is kept of files that people gave and no message has taken yet.
const (
	unusedFor    = 24 * time.Hour
	maxKept      = 1000
	maxKeptBytes = 1 << 30
)

// stateFile is the database's name within the home folder.
const stateFile = "state.db"

// How long Close waits: for runs that were stopped, then for tools that did not
// stop when they were told to, then for what hooks are still to be told. Those
// are left behind; the process ends.
const (
	closeWithin = 10 * time.Second
	poolWithin  = 500 * time.Millisecond
	hooksWithin = hook.DefaultTimeout + time.Second
)

// Open builds a gateway on its home folder, which is made when it is missing.
func Open(ctx context.Context, o Options) (g *Gateway, err error) {
	load := config.Load
	if o.LastGood {
		load = config.LoadOrLastGood
	}
	c, err := load(config.Options{Home: o.Home, Environ: o.Environ})
	if err != nil {
		return nil, err
	}
	log, err := o.Log(c.Log)
	if err != nil {
		return nil, err
	}
	store, err := builtin.OpenStore(ctx, builtin.StoreOptions{
		DSN: c.State.DSN, Path: o.statePath(), Version: o.Version, MayMigrate: o.mayMigrate,
		Migrated: func(from, to int, copy string) {
			// Everybody is to know where the copy is.
			log.Warn("the state database was brought up to date", "from", from, "to", to, "copy", copy)
		},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, store.Close())
		}
	}()
	g = &Gateway{Config: c, Sessions: store.Sessions, Users: store.Users, opts: o, log: log, store: store, agents: map[string]*Agent{}}
	g.blobs = blob.NewKeeper(store.Blobs, blob.Options{Limits: map[blob.Kind]blob.Limits{
		blob.Attachment: {TTL: unusedFor, Entries: maxKept, Bytes: maxKeptBytes},
		blob.Spill:      {TTL: c.Outputs.TTL, Entries: c.Outputs.MaxEntries, Bytes: c.Outputs.MaxBytes},
	}})
	answers := provider.Cache{Log: log}
	if c.Cache.Enabled && c.Cache.LLM.Enabled {
		answers.Answers, answers.TTL = store.Answers, c.Cache.LLM.TTL
	}
	g.Hooks = hook.New(log)
	g.rules.digest = c.Digest()
	g.useRules(c.Hooks)
	g.models = newModels(c, o, answers)
	g.budget = budget.New(budget.Options{Ledger: store.Ledger, Limits: limitsOf(c), Cost: g.models.set.Cost})
	g.plugins = host.New(log, g.Hooks)
	if err := g.plugins.Load(o.Plugins...); err != nil {
		// A broken plugin costs only itself; explaining finds its note.
		log.Warn("plugin not loaded", "err", err)
		g.pluginProblem = "plugin not loaded: " + err.Error()
	}
	g.holds = session.NewHolds(filepath.Join(o.Home, "state", "locks"))
	g.ledger = &ledger{Calls: store.Calls, holds: g.holds}
	g.history = session.NewHistory(store.Sessions, time.Now)
	g.Presets = preset.NewBook(store.Presets, log)
	g.Presets.Fits = g.fits
	g.Approvals = approval.New(approval.Options{Store: store.Approvals, Claim: g.claimDesk, NewID: session.NewID, Log: log})
	if err := g.sweep(ctx); err != nil {
		return nil, err
	}
	g.workspaces = workspace.NewSet()
	g.scripts = builtin.NewScripts(o.Program)
	if c.Cache.Enabled {
		g.results = cache.New(cache.Options{Entries: c.Cache.Tools.Size, TTL: c.Cache.Tools.TTL})
	}
	g.pool = pool.New(pool.Options{Workers: c.Tools.Pool.Workers, Queue: c.Tools.Pool.Queue})
	if err := c.KeepLastGood(); err != nil {
		// It only matters on the day when the file breaks.
		log.Warn("configuration not kept for later", "err", err)
	}
	g.Runner = run.New(run.Options{
		Profile: g.Profile, Model: g.models.check, Hold: g.hold, WhileBusy: run.Busy(c.Sessions.WhileBusy),
		Inbox: store.Inbox, History: g.history, Owner: g.owner, Vouch: g.vouch,
		Change: store.Sessions.Change, Observe: g.observe, Spent: g.spent, Ended: g.ended, Budget: g.budget, Hooks: g.Hooks,
	})
	return g, nil
}

// statePath is where the state database is.
func (o Options) statePath() string { return filepath.Join(o.Home, stateFile) }

// mayMigrate keeps a program from changing the schema of the state database
// under a gateway of an older version, which would fail from then on.
func (o Options) mayMigrate(from, to int) error {
	i, running, err := Running(o.Home)
	switch {
	case err != nil:
		return err
	case !running:
		return nil
	}
	who := "a gateway that is just starting or stopping"
	if i.Address != "" {
		who = fmt.Sprintf("the gateway of version %s (process %d)", i.Version, i.PID)
	}
	return fmt.Errorf("this version, %s, would change its schema from %d to %d under %s: stop that one first; what is there before the change is copied", o.Version, from, to, who)
}

// observe counts what happens in runs, while the gateway serves.
func (g *Gateway) observe(e agent.Event) {
	if m := g.metrics.Load(); m != nil {
		m.Observe(e)
	}
}

// spent counts what model calls used, while the gateway serves.
func (g *Gateway) spent(calls []agent.Spent) {
	if m := g.metrics.Load(); m != nil {
		m.Spent(calls)
	}
}

// sweep closes what dead processes left open: turns and calls, in sessions that
// no living one holds, and requests for approval.
func (g *Gateway) sweep(ctx context.Context) error {
	swept, err := g.history.Sweep(ctx, g.holds)
	if err != nil {
		return fmt.Errorf("close what was interrupted: %w", err)
	}
	if swept.Turns > 0 || swept.Calls > 0 {
		g.log.Info("closed what was interrupted", "turns", swept.Turns, "calls", swept.Calls)
	}
	if err := g.sweepCalls(ctx); err != nil {
		return err
	}
	lost, err := g.Approvals.Sweep(ctx)
	if err == nil && lost > 0 {
		g.log.Info("closed requests for approval that nobody waits for any more", "requests", lost)
	}
	return err
}

// sweepCalls closes what dead processes left open of calls by hand and of calls
// that tools made.
func (g *Gateway) sweepCalls(ctx context.Context) error {
	closed, err := g.ledger.sweep(ctx)
	if err != nil {
		return fmt.Errorf("close calls that were interrupted: %w", err)
	}
	if closed > 0 {
		g.log.Info("closed calls by hand, or of scripts, that were interrupted", "calls", closed)
	}
	return nil
}

// deskHolds is under which agent's name the marks of desks lie beside the holds
// of sessions. No agent has it.
const deskHolds = ".approvals"

// claimDesk marks a desk as one of a living process.
func (g *Gateway) claimDesk(id string) (release func(), err error) {
	return g.holds.Try(session.Key{Agent: deskHolds, ID: id})
}

// hold keeps a session to one run among all processes.
func (g *Gateway) hold(ctx context.Context, key session.Key, busy func()) (func(), error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	release, err := g.holds.Try(key)
	if errors.Is(err, session.ErrHeld) {
		busy()
		return g.holds.Hold(ctx, key)
	}
	return release, err
}

// owner says who began a session.
func (g *Gateway) owner(ctx context.Context, key session.Key) (id string, known bool, err error) {
	list, _, err := g.Sessions.Sessions(ctx, session.Filter{Agent: key.Agent, ID: key.ID, Limit: 1})
	if err != nil || len(list) == 0 {
		return "", false, err
	}
	return list[0].Caller.ID, true, nil
}

// vouch reports whether a person still is who they were when they said
// something, with a [*tool.Disowned] when not. Who works on the command line of this machine needs no account,
// and neither does GOCLAW_TOKEN.
func (g *Gateway) vouch(ctx context.Context, p auth.Principal) error {
	a, err := g.Users.Get(ctx, p.ID)
	switch {
	case errors.Is(err, auth.ErrUnknown):
		if p.Role == auth.System || p.ID == auth.FirstAdmin || p.ID == p.Role.LocalID() {
			return nil
		}
		return tool.Removed(p.ID)
	case err != nil:
		return fmt.Errorf("look who %s is: %w", p.ID, err)
	case p.Role == auth.Admin && a.Role != auth.Admin:
		return &tool.Disowned{Why: p.ID + " is no admin now"}
	}
	return nil
}

// Close stops what runs and closes what Open opened. The end of ctx is not waited
// out for more than observers: what they are still to be told is dropped then, and
// the log says so.
func (g *Gateway) Close(ctx context.Context) error {
	whole := context.WithoutCancel(ctx)
	runs, cancel := context.WithTimeout(whole, closeWithin)
	defer cancel()
	err := g.Runner.Close(runs)
	tools, cancel := context.WithTimeout(whole, poolWithin)
	defer cancel()
	if err := g.pool.Close(tools); err != nil {
		g.log.Warn("tools were left behind", "err", err)
	}
	hooks, cancel := context.WithTimeout(ctx, hooksWithin)
	defer cancel()
	if err := g.Hooks.Close(hooks); err != nil {
		g.log.Warn("hooks were left behind", "err", err)
	}
	g.Approvals.Close()
	g.ledger.close()
	return errors.Join(err, g.workspaces.Close(), g.store.Close())
}
