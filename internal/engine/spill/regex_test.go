package spill

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMatcher holds matches found one at a time against those that the library
// finds at once.
func TestMatcher(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{"a", "b", "ab", "é", " ", "xa", "\xff", "aab"})
	exprs := []string{`a`, `xa|ab|b`, `a.*b|a`, `^a`, `\ba`, `\Bb`, `(?i)A+`, `a*`, `(a)(b)`, `\Qa`, `b$`, `(?:a|ab)b?`, `[^a]`, `.`, `(?P<n>a)|b`}
	rapid.Check(t, func(t *rapid.T) {
		expr := rapid.SampledFrom(exprs).Draw(t, "expression")
		text := strings.Join(rapid.SliceOf(pieces).Draw(t, "text"), "")
		m, err := compileRegex(expr)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		var got, want [][]int
		if err := m.all(context.Background(), text, func(from, to int) bool { got = append(got, []int{from, to}); return true }); err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		for _, found := range m.first.FindAllStringIndex(text, -1) {
			if found[0] < found[1] || text == "" {
				want = append(want, found)
			}
		}
		if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
			t.Fatalf("%s in %q: %v, the library finds %v", expr, text, got, want)
		}
	})
}

// TestRegexEnds shows that a search is left between two matches, also where each
// of them looks at all that follows.
func TestRegexEnds(t *testing.T) {
	t.Parallel()
	m, err := compileRegex(`a.*z|a`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	found := 0
	err = m.all(ctx, strings.Repeat("a", piece), func(int, int) bool {
		if found++; found == 3 {
			stop(errors.New("it was stopped"))
		}
		return true
	})
	if found != 3 || err == nil || err.Error() != "it was stopped" {
		t.Errorf("%d matches before the end, %v", found, err)
	}
	for _, query := range []string{"//root[matches(., 'x')]", "replace (/, 'a', 'b')"} {
		if _, err := readFrom(t.Context(), "<root><item>x</item></root>", testRoom, ReadArgs{Mode: "path", Query: query}); err == nil || !strings.Contains(err.Error(), "mode search with regex") {
			t.Errorf("%s: %v", query, err)
		}
	}
	if got := mustRead(t, "<root><item>matches(x)</item></root>", ReadArgs{Mode: "path", Query: "//item[contains(., 'matches(')]"}); !strings.Contains(got, "matches(x)") {
		t.Errorf("words in a string are taken for a function:\n%s", got)
	}
}
