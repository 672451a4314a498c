package workspace

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"
)

// NotFound says that a file or folder does not exist. It is [fs.ErrNotExist].
type NotFound struct {
	Path   string   // cleaned
	Folder string   // the folder of the path that does not exist, if one doesn't
	Near   []string // paths that exist and look alike, the nearest first, at most 3
}

func (e *NotFound) Error() string {
	s := quote(e.Path) + " does not exist"
	if e.Folder != "" {
		s += ": there is no folder " + quote(e.Folder)
	}
	if len(e.Near) > 0 {
		near := make([]string, len(e.Near))
		for i, n := range e.Near {
			near[i] = quote(n)
		}
		return s + "; did you mean " + strings.Join(near, " or ") + "?"
	}
	if e.Path[0] == '~' || strings.Contains(e.Path, ":/") {
		return s + "; paths are relative to the workspace, where ~ and URLs mean nothing"
	}
	return s + "; file_list shows what is there"
}

// Is makes the error an [fs.ErrNotExist].
func (e *NotFound) Is(target error) bool { return target == fs.ErrNotExist }

// IsFolder says that a folder was named where a file is needed.
type IsFolder struct{ Path string }

func (e *IsFolder) Error() string { return quote(e.Path) + " is a folder" }

// maxNames is how many names of a folder are looked at to find a similar one.
const maxNames = 2_000

func (p *place) notFound() error {
	e := &NotFound{Path: p.path()}
	name := p.name
	prefix := strings.TrimSuffix(e.Path, name)
	if len(p.missing) > 0 {
		name = p.missing[0]
		prefix = strings.TrimSuffix(e.Path, strings.Join(append(slices.Clone(p.missing), p.name), "/"))
		e.Folder = prefix + name
	}
	names, err := p.in().names(maxNames)
	if err != nil {
		// The suggestions are a courtesy; that the file is missing is known.
		return e
	}
	for _, n := range nearest(name, slices.DeleteFunc(names, isTemp)) {
		e.Near = append(e.Near, prefix+n)
	}
	return e
}

// nearest picks at most 3 of names that name may have meant.
func nearest(name string, names []string) []string {
	type scored struct {
		name string
		dist int
	}
	var found []scored
	want := []rune(fold(name))
	stem, _, _ := strings.Cut(string(want), ".")
	for _, n := range names {
		have := []rune(fold(n))
		most := max(1, min(len(want), len(have))/3)
		dist := distance(want, have, most)
		if s, _, _ := strings.Cut(string(have), "."); dist > most && stem != "" && s == stem {
			dist = most // another ending of the same name
		}
		if dist <= most {
			found = append(found, scored{n, dist})
		}
	}
	slices.SortFunc(found, func(a, b scored) int { return cmp.Or(cmp.Compare(a.dist, b.dist), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, f := range found[:min(3, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour to make a of b, or more than most when it is more than that.
func distance(a, b []rune, most int) int {
	if d := len(a) - len(b); d > most || -d > most {
		return most + 1
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, prev, prev2 := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, prev2[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if least > most {
			return most + 1
		}
	}
	return rows[len(a)%3][len(b)]
}
