package gateway

import (
	"regexp"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/tool"
)

// What a model is shown of a tool names no other one: that may be denied to it,
// and a description is the same in every request, whatever else is offered.
func TestDescriptionsNameNoOtherTool(t *testing.T) {
	t.Parallel()
	registry, err := compiledIn(nil)
	if err != nil {
		t.Fatal(err)
	}
	entries := registry.Catalog().Entries
	if len(entries) < 20 {
		t.Fatalf("only %d tools are compiled in", len(entries))
	}
	for _, e := range entries {
		shown := e.Spec.Description + "\n" + string(e.Spec.Parameters) + "\n" + string(e.Def.Output)
		for _, other := range tool.Names(entries) {
			if other != e.Def.Name && mentions(shown, other) {
				t.Errorf("%s names %s, which may not be there: say what is to be done without its name\n%s", e.Def.Name, other, shown)
			}
		}
	}
}

// mentions reports whether a text means a tool. A name that is a plain word as
// well means it where it is quoted, called or recommended.
func mentions(text, name string) bool {
	word := `\b` + regexp.QuoteMeta(name) + `\b`
	if !strings.Contains(name, "_") {
		word = "(`" + name + "`|\\(" + name + "\\)|\\b(use|call|with|see) (the )?" + name + `\b|'` + name + `'|` + name + `\()`
	}
	return regexp.MustCompile(`(?i)` + word).MatchString(text)
}
