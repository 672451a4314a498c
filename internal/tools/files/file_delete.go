package files

import (
	"context"
	_ "embed"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed file_delete.md
var fileDeleteDoc string

type deleteIn struct {
	Path string `json:"path"`
}

type deleteDetails struct {
	Path string `json:"path"`
}

func (k kit) fileDelete() tool.Tool {
	t := tool.New(tool.Definition{
		Name: "file_delete", Description: fileDeleteDoc, Traits: writer("delete", "remove", "rm"),
	}, k.delete)
	return tool.WithTouches(t, func(call tool.Call, in deleteIn) []tool.Touch { return k.touches(call, true, in.Path) })
}

func (k kit) delete(ctx context.Context, call tool.Call, in deleteIn) (tool.Result, error) {
	ws, err := k.open(call)
	if err != nil {
		return tool.Result{}, err
	}
	done, err := put(ctx, ws, call, workspace.Change{Op: workspace.Remove, Path: in.Path})
	if err != nil {
		return tool.Result{}, err
	}
	r := tool.TextResult("Deleted " + printable(done.Path) + ".")
	r.Details = deleteDetails{Path: done.Path}
	r.Effects = []tool.Effect{seen(done.Path, "")}
	return r, nil
}
