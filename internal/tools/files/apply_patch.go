package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed apply_patch.md
var applyPatchDoc string

type patchIn struct {
	Patch string `json:"patch"`
}

type patchDetails struct {
	Files []patchedFile `json:"files"`
	Diff  string        `json:"diff,omitempty"`
}

type patchedFile struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // its name before
	Op      string `json:"op"`             // added, changed, deleted
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

func (k kit) applyPatch() tool.Tool {
	t := tool.New(tool.Definition{
		Name: "apply_patch", Description: applyPatchDoc, Traits: writer("patch", "diff", "edit", "change", "several"),
	}, k.patch)
	return tool.WithTouches(t, func(call tool.Call, in patchIn) []tool.Touch {
		files, err := parsePatch(in.Patch)
		if err != nil {
			return nil // nothing will be touched
		}
		var paths []string
		for _, f := range files {
			paths = append(paths, f.path)
			if f.to != "" {
				paths = append(paths, f.to)
			}
		}
		return k.touches(call, true, paths...)
	})
}

func (k kit) patch(ctx context.Context, call tool.Call, in patchIn) (tool.Result, error) {
	files, err := parsePatch(in.Patch)
	if err != nil {
		return tool.Result{}, err
	}
	ws, err := k.open(call)
	if err != nil {
		return tool.Result{}, err
	}
	var d draft
	done, err := ws.Update(ctx, call, func() ([]workspace.Change, error) {
		d = draft{ws: ws, call: call, targets: map[string]*target{}}
		for _, f := range files {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := d.apply(f); err != nil {
				return nil, err
			}
		}
		changes := d.changes()
		if len(changes) == 0 {
			return nil, errors.New("the patch changes nothing: the files are that way already")
		}
		return changes, nil
	})
	if err != nil {
		return tool.Result{}, helpful(err)
	}
	return d.result(done), nil
}

// draft is the files of a patch as they will be, before any is written.
type draft struct {
	ws      *workspace.Workspace
	call    tool.Call
	targets map[string]*target // by where they really are
	order   []*target
	notes   []string
}

// target is one file.
type target struct {
	path     string // as the patch names it
	real     string
	was, is  bool // it exists before, after
	old, new string
	enc      encoding
	digest   string
	mode     fs.FileMode
	from     string // it had this name before
	moved    bool   // it has another name now
}

// load finds a file of the patch, as earlier parts of the patch left it.
func (d *draft) load(path string) (*target, error) {
	real, err := d.ws.Resolve(path)
	if err != nil {
		return nil, err
	}
	if t, ok := d.targets[real]; ok {
		return t, nil
	}
	if err := d.ws.Check(d.call, workspace.Change{Path: path}); err != nil {
		return nil, err
	}
	t := &target{path: path, real: real}
	c, err := d.ws.ReadFile(path)
	switch {
	case err == nil:
		text, enc, ok := decode(c.Data)
		if !ok {
			return nil, fmt.Errorf("%s can't be patched: it is no text", c.Path)
		}
		t.was, t.is, t.enc, t.digest, t.mode = true, true, enc, c.Digest, c.Mode
		t.old, t.new = text, text
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	d.targets[real] = t
	d.order = append(d.order, t)
	return t, nil
}

// existing is load for a file that must exist. A path of git's form may really
// begin with a/.
func (d *draft) existing(f filePatch) (*target, error) {
	t, err := d.load(f.path)
	if err != nil || t.is {
		return t, err
	}
	if f.git {
		if other, err := d.load("a/" + f.path); err == nil && other.is {
			return other, nil
		}
	}
	_, err = d.ws.ReadFile(f.path)
	if err == nil {
		err = fmt.Errorf("%s is deleted earlier in the patch", f.path)
	}
	return nil, err
}

func (d *draft) apply(f filePatch) error {
	if f.op == add {
		t, err := d.load(f.path)
		if err != nil {
			return err
		}
		if t.is {
			return fmt.Errorf(`%s exists already: use "*** Update File", or write the whole file to replace it`, t.real)
		}
		t.is, t.new = true, f.text
		if !t.was {
			t.mode = f.mode
		}
		return nil
	}
	t, err := d.existing(f)
	if err != nil {
		return err
	}
	text, notes, err := applyHunks(t.real, t.new, f.hunks)
	if err != nil {
		return err
	}
	d.notes = append(d.notes, notes...)
	if f.chmod {
		d.notes = append(d.notes, "the mode of "+t.real+" stays as it is")
	}
	switch {
	case f.op == remove && len(f.hunks) > 0 && strings.TrimPrefix(text, bom) != "":
		return fmt.Errorf("the patch deletes %s, but the file has other lines than the patch says", t.real)
	case f.op == remove:
		t.is, t.new = false, ""
	case f.to != "":
		return d.rename(t, f.to, text)
	default:
		t.new = text
	}
	return nil
}

func (d *draft) rename(t *target, to, text string) error {
	dest, err := d.load(to)
	if err != nil {
		return err
	}
	if dest == t {
		t.new = text
		return nil
	}
	if dest.is {
		return fmt.Errorf("%s can't be renamed: %s exists already", t.real, dest.real)
	}
	dest.is, dest.old, dest.new, dest.enc, dest.mode, dest.from = true, t.new, text, t.enc, t.mode, t.real
	t.is, t.moved = false, true
	return nil
}

// changes is what has to be done, and puts d.order in the same order.
func (d *draft) changes() []workspace.Change {
	var changes []workspace.Change
	var order []*target
	for _, t := range d.order {
		c := workspace.Change{Path: t.path, Data: t.enc.encode(t.new), Expect: t.digest, Mode: t.mode}
		switch {
		case t.was && !t.is:
			c.Op, c.Data = workspace.Remove, nil
		case t.was && t.new == t.old && t.from == "", !t.was && !t.is:
			continue
		case !t.was:
			c.Op = workspace.Create
		}
		changes, order = append(changes, c), append(order, t)
	}
	d.order = order
	return changes
}

func (d *draft) result(done []workspace.Done) tool.Result {
	var details patchDetails
	var text strings.Builder
	var r tool.Result
	for i, t := range d.order {
		r.Effects = append(r.Effects, seen(done[i].Path, done[i].Digest))
		f := patchedFile{Path: done[i].Path, From: t.from, Op: "changed"}
		switch {
		case t.moved:
			continue // told with its new name
		case !t.is:
			f.Op = "deleted"
		case !t.was && t.from == "":
			f.Op = "added"
		}
		c := compare(f.Path, t.old, t.new)
		f.Added, f.Removed = c.Added, c.Removed
		if room := maxDiff - len(details.Diff); room > 0 {
			details.Diff += strings.ToValidUTF8(c.Diff[:min(len(c.Diff), room)], "")
		}
		details.Files = append(details.Files, f)
		name := printable(f.Path)
		if f.From != "" {
			name = printable(f.From) + " → " + name
		}
		fmt.Fprintf(&text, "%s %s (%s)\n", f.Op, name, c)
	}
	for _, note := range d.notes {
		fmt.Fprintf(&text, "Note: %s.\n", note)
	}
	r.Content, r.Details = tool.TextResult(text.String()).Content, details
	return r
}
