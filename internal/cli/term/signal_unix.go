//go:build unix

package term

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Signals are what the system tells about a terminal.
type Signals struct {
	// Resized yields when it may have another size.
	Resized chan os.Signal
	// Continued yields when the process goes on after it was stopped, by
	// whomever; then [Terminal.Resume] is due, and all is to be painted anew.
	Continued chan os.Signal
}

// Notify begins to listen; stop ends it.
//
// It leaves SIGTSTP alone: once that has been listened to, Go's runtime takes
// it for good, and it stops no process any more.
func Notify() (s Signals, stop func()) {
	s = Signals{Resized: make(chan os.Signal, 1), Continued: make(chan os.Signal, 1)}
	signal.Notify(s.Resized, syscall.SIGWINCH)
	signal.Notify(s.Continued, syscall.SIGCONT)
	return s, func() {
		signal.Stop(s.Resized)
		signal.Stop(s.Continued)
	}
}

// CanSuspend reports whether the process can be stopped and go on later.
const CanSuspend = true

// suspendWithin is how long to wait for the stop to take effect. A process that
// nobody could let go on again is not stopped at all.
const suspendWithin = 200 * time.Millisecond

// Suspend gives the terminal back, stops the process and those that were
// started with it as Ctrl-Z does, and takes the terminal again when it goes on.
func (t *Terminal) Suspend(s Signals) error {
	if err := t.Close(); err != nil {
		return err
	}
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return fmt.Errorf("stop the process: %w", err)
	}
	select {
	case <-s.Continued:
	case <-time.After(suspendWithin):
	}
	return t.Resume()
}
