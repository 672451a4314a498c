package surface

import (
	"errors"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// schema removes tools whose parameters can't be said in what the model's
// provider takes of JSON Schema: one of them would make it refuse the request.
func schema(f *Facts, e *tool.Entry) *tool.Removal {
	if f.fits == nil {
		return nil
	}
	if r := f.fits.of(e).removal; r != nil {
		own := *r
		return &own
	}
	return nil
}

// fits is how the tools of a catalog are shown to one provider, as far as
// somebody asked.
type fits struct {
	dialect *jsonschema.Dialect
	known   map[*tool.Entry]fit
}

// fit is how one tool is shown.
type fit struct {
	entry   *tool.Entry // the registered one when nothing had to change
	removal *tool.Removal
}

// fitsFor is what is known of the provider of t. The caller holds d.mu.
func (d *Decider) fitsFor(g *generation, t llm.Target) *fits {
	if d.dialects == nil || t == (llm.Target{}) {
		return nil
	}
	dialect := d.dialects(t)
	if dialect == nil {
		return nil
	}
	f := g.fits[dialect]
	if f == nil {
		f = &fits{dialect: dialect, known: make(map[*tool.Entry]fit, len(g.catalog.Entries))}
		g.fits[dialect] = f
	}
	return f
}

// shown is e as the model's provider takes it. It has not been removed.
func (f *Facts) shown(e *tool.Entry) *tool.Entry {
	if f.fits == nil {
		return e
	}
	return f.fits.of(e).entry
}

// Show is e as a provider of that dialect takes it, or why it can't be shown to
// it. A nil dialect takes anything.
func Show(d *jsonschema.Dialect, e *tool.Entry) (*tool.Entry, *tool.Removal) {
	if d == nil {
		return e, nil
	}
	f := (&fits{dialect: d}).make(e)
	return f.entry, f.removal
}

func (f *fits) of(e *tool.Entry) fit {
	known, ok := f.known[e]
	if !ok {
		known = f.make(e)
		f.known[e] = known
	}
	return known
}

func (f *fits) make(e *tool.Entry) fit {
	p, err := f.dialect.Project(e.Spec.Parameters)
	if err != nil {
		return fit{removal: unfit(f.dialect, e, err)}
	}
	if len(p.Changes) == 0 && p.Remark == "" && len(p.Parameters) == len(e.Spec.Parameters) {
		return fit{entry: e}
	}
	own := *e
	own.Spec.Parameters = p.Parameters
	own.Changes = make([]string, len(p.Changes))
	for i, c := range p.Changes {
		own.Changes[i] = f.dialect.Name + ": " + c
	}
	if p.Remark != "" {
		if own.Spec.Description != "" {
			own.Spec.Description += "\n\n"
		}
		own.Spec.Description += p.Remark
	}
	return fit{entry: &own}
}

func unfit(d *jsonschema.Dialect, e *tool.Entry, err error) *tool.Removal {
	r := &tool.Removal{
		Rule:   d.Name,
		Reason: "its parameter schema can't be shown to " + d.Name + ": " + err.Error(),
		Fix:    "ask whoever made " + e.Def.Name + " for a schema without that, or use another provider",
	}
	var u *jsonschema.UnfitError
	if errors.As(err, &u) {
		r.Rule += "/" + u.Rule
		if u.Fix != "" {
			r.Fix = u.Fix + ", or use another provider"
		}
	}
	return r
}
