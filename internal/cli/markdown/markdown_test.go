package markdown

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark/ast"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/cli/term"
	"github.com/goclaw/goclaw/internal/cli/term/termtest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Each document under testdata stands beside how it looks at four widths, with
// and without colours and links.
func TestGolden(t *testing.T) {
	t.Parallel()
	docs, err := filepath.Glob("testdata/*.md")
	if err != nil || len(docs) < 10 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	for _, doc := range docs {
		t.Run(strings.TrimSuffix(filepath.Base(doc), ".md"), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(doc)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, o := range []Options{{Width: 20}, {Width: 40, Color: true}, {Width: 80, Color: true, Links: true}, {Width: 200}} {
				fmt.Fprintf(&b, "════ %d cells, colours %v, links %v\n", o.Width, o.Color, o.Links)
				for _, line := range Render(string(src), o) {
					b.WriteString(strings.ReplaceAll(line, "\x1b", "␛") + "\n")
				}
			}
			golden := strings.TrimSuffix(doc, ".md") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// document draws a text of what models write, whole and broken.
func document(t *rapid.T) string {
	fragment := rapid.SampledFrom([]string{
		"word", "more words here", " ", "  ", "    ", "\n", "\n\n", "\n\n\n", "# ", "## ", "- ", "* ", "+ ", "1. ", "2) ", "10. ", "> ", "- [x] ", "- [ ] ",
		"```", "```go\n", "~~~", "\n```\n", "`code`", "`", "``", "**bold**", "**", "*", "_", "~~", "~~gone~~", "[text](http://x.org/a)", "[", "](", ")",
		"![alt](http://x.org/i.png)", "<http://x.org>", "| a | b |\n|---|:-:|\n| c | d |\n", "|", "|-", "---", "===", "***", "<b>", "<div>\n", "</div>", "<!-- ",
		"-->", "&amp;", "&#27;[31m", "\\", "\\*", "日本語", "👩‍👩‍👧", "\t", "\r\n", "\x1b[31m", "\x00", "\u202e", "a\\|b", "text  \nhard", ":", "!", "-\n", "1.\n",
	})
	return strings.Join(rapid.SliceOfN(fragment, 0, 40).Draw(t, "text"), "")
}

// However a text is cut into pieces, what settles is the same; and looking at
// what is open changes nothing.
func TestCuts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := document(t)
		o := Options{Width: rapid.SampledFrom([]int{20, 40, 80, 200}).Draw(t, "width"), Color: true}
		want := Render(text, o)
		s := New(o)
		var got []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 12)).Draw(t, "piece")
			got = append(got, s.Write(rest[:n])...)
			if rapid.Bool().Draw(t, "look") {
				s.Open()
			}
			rest = rest[n:]
		}
		got = append(got, s.Close()...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-whole +pieces)\n%s", text, diff)
		}
	})
}

// What settles line by line is what the parser makes of the whole text. Links
// that are defined somewhere are left out: their definitions reach forward only.
func TestStreamIsTheDocument(t *testing.T) {
	t.Parallel()
	same := func(text string) string {
		o := Options{Width: 40}
		src := []byte(strings.ReplaceAll(text, "\r\n", "\n"))
		doc := parse(src)
		if strings.Contains(text, "]:") || !inOrder(doc) {
			return ""
		}
		l := &layout{opts: o, src: src}
		// Of a line of blanks that has no end nobody sees how many they are.
		return cmp.Diff(trimmed(l.document(doc, nil, nil)), trimmed(Render(text, o)))
	}
	for _, text := range []string{
		"```\nx\n```\nword", "\n```\n\n```\nword", "```\n```\nword", "~~~\nx\n~~~\n- item\n",
		" ```\n\ta\n  \tb\n   \n", "   ```\n\ta\n", "word\n    | a | b |\n|---|---|\n| c | d |\n", "word\n\t| a | b |\n|---|---|\n", "word\n1.\n|-\n",
	} {
		if diff := same(text); diff != "" {
			t.Errorf("%q (-document +stream)\n%s", text, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := document(t)
		if diff := same(text); diff != "" {
			t.Fatalf("%q (-document +stream)\n%s", text, diff)
		}
	})
}

func trimmed(lines []string) []string {
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return lines
}

// inOrder reports whether blocks come as they were written. The parser puts a
// table before the paragraph that it ends, when a line behind the table could
// underline that.
func inOrder(doc ast.Node) bool {
	at := 0
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Pos() >= 0 && n.Pos() < at {
			return false
		}
		at = max(at, n.Pos())
	}
	return true
}

