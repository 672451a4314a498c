package session_test

import (
	"testing"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
)

func TestMayUse(t *testing.T) {
	t.Parallel()
	adas := session.Session{Caller: auth.Principal{ID: "ada", Role: auth.User}}
	nobodys := session.Session{}
	for _, c := range []struct {
		s    session.Session
		p    auth.Principal
		want bool
	}{
		{adas, auth.Principal{ID: "ada", Role: auth.User}, true},
		{adas, auth.Principal{ID: "bob", Role: auth.User}, false},
		{adas, auth.Principal{ID: "Ada", Role: auth.User}, false},
		{adas, auth.Principal{ID: "bob", Role: auth.Admin}, true},
		{adas, auth.Principal{ID: "cron", Role: auth.System}, true},
		{adas, auth.Principal{}, false},
		{nobodys, auth.Principal{}, false},
		{nobodys, auth.Principal{Role: auth.User}, false},
		{nobodys, auth.Principal{ID: "bob", Role: auth.User}, false},
		{nobodys, auth.Principal{ID: "bob", Role: auth.Admin}, true},
	} {
		if got := c.s.MayUse(c.p); got != c.want {
			t.Errorf("%+v may use a session of %q: %v, want %v", c.p, c.s.Caller.ID, got, c.want)
		}
	}
}
