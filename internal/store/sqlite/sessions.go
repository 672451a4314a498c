package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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
func (s *Sessions) Begin(ctx context.Context, key session.Key, turn session.Turn, title string, seed ...session.Turn) (session.Begun, error) {
	var begun session.Begun
	var media carried
	message, err := encode(media.message(turn.Message, turn.Started))
	if err != nil {
		return begun, err
	}
	told, err := encodeSeed(seed)
	if err != nil {
		return begun, err
	}
	err = s.db.write(ctx, func(t *tx) error {
		var id int64
		var fork sql.NullString
		err := t.row("SELECT id, turns, rounds, updated, fork_of FROM sessions WHERE agent = ? AND name = ?",
			[]any{key.Agent, key.ID}, []any{&id, &begun.Turn, &begun.Rounds, instant{&begun.Last}, &fork})
		made := errors.Is(err, sql.ErrNoRows)
		switch {
		case made:
			id, err = t.insert("INSERT INTO sessions (agent, name, title, origin, created, updated, turns, rounds, status, "+principalColumns+
				") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				args([]any{
					key.Agent, key.ID, title, string(turn.Origin), nano(turn.Started), nano(turn.Started), len(told) + 1, told.rounds(), string(agent.Running),
				}, principal(turn.Caller))...)
		case err == nil:
			if _, _, err = interrupt(t, id, turn.Started); err == nil {
				begun.State, err = stateOf(t, id)
			}
		}
		// One that calls by hand made has a state and no turn.
		if begun.New = err == nil && begun.Turn == 0 && !fork.Valid; begun.New {
			begun.Turn, begun.Rounds, err = told.put(t, id)
		}
		if err == nil && len(turn.Effects) > 0 {
			begun.State = begun.State.Apply(turn.Effects...)
			err = putState(t, id, begun.State)
		}
		if err == nil {
			err = media.put(t, id)
		}
		if err != nil {
			return err
		}
		begun.Turn++
		if _, err := t.insert("INSERT INTO turns (session, number, run, status, model, origin, started, message, asked, "+principalColumns+
			") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			args([]any{
				id, begun.Turn, turn.Run, string(agent.Running), turn.Model, string(turn.Origin), nano(turn.Started), message, turn.Asked,
			}, principal(turn.Caller))...); err != nil || made {
			return err
		}
		_, err = t.exec("UPDATE sessions SET turns = ?, rounds = ?, status = ?, updated = max(updated, ifnull(?, 0)), title = iif(?, ?, title) WHERE id = ?",
			begun.Turn, begun.Rounds, string(agent.Running), nano(turn.Started), begun.New, title, id)
		return err
	})
	return begun, err
}

// Called implements [session.Store].
func (s *Sessions) Called(ctx context.Context, run string, r *agent.Round, kept ...session.Snapshot) error {
	row, err := encodeRound(r)
	if err != nil {
		return err
	}
	u, model := usage(agent.Sum(r.Spent)), r.Reply.Target.String()
	return s.db.write(ctx, func(t *tx) error {
		var turn, id int64
		err := t.row("UPDATE turns SET model = CASE WHEN ? = '' THEN model ELSE ? END, "+usageAdded+" WHERE run = ? AND status = 'running' RETURNING id, session",
			args([]any{model, model}, u, []any{run}), []any{&turn, &id})
		if errors.Is(err, sql.ErrNoRows) {
			return notRunning(t, run)
		}
		if err != nil {
			return err
		}
		n, err := t.exec("UPDATE sessions SET rounds = rounds + 1, "+usageAdded+" WHERE id = ? AND rounds = ? - 1", args(u, []any{id, r.Number})...)
		if err != nil {
			return err
		}
		if n != 1 {
			return notNext(r)
		}
		round, err := row.put(t, id, turn, r, time.Time{})
		if err != nil {
			return err
		}
		for i, c := range r.Calls {
			if _, err := t.exec("INSERT INTO calls (session, round, idx, wire, tool) VALUES (?, ?, ?, ?, ?)", id, round, i, c.ID, c.Name); err != nil {
				return err
			}
		}
		if err := putSpent(t, turn, r.Spent); err != nil {
			return err
		}
		if r.Listed {
			state, err := stateOf(t, id)
			if err != nil {
				return err
			}
			if err := amendState(t, id, state.Listing(r.State)); err != nil {
				return err
			}
		}
		return putWith(t, id, round, r.Joined, kept)
	})
}

