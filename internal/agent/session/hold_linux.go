package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

func newLocker(dir string) locker { return &ranges{dir: dir, files: files{dir}} }

// ranges locks single bytes of one empty file, which lie far behind its end.
// The locks belong to the opening of the file ("open file description locks"),
// not to the process, so that several Holds in one process exclude each other,
// and closing an unrelated handle of the file gives nothing back. They cost no
// file and no entry in a folder.
type ranges struct {
	dir   string
	files files // for kernels that don't know these locks

	mu   sync.Mutex
	open *ranged // what the next place is locked in; nil before the first
}

// ranged is an opened file with the number of places that are locked in it.
type ranged struct {
	*os.File
	info  os.FileInfo
	users int // guarded by ranges.mu
}

// rangesName has an ending that files.tidy leaves alone.
const rangesName = "sessions.locks"

func (r *ranges) try(at place) (unlock func() error, err error) {
	for {
		f, err := r.enter()
		if err != nil {
			return nil, err
		}
		switch err := lockByte(f.File, unix.F_WRLCK, at); {
		case err == nil:
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES): // somebody else has it
			return nil, r.leave(f)
		case errors.Is(err, unix.EINVAL):
			if err := r.leave(f); err != nil {
				return nil, err
			}
			return r.files.try(at)
		default:
			return nil, errors.Join(err, r.leave(f))
		}
		unlock := func() error { return errors.Join(lockByte(f.File, unix.F_UNLCK, at), r.leave(f)) }
		if current, err := r.current(f); current {
			return unlock, nil
		} else if err := errors.Join(err, unlock()); err != nil {
			return nil, err
		}
	}
}

func (r *ranges) tidy(limit int) error { return r.files.tidy(limit) }

// enter returns the file to lock in.
func (r *ranges) enter() (*ranged, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open != nil {
		r.open.users++
		return r.open, nil
	}
	f, err := os.OpenFile(r.path(), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(r.dir, 0o700); err == nil {
			f, err = os.OpenFile(r.path(), os.O_RDWR|os.O_CREATE, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.open = &ranged{File: f, info: info, users: 1}
	return r.open, nil
}

// current reports whether f is still the file that others lock in. When
// somebody removed it, a lock in it excludes nobody who comes later, and the
// next enter opens the one that took its place.
func (r *ranges) current(f *ranged) (bool, error) {
	there, err := os.Stat(r.path())
	if err == nil && os.SameFile(there, f.info) {
		return true, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == f {
		r.open = nil
	}
	return false, err
}

// leave closes a replaced file when nobody uses it any more.
func (r *ranges) leave(f *ranged) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.users--; f.users == 0 && r.open != f {
		return f.Close()
	}
	return nil
}

func (r *ranges) path() string { return filepath.Join(r.dir, rangesName) }

// lockByte sets or clears the lock of a place without waiting.
func lockByte(f *os.File, kind int16, at place) error {
	l := unix.Flock_t{Type: kind, Whence: unix.SEEK_SET, Start: int64(at), Len: 1}
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &l)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
