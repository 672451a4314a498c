// Package gateway builds the product out of its rooms, in one readable order:
// configuration, log, state, blobs, models, plugins, history, workspaces, pool,
// runner, and each agent when it is first asked for.
//
// Life: [Open] opens everything that can fail and leaves nothing half open.
// One-shot commands open a gateway, ask it and close it; they work beside a
// running one on the same home folder. [Gateway.Close] stops runs, waits for
// them, and closes what Open opened in the opposite order.
//
// Start reading at [Open], then agent.go.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/extend/host"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/plugin"
)

// Options says where a gateway lives and what it is built with.
type Options struct {
	Home    string // absolute
	Environ config.Environ
	Plugins []plugin.Plugin
	// AllowDemo lets the demo model answer when no provider is set up.
	AllowDemo bool
	// Log makes the process's log from the configuration.
	Log func(config.Log) (*slog.Logger, error)
}

// Gateway is everything that runs agents in this process.
type Gateway struct {
	Config   *config.Config
	Runner   *run.Runner
	Sessions session.Store
	Users    auth.Users

	opts    Options
	log     *slog.Logger
	store   *builtin.Store
	blobs   *blob.Keeper
	pool    *pool.Pool
	models  *models
	plugins *host.Host
	history *session.History
	holds   *session.Holds

	workspaces *workspace.Set

	mu     sync.Mutex
	agents map[string]*Agent
}

// System is the caller of work that acts for no one in particular.
var System = auth.Principal{ID: "system", Role: auth.System}

// stateFile is the database's name within the home folder.
const stateFile = "state.db"

// How long Close waits: for runs that were stopped, and then for tools that did
// not stop when they were told to. Those are left behind; the process ends.
const (
	closeWithin = 10 * time.Second
	poolWithin  = 500 * time.Millisecond
)

// Open builds a gateway on its home folder, which is made when it is missing.
func Open(ctx context.Context, o Options) (g *Gateway, err error) {
	c, err := config.Load(config.Options{Home: o.Home, Environ: o.Environ})
	if err != nil {
		return nil, err
	}
	log, err := o.Log(c.Log)
	if err != nil {
		return nil, err
	}
	store, err := builtin.OpenStore(ctx, c.State.DSN, filepath.Join(o.Home, stateFile))
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
		blob.Spill: {TTL: c.Outputs.TTL, Entries: c.Outputs.MaxEntries, Bytes: c.Outputs.MaxBytes},
	}})
	g.models = newModels(c, o)
	g.plugins = host.New(log)
	if err := g.plugins.Load(o.Plugins...); err != nil {
		// A broken plugin costs only itself; explaining finds its note.
		log.Warn("plugin not loaded", "err", err)
	}
	g.holds = session.NewHolds(filepath.Join(o.Home, "state", "locks"))
	g.history = session.NewHistory(store.Sessions, time.Now)
	if err := g.sweep(ctx); err != nil {
		return nil, err
	}
	g.workspaces = workspace.NewSet()
	g.pool = pool.New(pool.Options{Workers: c.Tools.Pool.Workers, Queue: c.Tools.Pool.Queue})
	if err := c.KeepLastGood(); err != nil {
		// It only matters on the day when the file breaks.
		log.Warn("configuration not kept for later", "err", err)
	}
	g.Runner = run.New(run.Options{Profile: g.Profile, Hold: g.hold, WhileBusy: run.Busy(c.Sessions.WhileBusy)})
	return g, nil
}

// sweep closes what dead processes left open, in sessions that no living one
// holds.
func (g *Gateway) sweep(ctx context.Context) error {
	swept, err := g.history.Sweep(ctx, g.holds)
	if err != nil {
		return fmt.Errorf("close what was interrupted: %w", err)
	}
	if swept.Turns > 0 || swept.Calls > 0 {
		g.log.Info("closed what was interrupted", "turns", swept.Turns, "calls", swept.Calls)
	}
	return nil
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

// DeleteSession removes a session with all that is kept of it. It fails with
// session.ErrHeld while a run holds the session.
func (g *Gateway) DeleteSession(ctx context.Context, key session.Key) error {
	return session.Delete(ctx, g.Sessions, g.holds, key)
}

// Close stops what runs and closes what Open opened.
func (g *Gateway) Close(ctx context.Context) error {
	runs, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	err := g.Runner.Close(runs)
	tools, cancel := context.WithTimeout(ctx, poolWithin)
	defer cancel()
	if err := g.pool.Close(tools); err != nil {
		g.log.Warn("tools were left behind", "err", err)
	}
	return errors.Join(err, g.workspaces.Close(), g.store.Close())
}
