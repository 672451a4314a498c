package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"time"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/tool"
)

// What a stamp may cost. Looking at an entry takes about two microseconds, so a
// stamp of the most entries takes some 40 ms; searching as many files takes
// twenty times that.
const (
	maxStamped = 20_000
	maxHashed  = 4 << 20 // bytes of files that were changed just before
)

// stamper collects the condition of what a call reads.
type stamper struct {
	ctx    context.Context
	at     time.Time
	sum    hash.Hash
	seen   int
	hashed int64
}

func newStamper(ctx context.Context, at time.Time) *stamper {
	return &stamper{ctx: ctx, at: at, sum: sha256.New()}
}

func (s *stamper) text() string { return hex.EncodeToString(s.sum.Sum(nil)[:16]) }

// errDear says that a stamp would cost too much.
var errDear = errors.New("too much to look at")

// note adds what stands at path. open opens it when it is a file whose content
// has to be told; nil when only its size and name matter.
func (s *stamper) note(path string, info fs.FileInfo, open func() (*workspace.File, error)) error {
	if s.seen++; s.seen > maxStamped {
		return errDear
	}
	condition, sure := workspace.Condition(info, s.at)
	fmt.Fprintf(s.sum, "%q %s\n", path, condition)
	if sure || open == nil || !info.Mode().IsRegular() {
		return nil
	}
	if s.hashed += info.Size(); s.hashed > maxHashed {
		return errDear
	}
	f, err := open()
	if err != nil {
		return err
	}
	return errors.Join(s.content(f), f.Close())
}

func (s *stamper) content(f *workspace.File) error {
	n, err := io.Copy(s.sum, io.LimitReader(f, maxHashed))
	fmt.Fprintf(s.sum, "\n%d\n", n)
	return err
}

// file adds the file at path.
func (s *stamper) file(ws *workspace.Workspace, path string) error {
	f, err := ws.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.note(f.Path, f.Info, func() (*workspace.File, error) { return ws.Open(path) })
}

// folder adds the folder at path and what it holds, to a depth; 0 is all. With
// content the files are told closely.
func (s *stamper) folder(ws *workspace.Workspace, path string, depth int, content bool) error {
	real, err := ws.Resolve(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.sum, "%q\n", real)
	cut, err := ws.Walk(s.ctx, path, func(e *workspace.Entry) (bool, error) {
		info, err := e.Info()
		if err != nil {
			return false, err
		}
		open := e.Open
		if !content {
			open = nil
		}
		if e.Type&fs.ModeSymlink != 0 {
			target, err := e.Link()
			if err != nil {
				return false, err
			}
			fmt.Fprintf(s.sum, "to %q\n", target)
		}
		return e.IsDir() && (depth == 0 || e.Depth < depth) && e.Name() != ".git", s.note(e.Path, info, open)
	})
	if cut {
		err = errors.Join(err, errDear)
	}
	return err
}

// stampRead tells in what condition the file is that file_read reads.
func (k kit) stampRead(ctx context.Context, call tool.Call, in readIn, at time.Time) (string, bool) {
	return k.stamp(ctx, call, at, func(s *stamper, ws *workspace.Workspace) error { return s.file(ws, in.Path) })
}

// stampList tells it of the entries that file_list looks at.
func (k kit) stampList(ctx context.Context, call tool.Call, in listIn, at time.Time) (string, bool) {
	match, err := newGlob(in.Glob)
	if err != nil || in.Depth < 0 {
		return "", false
	}
	depth := levels(in.Depth, match)
	return k.stamp(ctx, call, at, func(s *stamper, ws *workspace.Workspace) error {
		return s.folder(ws, orRoot(in.Path), depth, false)
	})
}

// stampSearch tells it of the files that file_search may search.
func (k kit) stampSearch(ctx context.Context, call tool.Call, in searchIn, at time.Time) (string, bool) {
	return k.stamp(ctx, call, at, func(s *stamper, ws *workspace.Workspace) error {
		err := s.folder(ws, orRoot(in.Path), 0, true)
		var single *workspace.NotFolder
		if errors.As(err, &single) {
			err = s.file(ws, in.Path)
		}
		return err
	})
}

func (k kit) stamp(ctx context.Context, call tool.Call, at time.Time, look func(*stamper, *workspace.Workspace) error) (string, bool) {
	ws, err := k.open(call)
	if err != nil {
		return "", false
	}
	s := newStamper(ctx, at)
	if err := look(s, ws); err != nil {
		return "", false // what is wrong, running the call tells
	}
	return s.text(), true
}
