package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Imagine makes the call that rules would see if a run of scope s called the
// tool with these arguments. Nothing runs and nothing is asked of layers and
// policies. notes say why such a call would not get as far as the rules, for
// which it is made all the same, of what was given.
func (e *Engine) Imagine(ctx context.Context, s tool.Scope, name string, args json.RawMessage) (c *hook.Call, notes []string) {
	entry, _ := find(e.Known(s).Entries, name)
	if entry == nil {
		name = strings.ToLower(strings.TrimSpace(name))
		c = &hook.Call{ID: "test", Scope: s, Tool: name, Def: tool.Definition{Name: name}, Args: args, Touches: []tool.Touch{tool.Everything}}
		return c, []string{fmt.Sprintf("there is no tool %s now, so that nothing is known of its group, owner and touches", name)}
	}
	out := begin(llm.ToolCall{ID: "test", Name: entry.Def.Name, Arguments: string(args)})
	inv := &invocation{surface: &tool.Surface{Scope: s}, entry: entry, out: &out}
	for i, s := range e.admit {
		if s.name != "arguments" && s.name != "touches" {
			continue
		}
		if !take(ctx, e.log, e.admit[i:i+1], inv) {
			// What a model would read, without the advice to it.
			notes = append(notes, gist(llm.JoinText(out.Content)))
			out.Args = args
		}
	}
	return &hook.Call{
		ID: "test", Scope: s, Tool: entry.Def.Name, Owner: entry.Owner, Def: entry.Def, Args: out.Args, Touches: inv.touches,
	}, notes
}
