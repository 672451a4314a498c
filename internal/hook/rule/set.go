package rule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/tool"
)

// Options are what rules work with.
type Options struct {
	Agents Agents
	// Client sends webhooks. It must follow no redirect and decide itself where
	// it may connect to.
	Client *http.Client
	// Notify tells admins of a match; nil tells nobody. It is given a second.
	Notify func(ctx context.Context, n Notice) error
	Log    *slog.Logger     // nil is the default logger
	Now    func() time.Time // time.Now when nil
}

// Notice tells admins that a rule matched.
type Notice struct {
	Time    time.Time   `json:"time"`
	Rule    string      `json:"rule"`
	When    When        `json:"when"`
	Message string      `json:"message,omitempty"`
	Tool    string      `json:"tool"`
	Call    string      `json:"call"` // its id within the session
	Agent   string      `json:"agent,omitempty"`
	Session string      `json:"session,omitempty"`
	Run     string      `json:"run,omitempty"`
	Origin  tool.Origin `json:"origin,omitempty"`
	Caller  string      `json:"caller,omitempty"`
	Status  tool.Status `json:"status,omitempty"` // of the call; only after
}

// Set is a list of rules, ready to be consulted. It is safe for concurrent use.
type Set struct {
	opts  Options
	rules []*compiled // as hooks are asked: highest priority first, then as written
}

// compiled is a rule with what it takes to decide.
type compiled struct {
	Rule
	set       *Set
	selectors []tool.Selector
	condition func() (*condition, error) // compiled at the first call that it could be for

	matched, blocked atomic.Int64
	last             atomic.Int64 // when it matched last, in Unix nanoseconds
	failures         failures
}

// failures are how often a rule could not do what it is for, and why and when it
// last could not.
type failures struct {
	mu    sync.Mutex
	count int64
	why   string
	at    time.Time
}

// fail notes that the rule could not do what it is for, and why: half a sentence
// without secrets.
func (r *compiled) fail(why string) {
	r.failures.mu.Lock()
	defer r.failures.mu.Unlock()
	r.failures.count++
	r.failures.why, r.failures.at = shortened(why), r.set.opts.Now()
}

// New makes a set of rules. It compiles nothing yet.
func New(rules []Rule, o Options) *Set {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Set{opts: o}
	for _, r := range rules {
		r.When, r.Timeout = cmp.Or(r.When, Before), cmp.Or(r.Timeout, hook.DefaultTimeout)
		c := &compiled{Rule: r, set: s}
		for _, text := range r.Tools {
			c.selectors = append(c.selectors, tool.ParseSelector(text))
		}
		c.condition = sync.OnceValues(func() (*condition, error) { return compileCondition(r.When, r.Match) })
		s.rules = append(s.rules, c)
	}
	slices.SortStableFunc(s.rules, func(a, b *compiled) int { return cmp.Compare(b.Priority, a.Priority) })
	return s
}

// Source is what hooks are known by that are rules of the configuration.
const Source = "config"

// margin is what a rule may take beyond its own time limit before the hook's
// ends it: the rule knows better words for what happened.
const margin = 2 * time.Second

// Hooks are the rules as the engine consults them.
func (s *Set) Hooks() (before []hook.Before, after []hook.After) {
	for _, r := range s.rules {
		if r.When == After {
			after = append(after, hook.After{
				Name: r.Name, Source: Source, Where: r.Where, Priority: r.Priority, Timeout: r.Timeout + margin, Observe: r.observe,
			})
			continue
		}
		before = append(before, hook.Before{
			Name: r.Name, Source: Source, Where: r.Where, Priority: r.Priority, Timeout: r.Timeout + margin,
			Guards: r.Action.Decides(), Decide: r.decide,
		})
	}
	return before, after
}

// Reading says whether a rule is for a call, and how that was found out.
type Reading struct {
	Rule    Rule
	Matches bool
	// Why is half a sentence: which part of the rule decided.
	Why string
	// Unsure says that the condition could not be evaluated, so that doubt
	// decided: a match for what blocks or asks, none for what only tells.
	Unsure bool
	// Admins says, of a match that has a person asked, that only an admin may
	// answer: the rule would let the same call of an admin through, so it guards
	// what others do. A rule that would ask an admin, too, is answered by the
	// person for whom the call is made.
	Admins bool

	doubt string // why the condition could not be evaluated; empty when it could
}

