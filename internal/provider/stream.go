package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
)

// Models asks for one agent: it has a model of its own and a list of others.
type Models struct {
	set       *Set
	otherwise string
	fallback  []string
}

// For makes the models of an agent: model (“”, provider or provider/model) is
// what a call without one gets, fallback what is asked when that fails.
func (s *Set) For(model string, fallback []string) *Models {
	return &Models{set: s, otherwise: model, fallback: fallback}
}

// Target is what a model string stands for, whether or not it can be asked.
func (m *Models) Target(model string) (llm.Target, error) {
	_, t, err := m.set.resolve(model, m.otherwise)
	return t, err
}

// Stream asks the target that model names, which is m's own when empty, and
// yields what the model says as it comes, then exactly one EventDone or one
// error, which is an [*llm.Error] or what ctx or build ended with.
//
// A failure is met by the table in action.go: the same target is asked again,
// then the next one of the fallback list, each with a request that build makes
// for it; it is asked for it anew when the target had begun to answer, since
// that was used up. used says that this turn has run a tool: then the target stays the
// one that model names, which has to be the one that answered before. What has
// been streamed is never said twice: a new attempt that begins with the same
// words goes on behind them, another takes them back by EventRetracted.
// EventNotice tells what happens on the way, EventDropped what an attempt used
// whose answer is not the one.
func (m *Models) Stream(ctx context.Context, model string, used bool, build func(llm.Target) (llm.Request, error)) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		c := &asking{ctx: ctx, set: m.set, build: build, shown: shown{yield: yield}}
		all := m.candidates(model)
		if used {
			all, c.held = all[:1], all[1:]
		}
		if err := c.run(all); err != nil && !c.shown.left {
			yield(llm.Event{}, err)
		}
	}
}

// candidate is a target that may be asked.
type candidate struct {
	entry  *entry
	target llm.Target
	err    error // why it can't be
	tried  bool
}

// secrets are what no message about c may hold.
func (c *candidate) secrets() []string {
	if c.entry == nil {
		return nil
	}
	return append(slices.Collect(maps.Values(c.entry.settings.Headers)), c.entry.settings.Key)
}

// candidates lists what may be asked, the first choice first.
func (m *Models) candidates(model string) []*candidate {
	names := append([]string{model}, m.fallback...)
	var out []*candidate
	seen := map[string]bool{}
	for i, name := range names {
		if i > 0 && name == "" {
			continue
		}
		c := &candidate{}
		c.entry, c.target, c.err = m.set.resolve(name, m.otherwise)
		if !seen[c.target.String()] {
			seen[c.target.String()] = true
			out = append(out, c)
		}
	}
	return out
}

// asking is one call of Stream.
type asking struct {
	ctx   context.Context
	set   *Set
	build func(llm.Target) (llm.Request, error)
	shown shown
	fatal bool         // the error is not about a target
	risky bool         // one was asked that cools down
	held  []*candidate // who isn't asked, since this turn has used a tool

	reply  *llm.Reply   // that was passed on
	last   *llm.Attempt // failed, and what comes of it is still to be told
	before []llm.Attempt
}

// run asks candidates until one answers.
func (a *asking) run(all []*candidate) error {
	c := a.next(all, nil)
	for {
		err := a.ask(c)
		var e *llm.Error
		if err == nil || a.shown.left || a.fatal || !errors.As(err, &e) {
			return err
		}
		if a.last == nil {
			a.failed(e, c, time.Now())
			a.last.Skipped = true
		}
		c = nil
		if actionFor(e.Class).move {
			c = a.next(all, e)
		}
		if c == nil {
			e.Before = a.before
			if i := slices.IndexFunc(a.held, func(h *candidate) bool { return h.err == nil }); i >= 0 && actionFor(e.Class).move {
				e.Held = a.held[i].target.Short()
			}
			a.tell(llm.GaveUp, "")
			return err
		}
	}
}

// failed notes a failure of c. What comes of it is told by tell.
func (a *asking) failed(e *llm.Error, c *candidate, began time.Time) {
	a.last = &llm.Attempt{
		Target: c.target.Short(), Class: e.Class, Status: e.Status, Message: Clean(e.Message, c.secrets()...),
		Started: began, Ended: time.Now(),
	}
}

