package api

import (
	_ "embed" // the style
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
)

//go:embed signin/style.css
var signInCSS []byte

const (
	signInPath   = "/signin"
	signInStyle  = "/signin/style.css"
	signInPolicy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	maxSignIn    = 16 << 10 // of the form, in bytes
)

// writePage answers with a page of this package.
func writePage(w http.ResponseWriter, status int, page string) error {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", signInPolicy)
	// With no-referrer a browser would send the form with "Origin: null". So it
	// says the origin, and never the address with its code.
	h.Set("Referrer-Policy", "strict-origin")
	w.WriteHeader(status)
	_, err := io.WriteString(w, page)
	return err
}

// askToSignIn sends a browser that wants to see a page to where it can sign in.
func (s *Server) askToSignIn(w http.ResponseWriter, r *http.Request) {
	target := r.URL.RequestURI()
	if crossSite(r) && r.Header.Get("Cookie") == "" && isLocal(target) {
		// The browser keeps its cookie back when a page of another site leads
		// here. It sends it when the next step is one of our own.
		// The client may be gone; nobody is left to tell.
		_ = writePage(w, http.StatusOK, arrivePage(target))
		return
	}
	http.Redirect(w, r, signInAt(target), http.StatusSeeOther)
}

// signInAt is the address of the sign-in page that leads on to next.
func signInAt(next string) string {
	if next == "" || next == "/" || !isLocal(next) {
		return signInPath
	}
	return signInPath + "?" + url.Values{"next": {next}}.Encode()
}

// isLocal reports whether s is an address within this gateway in the one
// spelling that no browser reads as another host's: a path that begins with a
// single slash. Where the sign-in page itself is meant, there is no way on.
func isLocal(s string) bool {
	if !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") || len(s) > 2048 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '\\' {
			return false
		}
	}
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "" && u.Host == "" && isClean(u) && u.Path != signInPath && !strings.HasPrefix(u.Path, signInPath+"/")
}

// onwards is the address to go to after signing in.
func onwards(next string) string {
	if isLocal(next) {
		return next
	}
	return "/"
}

// interfaces are the first parts of paths at which programs ask, not people.
var interfaces = map[string]bool{
	"api": true, "v1": true, "tools": true, "hooks": true, "pages": true, "mcp": true, "nodes": true, "plugins": true,
	"healthz": true, "readyz": true, "metrics": true, "signin": true,
}

// isPage reports whether a browser, or who knows no better, wants to see a page.
func isPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || isInterface(r) {
		return false
	}
	mode := r.Header.Get("Sec-Fetch-Mode")
	return mode == "" || mode == "navigate"
}

func isInterface(r *http.Request) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return interfaces[first]
}

// pages answers everything that is no interface with the web UI.
func pages(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	if s.opts.Web == nil || isInterface(r) {
		return unknownPath(r)
	}
	s.opts.Web.ServeHTTP(w, r)
	return nil
}

// getSignIn shows the page, or signs in with the code of a link.
func getSignIn(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	q := r.URL.Query()
	code, next := q.Get("code"), q.Get("next")
	if !isLocal(next) {
		next = ""
	}
	if code == "" {
		if _, ok := s.session(r); ok {
			http.Redirect(w, r, onwards(next), http.StatusSeeOther)
			return nil
		}
		return signInView{Next: next}.show(w, http.StatusOK)
	}
	if !s.isMeant(r) {
		return signInView{Code: code, Next: next}.show(w, http.StatusOK)
	}
	return s.enter(w, r, code, next)
}

// isMeant reports whether a person opened a sign-in link themselves, or a
// program did that knows what it does. A link is spent when it is used, and it
// signs the browser in as somebody: so it isn't used up by what looks ahead,
// and not by another site's page, which could sign a person in as somebody
// else without a word. Those get a button.
func (s *Server) isMeant(r *http.Request) bool {
	h := r.Header
	switch {
	case r.Method != http.MethodGet:
		return false
	case h.Get("Sec-Purpose") != "", h.Get("Purpose") != "", h.Get("X-Moz") != "", h.Get("X-Purpose") != "":
		return false
	case h.Get("Sec-Fetch-Site") != "":
		return h.Get("Sec-Fetch-Site") == "none"
	}
	// A browser that doesn't say, over http from another machine.
	return !strings.Contains(h.Get("Accept"), "text/html")
}

// postSignIn signs in with what the form holds: a token, or a link's code.
func postSignIn(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return problem(http.StatusUnsupportedMediaType, "bad_request", "send the form as application/x-www-form-urlencoded, with a field token or code")
	}
	if err := r.ParseForm(); err != nil {
		if _, internal := problemOf(err); !internal {
			return err
		}
		return badRequest("the form can't be read: %v", err)
	}
	next := r.PostForm.Get("next")
	if !isLocal(next) {
		next = ""
	}
	if code := r.PostForm.Get("code"); code != "" {
		return s.enter(w, r, code, next)
	}
	given := strings.TrimSpace(r.PostForm.Get("token"))
	if given == "" {
		return signInView{Next: next, Title: "The field was empty", Reason: "Enter a token."}.show(w, http.StatusBadRequest)
	}
	return s.enter(w, r, given, next)
}

