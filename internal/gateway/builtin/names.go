package builtin

import (
	"errors"

	"github.com/goclaw/goclaw/internal/store/names"
)

// Names reads names out of the state database, and changes nothing.
type (
	Names = names.DB
	Name  = names.Name
)

// OpenNames opens the database that dsn names, as [OpenStore], for reading
// names alone.
func OpenNames(dsn, path string) (*Names, error) {
	if dsn != "" {
		return nil, errors.New("read names: state.dsn is set, and only SQLite (an empty state.dsn) is in this version")
	}
	return names.Open(path)
}
