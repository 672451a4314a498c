package session

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"
)

// Holds gives sessions to one run at a time, among all processes that share a
// folder. A hold is an advisory lock on a file of that folder: the operating
// system takes it back when the process dies, however it dies. Where the
// system can lock a single byte for one opening of a file (Linux), all sessions
// share one file; elsewhere each has its own. The files are empty and stay;
// [Holds.Tidy] removes those that nobody uses.
type Holds struct {
	locks locker

	mu    sync.Mutex
	slots map[place]*slot
}

// place is where a session's lock lies. It is a digest, because names that
// differ in case only, or hold a colon, are not two names for every file
// system. Two sessions that share one can't be held at the same time, which is
// safe, and too rare to meet unless somebody searches for it.
type place int64

func placeOf(key Key) place {
	sum := sha256.Sum256([]byte(key.Agent + "\x00" + key.ID))
	return place(binary.BigEndian.Uint64(sum[:8]) >> 2) // leaves room behind it in a file's length
}

// locker locks places between processes. It is safe for concurrent use; one
// Holds never locks a place that it has locked already.
type locker interface {
	// try locks a place; nil means that another process has it.
	try(place) (unlock func() error, err error)
	// tidy removes the files of at most limit places that nobody has locked.
	tidy(limit int) error
}

// slot is a place among the goroutines of this process.
type slot struct {
	full  chan struct{} // holds one value while the session is held
	users int           // who holds it or waits; guarded by Holds.mu
}

// NewHolds returns holds that keep their files in dir, which is made when it
// is first needed.
func NewHolds(dir string) *Holds { return newHolds(newLocker(dir)) }

func newHolds(l locker) *Holds { return &Holds{locks: l, slots: map[place]*slot{}} }

// holdPoll is how often a session is tried that another process holds. Within
// the process waiting takes no time.
const holdPoll = 20 * time.Millisecond

// Hold waits until nobody else holds the session, at most until ctx ends, and
// takes it. Release gives it back; calling that again does nothing. Within the
// process those who wait are served in the order in which they came.
func (h *Holds) Hold(ctx context.Context, key Key) (release func(), err error) {
	at := placeOf(key)
	s := h.enter(at)
	select {
	case s.full <- struct{}{}:
	case <-ctx.Done():
		h.leave(at, s)
		return nil, fmt.Errorf("wait for session %s: %w", key, context.Cause(ctx))
	}
	var again *time.Timer
	for {
		err := context.Cause(ctx)
		if err != nil {
			err = fmt.Errorf("wait for session %s: %w", key, err)
		} else {
			var unlock func() error
			if unlock, err = h.lock(key, at); unlock != nil {
				return h.releaser(key, at, s, unlock), nil
			}
		}
		if err != nil {
			<-s.full
			h.leave(at, s)
			return nil, err
		}
		if again == nil {
			again = time.NewTimer(holdPoll)
			defer again.Stop()
		} else {
			again.Reset(holdPoll)
		}
		select {
		case <-ctx.Done():
		case <-again.C:
		}
	}
}

// Try is [Holds.Hold] without waiting: the error is [ErrHeld] when somebody
// holds the session.
func (h *Holds) Try(key Key) (release func(), err error) {
	at := placeOf(key)
	s := h.enter(at)
	select {
	case s.full <- struct{}{}:
	default:
		h.leave(at, s)
		return nil, ErrHeld
	}
	unlock, err := h.lock(key, at)
	if unlock == nil {
		<-s.full
		h.leave(at, s)
		if err == nil {
			err = ErrHeld
		}
		return nil, err
	}
	return h.releaser(key, at, s, unlock), nil
}

// Tidy removes the files of at most limit sessions that nobody holds, where
// sessions have files. Those who are about to take one notice it.
func (h *Holds) Tidy(limit int) error {
	if err := h.locks.tidy(limit); err != nil {
		return fmt.Errorf("tidy the locks of sessions: %w", err)
	}
	return nil
}

func (h *Holds) enter(at place) *slot {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.slots[at]
	if s == nil {
		s = &slot{full: make(chan struct{}, 1)}
		h.slots[at] = s
	}
	s.users++
	return s
}

func (h *Holds) leave(at place, s *slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(h.slots, at)
	}
}

func (h *Holds) lock(key Key, at place) (unlock func() error, err error) {
	if unlock, err = h.locks.try(at); err != nil {
		return nil, fmt.Errorf("lock session %s: %w", key, err)
	}
	return unlock, nil
}

// releaser makes the function that gives a session back.
func (h *Holds) releaser(key Key, at place, s *slot, unlock func() error) func() {
	return sync.OnceFunc(func() {
		if err := unlock(); err != nil {
			slog.Warn("a session's lock was not given back; it ends with the process", "session", key.String(), "err", err)
		}
		<-s.full
		h.leave(at, s)
	})
}

const lockExt = ".lock"

// lockPath is the file of a place, where each has one.
func lockPath(dir string, at place) string {
	return filepath.Join(dir, fmt.Sprintf("%016x", int64(at))+lockExt)
}
