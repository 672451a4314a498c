package spill

import (
	"context"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/lib/visible"
)

const (
	maxQuery   = 2000    // characters of a query
	maxProgram = 5000    // instructions of a regular expression
	piece      = 1 << 15 // bytes of a line that are searched in one go
	overlap    = 1 << 10 // bytes that two pieces of a long line share

	wholeLine = 400 // a matching line up to this many characters is shown whole
	around    = 120 // characters shown on each side of a match in a longer line
	maxHits   = 500 // matches remembered for one answer

	// searchTime is how long a search may take.
	searchTime = 10 * time.Second
)

var errLong = fmt.Errorf("it takes longer than %v", searchTime)

// hit is a match.
type hit struct {
	number   int // among all, from 1
	line     int // from 1
	from, to int // bytes
}

// finder yields matches in order until yield returns false.
type finder func(ctx context.Context, yield func(from, to int) bool) error

// search finds the query, counts all matches and shows them from number from
// on, each with its surroundings, never more of a line than a window.
func (r *reader) search(ctx context.Context) (answer, error) {
	query := visible.Reveal(r.args.Query)
	switch n := runes(query); {
	case n == 0:
		return answer{}, fmt.Errorf("mode search needs a query: %s", r.example(`mode: "search", query: "error"`))
	case n > maxQuery:
		return answer{}, fmt.Errorf("the query has %d characters, at most %d are allowed", n, maxQuery)
	}
	if err := r.ordered(); err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, searchTime, errLong)
	defer cancel()
	var find finder
	note := ""
	if r.args.Regex {
		m, err := compileRegex(query)
		if err != nil {
			return answer{}, err
		}
		find = r.findRegex(m)
	} else {
		find = r.findText(query)
	}
	hits, total, lines, err := r.collect(ctx, find)
	if err == nil && total == 0 && !r.args.Regex {
		folded, compileErr := compileRegex("(?i)" + regexp.QuoteMeta(query))
		if compileErr == nil {
			find = r.findRegex(folded)
			if hits, total, lines, err = r.collect(ctx, find); total > 0 {
				note = "nothing matches exactly; these matches differ in upper and lower case"
			}
		}
	}
	if err == nil && (r.args.From < 0 || r.args.To < 0) {
		if err := r.fromEnd(total, "match", "es"); err != nil {
			return answer{}, err
		}
		hits, total, lines, err = r.collect(ctx, find)
	}
	if err != nil {
		return answer{}, fmt.Errorf("search was stopped: %w; use a simpler query", err)
	}
	a := answer{head: []string{"search " + r.shortQuery(), fmt.Sprintf("%s in %d of %s", counted(total, "match", "es"), lines, counted(r.doc.Lines, "line", "s"))}, note: note}
	if total == 0 {
		a.note = "no match. Other ways to look: " + strings.Join(fitting(r.doc.Type), ", ")
		if r.args.Regex {
			a.note += ". The query was read as a regular expression"
		}
		return a, nil
	}
	if len(hits) == 0 {
		return answer{}, fmt.Errorf("from %d is beyond the end: %s", r.args.From, there(total, "match", "es"))
	}
	body, shown := r.showHits(hits)
	last := hits[shown-1].number
	a.head = append(a.head, fmt.Sprintf("matches %d-%d", hits[0].number, last))
	a.body = body
	if last < total && (r.args.To <= 0 || last < r.args.To) {
		a.more = r.again(last + 1)
	}
	return a, nil
}

// example is a call for an error that tells how to do it.
func (r *reader) example(args string) string {
	return fmt.Sprintf("read_output(ref: %q, %s)", r.doc.Ref, args)
}

func (r *reader) shortQuery() string { return quote(cutWith(visible.Reveal(r.args.Query), 80)) }

// counted is n and what is counted, with plural when n is not one.
func counted(n int, what, plural string) string {
	if n != 1 {
		what += plural
	}
	return fmt.Sprintf("%d %s", n, what)
}

// there says how much there is.
func there(n int, what, plural string) string {
	if n == 1 {
		return "there is 1 " + what
	}
	return "there are " + counted(n, what, plural)
}

// short is the text of a library's error, which may repeat any amount of input.
func short(v any) string { return cutWith(fmt.Sprint(v), 300) }

// cutWith cuts s to limit characters with an ellipsis.
func cutWith(s string, limit int) string {
	cut := prefix(s, limit)
	if len(cut) == len(s) {
		return s
	}
	return cut + "…"
}

