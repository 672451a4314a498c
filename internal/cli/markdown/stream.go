package markdown

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// Stream renders a text that comes in pieces. It is used by one goroutine.
type Stream struct {
	opts Options

	open    []byte // what isn't settled: blocks that begin at a line's start
	line    int    // where the last line of open begins
	blank   bool   // the line before it is blank, or there is none
	before  byte   // the first character of the line before it, 0 when that is blank
	missed  int    // how often open was parsed without anything being settled
	next    int    // open is parsed again when it has this many bytes
	fence   *fence // the block of code that open stands in, nil outside of one
	joint   joint  // how what is in open joins what is settled
	shown   []string
	current bool // shown is how open looks now
}

// joint is what a block needs to know of the one before it.
type joint struct {
	begun  bool // there is one
	item   bool // the next block goes on with a list that has begun
	number int  // of its last item
	loose  bool // a blank line stands before that item
}

// New returns a stream at the beginning of a text.
func New(o Options) *Stream { return &Stream{opts: o, blank: true} }

// SetWidth changes the width of what settles from now on.
func (s *Stream) SetWidth(width int) {
	s.opts.Width, s.current = width, false
}

// Write takes the next piece of the text and returns the lines that it settled.
func (s *Stream) Write(text string) (settled []string) {
	s.current = s.current && text == ""
	for text != "" {
		piece, ended := text, false
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			piece, ended = text[:i+1], true
		}
		if room := limit - len(s.open); len(piece) > room {
			if piece, ended = cut(piece, room), false; piece == "" {
				settled = append(settled, s.settleAll()...)
				continue
			}
		}
		s.open = append(s.open, piece...)
		text = text[len(piece):]
		if ended && bytes.HasSuffix(s.open, []byte("\r\n")) {
			s.open = append(s.open[:len(s.open)-2], '\n')
		}
		if ended {
			settled = append(settled, s.endLine()...)
		}
	}
	return settled
}

// cut is the longest prefix of s of at most n bytes that ends with a letter.
func cut(s string, n int) string {
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:max(n, 0)]
}

// endLine looks at the line that has just ended.
func (s *Stream) endLine() []string {
	line := s.open[s.line:]
	if s.fence != nil {
		lines := s.code(line)
		s.reset(nil)
		return lines
	}
	settled := s.settle(line)
	first := firstOf(line)
	s.blank, s.before = first == 0, first
	s.line = len(s.open)
	return settled
}

// begin is what stands above the lines of a block of code, when it has begun
// with something to show.
func (s *Stream) begin() []string {
	if s.fence.headed || s.fence.language == "" && !s.fence.begun {
		return nil
	}
	lines := s.fence.head
	s.fence.head, s.fence.headed, s.joint = nil, true, joint{begun: true}
	return lines
}

// code takes a line of a block of code.
func (s *Stream) code(line []byte) []string {
	shown, ended := s.fence.line(line)
	if ended {
		s.fence = nil
		return nil
	}
	s.fence.begun = true
	return append(s.begin(), shown)
}

// settle settles what ended because line began something new.
func (s *Stream) settle(line []byte) []string {
	if !s.begins(line) {
		return nil
	}
	doc := parse(s.open)
	last := doc.LastChild()
	if last == nil {
		return nil
	}
	at := start(s.open, last)
	var item ast.Node
	if last.Kind() == ast.KindList && last.LastChild() != last.FirstChild() {
		item = last.LastChild()
		at = start(s.open, item)
	}
	fenced := last.Kind() == ast.KindFencedCodeBlock && at == s.line
	if !fenced && (at <= 0 || !s.standsAlone(last, at)) {
		s.missed++
		if s.missed > 64 {
			// A long block whose lines all look like beginnings: look less often,
			// so that the whole takes no longer than its square root suggests.
			s.next = len(s.open) + len(s.open)/8
		}
		return nil
	}
	l := s.layout()
	lines := l.document(doc, last, item)
	s.joint = l.joint
	if fenced {
		s.fence = newFence(l, last, line)
		lines = append(lines, s.begin()...)
		at = len(s.open)
	}
	s.reset(s.open[at:])
	return lines
}

// standsAlone reports whether the block that begins at is the same without what
// stands above it. A table takes its head from a paragraph, in which it may look
// like code or a list.
func (s *Stream) standsAlone(n ast.Node, at int) bool {
	if n.Kind() != east.KindTable {
		return true
	}
	alone := parse(s.open[at:]).FirstChild()
	return alone != nil && alone.Kind() == east.KindTable
}

// begins reports whether line may begin a block or an item. When in doubt it
// does; saying no only settles things later.
func (s *Stream) begins(line []byte) bool {
	first := firstOf(line)
	if first == 0 || len(s.open) < s.next {
		return false
	}
	if s.blank {
		return true
	}
	if first == s.before && (first == '>' || first == '|' && len(bytes.Trim(line, "|-: \t\n")) > 0) {
		return false // a quotation or a table that goes on
	}
	return first >= '0' && first <= '9' || strings.IndexByte("#-*+>`~|<=_:", first) >= 0
}

// firstOf is the first character of a line that is no space, 0 when there is
// none.
func firstOf(line []byte) byte {
	if line = bytes.TrimLeft(line, " \t\r\n"); len(line) > 0 {
		return line[0]
	}
	return 0
}

// start is where the line begins on which a block begins, -1 when that is not
// known.
func start(src []byte, n ast.Node) int {
	pos := n.Pos()
	if pos < 0 || pos > len(src) {
		return -1
	}
	return bytes.LastIndexByte(src[:pos], '\n') + 1
}

// reset makes rest what is open.
func (s *Stream) reset(rest []byte) {
	s.open = append(s.open[:0], rest...)
	s.missed, s.next = 0, 0
	s.line = bytes.LastIndexByte(s.open, '\n') + 1
	if len(rest) == 0 {
		s.blank, s.before = true, 0
	} else if s.line == len(s.open) {
		// open ends with the line that is being looked at.
		s.line = bytes.LastIndexByte(s.open[:len(s.open)-1], '\n') + 1
	}
}

// settleAll settles all that is open.
func (s *Stream) settleAll() []string {
	lines := s.look(s.open)
	s.joint = lines.joint
	s.reset(nil)
	s.current = false
	return lines.out
}

// looked is how open looks, and how what follows joins it.
type looked struct {
	out   []string
	joint joint
}

func (s *Stream) look(src []byte) looked {
	src = slices.Clip(src) // goldmark appends to it, which must not reach what stands behind it
	l := s.layout()
	switch {
	case len(src) == 0:
		return looked{joint: s.joint}
	case s.fence != nil: // a line without an end
		lines := s.code(src)
		return looked{lines, s.joint}
	}
	doc := parse(src)
	l.src = src
	out := l.document(doc, nil, nil)
	return looked{out, l.joint}
}

func (s *Stream) layout() *layout {
	return &layout{opts: s.opts, src: s.open, joint: s.joint}
}

// Open returns the lines of what is not settled, as it looks now.
func (s *Stream) Open() []string {
	if !s.current {
		s.shown, s.current = s.preview(), true
	}
	return s.shown
}

// preview is how open looks before it has ended: what is surely going to be
// closed is closed, and what can't be told yet is left out.
func (s *Stream) preview() []string {
	src := bytes.TrimSuffix(s.open, []byte("\r")) // the line may end there
	if last := src[min(s.line, len(src)):]; undecided(last, s.fence) {
		src = src[:min(s.line, len(src))]
	}
	if s.fence != nil {
		if len(src) == 0 {
			return nil
		}
		line, ended := s.fence.line(src)
		if ended {
			return nil
		}
		return append(slices.Clip(s.fence.head), line)
	}
	if from := len(src) - maxPreview; from > 0 {
		// It is taller than any screen: its end is all that is seen.
		return s.rough(src[from:])
	}
	return s.look(closed(src)).out
}

// maxPreview is how much of an open block is laid out each time it is looked
// at, in bytes.
const maxPreview = 8 << 10

