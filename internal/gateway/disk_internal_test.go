package gateway

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDiskProblems(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	disks := map[string]space{}
	spaceOf := func(dir string) (space, bool, error) {
		s, ok := disks[dir]
		if !ok {
			return space{}, true, errors.New("input/output error")
		}
		return s, s.disk != 0, nil
	}
	var dirs []string
	for name, s := range map[string]space{"a": {1 << 20, 1}, "b": {1 << 20, 1}, "c": {0, 2}, "roomy": {1 << 30, 3}, "unknown": {}} {
		dir := filepath.Join(home, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		disks[dir] = s
		dirs = append(dirs, dir, dir)
	}
	// One disk is told of once, and what is no folder is for others to tell.
	got := diskProblems(append(dirs, file, filepath.Join(home, "later"), home), spaceOf)
	var text []string
	for _, p := range got {
		if p.Fix == "" {
			t.Errorf("%+v has no fix", p)
		}
		text = append(text, p.String())
	}
	all := strings.Join(text, "\n")
	if len(got) != 3 || strings.Count(all, "only 1 MiB left") != 1 || strings.Count(all, "only 0 MiB left") != 1 || strings.Count(all, "input/output error") != 1 {
		t.Errorf("the problems are:\n%s", all)
	}
}

// What this system tells is what a folder that was just made must have.
func TestSpaceOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, known, err := spaceOf(dir)
	if err != nil || known && (s.free == 0 || s.disk == 0) {
		t.Errorf("%s has %+v (%v)", dir, s, err)
	}
	if err := mayWrite(dir); err != nil {
		t.Error(err)
	}
	if _, known, err := spaceOf(filepath.Join(dir, "nowhere")); known || err == nil && s.disk != 0 {
		t.Errorf("a folder that is not there has room (%v)", err)
	}
}
