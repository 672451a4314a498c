package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/store/sqlite"
)

// raw opens a file as any program would.
func raw(t *testing.T, path string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return db
}

func refuse(t *testing.T, path string, want error, words ...string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err == nil {
		db.Close()
		t.Fatalf("%s was opened", path)
	}
	if want != nil && !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
	for _, w := range append(words, path) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q doesn't say %q", err, w)
		}
	}
}

func TestOpenMakesPrivateFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps permissions elsewhere")
	}
	dir := filepath.Join(t.TempDir(), "home", "state")
	path := filepath.Join(dir, "state.db")
	db := open(t, path)
	begin(t, db, "run")
	mode := func(name string) fs.FileMode {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	for name, want := range map[string]fs.FileMode{dir: 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, path + ".lock": 0o600} {
		if got := mode(name); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, path)
	if got := mode(path); got != 0o600 {
		t.Errorf("a file that others could read has mode %o after opening", got)
	}
}

// begin stores something.
func begin(t *testing.T, db *sqlite.DB, run string) {
	t.Helper()
	h := session.NewHistory(db.Sessions(), nil)
	if _, err := h.Begin(t.Context(), sessiontest.AgentTurn(session.Key{Agent: "main", ID: run}, run, "hi")); err != nil {
		t.Fatal(err)
	}
}

func TestOpenAnyPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b?c#d%41&e=é;'\".db", ":memory:", "file:x.db", "?mode=memory"} {
		path := filepath.Join(t.TempDir(), name)
		db := open(t, path)
		begin(t, db, "run")
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s is not where the database is (%v)", path, err)
		}
	}
}

func TestOpenAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	first := open(t, path)
	begin(t, first, "one")
	// Beside the first, as another process does.
	second := open(t, path)
	begin(t, second, "two")
	for _, db := range []*sqlite.DB{first, second} {
		list, _, err := db.Sessions().Sessions(t.Context(), session.Filter{})
		if err != nil || len(list) != 2 {
			t.Errorf("%d sessions, error %v", len(list), err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	refuse(t, dir, nil, "folder")
	refuse(t, filepath.Join(file("file", ""), "state.db"), nil, "not a directory")
	refuse(t, file("text.db", strings.Repeat("this is no database\n", 100)), sqlite.ErrDamaged)

	foreign := filepath.Join(dir, "foreign.db")
	raw(t, foreign, "CREATE TABLE customers (name)")
	refuse(t, foreign, sqlite.ErrForeign)

	newer := filepath.Join(dir, "newer.db")
	open(t, newer)
	raw(t, newer, "UPDATE meta SET value = 'v9.1.0' WHERE key = 'migrated_by'", "PRAGMA user_version = 9999")
	refuse(t, newer, sqlite.ErrNewer, "9999", "made by version v9.1.0")
	raw(t, newer, "UPDATE meta SET value = '' WHERE key = 'migrated_by'")
	refuse(t, newer, sqlite.ErrNewer, "made by a version without a name")

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlite.Open(cancelled, filepath.Join(dir, "late.db"), sqlite.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("opening with a context that ended: %v", err)
	}
}

func TestOpenWithoutPermission(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("permissions don't bind this user")
	}
	path := filepath.Join(t.TempDir(), "state.db")
	// It is closed first: SQLite would use a descriptor again that it has.
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	refuse(t, path, sqlite.ErrReadOnly)

	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	refuse(t, filepath.Join(closed, "state.db"), fs.ErrPermission)
}

// TestOpenUnfinished: a process died at the very start of a migration.
func TestOpenUnfinished(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	raw(t, path, "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, "+
		"is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)").Close()
	begin(t, open(t, path), "run")
}

// TestOpenOlder: a file of the first schema is brought up to date with what is
// in it.
func TestOpenOlder(t *testing.T) {
	t.Parallel()
	first, err := os.ReadFile("migrations/00001_begin.sql")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "state.db")
	raw(t, path, "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, "+
		"is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1), (1, 1)",
		string(first), "INSERT INTO meta (key, value) VALUES ('migrated_by', 'v1')",
		"INSERT INTO sessions (id, agent, name, title, origin, caller, caller_name, caller_role, caller_human, created, updated, turns, status)"+
			" VALUES (1, 'main', 'old', 'Old', 'chat', 'ada', '', 'admin', 1, 1, 1, 1, 'running')",
		"INSERT INTO turns (session, number, run, status, model, origin, caller, caller_name, caller_role, caller_human, started, message)"+
			` VALUES (1, 1, 'was', 'running', '', 'chat', 'ada', '', 'admin', 1, 1, '{"role":"user","parts":[{"kind":"text","text":"hi"}]}')`,
	).Close()
	db := open(t, path)
	begin(t, db, "run")
	turns, err := db.Sessions().Turns(t.Context(), session.Key{Agent: "main", ID: "old"}, 1, 0, session.Whole)
	if err != nil || len(turns) != 1 || turns[0].Message.Text() != "hi" {
		t.Errorf("the old turns are %+v (%v)", turns, err)
	}
	if at, ok, err := db.Inbox().Find(t.Context(), "was"); err != nil || !ok || at.Waiting || at.Caller != "ada" {
		t.Errorf("the old run is found at %+v, %v (%v)", at, ok, err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path)
	for i := range 200 { // so that the roots of all tables lie in the first half
		begin(t, db, fmt.Sprint("run", i))
	}
	if err := db.Check(t.Context()); err != nil {
		t.Errorf("a sound file: %v", err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	raw(t, path, "PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM INTO '"+damaged+"'")
	content, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	// Opening reads the schema and the roots of tables, which the file begins with.
	for i := len(content) / 2 / 4096 * 4096; i < len(content)-4096; i += 3 * 4096 {
		copy(content[i:], strings.Repeat("damage", 100))
	}
	if err := os.WriteFile(damaged, content, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := open(t, damaged)
	if err := broken.Check(t.Context()); !errors.Is(err, sqlite.ErrDamaged) {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Sessions().Unfinished(t.Context()); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("reading after closing: %v", err)
	}
	if err := db.Sessions().Rename(t.Context(), session.Key{}, ""); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("writing after closing: %v", err)
	}
}
