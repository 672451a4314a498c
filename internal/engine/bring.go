package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// errRepeated says that two tools of one request have the same name.
var errRepeated = errors.New("the name stands twice")

// Bring has a run offered the tools that an API client brings with its request:
// they pass every layer, are pinned, and their calls every step; a call that
// gets through is handed to the client, with which the turn ends.
//
// A name that the agent has stays the agent's: the client's tool is left out,
// which skipped tells of scope s that asks target t. A name that is denied to the
// agent is free, or whoever brings a tool could find out about those. What is
// returned takes the tools back, when the run settles. The error says that a tool
// is unusable.
func (e *Engine) Bring(ctx context.Context, s tool.Scope, t llm.Target, b tool.Brought) (skipped []tool.Note, revoke func(), err error) {
	own, cat := tool.NewRegistry(), e.registry.Catalog()
	dec := e.decider.Decide(ctx, cat, s, t)
	owner := tool.Owner{Kind: tool.ClientOwner}
	turn := &clientTurn{single: b.Single}
	for i, c := range b.Tools {
		if slices.ContainsFunc(b.Tools[:i], func(o tool.ClientTool) bool { return o.Name == c.Name }) {
			return nil, nil, fmt.Errorf("bring %s to a run: %w", c.Name, errRepeated)
		}
		if other, taken := cat.Find(c.Name); taken && !dec.Secret(c.Name) {
			n := tool.Note{
				Tool: c.Name, Owner: owner, State: "registered",
				Reason: fmt.Sprintf("the name is taken by %s", other.Owner), Fix: "have the client name its tool otherwise",
			}
			own.Note(n)
			n.Reason = "the name is taken here" // whoever asks may be anybody
			skipped = append(skipped, n)
			continue
		}
		if notes := own.Add(owner, &clientTool{def: definition(c), turn: turn}); len(notes) > 0 {
			return nil, nil, fmt.Errorf("bring %s to a run: %s", c.Name, notes[0].Reason)
		}
	}
	return skipped, e.decider.Bring(s.Run(), own.Catalog()), nil
}

// definition is what the engine knows of a client's tool: nothing of what it
// does, so it counts as one that changes something. No code can call it, since
// there is no way to wait for the client within a call.
func definition(c tool.ClientTool) tool.Definition {
	return tool.Definition{
		Name: c.Name, Description: c.Description, Parameters: c.Parameters,
		Traits: tool.Traits{DirectOnly: true, Waits: true, Paths: []string{}},
	}
}

// clientTurn is what the tools of one run share.
type clientTurn struct {
	single bool
	handed atomic.Bool // a call went to the client
}

// clientTool stands for a tool that a client runs.
type clientTool struct {
	def  tool.Definition
	turn *clientTurn
}

func (c *clientTool) Definition() tool.Definition { return c.def }

// oneAtATime is what calls touch of which the client takes one at a time, so
// that the first in order is the one which it gets.
var oneAtATime = []tool.Touch{{Name: "client:", Write: true}}

// Touches implements [tool.Toucher]: here the call changes nothing.
func (c *clientTool) Touches(tool.Call) []tool.Touch {
	if c.turn.single {
		return oneAtATime
	}
	return nil
}

func (c *clientTool) Execute(_ context.Context, call tool.Call) (tool.Result, error) {
	if c.turn.handed.Swap(true) && c.turn.single {
		return tool.Result{}, &tool.Refusal{
			Rule: "parallel_tool_calls", Reason: "The client takes one call at a time, and another call of this answer went to it, so nothing ran.",
			Allowed: "When its result is there, call " + c.def.Name + " again if that is still needed.",
		}
	}
	return tool.TextResult("The call went to the client, which has not answered yet."), nil
}

// received names the steps behind a call that what a client answered takes.
var received = []string{"after", "persist", "spill"}

// Receive has what a client answered to calls become what a model is shown: as
// results of other tools it is told to observers, passes the handlers that have a
// say in what is kept, and is kept aside where it is long. t is the target that
// the turn begins with: it says whether the model may read on. It changes the
// outcomes of a.
func (e *Engine) Receive(ctx context.Context, s tool.Scope, t llm.Target, a tool.ClientRound) {
	var steps []step
	for _, one := range slices.Concat(e.work, e.show) {
		if slices.Contains(received, one.name) && (one.name != "after" || !a.Past) {
			steps = append(steps, one)
		}
	}
	sf := tool.Surface{Scope: s, Permitted: e.decider.Decide(ctx, e.registry.Catalog(), s, t).Permitted}
	known := e.Known(s)
	round := make([]*invocation, len(a.Outcomes))
	for i := range a.Outcomes {
		o := &a.Outcomes[i]
		entry, ok := known.Find(o.Tool)
		if !ok || entry.Owner.Kind != tool.ClientOwner { // it is not brought any more
			entry = &tool.Entry{Def: definition(tool.ClientTool{Name: o.Tool}), Owner: tool.Owner{Kind: tool.ClientOwner}}
		}
		round[i] = &invocation{surface: &sf, entry: entry, out: o}
		told := tool.Digest(o.Status, o.Content)
		o.Content = filled(o.Content)
		take(ctx, e.log, steps, round[i])
		o.Digest = told
	}
	if e.spiller != nil {
		fit(ctx, e.spiller, e.log, round, a.Others)
	}
}

// Known is what the registry holds, with what was brought to the run of s.
func (e *Engine) Known(s tool.Scope) *tool.Catalog {
	cat, more := e.registry.Catalog(), e.decider.Brought(s.Run())
	if more == nil {
		return cat
	}
	all := &tool.Catalog{Revision: cat.Revision, Notes: slices.Concat(cat.Notes, more.Notes)}
	for _, e := range cat.Entries {
		if _, free := more.Find(e.Def.Name); !free {
			all.Entries = append(all.Entries, e)
		}
	}
	all.Entries = append(all.Entries, more.Entries...)
	slices.SortFunc(all.Entries, func(a, b *tool.Entry) int { return cmp.Compare(a.Def.Name, b.Def.Name) })
	return all
}
