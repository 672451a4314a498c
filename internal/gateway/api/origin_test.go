package api

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestAuthorities(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"localhost": "localhost", "LocalHost:80": "localhost:80", "a-b.c_d.example:65535": "a-b.c_d.example:65535", "xn--bcher-kva.example": "xn--bcher-kva.example",
		"127.0.0.1": "127.0.0.1", "127.0.0.1:1": "127.0.0.1:1", "[::1]": "[::1]", "[::1]:80": "[::1]:80", "[0:0::1]": "[::1]", "[::ffff:127.0.0.1]:5": "127.0.0.1:5", "1e3.example": "1e3.example",

		"": "", ":": "", ":80": "", "localhost:": "", "localhost:0": "", "localhost:080": "", "localhost:+80": "", "localhost:65536": "", "localhost:80:80": "", "localhost.": "", ".localhost": "", "a..b": "",
		"-a": "", "a-": "", "a b": "", "a/b": "", "a@b": "", "a?b": "", "a#b": "", "a\\b": "", "a,b": "", "ä": "", "a\x00": "", "*": "", "*.example": "",
		"1": "", "127.1": "", "0x7f.1": "", "0x7f000001": "", "0177.0.0.1": "", "127.0.0.1.": "", "256.0.0.1": "", "example.1": "", "example.0x1": "",
		"::1": "", "[::1": "", "::1]": "", "[]": "", "[::1]80": "", "[::1]:": "", "[::1%25lo]": "", "[::1%lo]": "", "[127.0.0.1]": "", "[localhost]": "", "[[::1]]": "",
		strings.Repeat("a", 64): "", strings.Repeat("a.", 130) + "b": "",
	} {
		a, ok := parseAuthority(in)
		if ok != (want != "") || ok && a.String() != want {
			t.Errorf("%q is read as %q, %v", in, a, ok)
		}
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://localhost": "http://localhost", "http://localhost:80": "http://localhost", "https://a.example:443": "https://a.example", "https://a.example:80": "https://a.example:80",
		"HTTP://A.Example": "http://a.example", "http://[::1]:1": "http://[::1]:1", "chrome-extension://abc": "chrome-extension://abc",

		"": "", "null": "", "localhost": "", "://a": "", "http://": "", "http:///": "", "http://a/": "", "http://a/b": "", "http://a?b": "", "http://u@a": "", "http://a b": "", "http://*": "",
		"file://": "", "1a://b": "", "a b://c": "", "x://*": "", "x://a/b": "", "x://a b": "", "data:text/html,x": "",
	} {
		o, ok := parseOrigin(in)
		if ok != (want != "") || ok && o.String() != want {
			t.Errorf("%q is read as %q, %v", in, o, ok)
		}
	}
}

func TestHostsBeyondLoopback(t *testing.T) {
	t.Parallel()
	n, err := newNames(Options{Hosts: []string{"Build.LAN", "192.168.1.5"}})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"build.lan": true, "192.168.1.5:18800": true, "10.0.0.7": true, "[2001:db8::1]": true, "127.0.0.1": true, "[::1]": true, "localhost": true,
		"evil.example": false, "0.0.0.0": false, "[::]": false, "224.0.0.1": false, "": false, "[::ffff:0.0.0.0]": false,
	} {
		if p := n.checkHost(&http.Request{Host: host}); (p == nil) != want {
			t.Errorf("%q: %v", host, p)
		}
	}
}

