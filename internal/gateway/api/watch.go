package api

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
)

const (
	// recheck is how often it is asked whether the caller of an open stream is
	// still welcome. It shows them something, and there may be many.
	recheck = 15 * time.Second
	// recheckWork is how often that is asked of a request that is no stream: what
	// goes on long does something for them, such as a call of a tool.
	recheckWork = 500 * time.Millisecond
	// patience is how long such questions may go unanswered, when the database
	// is busy or broken, before the request ends.
	patience = time.Minute
)

var (
	errRevoked = errors.New("the caller's token was revoked or has expired")
	errClosing = errors.New("the gateway is stopping")
)

// watches are the requests that are open.
type watches struct {
	mu      sync.Mutex
	byToken map[auth.Sum]map[*watch]struct{}
	closing bool
	gone    chan struct{} // holds a token when a request has ended lately
}

// watch ends one request when its caller loses what it stands on.
type watch struct {
	s      *Server
	caller Caller
	ctx    context.Context
	cancel context.CancelCauseFunc

	endless bool        // its stream has no end of its own
	stream  atomic.Bool // it goes on until somebody ends it; set under the lock of the server's watches

	mu       sync.Mutex  // held while a question is under way
	timer    *time.Timer // nil where nothing is asked
	answered time.Time   // when it was last known that the token holds
}

// watch returns a context that ends with ctx, with the caller's token (at once
// when it is revoked in this process, within [recheckWork] when elsewhere, a
// stream within [recheck]) and, once the answer is a stream, with the server.
// endless says that such a stream has no end of its own. The caller must call
// stop.
func (s *Server) watch(ctx context.Context, c Caller, endless bool) (_ context.Context, w *watch) {
	w = &watch{s: s, caller: c, endless: endless, answered: time.Now()}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	s.watches.mu.Lock()
	set := s.watches.byToken[c.Token]
	if set == nil {
		set = map[*watch]struct{}{}
		s.watches.byToken[c.Token] = set
	}
	set[w] = struct{}{}
	s.watches.mu.Unlock()
	if c.Token != (auth.Sum{}) {
		w.mu.Lock()
		w.timer = time.AfterFunc(w.next(), w.check)
		w.mu.Unlock()
	}
	return w.ctx, w
}

// next is how long to wait before the next question.
func (w *watch) next() time.Duration {
	d := recheckWork
	if w.stream.Load() {
		d = recheck
	}
	if left := w.caller.token.Expires.Sub(w.s.opts.Now()); left > 0 {
		d = min(d, max(left, time.Millisecond))
	}
	return d
}

// check asks whether the caller still is who they were. It runs on a timer's
// goroutine and takes one query.
func (w *watch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(w.ctx, recheck)
	g, err := auth.VerifySum(ctx, w.s.opts.Users, w.caller.Token, w.s.opts.Now())
	cancel()
	switch {
	case w.ctx.Err() != nil:
		return
	case err == nil && (g.ID != w.caller.ID || g.Role != w.caller.Role), errors.Is(err, auth.ErrDenied):
		w.cancel(errRevoked)
		return
	case err == nil:
		w.answered = time.Now()
	default:
		if time.Since(w.answered) >= patience {
			w.s.opts.Log.Error("whether an open request's token still holds can't be told; the request ends", "user", w.caller.ID, "err", err)
			w.cancel(errRevoked)
			return
		}
	}
	w.timer.Reset(w.next())
}

// streams notes that the answer is a stream, which ends when the server does.
func (w *watch) streams() {
	w.s.watches.mu.Lock()
	defer w.s.watches.mu.Unlock()
	w.stream.Store(true)
	if w.timer != nil {
		w.timer.Reset(w.next()) // from now on it is asked less often
	}
	if w.s.watches.closing {
		w.cancel(errClosing)
	}
}

// stop forgets the request, and waits for a question about it that is under way.
func (w *watch) stop() {
	w.cancel(nil)
	w.mu.Lock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.s.watches.mu.Lock()
	defer w.s.watches.mu.Unlock()
	set := w.s.watches.byToken[w.caller.Token]
	delete(set, w)
	if len(set) == 0 {
		delete(w.s.watches.byToken, w.caller.Token)
	}
	select {
	case w.s.watches.gone <- struct{}{}:
	default:
	}
}

// revoked ends the open requests of a token that was removed in this process.
// Those of one that another process removed end by themselves; see
// [Server.watch].
func (s *Server) revoked(sum auth.Sum) {
	if sum == (auth.Sum{}) {
		return // GOCLAW_TOKEN changes only with the process
	}
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	for w := range s.watches.byToken[sum] {
		w.cancel(errRevoked)
	}
}

// Linger waits, at most until ctx ends, for the streams that end by themselves.
// When all runs have ended it gives those who follow them the time to hear how;
// [Server.Close] would cut them off. Only one goroutine may call it.
func (s *Server) Linger(ctx context.Context) {
	for s.watches.lasting() {
		select {
		case <-s.watches.gone:
		case <-ctx.Done():
			return
		}
	}
}

// lasting reports whether a stream is open that ends by itself.
func (w *watches) lasting() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, set := range w.byToken {
		for x := range set {
			if x.stream.Load() && !x.endless {
				return true
			}
		}
	}
	return false
}

// Close ends all streams and refuses requests that come after it, but for those
// that ask how the gateway is. Requests under way that are no streams go on;
// [http.Server.Shutdown] waits for them.
func (s *Server) Close() {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	s.watches.closing = true
	for _, set := range s.watches.byToken {
		for w := range set {
			if w.stream.Load() {
				w.cancel(errClosing)
			}
		}
	}
}

func (s *Server) isClosing() bool {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	return s.watches.closing
}
