// Package selection picks from a permitted surface what one request is shown:
// what is pinned, what the agent and the session used lately, and what the
// message calls for. A session keeps one list, whose tools keep their places,
// because a provider caches a prompt by its prefix and tools come first in it.
// What is left out is found by search_tools, which this package brings.
//
// A [Selector] belongs to one agent and lives as long as it. It keeps nothing
// of a session: what earlier turns left comes in with the state and goes out
// with it, so that the same state gives the same list. It blocks only while it
// computes, or while one of its options does; it starts nothing and has
// nothing to close.
//
// Start reading at [Selector.Select].
package selection

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Options completes a [Selector].
type Options struct {
	Enabled    bool // else everything is shown that is permitted
	TopK       int  // how many tools a message picks at most
	UsagePrior int  // how many of the most used ones join them at most
	// Core are entries, as policies have them, of tools that are pinned.
	Core []string
	// CoreAt and TopKAt are where Core and TopK are set, or would be.
	CoreAt, TopKAt source.Pos
	// Prior lists the tools that the agent uses most, the most used first. It
	// is asked once a turn and should know its answer; nil knows none.
	Prior func(ctx context.Context) []string
	// Semantic adds tools by what the message means; nil adds none.
	Semantic *Semantic
}

// Selector picks for the runs of one agent. It is safe for concurrent use.
type Selector struct {
	o    Options
	core []tool.Selector

	mu  sync.Mutex
	now *indexed // nil before the first message
}

// indexed is what is made of a catalog once.
type indexed struct {
	catalog *tool.Catalog
	index   *Index // of its entries, in their order
	means   *Semantics
}

// New returns a selector.
func New(o Options) *Selector {
	s := &Selector{o: o}
	for _, entry := range o.Core {
		s.core = append(s.core, tool.ParseSelector(entry))
	}
	return s
}

// Request is what is picked from, and for what.
type Request struct {
	Catalog   *tool.Catalog
	Permitted []*tool.Entry // of the catalog, ordered by name
	Scope     tool.Scope
	State     tool.State
	Ask       tool.Ask
}

// Choice is what a request is shown, and why.
type Choice struct {
	Offered []*tool.Entry
	Picks   []tool.Pick // see [tool.Surface]
	Notices []string
	State   tool.State // what is to be known by the next request
	// Apart says that this is no part of the session's list, which stays as it
	// is: the run has one of its own, or declared what it is shown.
	Apart bool
}

// Select picks what a request is shown. It picks once for each turn: later
// requests of the turn keep the list, as far as it is still permitted, and what
// search_tools found meanwhile stands at its end. Without a message, as when an
// agent's tools are looked at, nothing is picked and everything shown.
func (s *Selector) Select(ctx context.Context, r Request) Choice {
	fresh := r.State.Picked != r.Scope.Run() || r.Scope.Run() == ""
	p := &picking{Selector: s, Request: r, index: make(map[string]int, 64)}
	switch {
	case !s.o.Enabled || r.Scope.Declared().Limited() || nothing(r.Ask.Message):
		p.all()
		if !fresh {
			p.picks = nil
		}
	case fresh:
		p.pick(ctx)
		p.keep()
	default:
		p.goOn()
	}
	c := Choice{
		Offered: p.offered, Picks: p.picks, Notices: p.notices, State: p.State,
		Apart: ownList(r.Scope.Origin()) || r.Scope.Declared().Limited(),
	}
	if fresh {
		c.State.Picked, c.State.Used, c.State.Added = r.Scope.Run(), nil, nil
	}
	return c
}

// nothing reports whether m holds nothing of a person.
func nothing(m llm.Message) bool {
	return !slices.ContainsFunc(m.Parts, func(p llm.Part) bool {
		return p.Kind != llm.KindContext && (p.Kind != llm.KindText || p.Text != "")
	})
}

// indexOf returns what is made of a catalog, which is kept until another one
// comes.
func (s *Selector) indexOf(c *tool.Catalog) *indexed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil || s.now.catalog != c {
		list := Docs(c.Entries)
		s.now = &indexed{catalog: c, index: NewIndex(list)}
		if s.o.Semantic != nil {
			s.now.means = s.o.Semantic.Of(list)
		}
	}
	return s.now
}

