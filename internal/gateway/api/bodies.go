package api

import (
	"context"
	"io"
	"sync"
	"time"
)

// What the bodies of requests may take of memory at once, in bytes. A body is
// there about ten times over while it is decoded, stored and passed on, and its
// words for as long as the run goes.
const (
	maxBodies       = 128 << 20
	maxCallerBodies = maxBodies / 2 // of one caller
	smallBody       = 64 << 10      // isn't counted
)

// bodies hands out room for bodies. It is safe for concurrent use.
type bodies struct {
	mu      sync.Mutex
	total   int64
	callers map[string]int64 // by id
	freed   chan struct{}    // closed when somebody gave back some; nil while nobody waits
}

// enter takes room for a body of at most size bytes. Where there is none it
// waits a while, as an upload does on a slow line.
func (b *bodies) enter(ctx context.Context, caller string, size int64) (*room, error) {
	r := &room{b: b, caller: caller}
	t := time.NewTimer(bodyWithin)
	defer t.Stop()
	for {
		freed := b.take(r, size)
		if freed == nil {
			return r, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-t.C:
			return nil, crowded("large requests of yours, or of all, take all the room that there is for them; try again in a moment")
		}
	}
}

// take gives r room of a size, or returns what is closed when it may be there.
func (b *bodies) take(r *room, size int64) <-chan struct{} {
	if size <= smallBody {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.total+size > maxBodies || b.callers[r.caller]+size > maxCallerBodies {
		if b.freed == nil {
			b.freed = make(chan struct{})
		}
		return b.freed
	}
	b.add(r, size)
	return nil
}

// add changes what r holds. The caller holds the lock.
func (b *bodies) add(r *room, size int64) {
	r.size += size
	b.total += size
	if b.callers[r.caller] += size; b.callers[r.caller] == 0 {
		delete(b.callers, r.caller)
	}
}

// room is what the body of one request holds.
type room struct {
	b      *bodies
	caller string
	size   int64 // guarded by the lock of b
}

// shrink gives back all but size bytes.
func (r *room) shrink(size int64) {
	if size <= smallBody {
		size = 0
	}
	b := r.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if size >= r.size {
		return
	}
	b.add(r, size-r.size)
	if b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}

// measured is a body that keeps no more room than it had bytes.
type measured struct {
	io.ReadCloser
	room *room
	n    int64
}

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	m.n += int64(n)
	if err == io.EOF {
		m.room.shrink(m.n)
	}
	return n, err
}
