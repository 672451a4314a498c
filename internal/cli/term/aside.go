package term

import (
	"bytes"
	"io"
	"sync"
)

// Aside is standard error while a screen is painted: what is written there is
// kept, to be printed above it. It is safe for concurrent use.
type Aside struct {
	mu    sync.Mutex
	w     io.Writer
	held  bool
	buf   []byte
	ready chan struct{} // holds a token when there is something
}

// NewAside returns one that writes to w while nothing is painted.
func NewAside(w io.Writer) *Aside { return &Aside{w: w, ready: make(chan struct{}, 1)} }

// Write implements [io.Writer].
func (a *Aside) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.held {
		return a.w.Write(b)
	}
	a.buf = append(a.buf, b...)
	select {
	case a.ready <- struct{}{}:
	default:
	}
	return len(b), nil
}

// Hold keeps what is written from now on, or writes what was kept.
func (a *Aside) Hold(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = on
	if !on && len(a.buf) > 0 {
		_, _ = a.w.Write(a.buf) // the last words; nobody is left to tell of an error
		a.buf = nil
	}
}

// Ready yields when something was kept.
func (a *Aside) Ready() <-chan struct{} { return a.ready }

// Take returns the whole lines that were kept.
func (a *Aside) Take() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := bytes.LastIndexByte(a.buf, '\n') + 1
	text := string(a.buf[:i])
	a.buf = append(a.buf[:0], a.buf[i:]...)
	return text
}
