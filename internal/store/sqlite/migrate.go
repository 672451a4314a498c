package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// schemaVersion is the number of the last migration, which sets the file's
	// user_version to it.
	schemaVersion = 15
	// applicationID marks the file as GoClaw's: "Claw".
	applicationID = 0x436C6177
)

// kept is what a file says of its schema.
type kept struct {
	schema  int      // 0 before the first migration
	app     int      // whose file it is
	tables  int      // how many there are, goose's own aside
	by      string   // the version that migrated it last
	missing []string // numbers of migrations up to schema that were not made
}

// migrate brings the schema up to date. The caller holds the lock beside the
// file. A file that is up to date costs one short transaction.
func (db *DB) migrate(ctx context.Context, opts Options) error {
	k, err := db.look(ctx)
	switch {
	case err != nil:
		return err
	case k.tables > 0 && k.app != applicationID:
		return ErrForeign
	case k.schema > schemaVersion:
		by := "a version without a name"
		if k.by != "" {
			by = "version " + k.by
		}
		return fmt.Errorf("%w (schema %d, made by %s; this one knows schema %d)", ErrNewer, k.schema, by, schemaVersion)
	case len(k.missing) > 0:
		// They are not made up for: what came after them may not have been
		// written for what they leave, and each sets the schema's number.
		return fmt.Errorf("%w (it is without migration %s)", ErrGap, strings.Join(k.missing, ", "))
	case k.schema == schemaVersion:
		return nil
	}
	backup := ""
	if k.tables > 0 {
		if opts.MayMigrate != nil {
			if err := opts.MayMigrate(k.schema, schemaVersion); err != nil {
				return err
			}
		}
		if backup, err = db.keepCopy(ctx); err == nil {
			err = db.dropCopies()
		}
		if err != nil {
			return fmt.Errorf("keep a copy before the migration from schema %d to %d: %w", k.schema, schemaVersion, err)
		}
	}
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	if err := db.upgrade(ctx, sub); err != nil {
		return fmt.Errorf("migrate from schema %d to %d: %w", k.schema, schemaVersion, err)
	}
	err = db.writer.do(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO meta (key, value) VALUES ('migrated_by', ?) ON CONFLICT DO UPDATE SET value = excluded.value", opts.Version)
		return err
	})
	if err == nil && backup != "" && opts.Migrated != nil {
		opts.Migrated(k.schema, schemaVersion, backup)
	}
	return err
}

// look reads what the file says of its schema.
func (db *DB) look(ctx context.Context) (k kept, err error) {
	err = db.writer.do(ctx, func(t *tx) error {
		err := errors.Join(
			t.row("PRAGMA user_version", nil, []any{&k.schema}),
			t.row("PRAGMA application_id", nil, []any{&k.app}),
			// A process that died at the very start may have left goose's own tables.
			t.row("SELECT count(*) FROM sqlite_schema WHERE tbl_name NOT IN ('goose_db_version', 'sqlite_sequence')", nil, []any{&k.tables}),
		)
		switch {
		case err != nil || k.app != applicationID:
			return err
		case k.schema > schemaVersion:
			// What else is in there is not known; without a name it is told, too.
			if t.row("SELECT value FROM meta WHERE key = 'migrated_by'", nil, []any{&k.by}) != nil {
				k.by = ""
			}
			return nil
		}
		made := map[int]bool{}
		err = t.each("SELECT version_id FROM goose_db_version", nil, func(scan func(...any) error) error {
			var version int
			err := scan(&version)
			made[version] = true
			return err
		})
		for v := 1; v <= k.schema; v++ {
			if !made[v] {
				k.missing = append(k.missing, strconv.Itoa(v))
			}
		}
		if err == nil && k.schema == schemaVersion {
			// SQLite opens a file that can't be written for reading, and says so
			// only when it is to be written. This changes nothing.
			_, err = t.exec("DELETE FROM meta WHERE FALSE")
		}
		return err
	})
	return k, err
}

// upgrade runs the migrations that are missing, each in its transaction, on a
// handle of its own: the pool's must not know statements of the old schema.
func (db *DB) upgrade(ctx context.Context, files fs.FS) error {
	h, err := db.handle()
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, h, files,
		goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err == nil {
		_, err = p.Up(ctx)
	}
	return errors.Join(err, h.Close())
}

// handle opens the file for what the pool can't do.
func (db *DB) handle() (*sql.DB, error) {
	h, err := sql.Open("sqlite", writerDSN(db.path))
	if err == nil {
		h.SetMaxOpenConns(1)
	}
	return h, err
}
