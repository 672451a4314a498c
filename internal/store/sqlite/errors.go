package sqlite

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

var (
	// ErrNewer says that a newer GoClaw has migrated the file.
	ErrNewer = errors.New("it was made by a newer GoClaw; use that version or another GOCLAW_HOME")
	// ErrGap says that migrations are missing between others that were made.
	ErrGap = errors.New("it was made by a GoClaw between two versions, whose database no version can bring up to date; move it away, together with the files beside it that begin with its name, and a new one is made")
	// ErrDamaged says that the file is not a sound SQLite database.
	ErrDamaged = errors.New("the file is damaged or not a database; move it away, together with the files beside it that begin with its name, or restore a copy")
	// ErrForeign says that the file is a database of another program.
	ErrForeign = errors.New("the file is a database of another program")
	// ErrReadOnly says that the file or its folder may not be written.
	ErrReadOnly = errors.New("the file or its folder can't be written; check owner and permissions")
	// ErrFull says that the disk is full.
	ErrFull = errors.New("the disk is full; make room on it")
	// ErrDisk says that the disk fails.
	ErrDisk = errors.New("the disk can't be read or written; look at it, and at what may be stored there")
)

// explain puts what can be done about an error of SQLite before it. The rest
// is returned as it is.
func explain(err error) error {
	var e *driver.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff { // the rest of the code is detail
	case lib.SQLITE_NOTADB, lib.SQLITE_CORRUPT:
		return fmt.Errorf("%w (%w)", ErrDamaged, err)
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN:
		return fmt.Errorf("%w (%w)", ErrReadOnly, err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w (%w)", ErrFull, err)
	case lib.SQLITE_IOERR:
		return fmt.Errorf("%w (%w)", ErrDisk, err)
	}
	return err
}

// IsFault reports whether err says that the file, its folder or its disk is not
// as it must be, whatever was asked for.
func IsFault(err error) bool {
	for _, fault := range []error{ErrFull, ErrDisk, ErrReadOnly, ErrDamaged} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}

func isBusy(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Code()&0xff == lib.SQLITE_BUSY
}
