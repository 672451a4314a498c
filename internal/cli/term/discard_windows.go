package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// Discard forgets what was typed and not read yet. Of a file that is no terminal
// nothing is lost.
func Discard(f *os.File) {
	_ = windows.FlushConsoleInputBuffer(windows.Handle(f.Fd())) // it is no terminal
}
