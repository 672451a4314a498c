package run

import (
	"context"
	"testing"
	"testing/synctest"
)

// Who watches and then fails before it reads a change leaves nothing behind.
func TestAWatcherThatNeverReadsEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		r.Changes(ctx)
		if len(r.watchers.all) != 1 {
			t.Fatal("nobody watches")
		}
		cancel()
		synctest.Wait()
		if len(r.watchers.all) != 0 {
			t.Error("a watcher outlives its context")
		}
	})
}
