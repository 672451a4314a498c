package archtest

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the faults of the fixtures anew")

// TestRepository holds this repository against every rule.
func TestRepository(t *testing.T) {
	t.Parallel()
	tree, err := load(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	if tree.dirs["internal/archtest"] == nil {
		t.Fatal("the tree that was read is not this repository")
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			faults := r.faults(tree, &goclaw)
			for _, f := range faults {
				t.Errorf("%s: %s", f.Where, f.What)
			}
			if len(faults) > 0 {
				t.Logf("why there is this rule: %s", r.reason)
			}
		})
	}
}

// TestRules shows the rules small trees. Each testdata/*.txtar is a tree; its file "faults" says what is to be found in
// it and nothing else (clean.txtar has none although it makes use of every exception), its file "policy" has the lines
// of the lists that name single packages. All else is the policy of this repository.
func TestRules(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string]bool{}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files := fstest.MapFS{}
		for _, f := range archive.Files {
			files[f.Name] = &fstest.MapFile{Data: f.Data}
		}
		tree, err := load(files)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got strings.Builder
		for _, f := range check(tree, fixturePolicy(t, files)) {
			broken[f.Rule] = true
			got.WriteString(f.String() + "\n")
		}
		at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "faults" })
		if at < 0 {
			t.Fatalf("%s has no file named faults", name)
		}
		if *update {
			archive.Files[at].Data = []byte(got.String())
			if err := os.WriteFile(name, txtar.Format(archive), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want := string(archive.Files[at].Data)
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got.String(), "\n")); diff != "" {
			t.Errorf("%s: faults (-want +got):\n%s", name, diff)
		}
	}
	for _, r := range rules {
		if !broken[r.name] {
			t.Errorf("no tree in testdata breaks the rule %q", r.name)
		}
	}
}

// fixturePolicy is the repository's policy with the lists that the tree's own file names.
func fixturePolicy(t *testing.T, files fstest.MapFS) *policy {
	t.Helper()
	p := goclaw
	p.goroutines, p.large = map[string]string{}, map[string]string{}
	// Small limits keep the trees small.
	p.limits = limits{exported: 5, function: 10, file: 50}
	own := files["policy"]
	if own == nil {
		return &p
	}
	for line := range strings.Lines(string(own.Data)) {
		list, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		key, reason, ok := strings.Cut(rest, " ")
		switch {
		case ok && list == "goroutines":
			p.goroutines[key] = reason
		case ok && list == "large":
			p.large[key] = reason
		default:
			t.Fatalf("policy: %q is not: goroutines or large, a package or a thing in it, a reason", line)
		}
	}
	return &p
}

// TestPolicy holds the policy itself: patterns that match nothing they should are easy to write.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, c := range goclaw.closed {
		for _, dir := range slices.Concat(c.dirs, c.only) {
			mustBePlanned(t, dir)
		}
	}
	for _, i := range goclaw.importers {
		for _, dir := range slices.Concat(i.dirs, i.by) {
			mustBePlanned(t, dir)
		}
	}
	for _, c := range goclaw.confined {
		for _, dir := range c.only {
			mustBePlanned(t, dir)
		}
		if c.reason == "" {
			t.Errorf("confined %s: no reason", c.path)
		}
	}
	for dir, reason := range goclaw.goroutines {
		mustBePlanned(t, dir)
		if reason == "" {
			t.Errorf("goroutines %s: no reason", dir)
		}
	}
	for key, reason := range goclaw.large {
		mustBePlanned(t, room(key))
		if reason == "" {
			t.Errorf("large %s: no reason", key)
		}
	}
	for i, line := range goclaw.order {
		for _, pattern := range line {
			for _, earlier := range goclaw.order[:i] {
				if slices.Contains(earlier, pattern) {
					t.Errorf("order: %s stands on two lines", pattern)
				}
			}
		}
	}
}

func mustBePlanned(t *testing.T, dir string) {
	t.Helper()
	_, ok := goclaw.line(dir)
	ok = ok || slices.ContainsFunc(goclaw.order, func(line []string) bool {
		return slices.ContainsFunc(line, func(planned string) bool { return matches(dir, planned) })
	})
	if !ok {
		t.Errorf("%s has no line in the order", dir)
	}
}

// TestLibc compares go.mod with the go.mod of the SQLite that it requires.
func TestLibc(t *testing.T) {
	t.Parallel()
	ours, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, &stderr)
	}
	sqlites, err := os.ReadFile(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	if err := sameLibc(parseGoMod(ours), parseGoMod(sqlites)); err != nil {
		t.Error(err)
	}
	moved := bytes.ReplaceAll(sqlites, []byte("modernc.org/libc v"), []byte("modernc.org/libc v9"))
	if sameLibc(parseGoMod(ours), parseGoMod(moved)) == nil {
		t.Error("another version of libc in SQLite's go.mod was not noticed")
	}
}

func TestParseGoMod(t *testing.T) {
	t.Parallel()
	got := parseGoMod([]byte(`module example.com/m

go 1.26.0

require example.com/one v1.0.0 // indirect

require (
	example.com/two/v2 v2.1.0
	example.com/three v0.1.0 // indirect; kept
	example.com/four v0.0.1 // the last good one
)

exclude example.com/two/v2 v2.0.0

tool (
	example.com/one/cmd/x
)

tool example.com/two/v2/cmd/y
`))
	want := goMod{
		versions: map[string]string{
			"example.com/one": "v1.0.0", "example.com/two/v2": "v2.1.0", "example.com/three": "v0.1.0", "example.com/four": "v0.0.1",
		},
		direct: []string{"example.com/two/v2", "example.com/four"},
		tools:  []string{"example.com/one/cmd/x", "example.com/two/v2/cmd/y"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(goMod{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, dir string
		want         bool
	}{
		{".", ".", true},
		{".", "cmd", false},
		{"internal/tools/*", "internal/tools/text", true},
		{"internal/tools/*", "internal/tools", false},
		{"internal/tools/*", "internal/tools/text/inner", false},
		{"scripts/**", "scripts", true},
		{"scripts/**", "scripts/load/driver", true},
		{"scripts/**", "scriptsx", false},
	}
	for _, test := range tests {
		if got := matches(test.pattern, test.dir); got != test.want {
			t.Errorf("matches(%q, %q) = %v", test.pattern, test.dir, got)
		}
	}
}
