package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/tool"
)

// Approvals implements [approval.Store].
type Approvals struct{ db *DB }

var _ approval.Store = (*Approvals)(nil)

// Approvals returns the store of requests to people and of grants.
func (db *DB) Approvals() *Approvals { return &Approvals{db} }

// Open implements [approval.Store].
func (s *Approvals) Open(ctx context.Context, desk string, a tool.Approval) error {
	body, err := encode(a)
	if err == nil {
		err = s.db.write(ctx, func(t *tx) error {
			_, err := t.exec("INSERT INTO approvals (name, desk, agent, session, caller, status, created, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
				a.ID, desk, a.Agent, a.Session, a.Caller.ID, string(a.Status), nano(a.Created), body)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("store approval %s: %w", a.ID, err)
	}
	return nil
}

// Close implements [approval.Store].
func (s *Approvals) Close(ctx context.Context, end tool.Approval, g *approval.Grant) (a tool.Approval, err error) {
	err = s.db.write(ctx, func(t *tx) error {
		if a, err = getApproval(t, end.ID); err != nil {
			return err
		}
		if a.Status != tool.ApprovalOpen {
			return &approval.ClosedError{Approval: a}
		}
		if g != nil {
			if end.Grant, err = putGrant(t, *g); err != nil {
				return err
			}
		}
		a.Status, a.Answer, a.By, a.Grant, a.Ended = end.Status, end.Answer, end.By, end.Grant, end.Ended
		return closeApproval(t, a)
	})
	return a, about("close approval "+end.ID, err)
}

// stopApprovals ends what the runs of a caller wait for.
func stopApprovals(t *tx, caller string) error {
	var open []tool.Approval
	err := t.each("SELECT body FROM approvals WHERE caller = ? AND ended IS NULL", []any{caller}, func(scan func(...any) error) error {
		var a tool.Approval
		err := scan(jsonColumn{&a})
		open = append(open, a)
		return err
	})
	if err != nil {
		return err
	}
	for _, a := range open {
		a = a.Stopped(tool.Removed(caller), time.Now().UTC())
		if err := closeApproval(t, a); err != nil {
			return err
		}
	}
	return nil
}

// closeApproval stores how a, which is open, ended.
func closeApproval(t *tx, a tool.Approval) error {
	body, err := encode(a)
	if err != nil {
		return err
	}
	_, err = t.exec("UPDATE approvals SET status = ?, ended = ?, body = ? WHERE name = ?", string(a.Status), nano(a.Ended), body, a.ID)
	return err
}

// Get implements [approval.Store].
func (s *Approvals) Get(ctx context.Context, id string) (a tool.Approval, err error) {
	err = s.db.read(ctx, func(t *tx) error {
		a, err = getApproval(t, id)
		return err
	})
	return a, about("read approval "+id, err)
}

func getApproval(t *tx, id string) (a tool.Approval, err error) {
	err = t.row("SELECT body FROM approvals WHERE name = ?", []any{id}, []any{jsonColumn{&a}})
	if errors.Is(err, sql.ErrNoRows) {
		err = approval.ErrUnknown
	}
	return a, err
}

// List implements [approval.Store].
func (s *Approvals) List(ctx context.Context, f approval.Filter) (list []tool.Approval, next string, err error) {
	var w where
	w.and("name = ?", f.ID)
	w.and("caller = ?", f.Caller)
	w.and("agent = ?", f.Agent)
	w.and("session = ?", f.Session)
	w.and("status = ?", string(f.Status))
	if w.after("created, id", f.After) != nil {
		return nil, "", fmt.Errorf("list approvals: %q: %w", f.After, approval.ErrCursor)
	}
	if f.Limit <= 0 {
		f.Limit = approval.DefaultLimit
	}
	err = s.db.read(ctx, func(t *tx) error {
		var last int64
		return t.each("SELECT id, body FROM approvals WHERE "+w.String()+" ORDER BY created DESC, id DESC LIMIT ?", append(w.args, f.Limit+1),
			func(scan func(...any) error) error {
				if len(list) == f.Limit {
					next = cursor(list[len(list)-1].Created, last)
					return nil
				}
				var a tool.Approval
				err := scan(&last, jsonColumn{&a})
				list = append(list, a)
				return err
			})
	})
	if err != nil {
		return nil, "", fmt.Errorf("list approvals: %w", err)
	}
	return list, next, nil
}

// Expire implements [approval.Store].
func (s *Approvals) Expire(ctx context.Context, now time.Time) (n int, err error) {
	err = s.db.write(ctx, func(t *tx) error {
		n, err = closeOpen(t, "ended IS NULL", nil, func(a *tool.Approval) bool {
			a.Status, a.Ended = tool.ApprovalExpired, a.Expires
			return !now.Before(a.Expires)
		})
		return err
	})
	return n, about("close approvals that nobody answered", err)
}

// closeOpen stores the ends that end gives to open requests for which cond holds,
// and says to how many; those stay for which it is false.
func closeOpen(t *tx, cond string, bound []any, end func(*tool.Approval) bool) (n int, err error) {
	var ended []tool.Approval
	err = t.each("SELECT body FROM approvals WHERE "+cond, bound, func(scan func(...any) error) error {
		var a tool.Approval
		err := scan(jsonColumn{&a})
		if err == nil && end(&a) {
			ended = append(ended, a)
		}
		return err
	})
	for _, a := range ended {
		err = errors.Join(err, closeApproval(t, a))
	}
	return len(ended), err
}

// Desks implements [approval.Store]. It is asked when a process starts, and so
// by the writer, as [Sessions.Unfinished] is.
func (s *Approvals) Desks(ctx context.Context) (desks []string, err error) {
	err = s.db.write(ctx, func(t *tx) error {
		return t.each("SELECT DISTINCT desk FROM approvals WHERE ended IS NULL", nil, func(scan func(...any) error) error {
			var d string
			err := scan(&d)
			desks = append(desks, d)
			return err
		})
	})
	return desks, about("look for open approvals", err)
}

// Waiting implements [approval.Store].
func (s *Approvals) Waiting(ctx context.Context, desk string) (ids []string, err error) {
	err = s.db.read(ctx, func(t *tx) error {
		return t.each("SELECT name FROM approvals WHERE desk = ? AND ended IS NULL", []any{desk}, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
	})
	return ids, about("look for answers", err)
}

// Abandon implements [approval.Store].
func (s *Approvals) Abandon(ctx context.Context, desk string, at time.Time) (n int, err error) {
	err = s.db.write(ctx, func(t *tx) error {
		n, err = closeOpen(t, "desk = ? AND ended IS NULL", []any{desk}, func(a *tool.Approval) bool {
			a.Status, a.Ended = tool.ApprovalLost, at
			return true
		})
		return err
	})
	return n, about("close open approvals", err)
}

// Purge implements [approval.Store].
func (s *Approvals) Purge(ctx context.Context, before time.Time) (n int, err error) {
	err = s.db.write(ctx, func(t *tx) error {
		n, err = t.exec("DELETE FROM approvals WHERE ended < ?", nano(before))
		return err
	})
	return n, about("clear away approvals", err)
}

// putGrant stores g in the place of an equal one, whose name it keeps, and
// returns its name.
func putGrant(t *tx, g approval.Grant) (name string, err error) {
	body, err := encode(g)
	if err != nil {
		return "", err
	}
	err = t.row("INSERT INTO grants (name, person, agent, tool, key, admin, created, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"+
		" ON CONFLICT (person, agent, tool, key, admin) DO UPDATE SET created = excluded.created, body = excluded.body RETURNING name",
		[]any{g.ID, g.Person, g.Agent, g.Tool, g.Key[:], g.Admin, nano(g.Created), body}, []any{&name})
	return name, err
}

// Use implements [approval.Store].
func (s *Approvals) Use(ctx context.Context, person, agent, tool string, key approval.Key, admin bool, at time.Time) (g approval.Grant, err error) {
	// Nearly every question finds nothing, and then needs no writer.
	g, err = s.Find(ctx, person, agent, tool, key, admin)
	if err != nil {
		return g, err
	}
	var r grantRow
	err = s.db.write(ctx, func(t *tx) error {
		// It may have been revoked meanwhile.
		return t.row("UPDATE grants SET used = ?, uses = uses + 1 WHERE name = ? RETURNING "+grantColumns, []any{nano(at), g.ID}, r.into())
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = approval.ErrUnknown
	}
	return r.grant(), about("use a grant", err)
}

// Find implements [approval.Store].
func (s *Approvals) Find(ctx context.Context, person, agent, tool string, key approval.Key, admin bool) (g approval.Grant, err error) {
	var r grantRow
	err = s.db.read(ctx, func(t *tx) error {
		return t.row("SELECT "+grantColumns+" FROM grants WHERE person = ? AND agent = ? AND tool = ? AND key = ? AND admin >= ? ORDER BY admin DESC LIMIT 1",
			[]any{person, agent, tool, key[:], admin}, r.into())
	})
	if errors.Is(err, sql.ErrNoRows) {
		err = approval.ErrUnknown
	}
	return r.grant(), about("look for a grant", err)
}

// Grants implements [approval.Store].
func (s *Approvals) Grants(ctx context.Context, person string) (list []approval.Grant, err error) {
	var w where
	w.and("person = ?", person)
	err = s.db.read(ctx, func(t *tx) error {
		return t.each("SELECT "+grantColumns+" FROM grants WHERE "+w.String()+" ORDER BY created DESC, id DESC", w.args, func(scan func(...any) error) error {
			var r grantRow
			err := scan(r.into()...)
			list = append(list, r.grant())
			return err
		})
	})
	return list, about("list grants", err)
}

// Revoke implements [approval.Store].
func (s *Approvals) Revoke(ctx context.Context, id, person string) error {
	var w where
	w.add("name = ?", id)
	w.and("person = ?", person)
	return about("revoke grant "+id, s.db.write(ctx, func(t *tx) error {
		n, err := t.exec("DELETE FROM grants WHERE "+w.String(), w.args...)
		if err == nil && n == 0 {
			err = approval.ErrUnknown
		}
		return err
	}))
}

const grantColumns = "name, key, used, uses, body"

type grantRow struct {
	approval.Grant
	name string
	key  []byte
	used time.Time
	uses int
}

func (r *grantRow) into() []any {
	return []any{&r.name, &r.key, instant{&r.used}, &r.uses, jsonColumn{&r.Grant}}
}

func (r *grantRow) grant() approval.Grant {
	r.ID, r.Used, r.Uses = r.name, r.used, r.uses
	copy(r.Key[:], r.key)
	return r.Grant
}

// jsonColumn scans a column of JSON.
type jsonColumn struct{ to any }

// Scan implements [sql.Scanner].
func (c jsonColumn) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("JSON is stored as %T", v)
	}
	return json.Unmarshal([]byte(text), c.to)
}

// about is err with what was done before it; nil stays nil.
func about(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
