// Package storetest makes state databases as older versions of the program
// left them, for the tests of whoever opens them. It owns no migration: it runs
// those of the store up to a point. What it makes belongs to the test that asks
// and goes with its folder; nothing stays open.
//
// Start reading at [Older].
package storetest

import (
	"database/sql"
	"os"
	"testing"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver
)

// Older makes the file path with the schema that a version of the program had
// whose last migration was number schema; migrations is their folder. The file
// is empty but for what statements put into it.
func Older(t testing.TB, migrations, path string, schema int64, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	p, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS(migrations), goose.WithDisableGlobalRegistry(true))
	if err == nil {
		_, err = p.UpTo(t.Context(), schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append([]string{"PRAGMA journal_mode = WAL", "INSERT INTO meta (key, value) VALUES ('migrated_by', 'v1')"}, statements...) {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
