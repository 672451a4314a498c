package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("database/sql.(*DB).connectionOpener"))
}

// filled is a route's path with something in place of its wildcards.
func filled(rt route) string { return wildcard.ReplaceAllString(rt.path, "x") }

func TestEveryRouteHoldsToItsAccess(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	for _, rt := range append(routes(), route{method: "GET", path: "/api/admin", access: admin, handle: me}) {
		if rt.access == public {
			continue
		}
		name := rt.method + " " + rt.path
		for _, h := range [][]string{nil, {as("goclaw_wrong")}, {cookieOf("goclaw_wrong")}, {cookieOf(g.ada)}, {as(g.session("ada"))}} {
			g.misses.by.Purge()
			a := g.ask(rt.method, filled(rt), "", h...)
			if rt.page && a.StatusCode == http.StatusSeeOther && a.Header.Get("Location") == signInPath {
				continue
			}
			if a.StatusCode != http.StatusUnauthorized || a.code() != "unauthorized" || a.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s with %q: %d %s", name, h, a.StatusCode, a.code())
			}
		}
	}
	if a := g.ask("GET", "/api/me", "", as(g.bob)); a.StatusCode != 200 || !strings.Contains(string(a.body), `"id":"bob"`) || !strings.Contains(string(a.body), `"role":"user"`) {
		t.Errorf("a user is %s", a.body)
	}
}

func TestAdminRoutesAreForAdmins(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{}, route{method: "GET", path: "/api/admin", access: admin, handle: me})
	for _, rt := range append(routes(), route{method: "GET", path: "/api/admin", access: admin}) {
		if rt.access != admin {
			continue
		}
		for what, h := range map[string]string{"token": as(g.bob), "cookie": cookieOf(g.session("bob"))} {
			if a := g.ask(rt.method, filled(rt), "", h); a.StatusCode != http.StatusForbidden || a.code() != "forbidden" {
				t.Errorf("a user's %s on %s %s: %d %s", what, rt.method, rt.path, a.StatusCode, a.code())
			}
		}
	}
	for what, h := range map[string]string{"token": as(g.ada), "cookie": cookieOf(g.session("ada")), "environment": as(environmentToken)} {
		if a := g.ask("GET", "/api/admin", "", h); a.StatusCode != 200 {
			t.Errorf("an admin's %s: %d", what, a.StatusCode)
		}
	}
}

func TestARouteThatIsNotDeclaredWholeDoesNotStart(t *testing.T) {
	t.Parallel()
	ok := route{method: "GET", path: "/api/x", access: user, handle: me}
	with := func(change func(*route)) []route {
		rt := ok
		change(&rt)
		return []route{rt}
	}
	for _, c := range []struct {
		what string
		list []route
		err  string
	}{
		{"no access", with(func(rt *route) { rt.access = "" }), "route GET /api/x: it must declare its access"},
		{"an access that there isn't", with(func(rt *route) { rt.access = "users" }), "route GET /api/x: it must declare its access"},
		{"no handler", with(func(rt *route) { rt.handle = nil }), "no handler"},
		{"a body without a limit", with(func(rt *route) { rt.body = Rename{} }), "must declare its limit"},
		{"raw bytes without a limit", with(func(rt *route) { rt.raw = "*/*" }), "must declare its limit"},
		{"twice", []route{ok, ok}, "stands there twice"},
		{"two that can't be told apart", []route{ok, {method: "GET", path: "/api/{a}/b", access: user, handle: me}, {method: "POST", path: "/api/{b}/b", access: user, handle: me}}, "route /api/{b}/b"},
		{"a path that is none", with(func(rt *route) { rt.path = "api" }), "route api"},
		{"fine", []route{ok}, ""},
	} {
		_, err := newServer(Options{}, c.list)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", c.what, err, c.err)
		}
	}
}

func TestSettingsThatCouldNeverWorkAreFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o   Options
		err string
	}{
		{Options{Token: "with a blank"}, "GOCLAW_TOKEN"},
		{Options{Token: "line\n"}, "GOCLAW_TOKEN"},
		{Options{Token: strings.Repeat("x", 2000)}, "GOCLAW_TOKEN"},
		{Options{Hosts: []string{"a b"}}, `host "a b"`},
		{Options{PublicURL: "https://example.org/claw"}, "without a path"},
		{Options{PublicURL: "https://user:secret@example.org"}, "without a path"},
		{Options{PublicURL: "ftp://example.org"}, "gateway.public_url"},
		{Options{PublicURL: "example.org"}, "gateway.public_url"},
		{Options{PublicURL: "https://"}, "gateway.public_url"},
		{Options{Origins: []string{"*"}}, "no wildcard"},
		{Options{Origins: []string{"null"}}, "no wildcard"},
		{Options{Origins: []string{"https://*.example.org"}}, "no wildcard"},
		{Options{Origins: []string{"https://example.org/app"}}, "no wildcard"},
		{Options{Token: "x", Hosts: []string{"::1", "fe80::1%eth0", "0.0.0.0", "host.lan", "host.lan:80"}, PublicURL: "https://example.org/", Origins: []string{"http://localhost:3000/", "chrome-extension://abc"}}, ""},
	} {
		_, err := New(c.o)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%+v: error %v, want %q", c.o, err, c.err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

func TestErrorsHaveTheirForm(t *testing.T) {
	t.Parallel()
	boom := errors.New("open /var/lib/secret: disk on fire")
	g := newGate(t, Options{},
		route{method: "GET", path: "/api/boom", access: user, handle: func(*Server, http.ResponseWriter, *http.Request, Caller) error { return boom }},
		route{method: "GET", path: "/v1/boom", access: user, handle: func(*Server, http.ResponseWriter, *http.Request, Caller) error { return boom }},
		route{method: "GET", path: "/api/late", access: user, handle: func(_ *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
			w.WriteHeader(http.StatusOK)
			return boom
		}},
		route{method: "GET", path: "/api/panic", access: user, handle: func(*Server, http.ResponseWriter, *http.Request, Caller) error { panic("at the disco") }},
		route{method: "GET", path: "/api/panic/late", access: user, handle: func(_ *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
			w.WriteHeader(http.StatusOK)
			panic("at the end")
		}},
		route{method: "GET", path: "/api/panic/stream", access: user, answers: streaming, handle: func(_ *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			panic("in the middle")
		}},
		route{method: "GET", path: "/api/abort", access: user, handle: func(*Server, http.ResponseWriter, *http.Request, Caller) error { panic(http.ErrAbortHandler) }},
		route{method: "GET", path: "/api/stream", access: user, answers: streaming, handle: func(_ *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			return boom
		}},
	)
	for _, who := range []string{g.ada, g.bob} {
		a := g.ask("GET", "/api/boom", "", as(who), "X-Request-ID: mine-1")
		if a.StatusCode != 500 || a.code() != "internal" || strings.Contains(string(a.body), "disk") || !strings.Contains(string(a.body), `"request_id":"mine-1"`) {
			t.Errorf("an internal error is told as %d %s", a.StatusCode, a.body)
		}
	}
	if n := strings.Count(g.log.String(), "request=mine-1 method=GET path=/api/boom user=bob err=\"open /var/lib/secret: disk on fire\""); n != 1 {
		t.Errorf("the error is %d times in the log:\n%s", n, g.log)
	}
	if a := g.ask("GET", "/v1/boom", "", as(g.bob), "X-Request-ID: mine-2"); a.StatusCode != 500 || !strings.HasPrefix(string(a.body), `{"error":{"message":"internal error; the gateway's log says more under this request id (mine-2)","type":"server_error","param":null,"code":"internal"}}`) {
		t.Errorf("under /v1: %d %s", a.StatusCode, a.body)
	}
	if a := g.ask("GET", "/v1/models", ""); a.StatusCode != 401 || !strings.Contains(string(a.body), `"type":"invalid_request_error","param":null,"code":"unauthorized"`) {
		t.Errorf("under /v1: %d %s", a.StatusCode, a.body)
	}
	if a := g.ask("GET", "/api/panic", "", as(g.bob), "X-Request-ID: mine-3"); a.StatusCode != 500 || a.code() != "internal" || strings.Contains(string(a.body), "disco") {
		t.Errorf("a panic: %d %s", a.StatusCode, a.body)
	}
	if l := g.log.String(); !strings.Contains(l, `panic="at the disco"`) || !strings.Contains(l, "api_test.go") {
		t.Errorf("the log has no panic with its stack:\n%s", l)
	} else if !strings.Contains(l, "path=/api/panic status=500") {
		t.Errorf("the log doesn't say how a panic was answered:\n%s", l)
	}
	for _, path := range []string{"/api/late", "/api/panic/late", "/api/panic/stream", "/api/abort"} {
		if p := aborted(func() { g.ask("GET", path, "", as(g.bob)) }); p != http.ErrAbortHandler {
			t.Errorf("%s ends with %v; the connection must be cut", path, p)
		}
	}
	if p := aborted(func() { g.ask("GET", "/api/stream", "", as(g.bob)) }); p != nil {
		t.Errorf("a stream ends with %v", p)
	}
	if g.slots.total != 0 || len(g.slots.callers) != 0 || len(g.watches.byToken) != 0 {
		t.Error("something is still counted as under way")
	}
}

// aborted is what f panics with.
func aborted(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	for id, echoed := range map[string]bool{
		"abc-1_2.Z": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "a\x1b[31m": false, "ä": false, `a"b`: false, "a=b": false,
	} {
		got := g.ask("GET", "/healthz", "", "X-Request-ID: "+id).Header.Get("X-Request-ID")
		if got == "" || (got == id) != echoed {
			t.Errorf("id %q is answered as %q", id, got)
		}
	}
	if a, b := g.ask("GET", "/healthz", "").Header.Get("X-Request-ID"), g.ask("GET", "/healthz", "").Header.Get("X-Request-ID"); a == b {
		t.Errorf("the same id %q twice", a)
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{Metrics: func(_ context.Context, w http.ResponseWriter, spending bool) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprintf(w, "up 1, spending %v\n", spending)
	}})
	if a := g.ask("GET", "/metrics", "", as(g.ada)); string(a.body) != "up 1, spending true\n" {
		t.Errorf("an admin is told %s", a.body)
	}
	for target, want := range map[string]string{
		"/healthz":    `{"status":"ok"}`,
		"/readyz":     `{"status":"ok"}`,
		"/metrics":    "up 1, spending false",
		"/api/agents": `{"agents":[{"id":"main","name":"Main","default":true,"provider":"","model":""}]}`,
		"/api/me":     `{"user":{"id":"bob","role":"user","human":true},"version":"test"}`,
		"/api/status": `{"version":"1","started":"0001-01-01T00:00:00Z","ready":true,"problems":[],"providers":[],"pool":{"workers":0,"busy":0,"spare":0,"queued":0},"runs":{"running":0,"queued":0}}`,
		"/chat":       "page /chat",
	} {
		a := g.ask("GET", target, "", as(g.bob))
		if a.StatusCode != 200 || strings.TrimSpace(string(a.body)) != want {
			t.Errorf("GET %s: %d %s, want %s", target, a.StatusCode, a.body, want)
		}
		if h := g.ask("HEAD", target, "", as(g.bob)); h.StatusCode != 200 {
			t.Errorf("HEAD %s: %d", target, h.StatusCode)
		}
	}
	if a := g.ask("GET", "/api/openapi.json", "", as(g.bob)); a.StatusCode != 200 || !strings.HasPrefix(string(a.body), "{\n  \"components\"") {
		t.Errorf("the document: %d", a.StatusCode)
	}
	g.Close()
	for target, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/api/me": 503, "/": 503} {
		if a := g.ask("GET", target, "", as(g.bob)); a.StatusCode != want || want == 503 && a.Header.Get("Retry-After") != "5" {
			t.Errorf("when it stops, GET %s: %d, Retry-After %q", target, a.StatusCode, a.Header.Get("Retry-After"))
		}
	}
	fault := errors.New("/secret/state.db: the disk is full")
	full := newGate(t, Options{Backend: gateway{ready: true, fault: fault}},
		route{method: "GET", path: "/api/put", access: user, handle: func(*Server, http.ResponseWriter, *http.Request, Caller) error { return fault }})
	for _, path := range []string{"/readyz", "/api/put"} {
		if a := full.ask("GET", path, "", as(full.bob)); a.StatusCode != 503 || a.code() != "storage" || a.Header.Get("Retry-After") == "" || strings.Contains(string(a.body), "secret") {
			t.Errorf("when nothing can be stored, GET %s: %d %s", path, a.StatusCode, a.body)
		}
	}
	slow := newGate(t, Options{Backend: gateway{}})
	if a := slow.ask("GET", "/readyz", ""); a.StatusCode != 503 || a.code() != "unavailable" {
		t.Errorf("before it is ready: %d", a.StatusCode)
	}
	if a := slow.ask("GET", "/metrics", "", as(slow.bob)); a.StatusCode != 404 {
		t.Errorf("without metrics: %d", a.StatusCode)
	}
}

// What a handler is handed reaches the server's own writer.
func TestHandlersReachTheConnection(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{}, route{method: "GET", path: "/api/flush", access: user, handle: func(_ *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
		w.(http.Flusher).Flush()
		return http.NewResponseController(w).Flush()
	}})
	a := g.ask("GET", "/api/flush", "", as(g.bob))
	if a.StatusCode != 200 || !strings.Contains(g.log.String(), "path=/api/flush status=200") {
		t.Errorf("flushed as %d:\n%s", a.StatusCode, g.log)
	}
}

// BenchmarkFrontDoor is what a request costs before and after its handler.
func BenchmarkFrontDoor(b *testing.B) {
	g := newGate(b, Options{}, route{method: "GET", path: "/api/nothing", access: user, handle: func(_ *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}})
	g.opts.Log = slog.New(slog.DiscardHandler)
	for name, h := range map[string]string{"token": as(g.bob), "environment": as(environmentToken), "refused": as("goclaw_wrong"), "foreign": "Origin: https://evil.example"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g.ask("GET", "/api/nothing", "", h)
			}
		})
	}
}
