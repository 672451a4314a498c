//go:build linux || darwin || freebsd

package gateway

import (
	"os"

	"golang.org/x/sys/unix"
)

// mayWrite says why this process may not write into a folder.
func mayWrite(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return os.NewSyscallError("access", err)
	}
	return nil
}

// spaceOf says what the disk of a folder has left.
func spaceOf(dir string) (s space, known bool, err error) {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return s, false, os.NewSyscallError("statfs", err)
	}
	if err := unix.Stat(dir, &st); err != nil {
		return s, false, os.NewSyscallError("stat", err)
	}
	return space{free: uint64(fs.Bavail) * uint64(fs.Bsize), disk: uint64(st.Dev)}, true, nil
}
