package visible_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "a\tb\r\nc", "a\tb\r\nc"},
		{"other scripts", "naïve 界 🎉 עברית", "naïve 界 🎉 עברית"},
		{"emoji joined by a zero width joiner", "👩\u200d👧", "👩\u200d👧"},
		{"colour", "\x1b[31mred\x1b[0m", "␛[31mred␛[0m"},
		{"terminal title", "\x1b]0;title\x07", "␛]0;title␇"},
		{"eight-bit escape sequence", "\u009b31m", "⟦U+009B⟧31m"},
		{"nul and delete", "a\x00b\x7f", "a␀b␡"},
		{"form feed", "\f", "␌"},
		{"bidi override", "a\u202eb\u2069", "a⟦U+202E⟧b⟦U+2069⟧"},
		{"tags", "x\U000e0041\U000e007f", "x⟦U+E0041⟧⟦U+E007F⟧"},
		{"byte that is no UTF-8", "caf\xe9!", "caf⟦xE9⟧!"},
		{"half a letter", "\xe7\x95", "⟦xE7⟧⟦x95⟧"},
		{"literal picture", "press ␛", "press ⟦U+241B⟧"},
		{"picture of a character that stays", "␉␊␍␠", "␉␊␍␠"},
		{"literal form", "⟦U+202E⟧", "⟦U+27E6⟧U+202E⟧"},
		{"literal form of a byte", "⟦xE9⟧", "⟦U+27E6⟧xE9⟧"},
		{"brackets of mathematics", "⟦e⟧ρ = ⟦x1⟧ ⟦U+2⟧", "⟦e⟧ρ = ⟦x1⟧ ⟦U+2⟧"},
		{"escapes of source code", `"\u{202E}\x1b"`, `"\u{202E}\x1b"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := visible.Text(tt.in)
			if got != tt.want {
				t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if back := visible.Reveal(got); back != tt.in {
				t.Errorf("Reveal(%q) = %q, want %q", got, back, tt.in)
			}
		})
	}
}

func TestRevealLeavesWhatIsNoForm(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "⟦", "⟦U+", "⟦U+202E", "⟦U+202e⟧", "⟦x1⟧", "⟦U+110000⟧", "⟦U+D800⟧", "\xe2", "\xe2\x90", "␉"} {
		if got := visible.Reveal(s); got != s {
			t.Errorf("Reveal(%q) = %q, want it unchanged", s, got)
		}
	}
}

func TestPlainTextIsNotCopied(t *testing.T) { // not parallel: it counts allocations
	s := strings.Repeat("plain text, naïve and 界\n", 100)
	if n := testing.AllocsPerRun(10, func() { visible.Text(s); visible.Reveal(s); visible.Count(s) }); n != 0 {
		t.Errorf("%v allocations for plain text, want none", n)
	}
}

// alphabet has every kind of character that the forms distinguish, in pieces
// which meet to make other ones.
var alphabet = []string{
	"a", "Z", "\n", "\t", "\r", " ", "\x00", "\x1b", "\x7f", "\x80", "\xe9", "\xff", "\xe2", "\xe2\x90", "\x9b", "\xf0\x9f",
	"ü", "界", "🎉", "\u009b", "\u202e", "\u2066", "\u200f", "\u061c", "\U000e0041", "\U0010ffff", "\u200d",
	"␛", "␀", "␡", "␉", "⟦", "⟧", "U+", "x", "202E", "E9", "27E6", "⟦U+202E⟧", "⟦xE9⟧", "⟦U+", "⟦x",
}

func anyText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOf(rapid.SampledFrom(alphabet)).Draw(t, "parts"), "")
	})
}

func checkForms(t interface{ Fatalf(string, ...any) }, s string) {
	got := visible.Text(s)
	if !utf8.ValidString(got) {
		t.Fatalf("Text(%q) = %q is no valid UTF-8", s, got)
	}
	for _, r := range got {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f || visible.Hidden(r) {
			t.Fatalf("Text(%q) = %q still holds %U", s, got, r)
		}
	}
	if back := visible.Reveal(got); back != s {
		t.Fatalf("Reveal(Text(%q)) = %q", s, back)
	}
	if n := visible.Count(s); n != utf8.RuneCountInString(got) {
		t.Fatalf("Count(%q) = %d, want %d", s, n, utf8.RuneCountInString(got))
	}
}

func checkFit(t interface{ Fatalf(string, ...any) }, s string, limit int) {
	n := visible.Fit(s, limit)
	if c := visible.Count(s[:n]); c > max(limit, 0) {
		t.Fatalf("Fit(%q, %d) = %d, whose form has %d characters", s, limit, n, c)
	}
	if limit > 12 && n == 0 && s != "" {
		t.Fatalf("Fit(%q, %d) = 0", s, limit)
	}
	m := visible.FitEnd(s, limit)
	if c := visible.Count(s[m:]); c > max(limit, 0) {
		t.Fatalf("FitEnd(%q, %d) = %d, whose form has %d characters", s, limit, m, c)
	}
	if whole := visible.Count(s); whole <= limit && (n != len(s) || m != 0) {
		t.Fatalf("Fit(%q, %d) = %d and FitEnd = %d, but all of it fits", s, limit, n, m)
	}
	if utf8.ValidString(s) && (!utf8.ValidString(s[:n]) || !utf8.ValidString(s[m:])) {
		t.Fatalf("Fit(%q, %d) or FitEnd cuts a code point", s, limit)
	}
}

func TestFormsAreUnambiguous(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkForms(t, anyText().Draw(t, "text")) })
}

func TestFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkFit(t, anyText().Draw(t, "text"), rapid.IntRange(-1, 60).Draw(t, "limit"))
	})
}

func FuzzText(f *testing.F) {
	for _, s := range alphabet {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		checkForms(t, s)
		checkFit(t, s, limit)
	})
}

func BenchmarkText(b *testing.B) {
	for name, s := range map[string]string{
		"plain":  strings.Repeat("the quick brown fox, 0123456789\n", 3200),
		"kanji":  strings.Repeat("界", 34000),
		"colour": strings.Repeat("\x1b[31mred\x1b[0m and plain\n", 4000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				visible.Text(s)
			}
		})
	}
}