// A line may be looked at between the two characters that end it.
func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	got := s.Write("    code\r")
	s.Open()
	got = append(got, s.Write("\n    more")...)
	got = append(got, s.Close()...)
	if diff := cmp.Diff([]string{"  code", "  more"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// When the last piece has come, what is open looks as it settles.
func TestOpenIsWhatSettles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "word", "# Title", "- a\n- b", "1. a\n   - b", "> quoted", "| a | b |\n|---|---|\n| c | d |", "`code` and **bold**", "```go\nx := 1"} {
		o := Options{Width: 40, Color: true}
		s := New(o)
		got := s.Write(text)
		got = append(got, s.Open()...)
		if diff := cmp.Diff(Render(text, o), got); diff != "" {
			t.Errorf("%q (-settled +open)\n%s", text, diff)
		}
	}
}

// What is still being written looks as it will when it has ended.
func TestOpenClosesWhatIsOpen(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"some **bold wor", "some ␛[0;1mbold wor␛[0m"},
		{"some **bold**", "some ␛[0;1mbold␛[0m"},
		{"some **", "some"},
		{"some **bold *and", "some ␛[0;1mbold ␛[0m␛[0;1;3mand␛[0m"},
		{"run `go te", "run ␛[0;36mgo te␛[0m"},
		{"a ~~mis", "a ␛[0;9mmis␛[0m"},
		{"2 * 3 and 2*3", "2 * 3 and 2*3"},
		{"snake_case_name", "snake_case_name"},
		{"\\*not", "*not"},
		{"text\n-", "text"},
		{"text\n##", "text"},
		{"text\n\n12.", "text"},
		{"The answer is 42", "The answer is 42"},
		{"42", "42"},
		{"# Title", "␛[0;1;4mTitle␛[0m"},
		{"```go\nx := 1\n``", ""},
		{"```go\nx := 1\n  y", "    y"},
		{"done.\r", "done."},
	}
	for _, tt := range tests {
		s := New(Options{Width: 40, Color: true})
		s.Write(tt.text)
		got := strings.ReplaceAll(strings.Join(s.Open(), "|"), "\x1b", "␛")
		if got != tt.want {
			t.Errorf("%q looks like %q, want %q", tt.text, got, tt.want)
		}
	}
}

// Blocks are printed as soon as nothing can change them any more.
func TestSettlesEarly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want int // lines that are settled
	}{
		{"a paragraph\n\n", 0},
		{"a paragraph\n\nanother", 0},
		{"a paragraph\n\nanother\n", 1},
		{"a paragraph\n# Title\n", 1},
		{"- one\n- two\n- three\n", 2},
		{"1. one\n\n2. two\n", 1},
		{"```\na\nb\nc", 2},
		{"text\n```\na\nb\n", 4},
		{"text\n| a | b |\n|---|---|\n", 1},
		{"> a\n> b\n", 0},
	}
	for _, tt := range tests {
		s := New(Options{Width: 40})
		if got := s.Write(tt.text); len(got) != tt.want {
			t.Errorf("%q: %d lines are settled, want %d: %q", tt.text, len(got), tt.want, got)
		}
	}
}

// Lines fit into the width, but for code; whatever a text holds, a terminal
// gets nothing but text, styles and links; and no word is lost.
func TestLinesFitAndAreSafe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := document(t)
		o := Options{Width: rapid.IntRange(8, 120).Draw(t, "width"), Color: rapid.Bool().Draw(t, "color"), Links: rapid.Bool().Draw(t, "links")}
		s := New(o)
		lines := s.Write(text)
		lines = append(lines, s.Open()...)
		lines = append(lines, s.Close()...)
		safe(t, text, lines)
		if strings.Contains(text, "```") || strings.Contains(text, "~~~") || strings.Contains(text, "    ") || strings.Contains(text, "\t") {
			return
		}
		for _, line := range lines {
			if w := term.Width(line); w > o.Width {
				t.Fatalf("%q: line %q has %d cells, more than %d", text, line, w, o.Width)
			}
		}
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

