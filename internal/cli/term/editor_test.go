package term_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/cli/term"
)

// typed feeds what a person types to an editor and returns what it meant.
func typed(e *term.Editor, in string) []term.Event {
	var d term.Decoder
	var events []term.Event
	for _, k := range append(d.Feed([]byte(in)), d.Flush()...) {
		if ev := e.Key(k); ev != term.Nothing {
			events = append(events, ev)
		}
	}
	return events
}

// shown is an editor's rows with a | where the cursor stands.
func shown(e *term.Editor, width, rows int) string {
	v := e.View(width, term.Look{Rows: rows, Menu: 8})
	var out []string
	for y, row := range v.Rows {
		row = plain(row)
		if y == v.Y {
			at, x := 0, 0
			for at < len(row) {
				_, n := utf8.DecodeRuneInString(row[at:])
				w := term.Width(row[at : at+n])
				if x >= v.X && w > 0 {
					break
				}
				x, at = x+w, at+n
			}
			row = row[:at] + strings.Repeat(" ", max(v.X-x, 0)) + "|" + row[at:]
		}
		out = append(out, strings.TrimRight(row, " "))
	}
	return strings.Join(out, "\n")
}

func plain(s string) string {
	var b strings.Builder
	for s != "" {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		s = s[i:]
		s = s[strings.IndexByte(s, 'm')+1:]
	}
	return b.String() + s
}

const (
	left, right, up, down = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B"
	home, end, del        = "\x1b[H", "\x1b[F", "\x1b[3~"
)

func TestEditing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, typed, want string
	}{
		{"words", "hello", "❯ hello|"},
		{"insert", "hllo" + left + left + left + "e", "❯ he|llo"},
		{"backspace", "hello\x7f\x7f", "❯ hel|"},
		{"delete", "hello" + home + del, "❯ |ello"},
		{"home and end", "ello" + home + "h" + end + "!", "❯ hello!|"},
		{"words to the left", "one two-three\x1bb\x1bb", "❯ one |two-three"},
		{"words to the right", "one two" + home + "\x1bf", "❯ one| two"},
		{"kill a word", "one two-three\x17", "❯ one |"},
		{"kill a word's part", "one two-three\x1b\x7f", "❯ one two-|"},
		{"kill the line and bring it back", "one two\x15\x19\x19", "❯ one twoone two|"},
		{"kill the rest", "one two" + left + left + left + "\x0b", "❯ one |"},
		{"letters of several code points", "e\u0301👩‍👩‍👧x" + left + "\x7f", "❯ e\u0301|x"},
		{"break with Alt-Enter", "one\x1b\rtwo", "❯ one\n  two|"},
		{"break with Ctrl-J", "one\ntwo" + up, "❯ one|\n  two"},
		{"up and down keep the column", "one\ntwo\nlonger" + up + up + down + down + "x", "❯ one\n  two\n  lonx|ger"},
		{"line by line", "one\ntwo" + home + "x", "❯ one\n  x|two"},
		{"join lines", "one\ntwo" + up + end + "\x0b", "❯ one|two"},
		{"paste", "\x1b[200~a\r\nb\x1b[201~c", "❯ a\n  bc|"},
		{"a tab that was pasted", "\x1b[200~a\tb\x1b[201~", "❯ a    b|"},
		{"hidden characters are seen", "a\u202eb", "❯ a⟦U+202E⟧b|"},
	}
	for _, tt := range tests {
		e := term.NewEditor(&term.History{})
		typed(e, tt.typed)
		if got := shown(e, 40, 10); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestFolding(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, want string
		rows             int
	}{
		{"exactly full", "0123456789", "❯ 0123456789|", 9},
		{"one more", "0123456789a", "❯ 0123456789\n  a|", 9},
		{"wide letters", "日本語日本語", "❯ 日本語日本\n  語|", 9},
		{"the end of many rows", "a\nb\nc\nd\ne", "❯ d\n  e|", 2},
	}
	for _, tt := range tests {
		e := term.NewEditor(&term.History{})
		e.SetText(tt.text)
		if got := shown(e, 13, tt.rows); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
	e := term.NewEditor(&term.History{})
	e.SetText("a\nb\nc\nd\ne")
	typed(e, up+up+up+up)
	if got, want := shown(e, 13, 2), "❯ a|\n  b"; got != want {
		t.Errorf("the beginning of many rows: got\n%s\nwant\n%s", got, want)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		typed string
		want  term.Event
	}{
		{"hello\r", term.Submit},
		{"\x03", term.Interrupt},
		{"\x04", term.EOF},
		{"x" + left + "\x04\x04", term.EOF}, // takes the letter first
		{"\x1b", term.Cancel},
		{"\x0c", term.Redraw},
		{"\x1a", term.Suspend},
	}
	for _, tt := range tests {
		e := term.NewEditor(&term.History{})
		if got := typed(e, tt.typed); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%q: got %v, want %v", tt.typed, got, tt.want)
		}
	}
}

func remembering(entries ...string) *term.Editor {
	h := &term.History{}
	for _, s := range entries {
		if err := h.Add(s); err != nil {
			panic(err)
		}
	}
	return term.NewEditor(h)
}

