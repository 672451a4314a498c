package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

const (
	maxHandCalls = 500 // calls by hand that are kept of a tool of an agent
	maxOpenCalls = 200 // calls that are kept open which one call made; the newest
)

// OpenCall implements [engine.Calls].
func (s *Sessions) OpenCall(ctx context.Context, c engine.SideCall) error {
	made := sideCalls{open: c.By, root: c.Root, values: "NULL, ?, ?, ?", args: []any{c.Agent, c.Session, c.Caller}}
	if c.Run != "" {
		made.root, made.values, made.args = c.Run+"/"+c.Root, "c.id, s.agent, s.name, s.caller", []any{c.Run, c.Root}
		made.from = " FROM turns t JOIN sessions s ON s.id = t.session JOIN rounds r ON r.turn = t.id JOIN calls c ON c.round = r.id" +
			" WHERE t.run = ? AND c.wire = ? AND c.status IS NULL ORDER BY c.id DESC LIMIT 1"
	}
	return s.db.write(ctx, func(t *tx) error {
		if err := made.put(t, c.Parent, []tool.Outcome{c.Short()}); err != nil {
			return err
		}
		_, err := t.exec("DELETE FROM side_calls WHERE open = ?1 AND root = ?2 AND parent <> '' AND id <="+
			" (SELECT id FROM side_calls WHERE open = ?1 AND root = ?2 AND parent <> '' ORDER BY id DESC LIMIT 1 OFFSET ?3)", c.By, made.root, maxOpenCalls)
		return err
	})
}

// OpenBy implements [engine.Calls].
func (s *Sessions) OpenBy(ctx context.Context) (by []string, err error) {
	err = s.db.read(ctx, func(t *tx) error {
		return t.each("SELECT DISTINCT open FROM side_calls WHERE open IS NOT NULL", nil, func(scan func(...any) error) error {
			var one string
			err := scan(&one)
			by = append(by, one)
			return err
		})
	})
	return by, err
}

// InterruptCalls implements [engine.Calls].
func (s *Sessions) InterruptCalls(ctx context.Context, by string, at time.Time) (n int, err error) {
	o := session.Interrupted(llm.ToolCall{}, at)
	content, err := encode(o.Content)
	if err != nil {
		return 0, err
	}
	err = s.db.write(ctx, func(t *tx) error {
		n, err = t.exec("UPDATE side_calls SET open = NULL, root = NULL, status = ?1, ended = ?2,"+
			" body = json_set(body, '$.status', ?1, '$.ended', ?3, '$.content', json(?4)) WHERE open = ?5",
			string(o.Status), nano(at), at.UTC().Format(time.RFC3339Nano), content, by)
		return err
	})
	return n, err
}

// KeepCall implements [engine.Calls]. At most 500 are kept of each tool. Calls of
// names that nothing has are not kept: anybody can make up any number of these.
func (s *Sessions) KeepCall(ctx context.Context, c engine.SideCall) error {
	nameless := func(o tool.Outcome) bool { return o.Step == "resolve" }
	if nameless(c.Outcome) {
		return nil
	}
	made := sideCalls{values: "NULL, ?, ?, ?", args: []any{c.Agent, c.Session, c.Caller}}
	own := slices.DeleteFunc(slices.Clone(c.Own), nameless)
	return s.db.write(ctx, func(t *tx) error {
		if _, err := t.exec("DELETE FROM side_calls WHERE open IS NOT NULL AND root = ?", c.Call.ID); err != nil {
			return err
		}
		if err := made.put(t, c.Tool, own); err != nil {
			return err
		}
		if err := made.put(t, "", []tool.Outcome{c.Short()}); err != nil {
			return err
		}
		tools := map[string]bool{c.Tool: true}
		for i := range own {
			tools[own[i].Tool] = true
		}
		for name := range tools {
			if _, err := t.exec(pruneHand, c.Agent, name, maxHandCalls); err != nil {
				return err
			}
		}
		return nil
	})
}

// pruneHand removes the oldest calls by hand of a tool.
const pruneHand = "DELETE FROM side_calls WHERE call IS NULL AND agent = ?1 AND tool = ?2 AND id <=" +
	" (SELECT id FROM side_calls WHERE call IS NULL AND agent = ?1 AND tool = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)"

// putOwn stores what the tool of the call at index of a round made, in place of
// what was stored of that while it ran. What is there already is left alone.
func putOwn(t *tx, round int64, index int, o *tool.Outcome) error {
	if len(o.Own) == 0 {
		return nil
	}
	var call int64
	var open, ended int
	if err := t.row("SELECT c.id, count(x.open), count(x.id) - count(x.open) FROM calls c LEFT JOIN side_calls x ON x.call = c.id WHERE c.round = ? AND c.idx = ?",
		[]any{round, index}, []any{&call, &open, &ended}); err != nil {
		return err
	}
	if open == 0 && ended == len(o.Own) {
		return nil
	}
	if _, err := t.exec("DELETE FROM side_calls WHERE call = ?", call); err != nil {
		return err
	}
	made := sideCalls{
		values: "c.id, s.agent, s.name, s.caller", args: []any{call},
		from: " FROM calls c JOIN sessions s ON s.id = c.session WHERE c.id = ?",
	}
	return made.put(t, o.Tool, o.Own)
}

// sideCalls says whose calls are stored: values of the columns call, agent,
// session and caller, and where they are from.
type sideCalls struct {
	values, from string
	args         []any  // of both
	open, root   string // columns of those that run; empty for none
}

// put stores calls that parent made, in short.
func (c *sideCalls) put(t *tx, parent string, made []tool.Outcome) error {
	for i := range made {
		o := &made[i]
		body, err := encode(o)
		if err != nil {
			return err
		}
		ended := o.Ended
		if ended.IsZero() { // it runs
			ended = o.Started
		}
		own := []any{parent, o.Tool, string(o.Status), o.Started.UnixNano(), ended.UnixNano(), body, null(c.open), null(c.root)}
		query := "INSERT INTO side_calls (parent, tool, status, started, ended, body, open, root, copied, call, agent, session, caller) SELECT ?, ?, ?, ?, ?, ?, ?, ?, 0, " + c.values + c.from
		if _, err := t.exec(query, args(own, c.args)...); err != nil {
			return err
		}
	}
	return nil
}

// sideOf chooses calls that no model wrote, by an index whatever is asked for.
func sideOf(q engine.CallQuery) *where {
	var w where
	w.add("agent = ?", q.Agent)
	w.and("session = ?", q.Session)
	if q.Session == "" {
		w.add("NOT copied")
	}
	w.and("caller = ?", q.Caller)
	w.and("tool = ?", q.Tool)
	return &w
}

// lastSide is the newest of the calls that no model wrote.
func lastSide(t *tx, q engine.CallQuery) (c engine.StoredCall, ok bool, err error) {
	if q.Tool == "" {
		return c, false, nil
	}
	var hand sql.NullString
	w := sideOf(q)
	err = t.row("SELECT parent, iif(call IS NULL, caller, NULL), body FROM side_calls WHERE "+w.String()+" ORDER BY started DESC, id DESC LIMIT 1",
		w.args, []any{&c.Parent, &hand, jsonColumn{&c.Outcome}})
	c.Hand = hand.String
	if errors.Is(err, sql.ErrNoRows) {
		return c, false, nil
	}
	return c, err == nil, err
}