// tell tells what comes of the last failure.
func (a *asking) tell(next llm.Next, format string, args ...any) {
	failed := a.last
	a.last = nil
	failed.Next, failed.Told = next, fmt.Sprintf(format, args...)
	a.before = append(a.before, *failed)
	a.shown.emit(llm.Event{Type: llm.EventNotice, Kind: string(next), Text: failed.Told, Attempt: failed})
}

// next picks whom to ask: the first that was not asked and doesn't cool down;
// when all that remain do, the one whose cooldown ends first, and after it none.
// It tells why it isn't the one before, which failed with failure.
func (a *asking) next(all []*candidate, failure *llm.Error) *candidate {
	var chosen *candidate
	var soonest time.Time
	var skipped []string
	for _, c := range all {
		if c.tried {
			continue
		}
		until := a.set.health.cooling(c.target)
		if until.IsZero() {
			chosen, soonest = c, until
			break
		}
		skipped = append(skipped, fmt.Sprintf("%s rests for another %s after repeated failures", c.target, short(time.Until(until).Round(time.Second))))
		if soonest.IsZero() || until.Before(soonest) {
			chosen, soonest = c, until
		}
	}
	if chosen == nil || !soonest.IsZero() && a.risky {
		return nil
	}
	chosen.tried, a.risky = true, !soonest.IsZero()
	switch {
	case failure != nil:
		to := chosen.target.Short()
		a.last.To = &to
		a.tell(llm.Failover, "%s; asking %s instead.", happened(failure), chosen.target)
	case soonest.IsZero() && len(skipped) > 0:
		a.shown.emit(llm.Event{Type: llm.EventNotice, Kind: "cooldown", Text: fmt.Sprintf("%s; asking %s instead.", strings.Join(skipped, "; "), chosen.target)})
	}
	return chosen
}

// happened says what became of a target, as the beginning of a sentence.
func happened(e *llm.Error) string {
	words := wordsFor(e)
	var p *problem
	if errors.As(e, &p) {
		words = "can't be asked"
	}
	return fmt.Sprintf("%s %s (%s)", e.Target, words, strings.TrimRight(e.Message, "."))
}

// ask asks one target as often as the table allows.
func (a *asking) ask(c *candidate) error {
	began := time.Now()
	err := a.attempts(c)
	var e *llm.Error
	var p *problem
	switch {
	case err == nil && (a.reply == nil || a.reply.Cached): // whoever watched left, or nobody was asked
	case err == nil:
		a.set.health.answered(c.target)
	case !a.fatal && errors.As(err, &e) && !errors.As(err, &p) && a.ctx.Err() == nil:
		a.set.health.failed(c.target, e, began)
	}
	return err
}

func (a *asking) attempts(c *candidate) error {
	if c.err != nil {
		return c.err
	}
	model, err := c.entry.open()
	if err != nil {
		return problemf(llm.ClassUnknown, "%s", Clean(err.Error(), c.entry.settings.Key)).of(c.target)
	}
	c.target = c.entry.ask(a.ctx, model, c.target)
	if err := a.ctx.Err(); err != nil {
		return err
	}
	req, err := a.request(c)
	if err != nil {
		return err
	}
	slot := a.set.cache.slot(&c.entry.settings, &req)
	if known := slot.look(a.ctx); known != nil {
		_, err := a.attempt(again{known}, req)
		return err
	}
	made, refusals := map[llm.Class]int{}, 0
	for {
		began := time.Now()
		dropped, err := a.attempt(model, req)
		if err == nil {
			slot.keep(a.ctx, a.reply)
		}
		if err == nil || a.shown.left {
			return err
		}
		if ctxErr := a.ctx.Err(); ctxErr != nil {
			return ctxErr
		}
		e := failureOf(err, c.target)
		if c.target.Tools && refusesTools(e) {
			e.Class = llm.ClassBadRequest // whatever its server calls it, which says nothing of the model's name
		}
		a.failed(e, c, began)
		if less := a.less(c, e, &req, refusals); less != "" {
			refusals++
			a.tell(llm.Retry, "%s; asking again without %s.", happened(e), less)
			if req, err = a.request(c); err != nil {
				return err
			}
			continue
		}
		d, ok := actionFor(e.Class).pause(made[e.Class], e)
		if !ok {
			return e
		}
		made[e.Class]++
		a.last.Wait = d
		a.tell(llm.Retry, "%s; trying again%s.", happened(e), in(d))
		if err := sleep(a.ctx, d); err != nil || a.shown.left {
			return err
		}
		if dropped {
			// What is left to spend is less now.
			if req, err = a.request(c); err != nil {
				return err
			}
		}
	}
}

