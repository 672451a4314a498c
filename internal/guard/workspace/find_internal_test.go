package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// What stands in the folder itself is found however much there is below, and
// that not all was looked at is told.
func TestFindAmongTooMuch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := []string{"z.txt", "b/z.txt"}
	for i := range 60 {
		names = append(names, fmt.Sprintf("a/%d.txt", i))
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, c := range []struct {
		query   string
		visits  int
		want    string
		partial bool
	}{
		{"z.txt", 50, "[{z.txt false}]", true},
		{"z.txt", 100, "[{z.txt false} {b/z.txt false}]", false},
		{"b/z", 50, "[{b/z.txt false}]", false},
		{"z.txt", 2, "[]", true},
	} {
		f, err := w.find(t.Context(), c.query, 5, c.visits)
		if got := fmt.Sprint(f.Names); err != nil || got != c.want || f.Partial != c.partial {
			t.Errorf("%q within %d visits: %s, partial %v, %v; want %s", c.query, c.visits, got, f.Partial, err, c.want)
		}
	}
}
