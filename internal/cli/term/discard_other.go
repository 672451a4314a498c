//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly && !windows

package term

import "os"

// Discard does nothing: here what was typed can't be forgotten.
func Discard(*os.File) {}