// Try reads the rules for a call, in the order in which they are consulted: all
// those before calls when o is nil, else those after calls. It does nothing
// that a match asks for and counts nothing.
func (s *Set) Try(ctx context.Context, c *hook.Call, o *tool.Outcome) []Reading {
	var list []Reading
	for _, r := range s.rules {
		if (r.When == After) == (o != nil) {
			list = append(list, r.read(ctx, c, o))
		}
	}
	return list
}

// read decides whether the rule is for a call.
func (r *compiled) read(ctx context.Context, c *hook.Call, o *tool.Outcome) Reading {
	out := Reading{Rule: r.Rule}
	if len(r.selectors) > 0 && !slices.ContainsFunc(r.selectors, func(s tool.Selector) bool { return s.Selects(&c.Def, c.Owner) }) {
		out.Why = "it is for other tools (" + strings.Join(r.Tools, ", ") + ")"
		return out
	}
	if !r.set.opts.Agents.within(r.Agents, c.Scope) {
		out.Why = "it is for other agents (" + strings.Join(r.Agents, ", ") + ")"
		return out
	}
	cond, err := r.condition()
	if err == nil && cond == nil {
		out.Matches, out.Why = true, "it has no condition"
		return out
	}
	var vars map[string]any
	if err == nil {
		if vars, err = facts(c, o); err == nil {
			out.Matches, err = cond.holds(ctx, vars)
		}
	}
	switch {
	case err != nil:
		out.Unsure, out.Matches = true, r.Action.Decides()
		counts := "which counts as a match"
		if !out.Matches {
			counts = "and a notice needs one that holds"
		}
		out.doubt = fmt.Sprintf("its condition can't be evaluated (%v)", err)
		out.Why = out.doubt + ", " + counts
	case out.Matches:
		out.Why = "its condition holds"
	default:
		out.Why = "its condition does not hold"
	}
	if out.Matches && r.Action == Approve {
		out.Admins = out.Unsure || sparesAdmins(ctx, cond, vars)
	}
	return out
}

// sparesAdmins reports whether a condition would not hold for the same call of
// an admin. What can't be told counts as that it would not.
func sparesAdmins(ctx context.Context, cond *condition, vars map[string]any) bool {
	vars["caller"] = map[string]any{"id": auth.FirstAdmin, "role": string(auth.Admin), "human": true}
	holds, err := cond.holds(ctx, vars)
	return err != nil || !holds
}

// judge is read for a call that is made.
func (r *compiled) judge(ctx context.Context, c *hook.Call, o *tool.Outcome) Reading {
	reading := r.read(ctx, c, o)
	if reading.Unsure {
		r.fail(reading.doubt + " for a call of " + c.Tool)
	}
	return reading
}

// decide implements hook.Before's Decide.
func (r *compiled) decide(ctx context.Context, c *hook.Call) (hook.Verdict, error) {
	limit, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	reading := r.judge(limit, c, nil)
	if !reading.Matches {
		return hook.Verdict{}, nil
	}
	r.count(&r.matched)
	switch r.Action {
	case Notify:
		return hook.Verdict{Note: r.tell(ctx, c, nil)}, nil
	case Webhook:
		v, err := r.askWebhook(limit, c)
		if err != nil {
			r.fail(r.plainly(limit, err).Error())
			r.set.opts.Log.Warn("a webhook gave no decision, which blocks the call", "rule", r.Name, "where", r.Where.Place(), "tool", c.Tool, "err", innermost(err))
		}
		if v.Block != nil {
			r.blocked.Add(1)
		}
		return v, nil
	case Approve:
		return hook.Verdict{Ask: &hook.Ask{Reason: r.reason("wants a person to allow "+c.Tool, reading), Admins: reading.Admins}}, nil
	}
	r.blocked.Add(1)
	return r.block(r.reason("blocks "+c.Tool, reading), change), nil
}

// block is the verdict of a rule that does not let a call through. allowed is what
// can be done about it.
func (r *compiled) block(reason, allowed string) hook.Verdict {
	return hook.Verdict{Block: &tool.Refusal{Rule: r.Name, Reason: reason, Where: r.Where, Allowed: allowed}}
}

