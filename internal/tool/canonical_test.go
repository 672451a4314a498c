package tool_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/tool"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 80)
	got := tool.Canonical("mcp_docs_", []string{"Find.Page", "find-page", "find_page", "ünï", "2nd", long, long + "y", "find_page"})
	want := map[string]string{
		"find_page": "mcp_docs_find_page", "Find.Page": "mcp_docs_find_page_2", "find-page": "mcp_docs_find_page_3",
		"ünï": "mcp_docs__n_", "2nd": "mcp_docs_2nd",
		long: ("mcp_docs_" + long)[:64], long + "y": ("mcp_docs_" + long)[:62] + "_2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever a server calls its tools: each gets a canonical name of its own, the
// same in whatever order they come.
func TestCanonicalNamesAreStableAndUnique(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.StringMatching(`[aA_.]{0,3}`))).Draw(t, "names")
		got := tool.Canonical("n_", names)
		seen := map[string]bool{}
		for name, own := range got {
			if !tool.ValidName(own) || seen[own] {
				t.Fatalf("%q is %q, of %v", name, own, got)
			}
			seen[own] = true
		}
		if again := tool.Canonical("n_", rapid.Permutation(names).Draw(t, "again")); !maps.Equal(got, again) {
			t.Fatalf("%v, then %v", got, again)
		}
	})
}
