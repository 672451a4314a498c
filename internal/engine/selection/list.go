package selection

import (
	"fmt"
	"slices"
	"time"

	"github.com/goclaw/goclaw/internal/tool"
)

const (
	// maxUnpicked is how many tools of a session's list may go on standing in it
	// though its present turn doesn't pick them.
	maxUnpicked = 8
	// maxIdle is after how long without a word a session's list is not worth
	// keeping: no provider has the prompt cached any more.
	maxIdle = time.Hour
)

// ownList reports whether a run has a list of its own and leaves the session's
// as it is: what comes by itself should not decide what a person's next turn
// sends.
func ownList(o tool.Origin) bool { return o == tool.FromCron || o == tool.FromSOP }

// keep puts the selection behind what the session was offered so far, which
// keeps its places, or lets it be the list when that begins anew.
func (p *picking) keep() {
	if ownList(p.Scope.Origin()) {
		p.State.Own = tool.Names(p.offered)
		return
	}
	p.State.Own = nil
	kept := p.listed(p.State.Tools)
	unpicked := 0
	for _, e := range kept {
		if _, picked := p.index[e.Def.Name]; !picked {
			unpicked++
		}
	}
	switch {
	case len(kept) == 0:
		p.State.Presets = nil // they go with the list
	case unpicked > maxUnpicked:
		p.notices = append(p.notices, fmt.Sprintf("the session's list of tools began anew: %d of its %d tools were picked no more", unpicked, len(kept)))
		p.State.Presets = nil
	case p.Ask.Idle >= maxIdle:
		p.notices = append(p.notices, fmt.Sprintf("the session's list of tools began anew: the session was quiet for %s", p.Ask.Idle.Round(time.Minute)))
		p.State.Presets = nil
	default:
		p.behind(kept)
	}
	p.State.Tools = tool.Names(p.offered)
	p.State.Meant = slices.DeleteFunc(slices.Clone(p.State.Meant), func(name string) bool { return !slices.Contains(p.State.Tools, name) })
}

// listed are the entries of a list that may be shown now.
func (p *picking) listed(names []string) []*tool.Entry {
	list := make([]*tool.Entry, 0, len(names))
	for _, name := range names {
		if e := p.entry(name); e != nil && !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}

// newShare is how much a message must say for a tool and for none of a list that
// is kept, as a share of what it says for the best tool, for the turn's new tools
// to join the list. What it says for a listed one as well brings none: a list that
// grows has the provider read the whole conversation anew.
const newShare = 0.15

// grows reports whether one of the tools that kept lacks is worth that they join
// it, all of them, since the price is paid once for all. What the agent uses most
// is a guess for sessions that begin, of which this one knows better by now.
func (p *picking) grows(kept []*tool.Entry) bool {
	best := 0.0
	for _, pick := range p.picks {
		if pick.Why != tool.ForMeaning { // another scale
			best = max(best, pick.Score)
		}
	}
	for i, pick := range p.picks {
		if slices.Contains(kept, p.offered[i]) {
			continue
		}
		switch pick.Why {
		case tool.ForPrior, tool.ForEveryday, tool.ForMessage:
			if news := p.news[pick.Tool]; news > 0 && news >= newShare*best {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// behind puts the selection behind kept.
func (p *picking) behind(kept []*tool.Entry) {
	picked := p.picks
	picks := make([]tool.Pick, 0, len(kept)+len(picked))
	for _, e := range kept {
		if i, ok := p.index[e.Def.Name]; ok {
			picks = append(picks, picked[i])
		} else {
			picks = append(picks, tool.Pick{Tool: e.Def.Name, Why: tool.ForKept})
		}
	}
	offered := slices.Clip(kept)
	if p.grows(kept) {
		for i, e := range p.offered {
			if !slices.Contains(kept, e) {
				offered, picks = append(offered, e), append(picks, picked[i])
			}
		}
	}
	p.offered, p.picks = offered, picks
}

// goOn keeps the list that an earlier request of the turn was shown, and adds
// what that turn has called for since.
func (p *picking) goOn() {
	list := &p.State.Tools
	if ownList(p.Scope.Origin()) {
		list = &p.State.Own
	}
	for _, e := range p.listed(*list) {
		p.add(e, tool.ForKept)
	}
	p.picks = nil // they stand with the first request
	was := len(p.offered)
	for _, name := range p.State.Added {
		if e := p.entry(name); e != nil {
			p.join(e, tool.ForSearch)
		}
	}
	if p.State.Plan {
		if e := p.entry(ExitPlanMode); e != nil {
			p.join(e, tool.ForPinned)
		}
	}
	if len(p.offered) > was || was < len(*list) {
		*list = tool.Names(p.offered)
	}
}

// join adds e behind a list whose picks are told already.
func (p *picking) join(e *tool.Entry, why tool.Why) {
	if _, in := p.index[e.Def.Name]; in {
		return
	}
	p.index[e.Def.Name] = len(p.offered)
	p.offered = append(p.offered, e)
	p.picks = append(p.picks, tool.Pick{Tool: e.Def.Name, Why: why})
}

// all is what a request is shown when nothing is picked: the core tools, then
// the internal ones, then the others, each ordered by name as what is permitted
// is. Left out is only what no model may call.
func (p *picking) all() {
	picks := p.o.Enabled && !p.Scope.Declared().Limited() // as soon as there is a message
	for rank := range ranks {
		for _, e := range p.Permitted {
			if rankOf(e) == rank && (!picks || p.offers(e)) {
				p.add(e, p.whyAll(e))
			}
		}
	}
}

// whyAll is why e is there when nothing is picked.
func (p *picking) whyAll(e *tool.Entry) tool.Why {
	declared := p.Scope.Declared()
	switch {
	case e.Owner.Kind == tool.ClientOwner:
		return tool.ForClient
	case !declared.Limited():
		return tool.ForAll
	case declared.Allows(e.Def.Name):
		return tool.ForDeclared
	}
	return tool.ForInternal
}

// ranks is the number of groups in which tools are shown.
const ranks = 3

// rankOf is the group of e; what is hidden is in none.
func rankOf(e *tool.Entry) int {
	switch {
	case Hidden(e) != "":
		return ranks
	case e.Def.Core:
		return 0
	case e.Def.Internal:
		return 1
	}
	return 2
}
