package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// Discard forgets what was typed and not read yet. Of a file that is no terminal
// nothing is lost.
func Discard(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // it is no terminal
}
