// Package sqlitetest gives tests a state database. Making one runs every
// migration; copying one that is empty is many times faster, above all under
// the race detector.
//
// It is imported by tests only. Start reading at [Open].
package sqlitetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/goclaw/goclaw/internal/store/sqlite"
)

// Open opens the database at path until the test ends, and makes an empty one
// when there is none.
func Open(t testing.TB, path string) *sqlite.DB {
	t.Helper()
	if err := Make(path); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
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

// Make puts an empty database at path unless a file is there.
func Make(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b, err := empty()
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		return fmt.Errorf("make an empty database: %w", err)
	}
	return nil
}

// empty is the file of a database without anything in it.
var empty = sync.OnceValues(func() (b []byte, err error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "state.db")
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
