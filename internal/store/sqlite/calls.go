package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/tool"
)

// LastCall implements [engine.Calls]. A call that has no result yet has the outcome of an interrupted
// one when nothing runs it any more, and no status while it is going. It reads
// calls from the newest back, so a tool that was never called costs a look at
// all of them. The calls that a fork begins with count in that fork only.
func (s *Sessions) LastCall(ctx context.Context, q engine.CallQuery) (c engine.StoredCall, ok bool, err error) {
	err = s.db.read(ctx, func(t *tx) error {
		side, beside, err := lastSide(t, q)
		if err != nil {
			return err
		}
		if c.Outcome, ok, err = lastWritten(t, q); err != nil {
			return err
		}
		// One that has no result yet is going on.
		if beside && (!ok || !c.Started.IsZero() && side.Started.After(c.Started)) {
			c, ok = side, true
		}
		return nil
	})
	return c, ok, err
}

// lastWritten is the newest of the calls that models wrote.
func lastWritten(t *tx, q engine.CallQuery) (o tool.Outcome, ok bool, err error) {
	var row int64
	var turn, round, index int
	err = t.row("SELECT t.session, t.number, r.number, c.idx"+
		" FROM calls c JOIN rounds r ON r.id = c.round JOIN turns t ON t.id = r.turn JOIN sessions s ON s.id = t.session"+
		" WHERE c.tool = ? AND s.agent = ? AND (s.name = ? OR ? = '' AND t.copied IS NULL) AND (? = '' OR s.caller = ?) ORDER BY c.id DESC LIMIT 1",
		[]any{q.Tool, q.Agent, q.Session, q.Session, q.Caller, q.Caller}, []any{&row, &turn, &round, &index})
	if errors.Is(err, sql.ErrNoRows) {
		return o, false, nil
	}
	if err != nil {
		return o, false, err
	}
	turns, err := readTurns(t, row, turn, turn, session.Whole)
	if err != nil {
		return o, false, err
	}
	for _, r := range turns[0].Rounds {
		if r.Number == round && index < len(r.Outcomes) {
			return r.Outcomes[index], true, nil
		}
	}
	return o, false, fmt.Errorf("round %d of turn %d: there is no call %d", round, turn, index)
}

// EachCall implements [engine.Calls]. The calls that a fork begins with count
// where they ran.
func (s *Sessions) EachCall(ctx context.Context, q engine.CallQuery, since time.Time, tell func(engine.CallFact)) error {
	var written where
	written.add("t.copied IS NULL AND c.status IS NOT NULL AND s.agent = ?", q.Agent)
	written.and("s.name = ?", q.Session)
	written.and("s.caller = ?", q.Caller)
	written.and("c.tool = ?", q.Tool)
	side := sideOf(q)
	side.add("NOT copied AND open IS NULL")
	if !since.IsZero() {
		written.add("t.started >= ?", nano(since))
		side.add("started >= ?", nano(since))
	}
	return s.db.read(ctx, func(t *tx) error {
		return t.each("SELECT c.tool, c.status, c.started, c.ended FROM turns t JOIN sessions s ON s.id = t.session"+
			" JOIN rounds r ON r.turn = t.id JOIN calls c ON c.round = r.id WHERE "+written.String()+
			" UNION ALL SELECT tool, status, started, ended FROM side_calls WHERE "+side.String()+" ORDER BY 3",
			args(written.args, side.args),
			func(scan func(...any) error) error {
				var f engine.CallFact
				var status string
				var ended time.Time
				if err := scan(&f.Tool, &status, instant{&f.Started}, instant{&ended}); err != nil {
					return err
				}
				f.Status, f.Took = tool.Status(status), ended.Sub(f.Started)
				tell(f)
				return nil
			})
	})
}
