package markdown

import (
	"slices"
	"strings"

	east "github.com/yuin/goldmark/extension/ast"
)

const (
	// columnGap is what stands between two columns: a space, a bar, a space.
	columnGap = 3
	// leastColumn is the width below which a column can't be read any more.
	leastColumn = 8
)

// table lays out a table. Where its columns don't fit, cells are wrapped; where
// they would become too narrow to be read, each row becomes a list of its cells
// with their headings.
func (l *layout) table(t *east.Table, width int) []string {
	g := l.grid(t)
	if len(g.rows) == 0 || len(g.natural) == 0 {
		return nil
	}
	widths, ok := fit(g.natural, width-columnGap*(len(g.natural)-1))
	if !ok {
		return l.records(g, width)
	}
	var out []string
	for i, cells := range g.rows {
		out = append(out, l.row(cells, widths, t.Alignments)...)
		if i == 0 {
			out = append(out, l.rule(widths))
		}
	}
	return out
}

// grid is the cells of a table.
type grid struct {
	rows    [][]*flow // the headings first
	natural []int     // how wide columns are when nothing is wrapped
}

func (l *layout) grid(t *east.Table) grid {
	g := grid{natural: make([]int, len(t.Alignments))}
	for r := t.FirstChild(); r != nil; r = r.NextSibling() {
		st := style(0)
		if r.Kind() == east.KindTableHeader {
			st = bold
		}
		var cells []*flow
		for c := r.FirstChild(); c != nil && len(cells) < len(g.natural); c = c.NextSibling() {
			cell := l.inline(c, st)
			for line := range strings.SplitSeq(cell.words.String(), "\n") {
				g.natural[len(cells)] = max(g.natural[len(cells)], widthOf(line), 1)
			}
			cells = append(cells, cell)
		}
		g.rows = append(g.rows, cells)
	}
	return g
}

// fit shares width among columns: each gets what it needs as long as that is
// no more than its share, and the wide ones share the rest.
func fit(natural []int, width int) ([]int, bool) {
	widths := slices.Clone(natural)
	left, wide := width, len(natural)
	settled := make([]bool, len(natural))
	for changed := true; changed && wide > 0; {
		changed = false
		share := left / wide
		for i, n := range natural {
			if !settled[i] && n <= share {
				settled[i], changed = true, true
				left -= n
				wide--
			}
		}
	}
	for i := range widths {
		if settled[i] {
			continue
		}
		widths[i] = left / wide
		left -= widths[i]
		wide--
		if widths[i] < min(leastColumn, natural[i]) {
			return nil, false
		}
	}
	return widths, left >= 0
}

// row lays out one row; cells that are wrapped make it several lines.
func (l *layout) row(cells []*flow, widths []int, align []east.Alignment) []string {
	spans := make([][]span, len(cells))
	height := 1
	for i, c := range cells {
		spans[i] = c.spans(widths[i])
		height = max(height, len(spans[i]))
	}
	bar := dim.on(l.opts) + " │ " + dim.off(l.opts)
	out := make([]string, height)
	for y := range out {
		var b strings.Builder
		for i, c := range cells {
			if i > 0 {
				b.WriteString(bar)
			}
			s, words := span{}, ""
			if y < len(spans[i]) {
				s = spans[i][y]
				words = c.paint(s, l.opts)
			}
			before, after := pad(widths[i]-s.width, align[i])
			if i == len(cells)-1 {
				after = 0
			}
			b.WriteString(strings.Repeat(" ", before) + words + strings.Repeat(" ", after))
		}
		out[y] = strings.TrimRight(b.String(), " ")
	}
	return out
}

// pad shares the room beside a cell.
func pad(room int, a east.Alignment) (before, after int) {
	room = max(room, 0) // a letter may be wider than a column
	switch a {
	case east.AlignRight:
		return room, 0
	case east.AlignCenter:
		return room / 2, room - room/2
	}
	return 0, room
}

// rule separates the headings from the rows.
func (l *layout) rule(widths []int) string {
	parts := make([]string, len(widths))
	for i, w := range widths {
		parts[i] = strings.Repeat("─", w)
	}
	return dim.on(l.opts) + strings.Join(parts, "─┼─") + dim.off(l.opts)
}

// records lays out each row as the list of its cells.
func (l *layout) records(g grid, width int) []string {
	var out []string
	for i, cells := range g.rows[1:] {
		if i > 0 {
			out = append(out, "")
		}
		for j, c := range cells {
			t := &flow{}
			if j < len(g.rows[0]) {
				t.join(g.rows[0][j])
			}
			if t.words.Len() > 0 && c.words.Len() > 0 {
				t.add(": ", dim, "")
			}
			t.join(c)
			out = append(out, hang(t.wrap(max(width-2, 1), l.opts))...)
		}
	}
	if len(g.rows) == 1 {
		for _, c := range g.rows[0] {
			out = append(out, hang(c.wrap(max(width-2, 1), l.opts))...)
		}
	}
	return out
}

// hang indents all lines but the first.
func hang(lines []string) []string { return indent(lines, "", "  ") }

// join adds another text.
func (t *flow) join(o *flow) {
	words, from := o.words.String(), 0
	for _, r := range o.runs {
		t.add(words[from:r.end], r.style, r.link)
		from = r.end
	}
}
