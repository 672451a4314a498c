// Package workspace is the one door to the files of a workspace. Everything
// goes through directory handles that can't leave it ([os.Root]): a path is
// walked element by element, links are followed by hand, and what was checked
// is what is opened, because both happen on the same handle. No string is
// checked and then opened.
//
// It owns three decisions: where a path leads (place.go), what may be written
// by whom (protect.go), and how a change reaches the disk (apply.go). A refusal
// is a [*tool.Refusal] of the guard "workspace"; a missing file is an ordinary
// error ([NotFound]).
//
// A [Set] lives as long as the gateway and hands out one [Workspace] per
// directory. Readers never block each other; changes of one workspace happen
// one after the other, also between processes (lock.go). Closing is for the end of the process:
// what is still going on then fails.
//
// Start reading at [Workspace.Open] and [Workspace.Apply].
package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/tool"
)

// Workspace is an open workspace. Its methods may be called concurrently.
type Workspace struct {
	root  *os.Root
	info  fs.FileInfo // of the directory
	bases []string    // absolute spellings of the directory: as given, and without links

	mu    sync.Mutex // held while files change
	swept bool       // leftovers of a crash were looked for; guarded by mu
}

// Open opens the directory dir, which must exist.
func Open(dir string) (*Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	info, err := root.Stat(".")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open workspace: %w", err), root.Close())
	}
	w := &Workspace{root: root, info: info, bases: []string{filepath.ToSlash(abs)}}
	// The real path only serves to understand absolute paths; a directory
	// whose real path can't be told is still a workspace.
	if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
		w.bases = append(w.bases, filepath.ToSlash(real))
	}
	return w, nil
}

// Close releases the directory.
func (w *Workspace) Close() error { return w.root.Close() }

// Dir is the absolute path of the directory, as it was given.
func (w *Workspace) Dir() string { return filepath.FromSlash(w.bases[0]) }

// FS is the workspace for reading by path, through the same root: links that
// lead outside can't be followed. It knows none of the rules on kinds of files
// and is for files that the host itself reads, such as those of the prompt.
func (w *Workspace) FS() fs.FS { return w.root.FS() }

// Privileged reports whether a run may write the protected files: an admin
// may, and so may a schedule or procedure that acts for no one in particular.
func Privileged(s tool.Scope) bool {
	switch s.Caller().Role {
	case auth.Admin:
		return true
	case auth.System:
		return s.Origin() == tool.FromCron || s.Origin() == tool.FromSOP
	}
	return false
}

// Set keeps the workspaces that are in use, one per directory, so that the
// changes of all runs in one workspace are put in order.
type Set struct {
	mu   sync.Mutex
	open map[string]*Workspace
	gone []*Workspace // their directory was replaced; someone may still use them
}

// NewSet returns an empty set.
func NewSet() *Set { return &Set{open: map[string]*Workspace{}} }

// Open returns the workspace of dir and opens it when needed. A directory that
// was deleted and made again is opened again.
func (s *Set) Open(dir string) (*Workspace, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.open[dir]; ok {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, w.info) {
			return w, nil
		}
		s.gone = append(s.gone, w)
		delete(s.open, dir)
	}
	w, err := Open(dir)
	if err != nil {
		return nil, err
	}
	s.open[dir] = w
	return w, nil
}

// Close closes all workspaces of the set.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, w := range s.open {
		errs = append(errs, w.Close())
	}
	for _, w := range s.gone {
		errs = append(errs, w.Close())
	}
	clear(s.open)
	s.gone = nil
	return errors.Join(errs...)
}

// guardName is the name of this guard in refusals.
const guardName = "workspace"

func refuse(rule, allowed, format string, args ...any) error {
	return tool.Refusef(guardName, rule, allowed, format, args...)
}
