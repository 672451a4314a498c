//go:build !unix

package term

import "os"

// Signals are what the system tells about a terminal; here it tells nothing.
type Signals struct {
	Resized   chan os.Signal
	Continued chan os.Signal
}

// Notify begins to listen; stop ends it.
func Notify() (s Signals, stop func()) { return Signals{}, func() {} }

// CanSuspend reports whether the process can be stopped and go on later.
const CanSuspend = false

// Suspend does nothing.
func (t *Terminal) Suspend(Signals) error { return nil }
