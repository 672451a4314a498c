package term

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Event is what a key means to whoever reads the line.
type Event uint8

const (
	Nothing   Event = iota
	Submit          // Enter: the text is to be taken with Take
	Interrupt       // Ctrl-C
	EOF             // Ctrl-D where nothing is written
	Cancel          // Esc
	Redraw          // Ctrl-L
	Suspend         // Ctrl-Z
)

// maxText bounds what a person may write, in bytes. What doesn't fit is not
// taken in.
const maxText = 1 << 20

// Candidate is something that a word may become.
type Candidate struct {
	Text string // in place of the word
	Note string // says what it is; may be empty
}

// Completion is what the word before the cursor may become.
type Completion struct {
	From int // where the word begins
	List []Candidate
	Live bool // it is shown while the word is being written, and not only on Tab
}

// Editor is the text that a person writes. Lines may be broken into several; a
// letter is what a person takes for one, however many code points it has. An
// Editor is used by one goroutine.
type Editor struct {
	// Complete says what the end of the text may become; nil for nothing. It is
	// asked with the text before the cursor.
	Complete func(before string) Completion

	history *History
	text    string
	at      int    // the cursor, in bytes
	killed  string // what Ctrl-K and the like took last
	entry   int    // the entry of the history that is shown; its length for none
	draft   string // what was written before an entry was shown
	menu    *menu
	search  *search
}

// NewEditor returns an editor that remembers in h.
func NewEditor(h *History) *Editor { return &Editor{history: h, entry: h.Len()} }

// Text is what has been written.
func (e *Editor) Text() string { return e.text }

// SetText replaces what has been written.
func (e *Editor) SetText(s string) { e.set(s, len(s)) }

// Take returns what has been written and begins anew.
func (e *Editor) Take() string {
	s := e.text
	e.set("", 0)
	e.menu, e.search, e.draft = nil, nil, ""
	e.entry = e.history.Len()
	return s
}

// Remember adds an entry to the history.
func (e *Editor) Remember(s string) error {
	err := e.history.Add(s)
	e.entry = e.history.Len()
	return err
}

func (e *Editor) set(s string, at int) { e.text, e.at = s, at }

// Key takes a key and says what it means beyond the text.
func (e *Editor) Key(k Key) Event {
	if e.search != nil {
		return e.searchKey(k)
	}
	if k.Code == Tab {
		e.tab(k.Shift)
		return Nothing
	}
	hadMenu := e.menu != nil
	e.menu = nil
	switch k.Code {
	case Rune:
		if k.Alt {
			e.meta(k.Text)
		} else {
			e.insert(k.Text)
		}
	case Paste:
		e.insert(k.Text)
	case Enter:
		if k.Alt || k.Shift || k.Ctrl {
			e.insert("\n")
			return Nothing
		}
		return Submit
	case Escape:
		if !hadMenu {
			return Cancel
		}
	case Ctrl:
		return e.ctrl(k.Text)
	case Backspace:
		if k.Alt || k.Ctrl {
			e.kill(e.wordLeft(), e.at)
		} else {
			e.remove(e.left(), e.at)
		}
	case Delete:
		e.remove(e.at, e.right())
	default:
		e.move(k)
	}
	return Nothing
}

// move is the keys that move the cursor.
func (e *Editor) move(k Key) {
	switch k.Code {
	case Left:
		if k.Alt || k.Ctrl {
			e.at = e.wordLeft()
		} else {
			e.at = e.left()
		}
	case Right:
		if k.Alt || k.Ctrl {
			e.at = e.wordRight()
		} else {
			e.at = e.right()
		}
	case Home:
		e.at = e.lineStart()
	case End:
		e.at = e.lineEnd()
	case Up:
		e.up()
	case Down:
		e.down()
	}
}

// ctrl is the keys that are held with Ctrl.
func (e *Editor) ctrl(letter string) Event {
	switch letter {
	case "a":
		e.at = e.lineStart()
	case "b":
		e.at = e.left()
	case "c":
		return Interrupt
	case "d":
		if e.text == "" {
			return EOF
		}
		e.remove(e.at, e.right())
	case "e":
		e.at = e.lineEnd()
	case "f":
		e.at = e.right()
	case "j":
		e.insert("\n")
	case "k":
		end := e.lineEnd()
		if end == e.at && end < len(e.text) {
			end++ // at the end of a line: join it with the next
		}
		e.kill(e.at, end)
	case "l":
		return Redraw
	case "n":
		e.down()
	case "p":
		e.up()
	case "r":
		e.search = &search{entry: e.history.Len(), draft: e.text}
	case "u":
		e.kill(e.lineStart(), e.at)
	case "w":
		e.kill(e.spaceLeft(), e.at)
	case "y":
		e.insert(e.killed)
	case "z":
		return Suspend
	}
	return Nothing
}

// meta is the letters that are held with Alt.
func (e *Editor) meta(letter string) {
	switch letter {
	case "b":
		e.at = e.wordLeft()
	case "f":
		e.at = e.wordRight()
	case "d":
		e.kill(e.at, e.wordRight())
	}
}

