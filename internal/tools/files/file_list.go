package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed file_list.md
var fileListDoc string

const (
	maxListed  = 500    // entries that are shown
	maxVisited = 50_000 // entries that are looked at
)

type listIn struct {
	Path  string `json:"path,omitempty" jsonschema:"folder; default: the workspace"`
	Depth int    `json:"depth,omitempty" jsonschema:"levels of folders; default 1, with glob all"`
	Glob  string `json:"glob,omitempty" jsonschema:"*.md or src/**/*.go"`
}

type listDetails struct {
	Path    string      `json:"path"`
	Shown   int         `json:"shown"`
	LeftOut int         `json:"left_out,omitempty"`
	Partial bool        `json:"partial,omitempty"` // there may be more than was looked at
	Entries []listEntry `json:"entries,omitempty"`
}

type listEntry struct {
	Path string `json:"path"`
	Kind string `json:"kind"` // file, folder, link, other
	Size int64  `json:"size,omitempty"`
	Link string `json:"link,omitempty"` // where a link leads, as it is written there
}

func (k kit) fileList() tool.Tool {
	traits := reader("list", "ls", "folder", "directory", "tree", "find")
	traits.Cacheable = true
	t := tool.New(tool.Definition{Name: "file_list", Description: fileListDoc, Traits: traits}, k.list)
	t = tool.WithTouches(t, func(call tool.Call, in listIn) []tool.Touch { return k.touches(call, false, orRoot(in.Path)) })
	return tool.WithStamp(t, k.stampList)
}

func orRoot(path string) string {
	if path == "" {
		return "."
	}
	return path
}

func (k kit) list(ctx context.Context, call tool.Call, in listIn) (tool.Result, error) {
	if in.Depth < 0 {
		return tool.Result{}, errors.New("depth can't be negative")
	}
	match, err := newGlob(in.Glob)
	if err != nil {
		return tool.Result{}, err
	}
	ws, err := k.open(call)
	if err != nil {
		return tool.Result{}, err
	}
	l := lister{depth: levels(in.Depth, match), match: match}
	if l.base, err = ws.Resolve(orRoot(in.Path)); err != nil {
		return tool.Result{}, helpful(err)
	}
	cut, err := ws.Walk(ctx, orRoot(in.Path), l.visit)
	if err != nil {
		return tool.Result{}, helpful(err)
	}
	return l.result(cut || l.visited > maxVisited), nil
}

// levels is how many levels of folders are looked at; 0 is all.
func levels(depth int, match glob) int {
	if depth == 0 && match.all() {
		return 1
	}
	return depth
}

// lister collects the lines of a listing.
type lister struct {
	base    string
	depth   int // 0: all
	match   glob
	entries []listEntry
	visited int
	left    int // entries that match and are not shown
}

func (l *lister) visit(e *workspace.Entry) (bool, error) {
	if l.visited++; l.visited > maxVisited {
		return false, fs.SkipAll
	}
	enter := e.IsDir() && (l.depth == 0 || e.Depth < l.depth) && e.Name() != ".git"
	if !l.match.match(l.base, e.Path) {
		return enter, nil
	}
	if len(l.entries) == maxListed {
		l.left++
		return enter, nil
	}
	l.entries = append(l.entries, newListEntry(e))
	return enter, nil
}

func newListEntry(e *workspace.Entry) listEntry {
	switch {
	case e.IsDir():
		return listEntry{Path: e.Path, Kind: "folder"}
	case e.Type&fs.ModeSymlink != 0:
		if target, err := e.Link(); err == nil {
			return listEntry{Path: e.Path, Kind: "link", Link: target}
		}
	case e.Type.IsRegular():
		if info, err := e.Info(); err == nil {
			return listEntry{Path: e.Path, Kind: "file", Size: info.Size()}
		}
	}
	// It went away, or it is a pipe, a socket or a device.
	return listEntry{Path: e.Path, Kind: "other"}
}

// String shows an entry to a model: a folder with a slash, a file with its size,
// a link with where it leads.
func (e listEntry) String() string {
	name := printable(e.Path)
	switch e.Kind {
	case "folder":
		return name + "/"
	case "link":
		return name + " -> " + printable(e.Link)
	case "file":
		return name + "  " + size(e.Size)
	}
	return name + "  (no ordinary file)"
}

// printable quotes a name that would not stay on its line.
func printable(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}

func (l *lister) result(partial bool) tool.Result {
	d := listDetails{Path: l.base, Shown: len(l.entries), LeftOut: l.left, Partial: partial, Entries: l.entries}
	var b strings.Builder
	for _, e := range l.entries {
		b.WriteString(e.String())
		b.WriteByte('\n')
	}
	switch {
	case len(l.entries) == 0 && l.match.all():
		fmt.Fprintf(&b, "The folder %s is empty.\n", l.base)
	case len(l.entries) == 0:
		fmt.Fprintf(&b, "Nothing in %s matches the glob.\n", l.base)
	case l.left > 0:
		fmt.Fprintf(&b, "… %s not shown. Narrow it with path, depth or glob.\n", count(l.left, "more entry"))
	}
	if partial {
		b.WriteString("Not everything was looked at: there is too much, or it may not be read.\n")
	}
	return tool.Result{Content: []llm.Part{fromFile(b.String())}, Details: d}
}
