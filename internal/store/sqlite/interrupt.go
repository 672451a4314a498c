package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Interrupt implements [session.Store].
func (s *Sessions) Interrupt(ctx context.Context, key session.Key, at time.Time) (turns, calls int, err error) {
	err = s.db.write(ctx, func(t *tx) error {
		id, err := sessionID(t, key)
		if err != nil {
			return err
		}
		turns, calls, err = interrupt(t, id, at)
		return err
	})
	return turns, calls, err
}

// interrupt closes what a dead process left running in a session.
func interrupt(t *tx, id int64, at time.Time) (turns, calls int, err error) {
	var open []int64
	err = t.each("SELECT id FROM turns WHERE session = ? AND status = 'running'", []any{id}, func(scan func(...any) error) error {
		var turn int64
		err := scan(&turn)
		open = append(open, turn)
		return err
	})
	if err != nil || len(open) == 0 {
		return 0, 0, err
	}
	row, err := encodeOutcome(new(session.Interrupted(llm.ToolCall{}, at)))
	if err != nil {
		return 0, 0, err
	}
	for _, turn := range open {
		if err := applyUnsettled(t, id, turn); err != nil {
			return 0, 0, err
		}
		asked, err := closeUnapproved(t, turn, at)
		if err != nil {
			return 0, 0, err
		}
		n, err := t.exec("UPDATE calls SET status = ?, started = ?, ended = ?, text = ? WHERE status IS NULL AND round IN (SELECT id FROM rounds WHERE turn = ?)",
			row.status, row.started, row.ended, row.text, turn)
		if err != nil {
			return 0, 0, err
		}
		calls += asked + n
		if _, err := t.exec("UPDATE turns SET status = ?, ended = ? WHERE id = ?", string(agent.Interrupted), nano(at), turn); err != nil {
			return 0, 0, err
		}
		if err := indexTurn(t, turn); err != nil {
			return 0, 0, err
		}
	}
	_, err = t.exec("UPDATE sessions SET status = ? WHERE id = ?", string(agent.Interrupted), id)
	return len(open), calls, err
}

// closeUnapproved closes the calls of a turn of a dead process that asked people
// and were not allowed, and says how many. The process asked before it ran them.
func closeUnapproved(t *tx, turn int64, at time.Time) (int, error) {
	asked := map[int64]tool.Approval{} // by call
	err := t.each("SELECT c.id, a.body FROM turns t JOIN sessions s ON s.id = t.session JOIN rounds r ON r.turn = t.id JOIN calls c ON c.round = r.id"+
		" JOIN approvals a ON a.agent = s.agent AND a.session = s.name AND a.created >= t.started"+
		" AND json_extract(a.body, '$.run') = t.run AND json_extract(a.body, '$.call') = c.wire"+
		" WHERE t.id = ? AND c.status IS NULL AND a.status <> ?", []any{turn, string(tool.ApprovalAllowed)},
		func(scan func(...any) error) error {
			var id int64
			var a tool.Approval
			err := scan(&id, jsonColumn{&a})
			asked[id] = a
			return err
		})
	if err != nil {
		return 0, err
	}
	for id, a := range asked {
		o := session.Unapproved(llm.ToolCall{}, a, at)
		row, err := encodeOutcome(&o)
		if err != nil {
			return 0, err
		}
		if _, err := t.exec("UPDATE calls SET "+outcomeSet+" WHERE id = ?", args(row.values(), []any{id})...); err != nil {
			return 0, err
		}
		if a.Status == tool.ApprovalOpen {
			a.Status, a.Ended = o.Approval.Status, o.Approval.Ended
			if err := closeApproval(t, a); err != nil {
				return 0, err
			}
		}
	}
	return len(asked), nil
}

// applyUnsettled brings the effects of calls that ended, in rounds of a turn
// that were never settled, into the session's state: what they did is done. As in
// a round that is settled, what was said since it began stands above that.
func applyUnsettled(t *tx, id, turn int64) error {
	effects, err := effectsOf(t, "t.id = ? AND r.ended IS NULL", turn)
	if err != nil || len(effects) == 0 {
		return err
	}
	var began sql.NullInt64
	if err := t.row("SELECT max(started) FROM rounds WHERE turn = ? AND ended IS NULL", []any{turn}, []any{&began}); err != nil {
		return err
	}
	changes, err := changesOf(t, id)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if c.At >= began.Int64 {
			effects = append(effects, c.Effect)
		}
	}
	state, err := stateOf(t, id)
	if err != nil {
		return err
	}
	return putState(t, id, state.Apply(effects...))
}
