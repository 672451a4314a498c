package authtest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
)

// month is how long a browser stays signed in.
const month = 30 * 24 * time.Hour

// race calls f from many goroutines at once and returns how many calls had no
// error; the others have one that is want.
func race(t *testing.T, want error, f func() error) int {
	t.Helper()
	const callers = 8
	errs := make([]error, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { errs[i] = f() })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			wantErr(t, "who came too late", err, want)
		}
	}
	return won
}

func testTake(t *testing.T, s auth.Users) {
	ctx := t.Context()
	must(t, s.Add(ctx, ada))
	for _, kind := range []auth.Kind{auth.KindAPI, auth.KindSession} {
		_, k := token("ada", 0)
		k.Kind = kind
		must(t, s.AddToken(ctx, k))
		_, err := s.Take(ctx, k.Sum)
		wantErr(t, "take a token of kind "+string(kind), err, auth.ErrUnknown)
		_, _, err = s.Token(ctx, k.Sum)
		must(t, err)
	}
	_, link := token("ada", 1)
	link.Kind, link.Note, link.Expires = auth.KindLink, "n", start.Add(time.Hour)
	must(t, s.AddToken(ctx, link))
	won := race(t, auth.ErrUnknown, func() error {
		got, err := s.Take(ctx, link.Sum)
		if err == nil {
			equal(t, "taken", got, link)
		}
		return err
	})
	equal(t, "takers of one link", won, 1)
}

func testPurge(t *testing.T, s auth.Users) {
	ctx := t.Context()
	must(t, s.Add(ctx, ada))
	var want []auth.Token
	for i, c := range []struct {
		kind    auth.Kind
		expires time.Time
		stays   bool
	}{
		{auth.KindLink, start.Add(-1), false},
		{auth.KindSession, start.Add(-1), false},
		{auth.KindAPI, start.Add(-1), true},
		{auth.KindLink, start, true},
		{auth.KindSession, start.Add(time.Hour), true},
		{auth.KindSession, time.Time{}, true},
	} {
		_, k := token("ada", i)
		k.Kind, k.Expires = c.kind, c.expires
		must(t, s.AddToken(ctx, k))
		if c.stays {
			want = append(want, k)
		}
	}
	n, err := s.Purge(ctx, start)
	must(t, err)
	equal(t, "purged", n, 2)
	left, err := s.Tokens(ctx, "ada")
	must(t, err)
	equal(t, "left", left, want)
	n, err = s.Purge(ctx, start)
	must(t, err)
	equal(t, "purged again", n, 0)
}

func testLinks(t *testing.T, s auth.Users) {
	ctx := t.Context()
	must(t, s.Add(ctx, ada))
	link := func(life time.Duration) string {
		t.Helper()
		code, err := auth.NewLink(ctx, s, "ada", life, start)
		must(t, err)
		if !strings.HasPrefix(code, "goclaw_link_") {
			t.Errorf("code %q", code)
		}
		return code
	}
	_, err := auth.NewLink(ctx, s, "eve", 0, start)
	wantErr(t, "a link of nobody", err, auth.ErrUnknown)

	code := link(0)
	_, err = auth.Verify(ctx, s, code, start)
	wantErr(t, "a code in place of a token", err, auth.ErrDenied)
	secret, k, p, err := auth.Redeem(ctx, s, code, start.Add(auth.LinkLife-1))
	must(t, err)
	person := auth.Principal{ID: "ada", Name: "Ada L.", Role: auth.Admin, Human: true}
	equal(t, "who signed in", p, person)
	if !strings.HasPrefix(secret, "goclaw_web_") || k.Kind != auth.KindSession || k.From != "" {
		t.Errorf("session %q is kept as %+v", secret, k)
	}
	for when, want := range map[time.Duration]error{0: nil, month - 1: nil, month: auth.ErrExpired} {
		g, err := auth.Verify(ctx, s, secret, start.Add(auth.LinkLife-1+when))
		wantErr(t, "the session after "+when.String(), err, want)
		if want == nil {
			equal(t, "the session's grant", g, auth.Grant{Principal: person, Token: k})
		}
	}

	_, _, _, err = auth.Redeem(ctx, s, code, start)
	wantErr(t, "a link that was used", err, auth.ErrDenied)
	late := link(time.Minute)
	_, _, _, err = auth.Redeem(ctx, s, late, start.Add(time.Minute))
	wantErr(t, "a link that has expired", err, auth.ErrExpired)
	_, _, _, err = auth.Redeem(ctx, s, late, start)
	wantErr(t, "a link that had expired when it was used", err, auth.ErrDenied)
	api, a := token("ada", 0)
	must(t, s.AddToken(ctx, a))
	for _, other := range []string{"", "goclaw_link_", code + "x", api, secret} {
		_, _, _, err = auth.Redeem(ctx, s, other, start)
		wantErr(t, "redeem "+other, err, auth.ErrDenied)
	}
	equal(t, "a token that was tried as a code", auth.SumOf(api), a.Sum)
	_, err = auth.Verify(ctx, s, api, start)
	must(t, err)

	code = link(0)
	won := race(t, auth.ErrDenied, func() error {
		_, _, _, err := auth.Redeem(ctx, s, code, start)
		return err
	})
	equal(t, "sessions of one link", won, 1)
	code = link(0)
	must(t, s.Remove(ctx, "ada"))
	_, _, _, err = auth.Redeem(ctx, s, code, start)
	wantErr(t, "the link of a removed user", err, auth.ErrDenied)
}

