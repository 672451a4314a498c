package approval_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/store/sqlite/sqlitetest"
	"github.com/goclaw/goclaw/internal/tool"
)

// counted counts what is read of a store.
type counted struct {
	approval.Store
	got, waiting atomic.Int32
}

func (c *counted) Get(ctx context.Context, id string) (tool.Approval, error) {
	c.got.Add(1)
	return c.Store.Get(ctx, id)
}

func (c *counted) Waiting(ctx context.Context, desk string) ([]string, error) {
	c.waiting.Add(1)
	return c.Store.Waiting(ctx, desk)
}

// TestManyWait: however many calls wait, one query looks for the answers to all,
// each hears its own, and nobody looks when none waits.
func TestManyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := setup(t)
		c := &counted{Store: sqlitetest.Open(t, r.path).Approvals()}
		d := approval.New(approval.Options{Store: c, Claim: r.claims.claim, NewID: r.ids.next})
		const many = 20
		calls := make([]*asking, many)
		ids := make([]string, many)
		for i := range calls {
			calls[i] = ask(t, d, request(ada, fmt.Sprintf(`{"n":%d}`, i)))
			ids[i] = (<-calls[i].asked).ID
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got, waiting := c.got.Load(), c.waiting.Load(); got != 0 || waiting < 30 || waiting > 45 {
			t.Errorf("%d calls that wait 10 s read %d requests and %d lists", many, got, waiting)
		}
		if _, err := r.there.Answer(t.Context(), ada, ids[7], tool.AllowOnce); err != nil {
			t.Fatal(err)
		}
		if a := <-calls[7].end; !a.Allowed() {
			t.Errorf("what was answered elsewhere ended as %+v", a)
		}
		for i, call := range calls {
			if i == 7 {
				continue
			}
			call.cancel()
			if a := <-call.end; a.Status != tool.ApprovalStopped {
				t.Errorf("%d ended as %+v", i, a)
			}
		}
		c.waiting.Store(0)
		time.Sleep(10 * time.Second)
		if n := c.waiting.Load(); n != 0 {
			t.Errorf("nobody waits and %d lists were read", n)
		}
	})
}
