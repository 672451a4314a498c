package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

// Limits of one [Workspace.Find].
const (
	maxFindVisits = 50_000 // entries that are looked at
	findTime      = 2 * time.Second
)

// dependencies are folders that programs fill and nobody means who names a
// file, though they hold most of what there is.
var dependencies = []string{"node_modules", "bower_components", "__pycache__"}

// Found is what [Workspace.Find] finds.
type Found struct {
	Names   []Name // the best first
	LeftOut int    // more that match
	Partial bool   // not all was looked at: there is too much, it takes too long, or it may not be read
}

// Name is a file or a folder by its name.
type Name struct {
	// Path is relative to the workspace. What is hidden in it is spelled out as
	// lib/visible does; the workspace knows it by this name too.
	Path   string
	Folder bool
}

// Find lists at most limit files and folders that a person may mean who has
// written query, which is any part of a path in any case: a name or its
// beginning goes before a part of one, and this before letters that only occur
// in the same order; then comes what has the shorter path, then what changed
// last. An empty query lists what stands in the workspace itself, the last
// changed first. What the query has before its last slash may name a folder:
// then that comes first and only what is in it counts, unless nothing there
// matches.
//
// Hidden names (those that begin with a dot) and folders of dependencies, such
// as node_modules, are left out until the query names them. Links are left out:
// what they lead to within the workspace has a path of its own. So are names
// with line breaks or tabs, which can't stand in a line. Within two seconds, or
// the time that ctx leaves, it tells what it has found until then.
func (w *Workspace) Find(ctx context.Context, query string, limit int) (Found, error) {
	return w.find(ctx, query, limit, maxFindVisits)
}

func (w *Workspace) find(ctx context.Context, query string, limit, visits int) (Found, error) {
	limited, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	f := finder{ws: w, ctx: limited, visits: visits}
	err := f.find(strings.TrimPrefix(query, "./"))
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return Found{}, err
	}
	slices.SortFunc(f.hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.length, b.length), b.changed.Compare(a.changed), strings.Compare(a.Path, b.Path))
	})
	found := Found{LeftOut: max(len(f.hits)-limit, 0), Partial: f.partial || err != nil}
	for _, h := range f.hits[:min(limit, len(f.hits))] {
		found.Names = append(found.Names, h.Name)
	}
	return found, nil
}

// finder collects what a query means.
type finder struct {
	ws      *Workspace
	ctx     context.Context
	visits  int // that are left
	hits    []hit
	partial bool

	base  string // the folder that is searched
	query string // of what is in it, folded
	below bool   // what stands in the folder itself has been seen
}

type hit struct {
	Name
	rank    int // of the match; the least is the best
	length  int // of the path in characters
	changed time.Time
}

func (f *finder) find(query string) error {
	if i := strings.LastIndexByte(query, '/'); i > 0 {
		err := f.findIn(query[:i], query[i+1:])
		if len(f.hits) > 0 || f.ctx.Err() != nil {
			return err
		}
		// There is no such folder, or nothing in it that matches.
	}
	return f.findIn(".", query)
}

// findIn looks in a folder, and below it unless the query is empty. What stands
// in it is seen first, so that it is found however much there is below.
func (f *finder) findIn(folder, query string) error {
	var err error
	if f.base, err = f.ws.Resolve(folder); err != nil {
		return err
	}
	f.query = foldQuery(query)
	for _, f.below = range []bool{false, true} {
		if f.below && query == "" {
			break
		}
		cut, err := f.ws.Walk(f.ctx, f.base, f.visit)
		if err != nil {
			return err
		}
		f.partial = f.partial || cut || f.visits < 0
	}
	if query == "" && f.base != "." {
		f.hits = append(f.hits, hit{Name: Name{Path: visible.Text(f.base), Folder: true}, rank: whole})
	}
	return nil
}

func (f *finder) visit(e *Entry) (enter bool, err error) {
	if f.visits--; f.visits < 0 {
		return false, fs.SkipAll
	}
	name := e.Name()
	hidden := name[0] == '.'
	switch {
	case strings.ContainsAny(name, "\n\r\t"), !e.IsDir() && !e.Type.IsRegular():
		return false, nil
	case hidden && !strings.HasPrefix(f.query, "."):
		return false, nil
	}
	if f.below == (e.Depth > 1) {
		f.note(e)
	}
	return f.below && !hidden && !slices.Contains(dependencies, name), nil
}

// note keeps an entry that matches.
func (f *finder) note(e *Entry) {
	path := visible.Text(e.Path)
	rel := path
	if f.base != "." {
		rel = path[len(visible.Text(f.base))+1:]
	}
	h := hit{Name: Name{Path: path, Folder: e.IsDir()}, rank: rank(f.query, foldQuery(rel))}
	if h.rank == nothing {
		return
	}
	if _, err := f.ws.Clean(path); err != nil {
		return // spelled out, the name is too long to be used
	}
	info, err := e.Info()
	if err != nil {
		return // it went away
	}
	if h.changed = info.ModTime(); f.query != "" {
		h.length = utf8.RuneCountInString(path)
	}
	f.hits = append(f.hits, h)
}

// What a query is of a path, the best first.
const (
	whole   = iota // the name, or the path
	begin          // the beginning of the name; of an element of the path when it has a slash
	word           // the beginning of a word in there
	part           // any part
	letters        // characters of the name, in the same order
	scatter        // characters of the path, in the same order
	nothing
)

// rank says what query is of path, both folded.
func rank(query, path string) int {
	name := path[strings.LastIndexByte(path, '/')+1:]
	in, from := name, strings.HasPrefix(name, query)
	if strings.Contains(query, "/") {
		in, from = path, strings.HasPrefix(path, query) || strings.Contains(path, "/"+query)
	}
	switch {
	case in == query:
		return whole
	case from:
		return begin
	case beginsWord(in, query):
		return word
	case strings.Contains(in, query):
		return part
	case inOrder(query, name):
		return letters
	case inOrder(query, path):
		return scatter
	}
	return nothing
}

// beginsWord reports whether a word of s, which is not its first, begins with
// query.
func beginsWord(s, query string) bool {
	for i := strings.Index(s, query); i >= 0; {
		if i > 0 && strings.IndexByte(" -_.", s[i-1]) >= 0 {
			return true
		}
		next := strings.Index(s[i+1:], query)
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// inOrder reports whether the characters of query occur in s in their order.
func inOrder(query, s string) bool {
	for _, c := range query {
		i := strings.IndexRune(s, c)
		if i < 0 {
			return false
		}
		s = s[i+utf8.RuneLen(c):]
	}
	return true
}

// foldQuery makes one spelling of those that people take for the same while
// they write: in any case, and in the Unicode form that this system stores.
func foldQuery(s string) string {
	if !isASCII(s) {
		s = norm.NFC.String(s)
	}
	return strings.ToLower(s)
}
