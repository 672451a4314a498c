package api

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
)

// following opens a stream and says when it has ended, and how long it took.
func following(t *testing.T, g *gate, entered <-chan struct{}, h string) <-chan time.Duration {
	t.Helper()
	ended, start := make(chan time.Duration, 1), time.Now()
	go func() {
		g.ask("GET", "/api/follow", "", h)
		ended <- time.Since(start)
	}()
	<-entered
	return ended
}

func TestStreamsEndWithWhatTheirCallerStandsOn(t *testing.T) {
	t.Parallel()
	const never = -1
	for _, c := range []struct {
		what string
		as   func(t *testing.T, g *gate) string
		then func(t *testing.T, g *gate) // after a minute
		want time.Duration               // from the start, at most
	}{
		{"nothing happens", func(_ *testing.T, g *gate) string { return as(g.bob) }, func(*testing.T, *gate) {}, never},
		{"the operator's token", func(*testing.T, *gate) string { return as(environmentToken) }, func(*testing.T, *gate) {}, never},
		{"the token is revoked elsewhere", func(_ *testing.T, g *gate) string { return as(g.bob) }, func(t *testing.T, g *gate) {
			remove(t, g, auth.SumOf(g.bob))
		}, time.Minute + recheck},
		{"the token is revoked here", func(_ *testing.T, g *gate) string { return as(g.bob) }, func(t *testing.T, g *gate) {
			remove(t, g, auth.SumOf(g.bob))
			g.revoked(auth.SumOf(g.bob))
		}, time.Minute},
		{"the token expires", func(t *testing.T, g *gate) string { return as(g.token("bob", time.Now().Add(100*time.Second))) }, func(*testing.T, *gate) {}, 100 * time.Second},
		{"the user is removed", func(_ *testing.T, g *gate) string { return as(g.bob) }, func(_ *testing.T, g *gate) { g.removeUser("bob") }, time.Minute + recheck},
		{"the browser signs out", func(t *testing.T, g *gate) string { return cookieOf(fixedSession(t, g)) }, func(t *testing.T, g *gate) {
			if a := g.ask("POST", "/api/signout", "", cookieOf(fixedSession(t, g))); a.StatusCode != 204 {
				t.Errorf("sign out: %d", a.StatusCode)
			}
		}, time.Minute},
		{"the gateway stops", func(*testing.T, *gate) string { return as(environmentToken) }, func(_ *testing.T, g *gate) { g.Close() }, time.Minute},
		{"somebody else's token is revoked", func(_ *testing.T, g *gate) string { return as(g.bob) }, func(t *testing.T, g *gate) {
			remove(t, g, auth.SumOf(g.ada))
			g.revoked(auth.SumOf(g.ada))
		}, never},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release, entered := make(chan struct{}), make(chan struct{})
				g := newGate(t, Options{}, holding("/api/follow", release, entered, streaming))
				ended := following(t, g, entered, c.as(t, g))
				time.Sleep(time.Minute)
				c.then(t, g)
				time.Sleep(5 * time.Minute)
				select {
				case took := <-ended:
					if c.want == never || took > c.want {
						t.Errorf("it ended after %v, want %v", took, c.want)
					}
				default:
					if c.want != never {
						t.Errorf("it goes on")
					}
				}
				close(release)
				synctest.Wait()
			})
		})
	}
}

// fixedSession is the one session of a gate's ada.
func fixedSession(t *testing.T, g *gate) string {
	t.Helper()
	if g.web == "" {
		g.web = g.session("ada")
	}
	return g.web
}

func remove(t *testing.T, g *gate, sum auth.Sum) {
	t.Helper()
	k, _, err := g.users.Token(context.Background(), sum)
	if err == nil {
		err = g.users.RemoveToken(context.Background(), k.ID)
	}
	if err != nil {
		t.Error(err)
	}
}

// broken is a store that stops answering.
type broken struct {
	auth.Users
	fails   atomic.Bool
	demotes atomic.Bool // all are users
	asked   atomic.Int64
}

func (b *broken) Token(ctx context.Context, sum auth.Sum) (auth.Token, auth.Account, error) {
	b.asked.Add(1)
	if b.fails.Load() {
		return auth.Token{}, auth.Account{}, io.ErrUnexpectedEOF
	}
	t, a, err := b.Users.Token(ctx, sum)
	if b.demotes.Load() {
		a.Role = auth.User
	}
	return t, a, err
}

func TestAStreamEndsWithItsCallersRole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, entered := make(chan struct{}), make(chan struct{})
		g := newGate(t, Options{}, holding("/api/follow", release, entered, streaming))
		b := &broken{Users: g.users}
		g.opts.Users = b
		admin, user := following(t, g, entered, as(g.ada)), following(t, g, entered, as(g.bob))
		b.demotes.Store(true)
		if took := <-admin; took != recheck {
			t.Errorf("an admin who is none any more sees what admins see for %v", took)
		}
		close(release)
		if took := <-user; took != recheck {
			t.Errorf("a user's stream lasts %v", took)
		}
	})
}

