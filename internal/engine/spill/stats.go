package spill

import (
	"context"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

// stats says how large the output is and how it is made.
func (r *reader) stats(ctx context.Context) (answer, error) {
	d := r.doc
	p := newPage(r.work, r.bodyRoom())
	p.say("tool: %s\ntype: %s\nbytes: %d\ncharacters: %d\n", d.Name, d.Type, len(d.Text), d.Chars)
	if d.Type == Binary {
		p.say("kind: %s\n", describeBinary(d.Text))
		return r.ours(p), nil
	}
	p.say("lines: %d\nlongest line: %d characters\n", d.Lines, longestLine(d.Text))
	switch d.Type {
	case JSON:
		s := trimFront(d.Text)
		p.say("shape: ")
		if !p.shape(s, 4) {
			p.say("…")
		}
		p.say("\n")
	case JSONL:
		n := 0
		for range lineObjects(r.work, trimFront(d.Text)) {
			n++
		}
		p.say("objects: %d\n", n)
		p.say("%s\n", strings.TrimPrefix(keyUnion(r.work, lineObjects(r.work, trimFront(d.Text))), "; "))
	case XML:
		if root, ok := rootTag(r.work, trimFront(d.Text)); ok {
			var kids tally
			for t := range children(r.work, trimFront(d.Text), root) {
				kids.add(visible.Text(prefix(t.name, 40)))
			}
			p.say("root: %s\nchildren: %d (%s)\n", visible.Text(prefix(root.name, 40)), kids.total, kids.list(""))
		}
	case HTML:
		p.say("elements: %s\n", elements(r.work, d.Text))
	case CSV:
		return r.columnStats(ctx, p)
	}
	return r.ours(p), nil
}

// ours is an answer that has no text of the source but what p has made visible
// already.
func (r *reader) ours(p *page) answer {
	return answer{head: []string{"stats"}, body: visible.Reveal(p.String())}
}

func longestLine(s string) int {
	longest := 0
	for s != "" {
		var line string
		line, s = nextLine(s)
		if len(line) > longest { // no line has more characters than bytes
			longest = max(longest, runes(strings.TrimRight(line, "\r\n")))
		}
	}
	return longest
}

// shape writes how a JSON value is made: keys and kinds, and for arrays their
// length and the shape of the first item. It reports whether all of it fits.
func (p *page) shape(v string, depth int) bool {
	switch {
	case v[0] == '{' && depth > 0:
		if !p.say("{") {
			return false
		}
		n := 0
		for m := membersOf(p.work, v); ; n++ {
			key, value, ok := m.next()
			if !ok {
				break
			}
			if n == 30 {
				return p.say(", …}")
			}
			if n > 0 && !p.say(", ") {
				return false
			}
			if !p.show(key[1:len(key)-1]) || !p.say(": ") || !p.shape(value, depth-1) {
				return false
			}
		}
		return p.say("}")
	case v[0] == '[':
		var kinds tally
		first := ""
		for m := membersOf(p.work, v); ; {
			_, value, ok := m.next()
			if !ok {
				break
			}
			if kinds.add(jsonKind(value)); first == "" {
				first = value
			}
		}
		switch {
		case first == "":
			return p.say("[]")
		case depth == 0 || len(kinds.names) > 1:
			return p.say("[%s]", kinds.list("s"))
		}
		return p.say("[%d × ", kinds.total) && p.shape(first, depth-1) && p.say("]")
	}
	return p.say("%s", jsonKind(v))
}

// elements counts the elements of a page by name.
func elements(work *meter, s string) string {
	var t tally
	for i := 0; ; {
		e, ok := nextTag(work, s, i)
		if !ok {
			return fmt.Sprintf("%d (%s)", t.total, t.list(""))
		}
		if i = e.to; e.kind == tagOpen || e.kind == tagEmpty {
			t.add(strings.ToLower(visible.Text(prefix(e.name, 30))))
		}
	}
}

// maxDistinct is up to how many different values of a column are counted.
const maxDistinct = 1000

// column is what is found out about a column.
type column struct {
	filled, numbers int
	min, max, sum   float64
	low, high       string // in the order of text
	distinct        map[string]struct{}
	many            bool // more than maxDistinct
}

func (c *column) add(t table, field string) {
	field = strings.TrimSpace(field)
	if field == "" {
		return
	}
	c.filled++
	if n, ok := t.number(field); ok {
		if c.numbers == 0 || n < c.min {
			c.min = n
		}
		if c.numbers == 0 || n > c.max {
			c.max = n
		}
		c.numbers++
		c.sum += n
	}
	if c.filled == 1 || field < c.low {
		c.low = field
	}
	if c.filled == 1 || field > c.high {
		c.high = field
	}
	if _, known := c.distinct[field]; known || c.many {
		return
	}
	if len(c.distinct) == maxDistinct || len(field) > 200 {
		c.many, c.distinct = true, nil
		return
	}
	c.distinct[field] = struct{}{}
}

// columnStats says of each column what is in it.
func (r *reader) columnStats(ctx context.Context, p *page) (answer, error) {
	t, ok := sniffTable(r.work, r.doc.Text)
	if !ok {
		return r.ours(p), nil
	}
	names := t.names()
	columns := make([]column, min(len(names), 200))
	for i := range columns {
		columns[i].distinct = map[string]struct{}{}
	}
	rows := t.records()
	if t.header {
		rows.next()
	}
	n := 0
	var fields []string
	for {
		row, ok := rows.next()
		if !ok {
			break
		}
		if n++; n&1023 == 0 && ctx.Err() != nil {
			return answer{}, context.Cause(ctx)
		}
		fields = splitRow(r.work, fields[:0], row, t.comma)
		for i := range columns {
			if i < len(fields) {
				columns[i].add(t, fields[i])
			}
		}
	}
	p.say("records: %d\ncolumns: %d, delimiter %s\n", n, t.cols, delimiterName(t.comma))
	for i := range columns {
		q := newPage(p.work, p.room)
		q.say("- ")
		q.brief(names[i], 40)
		if !columns[i].describe(q, n) {
			p.say("… %d more columns\n", len(names)-i)
			break
		}
		p.add(q)
	}
	return r.ours(p), nil
}

// describe writes what is in the column, of whose n fields some may be empty.
func (c *column) describe(p *page, n int) bool {
	ok := true
	switch {
	case c.filled == 0:
		return p.say(": all empty\n")
	case c.numbers == c.filled:
		ok = p.say(": number, min %v, max %v, mean %.6g", c.min, c.max, c.sum/float64(c.numbers))
	default:
		p.say(": text")
		if c.numbers > 0 {
			ok = p.say(" (%d numbers)", c.numbers)
		}
		p.say(", from ")
		p.brief(c.low, 30)
		p.say(" to ")
		p.brief(c.high, 30)
	}
	if c.many {
		ok = ok && p.say(", more than %d different", maxDistinct)
	} else {
		ok = ok && p.say(", %d different", len(c.distinct))
	}
	if empty := n - c.filled; empty > 0 {
		ok = ok && p.say(", %d empty", empty)
	}
	return ok && p.say("\n")
}
