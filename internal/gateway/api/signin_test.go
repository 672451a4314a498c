package api

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
)

const (
	typed    = "Sec-Fetch-Site: none" // an address that a person typed, or opened from another program
	linked   = "Sec-Fetch-Site: cross-site"
	navigate = "Sec-Fetch-Mode: navigate"
	topLevel = "Sec-Fetch-Dest: document"
	form     = "Content-Type: application/x-www-form-urlencoded"
	asHTML   = "Accept: text/html,application/xhtml+xml,*/*;q=0.8"
)

// cookieIn is the session that an answer sets, with a note of what is wrong with
// the cookie.
func cookieIn(t *testing.T, a *answered, secure bool) string {
	t.Helper()
	list := a.Cookies()
	if len(list) != 1 {
		t.Fatalf("%d %s sets %d cookies", a.StatusCode, a.body, len(list))
	}
	c, name := list[0], cookieName
	if secure {
		name = secureCookieName
	}
	if c.Name != name || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Secure != secure {
		t.Errorf("the cookie is %s", c)
	}
	if c.MaxAge > 0 && c.MaxAge != int(sessionLife/time.Second) && c.MaxAge != int(sessionLife/time.Second)-1 {
		t.Errorf("the cookie lasts %d s", c.MaxAge)
	}
	return c.Value
}

// sessionLife is how long a browser stays signed in.
const sessionLife = 30 * 24 * time.Hour

func TestASignInLinkWorksOnce(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	link := signInPath + "?code=" + g.link("bob", 0)
	a := g.ask("GET", link, "", typed, navigate, topLevel, asHTML)
	if a.StatusCode != 303 || a.Header.Get("Location") != "/" {
		t.Fatalf("%d to %q: %s", a.StatusCode, a.Header.Get("Location"), a.body)
	}
	session := cookieIn(t, a, false)
	if me := g.ask("GET", "/api/me", "", cookieOf(session)); me.StatusCode != 200 || !strings.Contains(string(me.body), `"bob"`) {
		t.Errorf("the session is %d %s", me.StatusCode, me.body)
	}
	if a := g.ask("GET", link, "", typed, navigate, topLevel, asHTML, cookieOf(session)); a.StatusCode != 303 || a.Header.Get("Location") != "/" || len(a.Cookies()) != 0 {
		t.Errorf("once more, signed in: %d", a.StatusCode)
	}
	a = g.ask("GET", link, "", typed, navigate, topLevel, asHTML)
	if a.StatusCode != 401 || len(a.Cookies()) != 0 {
		t.Errorf("the second time: %d", a.StatusCode)
	}
	for _, want := range []string{"This link can&#39;t be used", "goclaw users link NAME", "goclaw users token NAME", `role="alert"`} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("the page lacks %q:\n%s", want, a.body)
		}
	}
	for _, secret := range []string{session, strings.TrimPrefix(link, signInPath+"?code=")} {
		if strings.Contains(g.log.String(), secret) || strings.Contains(string(a.body), secret) {
			t.Error("a secret is in the log, or on the page")
		}
	}
}

