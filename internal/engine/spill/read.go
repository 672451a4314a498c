package spill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

// ReadArgs are the arguments of read_output.
type ReadArgs struct {
	Ref     string `json:"ref" jsonschema:"from the header"`
	Mode    string `json:"mode,omitempty" enum:"head,tail,lines,search,path,rows,stats" default:"head"`
	Query   string `json:"query,omitempty" jsonschema:"what to find, or the path"`
	Regex   bool   `json:"regex,omitempty" jsonschema:"query is RE2, per line"`
	Context int    `json:"context,omitempty" min:"0" max:"50" jsonschema:"lines around a match"`
	From    int    `json:"from,omitempty" jsonschema:"first line, record, match or result; from 1, negative from the end"`
	To      int    `json:"to,omitempty" jsonschema:"last, included"`
	Columns []any  `json:"columns,omitempty" jsonschema:"names or numbers from 1"`
	Filter  string `json:"filter,omitempty" jsonschema:"amount > 100 and name contains 'x'"`
}

// fitting lists the modes that read a type, the likeliest first.
func fitting(t Type) []string {
	switch t {
	case JSON, JSONL, HTML, XML:
		return []string{"search", "path", "head", "tail", "lines", "stats"}
	case CSV:
		return []string{"rows", "search", "head", "tail", "lines", "stats"}
	case Binary:
		return []string{"head", "tail", "search", "stats"}
	}
	return []string{"search", "lines", "head", "tail", "stats"}
}

// reader answers one read_output call from a kept result.
type reader struct {
	doc  Doc
	args ReadArgs
	room int    // code points that the whole answer may have
	work *meter // of the call; set by read
}

// answer is what a reader found: pieces of the source with words of ours
// around them. The source is raw; its visible form is what has to fit.
type answer struct {
	head []string // what it is, for the first line
	body string
	more string // the call that goes on where this answer ends
	note string
}

// text is the answer as the tool returns it.
func (r *reader) text(a answer) string {
	var b strings.Builder
	b.WriteString("[ref " + r.doc.Ref)
	for _, h := range a.head {
		b.WriteString(" | ")
		b.WriteString(h)
	}
	b.WriteString("]\n")
	b.WriteString(a.body)
	if a.body != "" && !strings.HasSuffix(a.body, "\n") && (a.more != "" || a.note != "") {
		b.WriteByte('\n')
	}
	if a.note != "" {
		b.WriteString("[" + a.note + "]\n")
	}
	if a.more != "" {
		b.WriteString("[" + a.more + "]\n")
	}
	return b.String()
}

// read answers the call. An error tells what to do instead.
func (r *reader) read(ctx context.Context) (string, error) {
	if r.args.Mode == "" {
		r.args.Mode = "head"
	}
	if !slices.Contains(fitting(r.doc.Type), r.args.Mode) {
		return "", r.unfit()
	}
	var a answer
	var err error
	r.work = looking(ctx, r.doc.Text)
	stopped := r.work.run(func() { a, err = r.answer(ctx) })
	switch {
	case stopped != nil:
		return "", fmt.Errorf("%w; ask for less at a time", stopped)
	case err != nil:
		return "", err
	}
	return r.text(a), nil
}

// answer reads as the mode says.
func (r *reader) answer(ctx context.Context) (answer, error) {
	switch r.args.Mode {
	case "tail":
		return r.tail()
	case "lines":
		return r.lines()
	case "search":
		return r.search(ctx)
	case "path":
		return r.path(ctx)
	case "rows":
		return r.rows(ctx)
	case "stats":
		return r.stats(ctx)
	}
	return r.head()
}

// unfit says why the mode can't read this type, and what can.
func (r *reader) unfit() error {
	why := ""
	switch r.args.Mode {
	case "rows":
		why = "rows reads csv"
		if r.doc.Type == JSON || r.doc.Type == JSONL {
			why += "; for this, mode path takes a jq query such as .[0:10]"
		}
	case "path":
		why = "path reads json, jsonl (jq), html (CSS selector) and xml (XPath)"
		if r.doc.Type == CSV {
			why += "; for this, mode rows takes columns and a filter"
		}
	case "lines":
		why = "bytes have no lines"
	default:
		return fmt.Errorf("there is no mode %q; this output is of type %s, for which there are: %s",
			r.args.Mode, r.doc.Type, strings.Join(fitting(r.doc.Type), ", "))
	}
	return fmt.Errorf("mode %q does not fit: %s. This output is of type %s; fitting modes: %s",
		r.args.Mode, why, r.doc.Type, strings.Join(fitting(r.doc.Type), ", "))
}

