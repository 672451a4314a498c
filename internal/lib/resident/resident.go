// Package resident gives memory back that a program needed while it started and
// hardly will again: garbage, and the pages of its own file. It owns no state
// and imports nothing of ours.
//
// Start reading at [Release].
package resident

import "runtime/debug"

// Release collects garbage and hands back what memory is free, and, on Linux,
// all pages of the program's file that can be read from it again: what is used
// comes back at a page fault each, some hundred of them, and most that only the
// start has read doesn't. It takes a few milliseconds. The error says that pages
// stayed, which does no harm.
func Release() error {
	debug.FreeOSMemory()
	return dropFilePages()
}
