package sqlite

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/budget"
)

// putSpent enters model calls of a turn.
func putSpent(t *tx, turn int64, calls []agent.Spent) error {
	for i := range calls {
		s := &calls[i]
		if _, err := t.exec("INSERT INTO spent (at, agent, session, run, person, origin, provider, model, "+usageColumns+", counted, guess, guess_usd)"+
			" SELECT ?, s.agent, s.id, t.run, t.caller, t.origin, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?",
			args([]any{nano(s.Time), s.Target.Provider, s.Target.Model}, usage(s.Usage, s.USD),
				[]any{s.Counted(), s.Guess.Input + s.Guess.Output, s.GuessUSD, turn})...); err != nil {
			return err
		}
	}
	return nil
}

// Enter implements [budget.Ledger].
func (l *Ledger) Enter(ctx context.Context, agentID, person string, s agent.Spent) error {
	return l.db.write(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO spent (at, agent, session, run, person, origin, provider, model, "+usageColumns+", counted, guess, guess_usd)"+
			" VALUES (?, ?, NULL, '', ?, '', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			args([]any{nano(s.Time), agentID, person, s.Target.Provider, s.Target.Model}, usage(s.Usage, s.USD),
				[]any{s.Counted(), s.Guess.Input + s.Guess.Output, s.GuessUSD})...)
		return err
	})
}

// Ledger implements [budget.Ledger].
type Ledger struct{ db *DB }

var _ budget.Ledger = (*Ledger)(nil)

// Ledger returns the store of what model calls used.
func (db *DB) Ledger() *Ledger { return &Ledger{db} }

// What counts for a budget of a call: what was counted, or else the guess.
const (
	budgetTokens = "ifnull(sum(input + output + guess), 0)"
	budgetUSD    = "ifnull(sum(ifnull(ifnull(usd, guess_usd), 0)), 0)"
)

// slice is the length of the spans by which days are added up: where no zone
// of the world begins its day between two of them.
const slice = 15 * time.Minute

// grouped are the columns of each thing that is reported by.
var grouped = map[budget.By][]string{
	budget.ByDay:     {"u.at / " + strconv.FormatInt(int64(slice), 10)},
	budget.ByAgent:   {"u.agent"},
	budget.ByModel:   {"u.provider", "u.model"},
	budget.ByPerson:  {"u.person"},
	budget.BySession: {"u.agent", "s.name"},
	budget.ByRun:     {"u.run"},
}

// Sum implements [budget.Ledger].
func (l *Ledger) Sum(ctx context.Context, q budget.Query) ([]budget.Row, error) {
	var w where
	if !q.Since.IsZero() {
		w.add("u.at >= ?", nano(q.Since))
	}
	if !q.Until.IsZero() {
		w.add("u.at < ?", nano(q.Until))
	}
	w.and("u.agent = ?", q.Agent)
	// A session is looked up before its calls: a condition on its name would have
	// all calls of all sessions read.
	switch {
	case q.Session != "" && q.Agent != "":
		w.add("u.session = (SELECT id FROM sessions WHERE agent = ? AND name = ?)", q.Agent, q.Session)
	case q.Session != "":
		w.add("u.session IN (SELECT id FROM sessions WHERE name = ?)", q.Session)
	}
	w.and("u.person = ?", q.Person)
	w.and("u.run = ?", q.Run)
	if q.Model != "" {
		provider, model, named := strings.Cut(q.Model, "/")
		w.add("u.provider = ?", provider)
		if named {
			w.add("u.model = ?", model)
		}
	}
	var by []string
	for _, b := range q.By {
		by = append(by, grouped[b]...)
	}
	query := "SELECT count(*), sum(u.input), sum(u.cached), sum(u.cache_write), sum(u.output), sum(u.reasoning), total(u.usd)," +
		" sum(u.usd IS NULL), sum(NOT u.counted)"
	for _, c := range by {
		query += ", " + c
	}
	query += " FROM spent u LEFT JOIN sessions s ON s.id = u.session WHERE " + w.String()
	if len(by) > 0 {
		query += " GROUP BY " + strings.Join(by, ", ")
	}
	query += " HAVING count(*) > 0"
	var rows []budget.Row
	err := l.db.read(ctx, func(t *tx) error {
		return t.each(query, w.args, func(scan func(...any) error) error {
			r, err := scanSum(scan, q.By)
			rows = append(rows, r)
			return err
		})
	})
	return rows, err
}

// scanSum reads a row of a query that is grouped so.
func scanSum(scan func(...any) error, by []budget.By) (budget.Row, error) {
	var r budget.Row
	var at int64
	var provider, model string
	var session *string
	dest := []any{
		&r.Calls, &r.Usage.Input, &r.Usage.Cached, &r.Usage.CacheWrite, &r.Usage.Output, &r.Usage.Reasoning, &r.Known, &r.Unpriced, &r.Uncounted,
	}
	for _, b := range by {
		switch b {
		case budget.ByDay:
			dest = append(dest, &at)
		case budget.ByAgent:
			dest = append(dest, &r.Agent)
		case budget.ByModel:
			dest = append(dest, &provider, &model)
		case budget.ByPerson:
			dest = append(dest, &r.Person)
		case budget.BySession:
			dest = append(dest, &r.Agent, &session)
		case budget.ByRun:
			dest = append(dest, &r.Run)
		}
	}
	if err := scan(dest...); err != nil {
		return r, err
	}
	if at != 0 {
		r.At = time.Unix(0, at*int64(slice)).UTC()
	}
	if provider != "" {
		r.Model = provider + "/" + model
	}
	if session != nil {
		r.Session = *session
	}
	return r, nil
}

// Session implements [budget.Ledger].
func (l *Ledger) Session(ctx context.Context, agent, id string) (used budget.Amount, err error) {
	err = l.db.read(ctx, func(t *tx) error {
		return t.row("SELECT "+budgetTokens+", "+budgetUSD+" FROM spent WHERE session = (SELECT id FROM sessions WHERE agent = ? AND name = ?)",
			[]any{agent, id}, []any{&used.Tokens, &used.USD})
	})
	return used, err
}

// Behind implements [budget.Ledger].
func (l *Ledger) Behind(ctx context.Context, entry int64, from time.Time) (days []budget.RunDay, last int64, err error) {
	last = entry
	err = l.db.read(ctx, func(t *tx) error {
		// Without the plus, a day with many entries would be read whole each time.
		cond, args := "at >= ?", []any{nano(from)}
		if entry > 0 {
			cond, args = "id > ? AND +at >= ?", []any{entry, nano(from)}
		}
		return t.each("SELECT at / 86400000000000, agent, run, max(id), count(*), "+budgetTokens+", "+budgetUSD+" FROM spent WHERE "+cond+" GROUP BY 1, 2, 3", args,
			func(scan func(...any) error) error {
				var d budget.RunDay
				var row, day int64
				err := scan(&day, &d.Agent, &d.Run, &row, &d.Calls, &d.Used.Tokens, &d.Used.USD)
				d.Day = time.Unix(day*86400, 0).UTC()
				days, last = append(days, d), max(last, row)
				return err
			})
	})
	return days, last, err
}
