//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the directory's advisory lock, which closing dir releases. ok
// is false while someone else has it.
func tryLock(dir *os.File) (ok bool, err error) {
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EBADF), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS),
			errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EINVAL):
			// Some network file systems can't lock a directory. Changes are
			// still compared with what was read just before they are made.
			return true, nil
		}
		return false, err
	}
}
