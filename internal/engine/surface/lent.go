package surface

import (
	"fmt"
	"slices"

	"github.com/goclaw/goclaw/internal/tool"
)

// lentLayers are asked about tools that the host binds to one run: they are
// merged behind the policies, and a provider still has to take their schema.
var lentLayers = slices.DeleteFunc(slices.Clone(Layers), func(l Layer) bool { return l.Name != "hook" && l.Name != "schema" })

// Lend adds entries to what the run may use, until the returned function is
// called. Their names must not be those of tools of the registry; where one gets
// such a name later, what is lent stands in its place. The error says that one
// of that name is lent to the run already.
func (d *Decider) Lend(run string, entries []*tool.Entry) (revoke func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range entries {
		if _, twice := tool.Find(d.lent[run], e.Def.Name); twice {
			return nil, fmt.Errorf("a tool %s is lent to it already", e.Def.Name)
		}
	}
	if d.lent == nil {
		d.lent = map[string][]*tool.Entry{}
	}
	d.lent[run] = append(d.lent[run], entries...)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.lent[run] = slices.DeleteFunc(d.lent[run], func(e *tool.Entry) bool { return slices.Contains(entries, e) })
		if len(d.lent[run]) == 0 {
			delete(d.lent, run)
		}
	}, nil
}

// lend is dec with what is bound to one run. The caller holds d.mu.
func (d *Decider) lend(dec *Decision, f *Facts, run string) *Decision {
	entries := d.lent[run]
	if len(entries) == 0 {
		return dec
	}
	out := *dec
	out.Permitted = slices.DeleteFunc(slices.Clone(dec.Permitted), func(p *tool.Entry) bool {
		_, lent := tool.Find(entries, p.Def.Name)
		return lent
	})
	out.Removed = slices.DeleteFunc(slices.Clone(dec.Removed), func(r tool.Removal) bool {
		_, lent := tool.Find(entries, r.Tool)
		return lent
	})
	for _, e := range entries {
		if r, removed := f.removal(e, lentLayers); removed {
			out.Removed = append(out.Removed, r)
		} else {
			out.Permitted = append(out.Permitted, f.shown(e))
		}
	}
	out.sort()
	return &out
}