func (e *Editor) insert(s string) {
	if len(e.text)+len(s) > maxText {
		return
	}
	e.set(e.text[:e.at]+s+e.text[e.at:], e.at+len(s))
}

func (e *Editor) remove(from, to int) { e.set(e.text[:from]+e.text[to:], from) }

func (e *Editor) kill(from, to int) {
	if from < to {
		e.killed = e.text[from:to]
		e.remove(from, to)
	}
}

// left is where the letter before the cursor begins.
func (e *Editor) left() int {
	// Letters are found from a place where one surely begins.
	from := e.lineStart()
	if from == e.at {
		return max(from-1, 0)
	}
	last, state := from, -1
	for rest := e.text[from:e.at]; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if rest != "" {
			last += len(cluster)
		}
	}
	return last
}

// right is where the letter behind the cursor ends.
func (e *Editor) right() int {
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(e.text[e.at:], -1)
	return e.at + len(cluster)
}

func (e *Editor) lineStart() int { return strings.LastIndexByte(e.text[:e.at], '\n') + 1 }

func (e *Editor) lineEnd() int {
	if i := strings.IndexByte(e.text[e.at:], '\n'); i >= 0 {
		return e.at + i
	}
	return len(e.text)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// wordLeft is where the word before the cursor begins.
func (e *Editor) wordLeft() int {
	s := strings.TrimRightFunc(e.text[:e.at], func(r rune) bool { return !isWord(r) })
	return len(strings.TrimRightFunc(s, isWord))
}

// wordRight is where the word behind the cursor ends.
func (e *Editor) wordRight() int {
	s := strings.TrimLeftFunc(e.text[e.at:], func(r rune) bool { return !isWord(r) })
	return len(e.text) - len(strings.TrimLeftFunc(s, isWord))
}

// spaceLeft is where the word before the cursor begins when only white space
// ends words.
func (e *Editor) spaceLeft() int {
	s := strings.TrimRightFunc(e.text[:e.at], unicode.IsSpace)
	return len(strings.TrimRightFunc(s, func(r rune) bool { return !unicode.IsSpace(r) }))
}

// up goes to the line above, and from the first one back in the history.
func (e *Editor) up() {
	start := e.lineStart()
	if start > 0 {
		above := strings.LastIndexByte(e.text[:start-1], '\n') + 1
		e.at = above + column(e.text[above:start-1], uniseg.StringWidth(e.text[start:e.at]))
		return
	}
	if e.entry == 0 {
		return
	}
	if e.entry == e.history.Len() {
		e.draft = e.text
	}
	e.entry--
	e.SetText(e.history.At(e.entry))
}

// down goes to the line below, and from the last one forward in the history.
func (e *Editor) down() {
	end := e.lineEnd()
	if end < len(e.text) {
		width := uniseg.StringWidth(e.text[e.lineStart():e.at])
		below := e.text[end+1:]
		if i := strings.IndexByte(below, '\n'); i >= 0 {
			below = below[:i]
		}
		e.at = end + 1 + column(below, width)
		return
	}
	if e.entry >= e.history.Len() {
		return
	}
	e.entry++
	if e.entry == e.history.Len() {
		e.SetText(e.draft)
		return
	}
	e.SetText(e.history.At(e.entry))
}

// column is the offset in a line of the letter that stands at width cells.
func column(line string, width int) int {
	at, state := 0, -1
	for rest := line; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if width -= w; width < 0 {
			break
		}
		at += len(cluster)
	}
	return at
}

// search looks for an entry of the history.
type search struct {
	query string
	entry int    // the one that is shown; the history's length for none
	draft string // what was written before
}

// searchKey is a key while searching.
func (e *Editor) searchKey(k Key) Event {
	s := e.search
	switch {
	case k.Code == Rune && !k.Alt || k.Code == Paste:
		s.query += k.Text
		e.find(min(s.entry+1, e.history.Len()))
	case k.Code == Backspace:
		if s.query != "" {
			_, n := utf8.DecodeLastRuneInString(s.query)
			s.query = s.query[:len(s.query)-n]
			e.find(e.history.Len())
		}
	case k.Code == Ctrl && k.Text == "r":
		e.find(s.entry)
	case k.Code == Escape, k.Code == Ctrl && (k.Text == "g" || k.Text == "c"):
		e.search = nil
		e.SetText(s.draft)
	default:
		// The entry is taken, and the key does what it does with it. Enter only
		// takes it, so that one sees what is sent.
		e.search = nil
		if k.Code != Enter {
			return e.Key(k)
		}
	}
	return Nothing
}

// find shows the last entry before entry that holds what is looked for.
func (e *Editor) find(entry int) {
	s := e.search
	if s.query == "" {
		s.entry = e.history.Len()
		e.SetText(s.draft)
		return
	}
	for i := entry - 1; i >= 0; i-- {
		if strings.Contains(strings.ToLower(e.history.At(i)), strings.ToLower(s.query)) {
			s.entry, e.entry = i, i
			e.SetText(e.history.At(i))
			return
		}
	}
}