// putWith stores what comes with a round: which messages have joined it, and
// what the session keeps from now on.
func putWith(t *tx, id, round int64, joined []string, kept []session.Snapshot) error {
	if err := join(t, round, joined); err != nil {
		return err
	}
	for _, k := range kept {
		if err := putSnapshot(t, id, k); err != nil {
			return err
		}
	}
	return nil
}

func notNext(r *agent.Round) error {
	return fmt.Errorf("round %d is not the next one of its session", r.Number)
}

// notRunning says why run has no running turn.
func notRunning(t *tx, run string) error {
	var status agent.Status
	err := t.row("SELECT status FROM turns WHERE run = ?", []any{run}, []any{&status})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("run %s: %w", run, session.ErrNotFound)
	case err != nil:
		return err
	}
	return fmt.Errorf("run %s has ended (%s)", run, status)
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
		var id int64
		err := t.row("UPDATE calls SET "+outcomeSet+" WHERE round = "+roundOfRun+" AND idx = ? RETURNING round",
			args(row.values(), []any{run, round, index}), []any{&id})
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("call %d of round %d of run %s: %w", index, round, run, session.ErrNotFound)
		}
		if err == nil {
			err = putOwn(t, id, index, &o)
		}
		if err != nil || len(row.media) == 0 {
			return err
		}
		turn, err := turnOf(t, run)
		if err != nil {
			return err
		}
		return row.media.put(t, turn.session)
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
		var id, round int64
		var calls int
		err := t.row("UPDATE rounds SET ended = ? WHERE number = ? AND turn = (SELECT id FROM turns WHERE run = ? AND status = 'running')"+
			" RETURNING id, (SELECT session FROM turns t WHERE t.id = turn), (SELECT count(*) FROM calls WHERE round = rounds.id)",
			[]any{nano(r.Ended), r.Number, run}, []any{&round, &id, &calls})
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("the turn of run %s runs no round %d: %w", run, r.Number, session.ErrNotFound)
		}
		if err != nil {
			return err
		}
		if calls != len(rows) {
			return fmt.Errorf("round %d has %d calls and %d outcomes", r.Number, calls, len(rows))
		}
		for i, row := range rows {
			if err := errors.Join(row.dedupe(t, r.Outcomes[i].Ref), row.media.put(t, id)); err != nil {
				return err
			}
			if _, err := t.exec("UPDATE calls SET "+outcomeSet+" WHERE round = ? AND idx = ? AND "+outcomeDiffers,
				args(row.values(), []any{round, i}, row.values())...); err != nil {
				return err
			}
			if err := putOwn(t, round, i, &r.Outcomes[i]); err != nil {
				return err
			}
		}
		return putState(t, id, r.State)
	})
}

// Answered implements [session.Store].
func (s *Sessions) Answered(ctx context.Context, run string, r *agent.Round, end agent.End, kept ...session.Snapshot) error {
	if len(r.Calls) > 0 {
		return fmt.Errorf("round %d has %d open calls", r.Number, len(r.Calls))
	}
	row, err := encodeRound(r)
	if err != nil {
		return err
	}
	return s.db.write(ctx, func(t *tx) error {
		turn, err := turnOf(t, run)
		if err != nil {
			return err
		}
		if turn.status != agent.Running {
			return fmt.Errorf("run %s has ended (%s)", run, turn.status)
		}
		if turn.rounds != r.Number-1 {
			return notNext(r)
		}
		round, err := row.put(t, turn.session, turn.id, r, r.Ended)
		if err != nil {
			return err
		}
		if err := putWith(t, turn.session, round, r.Joined, kept); err != nil {
			return err
		}
		if err := putState(t, turn.session, r.State); err != nil {
			return err
		}
		turn.rounds++
		end.Spent = append(slices.Clip(r.Spent), end.Spent...)
		return turn.end(t, end, r.Reply.Target.String())
	})
}

// End implements [session.Store].
func (s *Sessions) End(ctx context.Context, run string, end agent.End) error {
	return s.db.write(ctx, func(t *tx) error {
		turn, err := turnOf(t, run)
		if err != nil || turn.status != agent.Running {
			return err
		}
		return turn.end(t, end, "")
	})
}

