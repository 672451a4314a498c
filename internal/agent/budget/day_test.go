package budget

import (
	"context"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

// entries is a ledger of calls of one agent, each of one token.
type entries []time.Time

func (l *entries) Sum(context.Context, Query) ([]Row, error) { return nil, nil }

func (l *entries) Session(context.Context, string, string) (Amount, error) { return Amount{}, nil }

func (*entries) Enter(context.Context, string, string, agent.Spent) error { return nil }

func (l *entries) Behind(_ context.Context, entry int64, from time.Time) (days []RunDay, last int64, err error) {
	last = max(entry, 0)
	for i, at := range *l {
		if n := int64(i + 1); n > entry && !at.Before(from) {
			days, last = append(days, RunDay{Day: today(at), Agent: "a", Run: "r", Calls: 1, Used: Amount{Tokens: 1}}), n
		}
	}
	return days, last, nil
}

// A clock that is set back over midnight, and calls that end on the next day
// while this one's are read, belong to their day all the same.
func TestADayCountsWhateverTheClockDoes(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	evening, morning := midnight.Add(-time.Hour), midnight.Add(time.Hour)
	now, l := evening, &entries{evening, evening, morning}
	k := New(Options{Ledger: l, Limits: []Limit{{Key: "budget.day", Scope: PerDay, Amount: Amount{Tokens: 10}}}, Cost: func(llm.Usage, llm.Target) *float64 { return nil }, Now: func() time.Time { return now }})
	for _, tc := range []struct {
		name string
		now  time.Time
		want float64
	}{{"the evening", evening, 2}, {"the morning", morning, 1}, {"set back", evening.Add(time.Minute), 2}} {
		now = tc.now
		if err := k.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := k.Known()[0].Used; got != tc.want {
			t.Errorf("%s: %v of the day are used, want %v", tc.name, got, tc.want)
		}
	}
}
