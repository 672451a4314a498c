// Command goclaw is GoClaw with the example plugin compiled in.
package main

import (
	"os"

	"github.com/goclaw/goclaw"
	"github.com/goclaw/goclaw/examples/count"
)

func main() { os.Exit(goclaw.Main(count.Plugin())) }
