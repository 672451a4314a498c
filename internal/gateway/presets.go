package gateway

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/engine/preset"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/tool"
)

// fits says why no agent's tool can be called with a preset; nil when one can.
func (g *Gateway) fits(p preset.Preset) error {
	args, err := jsonschema.Decode(p.Args)
	if err != nil {
		return fmt.Errorf("args: %w", err)
	}
	var names, problems []string
	for _, c := range g.Config.Agents() {
		a, err := g.Agent(c.ID)
		if err != nil {
			continue // nobody can use it
		}
		cat := a.Registry.Catalog()
		entry, ok := cat.Find(p.Tool)
		if !ok {
			names = append(names, tool.Names(cat.Entries)...)
			continue
		}
		faults := entry.Schema.Validate(args)
		if len(faults) == 0 {
			return nil
		}
		if len(problems) == 0 {
			for _, f := range faults {
				problems = append(problems, "args: "+f.String())
			}
		}
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	unknown := "no tool of that name is registered now; one that a plugin or a server brings must be connected before a preset of it is written down"
	if near, ok := nearest.Name(p.Tool, names); ok {
		unknown += "; did you mean " + near + "?"
	}
	return errors.New(unknown)
}
