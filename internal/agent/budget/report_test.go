package budget

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

func TestParse(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 2*3600)
	now := time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC) // the second of March there
	for _, tc := range []struct {
		fields       map[string]string
		since, until string // in UTC; empty for none
		wrong        string
	}{
		{map[string]string{}, "2026-01-31T22:00:00Z", "", ""},
		{map[string]string{"since": "2026-02-01"}, "2026-01-31T22:00:00Z", "", ""},
		{map[string]string{"until": "2026-02-01"}, "", "2026-02-01T22:00:00Z", ""},
		{map[string]string{"since": "7d", "until": "12h"}, "2026-02-22T23:30:00Z", "2026-03-01T11:30:00Z", ""},
		{map[string]string{"since": "2w"}, "2026-02-15T23:30:00Z", "", ""},
		{map[string]string{"since": "2026-02-01T08:00:00+01:00"}, "2026-02-01T07:00:00Z", "", ""},
		{map[string]string{"session": "s"}, "", "", ""},
		{map[string]string{"run": "r"}, "", "", ""},
		{map[string]string{"zone": "UTC", "since": "2026-02-01"}, "2026-02-01T00:00:00Z", "", ""},
		{map[string]string{"since": "-3d"}, "", "", `since is "-3d": it is a date`},
		{map[string]string{"until": "2026-13-01"}, "", "", "until is"},
		{map[string]string{"by": "day,hour"}, "", "", "there are day, agent, model, person, session, run"},
		{map[string]string{"zone": "../etc"}, "", "", "zone is"},
		{map[string]string{"limit": "1001"}, "", "", "from 1 to 1000"},
	} {
		q, err := Parse(func(name string) string { return tc.fields[name] }, now, zone)
		if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%v: %v, want %q", tc.fields, err, tc.wrong)
		}
		if err != nil {
			continue
		}
		told := func(at time.Time) string {
			if at.IsZero() {
				return ""
			}
			return at.UTC().Format(time.RFC3339)
		}
		if d := cmp.Diff([]string{tc.since, tc.until}, []string{told(q.Since), told(q.Until)}); d != "" {
			t.Errorf("%v (-want +got):\n%s", tc.fields, d)
		}
	}
	q, err := Parse(func(name string) string { return map[string]string{"by": "model, day,model"}[name] }, now, time.UTC)
	if err != nil || !slices.Equal(q.By, []By{ByModel, ByDay}) {
		t.Errorf("by %v (%v)", q.By, err)
	}
}

// sums is a ledger that tells rows as they are.
type sums []Row

func (s sums) Sum(context.Context, Query) ([]Row, error) { return s, nil }

func (sums) Session(context.Context, string, string) (Amount, error) { return Amount{}, nil }

func (sums) Enter(context.Context, string, string, agent.Spent) error { return nil }

func (sums) Behind(context.Context, int64, time.Time) ([]RunDay, int64, error) { return nil, 0, nil }

