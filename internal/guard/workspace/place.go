package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

const (
	maxLinks = 40 // followed for one path, as Linux does
	maxTries = 5  // when folders change under a walk
)

// errMoved says that something changed between two steps of a walk.
var errMoved = errors.New("the folder is being changed by someone else; try again")

// folder is an open directory on the way to a place.
type folder struct {
	root *os.Root
	info fs.FileInfo
	name string // "" for the workspace itself
}

// top is the workspace itself.
func (w *Workspace) top() folder { return folder{root: w.root, info: w.info} }

// place is where a path leads: open handles of all folders on the way, and the
// last name in the innermost of them. No name of it is a link, save the last
// one when the walk was told not to follow it. close releases the handles.
type place struct {
	asked   string      // the cleaned path
	folders []folder    // from the workspace inwards; never empty
	missing []string    // folders that do not exist, inside the last of folders
	name    string      // "" for the workspace itself
	info    fs.FileInfo // of name; nil when it does not exist
}

func (p *place) in() folder { return p.folders[len(p.folders)-1] }

// path is where the place really is, without links.
func (p *place) path() string {
	var segs []string
	for _, f := range p.folders[1:] {
		segs = append(segs, f.name)
	}
	segs = append(segs, p.missing...)
	if p.name != "" {
		segs = append(segs, p.name)
	}
	if len(segs) == 0 {
		return "."
	}
	return strings.Join(segs, "/")
}

func (p *place) pop() {
	// A handle that was only used to look up names has nothing to lose when
	// it is closed.
	_ = p.in().root.Close()
	p.folders = p.folders[:len(p.folders)-1]
}

func (p *place) close() {
	for len(p.folders) > 1 {
		p.pop()
	}
}

// enter opens the folder name, which info describes, and makes sure that it is
// the one.
func (p *place) enter(name string, info fs.FileInfo) error {
	// The dot makes the folder an element in the middle, which os.Root opens
	// as a directory or not at all. A last element it would open as whatever
	// stands there now, and a pipe would block us.
	sub, err := p.in().root.OpenRoot(name + "/.")
	if err != nil {
		return p.in().changed(name, info, err)
	}
	opened, err := sub.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = errMoved
	}
	if err != nil {
		return errors.Join(err, sub.Close())
	}
	p.folders = append(p.folders, folder{root: sub, info: opened, name: name})
	return nil
}

// into goes on into the folder at the place, or says why there is none.
func (p *place) into() error {
	switch {
	case p.info == nil:
		return p.notFound()
	case !p.info.IsDir():
		return &NotFolder{Path: p.path()}
	case p.name == "":
		return nil // the workspace itself, which is open
	}
	return p.enter(p.name, p.info)
}

// locate walks to a cleaned path. With follow a link at the end is followed,
// otherwise the place is that of the link.
func (w *Workspace) locate(clean string, follow bool) (*place, error) {
	var err error
	for range maxTries {
		var p *place
		if p, err = w.walkTo(clean, follow); err == nil {
			return p, nil
		}
		if !errors.Is(err, errMoved) {
			break
		}
	}
	return nil, err
}

func (w *Workspace) walkTo(clean string, follow bool) (_ *place, err error) {
	p := &place{asked: clean, folders: []folder{w.top()}}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	todo, links := elements(clean), 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		last := len(todo) == 0
		if name == ".." {
			if len(p.folders) == 1 {
				return nil, linkOutside(clean)
			}
			p.pop()
			continue
		}
		name, info, err := p.in().look(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return p, p.absent(name, todo)
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0 && (!last || follow):
			if links++; links > maxLinks {
				return nil, refuse("link_loop", "Use the file's own path.", "%s is a link that leads in a circle.", quote(clean))
			}
			target, err := p.in().root.Readlink(name)
			if err != nil {
				return nil, p.in().changed(name, info, err)
			}
			if todo, err = w.follow(p, target, todo); err != nil {
				return nil, err
			}
		case last:
			p.name, p.info = name, info
			return p, nil
		case !info.IsDir():
			return nil, fmt.Errorf("%s: %s is a file, not a folder", clean, quote(name))
		default:
			if err := p.enter(name, info); err != nil {
				return nil, err
			}
		}
	}
	// The path ended in a folder that is open already: the workspace itself,
	// or where a link with ".." led.
	p.info = p.in().info
	if p.name = p.in().name; p.name != "" {
		p.pop()
	}
	return p, nil
}

