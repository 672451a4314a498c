package spill

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// rows shows records of a table: those from and to by number, of them those
// that the filter lets through, of them the columns wanted.
func (r *reader) rows(ctx context.Context) (answer, error) {
	t, ok := sniffTable(r.work, r.doc.Text)
	if !ok {
		return answer{}, r.unfit()
	}
	names := t.names()
	columns, err := pickColumns(r.work, r.args.Columns, names)
	if err != nil {
		return answer{}, err
	}
	keep, err := parseFilter(r.work, r.args.Filter, names, t.number)
	if err != nil {
		return answer{}, err
	}
	total := t.count()
	from, to, err := r.span(total, "record", "s")
	if err != nil {
		return answer{}, err
	}

	out := rowsFound{p: raw{room: r.bodyRoom()}}
	if t.header || columns != nil {
		out.p.show(joinRow(pick(names, columns), t.comma) + "\n")
	}
	rows := t.records()
	if t.header {
		rows.next()
	}
	var fields []string
	for number := 1; number <= to; number++ {
		row, ok := rows.next()
		if !ok {
			break
		}
		if number&1023 == 0 && ctx.Err() != nil {
			return answer{}, context.Cause(ctx)
		}
		if number < from {
			continue
		}
		fields = splitRow(r.work, fields[:0], row, t.comma)
		if keep != nil && !keep.holds(fields) {
			continue
		}
		if columns != nil && out.next == 0 {
			row = joinRow(pick(fields, columns), t.comma)
		}
		out.add(number, row)
	}
	a := answer{head: []string{counted(total, "record", "s"), counted(t.cols, "column", "s")}, body: string(out.p.buf)}
	switch {
	case out.matched == 0:
		a.note = "no record matches the filter; the columns are: " + columnList(names, 150)
	case keep != nil:
		a.head = append(a.head, fmt.Sprintf("%d match, shown are %d of records %d-%d", out.matched, out.shown, out.first, out.last))
	default:
		a.head = append(a.head, fmt.Sprintf("records %d-%d", out.first, out.last))
	}
	if keep != nil && keep.odd > 0 {
		if a.note != "" {
			a.note += ". "
		}
		a.note += fmt.Sprintf("numbers were compared, and %s had none there, for example %s", counted(keep.odd, "record", "s"), quote(cutWith(keep.oddField, 40)))
	}
	if out.matched > out.shown {
		a.more = r.again(out.next)
	}
	return a, nil
}

// rowsFound collects records as far as they fit, and counts the others.
type rowsFound struct {
	p              raw
	matched, shown int
	first, last    int // numbers of those shown
	next           int // number of the first one that does not fit
}

func (f *rowsFound) add(number int, row string) {
	f.matched++
	if f.next > 0 {
		return
	}
	if f.p.show(row + "\n"); f.p.full {
		if f.shown > 0 {
			f.next = number
			return
		}
		f.p.full = false // a long one that comes first is cut
		f.p.show(cutWith(row, f.p.room-2) + "\n")
		f.next = number + 1
	}
	if f.shown++; f.shown == 1 {
		f.first = number
	}
	f.last = number
}

// names are those of the columns; without a header their numbers.
func (t table) names() []string {
	if t.header {
		r := t.records()
		if row, ok := r.next(); ok {
			return splitRow(t.work, nil, row, t.comma)
		}
	}
	names := make([]string, t.cols)
	for i := range names {
		names[i] = strconv.Itoa(i + 1)
	}
	return names
}

// count is the number of records below the header.
func (t table) count() int {
	n := 0
	for r := t.records(); ; n++ {
		if _, ok := r.next(); !ok {
			break
		}
	}
	if t.header {
		n--
	}
	return n
}

// pickColumns finds the columns wanted; nil means all of them.
func pickColumns(work *meter, wanted []any, names []string) ([]int, error) {
	var columns []int
	for _, w := range wanted {
		i := -1
		switch w := w.(type) {
		case string:
			for _, name := range strings.Split(w, ",") { // some write them in one string
				if i = columnIndex(work, name, names); i < 0 {
					break
				}
				columns = append(columns, i)
			}
			if i >= 0 {
				continue
			}
			if i = columnIndex(work, w, names); i >= 0 { // or a name has a comma
				columns = append(columns, i)
				continue
			}
		case json.Number:
			i = columnIndex(work, w.String(), names)
		case float64:
			i = columnIndex(work, strconv.Itoa(int(w)), names)
		default:
			return nil, fmt.Errorf("columns are names or numbers from 1; they are: %s", columnList(names, 1000))
		}
		if i < 0 {
			return nil, fmt.Errorf("there is no column %v; the columns are: %s", w, columnList(names, 1000))
		}
		columns = append(columns, i)
	}
	return columns, nil
}

// columnIndex finds a column by its name, by its name in another case, or by
// its number from 1. It is −1 when there is none.
func columnIndex(work *meter, name string, names []string) int {
	work.spend(2 * len(names))
	name = strings.TrimSpace(name)
	for i, n := range names {
		if strings.TrimSpace(n) == name {
			return i
		}
	}
	for i, n := range names {
		if strings.EqualFold(strings.TrimSpace(n), name) {
			return i
		}
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(names) {
		return n - 1
	}
	return -1
}

// columnList names columns for a line of ours of about limit characters.
func columnList(names []string, limit int) string {
	var b strings.Builder
	for i, name := range names {
		name = cutWith(strings.TrimSpace(name), 40)
		if b.Len()+len(name) > limit {
			fmt.Fprintf(&b, ", … (%d columns)", len(names))
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String()
}

// pick takes the fields of columns; a field that a short row lacks is empty.
func pick(fields []string, columns []int) []string {
	if columns == nil {
		return fields
	}
	out := make([]string, len(columns))
	for i, c := range columns {
		if c < len(fields) {
			out[i] = fields[c]
		}
	}
	return out
}

func joinRow(fields []string, comma byte) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(comma)
		}
		quoteField(&b, f, comma)
	}
	return b.String()
}