// enter begins a browser's session with a token or a link's code.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, given, next string) error {
	now := s.opts.Now()
	code := codeIn(given)
	var secret string
	var token auth.Token
	var err error
	if code != "" {
		secret, token, err = s.redeem(r, code, now)
		if errors.Is(err, auth.ErrDenied) && !errors.Is(err, auth.ErrExpired) {
			if p := s.wrong(r.RemoteAddr, now); p != nil {
				err = p
			}
		}
	} else {
		var c Caller
		if !isSecret(given) {
			err = unauthorized("the token is not valid")
		} else {
			c, err = s.verify(r.Context(), credential{secret: given}, r.RemoteAddr)
		}
		if err == nil {
			g := auth.Grant{Principal: c.Principal, Token: c.token}
			if c.Token == (auth.Sum{}) {
				g.Token.Note = s.environmentNote()
			}
			secret, token, err = auth.NewSession(r.Context(), s.opts.Users, g, now)
		}
	}
	if err != nil {
		if _, ok := s.session(r); ok && code != "" && errors.Is(err, auth.ErrDenied) {
			// Who opens their link once more means the page behind it.
			http.Redirect(w, r, onwards(next), http.StatusSeeOther)
			return nil
		}
		return s.notEntered(w, code != "", err, next)
	}
	s.leave(r) // the browser forgets its session, so nobody should be able to use it
	http.SetCookie(w, s.sessionCookie(secret, int(token.Expires.Sub(now)/time.Second)))
	http.Redirect(w, r, onwards(next), http.StatusSeeOther)
	return nil
}

// redeem begins a session with a link's code. It looks before it takes: taking
// waits for the one who writes to the database, and anybody may send codes.
func (s *Server) redeem(r *http.Request, code string, now time.Time) (string, auth.Token, error) {
	t, _, err := s.opts.Users.Token(r.Context(), auth.SumOf(code))
	if errors.Is(err, auth.ErrUnknown) || err == nil && t.Kind != auth.KindLink {
		return "", auth.Token{}, auth.ErrDenied
	}
	if err != nil {
		return "", auth.Token{}, fmt.Errorf("look for a sign-in link: %w", err)
	}
	secret, t, _, err := auth.Redeem(r.Context(), s.opts.Users, code, now)
	return secret, t, err
}

// codeIn is the code of a sign-in link in what a person entered, which may be
// the whole link; empty for none.
func codeIn(given string) string {
	if strings.HasPrefix(given, "http://") || strings.HasPrefix(given, "https://") {
		if u, err := url.Parse(given); err == nil {
			given = u.Query().Get("code")
		}
	}
	if strings.HasPrefix(given, auth.LinkPrefix) && len(given) <= maxSecret {
		return given
	}
	return ""
}

// notEntered shows the page with why it didn't work.
func (s *Server) notEntered(w http.ResponseWriter, link bool, err error, next string) error {
	v := signInView{Next: next, Title: "This token is not valid", Reason: "It may have been revoked, or not copied whole."}
	var p *Problem
	errors.As(err, &p)
	status := http.StatusUnauthorized
	switch {
	case p != nil && p.Status == http.StatusTooManyRequests:
		status = p.Status
		seconds := retryAfter(p.after)
		w.Header().Set("Retry-After", seconds)
		v.Title = "Too many wrong tokens"
		v.Reason = "They came from your network address. Wait " + seconds + " seconds and try again."
	case errors.Is(err, auth.ErrExpired):
		v.Title, v.Reason = "This link has expired", "A sign-in link is good for a short time only."
	case link && errors.Is(err, auth.ErrDenied):
		v.Title, v.Reason = "This link can't be used", "A sign-in link works once, and this one has been used, or was not copied whole."
	case errors.Is(err, auth.ErrUnknown):
		v.Title, v.Reason = "There is no account "+auth.FirstAdmin, "GOCLAW_TOKEN signs in as "+auth.FirstAdmin+", and that account was removed. Use a token of your own."
	case p == nil || p.Status != http.StatusUnauthorized:
		return err
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	return v.show(w, status)
}

// session is the browser's session that the request's cookie shows, if any.
func (s *Server) session(r *http.Request) (auth.Grant, bool) {
	cred, p := credentialOf(http.Header{"Cookie": r.Header["Cookie"]}, s.cookie, true)
	if p != nil || cred.secret == "" {
		return auth.Grant{}, false
	}
	g, err := auth.Verify(r.Context(), s.opts.Users, cred.secret, s.opts.Now())
	return g, err == nil && g.Token.Kind == auth.KindSession && s.holds(g.Token)
}

// leave removes the session that the request's cookie shows, if any.
func (s *Server) leave(r *http.Request) {
	g, ok := s.session(r)
	if !ok {
		return
	}
	if err := s.revoke(r, g.Token); err != nil {
		// The person is signed in anew all the same; the old session expires.
		s.opts.Log.Warn("end a browser's earlier session", "user", g.ID, "err", err)
	}
}

// revoke removes a token and ends what is open on it.
func (s *Server) revoke(r *http.Request, t auth.Token) error {
	if err := s.opts.Users.RemoveToken(r.Context(), t.ID); err != nil && !errors.Is(err, auth.ErrUnknown) {
		return fmt.Errorf("revoke a token: %w", err)
	}
	s.revoked(t.Sum)
	return nil
}

// sessionCookie makes the cookie; a negative age removes it.
func (s *Server) sessionCookie(secret string, age int) *http.Cookie {
	return &http.Cookie{
		Name: s.cookie, Value: secret, Path: "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.cookie == secureCookieName,
	}
}

func (s *Server) dropCookie(w http.ResponseWriter) { http.SetCookie(w, s.sessionCookie("", -1)) }

// getSignInStyle answers with what the page looks like.
func getSignInStyle(_ *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	_, err := w.Write(signInCSS)
	return err
}
