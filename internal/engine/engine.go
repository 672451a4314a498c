// Package engine decides which tools a request is shown and runs the calls that
// come back. [Engine.Offer] runs an agent's registry through the layers of
// engine/surface; [Engine.Execute] takes each call through a list of steps,
// side by side where nothing speaks against it, and returns one outcome per
// call, whatever happens to the tools.
//
// An [Engine] belongs to one agent and is safe for concurrent use. It has no
// goroutine of its own and nothing to close: calls run on the process's pool,
// which outlives it. Execute blocks its caller until every call has an outcome;
// when its context ends that is within a tenth of a second, even if a tool does
// not listen, and what storing the results takes that were ready by then.
//
// Start reading at steps.go, the list of what happens to a call, then at
// execute.go, which drives it.
package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/engine/cache"
	"github.com/goclaw/goclaw/internal/engine/owner"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/engine/preset"
	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/engine/spill"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/lib/contain"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// DefaultTimeout is how long a call may run when neither its tool nor the
// options say otherwise.
const DefaultTimeout = 2 * time.Minute

// Options are the parts of an engine.
type Options struct {
	Registry *tool.Registry      // the agent's tools; required
	Pool     *pool.Pool          // of the process; required
	Policies surface.Policies    // of the agent
	Dialects surface.Dialects    // what each provider takes of the tools' schemas; nil: anything
	Spiller  *spill.Spiller      // keeps large results aside; nil shows every result whole
	Selector *selection.Selector // picks what a request is shown; nil shows all that is permitted
	Cache    *cache.Cache        // of the process; nil keeps no results
	Presets  *preset.Book        // of the process; nil has none
	Calls    Calls               // what Explain knows of stored calls; nil knows nothing
	Timeout  time.Duration       // of calls whose tool sets none; 0 is DefaultTimeout
	Hooks    *hook.Bus           // of the process; nil has none
	Approve  Approve             // asks people; nil can ask nobody
	Planned  Planned             // what people switched meanwhile; nil when nobody does
	Clean    Clean               // of the agent's workspace; nil leaves paths as they come
	Log      *slog.Logger        // nil is the default logger
}

// Approve asks a person whether a call may run and waits for the end of that.
// asked is told, on the caller's goroutine, when people can answer.
type Approve func(ctx context.Context, r approval.Request, asked func(tool.Approval)) tool.Approval

// Clean gives the one spelling of a file's name in the workspace of a scope. It
// looks at the spelling only. The error is a [*tool.Refusal] for what no
// workspace can hold.
type Clean func(s tool.Scope, path string) (string, error)

// Engine offers and runs the tools of one agent. It implements agent.Toolbox.
type Engine struct {
	registry *tool.Registry
	pool     *pool.Pool
	decider  *surface.Decider
	selector *selection.Selector
	spiller  *spill.Spiller
	hooks    *hook.Bus
	presets  *preset.Book
	calls    Calls
	tallies  tallies
	log      *slog.Logger

	admit, before, work, show []step
}

// New makes an engine.
func New(o Options) *Engine {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Selector == nil {
		o.Selector = selection.New(selection.Options{})
	}
	var fence *contain.Fence
	if o.Pool != nil { // else nothing runs, and it is only looked
		fence = o.Pool.Fence()
	}
	owners := owner.New(fence, o.Log)
	e := &Engine{
		selector: o.Selector,
		registry: o.Registry, pool: o.Pool, decider: surface.New(o.Policies, owners),
		spiller: o.Spiller, hooks: o.Hooks, presets: o.Presets, calls: o.Calls, log: o.Log,
	}
	e.decider.SetDialects(o.Dialects)
	e.admit, e.before, e.work, e.show = steps(o, owners)
	return e
}

// Diagnose tells of entries in the policies that select nothing.
func (e *Engine) Diagnose() []surface.Diagnosis { return e.decider.Diagnose(e.registry.Catalog()) }

// Offer decides what a request for target t is shown. The only error is a
// [*NoToolsError].
func (e *Engine) Offer(ctx context.Context, s tool.Scope, t llm.Target, st tool.State, ask tool.Ask) (tool.Surface, error) {
	sf, lists := e.surface(ctx, s, t, st, ask)
	if len(sf.Offered) == 0 && len(lists) > 0 && !slices.ContainsFunc(sf.Permitted, shown) {
		none := &NoToolsError{Lists: lists, Removed: sf.Removed}
		if !s.Caller().Privileged() { // whom nobody tells what is denied, and by what
			none.Removed = surface.Withheld(sf.Removed)
			for i := range none.Removed {
				none.Removed[i].Where = source.Pos{}
			}
		}
		return sf, none
	}
	return sf, nil
}

