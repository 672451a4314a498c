package api

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
)

// item is one event on its way to a viewer: one of a run, or with a name and
// data of its own.
type item struct {
	event  agent.Event
	prefix string // of the id, where a stream carries several runs
	kept   bool   // it was made from the record, so its id is another one
	bare   bool   // it has no id: a stream can't be resumed behind it

	name string
	data any
}

// feedSize is how many events wait in a feed before who brings them waits too.
const feedSize = 64

// feed is what a viewer is to be sent next. Those who bring and the one who
// sends never wait for each other longer than needed: what comes while
// something is being sent is taken in one piece afterwards. When a slow viewer
// fills it, its source waits, and merges chunks meanwhile.
type feed struct {
	more chan struct{} // holds a token when something is to be taken
	room chan struct{} // holds a token when there may be room again

	mu    sync.Mutex
	items []item
	ended bool
}

func newFeed() *feed {
	return &feed{more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put brings an item as soon as there is room. It reports false when ctx ended
// before. Only one goroutine may use it.
func (f *feed) put(ctx context.Context, it item) bool {
	for {
		f.mu.Lock()
		if len(f.items) < feedSize {
			f.items = append(f.items, it)
			f.mu.Unlock()
			wake(f.more)
			return true
		}
		f.mu.Unlock()
		select {
		case <-f.room:
		case <-ctx.Done():
			return false
		}
	}
}

// note brings an item, room or not. It is for what comes seldom.
func (f *feed) note(it item) {
	f.mu.Lock()
	f.items = append(f.items, it)
	f.mu.Unlock()
	wake(f.more)
}

// end says that nothing comes any more.
func (f *feed) end() {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	wake(f.more)
}

// take takes all that is there, and spare in exchange to be filled next. ended
// says that nothing comes behind it.
func (f *feed) take(spare []item) (items []item, ended bool) {
	clear(spare) // what they point to is not needed any more
	f.mu.Lock()
	items, f.items, ended = f.items, spare[:0], f.ended
	f.mu.Unlock()
	wake(f.room)
	return items, ended
}

// follow sends what source yields until it ends. The error says that it did not
// come to that: ctx ended, or the client reads no more. source must end with
// ctx.
func follow(ctx context.Context, st *stream, source func(context.Context) iter.Seq[item]) error {
	ctx, cancel := context.WithCancel(ctx)
	f := newFeed()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer f.end()
		for it := range source(ctx) {
			if !f.put(ctx, it) {
				return
			}
		}
	})
	defer wg.Wait()
	defer cancel()

	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	var items []item
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-alive.C:
			if err := st.write(": keep-alive\n\n"); err != nil {
				return err
			}
			continue
		case <-f.more:
		}
		items, ended = f.take(items)
		if err := st.sendAll(items); err != nil {
			return err
		}
		alive.Reset(keepAlive)
	}
	return context.Cause(ctx)
}
