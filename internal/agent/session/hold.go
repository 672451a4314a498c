package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Holds gives sessions to one run at a time, among all processes that share a
// folder. A hold is an advisory lock on a file of that folder: the operating
// system takes it back when the process dies, however it dies. The files are
// empty and stay, since making one costs more than all the rest; [Holds.Tidy]
// removes those that nobody uses.
type Holds struct {
	dir string

	mu    sync.Mutex
	slots map[Key]*slot
}

// slot is the place of a session among the goroutines of this process.
type slot struct {
	full  chan struct{} // holds one value while the session is held
	users int           // who holds it or waits; guarded by Holds.mu
}

// NewHolds returns holds that keep their files in dir, which is made when it
// is first needed.
func NewHolds(dir string) *Holds { return &Holds{dir: dir, slots: map[Key]*slot{}} }

// holdPoll is how often a session is tried that another process holds. Within
// the process waiting takes no time.
const holdPoll = 20 * time.Millisecond

// Hold waits until nobody else holds the session, at most until ctx ends, and
// takes it. Release gives it back; calling that again does nothing. Within the
// process those who wait are served in the order in which they came.
func (h *Holds) Hold(ctx context.Context, key Key) (release func(), err error) {
	s := h.enter(key)
	select {
	case s.full <- struct{}{}:
	case <-ctx.Done():
		h.leave(key, s)
		return nil, fmt.Errorf("wait for session %s: %w", key, context.Cause(ctx))
	}
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			err = fmt.Errorf("wait for session %s: %w", key, context.Cause(ctx))
		case <-wait.C:
			var lock *flock.Flock
			if lock, err = h.lock(key); lock != nil {
				return h.releaser(key, s, lock), nil
			}
			wait.Reset(holdPoll)
		}
		if err != nil {
			<-s.full
			h.leave(key, s)
			return nil, err
		}
	}
}

// Try is [Holds.Hold] without waiting: the error is [ErrHeld] when somebody
// holds the session.
func (h *Holds) Try(key Key) (release func(), err error) {
	s := h.enter(key)
	select {
	case s.full <- struct{}{}:
	default:
		h.leave(key, s)
		return nil, ErrHeld
	}
	lock, err := h.lock(key)
	if lock == nil {
		<-s.full
		h.leave(key, s)
		if err == nil {
			err = ErrHeld
		}
		return nil, err
	}
	return h.releaser(key, s, lock), nil
}

func (h *Holds) enter(key Key) *slot {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.slots[key]
	if s == nil {
		s = &slot{full: make(chan struct{}, 1)}
		h.slots[key] = s
	}
	s.users++
	return s
}

func (h *Holds) leave(key Key, s *slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(h.slots, key)
	}
}

// lock tries to lock the session's file; nil means that another process has it.
func (h *Holds) lock(key Key) (*flock.Flock, error) {
	lock, err := lockFile(h.path(key))
	if os.IsNotExist(err) {
		if err = os.MkdirAll(h.dir, 0o700); err == nil {
			lock, err = lockFile(h.path(key))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock session %s: %w", key, err)
	}
	return lock, nil
}

// lockFile tries to lock the file at path; nil means that somebody else has it.
func lockFile(path string) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, err
	}
	// Tidy may have removed the file between its opening and its locking here;
	// then the lock is on a file that nobody else will see.
	mine, err := lock.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Stat(path); err == nil && os.SameFile(mine, there) {
			return lock, nil
		}
	}
	if os.IsNotExist(err) {
		err = nil
	}
	return nil, errors.Join(err, lock.Unlock())
}

// releaser makes the function that gives a session back.
func (h *Holds) releaser(key Key, s *slot, lock *flock.Flock) func() {
	return sync.OnceFunc(func() {
		if err := lock.Unlock(); err != nil {
			slog.Warn("a session's lock was not given back; it ends with the process", "session", key.String(), "err", err)
		}
		<-s.full
		h.leave(key, s)
	})
}

// Tidy removes the files of at most limit sessions that nobody holds. Those
// who are about to take one notice it.
func (h *Holds) Tidy(limit int) error {
	entries, err := os.ReadDir(h.dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("tidy the locks of sessions: %w", err)
	}
	for _, e := range entries {
		if limit == 0 {
			return nil
		}
		if filepath.Ext(e.Name()) != lockExt {
			continue
		}
		lock, err := lockFile(filepath.Join(h.dir, e.Name()))
		if lock != nil {
			// Windows doesn't remove files that are open, so there they stay.
			if err = os.Remove(lock.Path()); runtime.GOOS == "windows" {
				err = nil
			}
			err = errors.Join(err, lock.Unlock())
			limit--
		}
		if err != nil {
			return fmt.Errorf("tidy the locks of sessions: %w", err)
		}
	}
	return nil
}

// path is the session's file. Its name is a digest, because names that differ
// in case only, or hold a colon, are not two names everywhere.
const lockExt = ".lock"

func (h *Holds) path(key Key) string {
	sum := sha256.Sum256([]byte(key.Agent + "\x00" + key.ID))
	return filepath.Join(h.dir, hex.EncodeToString(sum[:12])+lockExt)
}
