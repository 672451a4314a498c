//go:build !linux

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
)

// renameNew moves the entry oldName in the folder of from to newName in the
// folder of to, and fails with an error that is [fs.ErrExist] when that name is
// taken. This system has no one step for it: between looking and renaming,
// another process may create newName and lose it.
func renameNew(from *place, oldName string, to *place, newName string) error {
	if _, err := to.in().root.Lstat(newName); err == nil {
		return &os.LinkError{Op: "rename", Old: oldName, New: newName, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.SameFile(from.in().info, to.in().info) {
		return from.in().root.Rename(oldName, newName)
	}
	return from.folders[0].root.Rename(path.Join(from.folderPath(), oldName), path.Join(to.folderPath(), newName))
}

// folderPath is where the folder of the place really is, without links.
func (p *place) folderPath() string { return path.Dir(p.path()) }
