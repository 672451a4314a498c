package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/goclaw/goclaw/internal/hook"
)

// watcher has observers told how calls ended.
type watcher struct{ hooks *hook.Bus }

// after tells observers of the whole result, its error and how long the call
// took, also of one that failed or was answered by the cache. It waits for
// nobody.
func (w watcher) after(_ context.Context, inv *invocation) bool {
	if !w.hooks.Observes() {
		return true
	}
	o := *inv.out
	o.Ended = time.Now()
	if inv.result.Details != nil {
		// Details that can't be encoded are told of by the next step.
		if details, err := json.Marshal(inv.result.Details); err == nil {
			o.Details = details
		}
	}
	w.hooks.After(inv.seen(), &o)
	return true
}
