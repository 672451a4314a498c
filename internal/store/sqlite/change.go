package sqlite

import (
	"context"
	"errors"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/tool"
)

// Change implements [session.Store].
func (s *Sessions) Change(ctx context.Context, key session.Key, made *session.Session, effects ...tool.Effect) (state tool.State, err error) {
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
		return putState(t, id, state)
	})
	return state, err
}
