package term

import (
	"strings"

	"github.com/rivo/uniseg"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

const (
	prompt     = "❯ "
	promptRest = "  "
	// maxMenu is how many candidates are shown at once.
	maxMenu = 8
)

// Look says how an editor is painted.
type Look struct {
	Rows int // at most so many for the text
	Menu int // at most so many for candidates
}

// View is the text as rows of width cells, with the cursor.
func (e *Editor) View(width int, look Look) View {
	v := e.lines(max(width-len(promptRest)-1, 4), max(look.Rows, 1))
	for i := range v.Rows {
		mark := promptRest
		if i == 0 {
			mark = bold(prompt)
		}
		v.Rows[i] = mark + v.Rows[i]
	}
	v.X += len(promptRest)
	if e.search != nil {
		v.Rows = append(v.Rows, faint("search: "+visible.Text(e.search.query)+"  (Enter takes it, Ctrl-R goes on, Esc leaves)"))
	}
	list, chosen := e.shown()
	v.Rows = append(v.Rows, menuRows(list, chosen, min(maxMenu, look.Menu))...)
	return v
}

func bold(s string) string  { return "\x1b[0;1m" + s + reset }
func faint(s string) string { return "\x1b[0;2m" + s + reset }

// menuRows lists candidates, the chosen one among them.
func menuRows(list []Candidate, chosen, most int) []string {
	if most <= 0 || len(list) == 0 {
		return nil
	}
	from := 0
	if chosen >= most {
		from = chosen - most + 1
	}
	wide := 0
	for _, c := range list {
		wide = max(wide, uniseg.StringWidth(c.Text))
	}
	wide = min(wide, 40)
	var rows []string
	for i := from; i < len(list) && len(rows) < most; i++ {
		name, note := visible.Text(list[i].Text), visible.Text(list[i].Note)
		name += strings.Repeat(" ", max(wide-uniseg.StringWidth(name), 0))
		row := promptRest + name
		if i == chosen {
			row = "\x1b[0;7m" + row + reset
		} else {
			row = bold(row)
		}
		rows = append(rows, row+faint("  "+note))
	}
	if n := len(list) - from - len(rows); n > 0 && len(rows) > 0 {
		rows[len(rows)-1] += faint(" …")
	}
	return rows
}

// lines folds the text, at most most rows of it around the cursor.
func (e *Editor) lines(width, most int) View {
	all := strings.Split(e.text, "\n")
	current := strings.Count(e.text[:e.at], "\n")
	rows, x, y := fold(all[current], e.at-e.lineStart(), width)
	// Take in the lines around, the ones below last.
	for i := current - 1; i >= 0 && len(rows) < most+y; i-- {
		above, _, _ := fold(all[i], 0, width)
		rows, y = append(above, rows...), y+len(above)
	}
	for i := current + 1; i < len(all) && len(rows) < most; i++ {
		below, _, _ := fold(all[i], 0, width)
		rows = append(rows, below...)
	}
	if n := len(rows) - most; n > 0 {
		from := min(max(y-most+1, 0), n)
		if y-from >= most {
			from = y - most + 1
		}
		rows, y = rows[from:from+most], y-from
	}
	return View{Rows: rows, X: x, Y: y}
}

// fold breaks a line into rows and says where the cursor stands that is at
// bytes into it.
func fold(line string, at, width int) (rows []string, x, y int) {
	var b strings.Builder
	used, done, state := 0, 0, -1
	end := func() {
		rows = append(rows, b.String())
		b.Reset()
		used = 0
	}
	for rest := line; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		shown := visible.Text(cluster)
		switch {
		case cluster == "\t":
			shown, w = "    ", 4
		case shown != cluster:
			w = uniseg.StringWidth(shown)
		}
		if used+w > width && used > 0 {
			end()
		}
		if done == at {
			x, y = used, len(rows)
		}
		b.WriteString(shown)
		used += w
		done += len(cluster)
	}
	if done <= at {
		x, y = used, len(rows)
	}
	end()
	return rows, x, y
}
