package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/lib/visible"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed file_edit.md
var fileEditDoc string

type editIn struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  bool   `json:"all,omitempty"`
}

func (k kit) fileEdit() tool.Tool {
	t := tool.New(tool.Definition{
		Name: "file_edit", Description: fileEditDoc,
		Traits: writer("edit", "change", "replace", "modify", "fix"),
	}, k.edit)
	return tool.WithTouches(t, func(call tool.Call, in editIn) []tool.Touch { return k.touches(call, true, in.Path) })
}

func (k kit) edit(ctx context.Context, call tool.Call, in editIn) (tool.Result, error) {
	ws, err := k.open(call)
	if err != nil {
		return tool.Result{}, err
	}
	var e edited
	done, err := ws.Update(ctx, call, func() (_ []workspace.Change, err error) {
		if e, err = plan(ws, call, in); err != nil {
			return nil, err
		}
		return []workspace.Change{{Path: in.Path, Data: e.data, Expect: e.digest}}, nil
	})
	if err != nil {
		return tool.Result{}, helpful(err)
	}
	path := done[0].Path
	d := writeDetails{Path: path, Bytes: len(e.data), Lines: countLines(e.new), change: compare(path, e.old, e.new)}
	where := fmt.Sprintf("at line %d", e.lines[0])
	if len(e.lines) > 1 {
		where = "in " + count(len(e.lines), "place") + ", " + listed(e.lines)
	}
	return tool.Result{
		Content: tool.TextResult(fmt.Sprintf("Edited %s %s (%s).", printable(path), where, d.change)).Content,
		Details: d,
		Effects: []tool.Effect{seen(path, done[0].Digest)},
	}, nil
}

// edited is a file with its edit made, before it is written.
type edited struct {
	old, new string
	data     []byte // new as the file stores it
	digest   string // of what it holds now
	lines    []int  // of the old text at which something was replaced
}

// plan makes the edit of what the file holds.
func plan(ws *workspace.Workspace, call tool.Call, in editIn) (e edited, err error) {
	// Whoever may not write hears that, and not how the text differs.
	if err := ws.Check(call, workspace.Change{Path: in.Path}); err != nil {
		return e, err
	}
	now, err := ws.ReadFile(in.Path)
	if err != nil {
		return e, err
	}
	text, enc, ok := decode(now.Data)
	if !ok {
		return e, fmt.Errorf("%s can't be edited as text (%s)", printable(now.Path), enc)
	}
	e = edited{old: text, digest: now.Digest}
	if e.new, e.lines, err = replace(printable(now.Path), text, in); err != nil {
		return e, err
	}
	e.data = enc.encode(e.new)
	return e, nil
}

// replace makes the edit and tells at which lines. It takes old as it is
// written, then with the file's line endings, then as the visible form of
// hidden characters.
func replace(path, text string, in editIn) (string, []int, error) {
	switch in.Old {
	case "":
		return "", nil, errors.New("old is empty: give the exact text to replace, or write the whole file")
	case in.New:
		return "", nil, errors.New("old and new are the same: nothing to change")
	}
	for _, form := range forms(text, in.Old, in.New) {
		// Where occurrences overlap all of them count as long as one is meant,
		// but only every other can be replaced.
		step := 1
		if in.All {
			step = len(form.old)
		}
		places := occurrences(text, form.old, step)
		if len(places) == 0 {
			continue
		}
		if len(places) > 1 && !in.All {
			return "", nil, fmt.Errorf("old stands %d times in %s, at %s: give more of the text around the one you mean, or all: true",
				len(places), path, listed(places))
		}
		return strings.ReplaceAll(text, form.old, form.new), places, nil
	}
	return "", nil, notThere(path, text, in)
}

type form struct{ old, new string }

func forms(text, old, new string) []form {
	all := []form{{old, new}}
	if isCRLF(text) && strings.Contains(old+new, "\n") {
		all[0].new = toCRLF(new)
		all = append(all, form{toCRLF(old), toCRLF(new)})
	}
	for _, f := range all {
		if revealed := visible.Reveal(f.old); revealed != f.old {
			all = append(all, form{revealed, visible.Reveal(f.new)})
		}
	}
	return all
}

// occurrences lists the lines where part begins in text. The next one is looked
// for step bytes behind the last.
func occurrences(text, part string, step int) []int {
	var lines []int
	line, from := 1, 0
	for {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return lines
		}
		line += strings.Count(text[from:from+i], "\n")
		lines = append(lines, line)
		line += strings.Count(text[from+i:from+i+step], "\n")
		from += i + step
	}
}

func notThere(path, text string, in editIn) error {
	want := splitLines(in.Old)
	switch {
	case text == "":
		return fmt.Errorf("%s is empty; write the whole file", path)
	case lineNumbers(want):
		return fmt.Errorf("old is not in %s: it begins with line numbers, which are not part of the file; leave them out", path)
	case len(in.New) > 5 && strings.Contains(text, in.New):
		return fmt.Errorf("old is not in %s, but new is, at line %d: the edit seems to be done already", path, lineAt(text, strings.Index(text, in.New)))
	}
	return fmt.Errorf("old is not in %s. %s", path, explain(splitLines(text), want))
}

// listed names lines by number, each once and the first few of them.
func listed(lines []int) string {
	const most = 6
	lines = slices.Compact(slices.Clone(lines))
	var b strings.Builder
	b.WriteString("line")
	if len(lines) > 1 {
		b.WriteByte('s')
	}
	for i, n := range lines[:min(len(lines), most)] {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %d", n)
	}
	if len(lines) > most {
		b.WriteString(", …")
	}
	return b.String()
}
