package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
)

// Caller is whom a request acts for, with what ends it.
type Caller struct {
	auth.Principal
	// Token is the digest of the token that was shown; zero for GOCLAW_TOKEN.
	Token auth.Sum
	// Cookie says that the token came as a browser's cookie.
	Cookie bool

	token auth.Token // zero for GOCLAW_TOKEN
}

// cookieName is that of the cookie by which a browser shows its session. With
// the prefix, browsers take it over https alone and from this very host alone,
// so that no neighbour can plant one.
const (
	cookieName       = "goclaw_session"
	secureCookieName = "__Host-" + cookieName
)

// maxSecret bounds what is hashed of a credential, in bytes.
const maxSecret = 1024

// credential is what a request shows of who asks. The zero value is none.
type credential struct {
	secret string
	cookie bool
}

// credentialOf reads the credential of a request. Where there is an
// Authorization header it counts alone, right or wrong: a program that means
// to be one caller must never be another by a cookie that came along. Cookies
// are looked at only when cookies says so. The address is never looked at: it
// ends up in logs and histories.
func credentialOf(h http.Header, name string, cookies bool) (credential, *Problem) {
	if values, ok := h["Authorization"]; ok {
		if len(values) != 1 {
			return credential{}, unauthorized("the request has %d Authorization headers; send one", len(values))
		}
		secret, ok := bearer(values[0])
		if !ok {
			return credential{}, unauthorized("the Authorization header must be: Bearer TOKEN; a proxy that asks for a password of its own must not pass it on")
		}
		return credential{secret: secret}, nil
	}
	if !cookies {
		return credential{}, nil
	}
	found := (&http.Request{Header: h}).CookiesNamed(name)
	switch {
	case len(found) == 0:
		return credential{}, nil
	case len(found) > 1:
		return credential{}, unauthorized("the request has %d cookies %s: another page of this host has set one; delete the host's cookies and sign in again", len(found), name)
	case !isSecret(found[0].Value):
		return credential{cookie: true}, unauthorized("the cookie %s is malformed; sign in again", name)
	}
	return credential{secret: found[0].Value, cookie: true}, nil
}

// bearer reads "Bearer TOKEN" (RFC 6750, 2.1; the scheme in any case).
func bearer(header string) (secret string, ok bool) {
	scheme, secret, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	secret = strings.TrimLeft(secret, " ")
	return secret, isSecret(secret)
}

// isSecret reports whether s can be a credential: printable ASCII without
// blanks. GOCLAW_TOKEN is a person's choice, so that there are no closer rules.
func isSecret(s string) bool {
	if s == "" || len(s) > maxSecret {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func unauthorized(format string, args ...any) *Problem {
	return problem(http.StatusUnauthorized, "unauthorized", format, args...)
}

// smuggled are names under which people put tokens into addresses.
var smuggled = []string{"token", "access_token", "api_key", "apikey", "key", "auth", "authorization", "bearer"}

// who says who asks, or why nobody known does. A page of another origin acts
// only for the token that it shows itself.
func (s *Server) who(r *http.Request, from sender) (Caller, error) {
	cred, p := credentialOf(r.Header, s.cookie, from != listed)
	if p != nil {
		return Caller{Cookie: cred.cookie}, p
	}
	if cred.secret == "" {
		for _, name := range smuggled {
			if r.URL.Query().Has(name) {
				return Caller{}, unauthorized("a token in the address is never read, since addresses end up in logs; send it as a header, Authorization: Bearer TOKEN")
			}
		}
		return Caller{}, unauthorized("send a token, Authorization: Bearer TOKEN (goclaw users token NAME makes one), or sign in at /signin")
	}
	c, err := s.verify(r.Context(), cred, r.RemoteAddr)
	c.Cookie = cred.cookie
	return c, err
}

// verify says whom a credential that was shown from an address stands for.
func (s *Server) verify(ctx context.Context, cred credential, addr string) (Caller, error) {
	now := s.opts.Now()
	if !cred.cookie && s.isToken(cred.secret, addr, now) {
		return Caller{Principal: auth.Principal{ID: auth.FirstAdmin, Role: auth.Admin, Human: true}}, nil
	}
	kind := auth.KindAPI
	if cred.cookie {
		kind = auth.KindSession
	}
	g, err := auth.Verify(ctx, s.opts.Users, cred.secret, now)
	if err == nil && (g.Token.Kind != kind || !s.holds(g.Token)) {
		err = auth.ErrDenied
	}
	switch {
	case err == nil:
		return Caller{Principal: g.Principal, Token: g.Token.Sum, Cookie: cred.cookie, token: g.Token}, nil
	case errors.Is(err, auth.ErrExpired):
		// It was right once: nobody guesses those.
		return Caller{}, unauthorized("the token has expired; goclaw users token NAME makes another")
	case errors.Is(err, auth.ErrDenied):
		if p := s.wrong(addr, now); p != nil {
			return Caller{}, p
		}
		return Caller{}, unauthorized("the token is not valid; goclaw users token NAME makes one")
	}
	return Caller{}, err
}

// strong is how long a token from the environment must be to be beyond
// guessing, in bytes.
const strong = 24

// isToken reports whether secret is GOCLAW_TOKEN. A right secret counts
// whatever was tried before, since nobody guesses one of the gateway's own; but
// a short one that a person chose can be guessed, and so it waits like a wrong
// one when its address has used up its tries.
func (s *Server) isToken(secret, addr string, now time.Time) bool {
	if s.opts.Token == "" || !auth.Same(secret, s.opts.Token) {
		return false
	}
	return len(s.opts.Token) >= strong || s.misses.left(addr, now)
}

// environment begins the note of sessions that began with GOCLAW_TOKEN; behind
// it stands which one, so that they end when it is another.
const environment = "GOCLAW_TOKEN "

func (s *Server) environmentNote() string {
	sum := auth.SumOf(s.opts.Token)
	return fmt.Sprintf("%s%x", environment, sum[:6])
}

// holds reports whether a stored token still stands on what it was made from.
func (s *Server) holds(t auth.Token) bool {
	return t.Kind != auth.KindSession || !strings.HasPrefix(t.Note, environment) ||
		s.opts.Token != "" && t.Note == s.environmentNote()
}

// wrong notes that a wrong credential came from addr. It returns a problem when
// too many did.
func (s *Server) wrong(addr string, now time.Time) *Problem {
	wait := s.misses.add(addr, now)
	if wait == 0 {
		return nil
	}
	s.floods.Do(func() {
		s.opts.Log.Warn("many wrong credentials from one address; they are held back", "addr", addr)
	})
	p := problem(http.StatusTooManyRequests, "rate_limited", "too many wrong tokens from your address; wait before the next try. A right one is taken at any time")
	p.after = wait
	return p
}
