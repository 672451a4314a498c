package sqlite

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
)

// encode is v as JSON, without escapes that only HTML needs.
func encode(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return string(bytes.TrimRight(b.Bytes(), "\n")), nil
}

// decode is the inverse of encode; NULL leaves v as it is.
func decode(text sql.NullString, v any) error {
	if !text.Valid {
		return nil
	}
	if err := json.Unmarshal([]byte(text.String), v); err != nil {
		return fmt.Errorf("decode a stored %T: %w", v, err)
	}
	return nil
}

// nano is t for a column: NULL when it is zero.
func nano(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

// instant scans a column of times.
type instant struct{ to *time.Time }

// Scan implements [sql.Scanner].
func (i instant) Scan(v any) error {
	return scanTime(i.to, v, func(n int64) time.Time { return time.Unix(0, n) })
}

// scanTime reads a column of times; NULL is the zero time.
func scanTime(to *time.Time, v any, at func(int64) time.Time) error {
	switch n := v.(type) {
	case nil:
		*to = time.Time{}
	case int64:
		*to = at(n).UTC()
	default:
		return fmt.Errorf("a time is stored as %T", v)
	}
	return nil
}

// null is s for a column: NULL when it is empty.
func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// principal lists the columns of p in the order of principalColumns.
func principal(p auth.Principal) []any { return []any{p.ID, p.Name, string(p.Role), p.Human} }

func principalInto(p *auth.Principal) []any { return []any{&p.ID, &p.Name, &p.Role, &p.Human} }

const principalColumns = "caller, caller_name, caller_role, caller_human"

// usage lists the columns of what was used and what that cost, in the order of
// usageColumns.
func usage(u llm.Usage, usd *float64) []any {
	return []any{u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning, usd}
}

func usageInto(u *llm.Usage, usd **float64) []any {
	return []any{&u.Input, &u.Cached, &u.CacheWrite, &u.Output, &u.Reasoning, usd}
}

const (
	usageColumns = "input, cached, cache_write, output, reasoning, usd"
	// An unknown cost makes the sum unknown: NULL stays NULL.
	usageAdded = "input = input + ?, cached = cached + ?, cache_write = cache_write + ?, output = output + ?, reasoning = reasoning + ?, usd = usd + ?"
)

// args joins lists of arguments.
func args(lists ...[]any) []any {
	var all []any
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// where collects conditions and their arguments.
type where struct {
	conds []string
	args  []any
}

func (w *where) add(cond string, args ...any) {
	w.conds = append(w.conds, cond)
	w.args = append(w.args, args...)
}

// and adds cond unless value is empty.
func (w *where) and(cond, value string) {
	if value != "" {
		w.add(cond, value)
	}
}

func (w *where) String() string {
	if len(w.conds) == 0 {
		return "TRUE"
	}
	return strings.Join(w.conds, " AND ")
}

// A cursor continues a list that is ordered by a time and a row's id, both
// falling.
func cursor(at time.Time, id int64) string {
	return strconv.FormatInt(at.UnixNano(), 36) + "-" + strconv.FormatInt(id, 36)
}

// after adds the condition that rows stand behind cursor, if there is one.
// columns are the list's time and id.
func (w *where) after(columns, cursor string) error {
	if cursor == "" {
		return nil
	}
	at, id, ok := strings.Cut(cursor, "-")
	nanos, err1 := strconv.ParseInt(at, 36, 64)
	row, err2 := strconv.ParseInt(id, 36, 64)
	if !ok || err1 != nil || err2 != nil {
		return fmt.Errorf("%q: %w", cursor, session.ErrCursor)
	}
	w.add("("+columns+") < (?, ?)", nanos, row)
	return nil
}
