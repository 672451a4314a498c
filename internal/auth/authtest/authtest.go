// Package authtest checks implementations of [auth.Users]. Each calls [Run]
// from a test of its own; it is imported by tests only. Start reading at [Run].
package authtest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/auth"
)

// Run checks the stores that open returns, a new and empty one each time.
func Run(t *testing.T, open func(t *testing.T) auth.Users) {
	for _, test := range []struct {
		name string
		f    func(*testing.T, auth.Users)
	}{
		{"users", testUsers},
		{"tokens", testTokens},
		{"verify", testVerify},
		{"take", testTake},
		{"purge", testPurge},
		{"links", testLinks},
		{"sessions", testSessions},
		{"the first admin", testEnsureAdmin},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.f(t, open(t))
		})
	}
}

var start = time.Date(2025, 11, 30, 12, 0, 0, 123456789, time.UTC)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

var (
	ada = auth.Account{ID: "ada", Name: "Ada L.", Role: auth.Admin, Created: start}
	bob = auth.Account{ID: "bob", Role: auth.User, Created: start.Add(time.Second)}
)

func testUsers(t *testing.T, s auth.Users) {
	ctx := t.Context()
	list, err := s.List(ctx)
	if len(list) != 0 || err != nil {
		t.Errorf("an empty store lists %v (%v)", list, err)
	}
	must(t, s.Add(ctx, bob))
	must(t, s.Add(ctx, ada))
	wantErr(t, "add again", s.Add(ctx, auth.Account{ID: "ada", Role: auth.User, Created: start}), auth.ErrExists)
	got, err := s.Get(ctx, "ada")
	must(t, err)
	equal(t, "get", got, ada)
	_, err = s.Get(ctx, "Ada")
	wantErr(t, "get another spelling", err, auth.ErrUnknown)
	list, err = s.List(ctx)
	must(t, err)
	equal(t, "list", list, []auth.Account{ada, bob})
	must(t, s.Remove(ctx, "bob"))
	wantErr(t, "remove again", s.Remove(ctx, "bob"), auth.ErrUnknown)
	_, err = s.Get(ctx, "bob")
	wantErr(t, "get what was removed", err, auth.ErrUnknown)
}

func token(user string, second int) (string, auth.Token) {
	secret, k := auth.NewToken()
	k.User, k.Created = user, start.Add(time.Duration(second)*time.Second)
	return secret, k
}

func testTokens(t *testing.T, s auth.Users) {
	ctx := t.Context()
	must(t, s.Add(ctx, ada))
	must(t, s.Add(ctx, bob))
	_, first := token("ada", 1)
	first.Note, first.Role, first.Expires = "laptop", auth.User, start.Add(time.Hour)
	_, second := token("ada", 2)
	_, other := token("bob", 3)
	for _, k := range []auth.Token{second, first, other} {
		must(t, s.AddToken(ctx, k))
	}
	_, lost := token("eve", 4)
	wantErr(t, "a token of nobody", s.AddToken(ctx, lost), auth.ErrUnknown)
	got, whose, err := s.Token(ctx, first.Sum)
	must(t, err)
	equal(t, "token", got, first)
	equal(t, "whose", whose, ada)
	_, _, err = s.Token(ctx, lost.Sum)
	wantErr(t, "an unknown token", err, auth.ErrUnknown)
	list, err := s.Tokens(ctx, "ada")
	must(t, err)
	equal(t, "tokens", list, []auth.Token{first, second})
	must(t, s.RemoveToken(ctx, first.ID))
	wantErr(t, "remove again", s.RemoveToken(ctx, first.ID), auth.ErrUnknown)

	_, derived := token("ada", 5)
	derived.Kind, derived.From = auth.KindSession, second.ID
	must(t, s.AddToken(ctx, derived))
	got, _, err = s.Token(ctx, derived.Sum)
	must(t, err)
	equal(t, "a token from another", got, derived)
	must(t, s.RemoveToken(ctx, second.ID))
	_, _, err = s.Token(ctx, derived.Sum)
	wantErr(t, "a token whose source was removed", err, auth.ErrUnknown)
	wantErr(t, "a token from one that isn't there", s.AddToken(ctx, derived), auth.ErrUnknown)

	_, last := token("ada", 6)
	must(t, s.AddToken(ctx, last))
	must(t, s.Remove(ctx, "ada"))
	_, _, err = s.Token(ctx, last.Sum)
	wantErr(t, "the token of a removed user", err, auth.ErrUnknown)
	_, _, err = s.Token(ctx, other.Sum)
	must(t, err)
}

func testVerify(t *testing.T, s auth.Users) {
	ctx := t.Context()
	must(t, s.Add(ctx, ada))
	must(t, s.Add(ctx, bob))
	now := start.Add(time.Minute)
	for _, c := range []struct {
		name    string
		user    string
		role    auth.Role
		expires time.Time
		want    auth.Principal
		err     error
	}{
		{"an admin's", "ada", "", time.Time{}, auth.Principal{ID: "ada", Name: "Ada L.", Role: auth.Admin, Human: true}, nil},
		{"an admin's, as admin", "ada", auth.Admin, time.Time{}, auth.Principal{ID: "ada", Name: "Ada L.", Role: auth.Admin, Human: true}, nil},
		{"an admin's, as user", "ada", auth.User, time.Time{}, auth.Principal{ID: "ada", Name: "Ada L.", Role: auth.User, Human: true}, nil},
		{"an admin's, as system", "ada", auth.System, time.Time{}, auth.Principal{ID: "ada", Name: "Ada L.", Role: auth.User, Human: true}, nil},
		{"a user's", "bob", "", time.Time{}, auth.Principal{ID: "bob", Role: auth.User, Human: true}, nil},
		{"a user's, as admin", "bob", auth.Admin, time.Time{}, auth.Principal{ID: "bob", Role: auth.User, Human: true}, nil},
		{"not yet expired", "bob", "", now.Add(1), auth.Principal{ID: "bob", Role: auth.User, Human: true}, nil},
		{"expired", "bob", "", now, auth.Principal{}, auth.ErrExpired},
	} {
		secret, k := token(c.user, 0)
		k.Role, k.Expires = c.role, c.expires
		must(t, s.AddToken(ctx, k))
		got, err := auth.Verify(ctx, s, secret, now)
		wantErr(t, c.name, err, c.err)
		equal(t, c.name, got.Principal, c.want)
		if c.err == nil {
			equal(t, c.name, got.Token, k)
		}
		again, err := auth.VerifySum(ctx, s, k.Sum, now)
		wantErr(t, c.name, err, c.err)
		equal(t, c.name, again, got)
		if c.err != nil && !errors.Is(err, auth.ErrDenied) {
			t.Errorf("%s: %v is not ErrDenied", c.name, err)
		}
	}
	made, _ := auth.NewToken()
	known, k := token("bob", 0)
	must(t, s.AddToken(ctx, k))
	for _, secret := range []string{"", "goclaw_", made, known + "x", known[:len(known)-1], known[len("goclaw_"):], k.ID, string(k.Sum[:])} {
		if g, err := auth.Verify(ctx, s, secret, now); !errors.Is(err, auth.ErrDenied) || g != (auth.Grant{}) {
			t.Errorf("%q stands for %+v (%v)", secret, g, err)
		}
	}
	must(t, s.RemoveToken(ctx, k.ID))
	_, err := auth.Verify(ctx, s, known, now)
	wantErr(t, "a token that was removed", err, auth.ErrDenied)
}
