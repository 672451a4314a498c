package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// schemaVersion is the number of the last migration, which sets the file's
	// user_version to it.
	schemaVersion = 1
	// applicationID marks the file as GoClaw's: "Claw".
	applicationID = 0x436C6177
)

// migrate brings the schema up to date. The caller holds the lock beside the
// file. A file that is up to date costs one short transaction.
func (db *DB) migrate(ctx context.Context, version string) error {
	var found, app, tables int
	var by string
	err := db.writer.do(ctx, func(t *tx) error {
		err := errors.Join(
			t.row("PRAGMA user_version", nil, []any{&found}),
			t.row("PRAGMA application_id", nil, []any{&app}),
			// A process that died at the very start may have left goose's own tables.
			t.row("SELECT count(*) FROM sqlite_schema WHERE tbl_name NOT IN ('goose_db_version', 'sqlite_sequence')", nil, []any{&tables}),
		)
		if err == nil && app == applicationID && found == schemaVersion {
			// SQLite opens a file that can't be written for reading, and says so
			// only when it is to be written. This changes nothing.
			_, err = t.exec("DELETE FROM meta WHERE FALSE")
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case tables > 0 && app != applicationID:
		return ErrForeign
	case found > schemaVersion:
		err := db.writer.do(ctx, func(t *tx) error {
			return t.row("SELECT value FROM meta WHERE key = 'migrated_by'", nil, []any{&by})
		})
		if err != nil {
			by = "unknown"
		}
		return fmt.Errorf("%w (schema %d, made by version %s; this one knows schema %d)", ErrNewer, found, by, schemaVersion)
	case found == schemaVersion:
		return nil
	}
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	if err := db.upgrade(ctx, sub); err != nil {
		return fmt.Errorf("migrate from schema %d to %d: %w", found, schemaVersion, err)
	}
	return db.writer.do(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO meta (key, value) VALUES ('migrated_by', ?) ON CONFLICT DO UPDATE SET value = excluded.value", version)
		return err
	})
}

// upgrade runs the migrations that are missing, each in its transaction, on a
// handle of its own: the pool's must not know statements of the old schema.
func (db *DB) upgrade(ctx context.Context, files fs.FS) error {
	h, err := sql.Open("sqlite", writerDSN(db.path))
	if err != nil {
		return err
	}
	h.SetMaxOpenConns(1)
	p, err := goose.NewProvider(goose.DialectSQLite3, h, files,
		goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err == nil {
		_, err = p.Up(ctx)
	}
	return errors.Join(err, h.Close())
}
