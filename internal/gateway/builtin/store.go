package builtin

import (
	"context"
	"fmt"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/store/sqlite"
)

// Store is the state database behind the interfaces that the rooms declare.
type Store struct {
	Sessions session.Store
	Users    auth.Users
	Blobs    blob.Store
	Calls    engine.Calls

	db *sqlite.DB
}

// OpenStore opens the database that dsn names; "" is SQLite in the file path.
func OpenStore(ctx context.Context, dsn, path string) (*Store, error) {
	if dsn != "" {
		return nil, fmt.Errorf("open the state database: state.dsn is set, and only SQLite (an empty state.dsn) is in this version")
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return &Store{Sessions: db.Sessions(), Users: db.Users(), Blobs: db.Blobs(), Calls: db.Sessions(), db: db}, nil
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }
