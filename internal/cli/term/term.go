// Package term is the terminal: its mode and size, the keys that come from it,
// the line a person is writing, and what is painted below everything that has
// been printed.
//
// Life: [Open] switches a terminal to raw mode and begins to read it;
// [Terminal.Close] puts it back as it was, and must be called whatever happens.
// What is read comes as bytes on [Terminal.Input] and becomes keys in a
// [Decoder], an [Editor] turns keys into text, a [Screen] paints. These three
// do no input or output of their own, so that they are tested without a
// terminal. The goroutine that reads can't be called off: it is left behind in
// its read and ends with the process.
//
// Start reading at [Screen.Paint], then [Editor.Key].
package term

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	xterm "golang.org/x/term"
)

// Terminal is a terminal in raw mode: keys come as they are pressed and nothing
// is echoed. Its methods are safe for concurrent use.
type Terminal struct {
	in, out *os.File
	input   chan []byte

	mu    sync.Mutex
	state *xterm.State // as it was; nil while it is that way
	undo  func()       // what was done for escape sequences
}

// What a terminal is told when it is taken and given back. A pasted text comes
// in brackets, so that its line breaks are not taken for Enter.
const (
	begin = "\x1b[?2004h"
	end   = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[0m"
)

// Is reports whether f is a terminal.
func Is(f *os.File) bool { return f != nil && xterm.IsTerminal(int(f.Fd())) }

// Open takes a terminal.
func Open(in, out *os.File) (*Terminal, error) {
	t := &Terminal{in: in, out: out, input: make(chan []byte)}
	if err := t.Resume(); err != nil {
		return nil, err
	}
	go t.read()
	return t, nil
}

// typedAhead is how soon something comes that was typed before the terminal was
// taken, when Enter still gave a line feed.
const typedAhead = 10 * time.Millisecond

// read hands on what comes, until the terminal is gone.
func (t *Terminal) read() {
	defer close(t.input)
	began := time.Now()
	buf := make([]byte, 4096)
	for {
		n, err := t.in.Read(buf)
		if n > 0 {
			b := bytes.Clone(buf[:n])
			if time.Since(began) < typedAhead {
				b = bytes.ReplaceAll(b, []byte("\n"), []byte("\r"))
			}
			t.input <- b
		}
		if err != nil {
			return
		}
	}
}

// Input yields what is typed, in pieces. It is closed when the terminal is gone.
func (t *Terminal) Input() <-chan []byte { return t.input }

// Write writes to the terminal.
func (t *Terminal) Write(b []byte) (int, error) { return t.out.Write(b) }

// Size is the terminal's width and height in cells.
func (t *Terminal) Size() (width, height int) { return Size(t.out) }

// Size is the width and height in cells of the terminal f. One that doesn't say
// has 80 by 24.
func Size(f *os.File) (width, height int) {
	width, height, err := xterm.GetSize(int(f.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Resume takes the terminal, at first and again after [Terminal.Close] or
// when somebody else has changed it.
func (t *Terminal) Resume() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	state, err := xterm.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return fmt.Errorf("take the terminal: %w", err)
	}
	if t.state == nil { // else it is the state that the terminal had at first that counts
		t.state = state
		if t.undo, err = sequences(t.out); err != nil {
			t.undo = func() {}
			return errors.Join(fmt.Errorf("take the terminal: %w", err), t.release())
		}
	}
	if _, err := io.WriteString(t.out, begin); err != nil {
		return errors.Join(fmt.Errorf("take the terminal: %w", err), t.release())
	}
	return nil
}

// Close gives the terminal back as it was. It may be called more than once, and
// [Terminal.Resume] takes the terminal again.
func (t *Terminal) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state == nil {
		return nil
	}
	// Where a terminal is gone, there is nothing to give back.
	_, _ = io.WriteString(t.out, end)
	return t.release()
}

func (t *Terminal) release() error {
	state := t.state
	t.state = nil
	t.undo()
	if err := xterm.Restore(int(t.in.Fd()), state); err != nil {
		return fmt.Errorf("give the terminal back: %w", err)
	}
	return nil
}
