// Package api is the gateway's HTTP interface: the OpenAI-compatible routes
// under /v1, the gateway's own under /api, single tool calls, health and
// metrics. It owns the list of routes with the role that each needs, who a
// request comes from, what a request may be (host, origin, size, rate), and
// the words of errors. It decides nothing about agents: it asks the runner and
// a [Backend].
//
// Life: [New] makes a handler and starts nothing; a route that declares no
// role is an error there. Requests run on the HTTP server's goroutines; a
// stream adds one or two, for which its request waits. It ends with its run,
// its client, its token or [Server.Close], whichever comes first; a run goes on
// when its streams end.
//
// Start reading at the list of routes in route.go.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine/preset"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Backend is what the routes ask of the gateway that serves them, besides its
// runner and stores.
type Backend interface {
	HookBackend
	// Agents lists the agents in the order of the configuration.
	Agents(ctx context.Context) []Agent
	// Models lists the models that messages to an agent can name, and tells what
	// model, unless it is empty, stands for.
	Models(ctx context.Context, agent, model string) (ModelChoices, error)
	// Surface is what a run of req would be offered.
	Surface(ctx context.Context, req run.Request) (Surface, error)
	// Explain says how far a tool gets in a run of req, and why no further.
	Explain(ctx context.Context, req run.Request, name string) (Explanation, error)
	// KnownTools is a page of all tools that the agent of req knows of, with how
	// far each gets in a run of req.
	KnownTools(ctx context.Context, req run.Request, f ToolFilter) (KnownTools, error)
	// Tool is all about one tool.
	Tool(ctx context.Context, req run.Request, name string) (ToolDetail, error)
	// Invoke runs one call through the whole pipeline under the caller's policy.
	Invoke(ctx context.Context, req run.Request, name string, args []byte) (tool.Outcome, error)
	// Prompt is the request that a run of req would begin with.
	Prompt(ctx context.Context, req run.Request) (Prompt, error)
	// Files finds at most limit files of the agent's workspace by a part of
	// their path, if a run of req may list them.
	Files(ctx context.Context, req run.Request, query string, limit int) (Files, error)
	// Attach keeps a file that a person gave for one of their next messages. Its
	// type is its [FileType]; said is what the client says of it.
	Attach(ctx context.Context, caller auth.Principal, name, said string, data []byte) (Attachment, error)
	// Attached turns attachments into parts of a message for agent, and puts
	// them where its tools reach them. back takes away what was put there, for a
	// message that isn't taken; it is nil beside an error.
	Attached(ctx context.Context, caller auth.Principal, agent, session string, ids []string) (parts []llm.Part, back func() error, err error)
	// DeleteSession removes a session with all that is kept of it. It fails with
	// [session.ErrHeld] while a run goes on in it.
	DeleteSession(ctx context.Context, key session.Key) error
	// Usage adds up what model calls used; with budgets it also tells how it
	// stands with limits.
	Usage(ctx context.Context, q budget.Query, budgets bool) (budget.Report, error)
	// Status is how the gateway is. Ready is false until it may be asked, from
	// when it stops, and while nothing can be stored.
	Status(ctx context.Context) Status
}

// Options completes a [Server].
type Options struct {
	Backend  Backend
	Runner   *run.Runner
	Sessions session.Store
	Users    auth.Users
	// Approvals is where calls ask people and people answer them.
	Approvals *approval.Desk
	// Presets are the calls that people wrote down.
	Presets *preset.Book
	// Token is accepted as an admin's API token; empty for none.
	Token string
	// Hosts are names under which people reach the gateway, besides localhost
	// and that of PublicURL: the one that it listens on, when that is a name.
	Hosts []string
	// PublicURL is the address that people use, when the gateway is behind a
	// proxy (gateway.public_url). With https, cookies are for https alone.
	PublicURL string
	// Origins are those whose pages may call the API (gateway.cors); empty for none.
	Origins []string
	// Loopback says that only this machine can reach the gateway.
	Loopback bool
	// Web serves the pages; nil for none.
	Web http.Handler
	// Metrics answers /metrics, with spending also what all together used and
	// may use; nil for none.
	Metrics func(ctx context.Context, w http.ResponseWriter, spending bool)
	Version string
	Log     *slog.Logger     // slog.Default when nil
	Now     func() time.Time // time.Now when nil
}

// Server is the handler of all routes. It is safe for concurrent use.
type Server struct {
	opts    Options
	mux     *http.ServeMux
	names   *names
	cookie  string // its name
	misses  *misses
	floods  rate.Sometimes // words about misses in the log
	slots   slots
	bodies  bodies
	watches watches
	graves  graves
}

// New makes the handler of all routes. It starts nothing. The error names the
// setting or the route that is wrong.
func New(o Options) (*Server, error) { return newServer(o, routes()) }

