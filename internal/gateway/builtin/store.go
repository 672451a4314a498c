package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/preset"
	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/store/sqlite"
)

// Store is the state database behind the interfaces that the rooms declare.
type Store struct {
	Sessions  session.Store
	Users     auth.Users
	Blobs     blob.Store
	Calls     engine.Calls
	Usage     selection.Usage
	Inbox     run.Inbox
	Answers   provider.Answers
	Vectors   provider.Vectors
	Ledger    budget.Ledger
	Approvals approval.Store
	Presets   preset.Store

	db   *sqlite.DB
	path string
	file os.FileInfo // of the database when it was opened
}

// StoreOptions say which database is opened, and for whom.
type StoreOptions struct {
	DSN  string // names the database; empty for SQLite in the file Path
	Path string
	// Version is the program's own.
	Version string
	// MayMigrate says why the schema of a database that exists must not be
	// changed now; nil when it may.
	MayMigrate func(from, to int) error
	// Migrated is told that it was, and where a copy is of what was before.
	Migrated func(from, to int, copy string)
}

// OpenStore opens the state database.
func OpenStore(ctx context.Context, o StoreOptions) (*Store, error) {
	if o.DSN != "" {
		return nil, errors.New("open the state database: state.dsn is set, and only SQLite (an empty state.dsn) is in this version")
	}
	db, err := sqlite.Open(ctx, o.Path, sqlite.Options{Version: o.Version, MayMigrate: o.MayMigrate, Migrated: o.Migrated})
	if err != nil {
		return nil, err
	}
	file, err := os.Stat(o.Path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the state database: %w", err), db.Close())
	}
	return &Store{
		Sessions: db.Sessions(), Users: db.Users(), Blobs: db.Blobs(), Calls: db.Sessions(), Usage: db.Sessions(), Inbox: db.Inbox(), Answers: db.Answers(), Vectors: db.Embeddings(), Ledger: db.Ledger(), Approvals: db.Approvals(), Presets: db.Presets(),
		db: db, path: o.Path, file: file,
	}, nil
}

// Fault is why nothing can be stored at the moment; nil when, as far as was
// tried, it can.
func (s *Store) Fault() error { return s.db.Fault() }

// Touch tries whether something can be stored.
func (s *Store) Touch(ctx context.Context) error { return s.db.Touch(ctx) }

// IsStoreFault reports whether err is a fault of the state database itself, its
// folder or its disk.
func IsStoreFault(err error) bool { return sqlite.IsFault(err) }

// Replaced reports that the file of the database is not the one that was opened:
// somebody deleted it or put another in its place. What is stored from then on
// works as long as this process lives and is lost with it.
func (s *Store) Replaced() error {
	now, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the state database %s was deleted while the gateway runs: what is said now is lost when it stops", s.path)
	case err != nil:
		return fmt.Errorf("look for the state database: %w", err)
	case !os.SameFile(now, s.file):
		return fmt.Errorf("another file was put in the place of the state database %s while the gateway runs: what is said now is lost when it stops; start it again", s.path)
	}
	return nil
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }
