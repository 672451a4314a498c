package spill

import (
	"strconv"
	"strings"
)

// table is text that reads as rows and columns: CSV, or the same with another
// delimiter.
type table struct {
	body   string // from the first row on
	comma  byte
	header bool // the first row names the columns
	cols   int  // of the first row
	work   *meter
}

// records walks the rows of a table. A line break within quotes is part of its
// row; blank lines are no rows.
type records struct {
	s     string
	comma byte
	plain bool // a quote was opened and never closed: quotes mean nothing from there on
	work  *meter
}

func (t table) records() records { return records{s: t.body, comma: t.comma, work: t.work} }

// next returns the next row without its line end.
func (r *records) next() (string, bool) {
	for r.s != "" {
		end := r.rowEnd()
		r.work.spend(end)
		row := r.s[:end]
		r.s = r.s[end:]
		row = strings.TrimSuffix(row, "\n")
		row = strings.TrimSuffix(row, "\r")
		if row != "" {
			return row, true
		}
	}
	return "", false
}

// rowEnd is the end of the first row of r.s, line feed included.
func (r *records) rowEnd() int {
	line := strings.IndexByte(r.s, '\n') + 1
	if line == 0 {
		line = len(r.s)
	}
	r.work.spend(line)
	if r.plain || strings.IndexByte(r.s[:line], '"') < 0 {
		return line
	}
	for i := 0; i < len(r.s); {
		if r.s[i] == '"' {
			end := quoteEnd(r.work, r.s, i, r.comma, false)
			if end < 0 {
				r.plain = true
				return line
			}
			i = end
		}
		for i < len(r.s) && r.s[i] != r.comma && r.s[i] != '\n' {
			i++
		}
		if i == len(r.s) {
			break
		}
		i++
		if r.s[i-1] == '\n' {
			return i
		}
	}
	return len(r.s)
}

// quoteEnd is the end of the quoted field whose opening quote is at i, or −1
// when it never ends. A quote ends the field only before a delimiter or a line
// end, so that a stray one inside doesn't, and two quotes in a row are one of
// the text. Of quotes in a row it is so the last that may end the field, when
// their number is odd, whatever came before them: where no field behind i ends
// that way, none does that begins later, unless with its own first quotes. Who
// knows that of s from i on sets alone, and then only those are looked at.
func quoteEnd(work *meter, s string, i int, comma byte, alone bool) int {
	from := i
	defer func() { work.spend(i - from) }()
	for i++; i < len(s); {
		run := i
		for i < len(s) && s[i] == '"' {
			i++
		}
		if (i-run)%2 == 1 && (i == len(s) || s[i] == comma || s[i] == '\n' || s[i:] == "\r" || strings.HasPrefix(s[i:], "\r\n")) {
			return i
		}
		j := strings.IndexByte(s[i:], '"')
		switch {
		case alone:
			return -1
		case j < 0:
			i = len(s)
			return -1
		}
		i += j
	}
	return -1
}

// splitRow appends the fields of row, unquoted, to dst.
func splitRow(work *meter, dst []string, row string, comma byte) []string {
	work.spend(len(row))
	alone := false // no later quote of the row ends a field
	for {
		if row != "" && row[0] == '"' {
			if end := quoteEnd(work, row, 0, comma, alone); end >= 0 {
				dst = append(dst, strings.ReplaceAll(row[1:end-1], `""`, `"`))
				if end >= len(row) {
					return dst
				}
				row = row[end+1:]
				continue
			}
			alone = true
		}
		i := strings.IndexByte(row, comma)
		if i < 0 {
			return append(dst, row)
		}
		dst = append(dst, row[:i])
		row = row[i+1:]
	}
}

// quoteField writes a field the way that splitRow reads it.
func quoteField(b *strings.Builder, field string, comma byte) {
	if field == "" || strings.IndexByte(field, comma) < 0 && !strings.ContainsAny(field, "\"\r\n") {
		b.WriteString(field)
		return
	}
	b.WriteByte('"')
	b.WriteString(strings.ReplaceAll(field, `"`, `""`))
	b.WriteByte('"')
}

const (
	sniffRows  = 20      // rows that must agree
	sniffBytes = 1 << 20 // text looked at
)

// sniffTable finds out whether s is a table: at least three rows and two
// columns, and the same number of columns in the first rows. Lines of comments
// may come first, the last of which may name the columns.
func sniffTable(work *meter, s string) (table, bool) {
	s = strings.TrimLeft(strings.TrimPrefix(s, bom), "\r\n")
	if t, ok := sniffAt(work, s); ok || !strings.HasPrefix(s, "#") {
		return t, ok
	}
	all, last := s, s
	for strings.HasPrefix(s, "#") {
		last = s
		_, s = nextLine(s)
	}
	work.spend(len(all) - len(s))
	if len(last) < len(all) {
		if t, ok := sniffAt(work, last); ok {
			return t, true
		}
	}
	return sniffAt(work, s)
}

// sniffAt finds out whether a table begins at the beginning of s. The likelier
// a delimiter is to stand in prose or numbers, the later it is tried.
func sniffAt(work *meter, s string) (table, bool) {
	for _, comma := range []byte{'\t', ';', '|', ','} {
		if t, ok := sniffComma(work, s, comma); ok {
			return t, true
		}
	}
	return table{}, false
}

