package tool

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// match is what the same pattern means as a regular expression.
func TestMatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab_*?]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab_]{0,10}`).Draw(t, "text")
		expr := strings.NewReplacer("*", ".*", "?", ".").Replace(pattern)
		if got, want := match(pattern, text), regexp.MustCompile("^"+expr+"$").MatchString(text); got != want {
			t.Fatalf("%q matches %q: %v", pattern, text, got)
		}
	})
	// A pattern made to explode costs its length times the text's.
	if match(strings.Repeat("*a", 5000)+"b", strings.Repeat("a", 10000)) {
		t.Error("it has no b")
	}
}
