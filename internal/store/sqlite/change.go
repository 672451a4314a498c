package sqlite

import (
	"context"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/tool"
)

// Change implements [session.Store].
func (s *Sessions) Change(ctx context.Context, key session.Key, effects ...tool.Effect) (state tool.State, err error) {
	err = s.db.write(ctx, func(t *tx) error {
		id, err := sessionID(t, key)
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
