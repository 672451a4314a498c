package engine

import (
	"context"
	"slices"

	"github.com/goclaw/goclaw/internal/engine/preset"
	"github.com/goclaw/goclaw/internal/tool"
)

// withPresets shows the approved presets of the offered tools in their
// descriptions. Those of which there are more than a description has room for
// are chosen by the message that begins the session's tool list and stay as
// long as it, so that descriptions don't change with what is said. Where the
// tools are no part of that list (apart), the run's message chooses, and what the
// session keeps stays as it is.
func withPresets(ctx context.Context, book *preset.Book, sf *tool.Surface, ask tool.Ask, apart bool) {
	approved := book.Approved(ctx)
	if len(approved) == 0 {
		return
	}
	var chosen []tool.PresetChoice // of a list apart there are none yet
	if !apart {
		chosen = sf.State.Presets
	}
	var own []*tool.Entry // made for the first tool with presets: entries are shared by all requests
	for i, e := range sf.Offered {
		all := approved[e.Def.Name]
		if all == nil || e.Owner.Kind == tool.ClientOwner { // which has that name by chance
			continue
		}
		if own == nil {
			own, chosen = slices.Clone(sf.Offered), slices.Clone(chosen)
		}
		at := slices.IndexFunc(chosen, func(c tool.PresetChoice) bool { return c.Tool == e.Def.Name })
		var names []string
		if at >= 0 {
			names = chosen[at].Names
		}
		lines, picked, cut := all.Listed(names, ask.Message.Text())
		switch {
		case cut && at < 0:
			chosen = append(chosen, tool.PresetChoice{Tool: e.Def.Name, Names: picked})
		case !cut && at >= 0:
			chosen = slices.Delete(chosen, at, at+1)
		}
		if lines == "" {
			continue
		}
		described := *e
		described.Spec.Description += "\n" + heading(e.Def.Name) + "\n" + lines
		own[i] = &described
	}
	if own == nil {
		return
	}
	sf.Offered = own
	if !apart {
		sf.State.Presets = chosen
	}
}

func heading(name string) string {
	if name == "db_query" {
		return "Approved saved queries:"
	}
	return "Approved presets:"
}
