//go:build !unix

package workspace

import (
	"io/fs"
	"os"
)

const nonblock = 0

func links(fs.FileInfo) uint64 { return 1 }

func keepOwner(*os.File, fs.FileInfo) {}
