package files

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

const (
	maxDiffed = 1 << 20 // bytes of text that are compared for people
	maxDiff   = 4_000   // bytes of a diff that are kept
)

// change is what became of a text, for people.
type change struct {
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Diff    string `json:"diff,omitempty"` // unified, cut when it is long
}

// compare tells old and new apart, line by line.
func compare(path, old, new string) change {
	if len(old)+len(new) > maxDiffed {
		return change{Added: countLines(new), Removed: countLines(old)}
	}
	path = printable(path)
	full := diff.Diff("a/"+path, []byte(old), "b/"+path, []byte(new))
	// The first line names a command that nobody ran.
	_, full, _ = bytes.Cut(full, []byte("\n"))
	var c change
	for i, line := range bytes.Split(full, []byte("\n")) {
		switch {
		case i < 2: // names
		case bytes.HasPrefix(line, []byte("+")):
			c.Added++
		case bytes.HasPrefix(line, []byte("-")):
			c.Removed++
		}
	}
	c.Diff = string(full)
	if len(full) > maxDiff {
		c.Diff = strings.ToValidUTF8(string(full[:maxDiff]), "") + "…\n"
	}
	return c
}

func (c change) String() string { return fmt.Sprintf("+%d −%d lines", c.Added, c.Removed) }
