package workspace

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/nearest"
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
	return s + "; list a folder to see what is there"
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
	for _, n := range similar(name, slices.DeleteFunc(names, isTemp)) {
		e.Near = append(e.Near, prefix+n)
	}
	return e
}

// similar picks at most 3 of names that name may have meant. It compares letters
// and not words, because the endings of files are words that many share.
func similar(name string, names []string) []string {
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
		dist := nearest.Distance(want, have, most)
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