func newServer(o Options, list []route) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Token != "" && !isSecret(o.Token) {
		return nil, fmt.Errorf("GOCLAW_TOKEN: it can't be sent in a header: it must be printable ASCII without blanks, %d characters at most", maxSecret)
	}
	n, err := newNames(o)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: o, names: n, cookie: cookieName, floods: rate.Sometimes{First: 1, Interval: time.Minute}}
	if n.public.scheme == "https" {
		s.cookie = secureCookieName
	}
	if s.misses, err = newMisses(); err != nil {
		return nil, fmt.Errorf("count wrong credentials: %w", err)
	}
	s.bodies.callers = map[string]int64{}
	s.slots.callers, s.slots.guests = map[string]load{}, map[netip.Prefix]int{}
	s.watches.byToken, s.watches.gone = map[auth.Sum]map[*watch]struct{}{}, make(chan struct{}, 1)
	if s.mux, err = s.register(list); err != nil {
		return nil, err
	}
	return s, nil
}

// register makes the table of paths, each with its routes by method. It refuses
// a route that doesn't say who may ask or how much they may send.
func (s *Server) register(list []route) (mux *http.ServeMux, err error) {
	paths := map[string]map[string]route{}
	for _, rt := range list {
		name := rt.method + " " + rt.path
		switch {
		case rt.access != public && rt.access != user && rt.access != admin:
			return nil, fmt.Errorf("route %s: it must declare its access: public, user or admin", name)
		case rt.handle == nil:
			return nil, fmt.Errorf("route %s: it has no handler", name)
		case (rt.body != nil || rt.raw != "") && rt.limit <= 0:
			return nil, fmt.Errorf("route %s: it takes a body and must declare its limit", name)
		}
		byMethod := paths[rt.path]
		if byMethod == nil {
			byMethod = map[string]route{}
			paths[rt.path] = byMethod
		}
		if _, ok := byMethod[rt.method]; ok {
			return nil, fmt.Errorf("route %s: it stands there twice", name)
		}
		byMethod[rt.method] = rt
	}
	mux = http.NewServeMux()
	path := ""
	defer func() {
		// The table of net/http panics on paths that can't be told apart.
		if p := recover(); p != nil {
			mux, err = nil, fmt.Errorf("route %s: %v", path, p)
		}
	}()
	for _, rt := range list {
		if path = rt.path; paths[path] == nil {
			continue
		}
		byMethod := paths[path]
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			x := w.(*response) // ServeHTTP alone asks the table
			rt, ok := match(byMethod, r.Method)
			if !ok {
				s.refuse(x, r, byMethod)
				return
			}
			if err := s.serve(rt, x, r); err != nil {
				s.fail(x, r, err)
			}
		})
		delete(paths, path)
	}
	return mux, nil
}

// match finds the route for a method. HEAD is GET without a body, but not where
// that would be a stream which nobody reads.
func match(byMethod map[string]route, method string) (route, bool) {
	rt, ok := byMethod[method]
	if !ok && method == http.MethodHead {
		rt, ok = byMethod[http.MethodGet]
		ok = ok && !rt.streams()
	}
	return rt, ok
}

// ServeHTTP implements [http.Handler]: it holds the request against everything
// that is asked of all of them, in the order of what costs least, and passes it
// on to its route.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	start := time.Now()
	w := &response{ResponseWriter: rw, ctl: http.NewResponseController(rw), id: requestID(r.Header)}
	secure(w.Header(), w.id)
	defer s.log(w, r, start)
	defer func() {
		if p := recover(); p != nil {
			s.panicked(w, r, p)
		}
	}()
	if err := s.admit(w, r); err != nil {
		s.fail(w, r, err)
	}
}

// admit is what every request must pass before its route is looked at.
func (s *Server) admit(w *response, r *http.Request) error {
	if p := s.names.checkHost(r); p != nil {
		return p
	}
	from, p := s.names.checkOrigin(r)
	if p != nil {
		return p
	}
	if s.names.cors(w, r, from) {
		return nil
	}
	if s.isClosing() && r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
		return stopping()
	}
	w.from = from
	if r.Method == http.MethodConnect || !isClean(r.URL) {
		s.refuse(w, r, nil)
		return nil
	}
	s.mux.ServeHTTP(w, r)
	return nil
}

// isClean reports whether the address has one spelling only. net/http answers
// the others with a redirection, before anybody has asked who is there.
func isClean(u *url.URL) bool {
	p := u.EscapedPath()
	if p == "" || p[0] != '/' {
		return false
	}
	clean := path.Clean(p)
	return p == clean || p == clean+"/" && clean != "/"
}

// refuse answers a request that no route is for. Only who is signed in learns
// what there is.
func (s *Server) refuse(w *response, r *http.Request, byMethod map[string]route) {
	c, err := s.who(r, w.from)
	if err != nil {
		s.denied(w, r, c, err)
		return
	}
	w.user = c.ID
	var allow []string
	for m, rt := range byMethod {
		if rt.path == "/" {
			continue // all that is unknown ends here
		}
		allow = append(allow, m)
		if m == http.MethodGet && !rt.streams() {
			allow = append(allow, http.MethodHead)
		}
	}
	if allow == nil {
		s.fail(w, r, unknownPath(r))
		return
	}
	slices.Sort(allow)
	w.Header().Set("Allow", strings.Join(allow, ", "))
	s.fail(w, r, problem(http.StatusMethodNotAllowed, "method", "%s is not for this address; it takes %s", r.Method, strings.Join(allow, ", ")))
}

