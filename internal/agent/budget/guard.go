package budget

import (
	"context"
	"fmt"
	"math"
	"time"

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
	keeper       *Keeper
	agent        string
	session, run string
	limits       []Limit

	begun  bool
	before Amount // what the session had used when the run began
	used   Amount // in this run
	told   map[string]bool
	err    error // the ledger can't be read

	asked call // the request under way: its bytes and least
	last  call

	// Guarded by Keeper.mu:
	held    Amount // set aside for the request under way
	calls   []made // of this run, in the order in which the ledger gets them
	entered int    // how many of those of Keeper.day were read in the ledger
	closed  bool   // the run has ended; it counts until its last calls are read
}

// made is what a call used, and on which day.
type made struct {
	day  time.Time
	used Amount
}

// unread is what the run used on day that was not read in the ledger: so each
// call counts once, whether it is entered or not. The caller holds Keeper.mu.
func (g *Guard) unread(day time.Time) (used Amount) {
	skip := g.entered
	for _, c := range g.calls {
		switch {
		case !c.day.Equal(day):
		case skip > 0:
			skip--
		default:
			used = used.plus(c.used)
		}
	}
	return used
}

// call is the last one that was made.
type call struct {
	target        llm.Target
	bytes         int
	input, output int64 // tokens
	least         int64 // for how many an answer must have had room
}

// room is what is left of a limit.
type room struct {
	Limit
	left  Amount
	aside Amount // of what is not left: set aside for other calls under way
}

// look brings up to date what is read of the ledger.
func (g *Guard) look(ctx context.Context) error {
	if !g.begun && has(g.limits, PerSession) {
		used, err := g.keeper.opts.Ledger.Session(ctx, g.agent, g.session)
		if err != nil {
			return fmt.Errorf("read what session %s/%s used: %w", g.agent, g.session, err)
		}
		g.before = used
	}
	g.begun = true
	if has(g.limits, PerDay) {
		return g.keeper.Refresh(ctx)
	}
	return nil
}

// rooms tells what is left of each limit, as far as was read. The caller holds
// Keeper.mu.
func (g *Guard) rooms() []room {
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
	return list
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
	again  bool     // the model was asked in this run before
	// base is of them what any request of the agent needs, without what was said;
	// zero when it is not known.
	base Amount
}

func (g *Guard) need(t llm.Target, input, output int64) need {
	return need{tokens: input + output, usd: g.keeper.cost(t, input, output), again: g.last.target.Provider != ""}
}

// baseOf is what any request with the prompt and the tools of req needs.
func (g *Guard) baseOf(req *llm.Request, output int64) Amount {
	bytes := len(req.Static) + len(req.Session)
	for _, t := range req.Tools {
		bytes += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	n := g.need(req.Target, tokens(bytes), output)
	base := Amount{Tokens: n.tokens}
	if n.usd != nil {
		base.USD = *n.usd
	}
	return base
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
// What the first call costs, Request knows.
func (g *Guard) Before(ctx context.Context, n int, last *agent.Round) agent.Directive {
	d := g.Watch.Before(ctx, n, last)
	if d.Stop || last == nil {
		return d
	}
	if g.err = g.look(ctx); g.err != nil {
		return d // Request ends the run with it
	}
	rooms := g.free()
	one, both := g.next(d, last)
	if short, unit := lacks(rooms, one); unit != "" {
		return g.stop(d, short, unit, one)
	}
	if short, unit := lacks(rooms, both); unit != "" && !d.NoTools {
		d.NoTools = true
		d.Reason = short.reason(unit, need{}, g.keeper.opts.Now())
		d.Messages = append(d.Messages, agent.HostMessage(short.toModel(unit)))
		d.NoticeKind, d.Notice = "budget", short.stands(unit)+"; the model answers with what it has"
	}
	return d
}

// free is what is left of each limit while the run has nothing set aside.
func (g *Guard) free() []room {
	g.keeper.mu.Lock()
	defer g.keeper.mu.Unlock()
	g.held = Amount{}
	return g.rooms()
}

// next is what the call behind last needs at least, and what it needs together
// with one more.
func (g *Guard) next(d agent.Directive, last *agent.Round) (one, both need) {
	grown := 0
	for _, o := range last.Outcomes {
		grown += size(o.Content)
	}
	for _, m := range d.Messages {
		grown += size(m.Parts)
	}
	next := g.last.input + g.last.output + tokens(grown)
	one = g.need(g.last.target, next, g.last.least)
	answer := max(g.last.output, g.last.least)
	both = g.need(g.last.target, next, answer)
	another := g.need(g.last.target, next+answer+tokens(grown), g.last.least)
	both.tokens += another.tokens
	if both.usd != nil {
		*both.usd += *another.usd // of the same target
	}
	return one, both
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
	if err := g.look(ctx); err != nil {
		return notice, err
	}
	if err := g.setAside(req, bytes); err != nil {
		return notice, err
	}
	return join(notice, g.uncountable(req.Target)), nil
}

// setAside sets aside what req may use, and lowers how long its answer may be to
// what there is room for.
func (g *Guard) setAside(req *llm.Request, bytes int) error {
	g.keeper.mu.Lock()
	defer g.keeper.mu.Unlock()
	g.held = Amount{}
	rooms := g.rooms()
	input := tokens(bytes)
	if g.last.target.String() == req.Target.String() && bytes >= g.last.bytes {
		input = g.last.input + tokens(bytes-g.last.bytes)
	}
	longest := longestOf(req)
	least := min(minAnswer, longest)
	needed := g.need(req.Target, input, least)
	if short, unit := lacks(rooms, needed); unit != "" {
		needed.base = g.baseOf(req, least)
		return &agent.OverBudget{
			Reason: short.reason(unit, needed, g.keeper.opts.Now()), Notice: short.stands(unit) + "; the run ends",
		}
	}
	output := longest
	for _, r := range rooms {
		output = min(output, g.longest(r, req.Target, input))
	}
	output = max(output, least)
	if output < longest {
		req.MaxOutput = int(output)
	}
	g.asked = call{bytes: bytes, least: least}
	g.held = Amount{Tokens: input + output}
	if usd := g.keeper.cost(req.Target, input, output); usd != nil {
		g.held.USD = *usd
	}
	return nil
}

// longestOf is how many tokens an answer to req may have.
func longestOf(req *llm.Request) int64 {
	if req.MaxOutput > 0 {
		return int64(req.MaxOutput)
	}
	if req.Target.MaxOutput > 0 {
		return int64(req.Target.MaxOutput)
	}
	return longAnswer
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
	g.used = g.used.plus(a)
	g.calls = append(g.calls, made{today(s.Time), a})
	g.last = call{target: s.Target, bytes: g.asked.bytes, input: u.Input, output: u.Output, least: g.asked.least}
}

// Close gives back what the run has set aside. All of its calls have been
// entered in the ledger.
func (g *Guard) Close() {
	g.keeper.mu.Lock()
	defer g.keeper.mu.Unlock()
	g.held, g.closed = Amount{}, true
	if len(g.calls) == 0 || !has(g.limits, PerDay) {
		delete(g.keeper.guards, g)
	}
}
