package engine

import (
	"context"

	"github.com/goclaw/goclaw/internal/tool"
)

// touched notes what the call read and wrote, as far as it was known before
// and as running it found out, its own calls included, what people were asked
// about these, and what it changes in the state. Now that all is known the result may be kept for equal calls.
func touched(_ context.Context, inv *invocation) bool {
	inv.out.Touches = inv.touches
	effects, more, asked := inv.host.end()
	inv.out.Nested = asked
	if len(more)+len(inv.result.Touched) > 0 {
		inv.out.Touches = append(append(inv.touches[:len(inv.touches):len(inv.touches)], more...), inv.result.Touched...)
	}
	inv.out.Effects = append(effects, inv.result.Effects...)
	if inv.reading != nil && inv.out.Status == tool.OK && !inv.result.Passing && len(effects) == 0 {
		inv.reading.Keep(inv.result, inv.out.Touches)
	}
	return true
}

// touches finds out what the call is going to read and write, which decides
// about the calls that it must not overlap with. A tool that can't tell touches
// nothing when it only reads, unless its results are cached, and everything
// else.
func touches(_ context.Context, inv *invocation) bool {
	inv.touches = touchesOf(inv.entry, inv.call())
	return true
}

func touchesOf(e *tool.Entry, call tool.Call) []tool.Touch {
	switch t, ok := e.Tool.(tool.Toucher); {
	case ok:
		return t.Touches(call)
	case !e.Def.ReadOnly:
		return []tool.Touch{tool.Everything}
	case e.Def.Cacheable:
		return []tool.Touch{{Name: tool.Everything.Name}}
	}
	return nil
}
