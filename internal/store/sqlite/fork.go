package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/tool"
)

// Fork implements [session.Store]. Nothing is read into memory but the words
// that Search finds and the effects of calls.
func (s *Sessions) Fork(ctx context.Context, f session.Session) error {
	if f.ForkOf == nil {
		return fmt.Errorf("session %s is no fork", f.Key)
	}
	from := session.Key{Agent: f.Agent, ID: f.ForkOf.Session}
	return s.db.write(ctx, func(t *tx) error {
		old, err := sessionID(t, from)
		if err != nil {
			return err
		}
		c, err := lookAt(t, from, old, f.ForkOf.Turn)
		if err != nil {
			return err
		}
		_, err = sessionID(t, f.Key)
		if err == nil {
			return fmt.Errorf("session %s: %w", f.Key, session.ErrExists)
		}
		if !errors.Is(err, session.ErrNotFound) {
			return err
		}
		id, err := t.insert("INSERT INTO sessions (agent, name, title, origin, created, updated, turns, rounds, status, fork_of, fork_turn, "+principalColumns+
			") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			args([]any{
				f.Agent, f.ID, f.Title, string(f.Origin), nano(f.Created), nano(f.Created), c.turns, c.rounds, string(c.status), f.ForkOf.Session, f.ForkOf.Turn,
			}, principal(f.Caller))...)
		if err != nil {
			return err
		}
		if err := c.copyRows(t, old, id); err != nil {
			return err
		}
		return shareRefs(t, from.String(), f.Key.String(), c.ended)
	})
}

// beginning is the first turns of a session, all of which have ended.
type beginning struct {
	turns, rounds int
	whole         bool         // there are no more
	status        agent.Status // of the last one
	ended         time.Time    // when the last one did; zero when there is none
}

// lookAt finds the first turns of the session with the row id.
func lookAt(t *tx, key session.Key, id int64, turns int) (beginning, error) {
	c := beginning{status: agent.Done}
	var all int
	if err := t.row("SELECT count(*) FROM turns WHERE session = ?", []any{id}, []any{&all}); err != nil {
		return c, err
	}
	if turns < 0 || turns > all {
		return c, fmt.Errorf("turn %d of session %s: %w", turns, key, session.ErrNotFound)
	}
	c.turns, c.whole = turns, turns == all
	var running sql.NullInt64
	err := t.row("SELECT min(number), (SELECT count(*) FROM turns t JOIN rounds r ON r.turn = t.id WHERE t.session = ?1 AND t.number <= ?2)"+
		" FROM turns WHERE session = ?1 AND number <= ?2 AND status = 'running'", []any{id, turns}, []any{&running, &c.rounds})
	if err != nil || turns == 0 {
		return c, err
	}
	if running.Valid {
		return c, fmt.Errorf("turn %d of session %s: %w", running.Int64, key, session.ErrUnended)
	}
	err = t.row("SELECT status, ended FROM turns WHERE session = ? AND number = ?", []any{id, turns}, []any{&c.status, instant{&c.ended}})
	return c, err
}

const (
	forkTurns = `
INSERT INTO turns (session, number, run, copied, seeded, status, error, model, origin, started, ended, message, asked, ` + principalColumns + ", " + usageColumns + `)
SELECT ?2, number, 'fork:' || ?2 || ':' || number, ifnull(copied, run), seeded, status, error, model, origin, started, ended, message, asked, ` + principalColumns + ", " + usageColumns + `
FROM turns WHERE session = ?1 AND number <= ?3 ORDER BY number`

	forkRounds = `
INSERT INTO rounds (turn, number, started, first_token, replied, ended, finish, reply, before, message, request)
SELECT n.id, r.number, r.started, r.first_token, r.replied, r.ended, r.finish, r.reply, r.before, r.message, r.request
FROM turns o JOIN rounds r ON r.turn = o.id JOIN turns n ON n.session = ?2 AND n.number = o.number
WHERE o.session = ?1 AND o.number <= ?3 ORDER BY r.number`

	forkCalls = `
INSERT INTO calls (session, round, idx, wire, tool, status, started, ended, text, origin, parts, more, args, details)
SELECT ?2, m.id, c.idx, c.wire, c.tool, c.status, c.started, c.ended, c.text, c.origin, c.parts, c.more, c.args, c.details
FROM turns o JOIN rounds r ON r.turn = o.id JOIN calls c ON c.round = r.id
JOIN turns n ON n.session = ?2 AND n.number = o.number JOIN rounds m ON m.turn = n.id AND m.number = r.number
WHERE o.session = ?1 AND o.number <= ?3 ORDER BY r.number, c.idx`

	forkOwn = `
INSERT INTO side_calls (call, agent, session, caller, copied, parent, tool, status, started, ended, body)
SELECT k.id, s.agent, s.name, s.caller, 1, x.parent, x.tool, x.status, x.started, x.ended, x.body
FROM turns o JOIN rounds r ON r.turn = o.id JOIN calls c ON c.round = r.id JOIN side_calls x ON x.call = c.id
JOIN turns n ON n.session = ?2 AND n.number = o.number JOIN rounds m ON m.turn = n.id AND m.number = r.number
JOIN calls k ON k.round = m.id AND k.idx = c.idx JOIN sessions s ON s.id = ?2
WHERE o.session = ?1 AND o.number <= ?3 AND x.open IS NULL ORDER BY x.id`

	forkSnapshots = "INSERT INTO snapshots (session, name, text) SELECT ?, name, text FROM snapshots WHERE session = ?"
)

// copyRows copies what the session with the row old begins with to the one with
// the row id, which has nothing yet.
func (c beginning) copyRows(t *tx, old, id int64) error {
	for _, query := range []string{forkTurns, forkRounds, forkCalls, forkOwn} {
		if _, err := t.exec(query, old, id, c.turns); err != nil {
			return err
		}
	}
	if _, err := t.exec(forkSnapshots, id, old); err != nil {
		return err
	}
	state, err := c.state(t, old)
	if err != nil {
		return err
	}
	if err := putState(t, id, state); err != nil {
		return err
	}
	var copies []int64
	err = t.each("SELECT id FROM turns WHERE session = ? ORDER BY number", []any{id}, func(scan func(...any) error) error {
		var turn int64
		err := scan(&turn)
		copies = append(copies, turn)
		return err
	})
	for _, turn := range copies {
		err = errors.Join(err, indexTurn(t, turn))
	}
	return err
}

// state is what the turns left in the session with the row id. It is stored
// when no turn follows; else it is what their calls made of nothing, and the
// tools that they were shown last. A fork of a session that plans plans, too: when
// a person switched that is not known of its turns.
func (c beginning) state(t *tx, id int64) (tool.State, error) {
	if c.whole {
		return stateOf(t, id)
	}
	var state tool.State
	var tools sql.NullString
	err := t.row("SELECT json_extract(r.request, '$.tools') AS tools FROM turns t JOIN rounds r ON r.turn = t.id"+
		" WHERE t.session = ? AND t.number <= ? AND tools IS NOT NULL ORDER BY r.number DESC LIMIT 1", []any{id, c.turns}, []any{&tools})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return state, err
	}
	if err := decode(tools, &state.Tools); err != nil {
		return state, err
	}
	effects, err := effectsOf(t, "t.session = ? AND t.number <= ?", id, c.turns)
	if err != nil {
		return state, err
	}
	now, err := stateOf(t, id)
	state = state.Apply(effects...)
	state.Plan = state.Plan || now.Plan
	return state, err
}