// shown reports whether a permitted tool may be shown to a model at all.
func shown(e *tool.Entry) bool { return selection.Hidden(e) == "" }

// surface decides and picks, and tells which explicit lists were in force, as
// whom the run acts for may know them.
func (e *Engine) surface(ctx context.Context, s tool.Scope, t llm.Target, st tool.State, ask tool.Ask) (sf tool.Surface, lists []string) {
	p := e.pick(ctx, s, t, st, ask)
	return p.surface, p.lists
}

// missed says why a permitted tool is left out of a surface.
type missed func(e *tool.Entry) selection.Missed

// chosen is surface that can say why it leaves out a permitted tool.
func (e *Engine) chosen(ctx context.Context, s tool.Scope, t llm.Target, st tool.State, ask tool.Ask) (sf tool.Surface, lists []string, why missed) {
	p := e.pick(ctx, s, t, st, ask)
	return p.surface, p.lists, e.selector.Missing(p.request, p.choice)
}

// picked is a surface and how it came about.
type picked struct {
	surface tool.Surface
	lists   []string
	request selection.Request
	choice  selection.Choice
}

func (e *Engine) pick(ctx context.Context, s tool.Scope, t llm.Target, st tool.State, ask tool.Ask) picked {
	cat := e.registry.Catalog()
	dec := e.decider.Decide(ctx, cat, s, t)
	r := selection.Request{Catalog: cat, Permitted: dec.Permitted, Scope: s, State: st, Ask: ask}
	c := e.selector.Select(ctx, r)
	sf := tool.Surface{
		Scope: s, Target: t, State: c.State, Picks: c.Picks, Notices: c.Notices,
		Offered: c.Offered, Permitted: dec.Permitted, Removed: dec.Removed,
	}
	withPresets(ctx, e.presets, &sf, ask, c.Apart)
	lists := dec.Lists
	if !s.Caller().Privileged() {
		lists = dec.Plain
	}
	return picked{surface: sf, lists: lists, request: r, choice: c}
}

// Execute runs calls against what sf offers. It returns one outcome per call,
// in order, also when ctx ends. emit, which may be nil, runs on the caller's
// goroutine and never after Execute returned. A surface's tools are taken as
// they were offered, whatever became of the registry since.
func (e *Engine) Execute(ctx context.Context, sf tool.Surface, calls []llm.ToolCall, emit func(tool.Event)) []tool.Outcome {
	b := newBatch(e, &sf, sf.Offered, calls, emit)
	b.run(ctx)
	b.fit(ctx, e.spiller, e.log)
	return b.outcomes
}

// Invoke runs one call that no model asked for, through every step. It is held
// against all that is permitted, before selection. A zero target means that no
// model is involved. emit is as in [Engine.Execute].
func (e *Engine) Invoke(ctx context.Context, s tool.Scope, t llm.Target, st tool.State, name string, args json.RawMessage, emit func(tool.Event)) tool.Outcome {
	dec := e.decider.Decide(ctx, e.registry.Catalog(), s, t)
	sf := tool.Surface{Scope: s, Target: t, State: st, Permitted: dec.Permitted, Removed: dec.Removed}
	call := llm.ToolCall{ID: "invoke-" + rand.Text(), Name: name, Arguments: string(args)}
	b := newBatch(e, &sf, sf.Permitted, []llm.ToolCall{call}, emit)
	b.slots[0].root = root{hand: true, id: call.ID}
	b.run(ctx)
	return b.outcomes[0]
}

// NoToolsError says that explicit lists leave a run nothing to call, so that it
// would be pointless to ask a model.
type NoToolsError struct {
	Lists   []string // as people know them
	Removed []tool.Removal
}

func (e *NoToolsError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "offer tools: nothing is left to call under %s", strings.Join(e.Lists, " and "))
	const most = 3
	for i, r := range e.Removed {
		if i == most {
			fmt.Fprintf(&b, "; and %d more", len(e.Removed)-most)
			break
		}
		fmt.Fprintf(&b, "; %s: %s", r.Tool, r.Reason)
		if !r.Where.IsZero() {
			fmt.Fprintf(&b, " (%s)", r.Where.Place())
		}
	}
	return b.String()
}
