package sqlite

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// roundRow is a round as its columns hold it.
type roundRow struct {
	reply, message, request string
	before                  any
	media                   carried
}

// replyRest is what of a reply no column of its own holds.
type replyRest struct {
	Usage  llm.Usage  `json:"usage"`
	Target llm.Target `json:"target"`
	Model  string     `json:"model,omitempty"`
	ID     string     `json:"id,omitempty"`
	Cached bool       `json:"cached,omitempty"`
	USD    *float64   `json:"usd,omitempty"`

	Attempts  []llm.Attempt `json:"attempts,omitempty"`
	Notices   []agent.Told  `json:"notices,omitempty"`
	Retracted int           `json:"retracted,omitempty"`
}

func encodeRound(r *agent.Round) (row roundRow, err error) {
	rest := replyRest{r.Reply.Usage, r.Reply.Target, r.Reply.Model, r.Reply.ID, r.Reply.Cached, r.USD, r.Attempts, r.Notices, r.Retracted}
	for _, part := range []struct {
		to *string
		v  any
	}{{&row.reply, rest}, {&row.message, row.media.message(r.Reply.Message, r.Replied)}, {&row.request, r.Request}} {
		if *part.to, err = encode(part.v); err != nil {
			return row, err
		}
	}
	if len(r.Before) > 0 {
		before := make([]llm.Message, len(r.Before))
		for i, m := range r.Before {
			before[i] = row.media.message(m, r.Started)
		}
		row.before, err = encode(before)
	}
	return row, err
}

