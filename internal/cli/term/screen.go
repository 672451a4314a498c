package term

import (
	"bytes"
	"fmt"
	"io"
)

// Screen prints lines that stay and, below them, paints rows that change: what
// is still being written, and the line that a person writes.
//
// Lines that were printed are never touched again; they scroll away as with any
// other program. Of the rows only what changed is written, all in one piece and
// between marks that tell the terminal to show it at once, so that nothing
// flickers. A Screen is used by one goroutine.
type Screen struct {
	w             io.Writer
	width, height int
	reflows       bool

	rows   []string // as painted, from the top
	x, y   int      // where the cursor stands within them
	dirty  bool     // they can't be trusted any more
	broken error    // of the first write that failed
}

// View is what is painted below what was printed.
type View struct {
	Rows []string // each at most as wide as the screen; longer ones are cut off
	X, Y int      // the cursor, in cells from the left and rows from the top
}

// NewScreen returns a screen of width by height cells. reflows says that the
// terminal folds long lines anew when its width changes, as most do.
func NewScreen(w io.Writer, width, height int, reflows bool) *Screen {
	return &Screen{w: w, width: width, height: height, reflows: reflows, rows: []string{""}}
}

// Size is what the screen takes the terminal's size to be.
func (s *Screen) Size() (width, height int) { return s.width, s.height }

// Resize tells that the terminal has another size now.
func (s *Screen) Resize(width, height int) {
	if width == s.width && height == s.height {
		return
	}
	if s.reflows && width < s.width && s.y < len(s.rows) { // rows that were folded already are painted anew first
		// The terminal has folded the rows that don't fit any more, so that the
		// cursor stands further below the first of them.
		y := 0
		for _, row := range s.rows[:s.y] {
			y += len(Rows(row, width)) // a wide letter may leave the last cell of a row empty
		}
		row := s.rows[s.y]
		before := Rows(Clip(row, s.x), width)
		s.y = y + len(before) - 1 + (Width(before[len(before)-1])+max(0, s.x-Width(row)))/width
	}
	s.width, s.height, s.dirty = width, height, true
}

// Invalidate makes the next Paint paint everything anew, where the cursor
// stands: something else has written to the terminal.
func (s *Screen) Invalidate() {
	s.rows, s.x, s.y, s.dirty = []string{""}, 0, 0, true
}

// Clear empties the terminal; the next Paint begins at its top.
func (s *Screen) Clear() {
	s.write([]byte("\x1b[H\x1b[2J"))
	s.Invalidate()
}

const (
	syncBegin  = "\x1b[?2026h"
	syncEnd    = "\x1b[?2026l"
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	noWrap     = "\x1b[?7l"
	wrap       = "\x1b[?7h"
	eraseLine  = "\x1b[K"
	eraseDown  = "\x1b[J"
	reset      = "\x1b[0m"
)

// Paint prints lines and paints v below them. It returns the first error that
// writing ever gave.
func (s *Screen) Paint(printed []string, v View) error {
	rows := s.fit(&v)
	var b bytes.Buffer
	switch {
	case len(printed) > 0 || s.dirty:
		s.home(&b)
		s.print(&b, printed)
		s.paint(&b, rows)
	default:
		s.change(&b, rows)
	}
	s.cursor(&b, len(rows)-1, v)
	s.rows, s.dirty = rows, false
	return s.flush(&b)
}

// fit makes a view one that can be painted: not empty, no taller and no wider
// than the screen. What is too tall loses its first rows.
func (s *Screen) fit(v *View) []string {
	rows := v.Rows
	if len(rows) == 0 {
		rows = []string{""}
	}
	if n := len(rows) - max(s.height, 1); n > 0 {
		rows = rows[n:]
		v.Y -= n
	}
	v.Y = min(max(v.Y, 0), len(rows)-1)
	v.X = min(max(v.X, 0), max(s.width-1, 0))
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = Clip(row, s.width)
	}
	return out
}

// home goes to the first row that is painted.
func (s *Screen) home(b *bytes.Buffer) {
	b.WriteByte('\r')
	move(b, s.y, 'A')
	s.x, s.y = 0, 0
}

func move(b *bytes.Buffer, n int, direction byte) {
	if n > 0 {
		fmt.Fprintf(b, "\x1b[%d%c", n, direction)
	}
}

