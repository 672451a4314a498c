// Package sqlite keeps the state in one SQLite file. It implements the stores
// that rooms declare: [Sessions] for sessions and their rounds, [Blobs] for
// bytes under refs, [Answers] for answers of models, [Users] for users and
// tokens.
//
// A process writes through one connection, because two would starve each
// other, and reads through a few more that can't write. Readers see the last
// commit and never wait for the writer. A transaction is short: it is begun
// when all that goes into it is there, and nothing is waited for while it is
// open. What a method has returned from survives the death of the process; a
// loss of power can take the last moments, never more.
//
// Several processes may open the same file. Opening, and with it migration,
// happens under a lock on a file beside it.
//
// Life: [Open] opens and migrates; [DB.Close] waits for transactions under way.
// Nothing here starts a goroutine. Start reading at [Open]; how transactions
// run stands in pool.go, the tables in migrations.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"modernc.org/sqlite"
)

// Options configure [Open]. The zero value is complete.
type Options struct {
	// Version is the program's own. It is kept when the program migrates the
	// file, for the message of an older one that can't read it any more.
	Version string
	// MayMigrate says why the schema of a file that exists must not be changed
	// now; nil when it may. It is asked while no other process can open the file,
	// and must not open it itself.
	MayMigrate func(from, to int) error
	// Migrated is told that the schema of a file that exists was changed, and
	// where a copy of the file is as it was before.
	Migrated func(from, to int, copy string)
	// Readers is how many transactions read at once; 4 when 0.
	Readers int
}

// DB is an open state database. It is safe for concurrent use.
type DB struct {
	path    string
	writer  *pool
	readers *pool
	fault   atomic.Pointer[error] // see [DB.Fault]
}

// Open opens the database at path and brings its schema up to date. A file
// that doesn't exist is made, readable for its owner only, as is its folder.
// Waiting for another process that migrates it ends with ctx.
//
// A file of an older schema is copied first, beside itself under its name and
// .before- with the number of the new schema; the last two copies stay.
//
// The error says in words what is wrong; it is one of [ErrNewer], [ErrGap],
// [ErrDamaged], [ErrForeign], [ErrReadOnly] and [ErrFull] where these fit.
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	db, err := open(ctx, path, opts)
	if err != nil {
		return nil, fmt.Errorf("open the state database %s: %w", path, explain(err))
	}
	return db, nil
}

func open(ctx context.Context, path string, opts Options) (_ *DB, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if opts.Readers <= 0 {
		opts.Readers = 4
	}
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()

	w, err := sql.Open("sqlite", writerDSN(path))
	if err != nil {
		return nil, err
	}
	// The writer is opened before any reader: it alone can recover what a
	// process left that died while writing.
	db := &DB{path: path, writer: newPool(w, "BEGIN IMMEDIATE", 1)}
	db.writer.setup = setWriter
	if err := db.migrate(ctx, opts); err != nil {
		return nil, errors.Join(err, db.writer.close())
	}
	r, err := sql.Open("sqlite", readerDSN(path))
	if err != nil {
		return nil, errors.Join(err, db.writer.close())
	}
	db.readers = newPool(r, "BEGIN", opts.Readers)
	return db, nil
}

// Close waits for transactions under way and closes the file.
func (db *DB) Close() error {
	if err := errors.Join(db.readers.close(), db.writer.close()); err != nil {
		return fmt.Errorf("close the state database %s: %w", db.path, explain(err))
	}
	return nil
}

// Check reads the whole file and reports the first faults it finds.
func (db *DB) Check(ctx context.Context) error {
	var faults []error
	err := db.read(ctx, func(t *tx) error {
		return t.each("PRAGMA quick_check(10)", nil, func(scan func(...any) error) error {
			var line string
			if err := scan(&line); err != nil {
				return err
			}
			if line != "ok" {
				faults = append(faults, fmt.Errorf("%w: %s", ErrDamaged, line))
			}
			return nil
		})
	})
	if err = errors.Join(append(faults, err)...); err != nil {
		return fmt.Errorf("check the state database %s: %w", db.path, err)
	}
	return nil
}

