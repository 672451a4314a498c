// Package files is the family of tools that work on the files of the workspace:
// reading, writing, editing, listing, searching, moving, deleting, patching.
// Each tool has a file of its own, and beside it the description that the model
// reads.
//
// Where a path leads and who may write is decided by guard/workspace; nothing
// here opens a file by itself. The tools keep no state: what a session has seen
// of the files is in its [tool.State], and changes there by the effects of the
// results.
//
// Start reading at [Family]; a small tool to read first is file_delete.
package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Family is the family "files". Its tools work in the workspace of the scope
// that they are called with, opened through set.
func Family(set *workspace.Set) tool.Family {
	return tool.NewFamily("files", struct{}{}, func(struct{}) ([]tool.Tool, error) { return Tools(set), nil })
}

// Tools makes the tools of the family.
func Tools(set *workspace.Set) []tool.Tool {
	k := kit{set}
	return []tool.Tool{
		k.applyPatch(), k.fileDelete(), k.fileEdit(), k.fileList(), k.fileMove(), k.fileRead(), k.fileSearch(), k.fileWrite(),
	}
}

// kit is what the tools have in common.
type kit struct{ set *workspace.Set }

func (k kit) open(call tool.Call) (*workspace.Workspace, error) {
	if call.Scope.Workspace() == "" {
		return nil, errors.New("this run has no workspace")
	}
	return k.set.Open(call.Scope.Workspace())
}

// reader and writer are the traits of the family.
func reader(tags ...string) tool.Traits {
	return tool.Traits{Category: "fs", Tags: append(tags, "file"), ReadOnly: true}
}

func writer(tags ...string) tool.Traits {
	return tool.Traits{Category: "fs", Tags: append(tags, "file")}
}

// touches names paths as they are asked for and, when a link leads elsewhere,
// as they are; so that two names of one file conflict. A path that will be
// refused touches everything, which is the cautious answer.
func (k kit) touches(call tool.Call, write bool, paths ...string) []tool.Touch {
	all := []tool.Touch{{Name: "file:", Write: write}}
	ws, err := k.open(call)
	if err != nil {
		return all
	}
	var touches []tool.Touch
	for _, path := range paths {
		clean, err := ws.Clean(path)
		if err != nil {
			return all
		}
		touches = append(touches, touch(clean, write))
		if real, err := ws.Resolve(clean); err == nil && real != clean {
			touches = append(touches, touch(real, write))
		}
	}
	return touches
}

func touch(clean string, write bool) tool.Touch {
	if clean == "." {
		clean = ""
	}
	return tool.Touch{Name: "file:" + clean, Write: write}
}

func seen(path, digest string) tool.Effect {
	return tool.Effect{Kind: tool.FileSeen, Key: path, Value: digest}
}

// fromFile makes a text part of what a file holds or is called.
func fromFile(s string) llm.Part {
	p := llm.Text(s)
	p.Origin = "file"
	return p
}

// put writes a file and tells whether it is new.
func put(ctx context.Context, ws *workspace.Workspace, call tool.Call, c workspace.Change) (workspace.Done, error) {
	done, err := ws.Apply(ctx, call, c)
	if err != nil {
		return workspace.Done{}, helpful(err)
	}
	return done[0], nil
}

// helpful adds to an error of the workspace what to do instead. It names no tool: the
// agent may not have it.
func helpful(err error) error {
	var folder *workspace.IsFolder
	var file *workspace.NotFolder
	var exists *workspace.Exists
	switch {
	case errors.As(err, &folder):
		return fmt.Errorf("%w; list it to see what it holds", err)
	case errors.As(err, &file):
		return fmt.Errorf("%w; read it", err)
	case errors.As(err, &exists):
		return fmt.Errorf("%w; choose another name, or delete it first", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the system does not permit it: %w", err)
	}
	return err
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 1_000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// count writes a number with the right form of a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if s, ok := strings.CutSuffix(noun, "y"); ok {
		noun = s + "ie"
	} else if strings.HasSuffix(noun, "ch") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
