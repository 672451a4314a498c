package api

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWrongTokensAreHeldBackAndRightOnesNever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, Options{})
		const wrong = "goclaw_wrong"
		for range maxMisses {
			if a := g.ask("GET", "/api/me", "", as(wrong)); a.StatusCode != 401 {
				t.Fatalf("a wrong token within the limit: %d", a.StatusCode)
			}
		}
		for range 1000 {
			a := g.ask("GET", "/api/me", "", as(wrong))
			if a.StatusCode != 429 || a.code() != "rate_limited" || a.Header.Get("Retry-After") != "6" {
				t.Fatalf("a wrong token beyond the limit: %d %s, Retry-After %s", a.StatusCode, a.code(), a.Header.Get("Retry-After"))
			}
		}
		for what, h := range map[string]string{"token": as(g.bob), "cookie": cookieOf(g.session("bob")), "environment": as(environmentToken)} {
			if a := g.ask("GET", "/api/me", "", h); a.StatusCode != 200 {
				t.Errorf("a right %s beyond the limit: %d", what, a.StatusCode)
			}
		}
		if a := g.ask("GET", "/api/me", ""); a.StatusCode != 401 {
			t.Errorf("no token beyond the limit: %d", a.StatusCode)
		}
		if n := strings.Count(g.log.String(), "many wrong credentials"); n != 1 {
			t.Errorf("the log says it %d times", n)
		}
		time.Sleep(missRefill)
		if a := g.ask("GET", "/api/me", "", as(wrong)); a.StatusCode != 401 {
			t.Errorf("a wrong token after a while: %d", a.StatusCode)
		}
		if a := g.ask("GET", "/api/me", "", as(wrong)); a.StatusCode != 429 {
			t.Errorf("the next: %d", a.StatusCode)
		}
	})
}

func TestAShortOperatorsTokenCanNotBeGuessedAtSpeed(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{Token: "hunter2"})
	if a := g.ask("GET", "/api/me", "", as("hunter2")); a.StatusCode != 200 {
		t.Fatalf("the token: %d", a.StatusCode)
	}
	for range maxMisses {
		g.ask("GET", "/api/me", "", as("hunter1"))
	}
	if a := g.ask("GET", "/api/me", "", as("hunter2")); a.StatusCode != 429 {
		t.Errorf("the right guess after many wrong ones: %d", a.StatusCode)
	}
	if a := g.ask("GET", "/api/me", "", as(g.bob)); a.StatusCode != 200 {
		t.Errorf("a token of the gateway's own: %d", a.StatusCode)
	}
}

func TestAddressesAreCountedApartAndBounded(t *testing.T) {
	t.Parallel()
	for a, b := range map[string]string{
		"192.0.2.1:1":          "192.0.2.1:2",
		"[2001:db8::1]:1":      "[2001:db8::2]:1",
		"[::ffff:192.0.2.1]:1": "192.0.2.1:9",
		"[fe80::1%eth0]:1":     "[fe80::2%eth1]:1",
		"@":                    "",
	} {
		if network(a) != network(b) {
			t.Errorf("%s and %s are counted apart", a, b)
		}
	}
	for a, b := range map[string]string{"192.0.2.1:1": "192.0.2.2:1", "[2001:db8:0:1::1]:1": "[2001:db8:0:2::1]:1"} {
		if network(a) == network(b) {
			t.Errorf("%s and %s are counted together", a, b)
		}
	}
	m, err := newMisses()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for i := range 3 * maxMissers {
		m.add(fmt.Sprintf("[2001:db8:%x:%x::1]:1", i>>16, i&0xffff), now)
	}
	if n := m.by.Len(); n != maxMissers {
		t.Errorf("%d addresses are remembered", n)
	}
}

