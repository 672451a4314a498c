package text

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestRegex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tests := []struct {
		pattern, text string
		replace       any // nil, or a string
		want          string
	}{
		{"b+", "abba", nil, "1 match (characters from 0):\nline 1, 1-3: \"bb\""},
		{"x", "abba", nil, "no match"},
		{`(?P<y>\d{4})-(\d\d)(x)?`, "é\n2026-03 und\n2027-04", nil, "2 matches (characters from 0):\n" +
			"line 2, 2-9: \"2026-03\"; y=\"2026\"; $2=\"03\"; $3=not matched\n" +
			"line 3, 14-21: \"2027-04\"; y=\"2027\"; $2=\"04\"; $3=not matched"},
		{"^", "a\nb", nil, "1 match (characters from 0):\nline 1, 0-0: \"\""},
		{"(?m)^", "a\nb", nil, "2 matches (characters from 0):\nline 1, 0-0: \"\"\nline 2, 2-2: \"\""},
		{"(?i)É", "É é", nil, "2 matches (characters from 0):\nline 1, 0-1: \"É\"\nline 1, 2-3: \"é\""},
		{"a", strings.Repeat("a", 150), nil, "150 matches; the first 100:\nline 1, 0-1: \"a\""},

		{"b+", "abba", "-", "a-a"},
		{"b+", "abba", "", "aa"},
		{`(\w+) (\w+)`, "hello world", "$2 ${1}s $$1", "world hellos $1"},
		{`(?P<first>\w+)`, "ab", "<$first>", "<ab>"},
		{"x", "abba", "-", "no match; the text is unchanged"},
		{"", "ab", "-", "error: arguments: [pattern: expected at least 1 character, got 0]"},

		{"(", "a", nil, "error: pattern: missing closing ) in \"(\""},
		{"a(?=b)", "a", nil, "error: pattern: invalid or unsupported Perl syntax in \"(?=\"; RE2 has no look-around"},
		{`(a)\1`, "aa", nil, `error: pattern: invalid escape sequence in "\\1"; RE2 has no back references`},
		{"a{2000}", "a", nil, "error: pattern: invalid repeat count"},
		{strings.Repeat("a{1000}", 30), "a", nil, "error: pattern: its repetitions make it too large"},
		{"(a)", "a", "$2", "error: replace: the pattern has no group 2, it has 1; write $$ for a dollar sign"},
		{"(a)", "a", "$1b", `error: replace: the pattern has no group "1b"; write ${1}b for group 1 before other text`},
		{"(a)", "a", "$foo", `error: replace: the pattern has no group "foo"; write $$ for a dollar sign`},
		{"(a)", "a", `\1`, `error: replace: write $1 for group 1, not \1`},
		{"a", strings.Repeat("a", 20_000), strings.Repeat("b", 9_999), "error: replace: the result has more than 16777216 bytes"},
	}
	for _, tt := range tests {
		args := map[string]any{"pattern": tt.pattern, "text": tt.text}
		if tt.replace != nil {
			args["replace"] = tt.replace
		}
		got := f.text(t, "regex", args)
		if got != tt.want && !(strings.HasPrefix(tt.want, "error:") || strings.Contains(tt.want, "the first 100")) || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%.40s on %.40q: got %.200s, want %s", tt.pattern, tt.text, got, tt.want)
		}
	}
}

// Searching match by match, in a text or in a stream, finds what regexp's own
// search for all finds.
func TestSearchAgreesWithFindAll(t *testing.T) {
	t.Parallel()
	pattern := rapid.StringMatching(`(\(\?[im]\))?([ab.]|\\b|\^|\$|\(a\|b\)|\[\^a\]|a\*\?|b\+|\(é\?\)|\\n|x\*|\|){1,5}`)
	text := rapid.StringMatching(`[abé\n ]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		p, s := pattern.Draw(t, "pattern"), text.Draw(t, "text")
		re, err := regexp.Compile(p)
		if err != nil {
			return
		}
		want := re.FindAllStringSubmatchIndex(s, -1)
		for _, most := range []int{0, 16 * 40, maxAtOnce} {
			search, err := newSearch(context.Background(), p, s)
			if err != nil {
				t.Fatal(err)
			}
			search.most = most
			var got [][]int
			if err := search.each(func(m []int) bool { got = append(got, m); return true }); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
				t.Fatalf("%q on %q with %d: got %v, want %v", p, s, most, got, want)
			}
		}
	})
}

// A search that would go on for minutes ends with its context, even inside one
// match.
func TestSearchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a", 5<<20)
	for _, pattern := range []string{"a[^z]*z|a", "(?:a?){500}b"} {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := newSearch(&countdown{Context: ctx, left: 20, cancel: cancel}, pattern, text)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.each(func([]int) bool { return true }); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", pattern, err)
		}
		cancel()
	}
}

// countdown is a context that ends when it was asked often enough.
type countdown struct {
	context.Context
	left   int
	cancel func()
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		c.cancel()
	}
	return c.Context.Err()
}

func FuzzRegex(f *testing.F) {
	f.Add("(a)|b", "ab\nab", "$1")
	f.Add(`(?m)^\s*$`, "é\n\n", "")
	f.Fuzz(func(t *testing.T, pattern, text, template string) {
		if len(pattern) > 100 || len(text) > 1000 || !utf8.ValidString(text) {
			return
		}
		s, err := newSearch(t.Context(), pattern, text)
		if err != nil {
			return
		}
		if _, err := s.report(); err != nil {
			t.Fatal(err)
		}
		if r, err := s.replace(template); err == nil && s.re.MatchString(text) {
			if got := r.Content[0].Text; got != s.re.ReplaceAllString(text, template) {
				t.Fatalf("got %q", got)
			}
		}
	})
}

func BenchmarkRegex(b *testing.B) {
	text := strings.Repeat("2026-03-29 ERROR something went wrong in module 17\n", 100_000)
	for _, pattern := range []string{"ERROR", `(\d+)-(\d+)-(\d+) (\w+)`} {
		b.Run(pattern, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s, err := newSearch(b.Context(), pattern, text)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.report(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
