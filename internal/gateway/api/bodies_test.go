package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// One caller's large requests wait for each other, and hold up nobody else's.
func TestLargeBodiesWaitForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bodies{callers: map[string]int64{}}
		enter := func(who string, size int64) *room {
			t.Helper()
			r, err := b.enter(t.Context(), who, size)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		const third = maxCallerBodies / 3
		first, second, last := enter("bob", third), enter("bob", third), enter("bob", third)
		began := time.Now()
		for range 1000 {
			enter("bob", smallBody)
		}
		eve := enter("eve", maxCallerBodies)
		if took := time.Since(began); took != 0 {
			t.Errorf("small ones and others' waited %v", took)
		}

		var p *Problem
		if _, err := b.enter(t.Context(), "bob", third); !errors.As(err, &p) || p.Status != http.StatusTooManyRequests || time.Since(began) != bodyWithin {
			t.Errorf("one too many: %v after %v", err, time.Since(began))
		}
		if _, err := b.enter(t.Context(), "ada", third); !errors.As(err, &p) {
			t.Errorf("one more than all may have: %v", err)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := b.enter(gone, "bob", third); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left: %v", err)
		}

		next := make(chan *room)
		go func() { next <- enter("bob", third) }()
		synctest.Wait()
		first.shrink(third / 2)
		synctest.Wait()
		select {
		case <-next:
			t.Error("half of the room is enough")
		default:
		}
		second.shrink(third / 2)
		for _, r := range []*room{first, second, last, eve, <-next} {
			r.shrink(0)
			r.shrink(0)
		}
		if b.total != 0 || len(b.callers) != 0 {
			t.Errorf("%d bytes stay, %v", b.total, b.callers)
		}
	})
}

// A body counts for what it has, once that is known, until its request ends.
func TestABodyGivesBackWhatItDoesNotNeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		read, end := make(chan error, 10), make(chan struct{})
		g := newGate(t, Options{}, route{
			method: "POST", path: "/api/large", access: user, answers: gives(State{}), raw: "*/*", limit: 40 << 20,
			handle: func(_ *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
				_, err := io.Copy(io.Discard, r.Body)
				read <- err
				<-end
				return answer(w, http.StatusOK, State{"ok"})
			},
		})
		door := g.serve()
		send := func(body string) net.Conn {
			conn, err := door.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				head := "POST /api/large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer " + g.bob + "\r\nTransfer-Encoding: chunked\r\n\r\n"
				if _, err := io.WriteString(conn, head+body); err != nil {
					t.Error(err)
				}
			}()
			return conn
		}
		// How long the first is going to be is not known yet.
		slow := send("5\r\nhello\r\n")
		synctest.Wait()
		var conns []net.Conn
		for range 3 {
			conns = append(conns, send("5\r\nhello\r\n0\r\n\r\n"))
		}
		synctest.Wait()
		if len(read) != 0 {
			t.Errorf("%d were read beside a body that may fill the room", len(read))
		}
		if _, err := io.WriteString(slow, "0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if err := <-read; err != nil {
				t.Error(err)
			}
		}
		close(end)
		for _, conn := range append(conns, slow) {
			if b, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 200 ") {
				t.Errorf("%s, %v", b, err)
			}
			conn.Close()
		}
		g.bodies.mu.Lock()
		defer g.bodies.mu.Unlock()
		if g.bodies.total != 0 {
			t.Errorf("%d bytes stay", g.bodies.total)
		}
	})
}