// Docs is what the scorer knows of entries, in their order.
func Docs(entries []*tool.Entry) []Doc {
	list := make([]Doc, len(entries))
	for i, e := range entries {
		list[i] = Doc{
			Name: e.Def.Name, Description: e.Def.Description, Category: e.Def.Category, Tags: e.Def.Tags,
			Parameters: e.Def.Parameters, Owner: e.Owner.ID,
		}
	}
	return list
}

// Hidden says why a permitted tool is never shown to a model; it is empty when
// nothing speaks against it.
func Hidden(e *tool.Entry) string {
	if e.Def.Inverse {
		return "it undoes what another tool did and is never offered to a model"
	}
	return ""
}

// picking is one selection under way.
type picking struct {
	*Selector
	Request
	offered []*tool.Entry
	picks   []tool.Pick    // of offered
	index   map[string]int // of offered, by name
	notices []string
	meant   []string           // the tools that the message speaks for
	faint   bool               // it does so with a single word, which is of their subject
	news    map[string]float64 // of their scores, what it says for no tool of the session's list
}

// add takes e into the selection. For what is in it already, the first reason
// stands.
func (p *picking) add(e *tool.Entry, why tool.Why) {
	if _, in := p.index[e.Def.Name]; in {
		return
	}
	p.index[e.Def.Name] = len(p.offered)
	p.offered = append(p.offered, e)
	p.picks = append(p.picks, tool.Pick{Tool: e.Def.Name, Why: why})
}

// entry is the permitted tool of a name, nil when it isn't one that may be
// shown now.
func (p *picking) entry(name string) *tool.Entry {
	i, ok := slices.BinarySearchFunc(p.Permitted, name, func(e *tool.Entry, n string) int { return strings.Compare(e.Def.Name, n) })
	if !ok || Hidden(p.Permitted[i]) != "" {
		return nil
	}
	return p.Permitted[i]
}

// named adds the permitted ones of names, at most most of them, and counts
// only what it added.
func (p *picking) named(why tool.Why, most int, names ...string) {
	for _, name := range names {
		if most <= 0 {
			return
		}
		if _, in := p.index[name]; in {
			continue
		}
		if e := p.entry(name); e != nil && p.offers(e) {
			p.add(e, why)
			most--
		}
	}
}

// pick makes the turn's own selection: what is pinned, what the agent uses most,
// what the turn before used, and what the message speaks of, best first. One that
// speaks for no tool ("yes, go on") goes on with what the one before it spoke of:
// it may be the word for which the agent wanted to wait before it calls that.
func (p *picking) pick(ctx context.Context) {
	p.pin()
	pinned := len(p.offered)
	p.use(ctx)
	p.named(tool.ForContinuity, len(p.State.Used), p.State.Used...)
	p.score(pinned)
	p.mean(ctx)
	p.goesOn()
	p.few(pinned)
}

// maxFew is how many bytes of descriptors are shown though no message asks for
// them.
const maxFew = 4 << 10

// few adds what plugins, servers and nodes brought, as far as it is little: it
// was installed on purpose. Where more tools are left besides the first, which
// are pinned, than a selection shows, it adds nothing.
func (p *picking) few(pinned int) {
	var rest []*tool.Entry
	size, left := 0, -pinned
	for _, e := range p.Permitted {
		if Hidden(e) != "" || !p.offers(e) {
			continue
		}
		left++
		if _, in := p.index[e.Def.Name]; !in && e.Owner.Kind > tool.FamilyOwner {
			rest = append(rest, e)
			size += len(e.Spec.Name) + len(e.Spec.Description) + len(e.Spec.Parameters)
		}
	}
	if left > p.o.TopK+p.o.UsagePrior || size > maxFew {
		return
	}
	for _, e := range rest {
		p.add(e, tool.ForFew)
	}
}

// use adds what the agent uses most. Everyday tools stand in as long as it has
// not used as many others. They stand by name: what is used a little more than
// something else by now must not change the bytes with which conversations begin.
func (p *picking) use(ctx context.Context) {
	var most []string
	if p.o.Prior != nil && p.o.UsagePrior > 0 {
		most = p.o.Prior(ctx)
	}
	was := len(p.offered)
	p.named(tool.ForPrior, p.o.UsagePrior, most...)
	p.named(tool.ForEveryday, p.o.UsagePrior-(len(p.offered)-was), everyday...)
	slices.SortFunc(p.offered[was:], func(a, b *tool.Entry) int { return strings.Compare(a.Def.Name, b.Def.Name) })
	slices.SortFunc(p.picks[was:], func(a, b tool.Pick) int { return strings.Compare(a.Tool, b.Tool) })
	for i := was; i < len(p.offered); i++ {
		p.index[p.offered[i].Def.Name] = i
	}
}

