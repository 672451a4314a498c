// Package termtest is a small terminal for tests: it takes what a program
// writes and says what a person would see. It knows the sequences that GoClaw
// writes and no others, so that one which slips through, say from a model, is a
// fault. It folds lines anew when its width changes, as most terminals do.
//
// Nothing here starts a goroutine; a [Screen] is safe for concurrent use. Start
// reading at [Screen.Write].
package termtest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Screen is the terminal.
type Screen struct {
	mu            sync.Mutex
	width, height int
	lines         []line // what scrolled away, then the screen
	top           int    // of the screen among lines
	x, y          int    // the cursor, within the screen
	full          bool   // the cursor stands behind the last cell of a row
	wrap          bool   // a row that is full goes on in the next
	hidden        bool   // the cursor is
	pasting       bool   // pasted text comes in brackets
	link          string // that text gets now
	links         []string
	faults        []string
	rest          []byte // an unfinished sequence or letter
}

type line struct {
	cells  []cell
	folded bool // it goes on in the next line
}

// cell is a letter; a wide one is followed by an empty cell.
type cell struct {
	text string
	wide bool // the second half of a letter
}

// New returns an empty terminal.
func New(width, height int) *Screen {
	return &Screen{width: width, height: height, lines: make([]line, height), wrap: true}
}

// Write takes what a program writes.
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(s.rest, b...)
	for len(s.rest) > 0 {
		n := s.next(s.rest)
		if n == 0 {
			break
		}
		s.rest = s.rest[n:]
	}
	return len(b), nil
}

// next takes what stands at the beginning of b and returns its length, 0 when
// it isn't all there.
func (s *Screen) next(b []byte) int {
	switch c := b[0]; {
	case c == '\x1b':
		return s.escape(b)
	case c == '\r':
		s.x, s.full = 0, false
		return 1
	case c == '\n':
		s.lineFeed()
		return 1
	case c < ' ' || c == 0x7f:
		s.fault("control character %q", c)
		return 1
	}
	if !utf8.FullRune(b) {
		return 0
	}
	text := b
	for i, c := range b {
		if c < ' ' {
			text = b[:i]
			break
		}
	}
	cluster, _, width, _ := uniseg.FirstGraphemeCluster(text, -1)
	if b[0] >= utf8.RuneSelf && len(cluster) == len(b) {
		return 0 // a letter may go on in what has not come yet
	}
	s.put(string(cluster), width)
	return len(cluster)
}

func (s *Screen) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

func (s *Screen) row() *line { return &s.lines[s.top+s.y] }

// put writes a letter at the cursor.
func (s *Screen) put(text string, width int) {
	if width == 0 {
		return
	}
	if s.full || s.x+width > s.width {
		if !s.wrap {
			return // what doesn't fit is lost
		}
		s.row().folded = true
		s.x, s.full = 0, false
		s.lineFeed()
	}
	l := s.row()
	for len(l.cells) < s.x+width {
		l.cells = append(l.cells, cell{text: " "})
	}
	l.cells[s.x] = cell{text: text}
	for i := 1; i < width; i++ {
		l.cells[s.x+i] = cell{wide: true}
	}
	if s.link != "" {
		s.links = append(s.links, s.link+" "+text)
	}
	if s.x += width; s.x >= s.width {
		s.x, s.full = s.width-1, true
	}
}

func (s *Screen) lineFeed() {
	s.full = false
	if s.y < s.height-1 {
		s.y++
		return
	}
	s.lines = append(s.lines, line{})
	s.top++
}

// escape takes a sequence.
func (s *Screen) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				s.csi(string(b[2:i]), b[i])
				return i + 1
			}
		}
		return 0
	case ']':
		end := strings.Index(string(b), "\x1b\\")
		if end < 0 {
			return 0
		}
		s.osc(string(b[2:end]))
		return end + 2
	}
	s.fault("sequence %q", b[:2])
	return 2
}

func (s *Screen) osc(text string) {
	kind, rest, _ := strings.Cut(text, ";")
	if kind != "8" {
		s.fault("OSC %q", text)
		return
	}
	_, s.link, _ = strings.Cut(rest, ";")
}

// csi does what a sequence says.
func (s *Screen) csi(args string, final byte) {
	n, err := strconv.Atoi(args)
	if args == "" {
		n, err = 1, nil
	}
	switch final {
	case 'm':
		return
	case 'h', 'l':
		s.mode(args, final == 'h')
		return
	}
	if err != nil {
		s.fault("CSI %q %c", args, final)
		return
	}
	s.full = false
	switch final {
	case 'A':
		s.y = max(s.y-n, 0)
	case 'B':
		s.y = min(s.y+n, s.height-1)
	case 'C':
		s.x = min(s.x+n, s.width-1)
	case 'H':
		s.x, s.y = 0, 0
	case 'J':
		s.erase(args)
	case 'K':
		s.cut(s.row(), s.x)
	default:
		s.fault("CSI %q %c", args, final)
	}
}

