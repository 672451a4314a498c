package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/engine"
)

// callHolds is under which agent's name the marks of processes lie, beside the
// holds of sessions, that calls are open of. No agent has it.
const callHolds = ".calls"

// ledger stores calls that no model wrote under a mark of this process, which
// dies with it.
type ledger struct {
	engine.Calls
	holds *session.Holds

	mu      sync.Mutex
	by      string // the mark; empty before the first call
	release func()
}

// OpenCall implements [engine.Calls].
func (l *ledger) OpenCall(ctx context.Context, c engine.SideCall) error {
	by, err := l.mark()
	if err != nil {
		return err
	}
	c.By = by
	return l.Calls.OpenCall(ctx, c)
}

func (l *ledger) mark() (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == "" {
		by := session.NewID()
		release, err := l.holds.Try(session.Key{Agent: callHolds, ID: by})
		if err != nil {
			return "", fmt.Errorf("mark calls as those of this process: %w", err)
		}
		l.by, l.release = by, release
	}
	return l.by, nil
}

// sweep closes the calls that dead processes left open, and says how many these
// were.
func (l *ledger) sweep(ctx context.Context) (closed int, err error) {
	marks, err := l.OpenBy(ctx)
	if err != nil {
		return 0, err
	}
	for _, by := range marks {
		release, err := l.holds.Try(session.Key{Agent: callHolds, ID: by})
		if errors.Is(err, session.ErrHeld) {
			continue
		}
		if err != nil {
			return closed, err
		}
		n, err := l.InterruptCalls(ctx, by, time.Now())
		release()
		if closed += n; err != nil {
			return closed, err
		}
	}
	return closed, nil
}

// close gives the mark back, when no call runs any more.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.release != nil {
		l.release()
		l.by, l.release = "", nil
	}
}
