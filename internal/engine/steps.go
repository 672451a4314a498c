package engine

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/goclaw/goclaw/internal/engine/owner"
	"github.com/goclaw/goclaw/internal/tool"
)

// step is one thing that happens to every call. It is made with the part it
// works with and gets the call as data. do returns whether the call goes on; a
// step that ends a call has filled in its outcome.
type step struct {
	name string
	do   func(ctx context.Context, inv *invocation) bool
}

// steps lists what happens to a call, in three phases: admit decides whether it
// runs and with which arguments; work runs it; show turns its result into what
// the model sees. Calls that a tool makes itself see results whole and skip
// show.
//
// What comes before may take long, since rules, handlers and people are asked;
// it is taken only where there are any of them, holds no worker but that of the
// tool whose own call it is, and keeps waiting only those calls of the response
// that conflict with this one.
func steps(o Options, owners *owner.Asker) (admit, before, work, show []step) {
	r, planner := reader{o.Clean}, planner{o.Planned}
	admit = []step{
		{"resolve", resolve},
		{"offered", offered},
		{"plan", planner.plan},
		{"arguments", r.arguments},
		{"policy", r.policy},
		{"touches", foreseer{owners}.touches},
	}
	before = []step{
		{"before", decider{pool: o.Pool, hooks: o.Hooks, approve: o.Approve, reader: r, owners: owners}.decide},
	}
	work = []step{
		// Again, since an earlier call of the same response may have turned
		// plan mode on, or a person while they were asked.
		{"plan", planner.plan},
		// Answers equal calls; nothing runs then.
		{"cache", cacher{o.Cache, owners}.look},
		{"run", runner{pool: o.Pool, cache: o.Cache, calls: o.Calls, limit: o.Timeout, log: o.Log}.run},
		{"touched", touched},
		{"after", watcher{o.Hooks}.after},
		{"persist", keeper{o.Hooks}.persist},
	}
	show = []step{
		{"spill", shower{o.Spiller}.show},
		{"hint", hinter{o.Presets}.hint},
	}
	return admit, before, work, show
}

// take runs steps on inv until one ends it, and notes how long each took. A
// step that panics costs its call and nothing else.
func take(ctx context.Context, log *slog.Logger, steps []step, inv *invocation) (goesOn bool) {
	at, begun := 0, time.Now()
	defer func() {
		if v := recover(); v != nil {
			log.Error("a step of a tool call panicked", "step", steps[at].name, "tool", inv.out.Tool,
				"panic", v, "stack", string(debug.Stack()))
			inv.crashed("the step "+steps[at].name+" of GoClaw", v)
			inv.out.Step = steps[at].name
			goesOn = false
		}
	}()
	for at = range steps {
		inv.note = ""
		goesOn = steps[at].do(ctx, inv)
		now := time.Now()
		inv.out.Steps = append(inv.out.Steps, tool.StepTime{Step: steps[at].name, Duration: now.Sub(begun), Note: inv.note})
		begun = now
		if !goesOn {
			inv.out.Step = steps[at].name
			if inv.out.Refusal != nil && inv.out.Refusal.Step == "" {
				inv.out.Refusal.Step = steps[at].name
			}
			return false
		}
	}
	return true
}