// follow puts the target of a link before what is left of a path.
func (w *Workspace) follow(p *place, target string, todo []string) ([]string, error) {
	if strings.HasPrefix(target, "/") {
		rel, ok := w.within(target)
		if !ok {
			return nil, linkOutside(p.asked)
		}
		p.close()
		target = rel
	}
	return append(elements(target), todo...), nil
}

// absent completes the place of something that does not exist.
func (p *place) absent(name string, todo []string) error {
	rest := append([]string{name}, todo...)
	for _, seg := range rest {
		// Only a link can bring this. What is behind a missing folder is
		// nowhere.
		if seg == ".." {
			return &NotFound{Path: p.asked}
		}
	}
	p.missing, p.name = rest[:len(rest)-1], rest[len(rest)-1]
	return nil
}

// look describes an entry of the folder. A name beyond ASCII also stands for
// the one entry that differs by its Unicode form only, because people and
// models can't see or choose the form: macOS stores others than they write. And
// it stands for the one whose hidden characters it spells out, as lists do.
func (f folder) look(name string) (string, fs.FileInfo, error) {
	info, err := f.root.Lstat(name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || isASCII(name) {
		return name, info, err
	}
	names, listErr := f.names(maxNames)
	if listErr != nil {
		return name, nil, listErr
	}
	want, found := norm.NFC.String(name), ""
	for _, n := range names {
		if norm.NFC.String(n) != want && visible.Text(n) != name {
			continue
		}
		if found != "" {
			return name, nil, err
		}
		found = n
	}
	if found == "" {
		return name, nil, err
	}
	info, err = f.root.Lstat(found)
	return found, info, err
}

// changed explains the error err of an operation on the entry name: errMoved
// when the entry is no longer what info describes, else err itself.
func (f folder) changed(name string, info fs.FileInfo, err error) error {
	if now, nowErr := f.root.Lstat(name); nowErr != nil || !os.SameFile(now, info) || now.Mode().Type() != info.Mode().Type() {
		return errMoved
	}
	return err
}

// names lists the folder, in no order, at most limit names.
func (f folder) names(limit int) ([]string, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// open opens the file at the place for reading. It is a regular file and the
// one that the walk saw.
func (p *place) open() (*os.File, error) {
	if err := p.regular(); err != nil {
		return nil, err
	}
	// A pipe that took the file's place meanwhile must not block us.
	f, err := p.in().root.OpenFile(p.name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, p.in().changed(p.name, p.info, err)
	}
	info, err := f.Stat()
	if err == nil && (!os.SameFile(info, p.info) || !info.Mode().IsRegular()) {
		err = errMoved
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	p.info = info
	return f, nil
}

// regular says why the place is no file that can be read or written.
func (p *place) regular() error {
	switch {
	case p.info == nil:
		return p.notFound()
	case p.info.IsDir():
		return &IsFolder{Path: p.path()}
	case p.info.Mode()&fs.ModeSymlink != 0:
		return errMoved
	case !p.info.Mode().IsRegular():
		return refuse("special", "Only ordinary files can be used.", "%s is %s.", quote(p.asked), kindOf(p.info.Mode()))
	}
	return nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "no ordinary file"
}

func elements(path string) []string {
	var segs []string
	for seg := range strings.SplitSeq(path, "/") {
		if seg != "" && seg != "." {
			segs = append(segs, seg)
		}
	}
	return segs
}

func linkOutside(asked string) error {
	return refuse("link_outside", insideOnly, "%s leads out of the workspace by a link.", quote(asked))
}