func TestPreflights(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{Origins: []string{"https://app.example.net"}})
	a := g.ask("OPTIONS", "/api/runs", "", "Origin: https://app.example.net", "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: authorization,content-type,x-stainless-os, x-stainless-retry-count,x-evil,x-stainless-a b")
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":      "https://app.example.net",
		"Access-Control-Allow-Methods":     "GET, POST, PATCH, DELETE",
		"Access-Control-Allow-Headers":     corsHeaders + ", x-stainless-os, x-stainless-retry-count",
		"Access-Control-Max-Age":           "600",
		"Access-Control-Allow-Credentials": "",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if vary := a.Header.Values("Vary"); a.StatusCode != 204 || strings.Join(vary, ", ") != "Origin, Access-Control-Request-Method, Access-Control-Request-Headers" {
		t.Errorf("%d, Vary %q", a.StatusCode, vary)
	}
	// What the page reads, errors too.
	for _, h := range [][]string{{as(g.bob)}, nil} {
		a := g.ask("GET", "/api/me", "", append(h, "Origin: https://app.example.net")...)
		if a.Header.Get("Access-Control-Allow-Origin") != "https://app.example.net" || a.Header.Get("Access-Control-Expose-Headers") != corsExposed || a.Header.Get("Vary") != "Origin" {
			t.Errorf("%d %v", a.StatusCode, a.Header)
		}
	}
	// Nobody else reads anything, and caches know.
	for _, h := range []string{"Origin: https://evil.example", "Origin: http://127.0.0.1:18800", "X: y"} {
		a := g.ask("OPTIONS", "/api/runs", "", h, "Access-Control-Request-Method: POST")
		if a.StatusCode < 400 || a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", h, a.StatusCode, a.Header)
		}
		if a.StatusCode == 401 && a.Header.Get("Vary") != "Origin" {
			t.Errorf("%s: Vary %q", h, a.Header.Get("Vary"))
		}
	}
	none := newGate(t, Options{})
	for _, o := range []string{"https://app.example.net", "http://127.0.0.1:18800"} {
		a := none.ask("OPTIONS", "/api/runs", "", "Origin: "+o, "Access-Control-Request-Method: POST")
		if a.StatusCode < 400 || a.Header.Get("Access-Control-Allow-Origin") != "" || a.Header.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("without a list, %s: %d %v", o, a.StatusCode, a.Header)
		}
	}
}

// What is read as an authority is what others read, too: written again it is
// the same, and the standard library finds the same host in it.
func FuzzAuthority(f *testing.F) {
	for _, s := range []string{"localhost", "LOCALHOST:80", "[::1]:18800", "127.0.0.1", "[::ffff:1.2.3.4]", "a@b", "0x7f.1", "[::1%25lo]:1", "a:b:c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, ok := parseAuthority(s)
		if !ok {
			return
		}
		if again, ok := parseAuthority(a.String()); !ok || again != a {
			t.Errorf("%q is %q, and then %q", s, a, again)
		}
		u, err := url.Parse("http://" + s + "/")
		if err != nil {
			t.Fatalf("%q is taken, and no address: %v", s, err)
		}
		host := strings.ToLower(u.Hostname())
		if ip, err := netip.ParseAddr(host); err == nil {
			if a.addr != ip.Unmap() {
				t.Errorf("%q is %v to us and %v to others", s, a.addr, ip)
			}
		} else if a.name != host {
			t.Errorf("%q is %q to us and %q to others", s, a.name, host)
		}
	})
}

// A gateway on this machine with no further names answers to this machine's
// names and to its own pages, whatever is sent.
func FuzzHostAndOrigin(f *testing.F) {
	n, err := newNames(Options{Loopback: true, PublicURL: "https://claw.example.org"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("localhost", "http://localhost", "same-origin", "POST")
	f.Add("claw.example.org", "https://claw.example.org", "", "GET")
	f.Add("127.0.0.1:1", "null", "cross-site", "GET")
	f.Add("evil.example", "http://evil.example", "none", "PUT")
	f.Fuzz(func(t *testing.T, host, from, site, method string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Method, r.Host = method, host
		r.Header["Origin"] = []string{from}
		r.Header["Sec-Fetch-Site"] = []string{site}
		if n.checkHost(r) != nil {
			return
		}
		name := strings.ToLower(host)
		if i := strings.LastIndexByte(name, ':'); i >= 0 && !strings.HasSuffix(name, "]") {
			name = name[:i]
		}
		ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
		if name != "localhost" && name != "claw.example.org" && (err != nil || !ip.Unmap().IsLoopback()) {
			t.Errorf("Host %q is taken", host)
		}
		if _, p := n.checkOrigin(r); p != nil {
			return
		}
		u, err := url.Parse(from)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Path != "" || u.User != nil {
			t.Fatalf("Origin %q is taken", from)
		}
		public := strings.EqualFold(u.Hostname(), "claw.example.org")
		if public && u.Scheme != "https" || !public && !sameHost(u.Hostname(), name) {
			t.Errorf("Origin %q is taken by %q", from, host)
		}
	})
}

func sameHost(a, b string) bool {
	a, b = strings.ToLower(strings.Trim(a, "[]")), strings.Trim(b, "[]")
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return a == b || errX == nil && errY == nil && x.Unmap() == y.Unmap()
}
