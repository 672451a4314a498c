package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent/prompt"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/gateway/telemetry"
	"github.com/goclaw/goclaw/internal/gateway/web"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/lib/resident"
	"github.com/goclaw/goclaw/internal/lib/supervisor"
)

// ServeOptions say how a gateway serves. The zero value is what the
// configuration says.
type ServeOptions struct {
	// Listen goes before gateway.listen.
	Listen string
	// Drain is how long runs may take to finish when the gateway is to stop; 10
	// seconds when 0, not at all when negative.
	Drain time.Duration
	// Ready is called once, when requests are answered.
	Ready func(Instance)
	// Stopping is called once, when the gateway is to stop, with what it waits
	// for.
	Stopping func(going, waiting int)
}

const (
	// drainWithin is how long runs may take to finish when nobody says otherwise.
	drainWithin = 10 * time.Second
	// partWithin is how long those who read answers may take when all runs have
	// ended, and how long the background's work may.
	partWithin = 2 * time.Second
	// houseEvery is how often what has expired is cleared away.
	houseEvery = 10 * time.Minute
	// approvalsKept is how long requests that ended are listed. Their outcome
	// stands with the call for good.
	approvalsKept = 30 * 24 * time.Hour
)

// service is a gateway that serves.
type service struct {
	*Gateway
	opts  ServeOptions
	claim *claim
	at    *place
	url   string
	api   *api.Server
	http  *http.Server
	group *supervisor.Group
	// faulty says that the log was told that nothing can be stored. Only
	// watchDisks uses it.
	faulty bool
	// hangUp ends the context of all requests.
	hangUp context.CancelFunc
}

// Serve answers HTTP until ctx ends, then stops: it says at /readyz that it
// takes no more work, lets runs finish for a while and stops those that don't,
// keeps the messages that wait for the next start, ends all streams, and
// returns. It may be called once. The error is a [*RunningError] when another
// gateway serves the home folder. The caller closes the gateway afterwards.
//
// While it serves, nothing here is restarted by itself: a listener that fails
// ends Serve with its error.
func (g *Gateway) Serve(ctx context.Context, o ServeOptions) (err error) {
	if o.Drain == 0 {
		o.Drain = drainWithin
	}
	if o.Listen == "" {
		o.Listen = g.Config.Gateway.Listen
	}
	g.started = time.Now()
	g.serving.Store(true)
	s := &service{Gateway: g, opts: o}
	if s.claim, err = claimHome(ctx, g.opts.Home); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.claim.release()) }()
	if err := s.open(ctx); err != nil {
		return err
	}
	failed := make(chan error, 1)
	s.group.Go("http", func(context.Context) error {
		failed <- s.http.Serve(s.at)
		return nil
	})
	s.group.Every("housekeeping", houseEvery, s.tidy)
	s.group.Every("disks", disksEvery, s.watchDisks)
	if err = s.begin(ctx); err == nil {
		select {
		case <-ctx.Done():
		case err = <-failed:
			err = fmt.Errorf("serve: %w", err)
		}
	}
	return errors.Join(err, s.end(context.WithoutCancel(ctx)))
}

// open makes what serves and begins to listen.
func (s *service) open(ctx context.Context) error {
	token, err := s.Gateway.opts.Environ.AdminToken()
	if err != nil {
		return err
	}
	if s.at, err = listen(ctx, s.opts.Listen, token != ""); err != nil {
		return err
	}
	s.url = "http://" + s.at.local
	if public := s.Config.Gateway.PublicURL; public != "" {
		s.url = strings.TrimRight(public, "/")
	}
	handler, err := s.handler(token)
	if err != nil {
		return errors.Join(err, s.at.Close())
	}
	base, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	s.hangUp = hangUp
	s.http = api.HTTPServer(handler)
	s.http.BaseContext = func(net.Listener) context.Context { return base }
	s.http.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)
	s.group = supervisor.New(context.WithoutCancel(ctx), s.log)
	return nil
}

// handler is all that answers, inside what counts it.
func (s *service) handler(token string) (http.Handler, error) {
	pages, err := web.New()
	if err != nil {
		return nil, err
	}
	o := api.Options{
		Backend: s.Gateway, Runner: s.Runner, Sessions: s.Sessions, Users: s.Users, Approvals: s.Approvals, Presets: s.Presets,
		Token: token, PublicURL: s.Config.Gateway.PublicURL, Origins: s.Config.Gateway.CORS, Loopback: s.at.loopback,
		Web: pages, Version: s.Gateway.opts.Version, Log: s.log,
	}
	if host, _, err := net.SplitHostPort(s.opts.Listen); err == nil && host != "" && net.ParseIP(host) == nil {
		o.Hosts = []string{host}
	}
	var m *telemetry.Metrics
	if s.Config.Telemetry.Metrics {
		m = telemetry.New(telemetry.Options{
			Version: s.Gateway.opts.Version, Started: s.started,
			Pool: s.pool.Stats, Providers: s.models.set.State, Runs: s.Runner.Count, Budgets: s.budget.Known, Answers: s.models.set.CacheCount, Results: s.results.Stats,
		})
		o.Metrics = func(ctx context.Context, w http.ResponseWriter, spending bool) {
			if spending {
				s.lookAtBudgets(ctx)
			}
			m.Tell(w, spending)
		}
	}
	if s.api, err = api.New(o); err != nil {
		return nil, err
	}
	if m == nil {
		return s.api, nil
	}
	s.metrics.Store(m)
	return m.Wrap(s.api), nil
}

// lookAtBudgets reads what was used today by other processes too, for whoever
// looks at metrics: what can't be read at once is told as it was.
func (s *service) lookAtBudgets(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := s.budget.Refresh(ctx); err != nil && !errors.Is(err, context.Canceled) {
		s.log.Warn("metrics tell an older state of budgets", "err", err)
	}
}

