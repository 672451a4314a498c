package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/tool"
)

// hall is fifty sessions on eight workers, with calls of a second each. The
// bubble that it lives in tells when a goroutine is left.
type hall struct {
	t      *testing.T
	engine *engine.Engine
	pool   *pool.Pool
	wg     sync.WaitGroup
}

func newHall(t *testing.T) *hall {
	r := tool.NewRegistry()
	r.Add(tool.Owner{Kind: tool.FamilyOwner, ID: "test"}, reading("sleep", seconds))
	p := pool.New(pool.Options{Workers: 8, Queue: 64})
	return &hall{t: t, pool: p, engine: engine.New(engine.Options{Registry: r, Pool: p})}
}

// ends are when a session's first and last results were there.
type ends struct{ first, last time.Duration }

// session has n calls run at once. Each has its own result, also when ctx ends.
func (c *hall) session(ctx context.Context, person, name string, n int, into *ends) {
	c.wg.Go(func() {
		begun := time.Now()
		scope := tool.NewScope(tool.Facts{Agent: "main", Session: name, Caller: auth.Principal{ID: person, Role: auth.User}, Origin: tool.FromChat})
		sf, err := c.engine.Offer(ctx, scope, model, tool.State{}, tool.Ask{})
		if err != nil {
			c.t.Error(err)
			return
		}
		calls, finished := repeat(n, call("sleep", `{"seconds":1}`)), make([]int, n)
		out := c.engine.Execute(ctx, sf, calls, func(e tool.Event) {
			if e.Type == tool.Finished {
				finished[e.Index]++
				if into.first == 0 {
					into.first = time.Since(begun)
				}
			}
		})
		if len(out) != n {
			c.t.Errorf("session %s: %d outcomes of %d calls", name, len(out), n)
			return
		}
		for j, o := range out {
			if finished[j] != 1 || o.Call != calls[j] || len(o.Content) == 0 || o.Status != tool.OK && (ctx.Err() == nil || o.Status != tool.Cancelled) {
				c.t.Errorf("session %s, call %d was told %d times: %s: %s", name, j, finished[j], o.Status, text(o))
			}
		}
		into.last = time.Since(begun)
	})
}

func (c *hall) end() {
	c.wg.Wait()
	if err := c.pool.Close(c.t.Context()); err != nil {
		c.t.Error(err)
	}
	if st := c.pool.Stats(); st.Busy != 0 || st.Queued != 0 || st.Abandoned != 0 {
		c.t.Errorf("left in the pool: %+v", st)
	}
}

// A session that has filled workers and queue with half a thousand calls holds
// up the others only until a worker is free, of which each then has its share.
func TestALargeSessionDoesNotStarveTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newHall(t)
		var large [2]ends
		for i := range large {
			c.session(t.Context(), "ann", "large", 255, &large[i])
		}
		time.Sleep(5 * time.Second)
		small := make([]ends, 49)
		for i := range small {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if i < 2 {
				time.AfterFunc(4*time.Second, stop)
			}
			c.session(ctx, "ann", fmt.Sprint(i), 10, &small[i])
		}
		c.end()
		// The full queue lets eight in a second, and who is in it comes next:
		// not behind the 64 calls that the large session has there.
		var firsts, lasts []time.Duration
		for i, s := range small {
			if i < 2 {
				if s.last > 5*time.Second {
					t.Errorf("a session that was stopped after 4 s ended after %v", s.last)
				}
				continue
			}
			firsts, lasts = append(firsts, s.first), append(lasts, s.last)
		}
		if least, most := slices.Min(firsts), slices.Max(firsts); least > 3*time.Second || most > 9*time.Second {
			t.Errorf("the first results came between %v and %v", least, most)
		}
		// 480 calls of theirs with a fiftieth for the large one take 61 seconds.
		if least, most := slices.Min(lasts), slices.Max(lasts); most > 68*time.Second || least < 30*time.Second {
			t.Errorf("the small sessions were through between %v and %v", least, most)
		}
	})
}

// A person with 49 sessions leaves another one half of the workers.
func TestManySessionsOfOnePersonDoNotStarveAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newHall(t)
		many := make([]ends, 49)
		for i := range many {
			c.session(t.Context(), "bob", fmt.Sprint(i), 20, &many[i])
		}
		time.Sleep(5 * time.Second)
		var one ends
		c.session(t.Context(), "ann", "one", 20, &one)
		c.end()
		// Twenty of a thousand calls: by a share of one session in fifty they
		// would take as long as all of them.
		if one.first > 3*time.Second || one.last > 25*time.Second {
			t.Errorf("the first result came after %v, the last after %v; the other person's sessions took %v", one.first, one.last, many[0].last)
		}
	})
}
