package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/lib/visible"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed file_edit.md
var fileEditDoc string

type editIn struct {
	Path string `json:"path"`
	Old  string `json:"old" jsonschema:"exact text in the file"`
	New  string `json:"new"`
	All  bool   `json:"all,omitempty" jsonschema:"replace every occurrence"`
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
	// Whoever may not write hears that, and not how the text differs.
	if err := ws.Check(call, workspace.Change{Path: in.Path}); err != nil {
		return tool.Result{}, helpful(err)
	}
	now, err := ws.ReadFile(in.Path)
	if err != nil {
		return tool.Result{}, helpful(err)
	}
	text, enc, ok := decode(now.Data)
	if !ok {
		return tool.Result{}, fmt.Errorf("%s can't be edited as text (%s)", now.Path, enc)
	}
	changed, places, err := replace(now.Path, text, in)
	if err != nil {
		return tool.Result{}, err
	}
	data := enc.encode(changed)
	done, err := put(ctx, ws, call, workspace.Change{Path: in.Path, Data: data, Expect: now.Digest})
	if err != nil {
		return tool.Result{}, err
	}
	d := writeDetails{Path: done.Path, Bytes: len(data), Lines: countLines(changed), change: compare(done.Path, text, changed)}
	where := fmt.Sprintf("at line %d", places[0])
	if len(places) > 1 {
		where = "in " + count(len(places), "place") + ", lines " + listed(places)
	}
	return tool.Result{
		Content: tool.TextResult(fmt.Sprintf("Edited %s %s (%s).", done.Path, where, d.change)).Content,
		Details: d,
		Effects: []tool.Effect{seen(done.Path, done.Digest)},
	}, nil
}

// replace makes the edit and tells at which lines. It takes old as it is
// written, then with the file's line endings, then as the visible form of
// hidden characters.
func replace(path, text string, in editIn) (string, []int, error) {
	switch in.Old {
	case "":
		return "", nil, errors.New("old is empty: give the exact text to replace, or use file_write for the whole file")
	case in.New:
		return "", nil, errors.New("old and new are the same: nothing to change")
	}
	for _, form := range forms(text, in.Old, in.New) {
		places := occurrences(text, form.old)
		if len(places) == 0 {
			continue
		}
		if len(places) > 1 && !in.All {
			return "", nil, fmt.Errorf("old stands %d times in %s, at lines %s: give more of the text around the one you mean, or all: true",
				len(places), path, listed(places))
		}
		// Occurrences that overlap can't all be replaced.
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

// occurrences lists the lines where part begins in text, those that overlap
// too.
func occurrences(text, part string) []int {
	var lines []int
	line, from := 1, 0
	for {
		i := strings.Index(text[from:], part)
		if i < 0 {
			return lines
		}
		line += strings.Count(text[from:from+i], "\n")
		lines = append(lines, line)
		if text[from+i] == '\n' {
			line++
		}
		from += i + 1
	}
}

func notThere(path, text string, in editIn) error {
	want := splitLines(in.Old)
	switch {
	case text == "":
		return fmt.Errorf("%s is empty; use file_write", path)
	case lineNumbers(want):
		return fmt.Errorf("old is not in %s: it begins with line numbers, which are not part of the file; leave them out", path)
	case len(in.New) > 5 && strings.Contains(text, in.New):
		return fmt.Errorf("old is not in %s, but new is, at line %d: the edit seems to be done already", path, lineAt(text, strings.Index(text, in.New)))
	}
	return fmt.Errorf("old is not in %s. %s", path, explain(splitLines(text), want))
}

// listed writes line numbers, the first few of them.
func listed(lines []int) string {
	const most = 6
	var s []string
	for _, n := range lines[:min(len(lines), most)] {
		s = append(s, fmt.Sprint(n))
	}
	if len(lines) > most {
		s = append(s, "…")
	}
	return strings.Join(s, ", ")
}
