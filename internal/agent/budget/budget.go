// Package budget knows what model calls used, and holds runs to what they may
// use.
//
// Every call that was made stands in the [Ledger], which the state database
// keeps: it is entered in the transaction that stores the round it belongs to,
// at the price of its time, and stays when its session is deleted. [Make] adds
// it up by day, agent, model and so on.
//
// A [Keeper] has the limits of the configuration. For each run it gives a
// [Guard], an [agent.Watch] around the ordinary brake: between rounds it looks
// whether another call can be paid, before each request it sets aside what that
// may use at most, so that runs side by side don't spend the same rest, and it
// lowers the length of an answer to what is left. A run is ended politely by it
// before a limit is exceeded.
//
// A Keeper lives as long as its process and needs no closing; what it has set
// aside is lost with it, and what was used it reads in the ledger, where other
// processes enter theirs. A Guard is closed at the end of its run, when its calls
// are entered. Nothing here waits but for the ledger, and that no longer than a
// context lasts.
//
// Start reading at [Guard.Request].
package budget

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

// Amount is tokens in and out, and US dollars.
type Amount struct {
	Tokens int64
	USD    float64
}

func (a Amount) plus(b Amount) Amount  { return Amount{a.Tokens + b.Tokens, a.USD + b.USD} }
func (a Amount) minus(b Amount) Amount { return Amount{a.Tokens - b.Tokens, a.USD - b.USD} }

// Scope is what a limit is about.
type Scope string

const (
	PerRun     Scope = "run"
	PerSession Scope = "session"
	PerDay     Scope = "day" // of UTC
)

// Limit is one limit of the configuration. An amount of zero sets none.
type Limit struct {
	Key   string // under which it is written
	Scope Scope
	Agent string // the one that it is for; empty for all, who share that of a day
	Amount
}

// holdsFor reports whether runs of an agent are held to l.
func (l Limit) holdsFor(agent string) bool { return l.Agent == "" || l.Agent == agent }

// Units of limits.
const (
	Tokens = "tokens"
	USD    = "usd"
)

// Options completes a [Keeper]. All fields but Now are required.
type Options struct {
	Ledger Ledger
	Limits []Limit
	// Cost is what usage of a target costs in US dollars, nil when unknown.
	Cost func(llm.Usage, llm.Target) *float64
	Now  func() time.Time // time.Now when nil
}

// Keeper holds the runs of a process to limits. It is safe for concurrent use.
type Keeper struct {
	opts Options

	// reading is held by whoever reads the ledger, which may take its time: it is
	// waited for only as long as a context lasts. mu is held for moments, and
	// never while something is waited for.
	reading chan struct{}

	mu     sync.Mutex
	day    time.Time         // that used is of
	used   map[string]Amount // on that day, by agent
	last   int64             // the last entry of the ledger that is in it
	guards map[*Guard]struct{}
}

// New makes a keeper. It reads nothing yet.
func New(o Options) *Keeper {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Keeper{opts: o, reading: make(chan struct{}, 1), guards: map[*Guard]struct{}{}}
}

// has reports whether there is a limit of a scope among limits.
func has(limits []Limit, s Scope) bool {
	return slices.ContainsFunc(limits, func(l Limit) bool { return l.Scope == s })
}

// today is the day that a time is of.
func today(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Refresh reads what was used today, by other processes too. It waits for the
// ledger, but no longer than ctx lasts.
func (k *Keeper) Refresh(ctx context.Context) error {
	select {
	case k.reading <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("read what was used today: %w", ctx.Err())
	}
	defer func() { <-k.reading }()
	day := today(k.opts.Now())
	behind, closed := k.readFrom(day)
	days, last, err := k.opts.Ledger.Behind(ctx, behind, day)
	if err != nil {
		return fmt.Errorf("read what was used today: %w", err)
	}
	k.take(day, days, last, closed)
	return nil
}

// readFrom is the entry of the ledger behind which there is something to read of
// day, and the guards that are closed by now, whose calls are all entered.
func (k *Keeper) readFrom(day time.Time) (entry int64, closed []*Guard) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for g := range k.guards {
		if g.closed {
			closed = append(closed, g)
		}
	}
	if !k.day.Equal(day) {
		// From the first entry on: the clock may have been set back, and some of
		// the day may have been read, and left out, when it was still the day before.
		return 0, closed
	}
	return k.last, closed
}

