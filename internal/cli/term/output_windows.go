package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// sequences makes a console obey escape sequences; undo makes it as it was.
func sequences(out *os.File) (undo func(), err error) {
	console := windows.Handle(out.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return nil, err
	}
	if err := windows.SetConsoleMode(console, mode|windows.ENABLE_PROCESSED_OUTPUT|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING); err != nil {
		return nil, err
	}
	return func() { _ = windows.SetConsoleMode(console, mode) }, nil // the console is gone
}