// less takes out of later requests what c's server refused of req with e, the
// refusals-th time, and says what that is; "" when the request can't do without.
func (a *asking) less(c *candidate, e *llm.Error, req *llm.Request, refusals int) string {
	if c.target.Tools && refusesTools(e) {
		c.target = c.entry.takesNone(c.target)
		return "tools"
	}
	return listMedia(c.entry.refused.learn(e, req, refusals > 0))
}

// request is what c is asked.
func (a *asking) request(c *candidate) (llm.Request, error) {
	req, err := a.build(c.target)
	if err != nil {
		a.fatal = true
		return req, err
	}
	req.Messages = c.entry.refused.without(req.Target, req.Messages)
	return req, nil
}

// in says when, unless it is at once.
func in(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return fmt.Sprintf(" in %.1f s", d.Seconds())
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failureOf is err as a failure of target.
func failureOf(err error, t llm.Target) *llm.Error {
	var e *llm.Error
	if !errors.As(err, &e) {
		e = &llm.Error{Class: llm.ClassUnknown, Message: Clean(err.Error()), Err: err}
	}
	if e.Target.Provider == "" {
		e.Target = t
	}
	return e
}

var errNoEnd = errors.New("the answer ended without an end")

// attempt makes one call. The error is nil when the reply was complete and has
// been passed on, or when whoever watched left. dropped says that the model had
// begun to answer, and that EventDropped was sent.
func (a *asking) attempt(model llm.Model, req llm.Request) (dropped bool, err error) {
	a.shown.begin()
	var used *llm.Usage
	err = &llm.Error{Class: llm.ClassNetwork, Message: errNoEnd.Error(), Err: errNoEnd}
	for e, failure := range model.Stream(a.ctx, req) {
		if failure != nil {
			err = failure
			break
		}
		dropped = true
		switch e.Type {
		case llm.EventText, llm.EventReasoning:
			a.shown.take(e)
		case llm.EventUsage:
			u := counted(*e.Usage)
			used = &u
		case llm.EventDone:
			e.Reply.Usage = counted(e.Reply.Usage)
			used = &e.Reply.Usage
			withhold(e.Reply)
			if err = empty(e.Reply); err == nil && a.shown.end() {
				a.reply = e.Reply
				a.shown.emit(e)
			}
			// The range goes on to its end, so that the connection can be used
			// again.
			continue
		default:
			a.shown.emit(e)
		}
		if a.shown.left {
			return dropped, nil
		}
	}
	if dropped = dropped && err != nil; dropped {
		if used != nil && *used == (llm.Usage{}) {
			used = nil
		}
		a.shown.emit(llm.Event{Type: llm.EventDropped, Usage: used})
	}
	return dropped, err
}

// withhold takes the calls out of a reply that the provider's filter broke off:
// what it didn't let pass isn't run.
func withhold(r *llm.Reply) {
	if r.Finish == llm.FinishFilter {
		r.Message.Parts = slices.DeleteFunc(r.Message.Parts, func(p llm.Part) bool { return p.Kind == llm.KindCall })
	}
}

// empty is the failure of a reply that says nothing and calls nothing.
func empty(r *llm.Reply) error {
	if strings.TrimSpace(r.Message.Text()) != "" {
		return nil
	}
	for _, p := range r.Message.Parts {
		if p.Kind == llm.KindCall || p.Kind == llm.KindMedia {
			return nil
		}
	}
	message := "the answer is empty"
	switch r.Finish {
	case llm.FinishLength:
		message = "the output limit was used up before the answer began"
	case llm.FinishFilter:
		message = "the provider's filter withheld the answer"
	}
	return &llm.Error{Class: llm.ClassEmpty, Target: r.Target, Code: string(r.Finish), Message: message}
}
