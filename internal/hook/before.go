package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// Decision is what all deciders together say of a call.
type Decision struct {
	Call  Call          // to go on with
	Block *tool.Refusal // ends the call
	Asks  []Asked       // a person has to allow it; none beside Block
	Note  string        // who decided what, and how long that took; without arguments
}

// Asked is a handler that wants a person asked.
type Asked struct {
	Ask
	Name  string
	Where source.Pos
}

// Rewrite makes of a call the one that has other arguments: repaired, held
// against the schema, their paths cleaned, with what it touches then. The error
// says in one sentence why they can't be used.
type Rewrite func(c Call, args json.RawMessage) (Call, error)

// Decides reports whether anybody decides about calls or observes them before
// they run.
func (b *Bus) Decides() bool { return len(b.at(beforeToolCall)) > 0 }

// Before asks the deciders about a call, one after the other, highest priority
// first. What one of them rewrites is what the next one sees. A block ends it;
// it counts also when a decider of a higher priority wanted a person asked.
// Handlers, and rules that guard, which saw other arguments than those that are
// left are asked once more at the end: what they then block is blocked, while what a
// handler would rewrite stays as who came after it left it. The only error is that of ctx.
//
// It blocks for as long as all of them may take: Timeout, and a tenth of a
// second for one that does not stop then.
func (b *Bus) Before(ctx context.Context, c Call, rewrite Rewrite) (Decision, error) {
	tell(b, beforeToolCall, len(c.Args), func() *Call { return own(&c) })
	d := decision{bus: b, rewrite: rewrite, Decision: Decision{Call: c}}
	var guards []*handler
	for _, h := range b.at(beforeToolCall) {
		f, ok := h.call.(decides)
		if !ok {
			continue
		}
		before := d.Call.Args
		goesOn, err := d.ask(ctx, h, f)
		if !goesOn || err != nil {
			return d.end(err)
		}
		if !same(before, d.Call.Args) {
			d.again, guards = append(d.again, guards...), nil
		}
		if h.guards {
			guards = append(guards, h)
		}
	}
	d.final = true
	for _, h := range d.again {
		goesOn, err := d.ask(ctx, h, h.call.(decides))
		if !goesOn || err != nil {
			return d.end(err)
		}
	}
	return d.end(nil)
}

// decision is one on its way through the deciders.
type decision struct {
	Decision
	bus     *Bus
	rewrite Rewrite
	again   []*handler // those to be asked once more, who saw other arguments
	final   bool       // the arguments stay as they are
	notes   []string
	passed  int // deciders that had nothing to say
	time    time.Duration
}

// worthNaming is from when on a decider that had nothing to say is named.
const worthNaming = 10 * time.Millisecond

func (d *decision) note(h *handler, took time.Duration, what string) {
	if what == "" && took < worthNaming {
		d.passed++
		d.time += took
		return
	}
	if what == "" {
		what = "let it through"
	}
	d.notes = append(d.notes, fmt.Sprintf("%s %s in %s", h.label(), what, rounded(took)))
}

func (d *decision) end(err error) (Decision, error) {
	if d.passed > 0 {
		d.notes = append(d.notes, fmt.Sprintf("%d let it through in %s", d.passed, rounded(d.time)))
	}
	if d.Block != nil {
		d.Asks = nil
	}
	d.Note = strings.Join(d.notes, "; ")
	return d.Decision, err
}

// ask asks one decider and reports whether the call goes on.
func (d *decision) ask(ctx context.Context, h *handler, f decides) (goesOn bool, err error) {
	call := own(&d.Call)
	v, took, err := ask(ctx, d.bus, h, func(ctx context.Context) (Verdict, error) { return f(ctx, call) })
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		d.block(h, took, h.failure(err), err.Error())
		return false, nil
	case v.Block != nil:
		r := *v.Block
		if r.Rule == "" {
			r.Rule = h.name
		}
		if r.Reason == "" {
			r.Reason = fmt.Sprintf("The hook %s doesn't allow it, so nothing ran.", h.label())
		}
		if r.Where.IsZero() {
			r.Where = h.where
		}
		d.block(h, took, &r, joined("blocked", v.Note))
		return false, nil
	}
	what := v.Note
	if v.Args != nil && !same(v.Args, d.Call.Args) && (h.rule || !d.final) {
		changed, err := d.rewritten(v.Args)
		if err != nil {
			d.block(h, took, h.failure(fmt.Errorf("rewrote the arguments into some that can't be used: %w", err)), "rewrote the arguments into some that can't be used")
			return false, nil
		}
		what = joined("rewrote "+changed, what)
	}
	if v.Ask != nil {
		d.wants(h, v.Ask)
		what = joined("wants a person asked", what)
	}
	d.note(h, took, what)
	return true, nil
}

// rewritten takes other arguments and names the parameters that they change.
func (d *decision) rewritten(args json.RawMessage) (changed string, err error) {
	if d.final {
		return "", errors.New("a rule that guards may not rewrite them")
	}
	next, err := d.rewrite(d.Call, slices.Clone(args))
	if err != nil {
		return "", err
	}
	changed = differing(d.Call.Args, next.Args)
	d.Call = next
	return changed, nil
}

func (d *decision) wants(h *handler, a *Ask) {
	if slices.ContainsFunc(d.Asks, func(o Asked) bool { return o.Name == h.name && o.Where == h.where && o.Ask == *a }) {
		return // a guard that was asked again
	}
	d.Asks = append(d.Asks, Asked{*a, h.name, h.where})
}

func (d *decision) block(h *handler, took time.Duration, r *tool.Refusal, what string) {
	d.Block = r
	d.note(h, took, what)
}

// failure is the refusal of a call whose decider could not decide.
func (h *handler) failure(err error) *tool.Refusal {
	later := "The same call may pass later."
	if h.broken != nil {
		later = "No call passes before that."
	}
	return &tool.Refusal{
		Rule:    h.name,
		Reason:  fmt.Sprintf("The hook %s, which has to let such calls through, %v; nothing ran.", h.label(), err),
		Allowed: "Tell the person: whoever runs GoClaw has to mend the hook. " + later,
		Where:   h.where,
	}
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// joined puts two words about a decision together.
func joined(what, note string) string {
	switch {
	case note == "":
		return what
	case what == "":
		return note
	}
	return what + " (" + note + ")"
}

// differing names the parameters whose values differ.
func differing(a, b json.RawMessage) string {
	var x, y map[string]json.RawMessage
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return "the arguments"
	}
	var names []string
	for k, v := range y {
		if old, ok := x[k]; !ok || !same(old, v) {
			names = append(names, k)
		}
		delete(x, k)
	}
	for k := range x {
		names = append(names, k)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
