package files

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed file_move.md
var fileMoveDoc string

type moveIn struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type moveDetails struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func (k kit) fileMove() tool.Tool {
	traits := writer("move", "rename", "mv")
	traits.Paths = []string{"from", "to/"} // a slash at the end moves it into that folder
	t := tool.New(tool.Definition{Name: "file_move", Description: fileMoveDoc, Traits: traits}, k.move)
	return tool.WithTouches(t, func(call tool.Call, in moveIn) []tool.Touch { return k.touches(call, true, in.From, in.To) })
}

func (k kit) move(ctx context.Context, call tool.Call, in moveIn) (tool.Result, error) {
	ws, err := k.open(call)
	if err != nil {
		return tool.Result{}, err
	}
	done, err := put(ctx, ws, call, workspace.Change{Op: workspace.Move, Path: in.From, To: in.To})
	if err != nil {
		return tool.Result{}, err
	}
	r := tool.TextResult(fmt.Sprintf("Moved %s to %s.", printable(done.Path), printable(done.To)))
	r.Details = moveDetails{From: done.Path, To: done.To}
	if digest, ok := call.State.Digest(done.Path); ok {
		r.Effects = []tool.Effect{seen(done.Path, ""), seen(done.To, digest)}
	}
	return r, nil
}
