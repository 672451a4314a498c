package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// beforeSuffix stands between the name of a file and the number of the schema
// before whose migrations a copy of it was made.
const beforeSuffix = ".before-"

// copiesKept is how many copies stay.
const copiesKept = 2

// keepCopy writes the database as it is to a file beside it, readable for its
// owner only. The caller holds the lock beside the file.
func (db *DB) keepCopy(ctx context.Context) (path string, err error) {
	path = db.path + beforeSuffix + strconv.Itoa(schemaVersion)
	part := path + ".part"
	// A process that died while it copied left it.
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	if err = errors.Join(db.copyTo(ctx, part), f.Sync(), f.Close()); err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(part))
	}
	return path, nil
}

// copyTo writes the database to an empty file.
func (db *DB) copyTo(ctx context.Context, path string) error {
	h, err := db.handle()
	if err != nil {
		return err
	}
	_, err = h.ExecContext(ctx, "VACUUM INTO ?", path)
	return errors.Join(err, h.Close())
}

// dropCopies removes all but the newest copies.
func (db *DB) dropCopies() error {
	beside, err := os.ReadDir(filepath.Dir(db.path))
	if err != nil {
		return err
	}
	var schemas []int
	for _, e := range beside {
		number, ok := strings.CutPrefix(e.Name(), filepath.Base(db.path)+beforeSuffix)
		if schema, err := strconv.Atoi(number); ok && err == nil {
			schemas = append(schemas, schema)
		}
	}
	slices.Sort(schemas)
	for _, schema := range schemas[:max(len(schemas)-copiesKept, 0)] {
		if err := os.Remove(fmt.Sprint(db.path, beforeSuffix, schema)); err != nil {
			return err
		}
	}
	return nil
}
