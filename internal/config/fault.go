package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/lib/source"
)

// Fault is one thing that is wrong, and where.
type Fault struct {
	// Pos is the key with file, line and column, or environment variable.
	Pos source.Pos `json:"pos"`
	// Message says what was expected and what was found. It never holds the
	// value of a key that is a secret.
	Message string `json:"message,omitempty"`
	// Near is the known key or value that was probably meant, or empty.
	Near string `json:"near,omitempty"`
	// Unknown is true when no such key exists.
	Unknown bool `json:"unknown,omitempty"`
}

// String is one line:
//
//	unknown key agents.list[0].worksapce (config.yaml:12:5): did you mean workspace?
//	tools.timeout (config.yaml:9:12): expected a duration such as 30s or 2m, found "10x"
func (f Fault) String() string {
	var b strings.Builder
	if f.Unknown {
		b.WriteString("unknown key ")
	}
	if f.Pos.Key != "" {
		fmt.Fprintf(&b, "%s (%s)", f.Pos.Key, f.place())
	} else {
		b.WriteString(f.place())
	}
	sep := ": "
	if f.Message != "" {
		b.WriteString(sep + f.Message)
		sep = "; "
	}
	if f.Near != "" {
		b.WriteString(sep + "did you mean " + f.Near + "?")
	}
	return b.String()
}

// place is that of the Pos with the column, which helps when lines are long.
func (f Fault) place() string {
	if f.Pos.Env == "" && f.Pos.Line > 0 && f.Pos.Column > 0 {
		return fmt.Sprintf("%s:%d", f.Pos.Place(), f.Pos.Column)
	}
	return f.Pos.Place()
}

// Faults is the error of a configuration that can't be used: everything that
// is wrong with it, in the order of the file.
type Faults []Fault

// Error is one line for one fault; more stand on lines of their own.
func (fs Faults) Error() string {
	if len(fs) == 1 {
		return "read configuration: " + fs[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "read configuration: %d faults", len(fs))
	for _, f := range fs {
		b.WriteString("\n  " + f.String())
	}
	return b.String()
}

// Brief is one line also for many faults: the first, and how many more.
func (fs Faults) Brief() string {
	switch n := len(fs) - 1; n {
	case 0:
		return fs[0].String()
	case 1:
		return fs[0].String() + " and 1 more fault"
	default:
		return fmt.Sprintf("%s and %d more faults", fs[0], n)
	}
}

// sortFaults puts faults in the order of the file, those of the environment
// last.
func sortFaults(fs []Fault) {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		if (a.Pos.Env == "") != (b.Pos.Env == "") {
			return len(a.Pos.Env) - len(b.Pos.Env)
		}
		return cmp.Or(
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
			strings.Compare(a.Pos.Env, b.Pos.Env),
		)
	})
}

// nearestOf gives the candidate that a misspelt name was surely meant to be, or
// "".
func nearestOf(name string, candidates []string) string {
	near, _ := nearest.Name(name, candidates)
	return near
}