func sniffComma(work *meter, s string, comma byte) (table, bool) {
	line, _ := nextLine(s[:min(len(s), sniffBytes)])
	if strings.IndexByte(line, comma) < 0 && !strings.HasPrefix(line, `"`) {
		return table{}, false
	}
	window, cut := s, false
	if len(s) > sniffBytes {
		window, cut = s[:sniffBytes], true
	}
	rows := make([][]string, 0, sniffRows)
	r := records{s: window, comma: comma, work: work}
	for len(rows) < sniffRows {
		row, ok := r.next()
		if !ok || cut && r.s == "" {
			break // the end, or a row that may be cut
		}
		fields := splitRow(work, nil, row, comma)
		if len(fields) < 2 || len(rows) > 0 && len(fields) != len(rows[0]) {
			return table{}, false
		}
		rows = append(rows, fields)
	}
	if len(rows) < 3 || !columnsFilled(rows) || drawn(rows) || prose(rows, comma) {
		return table{}, false
	}
	return table{body: s, comma: comma, header: hasHeader(rows), cols: len(rows[0]), work: work}, true
}

// columnsFilled reports whether at least two columns hold something. Code whose
// lines all end with a delimiter, or begin with a tab, has only one.
func columnsFilled(rows [][]string) bool {
	filled := 0
	for col := range rows[0] {
		for _, row := range rows {
			if strings.TrimSpace(row[col]) != "" {
				filled++
				break
			}
		}
	}
	return filled >= 2
}

// drawn reports whether one of the first rows is a ruler (---|---), so that the
// rows are a table for the eye: Markdown, or what a database shell prints.
func drawn(rows [][]string) bool {
	for _, row := range rows[:min(len(rows), 3)] {
		ruler := false
		for _, f := range row {
			f = strings.TrimSpace(f)
			if strings.Trim(f, "-:+=") != "" {
				ruler = false
				break
			}
			ruler = ruler || strings.Contains(f, "-") || strings.Contains(f, "=")
		}
		if ruler {
			return true
		}
	}
	return false
}

// prose reports whether rows that agree by chance are sentences, log lines or
// code. Data rarely has a blank after each comma; where it has, its fields are
// short or numbers.
func prose(rows [][]string, comma byte) bool {
	if comma != ',' && comma != ';' {
		return false
	}
	var fields, spaced, words, numbers, clock int
	for _, row := range rows {
		for i, f := range row {
			fields++
			if i > 0 && strings.HasPrefix(f, " ") {
				spaced++
			}
			words += len(strings.Fields(f))
			if isNumber(f) {
				numbers++
			}
			if i > 0 && endsWithClock(row[i-1]) && len(f) > 3 && isNumber(f[:3]) && f[3] == ' ' {
				clock++ // 2024-05-06 07:08:09,123 INFO …
			}
		}
	}
	if clock*2 > len(rows) {
		return true
	}
	gaps := fields - len(rows)
	if spaced*2 <= gaps || numbers*3 >= fields {
		return false
	}
	if words >= 2*fields {
		return true
	}
	for _, name := range rows[0] { // spaced, in few words: only below a header
		if name = strings.TrimSpace(name); name == "" || strings.ContainsAny(name, `(){}[]<>=:"'!?`) || strings.HasSuffix(name, ".") {
			return true
		}
	}
	return false
}

func endsWithClock(s string) bool {
	if len(s) < 8 {
		return false
	}
	s = s[len(s)-8:]
	return s[2] == ':' && s[5] == ':' && isNumber(s[:2]) && isNumber(s[3:5]) && isNumber(s[6:])
}

// hasHeader reports whether the first row names the columns: no number in it,
// no name twice, and not everything below is like it by being empty.
func hasHeader(rows [][]string) bool {
	seen := map[string]bool{}
	for _, f := range rows[0] {
		if isNumber(f) || f != "" && seen[f] {
			return false
		}
		seen[f] = true
	}
	return len(seen) > 1 || !seen[""]
}

// isNumber reports whether s is a decimal number, perhaps between blanks.
func isNumber(s string) bool {
	s = strings.TrimSpace(s)
	if s != "" && s[0] == '+' {
		s = s[1:]
	}
	for len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9' {
		s = s[1:] // leading zeros are no JSON, but a number all the same
	}
	return s != "" && jsonNumber(s, 0) == len(s)
}

// parseNumber reads what isNumber accepts. A number too large to be one is none.
func parseNumber(s string) (float64, bool) {
	if !isNumber(s) {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return n, err == nil
}

// number reads a field of the table. Where commas don't part fields, one may
// stand for the decimal point, as in 1.234,50.
func (t table) number(s string) (float64, bool) {
	n, ok := parseNumber(s)
	if ok || t.comma == ',' || strings.Count(s, ",") != 1 {
		return n, ok
	}
	whole, rest, _ := strings.Cut(s, ",")
	if groups := strings.Split(strings.TrimLeft(whole, " +-"), "."); len(groups) > 1 {
		for i, g := range groups {
			if len(g) != 3 && (i > 0 || len(g) > 3) {
				return 0, false
			}
		}
		whole = strings.ReplaceAll(whole, ".", "")
	}
	return parseNumber(whole + "." + rest)
}