// erase empties the screen, or what follows the cursor.
func (s *Screen) erase(args string) {
	switch args {
	case "":
		s.cut(s.row(), s.x)
		for i := s.top + s.y + 1; i < len(s.lines); i++ {
			s.lines[i] = line{}
		}
	case "2":
		for i := s.top; i < len(s.lines); i++ {
			s.lines[i] = line{}
		}
	default:
		s.fault("CSI %q J", args)
	}
}

func (s *Screen) cut(l *line, x int) {
	l.folded = false
	if len(l.cells) > x {
		l.cells = l.cells[:x]
	}
}

func (s *Screen) mode(name string, on bool) {
	switch name {
	case "?7":
		s.wrap = on
	case "?25":
		s.hidden = !on
	case "?2004":
		s.pasting = on
	case "?2026":
	default:
		s.fault("mode %q", name)
	}
}

// Resize changes the size and folds lines anew.
func (s *Screen) Resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, offset := s.logical()
	var lines []line
	cx, cy := 0, 0
	for i, cells := range s.unfolded() {
		rows := fold(cells, width)
		if i == at {
			cx, cy = offset, len(lines)
			for _, r := range rows[:len(rows)-1] {
				if cx < len(r.cells) {
					break
				}
				cx -= len(r.cells)
				cy++
			}
		}
		lines = append(lines, rows...)
	}
	// What is empty below the cursor is room, not text.
	for len(lines) > cy+1 && len(lines[len(lines)-1].cells) == 0 {
		lines = lines[:len(lines)-1]
	}
	for len(lines) < height {
		lines = append(lines, line{})
	}
	s.width, s.height, s.lines = width, height, lines
	s.top = min(len(lines)-height, cy)
	s.lines = s.lines[:max(s.top+height, cy+1)]
	s.x, s.y, s.full = min(cx, width-1), cy-s.top, false
}

// logical is the line that the cursor is in, when lines that were folded count
// once, and how far it is into it.
func (s *Screen) logical() (at, offset int) {
	row := s.top + s.y
	start := row
	for start > 0 && s.lines[start-1].folded {
		start--
	}
	for i := range start {
		if !s.lines[i].folded {
			at++
		}
	}
	for i := start; i < row; i++ {
		offset += len(s.lines[i].cells)
	}
	return at, offset + s.x
}

// unfolded joins the lines that were folded.
func (s *Screen) unfolded() [][]cell {
	var out [][]cell
	goesOn := false
	for _, l := range s.lines {
		if goesOn {
			out[len(out)-1] = append(out[len(out)-1], l.cells...)
		} else {
			out = append(out, append([]cell(nil), l.cells...))
		}
		goesOn = l.folded
	}
	return out
}

func fold(cells []cell, width int) []line {
	var out []line
	for len(cells) > width {
		n := width
		if n > 1 && cells[n].wide {
			n-- // the letter doesn't fit any more
		}
		out = append(out, line{cells: cells[:n:n], folded: true})
		cells = cells[n:]
	}
	return append(out, line{cells: cells})
}

// Text is all that was written, what scrolled away included, without the empty
// lines at its end.
func (s *Screen) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return text(s.lines)
}

// View is what stands on the screen.
func (s *Screen) View() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return text(s.lines[s.top:])
}

func text(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		var row strings.Builder
		for _, c := range l.cells {
			row.WriteString(c.text)
		}
		b.WriteString(strings.TrimRight(row.String(), " "))
		b.WriteByte('\n')
	}
	if s := strings.TrimRight(b.String(), "\n"); s != "" {
		return s + "\n"
	}
	return ""
}

// Cursor is where the cursor stands, in cells from the left and rows from the
// top of the screen.
func (s *Screen) Cursor() (x, y int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.x, s.y
}

// Above is how many rows stand above that of the cursor, those that scrolled
// away included.
func (s *Screen) Above() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.top + s.y
}

// Restored reports whether the terminal is as a program must leave it: the
// cursor visible, rows that go on in the next, pasted text without brackets.
func (s *Screen) Restored() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.hidden && s.wrap && !s.pasting
}

// Faults are the sequences that nobody should have written.
func (s *Screen) Faults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.faults...)
}

// Links are the letters that were written as links, each behind the address.
func (s *Screen) Links() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.links...)
}
