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
	var chosen []tool.PresetChoice // none where the list has just begun
	if !apart {
		chosen = slices.Clone(sf.State.Presets)
	}
	sf.Offered = slices.Clone(sf.Offered) // an entry is shared by all requests
	for i, e := range sf.Offered {
		all := approved[e.Def.Name]
		if len(all) == 0 {
			continue
		}
		at := slices.IndexFunc(chosen, func(c tool.PresetChoice) bool { return c.Tool == e.Def.Name })
		var names []string
		if at >= 0 {
			names = chosen[at].Names
		}
		list, cut := preset.Listed(all, names, ask.Message.Text())
		switch {
		case cut && at < 0:
			names = make([]string, len(list)) // that none fits is a choice, too
			for j, p := range list {
				names[j] = p.Name
			}
			chosen = append(chosen, tool.PresetChoice{Tool: e.Def.Name, Names: names})
		case !cut && at >= 0:
			chosen = slices.Delete(chosen, at, at+1)
		}
		if len(list) == 0 {
			continue
		}
		own := *e
		own.Spec.Description += "\n" + heading(e.Def.Name) + "\n" + preset.Lines(list)
		sf.Offered[i] = &own
	}
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
