//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock makes opening a pipe or a device return at once.
const nonblock = syscall.O_NONBLOCK

// links is the number of names that the file has.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// keepOwner gives f the owner that info tells. Only root may give files away,
// so that it isn't possible is no error.
func keepOwner(f *os.File, info fs.FileInfo) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return
	}
	if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
		_ = f.Chown(-1, int(st.Gid)) // one's own groups are possible for everybody
	}
}