// maxMeant bounds of how many tools it is kept that they are meant.
const maxMeant = 24

// goesOn takes in what is meant. After an hour it is not said any more what a
// word goes on with. "Which is the cheapest?" may be about shares or about the
// flights that were found: both are meant.
func (p *picking) goesOn() {
	switch {
	case ownList(p.Scope.Origin()):
	case len(p.meant) > 0 && !p.faint:
		p.State.Meant = p.meant[:min(len(p.meant), maxMeant)]
	case p.Ask.Idle < maxIdle:
		p.named(tool.ForContinuity, len(p.State.Meant), p.State.Meant...)
		before := slices.DeleteFunc(slices.Clone(p.State.Meant), func(name string) bool { return slices.Contains(p.meant, name) })
		before = before[min(max(len(before)+len(p.meant)-maxMeant, 0), len(before)):]
		p.State.Meant = append(before, p.meant...)
	default:
		p.State.Meant = p.meant
	}
}

// score adds what the message speaks of, besides the first tools, which are
// pinned, and notes how well it fits what is there for another reason.
func (p *picking) score(pinned int) {
	if p.o.TopK <= 0 {
		return
	}
	hits := p.hits(func(e *tool.Entry) bool {
		i, in := p.index[e.Def.Name]
		return !in || i >= pinned
	}, p.o.TopK)
	p.news = make(map[string]float64, len(hits))
	p.faint = !slices.ContainsFunc(hits, func(h Hit) bool { return !h.Faint })
	for _, h := range hits {
		name := p.Catalog.Entries[h.Doc].Def.Name
		p.news[name] = h.New
		p.add(p.entry(name), tool.ForMessage)
		pick := &p.picks[p.index[name]]
		pick.Score, pick.Reasons = h.Score, phrases(h.Reasons)
		p.meant = append(p.meant, name)
	}
}

// hits are the k tools that the message speaks for most, of those that may be
// shown and that keep admits, each with what is new beside the session's list.
func (p *picking) hits(keep func(e *tool.Entry) bool, k int) []Hit {
	var listed []int
	for _, name := range p.State.Tools {
		if doc, ok := p.Catalog.At(name); ok {
			listed = append(listed, doc)
		}
	}
	return p.indexOf(p.Catalog).index.RankBeside(p.Ask.Message.Text(), func(doc int) bool {
		e := p.entry(p.Catalog.Entries[doc].Def.Name)
		return e != nil && p.offers(e) && keep(e)
	}, k, listed)
}

// mean adds what the message means, beyond what was found otherwise.
func (p *picking) mean(ctx context.Context) {
	x := p.indexOf(p.Catalog)
	if x.means == nil {
		return
	}
	hits, notice := x.means.Rank(ctx, p.Ask.Message.Text(), func(doc int) bool {
		e := p.entry(p.Catalog.Entries[doc].Def.Name)
		if e == nil || !p.offers(e) {
			return false
		}
		_, in := p.index[e.Def.Name]
		return !in
	})
	if notice != "" {
		p.notices = append(p.notices, notice)
	}
	p.faint = p.faint && len(hits) == 0
	for _, h := range hits {
		p.meant = append(p.meant, p.Catalog.Entries[h.Doc].Def.Name)
		p.add(p.entry(p.Catalog.Entries[h.Doc].Def.Name), tool.ForMeaning)
		pick := &p.picks[len(p.picks)-1]
		pick.Score, pick.Reasons = h.Score, phrases(h.Reasons)
	}
}

// phrases tells what the layers found.
func phrases(reasons []Reason) []string {
	list := make([]string, len(reasons))
	for i, r := range reasons {
		list[i] = r.Layer
		if len(r.Words) > 0 {
			list[i] += ": " + strings.Join(r.Words, ", ")
		}
	}
	return list
}
