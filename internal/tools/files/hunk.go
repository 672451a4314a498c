package files

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

// patcher applies the hunks of a patch to the lines of one file, in order. It
// never guesses: a hunk fits one place, by its lines, its header or its line
// number, or it is an error.
type patcher struct {
	path   string
	lines  []string // with their endings
	ending string   // for new lines
	bare   bool     // the file did not end in a line feed

	cursor int // the last change ended before this line
	delta  int // lines that earlier hunks added
	notes  []string
	work   int
}

// maxWork bounds how many lines one file's hunks are compared with.
const maxWork = 100_000_000

// applyHunks returns text changed by hunks, and what a reader should know about
// how they fitted.
func applyHunks(path, text string, hunks []hunk) (string, []string, error) {
	text, marked := strings.CutPrefix(text, bom)
	p := &patcher{
		path: path, lines: splitLines(text), ending: "\n",
		bare: text != "" && !strings.HasSuffix(text, "\n"),
	}
	if isCRLF(text) {
		p.ending = "\r\n"
	}
	for _, h := range hunks {
		if err := p.apply(h); err != nil {
			return "", nil, err
		}
	}
	out := strings.Join(p.lines, "")
	if marked {
		out = bom + out
	}
	return out, p.notes, nil
}

func (p *patcher) apply(h hunk) error {
	fit, err := p.place(h)
	if errors.Is(err, errNoFit) {
		if shown, hidden := revealed(h); hidden {
			h = shown
			fit, err = p.place(h)
		}
	}
	switch {
	case errors.Is(err, errNoFit):
		return p.misfit(h)
	case err != nil:
		return err
	}
	p.replace(h, fit)
	return nil
}

// fit is where a hunk goes.
type fit struct {
	at        int // index of its first old line
	skip, cut int // lines of context that were passed over, at its beginning and end
}

var errNoFit = errors.New("the hunk fits nowhere")

// equals are the ways in which an old line may be like a line of the file, the
// strictest first.
var equals = []struct {
	same func(have, want string) bool
	note string
}{
	{func(a, b string) bool { return a == b }, ""},
	{func(a, b string) bool { return strings.TrimRight(a, " \t") == strings.TrimRight(b, " \t") }, "without regard to blanks at line ends"},
	{func(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }, "without regard to indentation"},
	{func(a, b string) bool {
		return strings.TrimSpace(plainQuotes(a)) == strings.TrimSpace(plainQuotes(b))
	}, "without regard to blanks and typographic signs"},
}

// maxFuzz is how many lines of context a hunk may lose at each end.
const maxFuzz = 2

func (p *patcher) place(h hunk) (fit, error) {
	from := 0
	if len(h.at) > 0 {
		var err error
		if from, err = p.header(h); err != nil {
			return fit{}, err
		}
	}
	old := h.old()
	if len(old) == 0 {
		return p.placeInsertion(h, from), nil
	}
	lead, trail := h.context()
	for fuzz := range maxFuzz + 1 {
		skip, cut := min(fuzz, lead), min(fuzz, trail)
		if fuzz > 0 && skip+cut == 0 || skip+cut >= len(old) {
			break
		}
		want := old[skip : len(old)-cut]
		for i, eq := range equals {
			if fuzz > 0 && i > 1 {
				break // not both at once
			}
			found, err := p.find(want, eq.same, from)
			if err != nil {
				return fit{}, err
			}
			if len(found) == 0 {
				continue
			}
			at, err := p.choose(h, found, skip, len(want))
			if err != nil {
				return fit{}, err
			}
			p.note(h, at-skip, eq.note, fuzz > 0)
			return fit{at: at, skip: skip, cut: cut}, nil
		}
	}
	return fit{}, errNoFit
}

// placeInsertion finds the place of a hunk without old lines: behind its
// header, at its line number, or at the end of the file.
func (p *patcher) placeInsertion(h hunk, from int) fit {
	switch {
	case len(h.at) > 0:
		return fit{at: min(from+1, len(p.lines))}
	case h.line > 0:
		return fit{at: min(h.line-1+p.delta, len(p.lines))}
	}
	return fit{at: len(p.lines)}
}

// header finds the line that the hunk's headers lead to.
func (p *patcher) header(h hunk) (int, error) {
	ways := []func(line, head string) bool{
		func(line, head string) bool { return line == head },
		strings.HasPrefix,
		strings.Contains,
	}
	from := p.cursor
	for i, head := range h.at {
		found := -1
		for _, start := range []int{from, 0} {
			for _, way := range ways {
				if found = slices.IndexFunc(p.lines[start:], func(l string) bool { return way(strings.TrimSpace(l), head) }); found >= 0 {
					found += start
					break
				}
			}
			if found >= 0 || i > 0 {
				break
			}
		}
		if found < 0 {
			return 0, fmt.Errorf("hunk %d does not fit %s: its header %s is not in the file. %s",
				h.number, p.path, shown(head), explain(p.lines, []string{head}))
		}
		from = found
	}
	return from, nil
}

