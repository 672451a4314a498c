package api

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent/session"
)

// pace is how often a change of one session is told at most.
const pace = 100 * time.Millisecond

// viewer is one browser tab that follows what goes on: changes of all sessions
// that its caller may see, and the runs of one. Besides the request's goroutine,
// which writes, one notes what changed and one follows the runs; the request
// waits for both.
type viewer struct {
	s    *Server
	c    Caller
	feed *feed
	line *line // nil when no session is followed

	mu      sync.Mutex
	changed map[session.Key]bool // not told yet

	// Used by the writer alone.
	told    map[session.Key]time.Time // when, for those told within pace
	unbegun map[session.Key]bool      // told of though nothing was stored of them
}

func events(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	ctx, cancel := context.WithCancelCause(r.Context())
	v := &viewer{
		s: s, c: c, feed: newFeed(),
		changed: map[session.Key]bool{}, told: map[session.Key]time.Time{}, unbegun: map[session.Key]bool{},
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil) // before the wait

	// What is read from here on is at most too new: no change is missed.
	changes := s.opts.Runner.Changes(ctx)
	if err := v.attend(ctx, r); err != nil {
		return err
	}
	wg.Go(func() {
		for key := range changes {
			if err := v.note(ctx, key); err != nil {
				cancel(err)
				return
			}
		}
	})
	st, err := newEventStream(w)
	if err != nil {
		return nil // the client is gone
	}
	if v.line != nil {
		wg.Go(func() {
			if err := v.line.follow(ctx, v.feed); err != nil {
				cancel(err)
			}
		})
	}
	err = v.write(ctx, st)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil && r.Context().Err() == nil {
		s.opts.Log.Warn("a stream of events broke off", "user", c.ID, "err", err)
	}
	return nil
}

// attend begins to follow the session that the request names, if any.
func (v *viewer) attend(ctx context.Context, r *http.Request) error {
	q := r.URL.Query()
	if q.Get("session") == "" {
		return nil
	}
	key, err := v.s.keyOf(ctx, q.Get("agent"), q.Get("session"))
	if err != nil {
		return err
	}
	if err := v.s.mayContinue(ctx, v.c, key); err != nil {
		return err
	}
	id, at := "", position{}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		var seq string
		var ok bool
		if id, seq, ok = strings.Cut(last, ":"); ok {
			at, ok = parsePosition(seq)
		}
		if !ok {
			return badRequest("%q is not the id of an event of this stream, such as RUN:12", last)
		}
	}
	v.line = newLine(v.s, v.c, key)
	return v.line.begin(ctx, v.feed, id, at)
}

// note remembers that a session changed.
func (v *viewer) note(ctx context.Context, key session.Key) error {
	v.mu.Lock()
	v.changed[key] = true
	v.mu.Unlock()
	wake(v.feed.more)
	if v.line != nil && v.line.key == key {
		return v.line.look(ctx, v.feed)
	}
	return nil
}

// write sends what comes until ctx ends or the client reads no more. The error
// is never that of the client.
func (v *viewer) write(ctx context.Context, st *stream) error {
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	due := time.NewTimer(0) // when a change may be told that came too soon
	defer due.Stop()
	var items []item
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-alive.C:
			if st.write(": keep-alive\n\n") != nil {
				return nil
			}
			continue
		case <-v.feed.more:
		case <-due.C:
		}
		items, _ = v.feed.take(items)
		changes, next, err := v.changes(ctx)
		if err != nil {
			return err
		}
		if next > 0 {
			due.Reset(next)
		}
		items = append(items, changes...)
		if len(items) == 0 {
			continue
		}
		if err := st.sendAll(items); err != nil {
			return ours(err)
		}
		alive.Reset(keepAlive)
	}
}

// changes takes the changes that are to be told now, and says when there are
// more to be told; 0 means that there are none.
func (v *viewer) changes(ctx context.Context) (items []item, next time.Duration, err error) {
	now := time.Now()
	maps.DeleteFunc(v.told, func(_ session.Key, at time.Time) bool { return now.Sub(at) >= pace })
	v.mu.Lock()
	var keys []session.Key
	for key := range v.changed {
		at, soon := v.told[key]
		if !soon {
			keys = append(keys, key)
			delete(v.changed, key)
		} else if left := pace - now.Sub(at); next == 0 || left < next {
			next = left
		}
	}
	v.mu.Unlock()
	slices.SortFunc(keys, session.Key.Compare)
	for _, key := range keys {
		change, ok, err := v.change(ctx, key)
		if err != nil {
			return nil, 0, err
		}
		if ok {
			v.told[key] = now
			items = append(items, item{name: "session_changed", data: &change})
		}
	}
	return items, next, nil
}

// change is what there is to tell of a session that changed. ok is false when
// the caller may not hear of it.
func (v *viewer) change(ctx context.Context, key session.Key) (change SessionChanged, ok bool, err error) {
	p, err := v.s.lookUp(ctx, key)
	switch {
	case errors.Is(err, session.ErrNotFound):
		was, known := v.s.graves.get(key)
		if !known && !v.unbegun[key] || known && !v.c.sees(was.Caller) {
			return change, false, nil
		}
		// It was deleted, or never began although it was told of.
		delete(v.unbegun, key)
		was.Key = key
		return SessionChanged{Session: sessionOf(foundSession{Session: was}), Deleted: true}, true, nil
	case err != nil:
		return change, false, err
	case !v.c.sees(p.Caller):
		return change, false, nil
	}
	if p.stored {
		delete(v.unbegun, key)
	} else {
		v.unbegun[key] = true
	}
	return SessionChanged{Session: sessionOf(p)}, true, nil
}