// collect runs find to its end, so that the counts are true, and keeps the
// matches that the answer may show.
func (r *reader) collect(ctx context.Context, find finder) (hits []hit, total, lines int, err error) {
	first, last := max(r.args.From, 1), r.args.To
	line, lineEnd, at := 1, 0, 0 // of the last match; at is counted up to
	s := r.doc.Text
	err = find(ctx, func(from, to int) bool {
		total++
		if from >= lineEnd || total == 1 {
			lines++
			line += strings.Count(s[at:from], "\n")
			at = from
			if i := strings.IndexByte(s[from:], '\n'); i >= 0 {
				lineEnd = from + i + 1
			} else {
				lineEnd = len(s)
			}
		}
		if total >= first && len(hits) < maxHits && (last <= 0 || total <= last) {
			hits = append(hits, hit{number: total, line: line, from: from, to: to})
		}
		return true
	})
	return hits, total, lines, err
}

// findText finds a plain text.
func (r *reader) findText(query string) finder {
	return func(ctx context.Context, yield func(from, to int) bool) error {
		for at := 0; ; {
			i := strings.Index(r.doc.Text[at:], query)
			if i < 0 || !yield(at+i, at+i+len(query)) {
				return nil
			}
			at += i + len(query)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
}

// matcher finds the matches of a regular expression one at a time.
type matcher struct {
	first *regexp.Regexp
	later *regexp.Regexp // behind a character that it skips; its first group is the match
}

// compileRegex compiles a regular expression whose running time is bounded: it
// takes time in proportion to its instructions for each byte of text.
func compileRegex(query string) (matcher, error) {
	tree, err := syntax.Parse(query, syntax.Perl)
	if err != nil {
		return matcher{}, fmt.Errorf("the query is no regular expression (RE2): %s. To find it as plain text, leave out regex", short(err))
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return matcher{}, fmt.Errorf("the query is no regular expression (RE2): %s", short(err))
	}
	if n := len(program.Inst); n > maxProgram {
		return matcher{}, fmt.Errorf("the regular expression is too large (%d instructions, at most %d); use fewer or smaller repetitions", n, maxProgram)
	}
	first, err := regexp.Compile(query)
	if err != nil {
		return matcher{}, fmt.Errorf("the query is no regular expression (RE2): %s", short(err))
	}
	later, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + tree.String() + `)`)
	if err != nil {
		return matcher{}, fmt.Errorf("the query is no regular expression (RE2): %s", short(err))
	}
	return matcher{first, later}, nil
}

// all yields the matches in text that are not empty, each behind the one before,
// until yield returns false. It returns why ctx ended, which it asks before each
// match: to look for one may take as long as the text is, and for all of them as
// long as its square.
func (m matcher) all(ctx context.Context, text string, yield func(from, to int) bool) error {
	for at := 0; at <= len(text); {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		from, to := m.next(text, at)
		switch {
		case from < 0:
			return nil
		case from < to:
			if !yield(from, to) {
				return nil
			}
			at = to
			continue
		case text == "":
			yield(0, 0)
			return nil
		}
		_, n := utf8.DecodeRuneInString(text[to:])
		at = to + max(n, 1)
	}
	return nil
}

// next is the first match that begins at byte at or later, or −1. It sees the
// character before it, which decides what ^ and \b mean.
func (m matcher) next(text string, at int) (from, to int) {
	if at == 0 {
		if found := m.first.FindStringIndex(text); found != nil {
			return found[0], found[1]
		}
		return -1, -1
	}
	_, n := utf8.DecodeLastRuneInString(text[:at])
	if found := m.later.FindStringSubmatchIndex(text[at-n:]); found != nil {
		return at - n + found[2], at - n + found[3]
	}
	return -1, -1
}

// findRegex matches line by line. A line of more than [piece] bytes is searched
// in pieces that overlap, so that no step is long: a match there may end early
// when it is longer than the overlap.
func (r *reader) findRegex(m matcher) finder {
	return func(ctx context.Context, yield func(from, to int) bool) error {
		s := r.doc.Text
		for start := 0; start < len(s); {
			line, _ := nextLine(s[start:])
			text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
			done, more := start, true // matches begin behind what was matched
			for at := 0; ; at += piece {
				end := min(at+piece+overlap, len(text))
				low, high := at+overlap/2, at+piece+overlap/2 // where matches of this piece begin
				if at == 0 {
					low = 0
				}
				if end == len(text) {
					high = len(text) + 1
				}
				err := m.all(ctx, text[at:end], func(from, to int) bool {
					from, to = at+from, at+to
					if from >= low && from < high && start+from >= done {
						more = yield(start+from, start+to)
						done = start + to
					}
					return more && from < high
				})
				if err != nil || !more {
					return err
				}
				if end == len(text) {
					break
				}
			}
			start += len(line)
		}
		return nil
	}
}

// showHits writes the matches with what is around them, as many as fit, and
// returns how many those are.
func (r *reader) showHits(hits []hit) (string, int) {
	room := r.bodyRoom()
	v := view{r: r, raw: raw{room: room}, context: r.args.Context, matched: map[int]bool{}}
	v.whole, v.around = min(wholeLine, room/2), min(around, room/5)
	for _, h := range hits {
		v.matched[h.line] = true
	}
	for i, h := range hits {
		mark := len(v.buf)
		v.hit(h)
		switch {
		case v.full && i > 0:
			return string(v.buf[:mark]), i
		case v.full: // the first one must be seen, if need be without its context
			v = view{r: r, raw: raw{room: room}, matched: v.matched, whole: v.whole, around: v.around}
			v.hit(h)
		}
	}
	return string(v.buf), len(hits)
}

// view shows matches one after the other.
type view struct {
	raw
	r       *reader
	context int          // lines around a match
	whole   int          // a line up to this many characters is shown whole
	around  int          // characters on each side of a match in a longer one
	matched map[int]bool // lines with matches

	line       int // of the match before
	begin, end int // the bytes of that line, or lines when the match has several
	lastLine   int // shown so far
	lastByte   int // shown so far of a long line
}

func (v *view) hit(h hit) {
	s := v.r.doc.Text
	same := h.line == v.line
	if !same || h.to > v.end {
		v.line = h.line
		v.begin = strings.LastIndexByte(s[:h.from], '\n') + 1
		last, _ := nextLine(s[max(h.from, h.to-1):])
		v.end = max(h.from, h.to-1) + len(last)
	}
	lines := s[v.begin:v.end]
	switch {
	case visible.Fit(lines, v.whole) < len(lines):
		if !same || h.to > v.lastByte {
			v.window(h, lines)
		}
	case !same:
		v.lines(h, lineCount(lines))
	}
}

// lines shows the line or lines of a match with its context, without what is
// there already.
func (v *view) lines(h hit, count int) {
	s := v.r.doc.Text
	from, first := v.begin, h.line
	for range v.context {
		if from == 0 || first-1 <= v.lastLine {
			break
		}
		from = strings.LastIndexByte(s[:from-1], '\n') + 1
		first--
	}
	if v.lastLine > 0 && first > v.lastLine+1 && v.context > 0 {
		v.show("--\n")
	}
	for n, at := first, from; n < h.line+count+v.context && at < len(s); n++ {
		line, _ := nextLine(s[at:])
		at += len(line)
		if n <= v.lastLine {
			continue
		}
		sign := "-"
		if v.matched[n] || n >= h.line && n < h.line+count {
			sign = ":"
		}
		v.show(fmt.Sprintf("%d%s %s\n", n, sign, cutWith(strings.TrimRight(line, "\r\n"), v.whole)))
		v.lastLine = n
	}
}

// window shows what is around a match in a long line.
func (v *view) window(h hit, line string) {
	left := suffix(line[:h.from-v.begin], v.around)
	match := cutWith(v.r.doc.Text[h.from:h.to], v.whole/2)
	v.show(fmt.Sprintf("%d@%d: …", h.line, v.r.charsBefore(h.from-len(left))+1))
	v.show(left + match)
	v.lastByte = h.to
	if len(match) == h.to-h.from {
		rest := line[h.to-v.begin:]
		right := prefix(rest, v.around)
		v.show(strings.TrimRight(right, "\r\n"))
		if v.lastByte += len(right); len(right) < len(rest) {
			// What begins at the very edge gets a window of its own.
			v.lastByte -= len(suffix(right, v.around/3))
		}
	}
	v.show("…\n")
	v.lastLine = max(v.lastLine, h.line)
}

// raw collects pieces of the source as they are, as long as their visible form
// fits.
type raw struct {
	buf  []byte
	room int
	full bool // something did not fit
}

func (p *raw) show(s string) {
	n := visible.Count(s)
	if p.full || n > p.room {
		p.full = true
		return
	}
	p.buf = append(p.buf, s...)
	p.room -= n
}
