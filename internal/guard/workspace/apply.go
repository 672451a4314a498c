package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/goclaw/goclaw/internal/tool"
)

// Op is what a [Change] does.
type Op uint8

const (
	// Put writes a file, whether it exists or not. Missing folders are made.
	Put Op = iota
	// Create is Put for a file that must not exist.
	Create
	// Remove deletes a file or an empty folder; of a link, the link.
	Remove
	// Move renames a file, folder or link to a name that is not taken.
	// Missing folders are made.
	Move
)

// Change is one change to the files of a workspace.
type Change struct {
	Op   Op
	Path string
	To   string // of Move
	Data []byte // of Put and Create

	// Expect is the digest of the content that Data was made from (see
	// [Digest]); "" when it was made from none.
	Expect string
	// Mode holds the permissions of a new file, before the umask; 0 means
	// 0644. A file that exists keeps its own.
	Mode fs.FileMode
}

// Done tells of a change that was made.
type Done struct {
	Path    string // where the file really is or was, without links
	To      string // of Move, likewise
	Created bool   // a Put made a new file
	Digest  string // of what was written
}

// Apply makes changes on behalf of a call, all of them or none. Every change is
// checked before the first one is made, and what can't be finished is taken
// back. Only a crash of the process in between can leave a part.
//
// What a caller may change follows from the call's scope. A file that the
// session has read (its state knows it) is not overwritten or deleted when it
// has changed since; one that it has never read may be.
//
// A file is replaced in one step by a temporary file from the same folder, so
// that readers see the old or the new content whole. Permissions are kept, the
// owner where the system allows it; access lists and extended attributes are
// not. Nothing is flushed to the disk: a crash of the process loses nothing, a
// loss of power may lose the writes of the last seconds, as git's checkout and
// the state database would. Waiting for the disk costs more than all the rest.
//
// Paths of one call must be independent: none may be given twice or lie inside
// another. Errors are [*NotFound], [*IsFolder], [*Exists], a [*tool.Refusal],
// or of the file system.
func (w *Workspace) Apply(ctx context.Context, call tool.Call, changes ...Change) ([]Done, error) {
	return w.Update(ctx, call, func() ([]Change, error) { return changes, nil })
}