func unknownPath(r *http.Request) *Problem {
	return notFound("there is nothing at %s; GET /api/openapi.json lists what there is", r.URL.Path)
}

// denied answers a request whose caller is not known: a program with a problem,
// a person who wants to see a page with the way to sign in.
func (s *Server) denied(w *response, r *http.Request, c Caller, err error) {
	var p *Problem
	if errors.As(err, &p) && (p.Status == http.StatusUnauthorized || c.Cookie) {
		if c.Cookie {
			s.dropCookie(w) // or the browser would show it again and again
		}
		if isPage(r) {
			s.askToSignIn(w, r)
			return
		}
	}
	s.fail(w, r, err)
}

// serve answers one request to rt.
func (s *Server) serve(rt route, w *response, r *http.Request) error {
	var c Caller
	if rt.page && w.from == listed {
		// They may call the API with a token of their own; to sign a browser in
		// or show it pages is none of their business.
		return foreign("pages of " + r.Header.Get("Origin") + " may call the API only")
	}
	if p := s.slots.enter(rt, r.RemoteAddr); p != nil {
		return p
	}
	defer s.slots.leave(rt, r.RemoteAddr)
	if rt.access != public {
		var err error
		if c, err = s.who(r, w.from); err != nil {
			s.denied(w, r, c, err)
			return nil
		}
		w.user, w.candid = c.ID, !c.discreet()
		if rt.access == admin && c.Role != auth.Admin {
			return problem(http.StatusForbidden, "forbidden", "only admins may do this; ask one of them")
		}
		if p := s.slots.enterCaller(c.ID, rt.streams()); p != nil {
			return p
		}
		defer s.slots.leaveCaller(c.ID, rt.streams())
		var ctx context.Context
		ctx, w.watch = s.watch(r.Context(), c, rt.endless)
		defer w.watch.stop()
		r = r.WithContext(ctx)
	}
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil && !rt.page {
		// What can't be read would be passed over, and a list not be narrowed.
		return badRequest("the address's query can't be read: %v", err)
	}
	leave, err := s.limitBody(rt, w, r, c)
	if err != nil {
		return err
	}
	defer leave()
	w.handled = true
	if err := rt.handle(s, w, r, c); err != nil {
		s.fail(w, r, err) // while the context still says why it ended
	}
	return nil
}

// limitBody holds the body to its route's size and time, and gives it room until
// leave is called.
func (s *Server) limitBody(rt route, w *response, r *http.Request, c Caller) (leave func(), err error) {
	limit := rt.limit
	if limit == 0 {
		limit = maxBody
	}
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	leave = func() {}
	expected := r.ContentLength
	if expected < 0 {
		expected = limit
	}
	if rt.access != public && rt.limit > 0 {
		room, err := s.bodies.enter(r.Context(), c.ID, expected)
		if err != nil {
			return nil, err
		}
		leave = func() { room.shrink(0) }
		r.Body = &measured{ReadCloser: r.Body, room: room}
	}
	// fail closes the connection when the limit is reached, instead of reading on.
	r.Body = http.MaxBytesReader(nil, r.Body, limit)
	if expected == 0 {
		return leave, nil
	}
	within := headersWithin
	if rt.access != public {
		within = bodyTime(expected)
	}
	// Once the body is read, net/http lifts the deadline.
	if err := w.ctl.SetReadDeadline(time.Now().Add(within)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		leave()
		return nil, fmt.Errorf("limit the time of a body: %w", err)
	}
	return leave, nil
}

// panicked contains a panic of a handler to its request.
func (s *Server) panicked(w *response, r *http.Request, p any) {
	if p == http.ErrAbortHandler {
		panic(p) // a handler wants the connection cut
	}
	s.opts.Log.Error("a handler panicked", "request", w.id, "method", r.Method, "path", r.URL.Path, "user", w.user, "panic", p, "stack", string(debug.Stack()))
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	s.fail(w, r, problem(http.StatusInternalServerError, "internal", "internal error; the gateway's log says more under this request id"))
}

// log notes the request, without its query and headers, in which secrets may be.
func (s *Server) log(w *response, r *http.Request, start time.Time) {
	if !s.opts.Log.Enabled(r.Context(), slog.LevelDebug) {
		return // most gateways; what follows allocates
	}
	s.opts.Log.Debug("request", "request", w.id, "method", r.Method, "path", r.URL.Path, "status", w.status, "bytes", w.bytes,
		"took", time.Since(start).Round(time.Microsecond), "user", w.user, "addr", r.RemoteAddr)
}

// answer writes v as JSON, as whoever asks is told it.
func answer(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(toldBy(w, v))
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(append(b, '\n'))
	return err
}
