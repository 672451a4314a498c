package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

const sessionColumns = "id, agent, name, title, origin, created, updated, turns, rounds, status, fork_of, fork_turn, " +
	"ifnull((SELECT json_extract(data, '$.plan') FROM state WHERE session = sessions.id), 0), " + principalColumns + ", " + usageColumns

// sessionRow scans a session.
type sessionRow struct {
	id       int64
	found    session.Session
	forkOf   sql.NullString
	forkTurn sql.NullInt64
}

func (r *sessionRow) into() []any {
	s := &r.found
	return args([]any{
		&r.id, &s.Agent, &s.ID, &s.Title, &s.Origin, instant{&s.Created}, instant{&s.Updated}, &s.Turns, &s.Rounds, &s.Status, &r.forkOf, &r.forkTurn, &s.Plan,
	}, principalInto(&s.Caller), usageInto(&s.Usage, &s.USD))
}

func (r *sessionRow) session() session.Session {
	s := r.found
	if r.forkOf.Valid {
		s.ForkOf = &session.Point{Session: r.forkOf.String, Turn: int(r.forkTurn.Int64)}
	}
	return s
}

// Session implements [session.Store].
func (s *Sessions) Session(ctx context.Context, key session.Key) (session.Session, error) {
	var found session.Session
	err := s.db.read(ctx, func(t *tx) error {
		var r sessionRow
		err := t.row("SELECT "+sessionColumns+" FROM sessions WHERE agent = ? AND name = ?", []any{key.Agent, key.ID}, r.into())
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("session %s: %w", key, session.ErrNotFound)
		}
		if err != nil {
			return err
		}
		var state tool.State
		state, err = stateOf(t, r.id)
		found = r.session()
		found.State = &state
		return err
	})
	return found, err
}

// Sessions implements [session.Store].
func (s *Sessions) Sessions(ctx context.Context, f session.Filter) (list []session.Session, next string, err error) {
	var w where
	w.and("agent = ?", f.Agent)
	w.and("name = ?", f.ID)
	w.and("origin = ?", string(f.Origin))
	w.and("caller = ?", f.Caller)
	if !f.Since.IsZero() {
		w.add("updated >= ?", nano(f.Since))
	}
	if err := w.after("updated, id", f.After); err != nil {
		return nil, "", err
	}
	if f.Limit <= 0 {
		f.Limit = session.DefaultLimit
	}
	err = s.db.read(ctx, func(t *tx) error {
		if f.Title != "" {
			titled, err := titled(t, w, f)
			if err != nil {
				return err
			}
			w = where{}
			w.add("id IN (SELECT value FROM json_each(?))", titled)
		}
		var ids []int64
		query := "SELECT " + sessionColumns + " FROM sessions WHERE " + w.String() + " ORDER BY updated DESC, id DESC LIMIT ?"
		err := t.each(query, args(w.args, []any{f.Limit + 1}), func(scan func(...any) error) error {
			var r sessionRow
			err := scan(r.into()...)
			list, ids = append(list, r.session()), append(ids, r.id)
			return err
		})
		if err == nil && len(list) > f.Limit {
			list = list[:f.Limit]
			next = cursor(list[f.Limit-1].Updated, ids[f.Limit-1])
		}
		return err
	})
	return list, next, err
}

// errEnough ends a query before its rows do.
var errEnough = errors.New("enough rows")

// titled returns the rows of the sessions within w whose title is as f asks, as
// JSON: those of one page and one more. Titles are compared here, because the
// database knows the case of ASCII letters only.
func titled(t *tx, w where, f session.Filter) (string, error) {
	holds := session.TitleHolds(f.Title)
	ids := []int64{}
	err := t.each("SELECT id, title FROM sessions WHERE "+w.String()+" ORDER BY updated DESC, id DESC", w.args, func(scan func(...any) error) error {
		var id int64
		var title string
		if err := scan(&id, &title); err != nil || !holds(title) {
			return err
		}
		if ids = append(ids, id); len(ids) > f.Limit {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return "", err
	}
	return encode(ids)
}

const searchQuery = `
WITH hit AS (SELECT rowid AS place, rank FROM words WHERE words MATCH ?),
found AS (
	SELECT t.session, t.number, 'user' AS role, t.started AS at, t.message, hit.rank, t.copied
	FROM hit JOIN turns t ON t.id = hit.place / 2 WHERE hit.place % 2 = 0
	UNION ALL
	SELECT t.session, t.number, 'assistant', ifnull(r.replied, t.started), r.message, hit.rank, t.copied
	FROM hit JOIN rounds r ON r.id = hit.place / 2 JOIN turns t ON t.id = r.turn WHERE hit.place % 2 = 1
)
SELECT s.agent, s.name, s.title, f.number, f.role, f.at, f.message
FROM found f JOIN sessions s ON s.id = f.session WHERE `

// Search implements [session.Store].
func (s *Sessions) Search(ctx context.Context, q session.Query) ([]session.Hit, error) {
	terms := session.Terms(q.Text)
	if len(terms) == 0 {
		return nil, fmt.Errorf("search sessions: %q has no words", q.Text)
	}
	w := where{}
	w.and("s.agent = ?", q.Agent)
	w.and("s.name = ?", q.ID)
	w.and("s.caller = ?", q.Caller)
	if q.ID == "" {
		// What a fork began with is found where it was said, while that is there.
		w.add("NOT EXISTS (SELECT 1 FROM turns o WHERE o.run = f.copied)")
	}
	if q.Limit <= 0 {
		q.Limit = session.DefaultLimit
	}
	var hits []session.Hit
	err := s.db.read(ctx, func(t *tx) error {
		return t.each(searchQuery+w.String()+" ORDER BY f.rank, f.at DESC LIMIT ?", args([]any{matchOf(terms)}, w.args, []any{q.Limit}),
			func(scan func(...any) error) error {
				var h session.Hit
				var text sql.NullString
				if err := scan(&h.Session.Agent, &h.Session.ID, &h.Title, &h.Turn, &h.Role, instant{&h.Time}, &text); err != nil {
					return err
				}
				var m llm.Message
				if err := decode(text, &m); err != nil {
					return err
				}
				h.Snippet = session.Snippet(m.Text(), terms)
				hits = append(hits, h)
				return nil
			})
	})
	return hits, err
}

// matchOf is terms in the language of FTS5. Words hold letters, digits and
// marks only, so that quoting them is enough.
func matchOf(terms []session.Term) string {
	var b strings.Builder
	for i, t := range terms {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(`"` + strings.Join(t.Words, " ") + `"`)
		if t.Prefix {
			b.WriteByte('*')
		}
	}
	return b.String()
}
