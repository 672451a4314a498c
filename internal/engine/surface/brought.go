package surface

import (
	"cmp"
	"slices"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// brought are the tools that an API client brings to one run. They pass all
// layers, shown in the dialects as they are when that is asked.
type brought struct {
	catalog *tool.Catalog
	now     *generation // nil until the first decision under these dialects
}

// Bring has the tools of cat judged beside those of the agent in what is
// decided for the run, until the returned function is called. A tool whose name
// the agent has is left out, unless that is secret: to whoever brings one, a name
// that is denied to the agent is free. A run is brought one catalog.
func (d *Decider) Bring(run string, cat *tool.Catalog) (revoke func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.brought == nil {
		d.brought = map[string]*brought{}
	}
	b := &brought{catalog: cat}
	d.brought[run] = b
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.brought[run] == b {
			delete(d.brought, run)
		}
	}
}

// Brought is what Bring was given for the run; nil without any.
func (d *Decider) Brought(run string) *tool.Catalog {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.brought[run]; b != nil {
		return b.catalog
	}
	return nil
}

// join is dec, of the catalog own, with what was brought. The caller holds d.mu.
func (d *Decider) join(dec *Decision, own *tool.Catalog, b *brought, s tool.Scope, t llm.Target) *Decision {
	if b.now == nil || b.now.revision != d.revision {
		b.now = d.compile(b.catalog)
	}
	f := b.now.facts(s, t, nil)
	f.complete(b.now, s, t)
	f.fits = d.fitsFor(b.now, t)
	more := judge(b.catalog, &f)
	out := *dec
	out.Permitted, out.Removed = slices.Clone(dec.Permitted), slices.Clone(dec.Removed)
	free := func(name string) bool {
		if _, ours := own.Find(name); !ours {
			return true
		}
		i := slices.IndexFunc(out.Removed, func(r tool.Removal) bool { return r.Tool == name })
		if i < 0 || !out.Removed[i].Secret {
			return false
		}
		out.Removed = slices.Delete(out.Removed, i, i+1)
		return true
	}
	for _, e := range more.Permitted {
		if free(e.Def.Name) {
			out.Permitted = append(out.Permitted, e)
		}
	}
	for _, r := range more.Removed {
		if free(r.Tool) {
			out.Removed = append(out.Removed, r)
		}
	}
	out.sort()
	return &out
}

// sort puts the decision into its order.
func (dec *Decision) sort() {
	slices.SortFunc(dec.Permitted, func(a, b *tool.Entry) int { return cmp.Compare(a.Def.Name, b.Def.Name) })
	slices.SortFunc(dec.Removed, func(a, b tool.Removal) int { return cmp.Compare(a.Tool, b.Tool) })
}