// Update is [Workspace.Apply] for changes that depend on what the files hold.
// plan reads them and says what to change; its error is returned as it is.
// From its reading to the change no other change gets in between, of this
// process or of another one that uses this package: both wait. Other programs
// don't know of it; what they change meanwhile is noticed when it is about to
// be overwritten. plan must not change files of the workspace itself.
func (w *Workspace) Update(ctx context.Context, call tool.Call, plan func() ([]Change, error)) ([]Done, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	release, err := w.exclude(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	w.sweep()
	changes, err := plan()
	if err != nil {
		return nil, err
	}
	return w.apply(ctx, call, changes)
}

func (w *Workspace) apply(ctx context.Context, call tool.Call, changes []Change) ([]Done, error) {
	pr, err := w.protection(call.Scope)
	if err != nil {
		return nil, fmt.Errorf("check the protected files: %w", err)
	}
	steps := make([]*step, 0, len(changes))
	defer func() {
		for _, st := range steps {
			st.close()
		}
	}()
	for _, c := range changes {
		st, err := w.plan(pr, call, c)
		if err != nil {
			return nil, err
		}
		steps = append(steps, st)
	}
	for _, st := range steps {
		if err := st.stage(len(steps) > 1); err != nil {
			return nil, errors.Join(st.failed(err), undo(steps))
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, undo(steps))
	}
	for _, st := range steps {
		if err := st.commit(); err != nil {
			return nil, errors.Join(st.failed(err), undo(steps))
		}
	}
	done := make([]Done, len(steps))
	for i, st := range steps {
		done[i] = st.result()
	}
	settle(steps)
	return done, nil
}

// Check tells whether Apply would refuse the changes as things are now, without
// making them. Content is not needed.
func (w *Workspace) Check(call tool.Call, changes ...Change) error {
	pr, err := w.protection(call.Scope)
	if err != nil {
		return fmt.Errorf("check the protected files: %w", err)
	}
	for _, c := range changes {
		st, err := w.plan(pr, call, c)
		if err != nil {
			return err
		}
		st.close()
	}
	return nil
}

// Exists says that a name is taken.
type Exists struct{ Path string }

func (e *Exists) Error() string { return quote(e.Path) + " exists already" }

// Is makes the error an [fs.ErrExist].
func (e *Exists) Is(target error) bool { return target == fs.ErrExist }

// step is a change on its way: planned, staged, committed.
type step struct {
	w    *Workspace
	call tool.Call
	c    Change

	at *place // of what changes; of a link itself, when it is removed or moved
	to *place // of Move

	made   []madeFolder // folders that staging made, outermost first
	temp   string       // the new content, beside the file
	backup string       // the old content, beside the file, as long as it may be wanted back
	done   bool
	digest string
}

type madeFolder struct {
	parent *os.Root
	name   string
}

func (st *step) close() {
	if st.at != nil {
		st.at.close()
	}
	if st.to != nil {
		st.to.close()
	}
}

// plan finds the places of a change and checks all that can be checked without
// changing anything.
func (w *Workspace) plan(pr *protection, call tool.Call, c Change) (_ *step, err error) {
	st := &step{w: w, call: call, c: c}
	defer func() {
		if err != nil {
			st.close()
		}
	}()
	clean, err := w.Clean(c.Path)
	if err != nil {
		return nil, err
	}
	switch c.Op {
	case Put, Create:
		err = st.planWrite(pr, clean)
	case Remove:
		err = st.planRemove(pr, clean)
	case Move:
		if err = st.planRemove(pr, clean); err == nil {
			err = st.planArrival(pr)
		}
	}
	if err != nil {
		return nil, err
	}
	return st, nil
}

func (st *step) planWrite(pr *protection, clean string) (err error) {
	if st.at, err = st.w.locate(clean, true); err != nil {
		return err
	}
	if err := pr.check(st.at, writing, false); err != nil {
		return err
	}
	if strings.HasSuffix(st.c.Path, "/") {
		return fmt.Errorf("%s ends in a slash, so it names a folder; give the name of a file", quote(st.c.Path))
	}
	if st.at.info == nil {
		return st.at.checkNew()
	}
	if err := st.at.regular(); err != nil {
		return err
	}
	if st.c.Op == Create {
		return &Exists{Path: st.at.path()}
	}
	return st.expected()
}

// planRemove leaves at the place of a link itself, after the place that it
// leads to was checked as well.
func (st *step) planRemove(pr *protection, clean string) error {
	target, err := st.w.locate(clean, true)
	if err != nil {
		return err
	}
	err = pr.check(target, removing, target.info != nil && target.info.IsDir())
	target.close()
	if err != nil {
		return err
	}
	if st.at, err = st.w.locate(clean, false); err != nil {
		return err
	}
	switch at := st.at; {
	case at.info == nil:
		return at.notFound()
	case at.name == "":
		return refuse("root", "Name a file or folder in it.", "The workspace itself can't be moved or deleted.")
	case at.info.IsDir():
		if st.c.Op == Remove {
			return at.empty()
		}
	case at.info.Mode().IsRegular():
		if st.c.Op == Remove {
			if err := st.expected(); err != nil {
				return err
			}
		}
	case at.info.Mode()&fs.ModeSymlink == 0:
		return at.regular()
	}
	// The last element of the place is a link now or what was checked above.
	return pr.check(st.at, removing, st.at.info.IsDir())
}

// empty says that the folder at the place is not empty, if it isn't.
func (p *place) empty() error {
	if err := p.into(); err != nil {
		return err
	}
	names, err := p.in().names(maxNames)
	p.pop()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	more := ""
	if len(names) == maxNames {
		more = " or more"
	}
	return fmt.Errorf("the folder %s is not empty: it holds %d%s entries; delete those first", quote(p.path()), len(names), more)
}

// planArrival finds where a moved entry goes. A folder that exists, or a name
// that ends in a slash, takes it in; a folder given with a slash may also be the
// new name of a folder.
func (st *step) planArrival(pr *protection) error {
	clean, err := st.w.Clean(st.c.To)
	if err != nil {
		return err
	}
	if st.to, err = st.w.locate(clean, true); err != nil {
		return err
	}
	from, tree := st.at.path(), st.at.info.IsDir()
	if st.to.info != nil && st.to.info.IsDir() || st.to.info == nil && !tree && strings.HasSuffix(st.c.To, "/") {
		st.to.close()
		if st.to, err = st.w.locate(path.Join(clean, path.Base(from)), true); err != nil {
			return err
		}
	}
	if err := pr.check(st.to, arriving, tree); err != nil {
		return err
	}
	switch to := st.to.path(); {
	case st.to.info != nil:
		return &Exists{Path: to}
	case tree && strings.HasPrefix(to, from+"/"):
		return fmt.Errorf("a folder can't be moved into itself: %s to %s", quote(from), quote(to))
	}
	return st.to.checkNew()
}

// expected refuses a file that is not what the caller takes it for.
func (st *step) expected() error {
	at := st.at.path()
	seen, known := st.call.State.Digest(at)
	if st.c.Expect == "" && !known {
		return nil
	}
	f, err := st.at.open()
	if err != nil {
		return err
	}
	defer f.Close()
	now, err := digestOf(f, st.at.info)
	if err != nil {
		return err
	}
	if st.c.Expect != "" && now != st.c.Expect {
		return refuse("changed", "Try again.", "%s was changed by someone else at this moment.", quote(at))
	}
	if !known || now == seen {
		return nil
	}
	return refuse("changed", "Read it again, then repeat the change on what it holds now.",
		"%s has changed since it was last read.", quote(at))
}