func safe(t fataler, text string, lines []string) {
	screen := termtest.New(200, 50)
	for _, line := range lines {
		if strings.ContainsAny(line, "\n\r") {
			t.Fatalf("%q: line %q holds a line break", text, line)
		}
		fmt.Fprint(screen, line+"\r\n")
	}
	if f := screen.Faults(); len(f) > 0 {
		t.Fatalf("%q: the terminal gets %v", text, f)
	}
}

func TestNoWordIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := 0
		word := func(*rapid.T) string { n++; return fmt.Sprintf("w%dw", n) }
		shapes := rapid.SampledFrom([]string{
			"%s and %s\n\n", "# %s %s\n\n", "- %s\n- %s\n\n", "1. %s\n\n   %s\n", "> %s\n> - %s\n\n", "| %s | h |\n|---|---|\n| %s | x |\n\n", "```\n%s\n%s\n```\n",
			"**%s** *%s*\n\n", "`%s` [%s](http://x.org)\n\n", "%s  \n%s\n\n", "    %s\n    %s\n\n", "- [x] %s\n  - [ ] %s\n\n", "<p>\n%s\n%s\n</p>\n\n",
		})
		var b strings.Builder
		for range rapid.IntRange(1, 10).Draw(t, "blocks") {
			fmt.Fprintf(&b, shapes.Draw(t, "shape"), word(t), word(t))
		}
		out := strings.Join(Render(b.String(), Options{Width: rapid.IntRange(20, 100).Draw(t, "width")}), "\n")
		for i := 1; i <= n; i++ {
			if w := fmt.Sprintf("w%dw", i); strings.Count(out, w) != 1 {
				t.Fatalf("%s of %q stands %d times in\n%s", w, b.String(), strings.Count(out, w), out)
			}
		}
	})
}

// A text that never comes to an end of anything is settled piece by piece.
func TestEndlessBlocks(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{
		"line": "word ", "quote": "> a\n", "letters": "日", "paragraph": "word\n", "nested": "> - ", "item": "- a\n", "inner items": "  - a\n", "backticks": "` ",
		"emphasis": "**a ", "brackets": "[a](", "table": "| a | b |\n", "escapes": "\\``\n", "tags": "<a ", "images": "![](", "rules": "- - ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := New(Options{Width: 40})
			n := 0
			for range 3*limit/len(piece) + 1 {
				n += len(s.Write(piece))
				if len(s.open) > limit+8 {
					t.Fatalf("%d bytes are open", len(s.open))
				}
			}
			if n+len(s.Close()) == 0 {
				t.Error("nothing was shown")
			}
		})
	}
}

func FuzzStream(f *testing.F) {
	docs, err := filepath.Glob("testdata/*.md")
	if err != nil {
		f.Fatal(err)
	}
	for i, doc := range docs {
		src, err := os.ReadFile(doc)
		if err != nil {
			f.Fatal(err)
		}
		for at := 0; at < len(src); at += 400 {
			f.Add(string(src[at:min(at+400, len(src))]), uint8(i+at+1), uint8(10*i))
		}
	}
	f.Fuzz(func(t *testing.T, text string, step, width uint8) {
		if len(text) > 500 {
			return
		}
		o := Options{Width: int(width), Color: step%2 == 0, Links: step%3 == 0}
		want := Render(text, o)
		safe(t, text, want)
		s := New(o)
		var got []string
		n := int(step)%16 + 1
		for i := 0; i < len(text); i += n {
			got = append(got, s.Write(text[i:min(i+n, len(text))])...)
			if i%5 == 0 {
				safe(t, text, s.Open())
			}
		}
		if got = append(got, s.Close()...); !slices.Equal(want, got) {
			t.Fatalf("%q in pieces of %d:\n%q\nwhole:\n%q", text, n, got, want)
		}
	})
}

func BenchmarkRender(b *testing.B) {
	src, err := os.ReadFile("testdata/answer.md")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		Render(string(src), Options{Width: 80, Color: true})
	}
}

// BenchmarkStream is an answer that comes in pieces of four letters and is
// looked at after each of them.
func BenchmarkStream(b *testing.B) {
	src, err := os.ReadFile("testdata/answer.md")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		s := New(Options{Width: 80, Color: true})
		for i := 0; i < len(src); i += 4 {
			s.Write(string(src[i:min(i+4, len(src))]))
			s.Open()
		}
		s.Close()
	}
}
