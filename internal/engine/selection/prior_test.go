package selection_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/engine/selection"
)

// usage counts how often it is asked.
type usage struct {
	asked int
	since time.Time
	names []string
	err   error
}

func (u *usage) MostUsed(_ context.Context, agent string, since time.Time, _ int) ([]string, error) {
	if agent != "main" {
		return nil, errors.New("another agent")
	}
	u.asked++
	u.since = since
	return u.names, u.err
}

// What an agent uses most is asked for every minute, for 30 days; what was
// known stands where that fails.
func TestTheUsagePriorIsKnownForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := &usage{names: []string{"a", "b"}}
		get := selection.NewPrior(u, "main", slog.New(slog.DiscardHandler)).Get
		for _, c := range []struct {
			passes time.Duration
			names  []string
			err    error
			asked  int
			want   []string
		}{
			{0, []string{"a", "b"}, nil, 1, []string{"a", "b"}},
			{time.Minute - 1, []string{"c"}, nil, 1, []string{"a", "b"}},
			{1, []string{"c"}, nil, 2, []string{"c"}},
			{time.Minute, nil, errors.New("broken"), 3, []string{"c"}},
			{time.Second, []string{"d"}, nil, 3, []string{"c"}},
			{59 * time.Second, []string{"d"}, nil, 4, []string{"d"}},
		} {
			time.Sleep(c.passes)
			u.names, u.err = c.names, c.err
			if got := get(t.Context()); !slices.Equal(got, c.want) || u.asked != c.asked {
				t.Errorf("%+v: %v after %d questions", c, got, u.asked)
			}
		}
		if want := time.Now().AddDate(0, 0, -30); !u.since.Equal(want) {
			t.Errorf("asked since %s, want %s", u.since, want)
		}
	})
}
