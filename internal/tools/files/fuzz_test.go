package files

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzPatch reads anything as a patch and applies what can be read to a text.
func FuzzPatch(f *testing.F) {
	const text = "package main\n\nfunc a() {\n\treturn\n}\n\nfunc b() {\n\treturn\n}"
	for _, patch := range []string{
		"*** Begin Patch\n*** Update File: p.go\n@@ func a() {\n-\treturn\n+\tbreak\n*** End of File\n*** End Patch",
		"*** Begin Patch\n*** Add File: n.txt\n+x\n*** Delete File: d.txt\n*** Update File: m.txt\n*** Move to: q/m.txt\n*** End Patch\n",
		"diff --git a/m.txt b/r.txt\nrename from m.txt\nrename to r.txt\n--- a/m.txt\n+++ b/r.txt\n@@ -9,3 +1 @@ x\n-}\n+n\n\\ No newline at end of file\n",
		"--- /dev/null\n+++ b/../x\n@@ -0,0 +99999999999999999999 @@\n+x\n-- \n2.3\n",
		"```\n--- \"a/\\n\"\n+++ b/noend.txt\n@@ @@\n b\n+c\n```",
		"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n package main\n--- y\n+++ z\n@@ -3 +3 @@\n-func a() {\n+func c() {\n",
	} {
		f.Add(patch)
	}
	f.Fuzz(func(t *testing.T, patch string) {
		files, err := parsePatch(patch)
		if err != nil {
			return
		}
		for _, file := range files {
			if file.path == "" || file.op == add && len(file.hunks) > 0 || file.op != add && file.text != "" {
				t.Errorf("%+v", file)
			}
			out, _, err := applyHunks("p.go", text, file.hunks)
			if err != nil {
				continue
			}
			added, removed := 0, 0
			for _, h := range file.hunks {
				if len(h.lines) == 0 {
					t.Errorf("an empty hunk: %+v", h)
				}
				for _, l := range h.lines {
					added += strings.Count("+", string(l.op))
					removed += strings.Count("-", string(l.op))
					if strings.Contains(l.text, "\n") {
						t.Errorf("a line of two: %q", l.text)
					}
				}
			}
			if got, want := countLines(out), countLines(text)+added-removed; got != want && !strings.HasSuffix(out, "\n") {
				// A last line that is empty and has no line feed is none.
				want--
				if got != want {
					t.Errorf("%d lines, want %d: %q", got, want, out)
				}
			}
			if added+removed == 0 && out != text {
				t.Errorf("nothing to change, but %q", out)
			}
		}
	})
}

// FuzzGlob checks that every pattern is an error or matches as a pattern
// without specials matches: itself.
func FuzzGlob(f *testing.F) {
	for _, p := range []string{"*.go", "a/**/b", "{a,b}*", "[!x]?", "a.b", "[", "{", "**", "a[^b]/", "gr?ße[ü]", "\\*"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		g, err := newGlob(pattern)
		if err != nil {
			return
		}
		g.match("base", "base/x/y.go")
		if plain := regexp.QuoteMeta(pattern) == pattern && pattern != "" && !strings.HasPrefix(pattern, "./"); plain && utf8.ValidString(pattern) && !g.match(".", pattern) {
			t.Errorf("%q does not match itself", pattern)
		}
	})
}

// FuzzText checks that what is taken for text survives.
func FuzzText(f *testing.F) {
	f.Add([]byte("hello\r\n"))
	f.Add([]byte("\xff\xfea\x00\x3d\xd8"))
	f.Add([]byte("\xfe\xff\x00a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, enc, ok := decode(data)
		if ok && string(enc.encode(text)) != string(data) {
			t.Errorf("%q became %q", data, enc.encode(text))
		}
		if strings.Join(splitLines(text), "") != text || len(splitLines(text)) != countLines(text) {
			t.Errorf("the lines of %q are %q", text, splitLines(text))
		}
		_, _ = readPicture(data)
		_ = describe("x", data, int64(len(data)))
	})
}
