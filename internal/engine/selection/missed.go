package selection

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// Missed is why a permitted tool is not shown.
type Missed struct {
	Detail string
	Where  source.Pos // the setting that decided, if any did
	Fix    string
}

// Missing says why c, which was chosen for r, leaves out tools that are
// permitted, and what brings each in. The function is for one goroutine.
func (s *Selector) Missing(r Request, c Choice) func(e *tool.Entry) Missed {
	p := &picking{Selector: s, Request: r}
	var ranked []Hit // made when it is asked for
	return func(e *tool.Entry) Missed {
		if ranked == nil {
			ranked = p.ranked(c)
		}
		return p.missed(e, ranked)
	}
}

func (p *picking) missed(e *tool.Entry, ranked []Hit) Missed {
	name := e.Def.Name
	if why := Hidden(e); why != "" {
		return Missed{Detail: why, Fix: "call it yourself"}
	}
	if !p.offers(e) {
		return Missed{
			Detail: "it is shown while plan mode is on, and it is off in this session",
			Fix:    "nothing has to be done: " + EnterPlanMode + ", or /plan in a chat, brings it",
		}
	}
	core, topK := cmp.Or(p.o.CoreAt.Key, "tools.core"), cmp.Or(p.o.TopKAt.Key, "tools.rag.top_k")
	m := Missed{Fix: fmt.Sprintf("add %q to %s", name, core)}
	if p.o.TopK > 0 { // else no message brings any
		m.Fix = fmt.Sprintf("name %s in the message, or ", name) + m.Fix
	}
	if finder := p.entry(SearchTools); finder != nil {
		m.Fix += "; in a run, " + SearchTools + " finds it"
	}
	of := len(ranked)
	rank := 1 + slices.IndexFunc(ranked, func(h Hit) bool { return p.Catalog.Entries[h.Doc] == e })
	switch {
	case of == 0:
		m.Detail = "the message speaks for no tool that isn't pinned"
	case rank == 0:
		m.Detail = fmt.Sprintf("no word of the message fits it; %d others fit", of)
	case rank > p.o.TopK:
		m.Detail, m.Where = fmt.Sprintf("rank %d of the %d that fit the message, and %s is %d", rank, of, topK, p.o.TopK), p.o.TopKAt
		or := ", "
		if p.o.TopK <= 0 {
			or = ", or "
		}
		m.Fix = fmt.Sprintf("raise %s to %d", topK, rank) + or + m.Fix
	default:
		h := ranked[rank-1]
		m.Detail = fmt.Sprintf("rank %d of the %d that fit the message, but of its score of %.2f only %.2f is said for no tool of the session's list, which goes on unless it is %.2f",
			rank, of, h.Score, h.New, newShare*ranked[0].Score)
	}
	return m
}

// ranked are the tools that the message speaks for, best first, without those
// that c has pinned.
func (p *picking) ranked(c Choice) []Hit {
	pinned := map[string]bool{}
	for _, pick := range c.Picks {
		switch pick.Why {
		case tool.ForCore, tool.ForInternal, tool.ForConfigured, tool.ForContents, tool.ForPinned, tool.ForClient:
			pinned[pick.Tool] = true
		}
	}
	return p.hits(func(e *tool.Entry) bool { return !pinned[e.Def.Name] }, len(p.Catalog.Entries))
}
