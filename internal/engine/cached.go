package engine

import (
	"context"
	"time"

	"github.com/goclaw/goclaw/internal/engine/cache"
	"github.com/goclaw/goclaw/internal/engine/owner"
)

// cacher looks calls up in the cache.
type cacher struct {
	cache  *cache.Cache // nil keeps nothing
	owners *owner.Asker
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
	if stamp := c.owners.Stamper(inv.entry); stamp != nil {
		q.Stamp = func(at time.Time) (string, bool) {
			text, ok, err := stamp(ctx, inv.call(), at)
			if err != nil {
				inv.note = "the tool can't tell whether what it read has changed: " + err.Error()
			}
			return text, ok
		}
	}
	result, read, hit := c.cache.Begin(q)
	if inv.reading = read; !hit {
		return true
	}
	inv.result, inv.out.Cached, inv.note = result, true, "answered by an equal call before"
	succeeded(inv, false)
	return true
}
