package budget

import (
	"context"
	"fmt"
	"math"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

const (
	// minAnswer is how many tokens an answer must have room for, to be asked for.
	minAnswer = 512
	// longAnswer is how long answers are taken to get at most where nothing says
	// how long the model's are. Fewer are never granted for want of what other
	// runs might use.
	longAnswer = 8192
	// share is the part of a day's rest that one call may set aside, if that is
	// more than a long answer: other runs are to get some.
	share = 8
	// bytesPerToken turns the size of a request into tokens; a token has more
	// bytes of most text.
	bytesPerToken = 3
)

func tokens(bytes int) int64 { return int64(bytes+bytesPerToken-1) / bytesPerToken }

// Guard holds one run to its limits. Its methods as an [agent.Watch] are called
// by one goroutine.
type Guard struct {
	agent.Watch
	keeper         *Keeper
	agent, session string
	limits         []Limit

	begun  bool
	before Amount // what the session had used when the run began
	used   Amount // in this run
	told   map[string]bool
	err    error // the ledger can't be read

	asked int // bytes of the request under way
	last  call

	// Guarded by Keeper.mu:
	held     Amount // set aside for the request under way
	unstored Amount // used, but perhaps not in the ledger yet
}

// call is the last one that was made.
type call struct {
	target        llm.Target
	bytes         int
	input, output int64 // tokens
}

// room is what is left of a limit.
type room struct {
	Limit
	left  Amount
	aside Amount // of what is not left: set aside for other calls under way
}

// rooms tells what is left of each limit. The caller holds Keeper.mu.
func (g *Guard) rooms(ctx context.Context) ([]room, error) {
	if !g.begun && has(g.limits, PerSession) {
		used, err := g.keeper.opts.Ledger.Session(ctx, g.agent, g.session)
		if err != nil {
			return nil, fmt.Errorf("read what session %s/%s used: %w", g.agent, g.session, err)
		}
		g.before = used
	}
	g.begun = true
	if has(g.limits, PerDay) {
		if err := g.keeper.read(ctx); err != nil {
			return nil, err
		}
	}
	list := make([]room, 0, len(g.limits))
	for _, l := range g.limits {
		r := room{Limit: l}
		switch l.Scope {
		case PerRun:
			r.left = l.minus(g.used)
		case PerSession:
			r.left = l.minus(g.before.plus(g.used))
		case PerDay:
			used, aside := g.keeper.usedToday(l)
			r.left, r.aside = l.minus(used).minus(aside), aside
		}
		list = append(list, r)
	}
	return list, nil
}

// cost is the most that a call can cost: nothing of its input may be in the
// provider's cache, and all of it may be written there. It is nil when the price
// is unknown.
func (k *Keeper) cost(t llm.Target, input, output int64) *float64 {
	plain := k.opts.Cost(llm.Usage{Input: input, Output: output}, t)
	written := k.opts.Cost(llm.Usage{Input: input, CacheWrite: input, Output: output}, t)
	if plain == nil || written == nil {
		return nil
	}
	most := math.Max(*plain, *written)
	return &most
}

// need is what calls need at least.
type need struct {
	tokens int64
	usd    *float64 // nil when it is unknown
}

func (g *Guard) need(t llm.Target, input, output int64) need {
	return need{input + output, g.keeper.cost(t, input, output)}
}

// lacks is the first of rooms that has no place for n, with the unit of which
// too little is left.
func lacks(rooms []room, n need) (short room, unit string) {
	for _, r := range rooms {
		switch {
		case r.Tokens > 0 && r.left.Tokens < n.tokens:
			return r, Tokens
		case r.USD > 0 && n.usd == nil && r.left.USD <= 0, // whatever it costs
			r.USD > 0 && n.usd != nil && *n.usd > math.Max(r.left.USD, 0):
			return r, USD
		}
	}
	return room{}, ""
}

// Before implements [agent.Watch]. The run ends when what is left can't pay
// another call, and makes its last one when it can't pay the one behind that.
func (g *Guard) Before(ctx context.Context, n int, last *agent.Round) agent.Directive {
	d := g.Watch.Before(ctx, n, last)
	if d.Stop {
		return d
	}
	g.keeper.mu.Lock()
	defer g.keeper.mu.Unlock()
	g.held = Amount{}
	rooms, err := g.rooms(ctx)
	if g.err = err; err != nil {
		return d // Request ends the run with it
	}
	if last == nil {
		// What it costs to ask is known when it is known who is asked.
		if short, unit := lacks(rooms, need{minAnswer, new(float64)}); unit != "" {
			return g.stop(d, short, unit, need{tokens: minAnswer})
		}
		return d
	}
	grown := 0
	for _, o := range last.Outcomes {
		grown += size(o.Content)
	}
	for _, m := range d.Messages {
		grown += size(m.Parts)
	}
	next := g.last.input + g.last.output + tokens(grown)
	one := g.need(g.last.target, next, minAnswer)
	if short, unit := lacks(rooms, one); unit != "" {
		return g.stop(d, short, unit, one)
	}
	answer := max(g.last.output, minAnswer)
	both := g.need(g.last.target, next, answer)
	another := g.need(g.last.target, next+answer+tokens(grown), minAnswer)
	both.tokens += another.tokens
	if both.usd != nil {
		*both.usd += *another.usd // of the same target
	}
	if short, unit := lacks(rooms, both); unit != "" && !d.NoTools {
		d.NoTools = true
		d.Reason = short.reason(unit, need{}, g.keeper.opts.Now())
		d.Messages = append(d.Messages, agent.HostMessage(short.toModel(unit)))
		d.NoticeKind, d.Notice = "budget", short.stands(unit)+"; the model answers with what it has"
	}
	return d
}

// stop ends the run with words about the limit of which too little is left.
func (g *Guard) stop(d agent.Directive, short room, unit string, n need) agent.Directive {
	return agent.Directive{
		Messages: d.Messages, Joined: d.Joined, Stop: true, Reason: short.reason(unit, n, g.keeper.opts.Now()),
		NoticeKind: "budget", Notice: short.stands(unit) + "; the run ends",
	}
}

func size(parts []llm.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text)
	}
	return n
}

