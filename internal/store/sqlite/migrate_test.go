package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/store/sqlite"
)

// TestSchemaVersion: a file is up to date when it has the version that the last
// migration gives it; else each start would migrate it anew.
func TestSchemaVersion(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var version, last int
	if err := raw(t, path).QueryRow("SELECT (SELECT user_version FROM pragma_user_version), (SELECT max(version_id) FROM goose_db_version)").Scan(&version, &last); err != nil {
		t.Fatal(err)
	}
	if version != last {
		t.Errorf("a new file has user_version %d, and its last migration is %d", version, last)
	}
	// The program knows the same number: one more is of a newer program.
	raw(t, path, fmt.Sprintf("PRAGMA user_version = %d", version+1)).Close()
	refuse(t, path, sqlite.ErrNewer, fmt.Sprintf("schema %d", version))
}

// TestUpgrade: what the first version stored is there after the upgrade.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	old := raw(t, path, "PRAGMA foreign_keys = 1")
	p, err := goose.NewProvider(goose.DialectSQLite3, old, os.DirFS("migrations"), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	secret, k := auth.NewToken()
	made := time.Date(2025, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, s := range []struct {
		query string
		args  []any
	}{
		{"INSERT INTO meta VALUES ('migrated_by', 'old')", nil},
		{"INSERT INTO users (id, name, role, created) VALUES ('ada', '', 'admin', ?)", []any{made.UnixNano()}},
		{"INSERT INTO tokens (sum, id, user, note, role, created) VALUES (?, ?, 'ada', 'laptop', '', ?)", []any{k.Sum[:], k.ID, made.UnixNano()}},
		{"INSERT INTO sessions (id, agent, name, title, origin, caller, caller_name, caller_role, caller_human, created, updated, turns, status)" +
			" VALUES (1, 'main', 'work', 'hi', 'chat', 'ada', '', 'admin', 1, ?, ?, 1, 'done')", []any{made.UnixNano(), made.UnixNano()}},
		{
			"INSERT INTO turns (session, number, run, status, model, origin, caller, caller_name, caller_role, caller_human, started, ended, message)" +
				" VALUES (1, 1, 'run1', 'done', 'm', 'chat', 'ada', '', 'admin', 1, ?, ?, ?)",
			[]any{made.UnixNano(), made.UnixNano(), `{"role":"user","parts":[{"kind":"text","text":"hi"}]}`},
		},
	} {
		if _, err := old.Exec(s.query, s.args...); err != nil {
			t.Fatalf("%s: %v", s.query, err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{Version: "new"})
		if err != nil {
			t.Fatal(err)
		}
		g, err := auth.Verify(t.Context(), db.Users(), secret, made)
		if err != nil || g.Token.Kind != auth.KindAPI || g.Token.Note != "laptop" || g.ID != "ada" {
			t.Errorf("a token from before grants %+v (%v)", g, err)
		}
		runs, _, err := db.Sessions().Runs(t.Context(), session.RunFilter{})
		if err != nil || len(runs) != 1 || runs[0].Run != "run1" || runs[0].Message.Text() != "hi" {
			t.Errorf("runs from before: %+v (%v)", runs, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUpgradeCountsWhatWasCalled: what models were called before calls were
// entered counts as far as it is there, each call once, and its cost is unknown.
func TestUpgradeCountsWhatWasCalled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	old := raw(t, path, "PRAGMA foreign_keys = 1")
	p, err := goose.NewProvider(goose.DialectSQLite3, old, os.DirFS("migrations"), goose.WithDisableGlobalRegistry(true))
	if err == nil {
		_, err = p.UpTo(t.Context(), 5)
	}
	if err != nil {
		t.Fatal(err)
	}
	const (
		day      = 86400_000_000_000
		who      = "'chat', 'ada', '', 'user', 1, 0"
		sessions = "INSERT INTO sessions (id, agent, name, title, status, origin, caller, caller_name, caller_role, caller_human, created, updated) VALUES "
		turns    = "INSERT INTO turns (id, session, number, run, copied, seeded, status, model, message, origin, caller, caller_name, caller_role, caller_human, started) VALUES "
		rounds   = "INSERT INTO rounds (turn, number, replied, finish, reply, message, request) VALUES "
	)
	round := func(turn, number, at int, finish, provider string, input int) string {
		return fmt.Sprintf("(%d, %d, %d, '%s', '{\"usage\":{\"input\":%d,\"cached\":1,\"output\":2}}', '{}', '{\"target\":{\"provider\":\"%s\",\"model\":\"m\"}}')",
			turn, number, at, finish, input, provider)
	}
	for _, query := range []string{
		sessions + "(1, 'main', 'work', '', 'done', " + who + ", 0), (2, 'main', 'fork', '', 'done', " + who + ", 0), (3, 'main', 'again', '', 'done', " + who + ", 0), (4, 'main', 'idle', '', 'done', " + who + ", 0)",
		turns + "(1, 1, 1, 'seed:1:1', NULL, 1, 'done', '', '{}', " + who + "), (2, 1, 2, 'run1', NULL, 0, 'done', '', '{}', " + who + ")," +
			"(3, 2, 1, 'fork:2:1', 'run1', 0, 'done', '', '{}', " + who + "), (4, 2, 2, 'fork:2:2', 'gone', 0, 'done', '', '{}', " + who + ")," +
			"(5, 3, 1, 'fork:3:1', 'gone', 0, 'done', '', '{}', " + who + "), (6, 3, 2, 'run2', NULL, 0, 'done', '', '{}', " + who + ")," +
			"(7, 4, 1, 'run3', NULL, 0, 'limited', '', '{}', " + who + ")",
		rounds + round(1, 1, 0, "stop", "", 0) + "," + round(2, 2, day, "tool_calls", "openai", 10) + "," + round(2, 3, 2*day, "stop", "openai", 20) + "," +
			round(3, 1, day, "stop", "openai", 10) + "," + round(4, 2, day, "stop", "claude", 100) + "," + round(5, 1, day, "stop", "claude", 100) + "," +
			round(6, 2, day, "stop", "openai", 1000) + "," + round(7, 1, day, "host", "", 0),
	} {
		if _, err := old.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := budget.Make(t.Context(), db.Ledger(), budget.Query{By: []budget.By{budget.ByRun, budget.BySession, budget.ByModel, budget.ByPerson, budget.ByDay}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range r.Rows {
		got = append(got, fmt.Sprintf("%s %s %s/%s %s %s %d in %d unpriced", row.Day, row.Run, row.Agent, row.Session, row.Model, row.Person, row.Usage.Input, row.Unpriced))
	}
	want := []string{
		"1970-01-02 run2 main/again openai/m ada 1000 in 1 unpriced",
		"1970-01-02 gone main/ claude/m ada 100 in 1 unpriced",
		"1970-01-02 run1 main/work openai/m ada 10 in 1 unpriced",
		"1970-01-03 run1 main/work openai/m ada 20 in 1 unpriced",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("entered (-want +got):\n%s", d)
	}
	for id, known := range map[string]bool{"work": false, "fork": true, "again": false, "idle": true} {
		s, err := db.Sessions().Session(t.Context(), session.Key{Agent: "main", ID: id})
		if err != nil || (s.USD != nil) != known {
			t.Errorf("session %s cost %v (%v)", id, s.USD, err)
		}
	}
}
