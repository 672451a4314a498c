package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/store/sqlite"
	"github.com/goclaw/goclaw/internal/store/sqlite/sqlitetest"
)

// gate is a server that listens on this machine, with its users on a real
// store: the admins admin and ada, and bob and eve.
type gate struct {
	*Server
	t      testing.TB
	users  auth.Users
	log    *logged
	tokens map[string]string // of the API, by user
	ada    string            // the token of an admin
	bob    string            // of a user
	web    string            // a browser's session that a test keeps
}

// environmentToken is GOCLAW_TOKEN of a gate: a strong one.
const environmentToken = "an-operators-own-token-of-40-characters."

// handler is the gate as the outside reaches it.
func (g *gate) handler() http.Handler { return documented{g.Server, g.t} }

// gateway is what the front door asks of a gateway.
type gateway struct {
	Backend
	ready bool
	fault error
}

func (g gateway) Agents(context.Context) []Agent {
	return []Agent{{ID: "main", Name: "Main", Default: true}}
}

func (g gateway) Status(context.Context) Status {
	return Status{Version: "1", Ready: g.ready, Fault: g.fault}
}

// streaming is what a route declares that streams.
var streaming = []success{{stream: toldOfRuns}}

// logged is a log that tests read while the server writes.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newGate makes a gate; more are routes besides the real ones.
func newGate(t testing.TB, o Options, more ...route) *gate {
	t.Helper()
	return newGateOn(t, sqlitetest.Open(t, filepath.Join(t.TempDir(), "state.db")), o, more...)
}

// newGateOn makes a gate on a database, which may know its users already.
func newGateOn(t testing.TB, db *sqlite.DB, o Options, more ...route) *gate {
	t.Helper()
	g := &gate{t: t, users: db.Users(), log: &logged{}, tokens: map[string]string{}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log:\n%s", g.log)
		}
	})
	g.addUser("admin", auth.Admin)
	g.ada, g.bob = g.addUser("ada", auth.Admin), g.addUser("bob", auth.User)
	g.addUser("eve", auth.User)
	if o.Backend == nil {
		o.Backend = gateway{ready: true}
	}
	if o.Token == "" {
		o.Token = environmentToken
	}
	if o.Web == nil {
		o.Web = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page "+r.URL.Path) })
	}
	o.Users, o.Loopback, o.Version = g.users, true, "test"
	o.Log = slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if g.Server, err = newServer(o, append(routes(), more...)); err != nil {
		t.Fatal(err)
	}
	return g
}

// addUser makes a user, unless the database has it, and a token for it.
func (g *gate) addUser(id string, role auth.Role) string {
	g.t.Helper()
	err := g.users.Add(context.Background(), auth.Account{ID: id, Role: role, Created: time.Now()})
	if err != nil && !errors.Is(err, auth.ErrExists) {
		g.t.Fatal(err)
	}
	g.tokens[id] = g.token(id, time.Time{})
	return g.tokens[id]
}

func (g *gate) removeUser(id string) {
	g.t.Helper()
	if err := g.users.Remove(context.Background(), id); err != nil {
		g.t.Fatal(err)
	}
}

// token makes an API token.
func (g *gate) token(user string, expires time.Time) string {
	g.t.Helper()
	secret, k := auth.NewToken()
	k.User, k.Created, k.Expires = user, time.Now(), expires
	if err := g.users.AddToken(context.Background(), k); err != nil {
		g.t.Fatal(err)
	}
	return secret
}

// session begins a browser's session.
func (g *gate) session(user string) string {
	g.t.Helper()
	a, err := g.users.Get(context.Background(), user)
	if err != nil {
		g.t.Fatal(err)
	}
	secret, _, err := auth.NewSession(context.Background(), g.users, auth.Grant{Principal: auth.Principal{ID: a.ID, Role: a.Role}, Token: auth.Token{Kind: auth.KindLink}}, time.Now())
	if err != nil {
		g.t.Fatal(err)
	}
	return secret
}

// link makes the code of a sign-in link.
func (g *gate) link(user string, life time.Duration) string {
	g.t.Helper()
	code, err := auth.NewLink(context.Background(), g.users, user, life, time.Now())
	if err != nil {
		g.t.Fatal(err)
	}
	return code
}

// ask answers one request. Headers are given as "Name: value"; an empty Host is
// that of a gateway on this machine.
func (g *gate) ask(method, target, body string, headers ...string) *answered {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:18800"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Add(name, value)
		}
	}
	w := httptest.NewRecorder()
	g.handler().ServeHTTP(w, r)
	return &answered{w.Result(), w.Body.Bytes()}
}

type answered struct {
	*http.Response
	body []byte
}

// code is that of the problem which the answer is, in either form.
func (a *answered) code() string {
	var p struct {
		Code  string
		Error struct{ Code string }
	}
	// What is no JSON has no code.
	_ = json.Unmarshal(a.body, &p)
	return p.Code + p.Error.Code
}

func as(token string) string        { return "Authorization: Bearer " + token }
func cookieOf(secret string) string { return "Cookie: " + cookieName + "=" + secret }

// door is a listener whose connections never leave the process, so that a
// bubble of synctest owns them.
type door struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *door) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

func (d *door) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// dial is for [http.Transport].
func (d *door) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case d.conns <- theirs:
		return ours, nil
	case <-d.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve serves the gate over a door until the test ends.
func (g *gate) serve() *door {
	d := &door{conns: make(chan net.Conn), closed: make(chan struct{})}
	srv := HTTPServer(g.handler())
	srv.ErrorLog = slog.NewLogLogger(g.opts.Log.Handler(), slog.LevelDebug)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(d) }()
	g.t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			g.t.Error(err)
		}
		<-done
	})
	return d
}

// listen serves the gate on a port of this machine until the test ends.
func (g *gate) listen() *httptest.Server {
	ts := httptest.NewUnstartedServer(nil)
	ts.Config = HTTPServer(g.handler())
	ts.Start()
	g.t.Cleanup(ts.Close)
	return ts
}

// connect opens a connection to a gate that is served, and sends a request as
// it is written; $bob stands for a token of his.
func (g *gate) connect(request string) net.Conn {
	g.t.Helper()
	conn, err := g.serve().dial(g.t.Context(), "", "")
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, strings.ReplaceAll(request, "$bob", g.bob)); err != nil {
		g.t.Fatal(err)
	}
	return conn
}