// frame is the room that the first and the last line of an answer take at most,
// without the query that they may repeat.
const frame = 330

// span turns from and to, which count from 1, or from the end when negative,
// into a range of total things. An empty range is an error that names them.
func (r *reader) span(total int, thing, plural string) (from, to int, err error) {
	from, to = r.args.From, r.args.To
	if from < 0 {
		from = max(total+from+1, 1)
	}
	if to < 0 {
		to += total + 1
	}
	if from == 0 {
		from = 1
	}
	if to == 0 || to > total {
		to = total
	}
	switch {
	case total == 0:
		return 0, 0, errors.New(there(total, thing, plural))
	case from > total:
		return 0, 0, fmt.Errorf("from %d is beyond the end: %s", from, there(total, thing, plural))
	case r.args.To < 0 && to < 1 || from > to:
		return 0, 0, fmt.Errorf("from %d to %d is no range: %s", r.args.From, r.args.To, there(total, thing, plural))
	}
	return from, to, nil
}

// fromEnd counts from and to from the beginning where they were counted from
// the end of total things.
func (r *reader) fromEnd(total int, thing, plural string) error {
	if total == 0 {
		r.args.From, r.args.To = 0, 0 // there is another way to say so
		return nil
	}
	var err error
	r.args.From, r.args.To, err = r.span(total, thing, plural)
	return err
}

// ordered refuses a range that ends before it begins.
func (r *reader) ordered() error {
	if r.args.To > 0 && r.args.From > r.args.To {
		return fmt.Errorf("from %d to %d is no range", r.args.From, r.args.To)
	}
	return nil
}

// head reads from a character on, as many whole lines as fit, or a part of a
// line that doesn't.
func (r *reader) head() (answer, error) {
	if r.doc.Type == Binary {
		return r.bytes(false)
	}
	from, to, err := r.span(r.doc.Chars, "character", "s")
	if err != nil {
		return answer{}, err
	}
	start, end := r.byteAt(from), r.byteAt(to+1)
	body := r.window(r.doc.Text[start:end], 2)
	a := r.passage(start, start+len(body), from)
	if start+len(body) < end {
		a.more = "more: " + r.call("head", from+runes(body), r.args.To)
	}
	return a, nil
}

// lines reads whole lines; one that alone is too long is read as by head.
func (r *reader) lines() (answer, error) {
	from, to, err := r.span(r.doc.Lines, "line", "s")
	if err != nil {
		return answer{}, err
	}
	start := lineStart(r.doc.Text, 0, from-1)
	end := lineStart(r.doc.Text, start, to-from+1)
	body := r.window(r.doc.Text[start:end], 1000)
	stop := start + len(body)
	first := r.charsBefore(start) + 1
	a := r.passage(start, stop, first)
	switch {
	case stop == end:
	case strings.HasSuffix(body, "\n"):
		a.more = "more: " + r.call("lines", from+strings.Count(body, "\n"), r.args.To)
	default:
		last := 0
		if end < len(r.doc.Text) {
			last = first + runes(r.doc.Text[start:end]) - 1
		}
		a.more = "more: " + r.call("head", first+runes(body), last)
	}
	return a, nil
}

// tail reads the end, or what ends with the character to.
func (r *reader) tail() (answer, error) {
	if r.doc.Type == Binary {
		return r.bytes(true)
	}
	note := ""
	if r.args.From != 0 {
		note = "tail takes no from; for a part of the text use mode lines or head"
		r.args.From = 0
	}
	_, to, err := r.span(r.doc.Chars, "character", "s")
	if err != nil {
		return answer{}, err
	}
	end := r.byteAt(to + 1)
	body := suffix(r.doc.Text[:end], r.room-frame)
	if len(body) < end {
		if i := strings.IndexByte(body, '\n'); i >= 0 && i < len(body)/2 {
			body = body[i+1:]
		}
	}
	start := end - len(body)
	first := to - runes(body) + 1
	a := r.passage(start, end, first)
	a.note = note
	if start > 0 {
		a.more = "before: " + r.call("tail", 0, first-1)
	}
	return a, nil
}

