package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// columns returns list with NULL in place of what is not wanted, so that
// SQLite doesn't read the pages it is on.
func columns(wanted bool, list ...string) string {
	out := ""
	for _, c := range list {
		if !wanted {
			c = "NULL"
		}
		out += ", " + c
	}
	return out
}

// Turns implements [session.Store].
func (s *Sessions) Turns(ctx context.Context, key session.Key, first, last int, depth session.Depth) ([]session.Turn, error) {
	if last <= 0 {
		last = math.MaxInt
	}
	var turns []session.Turn
	err := s.db.read(ctx, func(t *tx) error {
		id, err := sessionID(t, key)
		if err != nil {
			return err
		}
		turns, err = readTurns(t, id, first, last, depth)
		return err
	})
	return turns, err
}

const turnColumns = "t.number, iif(t.seeded, '', ifnull(t.copied, t.run)), t.seeded, t.copied IS NOT NULL, t.message, t.model, t.status, t.error, t.origin, t.started, t.ended, " +
	"t.asked, t.caller, t.caller_name, t.caller_role, t.caller_human, t.input, t.cached, t.cache_write, t.output, t.reasoning, t.usd"

// turnRow scans a turn.
type turnRow struct {
	session.Turn
	message sql.NullString
}

func (r *turnRow) into() []any {
	return args([]any{
		&r.Number, &r.Run, &r.Seeded, &r.Copied, &r.message, &r.Model, &r.Status, &r.Error, &r.Origin, instant{&r.Started}, instant{&r.Ended}, &r.Asked,
	}, principalInto(&r.Caller), usageInto(&r.Usage, &r.USD))
}

func readTurns(t *tx, id int64, first, last int, depth session.Depth) ([]session.Turn, error) {
	var turns []session.Turn
	span := []any{id, first, last}
	err := t.each("SELECT "+turnColumns+" FROM turns t WHERE t.session = ? AND t.number BETWEEN ? AND ? ORDER BY t.number", span,
		func(scan func(...any) error) error {
			var r turnRow
			if err := scan(r.into()...); err != nil {
				return err
			}
			turns = append(turns, r.Turn)
			return decode(r.message, &turns[len(turns)-1].Message)
		})
	if err == nil && depth != session.Heads && len(turns) > 0 {
		if err = readRounds(t, span, depth, turns); err == nil {
			err = readOutcomes(t, span, depth, turns)
		}
	}
	if err == nil && depth == session.Whole {
		err = (&loader{t: t}).turns(turns)
	}
	return turns, err
}

// readRounds fills in the rounds of turns, which are those of span, in order.
func readRounds(t *tx, span []any, depth session.Depth, turns []session.Turn) error {
	at := 0
	query := "SELECT t.number, r.number, r.started, r.first_token, r.replied, r.ended, r.finish" +
		columns(depth != session.Traced, "r.before", "r.message") +
		columns(depth != session.Spoken, "r.reply", "r.request") +
		" FROM turns t JOIN rounds r ON r.turn = t.id WHERE t.session = ? AND t.number BETWEEN ? AND ? ORDER BY t.number, r.number"
	return t.each(query, span, func(scan func(...any) error) error {
		var turn int
		var r agent.Round
		var reply, before, message, request sql.NullString
		err := scan(&turn, &r.Number, instant{&r.Started}, instant{&r.FirstToken}, instant{&r.Replied}, instant{&r.Ended},
			&r.Reply.Finish, &before, &message, &reply, &request)
		if err != nil {
			return err
		}
		var rest replyRest
		for _, part := range []struct {
			text sql.NullString
			to   any
		}{{reply, &rest}, {before, &r.Before}, {message, &r.Reply.Message}, {request, &r.Request}} {
			if err := decode(part.text, part.to); err != nil {
				return fmt.Errorf("round %d: %w", r.Number, err)
			}
		}
		r.Reply.Usage, r.Reply.Target, r.Reply.Model, r.Reply.ID, r.Reply.Cached = rest.Usage, rest.Target, rest.Model, rest.ID, rest.Cached
		r.USD, r.Attempts, r.Notices, r.Retracted = rest.USD, rest.Attempts, rest.Notices, rest.Retracted
		r.Calls = r.Reply.Message.Calls()
		r.Outcomes = outcomesFor(r.Calls)
		for turns[at].Number != turn {
			at++
		}
		turns[at].Rounds = append(turns[at].Rounds, r)
		return nil
	})
}

