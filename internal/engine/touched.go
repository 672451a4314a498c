package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/engine/owner"
	"github.com/goclaw/goclaw/internal/lib/contain"
	"github.com/goclaw/goclaw/internal/tool"
)

// maxTouches is how many touches of a call are told apart when it has ended.
const maxTouches = 200

// touched notes what the call read and wrote, as far as it was known before
// and as running it found out, its own calls included, what people were asked
// about these, and what it changes in the state. Now that all is known the
// result may be kept for equal calls. What its own calls were stands there, too.
func touched(_ context.Context, inv *invocation) bool {
	own := inv.host.end()
	inv.out.Nested, inv.out.Own = own.asked, own.own
	inv.out.Touches = gather(slices.Concat(inv.touches, own.touches, inv.result.Touched), maxTouches)
	inv.out.Effects = append(own.effects, inv.result.Effects...)
	if inv.changed = own.changed; !inv.entry.Def.ReadOnly {
		inv.changed = append(inv.changed, inv.result.Effects...)
	}
	if inv.reading != nil && inv.out.Status == tool.OK && !inv.result.Passing && len(own.effects) == 0 {
		inv.reading.Keep(inv.result, inv.out.Touches)
	}
	return true
}

// foreseer finds out what calls touch.
type foreseer struct{ owners *owner.Asker }

// touches finds out what the call is going to read and write, which decides
// about the calls that it must not overlap with.
func (f foreseer) touches(ctx context.Context, inv *invocation) bool {
	touches, err := f.owners.Touches(ctx, inv.entry, inv.call())
	inv.touches = touches
	var panicked *contain.Panic
	switch {
	case err == nil:
	case errors.As(err, &panicked):
		return inv.crashed("the tool "+inv.out.Tool, panicked.Value)
	case ctx.Err() != nil:
		return inv.cancelled(false)
	default:
		inv.note = fmt.Sprintf("the tool did not say within %s what it touches, so that counts as everything", owner.Limit)
	}
	return true
}

// gather is touches as they are, unless they are more than most: then without what
// another one says as well, and where that is not enough as what covers all of
// a kind, such as the whole workspace.
func gather(touches []tool.Touch, most int) []tool.Touch {
	for _, widen := range []func(string) string{
		func(name string) string { return name },
		func(name string) string {
			if kind, _, ok := strings.Cut(name, ":"); ok {
				return kind + ":"
			}
			return tool.Everything.Name
		},
		func(string) string { return tool.Everything.Name },
	} {
		if len(touches) <= most {
			break
		}
		var few []tool.Touch
		seen := map[tool.Touch]bool{}
		for _, t := range touches {
			t.Name = widen(t.Name)
			if !seen[t] {
				seen[t] = true
				few = append(few, t)
			}
		}
		touches = few
	}
	return touches
}