// find lists where want stands in the file, from the line from on.
func (p *patcher) find(want []string, same func(have, want string) bool, from int) ([]int, error) {
	var found []int
	for i := from; i+len(want) <= len(p.lines); i++ {
		j := 0
		for j < len(want) && same(chomp(p.lines[i+j]), want[j]) {
			j++
		}
		if p.work += j + 1; p.work > maxWork {
			return nil, fmt.Errorf("the patch takes too long to place in %s; send fewer hunks at once", p.path)
		}
		if j == len(want) {
			found = append(found, i)
		}
	}
	return found, nil
}

// choose picks one of the places where the hunk fits.
func (p *patcher) choose(h hunk, found []int, skip, length int) (int, error) {
	if h.end {
		if last := found[len(found)-1]; last+length == len(p.lines) {
			return last, nil
		}
	}
	if h.line > 0 {
		if hint := h.line - 1 + p.delta + skip; slices.Contains(found, hint) {
			return hint, nil
		}
	}
	if len(h.at) > 0 || len(found) == 1 {
		return found[0], nil
	}
	if after := slices.DeleteFunc(slices.Clone(found), func(i int) bool { return i < p.cursor }); len(after) == 1 {
		return after[0], nil
	}
	var places []int
	for _, i := range found {
		places = append(places, i+1)
	}
	return 0, fmt.Errorf("hunk %d fits %s at several places, %s: give more lines around the change, or a header (@@ line that stands before it)",
		h.number, p.path, listed(places))
}

func (p *patcher) note(h hunk, at int, way string, fuzzy bool) {
	var how []string
	if off := at - (h.line - 1 + p.delta); h.line > 0 && off != 0 {
		where := "down"
		if off < 0 {
			off, where = -off, "up"
		}
		how = append(how, count(off, "line")+" further "+where)
	}
	if way != "" {
		how = append(how, way)
	}
	if fuzzy {
		how = append(how, "without its outermost context")
	}
	if len(how) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("hunk %d fitted %s at line %d, %s", h.number, p.path, at+1, strings.Join(how, ", ")))
	}
}

// replace puts the hunk's lines in place of its old ones. Lines of context stay
// as the file has them.
func (p *patcher) replace(h hunk, f fit) {
	lines := h.lines[f.skip : len(h.lines)-f.cut]
	var out []string
	at, last := f.at, f.at
	marked := false // the patch knows that the file doesn't end in a line feed
	for _, l := range lines {
		switch l.op {
		case ' ':
			out = append(out, p.lines[at])
			at++
			marked = marked || l.noEOL
		case '-':
			at++
			last = f.at + len(out)
			marked = marked || l.noEOL
		case '+':
			out = append(out, l.text+p.ending)
			last = f.at + len(out)
		}
	}
	atEnd := at == len(p.lines)
	p.lines = slices.Replace(p.lines, f.at, at, out...)
	p.delta += len(out) - (at - f.at)
	p.cursor = last
	if atEnd && len(lines) > 0 {
		p.finish(lines[len(lines)-1], f.at, marked)
	}
}

// finish sets the line endings after a change at the end of the file: only the
// last line may have none.
func (p *patcher) finish(final hunkLine, from int, marked bool) {
	n := len(p.lines)
	for i := max(from-1, 0); i < n-1; i++ {
		if !strings.HasSuffix(p.lines[i], "\n") {
			p.lines[i] += p.ending
		}
	}
	if n == 0 || final.op != '+' {
		return
	}
	if final.noEOL || p.bare && !marked {
		p.lines[n-1] = strings.TrimSuffix(p.lines[n-1], p.ending)
	}
	p.bare = !strings.HasSuffix(p.lines[n-1], "\n")
}

// misfit tells why a hunk fits nowhere.
func (p *patcher) misfit(h hunk) error {
	var after []string
	for _, l := range h.lines {
		if l.op != '-' {
			after = append(after, l.text)
		}
	}
	done, err := p.find(after, equals[0].same, 0)
	if err == nil && len(done) > 0 && len(after) > 0 {
		return fmt.Errorf("hunk %d does not fit %s: its new lines are there already, at line %d; it seems to be applied", h.number, p.path, done[0]+1)
	}
	return fmt.Errorf("hunk %d does not fit %s, so nothing was changed: its old lines are not in the file. %s", h.number, p.path, explain(p.lines, h.old()))
}

// old lists the lines that the hunk expects to find.
func (h hunk) old() []string {
	var old []string
	for _, l := range h.lines {
		if l.op != '+' {
			old = append(old, l.text)
		}
	}
	return old
}

// context counts the lines of context at the hunk's beginning and end.
func (h hunk) context() (lead, trail int) {
	for lead < len(h.lines) && h.lines[lead].op == ' ' {
		lead++
	}
	for trail < len(h.lines)-lead && h.lines[len(h.lines)-1-trail].op == ' ' {
		trail++
	}
	return lead, trail
}

// revealed is the hunk with visible forms of hidden characters read back, if
// it has any.
func revealed(h hunk) (hunk, bool) {
	hidden := false
	h.lines = slices.Clone(h.lines)
	for i, l := range h.lines {
		h.lines[i].text = visible.Reveal(l.text)
		hidden = hidden || h.lines[i].text != l.text
	}
	return h, hidden
}
