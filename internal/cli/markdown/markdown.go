// Package markdown renders Markdown on a terminal, also while it is being
// written.
//
// What a model writes comes in pieces. A [Stream] tells two kinds of lines
// apart: those that are settled, which no later piece can change, so that they
// are printed once and never again; and those of the block that is still open,
// which are shown as it grows and painted over. What settles depends on the
// text alone and never on how it was cut into pieces, so the end is always the
// same screen.
//
// Settled is every block (of a list: every item) but the last one, each line of
// a fenced block of code, and all of what has grown over [limit]. Only a link
// that is defined behind its use is shown as it stands, since what uses it has
// been printed by then.
//
// Nothing that stands in the text reaches the terminal as anything but text:
// control characters, also those written as entities, come out in the visible
// form of lib/visible, and a link's address is spelled in plain ASCII.
//
// A line is as wide as the options allow, with one exception: a line of code
// stays one line, which the terminal folds and copies as one. Lines carry their
// own styles and end without any.
//
// Start reading at [Stream.Write], then layout in block.go.
package markdown

import (
	"strings"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

// Options says how lines look.
type Options struct {
	// Width is that of the terminal in cells; 80 when 0, at least 8.
	Width int
	// Color allows colours; without it there are only bold, italic and the like.
	Color bool
	// Links writes links as the terminal's own (OSC 8) instead of with their
	// address behind them.
	Links bool
}

const (
	defaultWidth = 80
	minWidth     = 8
	// proseWidth is the most that lines of prose take: longer ones are hard to
	// read. Tables and code may be wider.
	proseWidth = 100
	// limit is how much an open block may hold, in bytes. What is longer is
	// settled as it stands, which bounds the work for each piece.
	limit = 64 << 10
)

func (o Options) width() int {
	if o.Width == 0 {
		return defaultWidth
	}
	return max(o.Width, minWidth)
}

// Render renders a whole text, as lines without line breaks.
func Render(text string, o Options) []string {
	s := New(o)
	lines := s.Write(text)
	return append(lines, s.Close()...)
}

// plain makes text safe and keeps it on one line.
func plain(s string) string {
	s = visible.Text(s)
	if !strings.ContainsAny(s, "\n\r\t") {
		return s
	}
	return flat.Replace(s)
}

// flat writes what moves the cursor as something that doesn't.
var flat = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", "␍", "\t", "    ")
