package api

import (
	"net/http"
	"strings"
	"testing"
)

func TestBearer(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Bearer x": "x", "bearer x": "x", "BEARER   x": "x", "Bearer goclaw_A-b_9": "goclaw_A-b_9",
		"": "", "Bearer": "", "Bearer ": "", "Bearerx": "", "Basic x": "", "Bearer x y": "", "Bearer x ": "", "Bearer\tx": "", " Bearer x": "",
		"Bearer x\x00": "", "Bearer ü": "", "Bearer " + strings.Repeat("x", maxSecret+1): "", "Bearer,x": "",
	} {
		if got, ok := bearer(in); ok != (want != "") || ok && got != want {
			t.Errorf("%q is read as %q, %v", in, got, ok)
		}
	}
}

// A credential is exactly what was sent, once, and a header always goes before
// a cookie.
func FuzzCredential(f *testing.F) {
	f.Add("Bearer goclaw_x", true, "goclaw_session=goclaw_y")
	f.Add("", true, "goclaw_session=a")
	f.Add("", false, "a=b; goclaw_session=a; goclaw_session=b")
	f.Add("Basic eDp5", true, `goclaw_session="a b"`)
	f.Fuzz(func(t *testing.T, authorization string, has bool, cookies string) {
		h := http.Header{"Cookie": {cookies}}
		if has {
			h["Authorization"] = []string{authorization}
		}
		got, p := credentialOf(h, cookieName, true)
		switch {
		case p != nil:
			if got.secret != "" || p.Status != http.StatusUnauthorized {
				t.Errorf("a problem %v with %+v", p, got)
			}
		case has:
			if got.cookie || got.secret == "" || !strings.HasSuffix(authorization, " "+got.secret) {
				t.Errorf("%q is read as %+v", authorization, got)
			}
		case got.secret != "":
			if !got.cookie || !strings.Contains(cookies, got.secret) || !isSecret(got.secret) {
				t.Errorf("%q is read as %+v", cookies, got)
			}
		}
		if got, p := credentialOf(http.Header{"Cookie": {cookies}}, cookieName, false); p != nil || got != (credential{}) {
			t.Errorf("a cookie that doesn't count is read as %+v, %v", got, p)
		}
	})
}
