package workspace

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// lockTime is how long a change waits for those of other processes. They take
// milliseconds, so it only passes when one of them was stopped in between.
const lockTime = 10 * time.Second

// exclude waits until no other process changes the workspace through this
// package, and keeps it so until release is called. What is locked is the
// directory itself: no file has to be made for it, it works where nothing may
// be written, and the lock ends with the process.
func (w *Workspace) exclude(ctx context.Context) (release func(), err error) {
	dir, err := w.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("lock the workspace: %w", err)
	}
	limit := time.Now().Add(lockTime)
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		ok, err := tryLock(dir)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock the workspace: %w", err), dir.Close())
		}
		if ok {
			// A handle that only holds a lock has nothing to lose when it is
			// closed.
			return func() { _ = dir.Close() }, nil
		}
		if time.Now().After(limit) {
			return nil, errors.Join(fmt.Errorf("another process is changing the workspace and has not finished within %s; try again later", lockTime), dir.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), dir.Close())
		case <-time.After(wait):
		}
	}
}
