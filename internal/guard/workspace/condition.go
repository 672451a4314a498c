package workspace

import (
	"fmt"
	"io/fs"
	"time"
)

// closeTo is how far apart two changes of a file may be and still leave the same
// time: some file systems count whole seconds, one pairs of them.
const closeTo = 2 * time.Second

// Condition tells in a short text what the system knows of a file: what it is,
// its size, when it and what it holds were changed. Each change leaves another
// text, whoever made it, unless it follows another one closely: sure reports
// that the file was at rest for a while at the time at, so that any change since
// is seen.
func Condition(info fs.FileInfo, at time.Time) (text string, sure bool) {
	file, changed := identity(info)
	if t := info.ModTime(); t.After(changed) {
		changed = t
	}
	text = fmt.Sprintf("%v %d %d %d %s", info.Mode(), info.Size(), info.ModTime().UnixNano(), changed.UnixNano(), file)
	return text, changed.Add(closeTo).Before(at)
}
