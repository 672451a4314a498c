package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

func TestErrorsOfTheSystemNameThePathAsAsked(t *testing.T) {
	t.Parallel()
	full := &fs.PathError{Op: "write", Path: "/home/x/ws/.goclaw-tmp-abc", Err: syscall.ENOSPC}
	moved := &os.LinkError{Op: "rename", Old: ".goclaw-tmp-abc", New: "a.txt", Err: syscall.ENOENT}
	own := errors.New("the folder is not empty")
	for _, c := range []struct {
		op   Op
		err  error
		want string
	}{
		{Put, full, `write "a.txt": no space left on device`},
		{Create, errors.Join(full, &fs.PathError{Op: "close", Path: "/home/x", Err: syscall.EIO}), "write \"a.txt\": no space left on device\ninput/output error"},
		{Remove, &fs.PathError{Op: "unlinkat", Path: "a.txt", Err: syscall.EACCES}, `delete "a.txt": permission denied`},
		{Move, &os.LinkError{Op: "rename", Old: "a.txt", New: "b", Err: syscall.EXDEV}, `move "a.txt": invalid cross-device link`},
		{Put, moved, errMoved.Error()},
		{Remove, own, own.Error()},
		{Put, errors.Join(full, own), errors.Join(full, own).Error()},
	} {
		st := &step{c: Change{Op: c.op}, at: &place{name: "a.txt", folders: []folder{{}}}}
		if got := st.failed(c.err).Error(); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