// A stream that begins while the gateway stops ends with it, too.
func TestNoStreamBeginsWhenTheGatewayStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		entered, begin := make(chan struct{}), make(chan struct{})
		g := newGate(t, Options{}, route{method: "GET", path: "/api/follow", access: user, answers: streaming, handle: func(_ *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
			entered <- struct{}{}
			<-begin
			if err := r.Context().Err(); err != nil {
				t.Errorf("it ended before it was a stream: %v", err)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			<-r.Context().Done()
			return nil
		}})
		ended := following(t, g, entered, as(g.bob))
		g.Close()
		close(begin)
		if took := <-ended; took != 0 {
			t.Errorf("it ended after %v", took)
		}
	})
}

func TestAStoreThatFailsForAMomentEndsNoStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, entered := make(chan struct{}), make(chan struct{})
		g := newGate(t, Options{}, holding("/api/follow", release, entered, streaming))
		b := &broken{Users: g.users}
		g.opts.Users = b
		ended := following(t, g, entered, as(g.bob))
		b.fails.Store(true)
		time.Sleep(patience - recheck + time.Second)
		b.fails.Store(false)
		time.Sleep(recheck)
		b.fails.Store(true)
		time.Sleep(patience - recheck)
		select {
		case took := <-ended:
			t.Errorf("it ended after %v", took)
		default:
		}
		time.Sleep(recheck)
		if took := <-ended; took != 2*patience {
			t.Errorf("it ended after %v", took)
		}
		if a := g.ask("GET", "/api/me", "", as(g.bob)); a.StatusCode != 500 || a.code() != "internal" {
			t.Errorf("while the store fails: %d %s", a.StatusCode, a.code())
		}
	})
}

// What runs when the request's caller is gone is told so, if anything still can be.
func TestARequestThatIsEndedSaysWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, entered := make(chan struct{}), make(chan struct{})
		g := newGate(t, Options{}, holding("/api/hold", release, entered, nil))
		answers := make(chan *answered, 1)
		go func() { answers <- g.ask("GET", "/api/hold", "", as(g.bob)) }()
		<-entered
		g.Close() // a request that is no stream goes on
		synctest.Wait()
		g.revoked(auth.SumOf(g.bob))
		if a := <-answers; a.StatusCode != 401 || !strings.Contains(string(a.body), "revoked") {
			t.Errorf("%d %s", a.StatusCode, a.body)
		}
	})
}

// A request that is no stream does something for its caller, so it is held
// against who they are more often; a store that is busy ends it no sooner.
func TestARequestThatGoesOnEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		then func(t *testing.T, g *gate, b *broken)
		want time.Duration
	}{
		"the token is revoked elsewhere": {func(t *testing.T, g *gate, _ *broken) { remove(t, g, auth.SumOf(g.ada)) }, recheckWork},
		"the user is removed elsewhere":  {func(_ *testing.T, g *gate, _ *broken) { g.removeUser("ada") }, recheckWork},
		"the user is no admin any more":  {func(_ *testing.T, _ *gate, b *broken) { b.demotes.Store(true) }, recheckWork},
		"the store doesn't answer":       {func(_ *testing.T, _ *gate, b *broken) { b.fails.Store(true) }, patience},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release, entered := make(chan struct{}), make(chan struct{})
				g := newGate(t, Options{}, holding("/api/hold", release, entered, nil))
				b := &broken{Users: g.users}
				g.opts.Users = b
				answers := make(chan *answered, 1)
				go func() { answers <- g.ask("GET", "/api/hold", "", as(g.ada)) }()
				<-entered
				time.Sleep(time.Minute)
				c.then(t, g, b)
				start := time.Now()
				if a := <-answers; a.StatusCode != 401 {
					t.Errorf("%d %s", a.StatusCode, a.body)
				}
				if took := time.Since(start); took > c.want || took < c.want-recheckWork {
					t.Errorf("it goes on for %v, want %v", took, c.want)
				}
			})
		})
	}
}

// What is about to expire is asked about then, and no oftener while the store fails.
func TestAnExpiredTokenIsNotAskedAboutInAHurry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release, entered := make(chan struct{}), make(chan struct{})
		g := newGate(t, Options{}, holding("/api/hold", release, entered, nil))
		b := &broken{Users: g.users}
		g.opts.Users = b
		ended := make(chan struct{})
		secret := g.token("bob", time.Now().Add(time.Second))
		go func() {
			defer close(ended)
			g.ask("GET", "/api/hold", "", as(secret))
		}()
		<-entered
		b.fails.Store(true)
		b.asked.Store(0)
		<-ended
		if n := b.asked.Load(); n > int64(patience/recheckWork)+1 {
			t.Errorf("it was asked %d times", n)
		}
	})
}
