package files_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/tool"
)

func bench(b *testing.B, d *desk, name string, a args) {
	b.Helper()
	call := d.call(a)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.tools[name].Execute(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead100KB(b *testing.B) {
	d := newDesk(b, map[string]string{"a/b/f.txt": strings.Repeat("a line of text with some words\n", 3300)})
	b.SetBytes(3300 * 31)
	bench(b, d, "file_read", args{"path": "a/b/f.txt"})
}

func BenchmarkReadSmall(b *testing.B) {
	d := newDesk(b, map[string]string{"f.txt": "hello\n"})
	bench(b, d, "file_read", args{"path": "f.txt"})
}

func BenchmarkWriteSmall(b *testing.B) {
	d := newDesk(b, map[string]string{"SOUL.md": "x", "agents/a.agent.md": "x"})
	bench(b, d, "file_write", args{"path": "a/b/f.txt", "content": "hello\nworld\n"})
}

func BenchmarkEdit(b *testing.B) {
	text := strings.Repeat("a line of text with some words\n", 300)
	d := newDesk(b, map[string]string{"f.txt": text + "x\n"})
	calls := []tool.Call{
		d.call(args{"path": "f.txt", "old": "x\n", "new": "y\n"}),
		d.call(args{"path": "f.txt", "old": "\ny\n", "new": "\nx\n"}),
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := d.tools["file_edit"].Execute(b.Context(), calls[i%2]); err != nil {
			b.Fatal(err)
		}
	}
}

func manyFiles(b *testing.B) *desk {
	files := map[string]string{}
	for i := range 1000 {
		files[fmt.Sprintf("d%02d/f%03d.txt", i%20, i)] = strings.Repeat("a line of text with some Words\n", 100)
	}
	return newDesk(b, files)
}

func BenchmarkList1000(b *testing.B) {
	bench(b, manyFiles(b), "file_list", args{"depth": 3})
}

func BenchmarkSearch1000(b *testing.B) {
	d := manyFiles(b)
	for name, a := range map[string]args{
		"text":    {"query": "Nothing"},
		"folded":  {"query": "nothing"},
		"regexp":  {"query": "noth(ing|er)", "regex": true},
		"matches": {"query": "words"},
	} {
		b.Run(name, func(b *testing.B) {
			if name != "matches" { // it stops early
				b.SetBytes(1000 * 100 * 31)
			}
			bench(b, d, "file_search", a)
		})
	}
}

func BenchmarkPatch(b *testing.B) {
	text := strings.Repeat("a line of text with some words\n", 3000)
	d := newDesk(b, map[string]string{"f.txt": text + "x\nend\n"})
	there := "--- a/f.txt\n+++ b/f.txt\n@@ -3000,3 +3000,3 @@\n a line of text with some words\n-x\n+y\n end\n"
	calls := []tool.Call{
		d.call(args{"patch": there}),
		d.call(args{"patch": strings.NewReplacer("-x", "-y", "+y", "+x").Replace(there)}),
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := d.tools["apply_patch"].Execute(b.Context(), calls[i%2]); err != nil {
			b.Fatal(err)
		}
	}
}
