package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestAttacks sends requests as an attacker would, byte by byte, to a gateway
// that listens on this machine, with gateway.public_url and one origin in
// gateway.cors. Lines end as in HTTP; $names stand for secrets:
//
//	$ada    an admin's API token       $ada_web    her browser's session
//	$bob    a user's                   $link       the code of a sign-in link
//	$env    GOCLAW_TOKEN
//
// A test that expects no code looks at the status alone.
func TestAttacks(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{PublicURL: "https://claw.example.org", Hosts: []string{"build.lan"}, Origins: []string{"https://app.example.net"}},
		route{method: "GET", path: "/api/admin", access: admin, handle: me},
		route{method: "POST", path: "/api/echo", access: user, handle: echo, body: Rename{}, limit: 1 << 10})
	ts := g.listen()
	link := g.link("ada", 0)
	secrets := strings.NewReplacer("$ada_web", g.session("ada"), "$ada", g.ada, "$bob", g.bob, "$env", environmentToken, "$link", link)

	const web = "Cookie: __Host-goclaw_session=$ada_web"
	for _, c := range []struct {
		what    string
		request string // without the last, empty line
		status  int
		code    string
	}{
		// Nobody.
		{"no credential", "GET /api/me HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"a made-up token", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer goclaw_AAAA", 401, "unauthorized"},
		{"an empty token", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer ", 401, "unauthorized"},
		{"a token without its scheme", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: $ada", 401, "unauthorized"},
		{"a token under another scheme", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: Basic $ada", 401, "unauthorized"},
		{"a token with more behind it", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer $ada, Bearer $ada", 401, "unauthorized"},
		{"a token that begins like a right one", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer $adax", 401, "unauthorized"},
		{"a token in another case", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer GOCLAW_$ada", 401, "unauthorized"},
		{"a right token", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer $ada", 200, ""},
		{"the operator's token", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: bearer $env", 200, ""},

		// Tokens where none belongs.
		{"in the query, as token", "GET /api/me?token=$ada HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"in the query, as access_token", "GET /api/me?access_token=$ada HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"in the query, as api_key", "GET /v1/models?api_key=$env HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"in the query, as code", "GET /api/me?code=$link HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"in the address, as user and password", "GET http://$ada@localhost/api/me HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"in another header", "GET /api/me HTTP/1.1\nHost: localhost\nX-Api-Key: $ada", 401, "unauthorized"},
		{"a link's code as a token", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer $link", 401, "unauthorized"},
		{"a browser's session as a token", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer $ada_web", 401, "unauthorized"},
		{"a token as a cookie", "GET /api/me HTTP/1.1\nHost: localhost\nCookie: __Host-goclaw_session=$ada", 401, "unauthorized"},
		{"the operator's token as a cookie", "GET /api/me HTTP/1.1\nHost: localhost\nCookie: __Host-goclaw_session=$env", 401, "unauthorized"},
		{"a cookie that a neighbour could plant", "GET /api/me HTTP/1.1\nHost: localhost\nCookie: goclaw_session=$ada_web", 401, "unauthorized"},
		{"a right cookie", "GET /api/me HTTP/1.1\nHost: localhost\n" + web, 200, ""},

		// Two credentials.
		{"a wrong token beside a right cookie", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer goclaw_AAAA\n" + web, 401, "unauthorized"},
		{"another scheme beside a right cookie", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: Basic eDp5\n" + web, 401, "unauthorized"},
		{"an empty header beside a right cookie", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization:\n" + web, 401, "unauthorized"},
		{"a user's token beside an admin's cookie", "GET /api/admin HTTP/1.1\nHost: localhost\nAuthorization: Bearer $bob\n" + web, 403, "forbidden"},
		{"two tokens", "GET /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer $ada\nAuthorization: Bearer $bob", 401, "unauthorized"},
		{"two cookies", "GET /api/me HTTP/1.1\nHost: localhost\n" + web + "; __Host-goclaw_session=$bob", 401, "unauthorized"},
		{"two cookies in two headers", "GET /api/me HTTP/1.1\nHost: localhost\n" + web + "\n" + web, 401, "unauthorized"},

		// Roles.
		{"a user where admins are asked", "GET /api/admin HTTP/1.1\nHost: localhost\nAuthorization: Bearer $bob", 403, "forbidden"},
		{"an admin there", "GET /api/admin HTTP/1.1\nHost: localhost\nAuthorization: Bearer $ada", 200, ""},
		{"a role in a header", "GET /api/admin HTTP/1.1\nHost: localhost\nX-Role: admin\nAuthorization: Bearer $bob", 403, "forbidden"},
		{"a user that a proxy names", "GET /api/me HTTP/1.1\nHost: localhost\nX-Forwarded-User: ada\nRemote-User: ada", 401, "unauthorized"},
		{"an address that a proxy names", "GET /api/me HTTP/1.1\nHost: localhost\nX-Forwarded-For: 127.0.0.1\nForwarded: for=127.0.0.1", 401, "unauthorized"},

		// Names that lead here but aren't ours.
		{"another's name", "GET /api/me HTTP/1.1\nHost: evil.example\nAuthorization: Bearer $ada", 403, "host"},
		{"another's name with our port", "GET /api/me HTTP/1.1\nHost: evil.example:18800\n" + web, 403, "host"},
		{"another's name, nobody asks", "GET / HTTP/1.1\nHost: evil.example", 403, "host"},
		{"another's name, health", "GET /healthz HTTP/1.1\nHost: evil.example", 403, "host"},
		{"another's name, sign-in", "GET /signin HTTP/1.1\nHost: evil.example", 403, "host"},
		{"another's name, something unknown", "GET /nothing HTTP/1.1\nHost: evil.example", 403, "host"},
		{"another's name, everything", "OPTIONS * HTTP/1.1\nHost: evil.example", 403, "host"},
		{"a name that begins like ours", "GET /api/me HTTP/1.1\nHost: localhost.evil.example\nAuthorization: Bearer $ada", 403, "host"},
		{"a name that ends like ours", "GET /api/me HTTP/1.1\nHost: evil-claw.example.org\nAuthorization: Bearer $ada", 403, "host"},
		{"a name under ours", "GET /api/me HTTP/1.1\nHost: x.localhost\nAuthorization: Bearer $ada", 403, "host"},
		{"a rebinding service's name", "GET /api/me HTTP/1.1\nHost: 127.0.0.1.nip.io\nAuthorization: Bearer $ada", 403, "host"},
		{"another machine's address", "GET /api/me HTTP/1.1\nHost: 192.168.1.7\nAuthorization: Bearer $ada", 403, "host"},
		{"the address of all", "GET /api/me HTTP/1.1\nHost: 0.0.0.0:18800\nAuthorization: Bearer $ada", 403, "host"},
		{"the address of all, IPv6", "GET /api/me HTTP/1.1\nHost: [::]:18800\nAuthorization: Bearer $ada", 403, "host"},
		{"loopback in another notation", "GET /api/me HTTP/1.1\nHost: 2130706433\nAuthorization: Bearer $ada", 403, "host"},
		{"loopback in a short notation", "GET /api/me HTTP/1.1\nHost: 127.1\nAuthorization: Bearer $ada", 403, "host"},
		{"loopback in octal", "GET /api/me HTTP/1.1\nHost: 0177.0.0.1\nAuthorization: Bearer $ada", 403, "host"},
		{"a user before the name", "GET /api/me HTTP/1.1\nHost: localhost@evil.example\nAuthorization: Bearer $ada", 400, ""},
		{"two names", "GET /api/me HTTP/1.1\nHost: localhost, evil.example\nAuthorization: Bearer $ada", 400, ""},
		{"two Host headers", "GET /api/me HTTP/1.1\nHost: localhost\nHost: evil.example\nAuthorization: Bearer $ada", 400, ""},
		{"no Host header", "GET /api/me HTTP/1.1\nAuthorization: Bearer $ada", 400, ""},
		{"no Host header in HTTP/1.0", "GET /api/me HTTP/1.0\nAuthorization: Bearer $ada", 403, "host"},
		{"an empty Host header", "GET /api/me HTTP/1.1\nHost:\nAuthorization: Bearer $ada", 403, "host"},
		{"a port that is none", "GET /api/me HTTP/1.1\nHost: localhost:http\nAuthorization: Bearer $ada", 403, "host"},
		{"a port out of range", "GET /api/me HTTP/1.1\nHost: localhost:99999\nAuthorization: Bearer $ada", 403, "host"},
		{"an address as the target, another's", "GET http://evil.example/api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer $ada", 403, "host"},
		{"a name that a proxy names", "GET /api/me HTTP/1.1\nHost: evil.example\nX-Forwarded-Host: localhost\nAuthorization: Bearer $ada", 403, "host"},
		{"our names", "GET /api/me HTTP/1.1\nHost: LOCALHOST:1\nAuthorization: Bearer $ada", 200, ""},
		{"our address", "GET /api/me HTTP/1.1\nHost: 127.0.0.1:18800\nAuthorization: Bearer $ada", 200, ""},
		{"our address, IPv6", "GET /api/me HTTP/1.1\nHost: [::1]:18800\nAuthorization: Bearer $ada", 200, ""},
		{"our public name", "GET /api/me HTTP/1.1\nHost: claw.example.org\nAuthorization: Bearer $ada", 200, ""},
		{"our name in the network", "GET /api/me HTTP/1.1\nHost: build.lan:18800\nAuthorization: Bearer $ada", 200, ""},

		// Pages of others.
		{"another's page reads", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin: https://evil.example\nAuthorization: Bearer $ada", 403, "origin"},
		{"another's page reads with the cookie", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin: https://evil.example\n" + web, 403, "origin"},
		{"another's page looks at health", "GET /healthz HTTP/1.1\nHost: localhost\nOrigin: https://evil.example", 403, "origin"},
		{"another's page asks whether it may", "OPTIONS /api/runs HTTP/1.1\nHost: localhost\nOrigin: https://evil.example\nAccess-Control-Request-Method: POST", 403, "origin"},
		{"a page of nowhere", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin: null\nAuthorization: Bearer $ada", 403, "origin"},
		{"an empty origin", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin:\nAuthorization: Bearer $ada", 403, "origin"},
		{"two origins", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin: http://localhost\nOrigin: https://evil.example\nAuthorization: Bearer $ada", 403, "origin"},
		{"two origins in one", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin: http://localhost, https://evil.example\nAuthorization: Bearer $ada", 403, "origin"},
		{"a page of another port", "GET /api/me HTTP/1.1\nHost: localhost:18800\nOrigin: http://localhost:3000\n" + web, 403, "origin"},
		{"a page of another name of this machine", "GET /api/me HTTP/1.1\nHost: localhost:18800\nOrigin: http://127.0.0.1:18800\n" + web, 403, "origin"},
		{"a page whose origin begins like ours", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin: https://claw.example.org.evil.example\n" + web, 403, "origin"},
		{"a page of a listed host by http", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin: http://app.example.net\nAuthorization: Bearer $ada", 403, "origin"},
		{"a page of a listed host's other port", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin: https://app.example.net:8443\nAuthorization: Bearer $ada", 403, "origin"},
		{"a page that was tampered with on its way by http", "GET /api/me HTTP/1.1\nHost: claw.example.org\nOrigin: http://claw.example.org\n" + web, 403, "origin"},
		{"a file", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin: file://\nAuthorization: Bearer $ada", 403, "origin"},
		{"an extension that isn't listed", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin: chrome-extension://abcdef\nAuthorization: Bearer $ada", 403, "origin"},
		{"a form of another's page", "POST /api/echo HTTP/1.1\nHost: localhost\nOrigin: https://evil.example\nContent-Type: text/plain\nContent-Length: 2\n" + web + "\n\n{}", 403, "origin"},
		{"a form of another's page, without its origin", "POST /api/echo HTTP/1.1\nHost: localhost\nSec-Fetch-Site: cross-site\nContent-Type: text/plain\nContent-Length: 2\n" + web + "\n\n{}", 403, "origin"},
		{"a form of another port's page, without its origin", "POST /api/echo HTTP/1.1\nHost: localhost\nSec-Fetch-Site: same-site\nContent-Length: 2\n" + web + "\n\n{}", 403, "origin"},
		{"a form that signs in as somebody else", "POST /signin HTTP/1.1\nHost: localhost\nOrigin: https://evil.example\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 6\n\ntoken=", 403, "origin"},
		{"an image of another port's page", "GET /api/me HTTP/1.1\nHost: localhost\nSec-Fetch-Site: same-site\nSec-Fetch-Mode: no-cors\nSec-Fetch-Dest: image\n" + web, 403, "origin"},
		{"a script of another's page", "GET /assets/app.js HTTP/1.1\nHost: localhost\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: no-cors\nSec-Fetch-Dest: script\n" + web, 403, "origin"},
		{"a frame in another port's page", "GET / HTTP/1.1\nHost: localhost\nSec-Fetch-Site: same-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: iframe\n" + web, 403, "origin"},
		{"a socket of another's page", "GET /nodes HTTP/1.1\nHost: localhost\nConnection: Upgrade\nUpgrade: websocket\nOrigin: https://evil.example\nAuthorization: Bearer $ada", 403, "origin"},
		{"a listed page with a cookie", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin: https://app.example.net\n" + web, 401, "unauthorized"},
		{"a listed page that acts with a cookie", "POST /api/echo HTTP/1.1\nHost: localhost\nOrigin: https://app.example.net\nSec-Fetch-Site: cross-site\nContent-Length: 0\n" + web, 401, "unauthorized"},
		{"a listed page that signs the browser in", "POST /signin HTTP/1.1\nHost: localhost\nOrigin: https://app.example.net\nContent-Type: application/x-www-form-urlencoded\nContent-Length: 6\n\ntoken=", 403, "origin"},
		{"a listed page that reads a page", "GET / HTTP/1.1\nHost: localhost\nOrigin: https://app.example.net\nAuthorization: Bearer $ada", 403, "origin"},
		{"a listed page with a token", "GET /api/me HTTP/1.1\nHost: localhost\nOrigin: https://app.example.net\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: cors\nAuthorization: Bearer $ada", 200, ""},
		{"our page", "GET /api/me HTTP/1.1\nHost: localhost:18800\nOrigin: http://localhost:18800\nSec-Fetch-Site: same-origin\n" + web, 200, ""},
		{"our public page behind a proxy that changes Host", "GET /api/me HTTP/1.1\nHost: 127.0.0.1:18800\nOrigin: https://claw.example.org\nSec-Fetch-Site: same-origin\n" + web, 200, ""},
		{"a link on another's page", "GET /chat HTTP/1.1\nHost: localhost\nSec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: document\n" + web, 200, ""},

		// Ways around the table of routes.
		{"an unknown address, nobody asks", "GET /api/nothing HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"an unknown address", "GET /api/nothing HTTP/1.1\nHost: localhost\nAuthorization: Bearer $bob", 404, "not_found"},
		{"a wrong method, nobody asks", "DELETE /healthz HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"a wrong method", "DELETE /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer $bob", 405, "method"},
		{"a made-up method", "BREW /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer $bob", 405, "method"},
		{"a made-up method, nobody asks", "BREW / HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"a page that is written to", "POST / HTTP/1.1\nHost: localhost\nContent-Length: 0\nAuthorization: Bearer $bob", 404, "not_found"},
		{"a trace", "TRACE /api/me HTTP/1.1\nHost: localhost\nAuthorization: Bearer $bob", 405, "method"},
		{"a tunnel", "CONNECT evil.example:443 HTTP/1.1\nHost: localhost", 403, "host"},
		{"a tunnel to ourselves", "CONNECT localhost:22 HTTP/1.1\nHost: localhost\nAuthorization: Bearer $ada", 404, "not_found"},
		{"everything", "OPTIONS * HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"another method in a header", "GET /api/echo HTTP/1.1\nHost: localhost\nX-HTTP-Method-Override: POST\nAuthorization: Bearer $bob", 405, "method"},
		{"a public path and back", "GET /signin/../api/me HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"a public path and back, encoded", "GET /signin/%2e%2e/api/me HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"an encoded slash", "GET /signin%2fstyle.css HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"two slashes", "GET //api/me HTTP/1.1\nHost: localhost", 303, ""},
		{"slashes alone", "GET // HTTP/1.1\nHost: localhost", 303, ""},
		{"slashes alone, not for a page", "POST // HTTP/1.1\nHost: localhost\nContent-Length: 0", 401, "unauthorized"},
		{"two slashes that redirect elsewhere", "GET //evil.example/.. HTTP/1.1\nHost: localhost\nAuthorization: Bearer $bob", 404, "not_found"},
		{"a public path in another case", "GET /SIGNIN/style.css HTTP/1.1\nHost: localhost\nSec-Fetch-Mode: cors", 401, "unauthorized"},
		{"a public path with a slash", "GET /healthz/ HTTP/1.1\nHost: localhost", 401, "unauthorized"},
		{"a stream without its body", "HEAD /api/events HTTP/1.1\nHost: localhost\nAuthorization: Bearer $bob", 405, ""},
		{"an asset, nobody asks", "GET /assets/app.js HTTP/1.1\nHost: localhost\nSec-Fetch-Site: same-origin\nSec-Fetch-Mode: no-cors", 401, "unauthorized"},
		{"a page, nobody asks", "GET /chat HTTP/1.1\nHost: localhost", 303, ""},

		// Bodies.
		{"too large, and it says so", "POST /api/echo HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 30000000\nAuthorization: Bearer $bob", 413, "too_large"},
		{"too large, and nobody asks", "POST /api/echo HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 2\n\n{}", 401, "unauthorized"},
		{"too large in pieces", "POST /api/echo HTTP/1.1\nHost: localhost\nContent-Type: application/json\nTransfer-Encoding: chunked\nAuthorization: Bearer $bob\n\n401\n{" + strings.Repeat(" ", 1024) + "\n0\n\n", 413, "too_large"},
		{"two lengths", "POST /api/echo HTTP/1.1\nHost: localhost\nContent-Length: 2\nContent-Length: 3\nAuthorization: Bearer $bob\n\n{}", 400, ""},
		{"a length that is none", "POST /api/echo HTTP/1.1\nHost: localhost\nContent-Length: -1\nAuthorization: Bearer $bob", 400, ""},
		{"a form", "POST /api/echo HTTP/1.1\nHost: localhost\nContent-Type: text/plain\nContent-Length: 13\nAuthorization: Bearer $bob\n\n{\"title\":\"x\"}", 415, "bad_request"},
		{"no type", "POST /api/echo HTTP/1.1\nHost: localhost\nContent-Length: 13\nAuthorization: Bearer $bob\n\n{\"title\":\"x\"}", 415, "bad_request"},
		{"a header that is too large", "GET /api/me HTTP/1.1\nHost: localhost\nX: " + strings.Repeat("x", 64<<10), 431, ""},
		{"a large body where none belongs", "POST /api/runs/1/stop HTTP/1.1\nHost: localhost\nContent-Length: 30000000\nAuthorization: Bearer $bob", 413, "too_large"},
		{"a fitting body", "POST /api/echo HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 13\nAuthorization: Bearer $bob\n\n{\"title\":\"x\"}", 200, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			g.misses.by.Purge() // how often one may err is another test
			request := c.request
			if !strings.Contains(request, "\n\n") {
				request += "\n\n"
			}
			got := send(t, ts.Listener.Addr().String(), secrets.Replace(strings.ReplaceAll(request, "\n", "\r\n")))
			if got.StatusCode != c.status || c.code != "" && got.code() != c.code {
				t.Errorf("answered %d %s, want %d %s\n%s", got.StatusCode, got.code(), c.status, c.code, got.body)
			}
			if got.StatusCode == 400 || got.StatusCode == 431 {
				return // those net/http answers by itself
			}
			checkHeaders(t, got)
		})
	}
	if strings.Contains(g.log.String(), "goclaw_") || strings.Contains(g.log.String(), environmentToken) {
		t.Error("a secret is in the log")
	}
	if !strings.Contains(g.log.String(), "path=/api/me status=401") {
		t.Error("the log tells of no request")
	}
}

// send sends a request as it is written.
func send(t *testing.T, addr, request string) *answered {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	r, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return &answered{r, body}
}

// checkHeaders holds an answer to what every answer has.
func checkHeaders(t *testing.T, a *answered) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control":                "no-store",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if p := a.Header.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") || !strings.Contains(p, "frame-ancestors 'none'") {
		t.Errorf("Content-Security-Policy: %q", p)
	}
	if p := a.Header.Get("Referrer-Policy"); p != "no-referrer" && p != "strict-origin" {
		t.Errorf("Referrer-Policy: %q", p)
	}
	if id := a.Header.Get("X-Request-ID"); id == "" {
		t.Error("no X-Request-ID")
	}
	if a.Header.Get("Access-Control-Allow-Credentials") != "" || a.Header.Get("Access-Control-Allow-Origin") == "*" {
		t.Errorf("other pages may send cookies, or all may read: %v", a.Header)
	}
	kind := a.Header.Get("Content-Type")
	if a.StatusCode >= 400 && kind != "application/problem+json" && !strings.HasPrefix(string(a.body), `{"error":`) && a.Request.Method != http.MethodHead {
		t.Errorf("an error of type %s: %s", kind, a.body)
	}
}

// echo answers with the title that it was sent.
func echo(_ *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	var v Rename
	if err := decode(r, &v); err != nil {
		return err
	}
	return answer(w, http.StatusOK, v)
}