// rough lays out the end of a long block without looking for marks.
func (s *Stream) rough(src []byte) []string {
	var out []string
	if i := bytes.IndexByte(src, '\n'); i >= 0 {
		src = src[i+1:]
	}
	for line := range bytes.Lines(bytes.ToValidUTF8(src, nil)) {
		t := &flow{}
		t.add(plain(strings.TrimRight(string(line), "\n")), 0, "")
		out = append(out, t.wrap(min(s.opts.width(), proseWidth), s.opts)...)
	}
	return out
}

// Close ends the text and returns the lines that were open. The stream is then
// at the beginning of another text.
func (s *Stream) Close() []string {
	lines := s.settleAll()
	*s = Stream{opts: s.opts, blank: true}
	return lines
}

// undecided reports whether a line that has only begun is nothing but marks,
// so that it can become anything: a rule, an item, a fence.
func undecided(line []byte, f *fence) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return false
	}
	if f != nil {
		return len(bytes.Trim(line, string(f.char))) == 0
	}
	if len(bytes.Trim(line, "#-*+>`~|<=_: ")) == 0 {
		return true
	}
	rest := bytes.TrimLeft(line, "0123456789")
	return len(rest) == 1 && (rest[0] == '.' || rest[0] == ')')
}

// closed ends what the last paragraph of src has opened: emphasis and code that
// are still being written look as they will, instead of jumping when their end
// comes.
func closed(src []byte) []byte {
	at := max(bytes.LastIndex(src, []byte("\n\n")), 0)
	var marks []string
	text := src[at:]
	for i := 0; i < len(text); {
		c := text[i]
		n := 1
		for i+n < len(text) && text[i+n] == c {
			n++
		}
		run := string(text[i : i+n])
		switch c {
		case '\\':
			i += 2
			continue
		case '`':
			if end := closing(text[i+n:], n); end >= 0 {
				i += n + end + n
				continue
			}
			if n > 2 { // a fence, or nothing that one can tell
				return src
			}
			marks = append(marks, run)
			return finish(src, marks)
		case '*', '_', '~':
			marks = toggle(marks, run, text, i)
		case '\n':
			if n > 1 {
				marks = nil
			}
		}
		i += n
	}
	return finish(src, marks)
}

// closing finds a run of exactly n backticks.
func closing(text []byte, n int) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '`' {
			continue
		}
		m := 1
		for i+m < len(text) && text[i+m] == '`' {
			m++
		}
		if m == n {
			return i
		}
		i += m - 1
	}
	return -1
}

// toggle takes the run of marks at text[i] as an end when it is open, else as a
// beginning when it can be one.
func toggle(marks []string, run string, text []byte, i int) []string {
	if len(run) > 3 || run[0] == '~' && len(run) != 2 {
		return marks
	}
	for j := len(marks) - 1; j >= 0; j-- {
		if marks[j] == run && i > 0 && text[i-1] != ' ' && text[i-1] != '\n' {
			return marks[:j]
		}
	}
	end := i + len(run)
	if end < len(text) && (text[end] == ' ' || text[end] == '\n') {
		return marks // an item's bullet, a product
	}
	if i > 0 && strings.IndexByte(" \n\t(\"'*_~-", text[i-1]) < 0 {
		return marks // within a word: a name, a product
	}
	return append(marks, run)
}

// finish writes the ends of marks behind src. Marks at its very end have
// nothing to stand around and are left out.
func finish(src []byte, marks []string) []byte {
	if len(marks) == 0 {
		return src
	}
	out := bytes.TrimRight(src, " \n")
	for len(marks) > 0 && bytes.HasSuffix(out, []byte(marks[len(marks)-1])) {
		out = bytes.TrimRight(out[:len(out)-len(marks[len(marks)-1])], " \n")
		marks = marks[:len(marks)-1]
	}
	out = bytes.Clone(out)
	for len(marks) > 0 {
		out = append(out, marks[len(marks)-1]...)
		marks = marks[:len(marks)-1]
	}
	return out
}