// reason says what the rule does, in its author's words where there are some.
func (r *compiled) reason(does string, reading Reading) string {
	s := fmt.Sprintf("The rule %s %s", r.Name, does)
	if r.Message != "" {
		s += ": " + strings.TrimSpace(r.Message)
	}
	s = ended(s)
	if reading.Unsure {
		s += " Its condition can't be evaluated for this call, which counts as a match."
	}
	return s
}

// ended is s with the end that a sentence has.
func ended(s string) string {
	if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "!") && !strings.HasSuffix(s, "?") {
		s += "."
	}
	return s
}

func (r *compiled) count(n *atomic.Int64) {
	n.Add(1)
	r.last.Store(r.set.opts.Now().UnixNano())
}

// observe implements hook.After's Observe.
func (r *compiled) observe(ctx context.Context, c *hook.Call, o *tool.Outcome) error {
	limit, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if reading := r.judge(limit, c, o); !reading.Matches {
		return nil
	}
	r.count(&r.matched)
	if r.Action == Webhook {
		return r.tellWebhook(limit, c, o)
	}
	r.tell(ctx, c, o)
	return nil
}

// noticeWithin is how long telling admins may take.
const noticeWithin = time.Second

// tell tells admins of a match and says how that went. What goes wrong is
// logged: a notice never decides about a call.
func (r *compiled) tell(ctx context.Context, c *hook.Call, o *tool.Outcome) (note string) {
	if r.set.opts.Notify == nil {
		return "there is nobody to tell"
	}
	defer func() {
		if v := recover(); v != nil {
			note = r.untold(fmt.Errorf("panic: %v", v))
		}
	}()
	s := c.Scope
	n := Notice{
		Time: r.set.opts.Now(), Rule: r.Name, When: r.When, Message: r.Message, Tool: c.Tool, Call: c.ID, Agent: s.Agent(), Session: s.Session(),
		Run: s.Run(), Origin: s.Origin(), Caller: s.Caller().ID,
	}
	if o != nil {
		n.Status = o.Status
	}
	limit, cancel := context.WithTimeout(ctx, noticeWithin)
	defer cancel()
	if err := r.set.opts.Notify(limit, n); err != nil {
		return r.untold(err)
	}
	return "told admins"
}

func (r *compiled) untold(err error) string {
	r.fail("admins were not told: " + err.Error())
	r.set.opts.Log.Error("admins were not told of a rule that matched", "rule", r.Name, "err", err)
	return "admins were not told"
}

// Report is how a rule does.
type Report struct {
	Rule
	// Problem says why it can't do what it is for; "" when it can.
	Problem string
	// Matched, Blocked and Failed count calls since the set was made: those it
	// was for, those it did not let through, and those that it could not judge, or
	// of which it could not tell or ask.
	Matched, Blocked, Failed int64
	Last                     time.Time // when it matched last; zero for never
	// Failure is why it failed last, in half a sentence, and FailedAt when; empty
	// and zero for never.
	Failure  string
	FailedAt time.Time
}

// Report tells how each rule does, in the order in which they are consulted. It
// compiles what is not compiled yet.
func (s *Set) Report() []Report {
	list := make([]Report, len(s.rules))
	for i, r := range s.rules {
		list[i] = Report{Rule: r.Rule, Matched: r.matched.Load(), Blocked: r.blocked.Load()}
		r.failures.mu.Lock()
		list[i].Failed, list[i].Failure, list[i].FailedAt = r.failures.count, r.failures.why, r.failures.at
		r.failures.mu.Unlock()
		if _, err := r.condition(); err != nil {
			list[i].Problem = "its condition can't be compiled: " + err.Error()
		}
		if ns := r.last.Load(); ns != 0 {
			list[i].Last = time.Unix(0, ns)
		}
	}
	return list
}

// Ask sends the webhook of a rule that decides about a call, as it would be
// sent, and says what the answer means. It counts nothing.
func (s *Set) Ask(ctx context.Context, name string, c *hook.Call) (hook.Verdict, error) {
	for _, r := range s.rules {
		if r.Name == name && r.Action == Webhook && r.When == Before {
			limit, cancel := context.WithTimeout(ctx, r.Timeout)
			defer cancel()
			v, _ := r.askWebhook(limit, c) // which says in words why there is no decision
			return v, nil
		}
	}
	return hook.Verdict{}, errors.New("no rule of that name asks a webhook before calls")
}