// print writes lines over the rows. A line is erased before it is written: at
// the right margin, erasing behind it would take its last letter.
func (s *Screen) print(b *bytes.Buffer, lines []string) {
	for _, line := range lines {
		if Width(line) > s.width {
			b.WriteString(eraseDown) // the terminal folds it over several rows
		} else {
			b.WriteString(eraseLine)
		}
		b.WriteString(line)
		b.WriteString("\r\n")
	}
}

// paint writes all rows from the cursor down.
func (s *Screen) paint(b *bytes.Buffer, rows []string) {
	b.WriteString(noWrap)
	for i, row := range rows {
		if i == len(rows)-1 {
			b.WriteString(eraseDown)
		} else {
			b.WriteString(eraseLine)
		}
		b.WriteString(row)
		if i < len(rows)-1 {
			b.WriteString("\r\n")
		}
	}
	b.WriteString(wrap)
	s.y = len(rows) - 1
}

// change writes the rows that are not as they were.
func (s *Screen) change(b *bytes.Buffer, rows []string) {
	first := 0
	for first < len(rows) && first < len(s.rows) && rows[first] == s.rows[first] {
		first++
	}
	if first == len(rows) && len(rows) == len(s.rows) {
		return
	}
	first = min(first, len(s.rows)-1)
	if first == len(rows) { // fewer rows
		first--
	}
	b.WriteByte('\r')
	move(b, s.y-first, 'A')
	move(b, first-s.y, 'B')
	s.y = first
	if len(rows) != len(s.rows) {
		s.paint(b, rows[first:])
		s.y += first
		return
	}
	b.WriteString(noWrap)
	for i := first; i < len(rows); i++ {
		if rows[i] == s.rows[i] {
			continue
		}
		b.WriteByte('\r')
		move(b, i-s.y, 'B')
		b.WriteString(eraseLine + rows[i])
		s.y = i
	}
	b.WriteString(wrap)
}

// cursor puts the cursor where the view wants it.
func (s *Screen) cursor(b *bytes.Buffer, last int, v View) {
	if b.Len() == 0 && v.X == s.x && v.Y == s.y {
		return
	}
	b.WriteByte('\r')
	move(b, s.y-v.Y, 'A')
	move(b, v.Y-s.y, 'B')
	move(b, v.X, 'C')
	s.x, s.y = v.X, v.Y
}

// flush writes what was gathered, in one piece.
func (s *Screen) flush(b *bytes.Buffer) error {
	if b.Len() > 0 {
		out := make([]byte, 0, b.Len()+64)
		out = append(out, syncBegin+hideCursor...)
		out = append(out, b.Bytes()...)
		out = append(out, showCursor+syncEnd...)
		s.write(out)
	}
	return s.broken
}

func (s *Screen) write(b []byte) {
	if s.broken != nil {
		return
	}
	if _, err := s.w.Write(b); err != nil {
		s.broken = fmt.Errorf("write to the terminal: %w", err)
	}
}

// End prints the last lines in place of the rows and leaves the cursor below
// them, at the beginning of a line.
func (s *Screen) End(printed []string) error {
	var b bytes.Buffer
	s.home(&b)
	s.print(&b, printed)
	b.WriteString(eraseDown)
	s.rows, s.x, s.y = []string{""}, 0, 0
	return s.flush(&b)
}

// Rows folds a line into rows of at most width cells, as a terminal does.
func Rows(line string, width int) []string {
	var out []string
	for Width(line) > width {
		head, rest := split(line, width)
		if rest == line { // a letter that is wider than the screen
			break
		}
		out = append(out, head)
		line = rest
	}
	return append(out, line)
}

// Tail is the last n rows of lines when they are folded to width.
func Tail(lines []string, width, n int) (rows []string, cut bool) {
	for i := len(lines) - 1; i >= 0; i-- {
		rows = append(Rows(lines[i], width), rows...)
		if len(rows) > n || len(rows) == n && i > 0 {
			return rows[len(rows)-n:], true
		}
	}
	return rows, false
}

// Clip cuts a line off at width cells.
func Clip(line string, width int) string {
	if len(line) <= width || Width(line) <= width {
		return line
	}
	head, _ := split(line, max(width, 0))
	return head
}
