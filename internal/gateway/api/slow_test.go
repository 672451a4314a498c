package api

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
)

// getting is a request of bob's, as [gate.connect] sends it.
func getting(path string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer $bob\r\n\r\n"
}

// What was cut is not taken for whole.
func TestAnAnswerThatIsEndedInTheMiddleIsCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entered := make(chan struct{})
		g := newGate(t, Options{}, route{method: "GET", path: "/api/half", access: user, handle: func(_ *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
			if _, err := io.WriteString(w, "half"); err != nil {
				return err
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
			entered <- struct{}{}
			<-r.Context().Done()
			return r.Context().Err()
		}})
		conn := g.connect(getting("/api/half"))
		go func() {
			<-entered
			g.revoked(auth.SumOf(g.bob))
		}()
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r.Body); err == nil {
			t.Errorf("%q ended as if it were whole", b)
		}
	})
}

// TestSlowClients opens connections that do as little as they can.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		sent string        // at once
		drip time.Duration // between single bytes after that; 0 for none
		want time.Duration // until the gateway hangs up
		code int           // of the answer; 0 for none
	}{
		{"it says nothing", "", 0, headersWithin, 0},
		{"its headers don't end", "GET / HTTP/1.1\r\nHost: localhost\r\nX: ", 0, headersWithin, 0},
		{"its headers drip", "GET / HTTP/1.1\r\nHost: localhost\r\nX: ", time.Second, headersWithin, 0},
		{"it asks and stays", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 0, idleWithin, 200},
		{"nobody known sends no body", "POST /api/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n", 0, bodyWithin, 401},
		{"nobody known drips a body", "POST /signin HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n", time.Second, headersWithin, 408},
		{"a user drips a body", "POST /api/echo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer $bob\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", time.Second, bodyWithin, 408},
		{"a user drips a body in pieces", "POST /api/large HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer $bob\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", time.Second, bodyTime(1 << 20), 408},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t, Options{},
					route{method: "POST", path: "/api/echo", access: user, handle: echo, body: Rename{}, limit: 1 << 10},
					route{method: "POST", path: "/api/large", access: user, handle: echo, body: Rename{}, limit: 1 << 20})
				start := time.Now()
				conn := g.connect(c.sent)
				stop := make(chan struct{})
				defer close(stop)
				go func() {
					for c.drip > 0 {
						select {
						case <-stop:
							return
						case <-time.After(c.drip):
						}
						if _, err := conn.Write([]byte("x")); err != nil {
							return
						}
					}
				}()
				answer, err := io.ReadAll(conn)
				if err != nil {
					t.Fatal(err)
				}
				code := 0
				if len(answer) > 0 {
					if _, err := fmt.Sscanf(string(answer), "HTTP/1.1 %d", &code); err != nil {
						t.Fatalf("answer %q: %v", answer, err)
					}
				}
				if took := time.Since(start); code != c.code || took < c.want || took > c.want+2*time.Second {
					t.Errorf("answered %d and hung up after %v, want %d after %v", code, took, c.code, c.want)
				}
			})
		})
	}
}

func TestAClientThatDoesNotReadIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		g := newGate(t, Options{}, route{method: "GET", path: "/api/much", access: user, handle: func(_ *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
			_, err := w.Write(make([]byte, 1<<20))
			ended <- err
			return nil
		}})
		start := time.Now()
		g.connect(getting("/api/much"))
		if err := <-ended; err == nil || time.Since(start) != sendWithin {
			t.Errorf("ended after %v with %v", time.Since(start), err)
		}
	})
}

// A slow line is none that doesn't read, however much is written in one piece.
func TestALargeAnswerOnASlowLine(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"application/json", "text/event-stream"} {
		synctest.Test(t, func(t *testing.T) {
			const size = 1 << 20
			g := newGate(t, Options{}, route{method: "GET", path: "/api/much", access: user, handle: func(_ *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
				w.Header().Set("Content-Type", kind)
				_, err := w.Write(make([]byte, size))
				return err
			}})
			conn := g.connect("GET /api/much HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer $bob\r\n\r\n")
			got, start := 0, time.Now()
			for b := make([]byte, 8<<10); ; time.Sleep(500 * time.Millisecond) {
				n, err := conn.Read(b)
				if got += n; err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(start); got < size || took < 2*sendWithin {
				t.Errorf("%s: read %d bytes in %v", kind, got, took)
			}
		})
	}
}

// Each piece of an answer has its own time.
func TestAnAnswerMayTakeLongerThanItsPieces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, Options{}, route{method: "GET", path: "/api/slowly", access: user, handle: func(_ *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
			for range 4 {
				if _, err := io.WriteString(w, "x"); err != nil {
					return err
				}
				if err := http.NewResponseController(w).Flush(); err != nil {
					return err
				}
				time.Sleep(sendWithin - time.Second)
			}
			return nil
		}})
		r, err := http.ReadResponse(bufio.NewReader(g.connect(getting("/api/slowly"))), nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(r.Body); err != nil || string(b) != "xxxx" {
			t.Errorf("%q %v", b, err)
		}
	})
}

// A stream outlasts every time-out of its connection.
func TestAStreamLastsAsLongAsItsClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, entered := make(chan struct{}), make(chan struct{}, 1)
		g := newGate(t, Options{}, holding("/api/follow", release, entered, streaming))
		conn := g.connect(getting("/api/follow"))
		<-entered
		time.Sleep(time.Hour)
		if len(g.watches.byToken) != 1 {
			t.Error("the stream ended by itself")
		}
		conn.Close()
		synctest.Wait()
		if len(g.watches.byToken) != 0 || g.slots.total != 0 {
			t.Error("the stream outlives its client")
		}
	})
}

// Two requests on one connection, the first with a body: the limits of one
// don't reach the other.
func TestTimeOutsEndWithTheirRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, entered := make(chan struct{}), make(chan struct{}, 1)
		g := newGate(t, Options{},
			route{method: "POST", path: "/api/echo", access: user, handle: echo, body: Rename{}, limit: 1 << 10},
			holding("/api/hold", release, entered, nil))
		conn := g.connect("")
		in := bufio.NewReader(conn)
		ask := func(request string) int {
			if _, err := io.WriteString(conn, strings.ReplaceAll(request, "$bob", g.bob)); err != nil {
				t.Fatal(err)
			}
			r, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				t.Fatal(err)
			}
			return r.StatusCode
		}
		const post = "POST /api/echo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer $bob\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
		if got := ask(post); got != 200 {
			t.Errorf("first: %d", got)
		}
		time.Sleep(idleWithin - time.Second)
		time.AfterFunc(10*time.Minute, func() { close(release) })
		if got := ask(getting("/api/hold")); got != 200 {
			t.Errorf("one that takes ten minutes: %d", got)
		}
		if got := ask(post); got != 200 {
			t.Errorf("last: %d", got)
		}
	})
}