func TestAnExpiredLinkSaysSo(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	code := g.link("bob", time.Nanosecond)
	a := g.ask("GET", signInPath+"?code="+code, "")
	if a.StatusCode != 401 || !strings.Contains(string(a.body), "This link has expired") {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// A link is spent by who means it and by nobody else.
func TestLinksAreNotSpentByAccident(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	code := g.link("bob", 0)
	link := signInPath + "?next=%2Fchat&code=" + code
	for what, headers := range map[string][]string{
		"HEAD":                           {"HEAD"},
		"a prefetch":                     {"GET", "Sec-Purpose: prefetch", typed, navigate, topLevel},
		"a prerendering":                 {"GET", "Sec-Purpose: prefetch;prerender", typed, navigate, topLevel},
		"an old prefetch":                {"GET", "Purpose: prefetch"},
		"a very old prefetch":            {"GET", "X-Moz: prefetch"},
		"a link on another's page":       {"GET", linked, navigate, topLevel, asHTML},
		"a link on another port's page":  {"GET", "Sec-Fetch-Site: same-site", navigate, topLevel, asHTML},
		"a script of our own page":       {"GET", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"},
		"a browser that says nothing":    {"GET", asHTML},
		"a browser that says two things": {"GET", typed, linked, asHTML},
	} {
		a := g.ask(headers[0], link, "", headers[1:]...)
		if what == "a browser that says two things" && a.StatusCode == 403 {
			continue
		}
		if a.StatusCode != 200 || len(a.Cookies()) != 0 {
			t.Errorf("%s: %d, %d cookies", what, a.StatusCode, len(a.Cookies()))
		}
		if headers[0] == "GET" && (!strings.Contains(string(a.body), `name="code" value="`+code+`"`) || !strings.Contains(string(a.body), `name="next" value="/chat"`)) {
			t.Errorf("%s: there is no button for the link:\n%s", what, a.body)
		}
	}
	// The button.
	a := g.ask("POST", signInPath, url.Values{"code": {code}, "next": {"/chat"}}.Encode(), form, "Origin: http://127.0.0.1:18800", "Sec-Fetch-Site: same-origin")
	if a.StatusCode != 303 || a.Header.Get("Location") != "/chat" {
		t.Errorf("the button: %d to %q", a.StatusCode, a.Header.Get("Location"))
	}
	cookieIn(t, a, false)
}

func TestSigningInWithAToken(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{PublicURL: "https://claw.example.org"})
	post := func(values url.Values, h ...string) *answered {
		g.misses.by.Purge()
		return g.ask("POST", signInPath, values.Encode(), append(h, form)...)
	}
	expired := g.token("bob", time.Now().Add(-time.Hour))
	for _, c := range []struct {
		what, token string
		user        string // empty when it must not work
		status      int
		page        string
	}{
		{"an admin's", g.ada, "ada", 303, ""},
		{"a user's, with blanks around it", " " + g.bob + "\n", "bob", 303, ""},
		{"the operator's", environmentToken, "admin", 303, ""},
		{"a link's code", g.link("bob", 0), "bob", 303, ""},
		{"a whole link", "http://127.0.0.1:18800/signin?code=" + g.link("bob", 0), "bob", 303, ""},
		{"a wrong one", "goclaw_wrong", "", 401, "This token is not valid"},
		{"an expired one", expired, "", 401, "This token is not valid"},
		{"a browser's session", g.session("ada"), "", 401, "This token is not valid"},
		{"none", "", "", 400, "The field was empty"},
		{"what can't be one", "\x00ü", "", 401, "This token is not valid"},
		{"another address", "https://evil.example/?code=x", "", 401, "This token is not valid"},
	} {
		a := post(url.Values{"token": {c.token}})
		if a.StatusCode != c.status || !strings.Contains(string(a.body), c.page) {
			t.Errorf("%s: %d %s", c.what, a.StatusCode, a.body)
			continue
		}
		if c.token != "" && strings.Contains(string(a.body), strings.TrimSpace(c.token)) {
			t.Errorf("%s: the page tells it", c.what)
		}
		if c.user == "" {
			if len(a.Cookies()) != 0 {
				t.Errorf("%s: a cookie", c.what)
			}
			continue
		}
		me := g.ask("GET", "/api/me", "", "Cookie: "+secureCookieName+"="+cookieIn(t, a, true))
		if !strings.Contains(string(me.body), `"id":"`+c.user+`"`) {
			t.Errorf("%s: signed in as %s", c.what, me.body)
		}
	}
	// Only the form's own fields count.
	for what, a := range map[string]*answered{
		"in the query":  g.ask("POST", signInPath+"?token="+g.ada, "", form),
		"as JSON":       g.ask("POST", signInPath, `{"token":"`+g.ada+`"}`, "Content-Type: application/json"),
		"as plain text": g.ask("POST", signInPath, "token="+g.ada, "Content-Type: text/plain"),
		"too long":      g.ask("POST", signInPath, "token="+strings.Repeat("x", maxSignIn), form),
		"garbled":       g.ask("POST", signInPath, "token=%zz", form),
	} {
		if a.StatusCode < 400 || len(a.Cookies()) != 0 {
			t.Errorf("%s: %d", what, a.StatusCode)
		}
	}
}

func TestWrongTokensOnThePageAreHeldBack(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	for range maxMisses / 2 {
		g.ask("POST", signInPath, "token=wrong", form)
		g.ask("GET", signInPath+"?code="+auth.LinkPrefix+"wrong", "")
	}
	for _, a := range []*answered{g.ask("POST", signInPath, "token=wrong", form), g.ask("GET", signInPath+"?code="+auth.LinkPrefix+"wrong", "")} {
		if a.StatusCode != 429 || a.Header.Get("Retry-After") != "6" || !strings.Contains(string(a.body), "Wait 6 seconds") {
			t.Errorf("%d, Retry-After %s: %s", a.StatusCode, a.Header.Get("Retry-After"), a.body)
		}
	}
	if a := g.ask("POST", signInPath, "token="+g.bob, form); a.StatusCode != 303 {
		t.Errorf("a right token: %d", a.StatusCode)
	}
	if a := g.ask("GET", signInPath+"?code="+g.link("bob", 0), ""); a.StatusCode != 303 {
		t.Errorf("a right link: %d", a.StatusCode)
	}
}

func TestPagesLeadToSignInAndBack(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	for target, want := range map[string]string{
		"/":              "/signin",
		"/chat/main/1":   "/signin?next=%2Fchat%2Fmain%2F1",
		"/chat?a=b&c=d":  "/signin?next=%2Fchat%3Fa%3Db%26c%3Dd",
		"//evil.example": "/signin",
	} {
		a := g.ask("GET", target, "", typed, navigate, topLevel)
		if a.StatusCode != 303 || a.Header.Get("Location") != want {
			t.Errorf("GET %s: %d to %q, want %q", target, a.StatusCode, a.Header.Get("Location"), want)
		}
	}
	// A cookie that is worth nothing is taken back.
	if a := g.ask("GET", "/", "", cookieOf("goclaw_web_old")); a.StatusCode != 303 || len(a.Cookies()) != 1 || a.Cookies()[0].MaxAge != -1 {
		t.Errorf("%d, cookies %v", a.StatusCode, a.Cookies())
	}
	if a := g.ask("GET", "/api/me", "", cookieOf("goclaw_web_old")); a.StatusCode != 401 || len(a.Cookies()) != 1 || a.Cookies()[0].MaxAge != -1 {
		t.Errorf("%d, cookies %v", a.StatusCode, a.Cookies())
	}
	for range maxMisses {
		g.ask("GET", "/api/me", "", as("goclaw_old"))
	}
	if a := g.ask("GET", "/", "", cookieOf("goclaw_web_old")); a.StatusCode != 303 || len(a.Cookies()) != 1 || a.Cookies()[0].MaxAge != -1 {
		t.Errorf("after many wrong ones: %d, cookies %v", a.StatusCode, a.Cookies())
	}
	if a := g.ask("GET", "/api/me", "", as("goclaw_old"), cookieOf(g.session("bob"))); len(a.Cookies()) != 0 {
		t.Error("a wrong token takes a right cookie back")
	}
	// Whoever is signed in is led on.
	if a := g.ask("GET", "/signin?next=/chat", "", cookieOf(g.session("bob"))); a.StatusCode != 303 || a.Header.Get("Location") != "/chat" {
		t.Errorf("signed in: %d to %q", a.StatusCode, a.Header.Get("Location"))
	}
	// A browser keeps its cookie back when another's page leads here: it gets
	// one more step that is our own.
	a := g.ask("GET", "/chat?x=%22%3E%3Cscript%3E", "", linked, navigate, topLevel)
	if a.StatusCode != 200 || !strings.Contains(string(a.body), `content="0;url=/chat?x=%22%3E%3Cscript%3E"`) || strings.Contains(string(a.body), "<script") {
		t.Errorf("from another's page: %d %s", a.StatusCode, a.body)
	}
	if a := g.ask("GET", "//evil.example", "", linked, navigate, topLevel); a.StatusCode != 303 {
		t.Errorf("from another's page to yet another: %d %s", a.StatusCode, a.body)
	}
}

func TestNextStaysHere(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"/": true, "/chat": true, "/chat/": true, "/chat?x=//evil": true, "/a%2f%2fb": true,
		"": false, "chat": false, "//evil.example": false, "/\\evil.example": false, "\\\\evil.example": false,
		"/\t/evil.example": false, "/\n/evil.example": false, " //evil.example": false, "https://evil.example": false,
		"javascript:alert(1)": false, "/../evil": false, "/.//evil.example": false, "/a//b": false, "/chat/..//evil.example": false,
		"/signin": false, "/signin/x": false, "/%": false, "/ü": false, "/" + strings.Repeat("x", 3000): false,
	} {
		if got := isLocal(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
	g := newGate(t, Options{})
	for _, next := range []string{"//evil.example", "https://evil.example", "/\\evil.example"} {
		a := g.ask("POST", signInPath, url.Values{"token": {g.bob}, "next": {next}}.Encode(), form)
		if a.StatusCode != 303 || a.Header.Get("Location") != "/" {
			t.Errorf("next=%s leads to %q", next, a.Header.Get("Location"))
		}
		if a := g.ask("GET", signInPath+"?next="+url.QueryEscape(next), ""); strings.Contains(string(a.body), "evil") {
			t.Errorf("next=%s is on the page", next)
		}
	}
}

func TestSigningOut(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	session := g.session("bob")
	if a := g.ask("POST", "/api/signout", "", as(g.bob)); a.StatusCode != 400 || a.code() != "bad_request" {
		t.Errorf("with a token: %d", a.StatusCode)
	}
	a := g.ask("POST", "/api/signout", "", cookieOf(session))
	if a.StatusCode != 204 || len(a.Cookies()) != 1 || a.Cookies()[0].MaxAge != -1 {
		t.Errorf("%d, cookies %v", a.StatusCode, a.Cookies())
	}
	if a := g.ask("GET", "/api/me", "", cookieOf(session)); a.StatusCode != 401 {
		t.Errorf("afterwards: %d", a.StatusCode)
	}
	if a := g.ask("GET", "/api/me", "", as(g.bob)); a.StatusCode != 200 {
		t.Errorf("the token: %d", a.StatusCode)
	}
}

func TestSigningInAnewEndsTheEarlierSession(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	old := g.session("ada")
	a := g.ask("POST", signInPath, "token="+g.bob, form, cookieOf(old))
	if a.StatusCode != 303 {
		t.Fatalf("%d", a.StatusCode)
	}
	if a := g.ask("GET", "/api/me", "", cookieOf(old)); a.StatusCode != 401 {
		t.Errorf("the earlier session: %d", a.StatusCode)
	}
	// A failed one ends nothing.
	session := cookieIn(t, a, false)
	g.ask("POST", signInPath, "token=wrong", form, cookieOf(session))
	if a := g.ask("GET", "/api/me", "", cookieOf(session)); a.StatusCode != 200 {
		t.Errorf("after a wrong token: %d", a.StatusCode)
	}
}

// Sessions end with what they began with.
func TestSessionsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	enter := func(token string) string {
		return cookieIn(t, g.ask("POST", signInPath, "token="+token, form), false)
	}
	alive := func(session string) bool { return g.ask("GET", "/api/me", "", cookieOf(session)).StatusCode == 200 }
	mine, operators := enter(g.bob), enter(environmentToken)
	remove(t, g, auth.SumOf(g.bob))
	if alive(mine) {
		t.Error("a session outlives its token")
	}
	if !alive(operators) {
		t.Error("the operator's session is gone")
	}
	for _, rotated := range []string{environmentToken + "2", ""} {
		g.opts.Token = rotated
		if alive(operators) {
			t.Errorf("a session outlives GOCLAW_TOKEN, which is now %q", rotated)
		}
	}
	g.opts.Token = environmentToken
	g.removeUser("admin")
	if a := g.ask("POST", signInPath, "token="+environmentToken, form); a.StatusCode != 401 || !strings.Contains(string(a.body), "There is no account admin") {
		t.Errorf("without the account: %d %s", a.StatusCode, a.body)
	}
}

// A mistyped path of an interface gets no page.
func TestInterfacesHaveNoPages(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	for path, want := range map[string]int{
		"/": 200, "/chat/main": 200, "/apiary": 200, "/api": 404, "/api/nothing": 404, "/v1/nothing": 404, "/tools/nothing": 404, "/healthz/x": 404, "/nodes": 404,
	} {
		a := g.ask("GET", path, "", as(g.bob))
		if page := strings.HasPrefix(string(a.body), "page "); a.StatusCode != want || page != (want == 200) {
			t.Errorf("%s: %d %s", path, a.StatusCode, a.body)
		}
	}
}

func TestTheSignInPage(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{})
	a := g.ask("GET", signInPath, "")
	if a.StatusCode != 200 || a.Header.Get("Content-Type") != "text/html; charset=utf-8" || a.Header.Get("Content-Security-Policy") != signInPolicy ||
		a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Referrer-Policy") != "strict-origin" {
		t.Errorf("%d %v", a.StatusCode, a.Header)
	}
	for _, want := range []string{`<html lang="en">`, `name="viewport"`, `<label for="token">`, `autocomplete="current-password"`, `method="post" action="/signin"`} {
		if !strings.Contains(string(a.body), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, no := range []string{"<script", "style=", "onclick", "http://", "https://"} {
		if strings.Contains(string(a.body), no) {
			t.Errorf("the page has %s", no)
		}
	}
	css := g.ask("GET", signInStyle, "")
	if css.StatusCode != 200 || css.Header.Get("Content-Type") != "text/css; charset=utf-8" || strings.Contains(string(css.body), "url(") || strings.Contains(string(css.body), "@import") {
		t.Errorf("the style: %d %s", css.StatusCode, css.Header.Get("Content-Type"))
	}
	evil := g.ask("GET", signInPath+`?code=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&next=/x%22%3E%3Cscript%3E`, "", linked, navigate, topLevel)
	if strings.Contains(string(evil.body), "<script") {
		t.Errorf("what is in the address gets onto the page:\n%s", evil.body)
	}
}
