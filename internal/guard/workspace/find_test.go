package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// found is what a query finds, as lines for people.
func (b *bench) found(query string, limit int) string {
	b.t.Helper()
	f, err := b.ws.Find(b.t.Context(), query, limit)
	if err != nil {
		b.t.Fatalf("find %q: %v", query, err)
	}
	var names []string
	for _, n := range f.Names {
		if n.Folder {
			n.Path += "/"
		}
		names = append(names, n.Path)
	}
	if f.LeftOut > 0 {
		names = append(names, fmt.Sprintf("+%d", f.LeftOut))
	}
	if f.Partial {
		names = append(names, "partial")
	}
	return strings.Join(names, " | ")
}

// age sets when files changed last, in hours before now.
func (b *bench) age(hours map[string]int) {
	b.t.Helper()
	now := time.Now()
	for name, h := range hours {
		at := now.Add(-time.Duration(h) * time.Hour)
		if err := os.Chtimes(filepath.Join(b.dir, name), at, at); err != nil {
			b.t.Fatal(err)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{
		"main.go": "", "domain.go": "", "src/main.go": "", "src/main_test.go": "", "src/deep/er/remain.txt": "",
		"Notes of May.md": "", "a-main.md": "", "m/a/i/n": "", "empty/": "",
		".env": "", ".github/ci.yml": "", ".git/config": "", "sub/.hidden": "",
		"node_modules/react/index.js": "", "src/__pycache__/main.pyc": "",
		"real/here.txt": "", "in": "-> real", "in.txt": "-> real/here.txt", "out": "-> {OUT}", "out.txt": "-> {OUT}/secret.txt", "gone": "-> nowhere",
		"src/old.go": "", "src/new.go": "", ".goclaw-tmp-abc": "unfinished",
	})
	b.age(map[string]int{"src/old.go": 9, "src/new.go": 1})
	for _, c := range []struct{ query, want string }{
		// A name goes before its beginning, this before a word in it, a part, letters in order.
		{"main.go", "main.go | src/main.go | domain.go | src/main_test.go"},
		{"main", "main.go | src/main.go | src/main_test.go | a-main.md | domain.go | src/deep/er/remain.txt | m/a/i/n"},
		{"MAIN_T", "src/main_test.go"},
		{"smn", "src/main.go | src/main_test.go | src/deep/er/remain.txt"},
		{"may", "Notes of May.md"},
		{"notes of m", "Notes of May.md"},
		{"xyzzy", ""},
		// Of paths of one length the last changed goes first.
		{".go", "main.go | domain.go | src/new.go | src/old.go | src/main.go | src/main_test.go"},
		// Letters may be anywhere in the path, in their order.
		{"deeprt", "src/deep/er/remain.txt"},
		{"real", "real/ | real/here.txt"},
		// A folder that is named comes first, and only what is in it counts.
		{"empty/", "empty/"},
		{"src/ma", "src/main.go | src/main_test.go | src/deep/er/remain.txt"},
		{"./src/deep/", "src/deep/ | src/deep/er/"},
		{"in/", "real/ | real/here.txt"},
		// What is no folder is a part of the path.
		{"er/rem", "src/deep/er/remain.txt"},
		{"src/domain", ""},
		// What is hidden, or full of what nobody means, is to be named.
		{"env", ""},
		{".en", ".env | sub/.hidden"},
		{".hid", "sub/.hidden"},
		{"ci.yml", ""},
		{".github/", ".github/ | .github/ci.yml"},
		{"index", ""},
		{"node_modules/ind", "node_modules/react/index.js"},
		{"pyc", "src/__pycache__/"},
		// Links are left out, and nothing outside is known.
		{"here", "real/here.txt"},
		{"out", ""},
		{"secret", ""},
		{"../out", ""},
		{"{OUT}/", ""},
		{"out/", ""},
		{"gone", ""},
		{"tmp-abc", ""},
		{"\x00", ""},
		{strings.Repeat("x", 5000) + "/y", ""},
	} {
		query := strings.ReplaceAll(c.query, "{OUT}", b.outside)
		if got := b.found(query, 50); got != c.want {
			t.Errorf("%.80q finds\n  %s, want\n  %s", c.query, got, c.want)
		}
	}
}

func TestFindOfNothingListsTheTop(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": "", "b/in.txt": "", "c.txt": "", ".hidden": "", "node_modules/x": ""})
	b.age(map[string]int{"a.txt": 3, "b": 1, "c.txt": 2, "node_modules": 4})
	if got := b.found("", 50); got != "b/ | c.txt | a.txt | node_modules/" {
		t.Errorf("the top is %s", got)
	}
	if got := b.found("", 2); got != "b/ | c.txt | +2" {
		t.Errorf("two of the top are %s", got)
	}
}

func TestFindOddNames(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("other systems refuse such names")
	}
	long := strings.Repeat("n", 250)
	b := newBench(t, map[string]string{
		"odd two words.txt": "", "odd\nline.txt": "", "odd\ttab.txt": "", "odd\rfolder/x-odd": "", "odd-\x1b[31m": "",
		"odd-\xe9.txt": "latin 1", "odd-u\u0308.txt": "", "odd-\u202egpj.txt": "", "odd-" + long: "", "odd-" + strings.Repeat("\xe9", 200): "",
		"-odd": "", "odd'\"\\`$x": "",
	})
	b.deep(long, 20)
	// Each can be opened by the name that is told.
	f, err := b.ws.Find(t.Context(), "odd", 50)
	if err != nil || f.Partial {
		t.Fatal(err, f.Partial)
	}
	told := map[string]bool{}
	for _, n := range f.Names {
		told[n.Path] = true
		c, err := b.ws.ReadFile(n.Path)
		if err != nil {
			t.Errorf("%q can't be read: %v", n.Path, err)
		}
		if n.Path == "odd-⟦xE9⟧.txt" && string(c.Data) != "latin 1" {
			t.Errorf("%q is another file", n.Path)
		}
	}
	for _, want := range []string{"odd two words.txt", "odd-␛[31m", "odd-⟦xE9⟧.txt", "odd-ü.txt", "odd-⟦U+202E⟧gpj.txt", "odd-" + long, "-odd", "odd'\"\\`$x"} {
		if want == "odd-ü.txt" {
			want = "odd-u\u0308.txt"
		}
		if !told[want] {
			t.Errorf("%q is not found", want)
		}
	}
	if len(told) != 8 {
		t.Errorf("found %d names: %+v", len(told), f.Names)
	}
	// Either Unicode form finds the other.
	if got := b.found("\u00fc.t", 5); got != "odd-u\u0308.txt" {
		t.Errorf("ü finds %s", got)
	}
	// A name that no path can hold any more is left out.
	f, err = b.ws.Find(t.Context(), "n/n", 50)
	if err != nil || len(f.Names) != 15 {
		t.Errorf("found %d of the deep folders, %v", len(f.Names), err)
	}
}

