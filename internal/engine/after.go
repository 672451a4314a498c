package engine

import (
	"context"
	"time"

	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/tool"
)

// watcher has observers told how calls ended.
type watcher struct{ hooks *hook.Bus }

// after tells observers of the whole result, its error and how long the call
// took, also of one that failed or was answered by the cache. It waits for
// nobody.
func (w watcher) after(_ context.Context, inv *invocation) bool {
	if !w.hooks.Observes() || inv.out.Status == tool.Handed { // what came of it the client tells later
		return true
	}
	o := *inv.out
	o.Ended = time.Now()
	if details, err := inv.details(); err == nil { // the next step tells of those that can't be encoded
		o.Details = details
	}
	w.hooks.After(inv.seen(), &o)
	return true
}