// Request implements [agent.Watch]. It sets aside what the request may use at
// most: its input by its size, and an answer as long as the model's get, or as
// long as there is room for, which the request is then told.
func (g *Guard) Request(ctx context.Context, req *llm.Request, bytes int) (notice string, err error) {
	if g.err != nil {
		return "", g.err
	}
	if notice, err = g.Watch.Request(ctx, req, bytes); err != nil {
		return notice, err
	}
	g.keeper.mu.Lock()
	defer g.keeper.mu.Unlock()
	g.held = Amount{}
	rooms, err := g.rooms(ctx)
	if err != nil {
		return notice, err
	}
	input := tokens(bytes)
	if g.last.target.String() == req.Target.String() && bytes >= g.last.bytes {
		input = g.last.input + tokens(bytes-g.last.bytes)
	}
	longest := int64(req.MaxOutput)
	if longest <= 0 {
		longest = int64(req.Target.MaxOutput)
	}
	if longest <= 0 {
		longest = longAnswer
	}
	least := g.need(req.Target, input, min(minAnswer, longest))
	if short, unit := lacks(rooms, least); unit != "" {
		return notice, &agent.OverBudget{
			Reason: short.reason(unit, least, g.keeper.opts.Now()), Notice: short.stands(unit) + "; the run ends",
		}
	}
	output := longest
	for _, r := range rooms {
		output = min(output, g.longest(r, req.Target, input))
	}
	output = max(output, min(minAnswer, longest))
	if output < longest {
		req.MaxOutput = int(output)
	}
	g.asked = bytes
	g.held = Amount{Tokens: input + output}
	if usd := g.keeper.cost(req.Target, input, output); usd != nil {
		g.held.USD = *usd
	}
	return join(notice, g.uncountable(req.Target)), nil
}

// longest is how many tokens an answer may have for which there is room.
func (g *Guard) longest(r room, t llm.Target, input int64) int64 {
	out := int64(math.MaxInt64)
	if r.Tokens > 0 {
		out = min(out, r.portion(r.left.Tokens-input))
	}
	const many = 1_000_000
	from, to := g.keeper.cost(t, input, 0), g.keeper.cost(t, input, many)
	if r.USD > 0 && from != nil && to != nil && *to > *from {
		out = min(out, r.portion(int64((r.left.USD-*from)/(*to-*from)*many)))
	}
	return out
}

// portion is how much of a rest one call gets.
func (r room) portion(rest int64) int64 {
	if r.Scope != PerDay {
		return rest // nobody else uses it meanwhile
	}
	return max(rest/share, min(rest, longAnswer))
}

// uncountable tells once that what a target uses doesn't count for a limit.
func (g *Guard) uncountable(t llm.Target) string {
	if g.told[t.String()] || g.keeper.cost(t, 1, 1) != nil {
		return ""
	}
	g.told[t.String()] = true
	for _, l := range g.limits {
		if l.USD > 0 {
			return l.Uncountable(t)
		}
	}
	return ""
}

// Spent implements [agent.Watch].
func (g *Guard) Spent(s *agent.Spent) {
	g.Watch.Spent(s)
	g.keeper.mu.Lock()
	defer g.keeper.mu.Unlock()
	g.held = Amount{}
	if s == nil {
		return
	}
	u, usd := s.Usage.Add(s.Guess), s.USD
	if usd == nil {
		usd = s.GuessUSD
	}
	a := Amount{Tokens: u.Input + u.Output}
	if usd != nil {
		a.USD = *usd
	}
	g.used, g.unstored = g.used.plus(a), g.unstored.plus(a)
	g.last = call{target: s.Target, bytes: g.asked, input: u.Input, output: u.Output}
}

// Stored says that all that was used so far is in the ledger.
func (g *Guard) Stored() {
	g.keeper.mu.Lock()
	defer g.keeper.mu.Unlock()
	g.unstored = Amount{}
}

// Close gives back what the run has set aside.
func (g *Guard) Close() {
	g.keeper.mu.Lock()
	defer g.keeper.mu.Unlock()
	delete(g.keeper.guards, g)
}