// A report tells days in their order, within one the dearest first, and leaves
// out what cost least.
func TestOrderAndLimit(t *testing.T) {
	t.Parallel()
	row := func(day int, model string, usd float64, tokens int64) Row {
		return Row{At: time.Date(2026, 3, day, 12, 0, 0, 0, time.UTC), Model: model, Calls: 1, Known: usd, Usage: llm.Usage{Input: tokens}}
	}
	l := sums{row(2, "b", 1, 5), row(1, "a", 2, 5), row(2, "a", 1, 9), row(1, "b", 3, 5), row(2, "c", 1, 5), row(1, "a", 2, 5), row(1, "c", 0, 1)}
	l[6].Unpriced = 1
	for _, tc := range []struct {
		limit int
		want  string
	}{{0, "1a4 1b3 1c? 2a1 2b1 2c1"}, {3, "1a4 1b3 2a1"}, {1, "1a4"}} {
		r, err := Make(t.Context(), l, Query{By: []By{ByDay, ByModel}, Limit: tc.limit})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range r.Rows {
			usd := "?"
			if row.USD != nil {
				usd = fmt.Sprint(*row.USD)
			}
			got = append(got, row.Day[9:]+row.Model+usd)
		}
		if s := strings.Join(got, " "); s != tc.want || r.Total.Calls != 7 || r.Total.USD != nil || r.Total.Known != 10 || len(got)+r.More != 6 {
			t.Errorf("%q and %d more of %+v, want %q", s, r.More, r.Total, tc.want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	if got := zoneName(time.Local); got == "Local" {
		t.Error("the zone is told to be where it is told")
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", 100000: "100,000"} {
		if got := Grouped(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
	for d, want := range map[time.Duration]string{0: "1 min", 59 * time.Minute: "59 min", time.Hour: "1 h", 23*time.Hour + 59*time.Minute + 40*time.Second: "24 h", 90 * time.Minute: "1 h 30 min"} {
		if got := length(d); got != want {
			t.Errorf("%s is %s", d, got)
		}
	}
	now := time.Date(2026, 3, 1, 22, 30, 0, 0, time.UTC)
	day := Limit{Key: "budget.day", Scope: PerDay, Agent: "main", Amount: Amount{Tokens: 10_000, USD: 2}}
	for _, tc := range []struct {
		name string
		room room
		unit string
		need need
		want string
	}{
		{
			"used up",
			room{Limit: day, left: Amount{Tokens: 100, USD: 1}},
			Tokens,
			need{tokens: 700, again: true},
			"The budget of agent main for today does not suffice for another answer: budget.day.tokens allows 10,000 tokens, and 9,900 tokens are used; " +
				"to ask the model again needs about 700 tokens. It begins anew at 00:00 UTC, in 1 h 30 min, or have budget.day.tokens raised in config.yaml.",
		},
		{
			"less than any request needs, of a session",
			room{Limit: Limit{Key: "budget.session", Scope: PerSession, Amount: Amount{Tokens: 2000}}, left: Amount{Tokens: 2000}},
			Tokens,
			need{tokens: 4000, base: Amount{Tokens: 3000}},
			"The budget for this conversation does not suffice for an answer: budget.session.tokens allows 2,000 tokens, and 0 tokens are used; " +
				"to ask the model needs about 4,000 tokens. No request of this agent fits into it: have budget.session.tokens raised in config.yaml.",
		},
		{
			"less than any request needs, of a day",
			room{Limit: day, left: Amount{USD: 1}},
			USD,
			need{usd: new(5.0), base: Amount{USD: 3}},
			"The budget of agent main for today does not suffice for another answer: budget.day.usd allows 2.0000 USD, and 1.0000 USD are used; " +
				"to ask the model needs about 5.0000 USD. No request of this agent fits into it: have budget.day.usd raised in config.yaml.",
		},
		{
			"less than this conversation needs, of a day that has some left",
			room{Limit: day, left: Amount{Tokens: 9000, USD: 1}},
			Tokens,
			need{tokens: 20_000, base: Amount{Tokens: 3000}},
			"The budget of agent main for today does not suffice for another answer: budget.day.tokens allows 10,000 tokens, and 1,000 tokens are used; " +
				"to ask the model needs about 20,000 tokens. That is more than the whole of it: begin a new conversation (/new), or have budget.day.tokens raised in config.yaml.",
		},
		{
			"less than this conversation needs, of a day that has none left",
			room{Limit: day, left: Amount{Tokens: 1000, USD: 1}},
			Tokens,
			need{tokens: 20_000, base: Amount{Tokens: 3000}},
			"The budget of agent main for today does not suffice for another answer: budget.day.tokens allows 10,000 tokens, and 9,000 tokens are used; " +
				"to ask the model needs about 20,000 tokens. That is more than the whole of it: begin a new conversation (/new) when it begins anew at 00:00 UTC, in 1 h 30 min, or have budget.day.tokens raised in config.yaml.",
		},
		{
			"a run's, with what was said before",
			room{Limit: Limit{Key: "budget.run", Scope: PerRun, Amount: Amount{Tokens: 5000}}, left: Amount{Tokens: 5000}},
			Tokens,
			need{tokens: 20_000, base: Amount{Tokens: 3000}},
			"The budget for one run does not suffice for an answer: budget.run.tokens allows 5,000 tokens, and 0 tokens are used; " +
				"to ask the model needs about 20,000 tokens. That is more than the whole of it: begin a new conversation (/new), or have budget.run.tokens raised in config.yaml.",
		},
		{
			"set aside",
			room{Limit: day, left: Amount{USD: 0.1}, aside: Amount{Tokens: 500, USD: 0.9}},
			USD,
			need{usd: new(0.5)},
			"The budget of agent main for today does not suffice for another answer: budget.day.usd allows 2.0000 USD, and 1.0000 USD are used; " +
				"the rest, 0.9000 USD, is set aside for answers that are under way. Try again in a moment.",
		},
	} {
		if got := tc.room.reason(tc.unit, tc.need, now); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}
