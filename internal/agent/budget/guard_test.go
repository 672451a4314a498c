package budget

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

// book is a ledger that is as slow as its reader is told to be.
type book struct {
	entries
	rows   []RunDay
	before func(context.Context) error // each read; nil for none
}

func (*book) Enter(context.Context, string, string, agent.Spent) error { return nil }

func (b *book) Behind(ctx context.Context, entry int64, from time.Time) (days []RunDay, last int64, err error) {
	if b.before != nil {
		if err := b.before(ctx); err != nil {
			return nil, 0, err
		}
	}
	for _, r := range b.rows[entry:] {
		if !r.Day.Before(from) {
			days = append(days, r)
		}
	}
	return days, int64(len(b.rows)), nil
}

func (b *book) enter(run string, at time.Time, tokens int64) {
	b.rows = append(b.rows, RunDay{Day: today(at), Agent: "main", Run: run, Calls: 1, Used: Amount{Tokens: tokens}})
}

// plain is a brake that has nothing to say.
type plain struct{}

func (plain) Before(context.Context, int, *agent.Round) agent.Directive { return agent.Directive{} }

func (plain) Request(context.Context, *llm.Request, int) (notice string, err error) { return "", nil }
func (plain) Spent(*agent.Spent)                                                    {}

func keeperOf(l Ledger, now *time.Time, tokens int64) *Keeper {
	return New(Options{
		Ledger: l, Limits: []Limit{{Key: "budget.day", Scope: PerDay, Amount: Amount{Tokens: tokens}}},
		Cost: func(llm.Usage, llm.Target) *float64 { return new(float64) }, Now: func() time.Time { return *now },
	})
}

func asks(t *testing.T, g *Guard, most int) error {
	t.Helper()
	_, err := g.Request(t.Context(), &llm.Request{MaxOutput: most}, 3)
	return err
}

func spent(g *Guard, at time.Time, tokens int64) {
	g.Spent(&agent.Spent{Time: at, Usage: llm.Usage{Input: tokens}})
}

// Whoever waits for the ledger waits no longer than their context lasts, and
// those who only ask what is known don't wait at all.
func TestNobodyWaitsBehindASlowLedger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		answer := make(chan struct{})
		k := keeperOf(&book{before: func(context.Context) error {
			<-answer // whatever the context says
			return nil
		}}, &now, 10_000)
		first := make(chan error, 1)
		go func() { first <- asks(t, k.Guard("main", "s", "slow", plain{}), 100) }()
		synctest.Wait()
		if got := k.Known(); len(got) != 1 || got[0].Limit != 10_000 {
			t.Errorf("known is %+v", got)
		}
		ctx, stop := context.WithCancel(t.Context())
		second, g := make(chan error, 1), k.Guard("main", "s", "stopped", plain{})
		go func() {
			_, err := g.Request(ctx, &llm.Request{}, 3)
			second <- err
		}()
		synctest.Wait()
		stop()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("one that was stopped got %v", err)
		}
		g.Spent(nil)
		g.Close()
		close(answer)
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

// A call counts once, from when it ended on: while it is not entered, between
// that and the next look, and when its run has ended.
func TestACallCountsOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)
	b := &book{}
	k := keeperOf(b, &now, 2000)
	left := func(when string, want int64) {
		t.Helper()
		g := k.Guard("main", "other", "other", plain{})
		defer g.Close()
		defer g.Spent(nil)
		if err := asks(t, g, 50); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		if got := 2000 - int64(k.Known()[0].Used); got != want {
			t.Errorf("%s: %d are left, want %d", when, got, want)
		}
	}
	g := k.Guard("main", "s", "run", plain{})
	if err := asks(t, g, 100); err != nil {
		t.Fatal(err)
	}
	spent(g, now, 1000)
	left("before it is entered", 1000)
	b.enter("run", now, 1000)
	left("when it is entered", 1000)
	spent(g, now, 300)
	left("with another", 700)

	b.before = func(context.Context) error { // the run ends while somebody reads
		b.before = nil
		rows := b.rows
		b.enter("run", now, 300)
		g.Close()
		b.rows = rows // which the read does not see yet
		return nil
	}
	left("while it ends", 700)
	b.enter("run", now, 300)
	left("when it has ended", 700)
	if len(k.guards) != 0 {
		t.Errorf("%d guards are left", len(k.guards))
	}

	over := k.Guard("main", "s", "over midnight", plain{})
	spent(over, now, 500)
	now = now.Add(2 * time.Hour)
	left("on the next day", 2000)
	spent(over, now, 100)
	b.enter("over midnight", now.Add(-2*time.Hour), 500)
	left("with a call of that day", 1900)
	b.enter("over midnight", now, 100)
	left("which is entered", 1900)
	now = now.Add(-2 * time.Hour)
	left("with the clock set back", 200)
}

// A budget that pays a short answer is enough where answers are to be short.
func TestShortAnswersNeedLittle(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k := keeperOf(&book{}, &now, 400)
	g := k.Guard("main", "s", "run", plain{})
	if d := g.Before(t.Context(), 1, nil); d.Stop {
		t.Fatalf("it ends at once: %s", d.Reason)
	}
	if err := asks(t, g, 50); err != nil {
		t.Fatal(err)
	}
	g.Spent(&agent.Spent{Time: now, Usage: llm.Usage{Input: 1, Output: 50}})
	if d := g.Before(t.Context(), 2, &agent.Round{}); d.Stop || d.NoTools {
		t.Errorf("with 349 left, it ends: %+v", d)
	}
}