// put stores r as a round of a turn of the session with the row id; ended is
// zero until it is settled.
func (row roundRow) put(t *tx, id, turn int64, r *agent.Round, ended time.Time) (int64, error) {
	if err := row.media.put(t, id); err != nil {
		return 0, err
	}
	return t.insert("INSERT INTO rounds (turn, number, started, first_token, replied, ended, finish, reply, before, message, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		turn, r.Number, nano(r.Started), nano(r.FirstToken), nano(r.Replied), nano(ended), string(r.Reply.Finish), row.reply, row.before, row.message, row.request)
}

// Marks that stand for a value which is stored elsewhere. None is JSON.
const (
	asWritten = "=" // args: what the model wrote; details: the text
	underRef  = "^" // details: what the outcome's ref keeps
)

// outcomeRow is an outcome as its columns hold it. Nothing is held twice: what
// the model wrote stands in the round, and arguments or details that equal
// another value are replaced by a mark.
type outcomeRow struct {
	tool, status        string
	started, ended      any
	text, origin, parts any
	more, args          any
	details             any
	media               carried
}

// outcomeRest is what no column of its own holds.
type outcomeRest struct {
	Step    string          `json:"step,omitempty"`
	Refusal *tool.Refusal   `json:"refusal,omitempty"`
	Effects []tool.Effect   `json:"effects,omitempty"`
	Touches []tool.Touch    `json:"touches,omitempty"`
	Ref     string          `json:"ref,omitempty"`
	Type    string          `json:"type,omitempty"`
	Chars   int             `json:"chars,omitempty"`
	Digest  string          `json:"digest,omitempty"`
	Cached  bool            `json:"cached,omitempty"`
	Steps   []tool.StepTime `json:"steps,omitempty"`

	Approval *tool.Approval  `json:"approval,omitempty"`
	Nested   []tool.Approval `json:"nested,omitempty"`
}

func encodeOutcome(o *tool.Outcome) (row outcomeRow, err error) {
	row = outcomeRow{tool: o.Tool, status: string(o.Status), started: nano(o.Started), ended: nano(o.Ended)}
	if p, ok := onlyText(o.Content); ok {
		row.text, row.origin = p.Text, null(p.Origin)
	} else if row.parts, err = encode(row.media.parts(o.Content, o.Ended)); err != nil {
		return row, err
	}
	rest := outcomeRest{o.Step, o.Refusal, o.Effects, o.Touches, o.Ref, o.Type, o.Chars, o.Digest, o.Cached, o.Steps, o.Approval, o.Nested}
	more, err := encode(rest)
	if err != nil {
		return row, err
	}
	if more != "{}" {
		row.more = more
	}
	switch {
	case len(o.Args) == 0:
	case string(o.Args) == o.Call.Arguments:
		row.args = asWritten
	default:
		row.args = string(o.Args)
	}
	switch {
	case len(o.Details) == 0:
	case row.text == string(o.Details):
		row.details = asWritten
	default:
		row.details = string(o.Details)
	}
	return row, nil
}

// onlyText returns the part when content is one piece of text and nothing else.
func onlyText(content []llm.Part) (llm.Part, bool) {
	if len(content) != 1 {
		return llm.Part{}, false
	}
	p := content[0]
	plain := p.Kind == llm.KindText && p.Media == nil && p.Call == nil && p.Result == nil && p.Opaque == nil
	return p, plain
}

// dedupe replaces details by a mark when they are, byte for byte, what ref keeps.
func (row *outcomeRow) dedupe(t *tx, ref string) error {
	details, ok := row.details.(string)
	if !ok || ref == "" || details == asWritten {
		return nil
	}
	var kept string
	err := t.row("SELECT sum FROM refs WHERE ref = ?", []any{ref}, []any{&kept})
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if sum := sha256.Sum256([]byte(details)); err == nil && hex.EncodeToString(sum[:]) == kept {
		row.details = underRef
	}
	return err
}

const (
	outcomeSet     = "tool = ?, status = ?, started = ?, ended = ?, text = ?, origin = ?, parts = ?, more = ?, args = ?, details = ?"
	outcomeDiffers = "(tool, status, started, ended, text, origin, parts, more, args, details) IS NOT (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

func (row *outcomeRow) values() []any {
	return []any{row.tool, row.status, row.started, row.ended, row.text, row.origin, row.parts, row.more, row.args, row.details}
}

// storedOutcome scans an outcome.
type storedOutcome struct {
	tool.Outcome
	status, text, origin, parts, more, args, details sql.NullString
}

// into lists where the columns of outcomeColumns go.
func (o *storedOutcome) into() []any {
	return []any{
		&o.Tool, &o.status,
		instant{&o.Started},
		instant{&o.Ended},
		&o.text, &o.origin, &o.parts, &o.more, &o.args, &o.details,
	}
}

// outcome is what was stored, of a call that the model wrote as c. Details
// that its ref keeps are left to be read from there.
func (o *storedOutcome) outcome(c llm.ToolCall) (tool.Outcome, error) {
	out := o.Outcome
	out.Call, out.Status = c, tool.Status(o.status.String)
	switch {
	case o.text.Valid:
		out.Content = []llm.Part{{Kind: llm.KindText, Text: o.text.String, Origin: o.origin.String}}
	default:
		if err := decode(o.parts, &out.Content); err != nil {
			return out, err
		}
	}
	var rest outcomeRest
	if err := decode(o.more, &rest); err != nil {
		return out, err
	}
	out.Step, out.Refusal, out.Effects, out.Touches = rest.Step, rest.Refusal, rest.Effects, rest.Touches
	out.Ref, out.Type, out.Chars, out.Digest, out.Cached, out.Steps = rest.Ref, rest.Type, rest.Chars, rest.Digest, rest.Cached, rest.Steps
	out.Approval, out.Nested = rest.Approval, rest.Nested
	switch {
	case o.args.String == asWritten:
		out.Args = json.RawMessage(c.Arguments)
	case o.args.Valid:
		out.Args = json.RawMessage(o.args.String)
	}
	switch {
	case o.details.String == asWritten:
		out.Details = json.RawMessage(o.text.String)
	case o.details.Valid && o.details.String != underRef:
		out.Details = json.RawMessage(o.details.String)
	}
	return out, nil
}

// outcomesFor makes an open outcome for each call.
func outcomesFor(calls []llm.ToolCall) []tool.Outcome {
	if len(calls) == 0 {
		return nil
	}
	out := make([]tool.Outcome, len(calls))
	for i, c := range calls {
		out[i] = tool.Outcome{Call: c, Tool: c.Name}
	}
	return out
}
