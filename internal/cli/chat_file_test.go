package cli

import (
	"strings"
	"testing"
)

func TestMentioned(t *testing.T) {
	t.Parallel()
	// The word that is found stands in brackets.
	for line, query := range map[string]string{
		"[@]": "", "[@ma]": "ma", "see [@src/m]": "src/m", "see ([@src/m]": "src/m", "one\n[@a.b]": "a.b",
		`[@"my fi]`: "my fi", `a "b" [@"c d]`: "c d", "[@ä]": "ä", "@a b [@c]": "c", `"[@x]`: "x",
		"": "-", "a@b.c": "-", "@a ": "-", `@"a" `: "-", `@"a"`: "-", "@\"a\nb": "-", "@a@": "-", "é@a": "-",
	} {
		before := strings.NewReplacer("[", "", "]", "").Replace(line)
		from, got, ok := mentioned(before)
		if ok != (query != "-") || ok && (got != query || before[:from]+"["+before[from:]+"]" != line) {
			t.Errorf("%q: %v, %d, %q", line, ok, from, got)
		}
	}
}

func TestWritten(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"src/main.go": "src/main.go", "ü-x": "ü-x", "my notes.md": `"my notes.md"`, `a"b`: `"a\"b"`, "it's": `"it's"`, `a\b`: `a\b`,
	} {
		if got := written(path); got != want {
			t.Errorf("%s is written %s, want %s", path, got, want)
		}
	}
}
