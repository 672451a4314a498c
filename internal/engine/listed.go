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
// long as it, so that descriptions don't change with what is said.
func withPresets(ctx context.Context, book *preset.Book, sf *tool.Surface, ask tool.Ask) {
	if book == nil {
		return
	}
	chosen := sf.State.Presets            // empty where the list has just begun
	sf.Offered = slices.Clone(sf.Offered) // an entry is shared by all requests
	var kept []tool.PresetChoice
	for i, e := range sf.Offered {
		all := book.Approved(ctx, e.Def.Name)
		if len(all) == 0 {
			continue
		}
		var names []string
		if j := slices.IndexFunc(chosen, func(c tool.PresetChoice) bool { return c.Tool == e.Def.Name }); j >= 0 {
			names = chosen[j].Names
		}
		list, cut := preset.Listed(all, names, ask.Message.Text())
		if cut {
			c := tool.PresetChoice{Tool: e.Def.Name, Names: names}
			if len(names) == 0 {
				for _, p := range list {
					c.Names = append(c.Names, p.Name)
				}
			}
			kept = append(kept, c)
		}
		if len(list) == 0 {
			continue
		}
		own := *e
		own.Spec.Description += "\n" + heading(e.Def.Name) + "\n" + preset.Lines(list)
		sf.Offered[i] = &own
	}
	if sf.State.Own == nil { // a run with a list of its own leaves the session's as it is
		sf.State.Presets = kept
	}
}

func heading(name string) string {
	if name == "db_query" {
		return "Approved saved queries:"
	}
	return "Approved presets:"
}
