// Package goclaw builds the GoClaw program. It owns nothing but the way in:
// [Main] runs one command line and returns when that has ended. Start reading
// there, then in internal/cli. cmd/goclaw is the plain build; a build with
// plugins of one's own is a main of three lines:
//
//	package main
//
//	import (
//		"os"
//
//		"example.org/weather"
//		"github.com/goclaw/goclaw"
//	)
//
//	func main() { os.Exit(goclaw.Main(weather.Plugin())) }
package goclaw

import (
	"os"
	_ "time/tzdata" // zones work where the system has none, as in small containers

	"github.com/goclaw/goclaw/internal/cli"
	"github.com/goclaw/goclaw/plugin"
)

// Main runs the command line of the process with plugins compiled in and
// returns the exit status: 0 when it went well, 1 when it failed, 2 when the
// command was used wrongly; commands that tell more say so in their help.
func Main(plugins ...plugin.Plugin) int {
	return cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Self: cli.Self()}, plugins...)
}
