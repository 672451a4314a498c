package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Sessions implements [session.Store].
type Sessions struct{ db *DB }

var _ session.Store = (*Sessions)(nil)

// Sessions returns the store of sessions.
func (db *DB) Sessions() *Sessions { return &Sessions{db} }

// Begin implements [session.Store].
func (s *Sessions) Begin(ctx context.Context, key session.Key, turn session.Turn, title string) (session.Begun, error) {
	var begun session.Begun
	message, err := encode(turn.Message)
	if err != nil {
		return begun, err
	}
	err = s.db.write(ctx, func(t *tx) error {
		begun = session.Begun{}
		var id int64
		err := t.row("SELECT id, turns, rounds FROM sessions WHERE agent = ? AND name = ?",
			[]any{key.Agent, key.ID}, []any{&id, &begun.Turn, &begun.Rounds})
		switch {
		case errors.Is(err, sql.ErrNoRows):
			id, err = t.insert("INSERT INTO sessions (agent, name, title, origin, created, updated, status, "+principalColumns+
				") VALUES (?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?)",
				args([]any{key.Agent, key.ID, title, string(turn.Origin), nano(turn.Started), nano(turn.Started)}, principal(turn.Caller))...)
		case err == nil && begun.Turn > 0:
			if _, _, err = interrupt(t, id, turn.Started); err == nil {
				begun.State, err = stateOf(t, id)
			}
		}
		if err != nil {
			return err
		}
		begun.Turn++
		if _, err := t.insert("INSERT INTO turns (session, number, run, status, model, origin, started, message, "+principalColumns+
			") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			args([]any{
				id, begun.Turn, turn.Run, string(agent.Running), turn.Model, string(turn.Origin), nano(turn.Started), message,
			}, principal(turn.Caller))...); err != nil {
			return err
		}
		_, err = t.exec("UPDATE sessions SET turns = ?, status = ?, updated = max(updated, ifnull(?, 0)) WHERE id = ?",
			begun.Turn, string(agent.Running), nano(turn.Started), id)
		return err
	})
	return begun, err
}