// ending is a turn that is to end.
type ending struct {
	id, session int64
	status      agent.Status
	rounds      int // of the session
}

func turnOf(t *tx, run string) (ending, error) {
	var e ending
	err := t.row("SELECT t.id, t.session, t.status, s.rounds FROM turns t JOIN sessions s ON s.id = t.session WHERE t.run = ?", []any{run},
		[]any{&e.id, &e.session, &e.status, &e.rounds})
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("run %s: %w", run, session.ErrNotFound)
	}
	return e, err
}

// end stores how the turn ended. model is who gave its last round, empty when
// that is stored.
func (e *ending) end(t *tx, end agent.End, model string) error {
	more := usage(agent.Sum(end.Spent))
	if err := putSpent(t, e.id, end.Spent); err != nil {
		return err
	}
	if _, err := t.exec("UPDATE turns SET status = ?, error = ?, ended = ?, model = CASE WHEN ? = '' THEN model ELSE ? END, "+usageAdded+" WHERE id = ?",
		args([]any{string(end.Status), end.Error, nano(end.Time), model, model}, more, []any{e.id})...); err != nil {
		return err
	}
	if _, err := t.exec("UPDATE sessions SET status = ?, rounds = ?, updated = max(updated, ifnull(?, 0)), "+usageAdded+" WHERE id = ?",
		args([]any{string(end.Status), e.rounds, nano(end.Time)}, more, []any{e.session})...); err != nil {
		return err
	}
	return indexTurn(t, e.id)
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

// effectsOf lists the effects of the calls for whose turn t and round r cond
// holds, in the order of the calls.
func effectsOf(t *tx, cond string, args ...any) ([]tool.Effect, error) {
	var effects []tool.Effect
	err := t.each("SELECT c.more FROM turns t JOIN rounds r ON r.turn = t.id JOIN calls c ON c.round = r.id WHERE c.more IS NOT NULL AND "+cond+" ORDER BY r.number, c.idx",
		args, func(scan func(...any) error) error {
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
	return effects, err
}

// putState stores the state of a session, when it differs from what is stored. All
// that was noted as said meanwhile is in it.
func putState(t *tx, id int64, state tool.State) error {
	text, err := encode(state)
	if err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO state (session, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data, changes = NULL"+
		" WHERE data <> excluded.data OR changes IS NOT NULL", id, text)
	return err
}

// amendState is putState while a round is under way, whose calls may come to
// change what it stores: what was said meanwhile stays noted.
func amendState(t *tx, id int64, state tool.State) error {
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
func (s *Sessions) KeepSnapshot(ctx context.Context, key session.Key, kept session.Snapshot) error {
	return s.db.write(ctx, func(t *tx) error {
		id, err := sessionID(t, key)
		if err != nil {
			return err
		}
		return putSnapshot(t, id, kept)
	})
}

func putSnapshot(t *tx, id int64, kept session.Snapshot) error {
	_, err := t.exec("INSERT INTO snapshots (session, name, text) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET text = excluded.text", id, kept.Name, kept.Text)
	return err
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
// go with it, but for those that forks read, and messages that a dead process
// left waiting for it.
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
		if _, err := t.exec("DELETE FROM inbox WHERE agent = ? AND name = ?", key.Agent, key.ID); err != nil {
			return err
		}
		for _, table := range []string{"approvals", "side_calls"} {
			if _, err := t.exec("DELETE FROM "+table+" WHERE agent = ? AND session = ?", key.Agent, key.ID); err != nil {
				return err
			}
		}
		return dropSession(t, key.String())
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
		if err := indexWords(t, one.place, one.text); err != nil {
			return err
		}
	}
	return nil
}

// indexWords makes text findable as what was said at place: twice the row of a
// turn, or one more than twice that of a round.
func indexWords(t *tx, place int64, text string) error {
	if len(text) > maxIndexed {
		text = strings.ToValidUTF8(text[:maxIndexed], "")
	}
	words := session.IndexText(text)
	if words == "" {
		return nil
	}
	_, err := t.exec("INSERT INTO words (rowid, text) VALUES (?, ?)", place, words)
	return err
}