// holding is a route whose requests last until they are told to end.
func holding(path string, release <-chan struct{}, entered chan<- struct{}, answers []success) route {
	return route{method: "GET", path: path, access: user, answers: answers, handle: func(_ *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
		if answers != nil {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
		}
		entered <- struct{}{}
		select {
		case <-release:
			return nil
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}}
}

func TestRequestsUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, entered := make(chan struct{}), make(chan struct{})
		g := newGate(t, Options{}, holding("/api/hold", release, entered, nil), holding("/api/follow", release, entered, streaming))
		hold := func(path, token string) {
			go g.ask("GET", path, "", as(token))
			<-entered
		}
		for range maxStreams {
			hold("/api/follow", g.bob)
		}
		other := g.token("bob", time.Time{})
		if a := g.ask("GET", "/api/follow", "", as(other)); a.StatusCode != 429 || a.code() != "rate_limited" || a.Header.Get("Retry-After") != "1" {
			t.Errorf("one stream more: %d %s", a.StatusCode, a.code())
		}
		if a := g.ask("GET", "/api/me", "", as(g.bob)); a.StatusCode != 200 {
			t.Errorf("what is no stream: %d", a.StatusCode)
		}
		for range maxCaller - maxStreams {
			hold("/api/hold", other)
		}
		if a := g.ask("GET", "/api/me", "", as(g.bob)); a.StatusCode != 429 || a.code() != "rate_limited" || a.Header.Get("Retry-After") != "1" {
			t.Errorf("one request of theirs more: %d %s", a.StatusCode, a.code())
		}
		hold("/api/follow", g.ada)
		for range maxRequests - maxCaller - 1 {
			hold("/api/hold", g.ada)
		}
		if a := g.ask("GET", "/api/me", "", as(g.bob)); a.StatusCode != 503 || a.code() != "busy" || a.Header.Get("Retry-After") != "1" {
			t.Errorf("one request more: %d %s", a.StatusCode, a.code())
		}
		if a := g.ask("GET", "/healthz", ""); a.StatusCode != 200 {
			t.Errorf("health meanwhile: %d", a.StatusCode)
		}
		close(release)
		synctest.Wait()
		if a := g.ask("GET", "/api/me", "", as(g.bob)); a.StatusCode != 200 {
			t.Errorf("afterwards: %d", a.StatusCode)
		}
		if len(g.slots.callers) != 0 || len(g.watches.byToken) != 0 {
			t.Error("something is still counted as under way")
		}
	})
}

// Who can't sign in takes no slots from those who have.
func TestGuestsAreBoundedApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, entered := make(chan struct{}), make(chan struct{})
		hold := holding("/guests", release, entered, nil)
		hold.access, hold.page = public, true
		g := newGate(t, Options{}, hold)
		guest := func(n int) *http.Request {
			r := httptest.NewRequest("GET", "/guests", nil)
			r.Host, r.RemoteAddr = "localhost", fmt.Sprintf("192.0.2.%d:1", n)
			return r
		}
		for i := range maxGuests {
			go g.ServeHTTP(httptest.NewRecorder(), guest(i/maxGuest))
			<-entered
			if i == maxGuest-1 {
				w := httptest.NewRecorder()
				if g.ServeHTTP(w, guest(0)); w.Code != 503 {
					t.Errorf("one more of an address: %d", w.Code)
				}
			}
		}
		w := httptest.NewRecorder()
		if g.ServeHTTP(w, guest(100)); w.Code != 503 || w.Header().Get("Retry-After") != "1" {
			t.Errorf("one more of another address: %d", w.Code)
		}
		if a := g.ask("GET", "/api/me", "", as(g.bob)); a.StatusCode != 200 {
			t.Errorf("who is signed in: %d", a.StatusCode)
		}
		if a := g.ask("GET", "/healthz", ""); a.StatusCode != 200 {
			t.Errorf("health: %d", a.StatusCode)
		}
		close(release)
		synctest.Wait()
		if g.slots.all != 0 || len(g.slots.guests) != 0 {
			t.Error("something is still counted as under way")
		}
	})
}

// A body that its route doesn't take is refused before it is sent, and read no
// further when it was not announced.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	g := newGate(t, Options{}, route{method: "POST", path: "/api/echo", access: user, handle: echo, body: Rename{}, limit: 1 << 10})
	ts := g.listen()
	for _, c := range []struct {
		what   string
		length int64
	}{{"announced", 30 << 20}, {"in pieces", -1}} {
		r, err := http.NewRequest("POST", ts.URL+"/api/echo", &blanks{30 << 20})
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = c.length
		r.Header.Set("Authorization", "Bearer "+g.bob)
		r.Header.Set("Content-Type", "application/json")
		resp, err := ts.Client().Do(r)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 413 || !strings.Contains(string(text), "at most") || !strings.Contains(string(text), "1 KiB") {
			t.Errorf("%s: %d %s %v", c.what, resp.StatusCode, text, err)
		}
	}
}

// blanks is a body of n blanks.
type blanks struct{ n int }

func (c *blanks) Read(b []byte) (int, error) {
	if c.n == 0 {
		return 0, io.EOF
	}
	n := min(len(b), c.n)
	for i := range n {
		b[i] = ' '
	}
	c.n -= n
	return n, nil
}