// Called implements [session.Store].
func (s *Sessions) Called(ctx context.Context, run string, r *agent.Round) error {
	row, err := encodeRound(r)
	if err != nil {
		return err
	}
	u := usage(r.Reply.Usage)
	return s.db.write(ctx, func(t *tx) error {
		turn, id, err := running(t, run)
		if err != nil {
			return err
		}
		n, err := t.exec("UPDATE sessions SET rounds = rounds + 1, "+usageAdded+" WHERE id = ? AND rounds = ? - 1",
			args(u, []any{id, r.Number})...)
		if err != nil {
			return err
		}
		if n != 1 {
			return fmt.Errorf("round %d is not the next one of its session", r.Number)
		}
		model := r.Reply.Target.String()
		if _, err := t.exec("UPDATE turns SET model = CASE WHEN ? = '' THEN model ELSE ? END, "+usageAdded+" WHERE id = ?",
			args([]any{model, model}, u, []any{turn})...); err != nil {
			return err
		}
		round, err := t.insert("INSERT INTO rounds (turn, number, started, first_token, replied, finish, reply, before, message, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			turn, r.Number, nano(r.Started), nano(r.FirstToken), nano(r.Replied), string(r.Reply.Finish), row.reply, row.before, row.message, row.request)
		if err != nil {
			return err
		}
		for i, c := range r.Calls {
			if _, err := t.exec("INSERT INTO calls (session, round, idx, wire, tool) VALUES (?, ?, ?, ?, ?)", id, round, i, c.ID, c.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

// running returns the rows of the turn that run handles, and of its session.
func running(t *tx, run string) (turn, id int64, err error) {
	var status agent.Status
	err = t.row("SELECT id, session, status FROM turns WHERE run = ?", []any{run}, []any{&turn, &id, &status})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, 0, fmt.Errorf("run %s: %w", run, session.ErrNotFound)
	case err == nil && status != agent.Running:
		return 0, 0, fmt.Errorf("run %s has ended (%s)", run, status)
	}
	return turn, id, err
}

const roundOfRun = "(SELECT r.id FROM turns t JOIN rounds r ON r.turn = t.id WHERE t.run = ? AND r.number = ?)"

// Result implements [session.Store].
func (s *Sessions) Result(ctx context.Context, run string, round, index int, o tool.Outcome) error {
	row, err := encodeOutcome(&o)
	if err != nil {
		return err
	}
	return s.db.write(ctx, func(t *tx) error {
		if err := row.dedupe(t, o.Ref); err != nil {
			return err
		}
		n, err := t.exec("UPDATE calls SET "+outcomeSet+" WHERE round = "+roundOfRun+" AND idx = ?",
			args(row.values(), []any{run, round, index})...)
		if err == nil && n != 1 {
			err = fmt.Errorf("call %d of round %d of run %s: %w", index, round, run, session.ErrNotFound)
		}
		return err
	})
}

// Settled implements [session.Store]. Outcomes that Result stored already are
// written again only where they changed since.
func (s *Sessions) Settled(ctx context.Context, run string, r *agent.Round) error {
	rows := make([]outcomeRow, len(r.Outcomes))
	var err error
	for i := range r.Outcomes {
		if rows[i], err = encodeOutcome(&r.Outcomes[i]); err != nil {
			return err
		}
	}
	return s.db.write(ctx, func(t *tx) error {
		turn, id, err := running(t, run)
		if err != nil {
			return err
		}
		var round int64
		var calls int
		err = t.row("SELECT r.id, (SELECT count(*) FROM calls c WHERE c.round = r.id) FROM rounds r WHERE r.turn = ? AND r.number = ?",
			[]any{turn, r.Number}, []any{&round, &calls})
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("round %d of run %s: %w", r.Number, run, session.ErrNotFound)
		}
		if err != nil {
			return err
		}
		if calls != len(rows) {
			return fmt.Errorf("round %d has %d calls and %d outcomes", r.Number, calls, len(rows))
		}
		for i, row := range rows {
			if err := row.dedupe(t, r.Outcomes[i].Ref); err != nil {
				return err
			}
			if _, err := t.exec("UPDATE calls SET "+outcomeSet+" WHERE round = ? AND idx = ? AND "+outcomeDiffers,
				args(row.values(), []any{round, i}, row.values())...); err != nil {
				return err
			}
		}
		if _, err := t.exec("UPDATE rounds SET ended = ? WHERE id = ?", nano(r.Ended), round); err != nil {
			return err
		}
		return putState(t, id, r.State)
	})
}

// End implements [session.Store].
func (s *Sessions) End(ctx context.Context, run string, end agent.End) error {
	return s.db.write(ctx, func(t *tx) error {
		var id, owner int64
		var status agent.Status
		var counted llm.Usage
		err := t.row("SELECT id, session, status, "+usageColumns+" FROM turns WHERE run = ?", []any{run},
			args([]any{&id, &owner, &status}, usageInto(&counted)))
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("run %s: %w", run, session.ErrNotFound)
		}
		if err != nil || status != agent.Running {
			return err
		}
		var more llm.Usage
		if end.Usage != (llm.Usage{}) {
			more = minus(end.Usage, counted)
		}
		if _, err := t.exec("UPDATE turns SET status = ?, error = ?, ended = ?, "+usageAdded+" WHERE id = ?",
			args([]any{string(end.Status), end.Error, nano(end.Time)}, usage(more), []any{id})...); err != nil {
			return err
		}
		if _, err = t.exec("UPDATE sessions SET status = ?, updated = max(updated, ifnull(?, 0)), "+usageAdded+" WHERE id = ?",
			args([]any{string(end.Status), nano(end.Time)}, usage(more), []any{owner})...); err != nil {
			return err
		}
		return indexTurn(t, id)
	})
}

func minus(u, v llm.Usage) llm.Usage {
	return llm.Usage{
		Input: u.Input - v.Input, Cached: u.Cached - v.Cached, CacheWrite: u.CacheWrite - v.CacheWrite,
		Output: u.Output - v.Output, Reasoning: u.Reasoning - v.Reasoning,
	}
}

// Taken implements [session.Store].
func (s *Sessions) Taken(ctx context.Context, key session.Key, ids []string) ([]string, error) {
	var taken []string
	err := s.db.read(ctx, func(t *tx) error {
		for _, id := range ids {
			var found bool
			err := t.row("SELECT EXISTS (SELECT 1 FROM calls WHERE wire = ? AND session = (SELECT id FROM sessions WHERE agent = ? AND name = ?))",
				[]any{id, key.Agent, key.ID}, []any{&found})
			if err != nil {
				return err
			}
			if found {
				taken = append(taken, id)
			}
		}
		return nil
	})
	return taken, err
}

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
		n, err := t.exec("UPDATE calls SET status = ?, started = ?, ended = ?, text = ? WHERE status IS NULL AND round IN (SELECT id FROM rounds WHERE turn = ?)",
			row.status, row.started, row.ended, row.text, turn)
		if err != nil {
			return 0, 0, err
		}
		calls += n
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

// applyUnsettled brings the effects of calls that ended, in rounds of a turn
// that were never settled, into the session's state: what they did is done.
func applyUnsettled(t *tx, id, turn int64) error {
	var effects []tool.Effect
	err := t.each("SELECT c.more FROM calls c JOIN rounds r ON r.id = c.round WHERE r.turn = ? AND r.ended IS NULL AND c.more IS NOT NULL ORDER BY r.number, c.idx",
		[]any{turn}, func(scan func(...any) error) error {
			var more sql.NullString
			var rest outcomeRest
			if err := scan(&more); err != nil {
				return err
			}
			if err := decode(more, &rest); err != nil {
				return err
			}
			effects = append(effects, rest.Effects...)
			return nil
		})
	if err != nil || len(effects) == 0 {
		return err
	}
	state, err := stateOf(t, id)
	if err != nil {
		return err
	}
	return putState(t, id, state.Apply(effects...))
}

// putState stores the state of a session, when it differs from what is stored.
func putState(t *tx, id int64, state tool.State) error {
	text, err := encode(state)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO state (session, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data WHERE data <> excluded.data", id, text)
	return err
}

// Unfinished implements [session.Store]. It is asked when a process starts, and
// then only the writer is open; a reader would have to read the schema first,
// which takes longer than all the rest and is often not needed again.
func (s *Sessions) Unfinished(ctx context.Context) ([]session.Key, error) {
	var keys []session.Key
	err := s.db.write(ctx, func(t *tx) error {
		keys = nil
		return t.each("SELECT agent, name FROM sessions WHERE status = 'running' ORDER BY id", nil,
			func(scan func(...any) error) error {
				var k session.Key
				err := scan(&k.Agent, &k.ID)
				keys = append(keys, k)
				return err
			})
	})
	return keys, err
}

// Snapshot implements [session.Store].
func (s *Sessions) Snapshot(ctx context.Context, key session.Key, name string) (text string, ok bool, err error) {
	err = s.db.read(ctx, func(t *tx) error {
		err := t.row("SELECT text FROM snapshots WHERE name = ? AND session = (SELECT id FROM sessions WHERE agent = ? AND name = ?)",
			[]any{name, key.Agent, key.ID}, []any{&text})
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		ok = err == nil
		return err
	})
	return text, ok, err
}

// KeepSnapshot implements [session.Store].
func (s *Sessions) KeepSnapshot(ctx context.Context, key session.Key, name, text string) error {
	return s.db.write(ctx, func(t *tx) error {
		id, err := sessionID(t, key)
		if err != nil {
			return err
		}
		_, err = t.exec("INSERT INTO snapshots (session, name, text) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET text = excluded.text", id, name, text)
		return err
	})
}

// Rename implements [session.Store].
func (s *Sessions) Rename(ctx context.Context, key session.Key, title string) error {
	return s.db.write(ctx, func(t *tx) error {
		id, err := sessionID(t, key)
		if err != nil {
			return err
		}
		_, err = t.exec("UPDATE sessions SET title = ? WHERE id = ?", title, id)
		return err
	})
}

// Delete implements [session.Store]. Bytes that the session keeps under refs
// go with it.
func (s *Sessions) Delete(ctx context.Context, key session.Key) error {
	return s.db.write(ctx, func(t *tx) error {
		id, err := sessionID(t, key)
		if err != nil {
			return err
		}
		for _, q := range []string{
			"DELETE FROM words WHERE rowid IN (SELECT 2 * id FROM turns WHERE session = ?)",
			"DELETE FROM words WHERE rowid IN (SELECT 2 * r.id + 1 FROM turns t JOIN rounds r ON r.turn = t.id WHERE t.session = ?)",
			"DELETE FROM sessions WHERE id = ?",
		} {
			if _, err := t.exec(q, id); err != nil {
				return err
			}
		}
		return dropRefs(t, "session = ?", key.String())
	})
}

// sessionID is the row of a session.
func sessionID(t *tx, key session.Key) (int64, error) {
	var id int64
	err := t.row("SELECT id FROM sessions WHERE agent = ? AND name = ?", []any{key.Agent, key.ID}, []any{&id})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("session %s: %w", key, session.ErrNotFound)
	}
	return id, err
}

func stateOf(t *tx, id int64) (tool.State, error) {
	var text sql.NullString
	var state tool.State
	err := t.row("SELECT data FROM state WHERE session = ?", []any{id}, []any{&text})
	if errors.Is(err, sql.ErrNoRows) {
		return state, nil
	}
	if err != nil {
		return state, err
	}
	return state, decode(text, &state)
}

// maxIndexed bounds what of one message can be found by its words, in bytes.
const maxIndexed = 64 << 10

// indexTurn makes what was said in a turn findable. It happens at the turn's
// end, because each transaction that adds words costs about as much as the
// rest of it.
func indexTurn(t *tx, turn int64) error {
	type said struct {
		place int64
		text  string
	}
	var all []said
	err := t.each("SELECT 2 * id, message FROM turns WHERE id = ? UNION ALL SELECT 2 * id + 1, message FROM rounds WHERE turn = ?", []any{turn, turn},
		func(scan func(...any) error) error {
			var one said
			var message sql.NullString
			if err := scan(&one.place, &message); err != nil {
				return err
			}
			var m llm.Message
			if err := decode(message, &m); err != nil {
				return err
			}
			one.text = m.Text()
			all = append(all, one)
			return nil
		})
	if err != nil {
		return err
	}
	for _, one := range all {
		if len(one.text) > maxIndexed {
			one.text = strings.ToValidUTF8(one.text[:maxIndexed], "")
		}
		words := session.IndexText(one.text)
		if words == "" {
			continue
		}
		if _, err := t.exec("INSERT INTO words (rowid, text) VALUES (?, ?)", one.place, words); err != nil {
			return err
		}
	}
	return nil
}