// readOutcomes fills in the outcomes of the rounds of turns.
func readOutcomes(t *tx, span []any, depth session.Depth, turns []session.Turn) error {
	at, round := 0, 0
	query := "SELECT t.number, r.number, c.idx, c.wire, c.tool, c.status, c.started, c.ended" +
		columns(depth != session.Traced, "c.text", "c.origin", "c.parts") +
		columns(depth != session.Spoken, "c.more") +
		columns(depth >= session.Told, "c.args", "c.details") +
		" FROM turns t JOIN rounds r ON r.turn = t.id JOIN calls c ON c.round = r.id" +
		" WHERE t.session = ? AND t.number BETWEEN ? AND ? ORDER BY t.number, r.number, c.idx"
	return t.each(query, span, func(scan func(...any) error) error {
		var o storedOutcome
		var turn, number, index int
		var wire string
		if err := scan(args([]any{&turn, &number, &index, &wire}, o.into())...); err != nil {
			return err
		}
		for turns[at].Number != turn {
			at, round = at+1, 0
		}
		for turns[at].Rounds[round].Number != number {
			round++
		}
		r := &turns[at].Rounds[round]
		call := llm.ToolCall{ID: wire, Name: o.Tool}
		if depth == session.Traced {
			r.Outcomes = append(r.Outcomes, tool.Outcome{})
		} else if index < len(r.Calls) {
			call = r.Calls[index]
		}
		if index >= len(r.Outcomes) {
			return fmt.Errorf("round %d: call %d is not in its message", number, index)
		}
		out, err := o.outcome(call)
		if err != nil {
			return fmt.Errorf("round %d: call %d: %w", number, index, err)
		}
		r.Outcomes[index] = out
		return nil
	})
}

// Runs implements [session.Store].
func (s *Sessions) Runs(ctx context.Context, f session.RunFilter) (runs []session.Run, next string, err error) {
	var w where
	w.add("NOT t.seeded AND t.copied IS NULL")
	w.and("t.run = ?", f.Run)
	w.and("s.agent = ?", f.Agent)
	w.and("s.name = ?", f.ID)
	w.and("t.origin = ?", string(f.Origin))
	w.and("t.caller = ?", f.Caller)
	w.and("t.status = ?", string(f.Status))
	if !f.Since.IsZero() {
		w.add("t.started >= ?", nano(f.Since))
	}
	if err := w.after("t.started, t.id", f.After); err != nil {
		return nil, "", err
	}
	if f.Limit <= 0 {
		f.Limit = session.DefaultLimit
	}
	query := "SELECT t.id, t.session, s.agent, s.name, " + turnColumns + " FROM turns t JOIN sessions s ON s.id = t.session WHERE " +
		w.String() + " ORDER BY t.started DESC, t.id DESC LIMIT ?"
	type place struct {
		row, session int64
		number       int
	}
	err = s.db.read(ctx, func(t *tx) error {
		var places []place
		err := t.each(query, args(w.args, []any{f.Limit + 1}), func(scan func(...any) error) error {
			var r turnRow
			var p place
			var key session.Key
			if err := scan(args([]any{&p.row, &p.session, &key.Agent, &key.ID}, r.into())...); err != nil {
				return err
			}
			if err := decode(r.message, &r.Message); err != nil {
				return err
			}
			p.number = r.Number
			places = append(places, p)
			runs = append(runs, session.Run{Session: key, Turn: r.Turn})
			return nil
		})
		if err != nil {
			return err
		}
		if len(runs) > f.Limit {
			runs = runs[:f.Limit]
			next = cursor(runs[f.Limit-1].Started, places[f.Limit-1].row)
		}
		if f.Depth == session.Heads {
			return nil
		}
		for i := range runs {
			turns, err := readTurns(t, places[i].session, places[i].number, places[i].number, f.Depth)
			if err != nil {
				return err
			}
			runs[i].Turn = turns[0]
		}
		return nil
	})
	return runs, next, err
}
