package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/store/sqlite"
)

func open(t testing.TB, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func fresh(t testing.TB) *sqlite.DB { return open(t, filepath.Join(t.TempDir(), "state.db")) }

func TestSessions(t *testing.T) {
	t.Parallel()
	sessiontest.Run(t, func(t *testing.T) session.Store { return fresh(t).Sessions() })
}