// window is the beginning of s that fits: whole lines when they are at least
// one share-th of it, else cut at a grapheme.
func (r *reader) window(s string, share int) string {
	cut := prefix(s, r.room-frame)
	if len(cut) == len(s) {
		return s
	}
	if i := strings.LastIndexByte(cut, '\n') + 1; i > 0 && i*share >= len(cut) {
		return cut[:i]
	}
	return cut
}

// passage is an answer with the bytes from start to end, of which the first is
// the character first.
func (r *reader) passage(start, end, first int) answer {
	body := r.doc.Text[start:end]
	line := 1 + strings.Count(r.doc.Text[:start], "\n")
	last := line + max(lineCount(body)-1, 0)
	return answer{
		head: []string{
			fmt.Sprintf("characters %d-%d of %d", first, first+runes(body)-1, r.doc.Chars),
			fmt.Sprintf("lines %d-%d of %d", line, last, r.doc.Lines),
		},
		body: body,
	}
}

// bytes reads binary data as a dump; from and to count bytes.
func (r *reader) bytes(end bool) (answer, error) {
	total := len(r.doc.Text)
	from, to, err := r.span(total, "byte", "s")
	if err != nil {
		return answer{}, err
	}
	fit := max((r.room-frame)/dumpWidth, 1) * dumpRow
	a := answer{}
	if end {
		if from = max(from, to-fit+1); from > 1 {
			a.more = "before: " + r.call("tail", 0, from-1)
		}
	} else if from+fit-1 < to {
		to = from + fit - 1
		a.more = "more: " + r.call("head", to+1, r.args.To)
	}
	a.head = []string{"binary data, " + describeBinary(r.doc.Text), fmt.Sprintf("bytes %d-%d of %d", from, to, total)}
	var b strings.Builder
	dump(&b, r.doc.Text[from-1:to], from-1)
	a.body = b.String()
	return a, nil
}

// call writes a read_output call that reads on with the other arguments of
// this one.
func (r *reader) call(mode string, from, to int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "read_output(ref: %q, mode: %q", r.doc.Ref, mode)
	if mode == r.args.Mode {
		if r.args.Query != "" {
			b.WriteString(", query: " + quote(visible.Reveal(r.args.Query)))
		}
		if r.args.Regex {
			b.WriteString(", regex: true")
		}
		if r.args.Context > 0 {
			fmt.Fprintf(&b, ", context: %d", r.args.Context)
		}
		if len(r.args.Columns) > 0 {
			if text, err := json.Marshal(r.args.Columns); err == nil {
				b.WriteString(", columns: " + string(text))
			}
		}
		if r.args.Filter != "" {
			b.WriteString(", filter: " + quote(r.args.Filter))
		}
	}
	if from != 0 {
		fmt.Fprintf(&b, ", from: %d", from)
	}
	if to != 0 {
		fmt.Fprintf(&b, ", to: %d", to)
	}
	b.WriteByte(')')
	return b.String()
}

// quote writes s as a JSON string.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// again is the call that goes on from another number, all else as in this one.
func (r *reader) again(from int) string {
	if text := r.call(r.args.Mode, from, r.args.To); visible.Count(text) <= r.room/4 {
		return "more: " + text
	}
	return fmt.Sprintf("more: the same call with from: %d", from)
}

// bodyRoom is what an answer whose last line is made by again leaves for its
// body.
func (r *reader) bodyRoom() int { return r.room - frame - r.room/4 }

// byteAt is where character n of the text begins, counted from 1.
func (r *reader) byteAt(n int) int {
	if n > r.doc.Chars {
		return len(r.doc.Text)
	}
	if r.doc.Chars == len(r.doc.Text) { // all of it is ASCII, or single bytes
		return n - 1
	}
	i := 0
	for s := r.doc.Text; n > 1; n-- {
		_, k := utf8.DecodeRuneInString(s[i:])
		i += k
	}
	return i
}

// charsBefore counts the characters before byte i.
func (r *reader) charsBefore(i int) int {
	if r.doc.Chars == len(r.doc.Text) {
		return i
	}
	return runes(r.doc.Text[:i])
}

// lineStart is where the line begins that is n lines after byte from.
func lineStart(s string, from, n int) int {
	for ; n > 0; n-- {
		i := strings.IndexByte(s[from:], '\n')
		if i < 0 {
			return len(s)
		}
		from += i + 1
	}
	return from
}