// take takes in what was read of day.
func (k *Keeper) take(day time.Time, days []RunDay, last int64, closed []*Guard) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, g := range closed {
		delete(k.guards, g)
	}
	if !k.day.Equal(day) {
		k.day, k.used = day, map[string]Amount{}
		for g := range k.guards {
			g.entered = 0
		}
	}
	k.last = last
	calls := map[string]int{}
	for _, d := range days {
		if d.Day.Equal(day) {
			k.used[d.Agent] = k.used[d.Agent].plus(d.Used)
			calls[d.Run] += d.Calls
		}
	}
	for g := range k.guards {
		g.entered += calls[g.run]
	}
}

// usedToday is what was used of a day's limit, and what is set aside of it. The
// caller holds k.mu.
func (k *Keeper) usedToday(l Limit) (used, aside Amount) {
	for agent, a := range k.used {
		if l.holdsFor(agent) {
			used = used.plus(a)
		}
	}
	for g := range k.guards {
		if l.holdsFor(g.agent) {
			used, aside = used.plus(g.unread(k.day)), aside.plus(g.held)
		}
	}
	return used, aside
}

// Standing is how it stands with one limit.
type Standing struct {
	Key    string    `json:"key"`
	Scope  Scope     `json:"scope"`
	Agent  string    `json:"agent,omitempty"` // whose calls count; empty for all
	Unit   string    `json:"unit"`            // tokens or usd
	Limit  float64   `json:"limit"`
	Used   float64   `json:"used"`
	Left   float64   `json:"left"`
	Resets time.Time `json:"resets,omitzero"` // when it begins anew
}

// Standings tells how it stands with the limits of the day, of one agent or all,
// and with those of a session if one is named.
func (k *Keeper) Standings(ctx context.Context, agent, session string) ([]Standing, error) {
	list := []Standing{}
	limits := k.opts.Limits
	if has(limits, PerDay) {
		if err := k.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	for _, s := range k.Known() {
		if agent == "" || s.Agent == "" || s.Agent == agent {
			list = append(list, s)
		}
	}
	if session == "" || !has(limits, PerSession) {
		return list, nil
	}
	used, err := k.opts.Ledger.Session(ctx, agent, session)
	if err != nil {
		return nil, fmt.Errorf("read what session %s/%s used: %w", agent, session, err)
	}
	for _, l := range limits {
		if l.Scope == PerSession && l.holdsFor(agent) {
			list = append(list, l.standings(used, time.Time{})...)
		}
	}
	return list, nil
}

// Known tells how it stands with the limits of the day as far as was last read.
// It doesn't wait.
func (k *Keeper) Known() []Standing {
	k.mu.Lock()
	defer k.mu.Unlock()
	day := today(k.opts.Now())
	var list []Standing
	for _, l := range k.opts.Limits {
		if l.Scope != PerDay {
			continue
		}
		var used Amount
		if k.day.Equal(day) {
			used, _ = k.usedToday(l)
		}
		list = append(list, l.standings(used, day.Add(24*time.Hour))...)
	}
	return list
}

func (l Limit) standings(used Amount, resets time.Time) (list []Standing) {
	one := func(unit string, limit, used float64) {
		if limit > 0 {
			list = append(list, Standing{
				Key: l.Key + "." + unit, Scope: l.Scope, Agent: l.Agent, Unit: unit,
				Limit: limit, Used: used, Left: math.Max(limit-used, 0), Resets: resets,
			})
		}
	}
	one(Tokens, float64(l.Tokens), float64(used.Tokens))
	one(USD, l.USD, used.USD)
	return list
}

// Guard is the watch of one run of an agent in a session: w, and the limits that
// hold for the run. It is nil when none does.
func (k *Keeper) Guard(agentID, session, run string, w agent.Watch) *Guard {
	g := &Guard{Watch: w, keeper: k, agent: agentID, session: session, run: run, told: map[string]bool{}}
	for _, l := range k.opts.Limits {
		if l.holdsFor(agentID) && l.Amount != (Amount{}) {
			g.limits = append(g.limits, l)
		}
	}
	if len(g.limits) == 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.guards[g] = struct{}{}
	return g
}
