//go:build !linux

package workspace

import (
	"io/fs"
	"time"
)

// identity knows nothing here but what info says to everybody.
func identity(fs.FileInfo) (file string, changed time.Time) { return "", time.Time{} }
