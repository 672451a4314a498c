//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// input is FREAD of sys/fcntl.h: the side of a terminal that is read.
const input = 1

// Discard forgets what was typed and not read yet. Of a file that is no terminal
// nothing is lost.
func Discard(f *os.File) {
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, input) // it is no terminal
}
