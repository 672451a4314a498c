package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/store/sqlite"
)

// TestLogStaysEmpty checks that closing leaves the log behind with nothing in
// it: all that was stored is in the file itself, which can be copied alone.
func TestLogStaysEmpty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state.db")
	for n := range 3 {
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		k := session.Key{Agent: "main", ID: "kept"}
		thread, err := sessiontest.TurnWithTool(t.Context(), session.NewHistory(db.Sessions(), nil), k, string(rune('a'+n)), "hi")
		if err != nil {
			t.Fatal(err)
		}
		if want := 4*n + 1; len(thread.Messages) != want {
			t.Errorf("turn %d begins with %d messages, want %d", n, len(thread.Messages), want)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path + "-wal"); err != nil || info.Size() != 0 {
			t.Errorf("the log after closing: %v, %v", info, err)
		}
		// A copy of the file alone holds everything.
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(dir, string(rune('a'+n))+".db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