// deep makes folders of one name in each other, deeper than a path can say.
func (b *bench) deep(name string, levels int) {
	b.t.Helper()
	at, err := os.OpenRoot(b.dir)
	for range levels {
		if err != nil {
			b.t.Fatal(err)
		}
		if err = at.Mkdir(name, 0o755); err != nil {
			b.t.Fatal(err)
		}
		next, openErr := at.OpenRoot(name)
		at.Close()
		at, err = next, openErr
	}
	if err != nil {
		b.t.Fatal(err)
	}
	at.Close()
}

func TestFindEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]string{"a.txt": ""})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.ws.Find(ctx, "a", 5); !errors.Is(err, context.Canceled) {
		t.Errorf("under an ended context: %v", err)
	}
}

// fill makes a folder with n empty files, 100 in each of its own.
func (b *bench) fill(folder string, n int) {
	b.t.Helper()
	for i := range n {
		b.put(fmt.Sprintf("%s/%s/some-folder-%03d/a-file-of-the-workspace-%d.txt", b.dir, folder, i/100, i%100), "")
	}
}

func FuzzFind(f *testing.F) {
	for _, q := range []string{"", "a", "src/", "src/m", "../x", "/", "é\xff", "⟦xE9⟧", "a b", strings.Repeat("/", 50)} {
		f.Add(q)
	}
	b := newBench(f, map[string]string{"src/main.go": "", "odd \xe9\x1b.txt": "", "ü/x": "", "a-b_c.d": ""})
	f.Fuzz(func(t *testing.T, query string) {
		found, err := b.ws.Find(t.Context(), query, 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range found.Names {
			if _, err := b.ws.Resolve(n.Path); err != nil || strings.HasPrefix(n.Path, "..") {
				t.Errorf("%q finds %q: %v", query, n.Path, err)
			}
		}
	})
}

func BenchmarkFind10000(b *testing.B) {
	bn := newBench(b, nil)
	bn.fill("files", 10_000)
	for name, query := range map[string]string{"none": "xyzzy", "many": "file", "letters": "fwt", "folder": "files/some-folder-007/"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bn.ws.Find(b.Context(), query, 50); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
