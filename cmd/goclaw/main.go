// Command goclaw is the GoClaw program without plugins of one's own.
package main

import (
	"os"

	"github.com/goclaw/goclaw"
)

func main() { os.Exit(goclaw.Main()) }
