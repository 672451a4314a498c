package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/tool"
)

// maxHandCalls is how many calls by hand are kept of a tool of an agent.
const maxHandCalls = 500

// KeepCall implements [engine.Calls]. At most 500 are kept of each tool. Calls of
// names that nothing has are not kept: anybody can make up any number of these.
func (s *Sessions) KeepCall(ctx context.Context, c engine.HandCall) error {
	nameless := func(o tool.Outcome) bool { return o.Step == "resolve" }
	if nameless(c.Outcome) {
		return nil
	}
	made := sideCalls{values: "NULL, ?, ?, ?", args: []any{c.Agent, c.Session, c.Caller}}
	own := slices.DeleteFunc(slices.Clone(c.Own), nameless)
	return s.db.write(ctx, func(t *tx) error {
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
			if _, err := t.exec("DELETE FROM side_calls WHERE call IS NULL AND agent = ?1 AND tool = ?2 AND id <="+
				" (SELECT id FROM side_calls WHERE call IS NULL AND agent = ?1 AND tool = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)", c.Agent, name, maxHandCalls); err != nil {
				return err
			}
		}
		return nil
	})
}

// putOwn stores what the tool of the call at index of a round made, in place of
// what was stored of that before.
func putOwn(t *tx, round int64, index int, o *tool.Outcome) error {
	if len(o.Own) == 0 {
		return nil
	}
	if _, err := t.exec("DELETE FROM side_calls WHERE call = (SELECT id FROM calls WHERE round = ? AND idx = ?)", round, index); err != nil {
		return err
	}
	made := sideCalls{
		values: "c.id, s.agent, s.name, s.caller", args: []any{round, index},
		from: " FROM calls c JOIN sessions s ON s.id = c.session WHERE c.round = ? AND c.idx = ?",
	}
	return made.put(t, o.Tool, o.Own)
}

// sideCalls says whose calls are stored: values of the columns call, agent,
// session and caller, and where they are from.
type sideCalls struct {
	values, from string
	args         []any // of both
}

// put stores calls that parent made, in short.
func (c *sideCalls) put(t *tx, parent string, made []tool.Outcome) error {
	for i := range made {
		o := &made[i]
		body, err := encode(o)
		if err != nil {
			return err
		}
		own := []any{parent, o.Tool, string(o.Status), o.Started.UnixNano(), o.Ended.UnixNano(), body}
		query := "INSERT INTO side_calls (parent, tool, status, started, ended, body, copied, call, agent, session, caller) SELECT ?, ?, ?, ?, ?, ?, 0, " + c.values + c.from
		if _, err := t.exec(query, args(own, c.args)...); err != nil {
			return err
		}
	}
	return nil
}

// lastSide is the newest of the calls that no model wrote.
func lastSide(t *tx, q engine.CallQuery) (c engine.StoredCall, ok bool, err error) {
	var hand sql.NullString
	err = t.row("SELECT parent, iif(call IS NULL, caller, NULL), body FROM side_calls"+
		" WHERE agent = ? AND tool = ? AND (session = ? OR ? = '' AND NOT copied) AND (? = '' OR caller = ?) ORDER BY id DESC LIMIT 1",
		[]any{q.Agent, q.Tool, q.Session, q.Session, q.Caller, q.Caller}, []any{&c.Parent, &hand, jsonColumn{&c.Outcome}})
	c.Hand = hand.String
	if errors.Is(err, sql.ErrNoRows) {
		return c, false, nil
	}
	return c, err == nil, err
}
