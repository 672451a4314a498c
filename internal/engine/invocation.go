package engine

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/engine/cache"
	"github.com/goclaw/goclaw/internal/engine/spill"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// invocation is one call on its way through the steps. It holds what is known
// of the call and nothing that could be asked to do something.
type invocation struct {
	surface *tool.Surface
	from    []*tool.Entry // what may be called: the offered tools, or all permitted ones
	holder  string        // the tool that holds a worker and uses up its time while this call lasts, of those that made it; empty for none
	depth   int           // 0 for a call of a model or a person, 1 for a call that its tool makes, …

	root root // what it is a part of; set by who makes it

	entry   *tool.Entry   // the tool; set by resolve
	touches []tool.Touch  // what it is known to read and write before it runs
	state   tool.State    // as it is for this call
	host    *host         // lent to the tool
	changed []tool.Effect // of its effects, those of what changed something: it, or calls that it made; set by touched
	result  tool.Result   // what the tool returned; set by run
	reading *cache.Read   // keeps the result for equal calls; set by cache, nil for most calls
	shown   spill.Shown   // what the model sees of it; set by spill
	hint    llm.Part      // what it is told behind that; set by hint, empty for most calls

	out  *tool.Outcome    // what becomes of it
	note string           // what the present step decided, for people
	tell func(tool.Event) // tells whoever watches what happens to the call; lent to the steps
}

// call is the invocation as its tool gets it.
func (inv *invocation) call() tool.Call {
	c := tool.Call{ID: inv.out.Call.ID, Args: inv.out.Args, Scope: inv.surface.Scope, State: inv.state}
	if inv.host != nil {
		c.Host = inv.host
	}
	return c
}

// end fills in how the call ended, for the model in text. It returns false, so
// that a step can return it.
func (inv *invocation) end(status tool.Status, text string) bool {
	inv.out.Status, inv.out.Content = status, []llm.Part{llm.Text(text)}
	return false
}

// refuse ends the call because a rule says no.
func (inv *invocation) refuse(r *tool.Refusal) bool {
	inv.out.Refusal = r
	return inv.end(tool.Refused, "Refused: "+r.Error())
}

// invalid ends the call because its arguments can't be used.
func (inv *invocation) invalid(text string) bool { return inv.end(tool.Invalid, "Error: "+text) }

// cancelled ends the call because the run was stopped. ran says whether the
// tool had begun.
func (inv *invocation) cancelled(ran bool) bool {
	if ran {
		return inv.end(tool.Cancelled, "Stopped: the run was stopped while "+inv.out.Tool+" ran. What it had done by then stands.")
	}
	return inv.end(tool.Cancelled, "Stopped: the run was stopped before "+inv.out.Tool+" began, so nothing ran.")
}

// crashed ends the call because code broke; whose is who.
func (inv *invocation) crashed(who string, v any) bool {
	inv.out.Refusal = nil
	return inv.end(tool.Panicked, fmt.Sprintf("Error: %s broke while it worked on this call (%s). That is a fault of the program, not of the call: "+
		"don't repeat it unchanged.", who, shortened(fmt.Sprint(v))))
}

// digest notes the hash of the result, by which a guard sees that a model turns
// in circles. Calls that are meant to be repeated have none.
func (inv *invocation) digest() {
	if inv.entry == nil || !inv.entry.Def.Repeats {
		inv.out.Digest = tool.Digest(inv.out.Status, inv.out.Content)
	}
}

// begin makes the outcome of a call that has just come in.
func begin(call llm.ToolCall) tool.Outcome {
	return tool.Outcome{Call: call, Tool: shortened(strings.TrimSpace(call.Name)), Started: time.Now()}
}

// maxShown is how much is repeated of what a model wrote, in bytes.
const maxShown = 100

// shortened is s cut to what is repeated of foreign words.
func shortened(s string) string { return cut(s, maxShown) }

func quoted(s string) string { return strconv.Quote(shortened(s)) }

// cut is s, or the beginning of it that has at most limit bytes.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