func TestHistoryKeys(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, typed, want string
	}{
		{"back", up, "third"},
		{"back and back", up + up, "second\nline"},
		{"the beginning", up + up + up + up + up + up, "first"},
		{"to what was being written", "draft" + up + down, "draft"},
		{"past the end", down + "x", "x"},
		{"search", "\x12fir", "first"},
		{"search on", "\x12r\x12\x12", "first"},
		{"search and edit", "\x12fir" + end + "!", "first!"},
		{"search in vain", "dra\x12zzz", "dra"},
		{"leave the search", "dra\x12fir\x1b", "dra"},
		{"less of a search", "\x12firx\x7f", "first"},
		{"take it", "\x12fir\r!", "first!"},
	}
	for _, tt := range tests {
		e := remembering("first", "second\nline", "third")
		typed(e, tt.typed)
		if got := e.Text(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	e := remembering("first")
	typed(e, "again")
	if err := e.Remember(e.Take()); err != nil {
		t.Fatal(err)
	}
	typed(e, up)
	if got := e.Text(); got != "again" {
		t.Errorf("what was written last is %q", got)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	complete := func(before string) term.Completion {
		var c term.Completion
		for _, name := range []string{"/steer", "/stop", "/stock", "/new", "dir/"} {
			if strings.HasPrefix(name, before) {
				c.List = append(c.List, term.Candidate{Text: name, Note: "does it"})
			}
		}
		c.Live = true
		return c
	}
	tests := []struct {
		name, typed, want string
	}{
		{"one", "/n\t", "❯ /new |"},
		{"as far as it is certain", "/sto\t", "❯ /sto|\n  /stop   does it\n  /stock  does it"},
		{"through them", "/sto\t\t\t", "❯ /stock|\n  /stop   does it\n  /stock  does it"},
		{"around", "/sto\t\t\t\t", "❯ /stop|\n  /stop   does it\n  /stock  does it"},
		{"backwards", "/sto\t\x1b[Z", "❯ /stock|\n  /stop   does it\n  /stock  does it"},
		{"and on", "/sto\t\tx", "❯ /stopx|"},
		{"while it is written", "/st", "❯ /st|\n  /steer  does it\n  /stop   does it\n  /stock  does it"},
		{"what goes on", "d\tx", "❯ dir/x|"},
		{"nothing fits", "/x\t", "❯ /x|"},
		{"no command", "s\t", "❯ s|"},
	}
	for _, tt := range tests {
		e := term.NewEditor(&term.History{})
		e.Complete = complete
		typed(e, tt.typed)
		if got := shown(e, 40, 10); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// Whatever is typed, the text is valid, the cursor stands between two letters,
// and what is painted fits.
func TestEditorHolds(t *testing.T) {
	t.Parallel()
	keys := []string{
		"a", "日", "e\u0301", "👩‍👩‍👧", " ", "\n", "\t", left, right, up, down, home, end, del, "\x7f", "\x17", "\x15", "\x0b", "\x19",
		"\x1bb", "\x1bf", "\x1bd", "\x12", "\x1b", "\r", "\x10", "\x0e", "\u200d",
	}
	rapid.Check(t, func(t *rapid.T) {
		e := remembering("one", "two\nlines", "日本語")
		e.Complete = func(before string) term.Completion {
			return term.Completion{From: len(before), List: []term.Candidate{{Text: "x"}, {Text: "y"}}}
		}
		for _, k := range rapid.SliceOfN(rapid.SampledFrom(keys), 0, 40).Draw(t, "keys") {
			typed(e, k)
			if !utf8.ValidString(e.Text()) {
				t.Fatalf("the text is %q", e.Text())
			}
			width, rows := rapid.IntRange(8, 30).Draw(t, "width"), rapid.IntRange(1, 6).Draw(t, "rows")
			v := e.View(width, term.Look{Rows: rows, Menu: 0})
			if len(v.Rows) > rows+1 || v.Y >= len(v.Rows) || v.Y < 0 {
				t.Fatalf("%d rows, cursor in %d", len(v.Rows), v.Y)
			}
			for _, row := range v.Rows[:min(rows, len(v.Rows))] {
				if !strings.Contains(row, "search") && term.Width(row) > width {
					t.Fatalf("%q is wider than %d", row, width)
				}
			}
		}
	})
}

func TestHistoryFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state", "chat_history")
	h, err := term.ReadHistory(file)
	if err != nil || h.Len() != 0 {
		t.Fatalf("%d entries, %v", h.Len(), err)
	}
	for _, s := range []string{"one", "two\nlines", "one", "one", "", strings.Repeat("x", 1<<20)} {
		if err := h.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("what is this\n\"of another process\"\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	h, err = term.ReadHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range h.Len() {
		got = append(got, h.At(i))
	}
	if want := "two\nlines|one|of another process"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "chat_history")
	h, err := term.ReadHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2*term.MaxHistory + 10 {
		if err := h.Add(strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n > term.MaxHistory+20 {
		t.Errorf("the file has %d lines", n)
	}
	if h.Len() != term.MaxHistory || h.At(h.Len()-1) != strconv.Itoa(2*term.MaxHistory+9) {
		t.Errorf("%d entries, the last is %s", h.Len(), h.At(h.Len()-1))
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".chat_history-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