func testSessions(t *testing.T, s auth.Users) {
	ctx := t.Context()
	must(t, s.Add(ctx, ada))
	api, k := token("ada", 0)
	k.Role, k.Note, k.Expires = auth.User, "laptop", start.Add(time.Hour)
	must(t, s.AddToken(ctx, k))
	g, err := auth.Verify(ctx, s, api, start)
	must(t, err)
	secret, own, err := auth.NewSession(ctx, s, g, start)
	must(t, err)
	got, err := auth.Verify(ctx, s, secret, start)
	must(t, err)
	equal(t, "a session grants what its token does", got.Principal, g.Principal)
	equal(t, "and ends with it", []any{own.Expires, own.From, own.Note}, []any{k.Expires, k.ID, "laptop"})
	second, _, err := auth.NewSession(ctx, s, got, start)
	must(t, err)
	must(t, s.RemoveToken(ctx, k.ID))
	for _, secret := range []string{secret, second} {
		_, err = auth.Verify(ctx, s, secret, start)
		wantErr(t, "a session whose token was removed", err, auth.ErrDenied)
	}
	_, _, err = auth.NewSession(ctx, s, g, start)
	wantErr(t, "a session of a token that was removed", err, auth.ErrUnknown)

	// A secret that isn't in the store grants what its holder says.
	secret, own, err = auth.NewSession(ctx, s, auth.Grant{Principal: auth.Principal{ID: "ada", Role: auth.User}}, start)
	must(t, err)
	got, err = auth.Verify(ctx, s, secret, start)
	must(t, err)
	equal(t, "without a token", []any{got.Role, own.Expires}, []any{auth.User, start.Add(month)})

	// What expired long ago goes when something new comes.
	_, err = auth.NewLink(ctx, s, "ada", time.Minute, start)
	must(t, err)
	later := start.Add(month + 48*time.Hour)
	_, err = auth.NewLink(ctx, s, "ada", time.Minute, later)
	must(t, err)
	left, err := s.Tokens(ctx, "ada")
	must(t, err)
	if len(left) != 1 || !left[0].Created.Equal(later) {
		t.Errorf("%d tokens are left: %+v", len(left), left)
	}
}

func testEnsureAdmin(t *testing.T, s auth.Users) {
	ctx := t.Context()
	ensure := func(want auth.Account, made bool) {
		t.Helper()
		a, got, err := auth.EnsureAdmin(ctx, s, start)
		must(t, err)
		equal(t, "admin", []any{a, got}, []any{want, made})
	}
	must(t, s.Add(ctx, auth.Account{ID: "admin", Role: auth.User, Created: start}))
	if a, made, err := auth.EnsureAdmin(ctx, s, start); err == nil || made || !strings.Contains(err.Error(), "--role admin") {
		t.Errorf("a user became the admin %+v (%v)", a, err)
	}
	must(t, s.Remove(ctx, "admin"))
	must(t, s.Add(ctx, bob))
	first := auth.Account{ID: auth.FirstAdmin, Role: auth.Admin, Created: start}
	made := race(t, auth.ErrExists, func() error {
		a, made, err := auth.EnsureAdmin(ctx, s, start)
		if err == nil && !made {
			err = auth.ErrExists
		}
		equal(t, "the first admin", a, first)
		return err
	})
	equal(t, "how often the first admin was made", made, 1)
	ensure(first, false)
	must(t, s.Add(ctx, ada))
	ensure(first, false)
	must(t, s.Remove(ctx, auth.FirstAdmin))
	early := auth.Account{ID: "zoe", Role: auth.Admin, Created: start.Add(-time.Hour)}
	must(t, s.Add(ctx, early))
	ensure(early, false)
	must(t, s.Add(ctx, auth.Account{ID: auth.FirstAdmin, Role: auth.User, Created: start}))
	ensure(early, false)
}
