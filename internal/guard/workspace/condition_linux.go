package workspace

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// identity tells which file info is of, and when anything of it was changed,
// which nobody can set.
func identity(info fs.FileInfo) (file string, changed time.Time) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", time.Time{}
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino), time.Unix(int64(st.Ctim.Sec), int64(st.Ctim.Nsec))
}
