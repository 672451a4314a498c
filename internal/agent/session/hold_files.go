package session

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"
)

// files locks a file for each place. It is the locker of systems that have
// nothing better. Making the file costs more than all the rest, so it stays.
type files struct{ dir string }

func (f files) try(at place) (unlock func() error, err error) {
	path := lockPath(f.dir, at)
	lock, err := lockFile(path)
	if os.IsNotExist(err) {
		if err = os.MkdirAll(f.dir, 0o700); err == nil {
			lock, err = lockFile(path)
		}
	}
	if err != nil || lock == nil {
		return nil, err
	}
	return lock.Unlock, nil
}

// lockFile tries to lock the file at path; nil means that somebody else has it.
func lockFile(path string) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, err
	}
	// tidy may have removed the file between its opening and its locking here;
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

func (f files) tidy(limit int) error {
	entries, err := os.ReadDir(f.dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if limit == 0 {
			return nil
		}
		if filepath.Ext(e.Name()) != lockExt {
			continue
		}
		lock, err := lockFile(filepath.Join(f.dir, e.Name()))
		if lock != nil {
			// Windows doesn't remove files that are open, so there they stay.
			if err = os.Remove(lock.Path()); runtime.GOOS == "windows" {
				err = nil
			}
			err = errors.Join(err, lock.Unlock())
			limit--
		}
		if err != nil {
			return err
		}
	}
	return nil
}
