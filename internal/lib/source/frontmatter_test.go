package source_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/goclaw/goclaw/internal/lib/source"
)

func TestFrontmatter(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		doc      string
		meta     string
		metaLine int
		body     string
		bodyLine int
		unclosed bool
	}{
		"plain":              {doc: "---\nname: a\n---\nbody\n", meta: "name: a\n", metaLine: 2, body: "body\n", bodyLine: 4},
		"crlf":               {doc: "---\r\nname: a\r\n---\r\nbody", meta: "name: a\r\n", metaLine: 2, body: "body", bodyLine: 4},
		"byte-order mark":    {doc: "\ufeff---\nname: a\n---\nbody", meta: "name: a\n", metaLine: 2, body: "body", bodyLine: 4},
		"spaces after":       {doc: "--- \t\nname: a\n---  \nbody", meta: "name: a\n", metaLine: 2, body: "body", bodyLine: 4},
		"empty":              {doc: "---\n---\nbody", metaLine: 2, body: "body", bodyLine: 3},
		"closed at the end":  {doc: "---\na: 1\n---", meta: "a: 1\n", metaLine: 2, bodyLine: 4},
		"none":               {doc: "# Title\n---\nx\n---\n", body: "# Title\n---\nx\n---\n", bodyLine: 1},
		"nothing":            {bodyLine: 1},
		"a rule of four":     {doc: "----\na\n----\n", body: "----\na\n----\n", bodyLine: 1},
		"indented fence":     {doc: "---\na: |\n  ---\n---\nb", meta: "a: |\n  ---\n", metaLine: 2, body: "b", bodyLine: 5},
		"rule in the body":   {doc: "---\na: 1\n---\nx\n---\ny", meta: "a: 1\n", metaLine: 2, body: "x\n---\ny", bodyLine: 4},
		"mark without fence": {doc: "\ufeffhello", body: "hello", bodyLine: 1},
		"unclosed":           {doc: "---\nname: a\nbody", body: "---\nname: a\nbody", bodyLine: 1, unclosed: true},
		"only a fence":       {doc: "---", body: "---", bodyLine: 1, unclosed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := source.Frontmatter([]byte(tc.doc))
			if errors.Is(err, source.ErrUnclosed) != tc.unclosed {
				t.Fatalf("err = %v", err)
			}
			if string(f.Meta) != tc.meta || string(f.Body) != tc.body || f.MetaLine != tc.metaLine || f.BodyLine != tc.bodyLine {
				t.Errorf("got meta %q (line %d), body %q (line %d)", f.Meta, f.MetaLine, f.Body, f.BodyLine)
			}
		})
	}
}

// Whatever comes in, the parts are parts of it, in order, at the lines named.
func FuzzFrontmatter(f *testing.F) {
	for _, s := range []string{"", "---", "---\n---", "\ufeff---\r\na: b\r\n---\r\nbody", "--- \nx\n--- x\n---\t\ny", "---\n\n\n---\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		fm, err := source.Frontmatter(doc)
		doc = bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf"))
		if !bytes.HasSuffix(doc, fm.Body) {
			t.Fatalf("body %q is not the end of %q", fm.Body, doc)
		}
		head := doc[:len(doc)-len(fm.Body)]
		if got := bytes.Count(head, []byte("\n")) + 1; len(fm.Body) > 0 && got != fm.BodyLine {
			t.Fatalf("body line %d, want %d", fm.BodyLine, got)
		}
		if fm.MetaLine == 0 || err != nil {
			if len(head) != 0 || fm.Meta != nil || fm.MetaLine != 0 {
				t.Fatalf("no frontmatter, yet %+v", fm)
			}
			return
		}
		_, after, _ := bytes.Cut(doc, []byte("\n"))
		if !bytes.HasPrefix(after, fm.Meta) {
			t.Fatalf("meta %q does not follow the first line of %q", fm.Meta, doc)
		}
	})
}
