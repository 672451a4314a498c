package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// nearest finds the candidate that a misspelt name was probably meant to be,
// or "". At most a third of the letters may differ (a swap of neighbours is one
// difference), or one of the two is the beginning of the other.
func nearest(name string, candidates []string) string {
	limit := max(len(name)/3, 1)
	best, bestDist := "", limit+1
	folded := strings.ToLower(name)
	for _, c := range candidates {
		if c == "" {
			continue
		}
		if d := editDistance(folded, strings.ToLower(c), limit); d < bestDist {
			best, bestDist = c, d
		}
	}
	if best != "" {
		return best
	}
	for _, c := range candidates {
		short, long := folded, strings.ToLower(c)
		if len(short) > len(long) {
			short, long = long, short
		}
		if len(short) >= 3 && strings.HasPrefix(long, short) {
			return c
		}
	}
	return ""
}

// editDistance counts insertions, deletions, substitutions and swaps of
// neighbours that turn a into b. It gives limit+1 when there are more.
func editDistance(a, b string, limit int) int {
	if diff := len(a) - len(b); diff > limit || -diff > limit {
		return limit + 1
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return min(prev[len(b)], limit+1)
}
