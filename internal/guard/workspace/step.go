package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// stage does all that may fail and that nobody sees: it makes the folders and
// writes the new content beside the old. several says that other steps follow,
// so that this one may have to be undone.
func (st *step) stage(several bool) (err error) {
	switch st.c.Op {
	case Put, Create:
		if err := st.makeFolders(st.at); err != nil {
			return err
		}
		if several && st.at.info != nil {
			if st.backup, err = st.at.copyAside(); err != nil {
				return err
			}
		}
		var info fs.FileInfo
		if st.temp, info, err = st.at.writeTemp(st.c.Data, st.c.Mode); err != nil {
			return err
		}
		st.digest = digestBytes(st.c.Data, info)
	case Remove:
		if several && st.at.info.IsDir() {
			return fmt.Errorf("delete the folder %s by itself, not together with other changes", quote(st.at.path()))
		}
		if several {
			st.backup = newTemp()
		}
	case Move:
		return st.makeFolders(st.to)
	}
	return nil
}

// makeFolders makes the folders that the place lacks.
func (st *step) makeFolders(p *place) error {
	for len(p.missing) > 0 {
		name := p.missing[0]
		parent := p.in().root
		err := parent.Mkdir(name, 0o755)
		if err == nil {
			st.made = append(st.made, madeFolder{parent, name})
		} else if !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err := parent.Lstat(name)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return errMoved
		}
		if err := p.enter(name, info); err != nil {
			return err
		}
		p.missing = p.missing[1:]
	}
	return nil
}

// commit makes the change visible, in one step.
func (st *step) commit() (err error) {
	at := st.at
	switch st.c.Op {
	case Put, Create:
		if at.info == nil {
			err = renameNew(at, st.temp, at, at.name)
		} else if err = at.unchanged(); err == nil {
			err = at.in().root.Rename(st.temp, at.name)
		}
		if err == nil {
			st.temp = ""
		}
	case Remove:
		if err = at.unchanged(); err != nil {
			break
		}
		if st.backup != "" {
			err = renameNew(at, at.name, at, st.backup)
		} else {
			err = at.in().root.Remove(at.name)
		}
	case Move:
		if err = at.unchanged(); err == nil {
			err = renameNew(at, at.name, st.to, st.to.name)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return errMoved // someone took the name after it was found free
	}
	st.done = err == nil
	return err
}

// failed tells an error of the file system by the path that the caller knows,
// in place of the names that the work went by: those of temporary files, and of
// the workspace on the disk. What is gone that was there when it was looked for
// was taken away by someone else.
func (st *step) failed(err error) error {
	bare, ok := cause(err)
	switch {
	case !ok:
		return err
	case errors.Is(bare, fs.ErrNotExist):
		return errMoved
	}
	verb := [...]string{Put: "write", Create: "write", Remove: "delete", Move: "move"}[st.c.Op]
	return fmt.Errorf("%s %s: %w", verb, quote(st.at.path()), bare)
}

// cause is err without the operations and names that the system's errors
// carry. ok is false when it is not, or not only, of the file system.
func cause(err error) (bare error, ok bool) {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err, true
	case *os.LinkError:
		return e.Err, true
	case interface{ Unwrap() []error }:
		var all []error
		for _, err := range e.Unwrap() {
			bare, ok := cause(err)
			if !ok {
				return nil, false
			}
			all = append(all, bare)
		}
		return errors.Join(all...), true
	}
	return nil, false
}

// unchanged reports errMoved when the entry is no longer what was checked.
func (p *place) unchanged() error {
	now, err := p.in().root.Lstat(p.name)
	if err != nil || !os.SameFile(now, p.info) || now.Mode().Type() != p.info.Mode().Type() {
		return errMoved
	}
	if now.Mode().IsRegular() && (now.Size() != p.info.Size() || !now.ModTime().Equal(p.info.ModTime())) {
		return errMoved
	}
	return nil
}

// undo takes back what steps did, the last first.
func undo(steps []*step) error {
	var errs []error
	for i := len(steps) - 1; i >= 0; i-- {
		if err := steps[i].undo(); err != nil {
			errs = append(errs, fmt.Errorf("take back the change of %s: %w", quote(steps[i].at.asked), err))
		}
	}
	return errors.Join(errs...)
}

func (st *step) undo() error {
	if st.done {
		if err := st.reverse(); err != nil {
			return err // what was kept aside stays
		}
	}
	st.clean()
	for i := len(st.made) - 1; i >= 0; i-- {
		// Someone may have put a file into the folder; then it stays.
		_ = st.made[i].parent.Remove(st.made[i].name)
	}
	return nil
}

// reverse takes back a change that was made. A removal that is the only step is
// never taken back: nothing can fail after it.
func (st *step) reverse() error {
	at, err := st.at, error(nil)
	switch {
	case st.c.Op == Move:
		err = renameNew(st.to, st.to.name, at, at.name)
	case st.c.Op == Remove:
		err = renameNew(at, st.backup, at, at.name)
	case st.backup != "":
		err = at.in().root.Rename(st.backup, at.name)
	default:
		err = at.in().root.Remove(at.name)
	}
	if err != nil {
		return err
	}
	st.done, st.backup = false, ""
	return nil
}

// settle removes what was only kept to take changes back.
func settle(steps []*step) {
	for _, st := range steps {
		st.clean()
	}
}

// clean removes the step's temporary files. One that can't be removed is hidden
// from the tools and swept later.
func (st *step) clean() {
	for _, name := range []string{st.temp, st.backup} {
		if name != "" {
			_ = st.at.in().root.Remove(name)
		}
	}
	st.temp, st.backup = "", ""
}

func (st *step) result() Done {
	d := Done{Path: st.at.path(), Digest: st.digest}
	switch st.c.Op {
	case Put, Create:
		d.Created = st.at.info == nil
	case Move:
		d.To = st.to.path()
	}
	return d
}

// writeTemp writes data beside the place's file, with the permissions and the
// owner of the file if there is one, and returns the name of what it wrote.
func (p *place) writeTemp(data []byte, mode fs.FileMode) (_ string, _ fs.FileInfo, err error) {
	if p.info != nil && p.info.Mode().Perm()&0o200 == 0 {
		return "", nil, fmt.Errorf("%s is read-only (mode %#o)", quote(p.path()), p.info.Mode().Perm())
	}
	perm := mode.Perm()
	switch {
	case p.info != nil:
		perm = 0o600 // until the owner is set
	case perm == 0:
		perm = 0o644
	}
	name := newTemp()
	f, err := p.in().root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), p.in().root.Remove(name))
		}
	}()
	if _, err := f.Write(data); err != nil {
		return "", nil, err
	}
	if p.info != nil {
		keepOwner(f, p.info)
		if err := f.Chmod(p.info.Mode().Perm()); err != nil {
			return "", nil, err
		}
	}
	info, err := f.Stat()
	if err != nil {
		return "", nil, err
	}
	return name, info, f.Close()
}

// copyAside copies the place's file beside it, and returns the copy's name.
func (p *place) copyAside() (string, error) {
	f, err := p.open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	if p.info.Size() > MaxWhole {
		return "", &TooLarge{Path: p.path(), Size: p.info.Size()}
	}
	old, err := io.ReadAll(io.LimitReader(f, MaxWhole+1))
	if err != nil {
		return "", err
	}
	name, _, err := p.writeTemp(old, 0)
	return name, err
}
