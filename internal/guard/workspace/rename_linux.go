package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew moves the entry oldName in the folder of from to newName in the
// folder of to, and fails with an error that is [fs.ErrExist] when that name is
// taken. Both names are single elements, so that nothing but these two open
// folders is reached.
func renameNew(from *place, oldName string, to *place, newName string) error {
	fromDir, err := from.in().root.Open(".")
	if err != nil {
		return err
	}
	defer fromDir.Close()
	toDir, err := to.in().root.Open(".")
	if err != nil {
		return err
	}
	defer toDir.Close()
	fromFD, toFD := int(fromDir.Fd()), int(toDir.Fd())
	err = unix.Renameat2(fromFD, oldName, toFD, newName, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		// This file system (some network ones) or kernel lacks the flag.
		if _, statErr := to.in().root.Lstat(newName); statErr == nil {
			return &os.LinkError{Op: "rename", Old: oldName, New: newName, Err: unix.EEXIST}
		}
		err = unix.Renameat(fromFD, oldName, toFD, newName)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: oldName, New: newName, Err: err}
	}
	return nil
}
