package term_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/cli/term"
	"github.com/goclaw/goclaw/internal/cli/term/termtest"
)

// words draws a line that may hold wide letters, combined ones and styles.
func words(t *rapid.T, name string) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{
		"a", "word", " ", "日本", "é", "👩‍👩‍👧", "\x1b[0;1mbold\x1b[0m", "\x1b[0;36mc o\x1b[0m", "\x1b]8;id=1;http://x\x1b\\link\x1b]8;;\x1b\\", "0123456789",
	}), 0, 8).Draw(t, name)
	return strings.Join(parts, "")
}

func plainOf(line string) string {
	screen := termtest.New(1000, 1)
	fmt.Fprint(screen, line+"\x1b[0m")
	return strings.TrimSuffix(screen.Text(), "\n")
}

// Whatever is printed and painted, and however the size changes meanwhile: what
// was printed stands there once and in order, the rows stand below it, the
// cursor is where the view wants it.
func TestPaint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const height = 40
		width := rapid.IntRange(12, 60).Draw(t, "width")
		terminal := termtest.New(width, height)
		screen := term.NewScreen(terminal, width, height, true)
		var printed []string
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if rapid.IntRange(0, 4).Draw(t, "resize") == 0 {
				width = rapid.IntRange(12, 60).Draw(t, "width")
				terminal.Resize(width, height)
				screen.Resize(width, height)
			}
			var lines []string
			for range rapid.IntRange(0, 3).Draw(t, "printed") {
				lines = append(lines, words(t, "line"))
			}
			var v term.View
			for range rapid.IntRange(0, 4).Draw(t, "rows") {
				v.Rows = append(v.Rows, words(t, "row"))
			}
			v.Y = rapid.IntRange(0, 4).Draw(t, "y")
			v.X = rapid.IntRange(0, 8).Draw(t, "x")
			if err := screen.Paint(lines, v); err != nil {
				t.Fatal(err)
			}
			printed = append(printed, lines...)
			check(t, terminal, printed, v, width)
		}
		if err := screen.End([]string{"the end"}); err != nil {
			t.Fatal(err)
		}
		check(t, terminal, append(printed, "the end"), term.View{}, width)
	})
}

func check(t *rapid.T, terminal *termtest.Screen, printed []string, v term.View, width int) {
	var want strings.Builder
	rows := 0
	for _, line := range printed {
		for _, row := range term.Rows(line, width) {
			want.WriteString(strings.TrimRight(plainOf(row), " ") + "\n")
			rows++
		}
	}
	for _, row := range v.Rows {
		want.WriteString(strings.TrimRight(plainOf(term.Clip(row, width)), " ") + "\n")
	}
	if got, want := terminal.Text(), strings.TrimRight(want.String(), "\n"); strings.TrimRight(got, "\n") != want {
		t.Fatalf("the terminal shows\n%s\nwant\n%s", got, want)
	}
	if f := terminal.Faults(); len(f) > 0 {
		t.Fatal(f)
	}
	if got, want := terminal.Above(), rows+min(v.Y, max(len(v.Rows)-1, 0)); got != want {
		t.Fatalf("%d rows stand above the cursor, want %d", got, want)
	}
}

// Rows with wide letters are folded where a letter doesn't fit, not where the
// cells are used up; and a window may change its size again before a paint.
func TestResizeBesideWideLetters(t *testing.T) {
	t.Parallel()
	terminal := termtest.New(36, 40)
	screen := term.NewScreen(terminal, 36, 40, true)
	if err := screen.Paint(nil, term.View{Rows: []string{"awordwordword0123456789日本0123456789", ""}, Y: 1}); err != nil {
		t.Fatal(err)
	}
	terminal.Resize(12, 40)
	screen.Resize(12, 40)
	if err := screen.Paint(nil, term.View{}); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(terminal.Text()); got != "" {
		t.Errorf("%q stays", got)
	}
	screen.Resize(36, 40)
	if err := screen.Paint(nil, term.View{Rows: []string{strings.Repeat("word", 9), ""}, Y: 1}); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{18, 12, 2} {
		screen.Resize(width, 40)
	}
}

func TestPaintOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	screen := term.NewScreen(&out, 80, 24, true)
	view := term.View{Rows: []string{"one", "two", "three"}, Y: 2, X: 1}
	for _, want := range []struct {
		rows []string
		has  string
		not  []string
	}{
		{view.Rows, "one", nil},
		{[]string{"one", "TWO", "three"}, "TWO", []string{"one", "three"}},
		{[]string{"one", "TWO", "three", "four"}, "four", []string{"one", "TWO"}},
	} {
		out.Reset()
		view.Rows = want.rows
		if err := screen.Paint(nil, view); err != nil {
			t.Fatal(err)
		}
		for _, not := range want.not {
			if strings.Contains(out.String(), not) {
				t.Errorf("%q was painted again: %q", not, out.String())
			}
		}
		if !strings.Contains(out.String(), want.has) {
			t.Errorf("%q was not painted: %q", want.has, out.String())
		}
	}
	out.Reset()
	if err := screen.Paint(nil, view); err != nil || out.Len() > 0 {
		t.Errorf("nothing changed, and %q was written (%v)", out.String(), err)
	}
}

func TestPaintTooTall(t *testing.T) {
	t.Parallel()
	terminal := termtest.New(20, 5)
	screen := term.NewScreen(terminal, 20, 5, true)
	v := term.View{Y: 9, X: 3}
	for i := range 10 {
		v.Rows = append(v.Rows, fmt.Sprint("row ", i))
	}
	if err := screen.Paint([]string{"said"}, v); err != nil {
		t.Fatal(err)
	}
	v.Rows[9] = "the last"
	if err := screen.Paint(nil, v); err != nil {
		t.Fatal(err)
	}
	if got, want := terminal.Text(), "said\nrow 5\nrow 6\nrow 7\nrow 8\nthe last\n"; got != want {
		t.Errorf("got\n%s", got)
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestPaintTellsOfAClosedTerminal(t *testing.T) {
	t.Parallel()
	screen := term.NewScreen(closed{}, 20, 5, true)
	for range 2 {
		if err := screen.Paint([]string{"said"}, term.View{}); err == nil {
			t.Error("no error")
		}
	}
}

func TestRowsAndFold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := words(t, "line") + words(t, "more")
		width := rapid.IntRange(4, 30).Draw(t, "width")
		for name, rows := range map[string][]string{"Rows": term.Rows(line, width), "Fold": term.Fold(line, width, " ")} {
			var joined string
			for _, row := range rows {
				if w := term.Width(row); w > width {
					t.Fatalf("%s: %q has %d cells, more than %d", name, row, w, width)
				}
				joined += plainOf(row)
			}
			squeeze := strings.NewReplacer(" ", "")
			if got, want := squeeze.Replace(joined), squeeze.Replace(plainOf(line)); got != want {
				t.Fatalf("%s: %q became %q", name, want, got)
			}
		}
		rows, cut := term.Tail([]string{line, line}, width, 3)
		if len(rows) > 3 || cut != (len(term.Rows(line, width))*2 > 3) {
			t.Fatalf("Tail: %d rows, cut %v", len(rows), cut)
		}
	})
}

func TestFold(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line  string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"some words that don't fit", 12, "some words|  that don't|  fit"},
		{"averyveryverylongword", 8, "averyver|  yveryl|  ongwor|  d"},
		{"\x1b[0;1msome words\x1b[0m more", 8, "\x1b[0;1msome\x1b[0m|  \x1b[0;1mwords\x1b[0m|  more"},
		{"日本語のテキスト", 7, "日本語|  のテ|  キス|  ト"},
	}
	for _, tt := range tests {
		if got := strings.Join(term.Fold(tt.line, tt.width, "  "), "|"); got != tt.want {
			t.Errorf("Fold(%q, %d) = %q, want %q", tt.line, tt.width, got, tt.want)
		}
	}
}