// write runs f in a transaction of the one writer.
func (db *DB) write(ctx context.Context, f func(*tx) error) error {
	changed := false
	err := explain(db.writer.do(ctx, func(t *tx) error {
		err := f(t)
		changed = t.changed
		return err
	}))
	switch {
	case IsFault(err):
		db.fault.Store(&err)
	case err == nil && changed:
		db.fault.Store(nil)
	}
	return err
}

// Fault is why nothing could be written when something last was to be: what is
// wrong with the file, its folder or its disk ([IsFault]). It is nil from when
// something was written again, and before anything failed.
func (db *DB) Fault() error {
	if err := db.fault.Load(); err != nil {
		return *err
	}
	return nil
}

// Touch writes as little as can be written, to find out whether it can.
func (db *DB) Touch(ctx context.Context) error {
	return db.write(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO meta (key, value) VALUES ('touched', ?) ON CONFLICT DO UPDATE SET value = excluded.value", time.Now().UTC().Format(time.RFC3339Nano))
		return err
	})
}

// read runs f in a transaction that sees one state of the database throughout.
func (db *DB) read(ctx context.Context, f func(*tx) error) error {
	return explain(db.readers.do(ctx, f))
}

// prepareFile makes the folder and the file. A file that exists is not opened
// here: closing it again would take SQLite's locks away from other handles of
// this process.
func prepareFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return nil // another process was faster
		}
		if err != nil {
			return err
		}
		return f.Close()
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("it is a %s, not a file", kindOf(info.Mode()))
	case info.Mode().Perm()&0o077 != 0:
		// It holds conversations and digests of tokens.
		return os.Chmod(path, info.Mode().Perm()&0o700)
	}
	return nil
}

func kindOf(m fs.FileMode) string {
	if m.IsDir() {
		return "folder"
	}
	return "device, pipe or socket"
}

// writerDSN sets what durability and order rest on; a test
// reads each setting back, because SQLite ignores names that it doesn't know.
//
// The log may grow to 4000 pages (16 MB) before it is written back, four times
// SQLite's own bound: writing back is the one time when a turn waits for the
// disk, and pages that change in every turn are then written once for all.
func writerDSN(path string) string {
	return dsn(path, url.Values{
		"_pragma":    {"journal_mode(WAL)", "busy_timeout(5000)", "synchronous(NORMAL)", "foreign_keys(1)", "journal_size_limit(67108864)", "wal_autocheckpoint(4000)"},
		"_txlock":    {"immediate"},
		"_dqs":       {"0"},
		"_defensive": {"1"},
		"_error_rc":  {"1"},
	})
}

func readerDSN(path string) string {
	return dsn(path, url.Values{
		"mode":      {"ro"},
		"_pragma":   {"busy_timeout(5000)", "query_only(1)"},
		"_dqs":      {"0"},
		"_error_rc": {"1"},
	})
}

// setWriter completes the settings of the connection that writes.
//
// The file of the write-ahead log stays, empty, when the last connection
// closes: deleting it and making it anew costs each short command more than a
// transaction. And the pool waits for other processes, not SQLite.
func setWriter(conn any) error {
	c, ok := conn.(interface {
		sqlite.FileControl
		driver.ExecerContext
	})
	if !ok {
		return fmt.Errorf("a connection of type %T can't keep its log", conn)
	}
	if _, err := c.FileControlPersistWAL("main", 1); err != nil {
		return err
	}
	_, err := c.ExecContext(context.Background(), "PRAGMA busy_timeout = 0", nil)
	return err
}

// dsn is a file URI, in which no character of path has a meaning.
func dsn(path string, settings url.Values) string {
	p := filepath.ToSlash(path)
	if p[0] != '/' {
		p = "/" + p // C:/…
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: p, RawQuery: settings.Encode()}
	return u.String()
}
