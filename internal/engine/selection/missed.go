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
	var ranked []string // made when it is asked for
	return func(e *tool.Entry) Missed {
		if ranked == nil {
			ranked = p.ranked(c)
		}
		return p.missed(e, ranked)
	}
}

func (p *picking) missed(e *tool.Entry, ranked []string) Missed {
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
	m := Missed{Fix: fmt.Sprintf("name %s in the message, or add %q to %s", name, name, core)}
	if finder := p.entry(SearchTools); finder != nil {
		m.Fix += "; in a run, " + SearchTools + " finds it"
	}
	rank, of := slices.Index(ranked, name)+1, len(ranked)
	switch {
	case of == 0:
		m.Detail = "the message speaks for no tool that isn't pinned"
	case rank == 0:
		m.Detail = fmt.Sprintf("no word of the message fits it; %d others fit", of)
	case rank > p.o.TopK:
		m.Detail, m.Where = fmt.Sprintf("rank %d of the %d that fit the message, and %s is %d", rank, of, topK, p.o.TopK), p.o.TopKAt
		m.Fix = fmt.Sprintf("raise %s to %d, ", topK, rank) + m.Fix
	default:
		m.Detail = fmt.Sprintf("rank %d of the %d that fit the message, which is too far behind the best to join the session's list", rank, of)
	}
	return m
}

// ranked are the tools that the message speaks for, best first, without those
// that c has pinned.
func (p *picking) ranked(c Choice) []string {
	pinned := map[string]bool{}
	for _, pick := range c.Picks {
		switch pick.Why {
		case tool.ForCore, tool.ForInternal, tool.ForConfigured, tool.ForContents, tool.ForPinned, tool.ForClient:
			pinned[pick.Tool] = true
		}
	}
	hits := p.indexOf(p.Catalog).index.Rank(p.Ask.Message.Text(), func(doc int) bool {
		e := p.entry(p.Catalog.Entries[doc].Def.Name)
		return e != nil && p.offers(e) && !pinned[e.Def.Name]
	}, len(p.Catalog.Entries))
	names := make([]string, len(hits))
	for i, h := range hits {
		names[i] = p.Catalog.Entries[h.Doc].Def.Name
	}
	return names
}
