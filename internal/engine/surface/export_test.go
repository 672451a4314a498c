package surface

import (
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// JudgeWith asks all layers, in the order given, about each tool, and tells of
// every one that removes it. It returns the names of those that none removes.
func JudgeWith(d *Decider, cat *tool.Catalog, s tool.Scope, t llm.Target, layers []Layer, removed func(name, layer string)) []string {
	g := d.generation(cat)
	f := g.facts(s, t, nil)
	f.complete(g, s, t)
	d.mu.Lock()
	f.fits = d.fitsFor(g, t)
	d.mu.Unlock()
	permitted := []string{}
	for _, e := range cat.Entries {
		passed := true
		for _, l := range layers {
			if l.Judge(&f, e) != nil {
				removed(e.Def.Name, l.Name)
				passed = false
			}
		}
		if passed {
			permitted = append(permitted, e.Def.Name)
		}
	}
	return permitted
}
