package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/tool"
)

// Change implements [session.Store].
func (s *Sessions) Change(ctx context.Context, key session.Key, at time.Time, made *session.Session, effects ...tool.Effect) (state tool.State, err error) {
	err = s.db.write(ctx, func(t *tx) error {
		id, err := sessionID(t, key)
		if made != nil && errors.Is(err, session.ErrNotFound) {
			id, err = t.insert("INSERT INTO sessions (agent, name, title, origin, created, updated, status, "+principalColumns+
				") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				args([]any{
					key.Agent, key.ID, made.Title, string(made.Origin), nano(made.Created), nano(made.Created), string(agent.Done),
				}, principal(made.Caller))...)
		}
		if err != nil {
			return err
		}
		if state, err = stateOf(t, id); err != nil {
			return err
		}
		state = state.Apply(effects...)
		if err := amendState(t, id, state); err != nil {
			return err
		}
		return noteChanges(t, id, at, effects)
	})
	return state, err
}

// change is an effect on a session in which a run was going.
type change struct {
	At     int64       `json:"at"` // in nanoseconds since 1970
	Effect tool.Effect `json:"effect"`
}

// maxChanges is how many are noted beside one round, the latest: as many as a
// state keeps files, and the mode.
const maxChanges = 501

// noteChanges keeps what changed the state of a session, if a turn runs in it: of
// a key the last, and only what a call could undo.
func noteChanges(t *tx, id int64, at time.Time, effects []tool.Effect) error {
	effects = slices.DeleteFunc(slices.Clone(effects), func(e tool.Effect) bool {
		return e.Kind != tool.PlanMode && e.Kind != tool.FileSeen
	})
	if len(effects) == 0 {
		return nil
	}
	var status agent.Status
	if err := t.row("SELECT status FROM sessions WHERE id = ?", []any{id}, []any{&status}); err != nil || status != agent.Running {
		return err
	}
	all, err := changesOf(t, id)
	if err != nil {
		return err
	}
	for _, e := range effects {
		all = slices.DeleteFunc(all, func(c change) bool { return c.Effect.Kind == e.Kind && c.Effect.Key == e.Key })
		all = append(all, change{at.UnixNano(), e})
	}
	text, err := encode(all[max(len(all)-maxChanges, 0):])
	if err != nil {
		return err
	}
	_, err = t.exec("UPDATE state SET changes = ? WHERE session = ?", text, id)
	return err
}

// changesOf are the changes that were noted since the run of a session last
// stored its state.
func changesOf(t *tx, id int64) ([]change, error) {
	var text sql.NullString
	var all []change
	err := t.row("SELECT changes FROM state WHERE session = ?", []any{id}, []any{&text})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return all, decode(text, &all)
}