// begin takes up work: what the gateway does once at its start, and the
// messages that waited when the last one stopped.
func (s *service) begin(ctx context.Context) error {
	if s.Config.Notice != "" {
		s.log.Warn("the configuration can't be used; the last good one is", "notice", s.Config.Notice)
	}
	for _, w := range s.Config.Warnings {
		s.log.Warn("the configuration has something odd", "what", w.String())
	}
	err := s.refresh()
	if err != nil {
		return err
	}
	if s.forsaken, err = s.Forsaken(ctx); err != nil {
		return err
	}
	if _, err := s.admin(ctx); err != nil {
		s.log.Warn("there is no admin", "err", err) // those who have tokens are served all the same
	}
	if err := s.budget.Refresh(ctx); err != nil {
		// Runs that have limits read it again.
		s.log.Error("metrics don't tell what was used today until a run is held to it", "err", err)
	}
	if err := s.Runner.Recover(ctx); err != nil {
		// What waited stays where it is for the next start; new work is taken.
		s.log.Error("messages that waited were not taken up", "err", err)
	}
	i := Instance{
		Address: s.at.local, URL: s.url, PID: os.Getpid(), Started: s.started.UTC().Truncate(time.Millisecond), Version: s.Gateway.opts.Version,
		Config: s.Config.Digest(),
	}
	if err := s.claim.announce(i); err != nil {
		return err
	}
	s.announce = func(digest string) error {
		i.Config = digest
		return s.claim.announce(i)
	}
	disks := s.DiskProblems()
	s.disks.Store(&disks)
	s.ready.Store(true)
	s.log.Info("ready", "address", s.at.Addr().String(), "url", s.url, "took", time.Since(s.started).Round(time.Millisecond))
	s.Hooks.GatewayStart(hook.Gateway{Version: i.Version, Address: i.Address})
	if s.opts.Ready != nil {
		s.opts.Ready(i)
	}
	if err := resident.Release(); err != nil {
		s.log.Debug("memory that the start needed was not given back", "err", err)
	}
	return nil
}

// refresh writes the shipped instructions of the default agent anew where they
// were edited; a workspace that was set by path is its owner's.
func (s *service) refresh() error {
	dir := s.Config.DefaultAgent().Workspace
	if dir != filepath.Join(s.Gateway.opts.Home, "workspace") {
		return nil
	}
	return prompt.SeedWorkspace(dir, prompt.SeedRefresh)
}

// tidy clears away what has expired, and closes calls of commands that died. Links and sessions go when new ones are
// made.
func (s *service) tidy(ctx context.Context) error {
	refs, err := s.blobs.Sweep(ctx)
	answers, failed := s.store.Answers.Sweep(ctx, time.Now()) // also those from when the cache was on
	approvals, forgot := s.Approvals.Purge(ctx, time.Now().Add(-approvalsKept))
	open := s.sweepCalls(ctx)
	if refs > 0 || answers > 0 || approvals > 0 {
		s.log.Debug("cleared away what has expired", "refs", refs, "answers", answers, "approvals", approvals)
	}
	return errors.Join(err, failed, forgot, open)
}

// end stops what serves, in the order in which nobody loses anything: no more
// work, runs, streams, answers, connections, the rest.
func (s *service) end(ctx context.Context) error {
	s.stopping.Store(true)
	s.ready.Store(false)
	s.Hooks.GatewayStop(hook.Gateway{Version: s.Gateway.opts.Version, Address: s.at.local})
	going, waiting := s.Runner.Count()
	s.log.Info("stopping", "runs", going, "queued", waiting, "within", s.opts.Drain)
	if s.opts.Stopping != nil {
		s.opts.Stopping(going, waiting)
	}
	drain, cancel := context.WithTimeout(ctx, max(s.opts.Drain, 0))
	defer cancel()
	var errs []error
	if err := s.Runner.Drain(drain); err != nil {
		s.log.Warn("runs were stopped before they had finished", "err", err)
	}
	part, cancel := context.WithTimeout(ctx, partWithin)
	defer cancel()
	s.api.Linger(part)
	s.api.Close()
	if err := s.http.Shutdown(part); err != nil {
		s.hangUp()
		errs = append(errs, s.http.Close())
	}
	s.hangUp()
	s.group.Stop()
	rest, cancel := context.WithTimeout(ctx, partWithin)
	defer cancel()
	errs = append(errs, s.group.Wait(rest), s.claim.withdraw())
	return errors.Join(errs...)
}

// SignIn is a link by which an admin signs in once.
type SignIn struct {
	User    string
	Link    string
	Expires time.Time
}

// admin is an account of an admin, which is made when there is none.
func (g *Gateway) admin(ctx context.Context) (auth.Account, error) {
	a, made, err := auth.EnsureAdmin(ctx, g.Users, time.Now())
	if err == nil && made {
		g.log.Info("made the first admin", "user", a.ID)
	}
	return a, err
}

// SignInLink makes a link of the gateway at base for the admin.
func (g *Gateway) SignInLink(ctx context.Context, base string) (SignIn, error) {
	a, err := g.admin(ctx)
	if err != nil {
		return SignIn{}, err
	}
	now := time.Now()
	code, err := auth.NewLink(ctx, g.Users, a.ID, auth.LinkLife, now)
	if err != nil {
		return SignIn{}, err
	}
	return SignIn{User: a.ID, Link: LinkAt(base, code), Expires: now.Add(auth.LinkLife)}, nil
}

// LinkAt is where a browser signs in with a link's code, at the gateway that
// people reach at base.
func LinkAt(base, code string) string {
	return strings.TrimRight(base, "/") + "/signin?" + url.Values{"code": {code}}.Encode()
}
