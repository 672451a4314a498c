package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	maxDepth  = 100     // folders within folders that a walk enters
	maxFolder = 100_000 // entries of one folder that a walk sees
)

// Entry is what a walk finds. It is valid until the visit returns.
type Entry struct {
	Path  string // relative to the workspace
	Depth int    // 1 for what stands in the folder that the walk began with
	Type  fs.FileMode

	in folder
	d  fs.DirEntry
}

// Name is the last element of the path.
func (e *Entry) Name() string { return path.Base(e.Path) }

// IsDir reports whether the entry is a folder; a link never is one.
func (e *Entry) IsDir() bool { return e.Type.IsDir() }

// Info describes the entry as the walk found it, of a link the link itself.
func (e *Entry) Info() (fs.FileInfo, error) {
	// Below an os.Root this was read together with the name, from the folder's
	// handle.
	return e.d.Info()
}

// Link is the target of a link as it is written there.
func (e *Entry) Link() (string, error) { return e.in.root.Readlink(e.Name()) }

// Open opens a regular file for reading; the caller closes it. A link is
// refused: what it leads to has a path of its own.
func (e *Entry) Open() (*File, error) {
	info, err := e.Info()
	if err != nil {
		return nil, err
	}
	p := &place{asked: e.Path, folders: []folder{e.in}, name: e.Name(), info: info}
	f, err := p.open()
	if err != nil {
		return nil, err
	}
	return &File{File: f, Path: e.Path, Info: p.info}, nil
}

// Walk visits what the folder name holds, in the order of paths: each entry
// after the folder that it stands in, by name. Links are visited and not
// followed; unfinished writes are left out. visit says whether to go into a
// folder; an error ends the walk and is returned, save [fs.SkipAll], which only
// ends it.
//
// cut reports that not all was seen: folders with more than 100,000 entries,
// deeper than 100, or that may not be read.
func (w *Workspace) Walk(ctx context.Context, name string, visit func(*Entry) (enter bool, err error)) (cut bool, err error) {
	clean, err := w.Clean(name)
	if err != nil {
		return false, err
	}
	p, err := w.locate(clean, true)
	if err != nil {
		return false, err
	}
	defer p.close()
	at := p.path()
	if err := p.into(); err != nil {
		return false, err
	}
	if at == "." {
		at = ""
	}
	wk := walker{ctx: ctx, visit: visit}
	if err := wk.walk(p, at, 1); err != nil && !errors.Is(err, fs.SkipAll) {
		return wk.cut, err
	}
	return wk.cut, nil
}

// NotFolder says that a file was named where a folder is needed.
type NotFolder struct{ Path string }

func (e *NotFolder) Error() string { return quote(e.Path) + " is a file, not a folder" }

type walker struct {
	ctx   context.Context
	visit func(*Entry) (bool, error)
	cut   bool
}

// walk visits the entries of the innermost folder of p, whose path is at.
func (wk *walker) walk(p *place, at string, depth int) error {
	entries, err := wk.read(p.in())
	if err != nil {
		if depth == 1 {
			return err
		}
		wk.cut = true
		return nil
	}
	for _, d := range entries {
		if err := wk.ctx.Err(); err != nil {
			return err
		}
		if isTemp(d.Name()) {
			continue
		}
		e := &Entry{Path: path.Join(at, d.Name()), Depth: depth, Type: d.Type(), in: p.in(), d: d}
		enter, err := wk.visit(e)
		if err != nil {
			return err
		}
		if !enter || !d.IsDir() {
			continue
		}
		if err := wk.enter(p, e); err != nil {
			return err
		}
	}
	return nil
}

// enter walks through the folder e. One that went away or can't be read is
// left out.
func (wk *walker) enter(p *place, e *Entry) error {
	if e.Depth >= maxDepth {
		wk.cut = true
		return nil
	}
	info, err := e.Info()
	if err != nil || !info.IsDir() {
		return nil
	}
	if err := p.enter(e.Name(), info); err != nil {
		wk.cut = true
		return nil
	}
	defer p.pop()
	return wk.walk(p, e.Path, e.Depth+1)
}

// read lists a folder by name.
func (wk *walker) read(f folder) ([]os.DirEntry, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxFolder)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) == maxFolder {
		wk.cut = true
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}
