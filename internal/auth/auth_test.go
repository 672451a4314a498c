package auth_test

import (
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/auth"
)

func TestNewToken(t *testing.T) {
	t.Parallel()
	secret, k := auth.NewToken()
	if !strings.HasPrefix(secret, "goclaw_") || len(secret) != len("goclaw_")+43 {
		t.Errorf("token %q", secret)
	}
	if k.Kind != auth.KindAPI || k.Sum != auth.SumOf(secret) || len(k.ID) != 12 || strings.Contains(secret, k.ID) {
		t.Errorf("token %q is kept as %+v", secret, k)
	}
	if other, _ := auth.NewToken(); other == secret {
		t.Error("the same token twice")
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{{"", "", true}, {"a", "a", true}, {"a", "b", false}, {"a", "", false}, {"a", "aa", false}} {
		if got := auth.Same(c.a, c.b); got != c.want {
			t.Errorf("Same(%q, %q) = %v", c.a, c.b, got)
		}
	}
}

func TestAccountCheck(t *testing.T) {
	t.Parallel()
	for _, a := range []auth.Account{{ID: "ada", Role: auth.Admin}, {ID: "0x.y_z-1@example.org", Role: auth.User}, {ID: "local", Role: auth.User}} {
		if err := a.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, a := range []auth.Account{
		{ID: "", Role: auth.User},
		{ID: "Ada", Role: auth.User},
		{ID: "a b", Role: auth.User},
		{ID: "-a", Role: auth.User},
		{ID: strings.Repeat("a", 65), Role: auth.User},
		{ID: "ada", Role: ""},
		{ID: "ada", Role: auth.System},
		{ID: "ada", Role: "root"},
		{ID: "system", Role: auth.User},
		{ID: "local-admin", Role: auth.User},
		{ID: "local-ada", Role: auth.Admin},
	} {
		if a.Check() == nil {
			t.Errorf("%+v was taken", a)
		}
	}
}
