package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/goclaw/goclaw/internal/agent/run"
)

// Inbox implements [run.Inbox].
type Inbox struct{ db *DB }

var _ run.Inbox = (*Inbox)(nil)

// Inbox returns the store of messages that wait.
func (db *DB) Inbox() *Inbox { return &Inbox{db} }

// Put implements [run.Inbox].
func (i *Inbox) Put(ctx context.Context, e run.Entry) error {
	err := i.db.write(ctx, func(t *tx) error {
		n, err := t.exec("INSERT INTO inbox (run, agent, name, origin, queued, rest, "+principalColumns+") SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"+
			" WHERE NOT EXISTS (SELECT 1 FROM turns WHERE run = ?) AND NOT EXISTS (SELECT 1 FROM joined WHERE run = ?) ON CONFLICT DO NOTHING",
			args([]any{e.Run, e.Session.Agent, e.Session.ID, string(e.Origin), nano(e.Queued), string(e.Rest)}, principal(e.Caller), []any{e.Run, e.Run})...)
		if err == nil && n == 0 {
			err = run.ErrKnown
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("put run %s into the inbox: %w", e.Run, err)
	}
	return nil
}

// Drop implements [run.Inbox].
func (i *Inbox) Drop(ctx context.Context, runs ...string) error {
	err := i.db.write(ctx, func(t *tx) error {
		for _, id := range runs {
			if _, err := t.exec("DELETE FROM inbox WHERE run = ?", id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("take runs out of the inbox: %w", err)
	}
	return nil
}

// Waiting implements [run.Inbox]. It is asked when a process starts, and so by
// the writer, as [Sessions.Unfinished] is.
func (i *Inbox) Waiting(ctx context.Context) ([]run.Entry, error) {
	var entries []run.Entry
	err := i.db.write(ctx, func(t *tx) error {
		return t.each("SELECT run, agent, name, origin, queued, rest, "+principalColumns+" FROM inbox ORDER BY queued, rowid", nil,
			func(scan func(...any) error) error {
				var e run.Entry
				err := scan(args([]any{&e.Run, &e.Session.Agent, &e.Session.ID, &e.Origin, instant{&e.Queued}, &e.Rest}, principalInto(&e.Caller))...)
				entries = append(entries, e)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("read the inbox: %w", err)
	}
	return entries, nil
}

// Find implements [run.Inbox].
func (i *Inbox) Find(ctx context.Context, id string) (at run.Place, ok bool, err error) {
	err = i.db.read(ctx, func(t *tx) error {
		return t.row("SELECT agent, name, caller, run, TRUE FROM inbox WHERE run = ?1"+
			" UNION ALL SELECT s.agent, s.name, t.caller, t.run, FALSE FROM turns t JOIN sessions s ON s.id = t.session WHERE t.run = ?1"+
			" UNION ALL SELECT s.agent, s.name, t.caller, t.run, FALSE FROM joined j JOIN rounds r ON r.id = j.round"+
			" JOIN turns t ON t.id = r.turn JOIN sessions s ON s.id = t.session WHERE j.run = ?1",
			[]any{id}, []any{&at.Session.Agent, &at.Session.ID, &at.Caller, &at.Run, &at.Waiting})
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return run.Place{}, false, nil
	case err != nil:
		return run.Place{}, false, fmt.Errorf("look for run %s: %w", id, err)
	}
	return at, true, nil
}

// join takes messages out of the inbox that became part of a round.
func join(t *tx, round int64, runs []string) error {
	for _, id := range runs {
		if _, err := t.exec("DELETE FROM inbox WHERE run = ?", id); err != nil {
			return err
		}
		if _, err := t.exec("INSERT INTO joined (run, round) VALUES (?, ?)", id, round); err != nil {
			return err
		}
	}
	return nil
}
