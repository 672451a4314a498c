package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A folder that was listed may be gone, or something else, once the sweep
// comes to it.
func TestSweepOfWhatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, name := range []string{"gone", "gone/below", "file", "file/below", "link"} {
		if got := w.sweepDir(name, 10, time.Now()); got != nil {
			t.Errorf("sweepDir(%q) = %v, want nothing", name, got)
		}
	}
}
