package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"
)

// hookserver starts a server of webhooks that ends with the script and sets
// HOOK to its address. Its paths are its answers: /allow, /deny, /500, /other
// (another JSON), /302, /close and /hang; /tell takes what is told after calls.
func hookserver(ts *testscript.TestScript, _ bool, _ []string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A server sees the end of a connection only when it has read the body.
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/allow":
			_, _ = fmt.Fprint(w, `{"decision": "allow"}`)
		case "/deny":
			_, _ = fmt.Fprint(w, `{"decision": "deny", "reason": "not today"}`)
		case "/500":
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = fmt.Fprint(w, `{"decision": "allow"}`)
		case "/other":
			_, _ = fmt.Fprint(w, `{"ok": true}`)
		case "/302":
			http.Redirect(w, r, "/allow", http.StatusFound)
		case "/close":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				err = conn.Close()
			}
			if err != nil {
				panic(err)
			}
		case "/hang":
			<-r.Context().Done()
		case "/tell":
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv("HOOK", s.URL)
	host, port, err := net.SplitHostPort(s.Listener.Addr().String())
	ts.Check(err)
	ts.Setenv("HOOKHOST", host+":"+port)
}
