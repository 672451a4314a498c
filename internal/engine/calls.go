package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/tool"
)

// Calls knows the calls that were stored: those that models wrote, those that
// their tools made, and those that people made by hand.
type Calls interface {
	// LastCall returns the newest call of those asked for. ok is false when
	// there is none.
	LastCall(ctx context.Context, q CallQuery) (c StoredCall, ok bool, err error)
	// EachCall tells of the calls of those asked for, of all tools when q names
	// none, whose turn began at since or later, and that have a result, oldest
	// first.
	EachCall(ctx context.Context, q CallQuery, since time.Time, tell func(CallFact)) error
	// KeepCall stores a call by hand that has ended, and those that its tool
	// made, in short, in place of what OpenCall stored of them. The oldest of a
	// tool make room.
	KeepCall(ctx context.Context, c SideCall) error

	// OpenCall stores a call that no model wrote before it runs. What one made
	// that a model wrote is replaced with the outcome of that; where no turn has
	// such a call, nothing is stored. Of what one call made the newest 200 are kept.
	OpenCall(ctx context.Context, c SideCall) error
	// OpenBy lists the processes that calls are open of.
	OpenBy(ctx context.Context) ([]string, error)
	// InterruptCalls closes the calls that are open of a process that died, and
	// returns how many these were.
	InterruptCalls(ctx context.Context, by string, at time.Time) (int, error)
}

// StoredCall is a call with who made it. One that no model wrote is there in
// short ([tool.Outcome.Short]).
type StoredCall struct {
	tool.Outcome
	Parent string // the tool that made it; empty for none
	Hand   string // the id of the person who made it or its parent by hand; empty for none
}

// Shortened reports whether the arguments were too long to be kept.
func (c *StoredCall) Shortened() bool {
	return len(c.Args) == 0 && c.Parent+c.Hand != "" && !slices.Contains([]string{"resolve", "offered", "plan", "arguments"}, c.Step)
}

// made is who made a call that no model wrote.
func (c *StoredCall) made() (words string) {
	if c.Parent != "" {
		words = ", in a call of " + c.Parent
	}
	if c.Hand != "" {
		words += ", by hand, by " + c.Hand
	}
	return words
}

// SideCall is a call that no model wrote.
type SideCall struct {
	tool.Outcome
	Agent, Session, Caller string

	// What follows is of one that begins, which has no status yet.
	By     string // the process that runs it
	Parent string // the tool whose call it is a part of; empty for none
	Root   string // the id of that call, of a model or by hand; its own for a call by hand itself
	Run    string // of the model that wrote that call; empty where it was made by hand
}

// CallQuery asks for calls of a tool by an agent.
type CallQuery struct {
	Agent, Tool string
	Session     string // in this one only; empty means in all
	Caller      string // in sessions that they began only; empty means in all
}

// CallFact is a stored call in short.
type CallFact struct {
	Tool    string
	Status  tool.Status
	Started time.Time
	Took    time.Duration
}

// CallStats is how calls of a tool went.
type CallStats struct {
	Count    int           `json:"count"`
	Failures int           `json:"failures"` // of those, how many were not ok
	P50      time.Duration `json:"p50_ns"`   // half of those that ran took no longer
	P95      time.Duration `json:"p95_ns"`
	Last     time.Time     `json:"last,omitzero"`
	Ended    tool.Status   `json:"last_status,omitempty"` // of the last

	took []time.Duration
}

func (c *CallStats) add(f CallFact) {
	c.Count++
	if f.Status.Failed() {
		c.Failures++
	}
	c.Last, c.Ended = f.Started, f.Status
	if f.Status != tool.Refused && f.Status != tool.Invalid && f.Status != tool.Handed {
		c.took = append(c.took, f.Took)
	}
}

// close works out the quantiles.
func (c *CallStats) close() {
	if len(c.took) > 0 {
		slices.Sort(c.took)
		c.P50, c.P95 = quantile(c.took, 50), quantile(c.took, 95)
	}
	c.took = nil
}

// quantile is the least of sorted that percent of all don't exceed.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[max((len(sorted)*percent+99)/100-1, 0)]
}

// KeepCall stores an outcome of [Engine.Invoke] for a run of scope s.
func (e *Engine) KeepCall(ctx context.Context, s tool.Scope, o tool.Outcome) error {
	if e.calls == nil {
		return nil
	}
	defer e.tallies.forget()
	return e.calls.KeepCall(ctx, SideCall{Outcome: o, Agent: s.Agent(), Session: s.Session(), Caller: s.Caller().ID})
}

// Stats of all tools are read anew when they are so old, or when so many of them
// are kept. A page that is filtered asks for them at each rest of typing.
const (
	statsAge  = 5 * time.Second
	keptStats = 100
)

// tallies keeps what was counted a moment ago. The zero value is ready.
type tallies struct {
	mu   sync.Mutex
	kept map[CallQuery]tally
}

type tally struct {
	stats map[string]*CallStats // nobody changes it
	span  time.Duration         // it goes back so far
	read  time.Time
}

// get is what was counted of q over a span, not long ago.
func (t *tallies) get(q CallQuery, span time.Duration) (map[string]*CallStats, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.kept[q]
	return k.stats, ok && time.Since(k.read) < statsAge && (k.span-span).Abs() < statsAge
}

func (t *tallies) put(q CallQuery, k tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil || len(t.kept) >= keptStats {
		t.kept = map[CallQuery]tally{}
	}
	t.kept[q] = k
}

// forget has all be read anew.
func (t *tallies) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = nil
}

// Stats tells how the calls went that began at since or later, by tool; of one
// tool alone when name is not empty. Callers without privileges are told of
// calls in sessions that they began. What is told of all tools is at most 5
// seconds old, and not the caller's to change.
func (e *Engine) Stats(ctx context.Context, s tool.Scope, name string, since time.Time) (map[string]*CallStats, error) {
	q, ok := e.query(s, name)
	if !ok {
		return map[string]*CallStats{}, nil
	}
	now := time.Now()
	if name != "" {
		return e.count(ctx, q, since)
	}
	if stats, ok := e.tallies.get(q, now.Sub(since)); ok {
		return stats, nil
	}
	stats, err := e.count(ctx, q, since)
	if err == nil {
		e.tallies.put(q, tally{stats, now.Sub(since), now})
	}
	return stats, err
}

// count reads the calls that q asks for.
func (e *Engine) count(ctx context.Context, q CallQuery, since time.Time) (map[string]*CallStats, error) {
	stats := map[string]*CallStats{}
	err := e.calls.EachCall(ctx, q, since, func(f CallFact) {
		if stats[f.Tool] == nil {
			stats[f.Tool] = &CallStats{}
		}
		stats[f.Tool].add(f)
	})
	for _, c := range stats {
		c.close()
	}
	return stats, err
}

// query is what asks for the calls of a tool that the caller of s may hear of;
// not ok when there are none.
func (e *Engine) query(s tool.Scope, name string) (q CallQuery, ok bool) {
	q = CallQuery{Agent: s.Agent(), Tool: name, Session: s.Session()}
	if caller := s.Caller(); !caller.Privileged() {
		q.Caller = caller.ID
		if q.Caller == "" {
			return q, false // nobody has no calls
		}
	}
	return q, e.calls != nil
}
