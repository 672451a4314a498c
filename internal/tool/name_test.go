package tool_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/tool"
)

func TestCanonicalName(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(tool.NamePattern)
	check := func(t interface{ Errorf(string, ...any) }, name string) {
		if got, want := tool.CanonicalName(name), pattern.MatchString(name); got != want {
			t.Errorf("%q: %t, the pattern says %t", name, got, want)
		}
	}
	for _, name := range []string{"", "a", "_", "9", "file_read", "a-b", "A", "aé", "a\n", strings.Repeat("a", 64), strings.Repeat("a", 65)} {
		check(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z_0-9-]{0,70}`)).Draw(t, "name"))
	})
}
