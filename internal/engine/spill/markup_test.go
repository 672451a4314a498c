package spill

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// unclosed is a page of elements that were left open: each paragraph of the
// library's tree repeats them all.
func unclosed(begin string, elements, paragraphs int, attributes string) string {
	var b strings.Builder
	b.WriteString(begin + "<p>")
	for i := range elements {
		fmt.Fprintf(&b, "<b id=%d%s>", i, attributes)
	}
	b.WriteString("</p>" + strings.Repeat("<p>x", paragraphs))
	return b.String()
}

// TestTreesAreBounded shows that a page whose tree would be far larger than its
// text is refused, wherever that happens in it.
func TestTreesAreBounded(t *testing.T) {
	var attributes strings.Builder
	for i := range 1000 {
		fmt.Fprint(&attributes, " a", i)
	}
	for name, page := range map[string]string{
		"paragraphs": unclosed("<html>", 400, 25_000, ""),
		"in a table": unclosed("<html><table><tr><td>", 400, 25_000, ""),
		"past raw":   unclosed("<html><svg><style></svg><script>'<!--"+strings.Repeat("x", 100_000)+"</script>", 400, 25_000, ""),
		"attributes": unclosed("<html>", 400, 25_000, attributes.String()),
	} {
		runtime.GC() // what another page has left would count as there before
		_, err := parseHTML(&meter{ctx: t.Context(), left: maxSelectorSteps, over: errSelector}, page)
		if !errors.Is(err, errTree) {
			t.Errorf("%s: %v", name, err)
		}
	}
	few := unclosed("<html>", 3, 20_000, "")
	if got, err := readFrom(t.Context(), few, testRoom, ReadArgs{Mode: "path", Query: "p:nth-of-type(2) b"}); err != nil || !strings.Contains(got, "id=") {
		t.Errorf("three that are left open: %v\n%s", err, got)
	}
}

// TestXPathFunctions shows what an XPath may not use, and that a string may say it.
func TestXPathFunctions(t *testing.T) {
	t.Parallel()
	const doc = "<?xml version='1.0'?><a><b>translate(x) OK</b></a>"
	for _, name := range []string{"matches", "replace", "translate"} {
		query := "//b[" + name + " (., /, 'x')]"
		if _, err := readFrom(t.Context(), doc, testRoom, ReadArgs{Mode: "path", Query: query}); err == nil || !strings.Contains(err.Error(), "may not use "+name+"(); use contains()") {
			t.Errorf("%s: %v", query, err)
		}
	}
	for _, query := range []string{"//b[contains(., 'translate(')]", "//b[contains(lower-case(.), 'ok')]"} {
		if got, err := readFrom(t.Context(), doc, testRoom, ReadArgs{Mode: "path", Query: query}); err != nil || !strings.Contains(got, "translate(x) OK") {
			t.Errorf("%s: %v\n%s", query, err, got)
		}
	}
}
