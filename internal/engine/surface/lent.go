package surface

import (
	"slices"

	"github.com/goclaw/goclaw/internal/tool"
)

// lentLayers are asked about tools that the host binds to one run: they are
// merged behind the policies, and a provider still has to take their schema.
var lentLayers = []string{"hook", "schema"}

// Lend adds entries to what the run may use, until the returned function is
// called. Their names must not be those of tools of the registry.
func (d *Decider) Lend(run string, entries []*tool.Entry) (revoke func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
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
	}
}

// lend is dec with what is bound to one run. The caller holds d.mu.
func (d *Decider) lend(dec *Decision, f *Facts, run string) *Decision {
	entries := d.lent[run]
	if len(entries) == 0 {
		return dec
	}
	out := *dec
	out.Permitted, out.Removed = slices.Clone(dec.Permitted), slices.Clone(dec.Removed)
	for _, e := range entries {
		var r *tool.Removal
		for _, l := range Layers {
			if r == nil && slices.Contains(lentLayers, l.Name) {
				if r = l.Judge(f, e); r != nil {
					r.Tool, r.Layer = e.Def.Name, l.Name
				}
			}
		}
		if r != nil {
			out.Removed = append(out.Removed, *r)
		} else {
			out.Permitted = append(out.Permitted, f.shown(e))
		}
	}
	out.sort()
	return &out
}
