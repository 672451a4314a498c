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

//go:embed file_write.md
var fileWriteDoc string

type writeIn struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Attach  bool   `json:"attach,omitempty" jsonschema:"send it to the person"`
}

// writeDetails tell of a change for people.
type writeDetails struct {
	Path    string `json:"path"`
	Bytes   int    `json:"bytes"`
	Lines   int    `json:"lines"`
	Created bool   `json:"created,omitempty"`
	change
}

func (k kit) fileWrite() tool.Tool {
	traits := writer("write", "create", "save", "new", "overwrite", "attach")
	traits.Paths = []string{"path/"} // a slash at the end names a folder, which is refused
	t := tool.New(tool.Definition{Name: "file_write", Description: fileWriteDoc, Traits: traits}, k.write)
	return tool.WithTouches(t, func(call tool.Call, in writeIn) []tool.Touch { return k.touches(call, true, in.Path) })
}

func (k kit) write(ctx context.Context, call tool.Call, in writeIn) (tool.Result, error) {
	ws, err := k.open(call)
	if err != nil {
		return tool.Result{}, err
	}
	c := workspace.Change{Path: in.Path, Data: []byte(in.Content)}
	old, notes, err := keepForm(ws, in.Path, &c)
	if err != nil {
		return tool.Result{}, helpful(err)
	}
	done, err := put(ctx, ws, call, c)
	if err != nil {
		return tool.Result{}, err
	}
	d := writeDetails{Path: done.Path, Bytes: len(c.Data), Lines: countLines(in.Content), Created: done.Created}
	d.change = compare(done.Path, old, strings.ReplaceAll(in.Content, "\r\n", "\n"))
	text := fmt.Sprintf("Created %s: %s, %s.", printable(done.Path), count(d.Lines, "line"), size(int64(d.Bytes)))
	if !done.Created {
		text = fmt.Sprintf("Overwrote %s: %s, %s (%s).", printable(done.Path), count(d.Lines, "line"), size(int64(d.Bytes)), d.change)
	}
	r := tool.TextResult(text + notes)
	r.Details = d
	r.Effects = []tool.Effect{seen(done.Path, done.Digest)}
	if in.Attach {
		r.Effects = append(r.Effects, tool.Effect{Kind: tool.Attached, Key: done.Path})
		r.Content[0].Text += " It goes to the person with your answer."
	}
	return r, nil
}

// keepForm gives the new content of a text file the form that the file has:
// its encoding, its mark at the beginning, its line endings. It returns the
// text that the file holds now, with plain line endings, and what it kept.
func keepForm(ws *workspace.Workspace, path string, c *workspace.Change) (old, notes string, err error) {
	now, err := ws.ReadFile(path)
	var large *workspace.TooLarge
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &large) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	old, enc, ok := decode(now.Data)
	if !ok {
		return "", "", nil
	}
	text := string(c.Data)
	if isCRLF(old) && strings.Contains(text, "\n") && !strings.Contains(text, "\r") {
		text, notes = toCRLF(text), notes+" The line endings stay CR LF."
	}
	if enc != utf8Text {
		notes += " The encoding stays " + enc.String() + "."
	} else if strings.HasPrefix(old, bom) && !strings.HasPrefix(text, bom) {
		text, notes = bom+text, notes+" The byte order mark at the beginning stays."
	}
	c.Data = enc.encode(text)
	return strings.ReplaceAll(old, "\r\n", "\n"), notes, nil
}
