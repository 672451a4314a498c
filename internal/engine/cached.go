package engine

import (
	"context"
	"time"

	"github.com/goclaw/goclaw/internal/engine/cache"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/lib/contain"
	"github.com/goclaw/goclaw/internal/tool"
)

// stampLimit is how long a tool may take to tell whether what it read has
// changed. After that the call runs.
const stampLimit = 2 * time.Second

// cacher looks calls up in the cache.
type cacher struct {
	cache *cache.Cache // nil keeps nothing
	pool  *pool.Pool
}

// look answers the call from the cache when an equal one was answered before
// and nothing that matters has changed since. It never ends the call: all that
// follows happens to such an answer as well.
func (c cacher) look(ctx context.Context, inv *invocation) bool {
	def := &inv.entry.Def
	if c.cache == nil || !def.Cacheable || !def.ReadOnly {
		return true
	}
	s := inv.surface.Scope
	q := cache.Query{
		Tool: def.Name, Owner: inv.entry.Owner.String(), Args: inv.out.Args,
		Agent: s.Agent(), Workspace: s.Workspace(), Touches: inv.touches,
	}
	if def.CallerCached {
		who := s.Caller()
		q.Caller = string(who.Role) + ":" + who.ID
	}
	if t, ok := inv.entry.Tool.(tool.Stamper); ok {
		q.Stamp = func(at time.Time) (string, bool) { return c.stamp(ctx, t, inv, at) }
	}
	result, read, hit := c.cache.Begin(q)
	if inv.reading = read; !hit {
		return true
	}
	inv.result, inv.out.Cached, inv.note = result, true, "answered by an equal call before"
	succeeded(inv, false)
	return true
}

// stamp asks a tool, whose code is trusted with nothing.
func (c cacher) stamp(ctx context.Context, t tool.Stamper, inv *invocation, at time.Time) (string, bool) {
	type told struct {
		stamp string
		ok    bool
	}
	limited, stop := context.WithTimeout(ctx, stampLimit)
	defer stop()
	call := inv.call()
	call.Host = nil
	got, err := contain.Run(limited, c.pool.Fence(), inv.entry.Owner.String(), grace, func() told {
		stamp, ok := t.Stamp(limited, call, at)
		return told{stamp, ok}
	})
	if err != nil {
		inv.note = "the tool can't tell whether what it read has changed: " + err.Error()
		return "", false
	}
	return got.stamp, got.ok
}
