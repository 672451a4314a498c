package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/store/sqlite"
	"github.com/goclaw/goclaw/internal/store/storetest"
)

// older makes a file of an older schema that holds one session.
func older(t *testing.T, schema int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	storetest.Older(t, "migrations", path, schema,
		"INSERT INTO sessions (id, agent, name, title, origin, caller, caller_name, caller_role, caller_human, created, updated, turns, status)"+
			" VALUES (1, 'main', 'old', 'Old', 'chat', 'ada', '', 'admin', 1, 1, 1, 0, 'done')")
	return path
}

// schemaOf is the version of a file's schema.
func schemaOf(t *testing.T, path string) (version int) {
	t.Helper()
	if err := raw(t, path).QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}

// copies lists what stands beside a file under its name and a number.
func copies(t *testing.T, path string) []string {
	t.Helper()
	found, err := filepath.Glob(path + ".*")
	if err != nil {
		t.Fatal(err)
	}
	found = slices.DeleteFunc(found, func(name string) bool { return strings.HasSuffix(name, ".lock") })
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	return found
}

// A migration keeps what was there before it, and says where.
func TestAMigrationKeepsACopy(t *testing.T) {
	t.Parallel()
	path := older(t, 1)
	current := schemaOf(t, newFile(t))
	for _, name := range []string{".before-2", ".before-3", ".before-x", fmt.Sprintf(".before-%d.part", current)} {
		if err := os.WriteFile(path+name, []byte("earlier"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var told []string
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Version: "v2", Migrated: func(from, to int, copy string) {
		told = append(told, fmt.Sprint(from, to, copy))
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	kept := fmt.Sprintf("%s.before-%d", path, current)
	if want := []string{fmt.Sprint(1, current, kept)}; !slices.Equal(told, want) {
		t.Errorf("it is told %q, want %q", told, want)
	}
	// Two are kept; what has another name is somebody's own.
	if got, want := copies(t, path), slices.Sorted(slices.Values([]string{"state.db.before-3", filepath.Base(kept), "state.db.before-x"})); !slices.Equal(got, want) {
		t.Errorf("beside the file are %q, want %q", got, want)
	}
	if v := schemaOf(t, path); v != current {
		t.Errorf("the file has schema %d", v)
	}
	if v := schemaOf(t, kept); v != 1 {
		t.Errorf("the copy has schema %d", v)
	}
	if info, err := os.Stat(kept); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the copy is %v (%v)", info.Mode(), err)
	}
	// It can be opened in place of the file, and is migrated like it.
	if begin(t, open(t, kept), "run"); schemaOf(t, kept) != current {
		t.Errorf("the copy has schema %d after it was opened", schemaOf(t, kept))
	}
}

// newFile is a new file of the schema of this version.
func newFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{
		MayMigrate: func(from, to int) error { return fmt.Errorf("a new file was to be migrated from %d to %d", from, to) },
		Migrated:   func(from, to int, _ string) { t.Errorf("a new file was migrated from %d to %d", from, to) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if beside := copies(t, path); len(beside) > 0 {
		t.Errorf("beside a new file are %q", beside)
	}
	return path
}

// Who opens a file can forbid that its schema is changed: then nothing is.
func TestAMigrationCanBeForbidden(t *testing.T) {
	t.Parallel()
	path := older(t, 2)
	current := schemaOf(t, newFile(t))
	forbidden := errors.New("somebody is at work on it")
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{MayMigrate: func(from, to int) error {
		if from != 2 || to != current {
			t.Errorf("asked for a migration from %d to %d", from, to)
		}
		return forbidden
	}})
	if !errors.Is(err, forbidden) {
		t.Errorf("opened with %v", err)
	}
	if v, beside := schemaOf(t, path), copies(t, path); v != 2 || len(beside) > 0 {
		t.Errorf("the file has schema %d, and beside it are %q", v, beside)
	}
}

// A copy that can't be made keeps the file from being changed.
func TestNothingIsMigratedWithoutACopy(t *testing.T) {
	t.Parallel()
	path := older(t, 1)
	current := schemaOf(t, newFile(t))
	if err := os.Mkdir(fmt.Sprintf("%s.before-%d", path, current), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "copy") {
		t.Errorf("opened with %v", err)
	}
	if v, beside := schemaOf(t, path), copies(t, path); v != 1 || len(beside) != 1 {
		t.Errorf("the file has schema %d, and beside it are %q", v, beside)
	}
}

// A file whose migrations were not made in order can't be brought up to date.
func TestOpenWithGaps(t *testing.T) {
	t.Parallel()
	path := older(t, 1)
	raw(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (3, 1)", "PRAGMA user_version = 3").Close()
	refuse(t, path, sqlite.ErrGap, "without migration 2)", "move it away")
	// It may also look as if it were up to date.
	current := schemaOf(t, newFile(t))
	for v := 4; v <= current; v++ {
		raw(t, path, fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, 1)", v), fmt.Sprintf("PRAGMA user_version = %d", v)).Close()
	}
	refuse(t, path, sqlite.ErrGap, "without migration 2)")
	if beside := copies(t, path); len(beside) > 0 {
		t.Errorf("beside it are %q", beside)
	}
}
