// Package names reads the names that a SQLite state database holds, for the
// completion of a command line.
//
// A key that is pressed must change nothing and wait for nobody. So the file is
// opened for reading alone, without the lock beside it, and is not brought up
// to date; what stands here is asked of columns that the schema has had for
// long. When it can't be asked, that is an error that its caller keeps to
// itself.
//
// Life: [Open], some questions, [DB.Close]. Start reading at [Open].
package names

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver
)

// Name is something that can be named, with what it is in a few words.
type Name struct {
	Name string
	Note string
}

// most is how many names an answer has at most.
const most = 100

// DB is an open state database.
type DB struct{ db *sql.DB }

// Open opens the database at path. A file that isn't there is an error.
func Open(path string) (*DB, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read names: %w", err)
	}
	settings := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(100)", "query_only(1)"}}
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		// Nobody has it open, and SQLite would make the files that go with it.
		settings = url.Values{"mode": {"ro"}, "immutable": {"1"}}
	}
	p := filepath.ToSlash(path)
	if p[0] != '/' {
		p = "/" + p // C:/…
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: p, RawQuery: settings.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, fmt.Errorf("read names: %w", err)
	}
	return &DB{db}, nil
}

// Close closes the file.
func (d *DB) Close() error { return d.db.Close() }

// People are the accounts, with their roles.
func (d *DB) People(ctx context.Context) ([]Name, error) {
	return d.list(ctx, "SELECT id, role FROM users ORDER BY id")
}

// Tokens are the ids of all tokens, the newest first.
func (d *DB) Tokens(ctx context.Context) ([]Name, error) {
	return d.list(ctx, `SELECT id, kind || ' of ' || user || ', ' || strftime('%Y-%m-%d %H:%M', created / 1000000000, 'unixepoch', 'localtime') || ' ' || note
		FROM tokens ORDER BY created DESC LIMIT ?`, most)
}

// Sessions are the sessions of an agent whose names begin so, the last used
// first, with their titles.
func (d *DB) Sessions(ctx context.Context, agent, prefix string) ([]Name, error) {
	return d.list(ctx, "SELECT name, title FROM sessions WHERE agent = ? AND substr(name, 1, length(?)) = ? ORDER BY updated DESC LIMIT ?",
		agent, prefix, prefix, most)
}

// Runs are the runs whose ids begin so, the last started first. Turns that no
// run of their own handled (copies in a fork, a seeded beginning) have a colon
// in their place of an id.
func (d *DB) Runs(ctx context.Context, prefix string) ([]Name, error) {
	return d.list(ctx, `SELECT t.run, s.name || ', ' || t.status FROM turns t JOIN sessions s ON s.id = t.session
		WHERE t.run <> '' AND instr(t.run, ':') = 0 AND substr(t.run, 1, length(?)) = ? ORDER BY t.started DESC LIMIT ?`, prefix, prefix, most)
}

// Approvals are the requests to people that are open, the latest first.
func (d *DB) Approvals(ctx context.Context) ([]Name, error) {
	return d.list(ctx, "SELECT name, json_extract(body, '$.tool') || ' for ' || caller FROM approvals WHERE ended IS NULL ORDER BY created DESC LIMIT ?", most)
}

// Grants are what is always allowed, the latest first.
func (d *DB) Grants(ctx context.Context) ([]Name, error) {
	return d.list(ctx, "SELECT name, tool || ' for ' || person FROM grants ORDER BY created DESC LIMIT ?", most)
}

// list asks for two columns.
func (d *DB) list(ctx context.Context, query string, args ...any) (list []Name, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read names: %w", err)
		}
	}()
	rows, err := d.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var n Name
		if err := rows.Scan(&n.Name, &n.Note); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, rows.Err()
}
