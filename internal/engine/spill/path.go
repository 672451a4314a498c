package spill

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/goclaw/goclaw/internal/lib/jq"
	"github.com/goclaw/goclaw/internal/lib/visible"
)

const (
	// pathTime is how long a query may take.
	pathTime = 5 * time.Second
	// maxParsed is how many bytes are parsed into a tree, which takes some ten
	// times as much memory.
	maxParsed = 16 << 20
	// maxParsing is how many bytes are parsed at once, by all sessions together:
	// what comes beyond that waits, and its time begins when it is its turn.
	maxParsing = 24 << 20
)

// parsing is shared since the memory is: what bounds a query bounds nothing when
// each worker has one.
var parsing = semaphore.NewWeighted(maxParsing)

var errSlow = fmt.Errorf("the query takes longer than %v", pathTime)

// path runs the query that fits the type: jq, a CSS selector or XPath. From is
// the number of the first result to show.
func (r *reader) path(ctx context.Context) (answer, error) {
	query := visible.Reveal(r.args.Query)
	if query == "" {
		return answer{}, fmt.Errorf("mode path needs a query: %s", r.pathExample())
	}
	if n := len(r.doc.Text); n > maxParsed {
		return answer{}, fmt.Errorf("this output has %d bytes; mode path reads up to %d. Use mode search or lines", n, maxParsed)
	}
	size := int64(len(r.doc.Text))
	if err := parsing.Acquire(ctx, size); err != nil {
		return answer{}, context.Cause(ctx)
	}
	defer parsing.Release(size)
	ctx, cancel := context.WithTimeoutCause(ctx, pathTime, errSlow)
	defer cancel()
	if r.args.From < 0 || r.args.To < 0 { // from the end, so that has to be found first
		all := results{first: math.MaxInt}
		if err := r.query(ctx, query, &all); err != nil && all.count == 0 {
			return answer{}, r.pathError(err)
		}
		if err := r.fromEnd(all.count, "result", "s"); err != nil {
			return answer{}, err
		}
	}
	if err := r.ordered(); err != nil {
		return answer{}, err
	}
	results := results{p: raw{room: r.bodyRoom()}, first: max(r.args.From, 1), last: r.args.To}
	err := r.query(ctx, query, &results)
	if err != nil && results.count == 0 {
		return answer{}, r.pathError(err)
	}
	a := answer{head: []string{r.language() + " " + r.shortQuery()}, body: string(results.p.buf)}
	switch {
	case results.count == 0:
		a.note = "no result. Fitting modes to look around: " + strings.Join(fitting(r.doc.Type), ", ")
	case results.shown == 0:
		return answer{}, fmt.Errorf("from %d is beyond the end: %s", r.args.From, there(results.count, "result", "s"))
	default:
		last := results.first + results.shown - 1
		switch {
		case results.more:
			a.head = append(a.head, fmt.Sprintf("results %d-%d, more follow", results.first, last))
			a.more = r.again(last + 1)
		case results.count > last:
			a.head = append(a.head, fmt.Sprintf("results %d-%d, more were not asked for", results.first, last))
		default:
			a.head = append(a.head, fmt.Sprintf("results %d-%d of %d", results.first, last, results.count))
		}
	}
	if results.cut > 0 {
		a.note = fmt.Sprintf("result %d has %d characters and is cut; narrow the query%s", results.first, results.cut, r.narrower())
	}
	if err != nil {
		a.note = fmt.Sprintf("it ended early: %s", short(err))
	}
	return a, nil
}

// query runs the query that fits the type.
func (r *reader) query(ctx context.Context, query string, out *results) error {
	switch r.doc.Type {
	case JSON, JSONL:
		return r.jq(ctx, query, out)
	case HTML:
		return r.css(ctx, query, out)
	}
	return r.xpath(ctx, query, out)
}

// results collects what a query finds, a line each, as far as it is wanted and
// fits.
type results struct {
	p           raw
	first, last int // numbers wanted; last 0: all
	count       int // found so far
	shown       int
	cut         int // characters of the first result when it had to be cut
	more        bool
}

// add takes in a result and reports whether another one is wanted.
func (q *results) add(text string) bool {
	q.count++
	switch {
	case q.count < q.first:
		return true
	case q.cut > 0:
		q.more = true
		return false
	case q.last > 0 && q.count > q.last:
		return false
	}
	q.p.show(text + "\n")
	switch {
	case !q.p.full:
		q.shown++
		return true
	case q.shown > 0:
		q.more = true
		return false
	}
	q.p.full = false
	q.p.show(cutWith(text, q.p.room-2) + "\n")
	q.shown, q.cut = 1, runes(text)
	return true // to learn whether more follow
}

func (r *reader) jq(ctx context.Context, query string, out *results) error {
	if r.doc.Type == JSON {
		q, err := jq.Compile(query, jq.Options{})
		if err != nil {
			return err
		}
		v, err := jq.Decode(strings.TrimPrefix(trimFront(r.doc.Text), bom))
		if err != nil {
			return err
		}
		return runJQ(ctx, q, jq.Each(v), nil, out)
	}
	return r.jqLines(ctx, query, out)
}

// jqLines runs the query on each object of JSON lines, as jq does; when it
// names $all it runs once, on the array of all objects.
func (r *reader) jqLines(ctx context.Context, query string, out *results) error {
	q, err := jq.Compile(query, jq.Options{Variables: []string{"$all"}})
	if err != nil {
		return err
	}
	objects := func(yield func(any, error) bool) {
		for line := range lineObjects(r.work, trimFront(r.doc.Text)) {
			v, err := jq.Decode(line)
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
	if !strings.Contains(query, "$all") {
		return runJQ(ctx, q, objects, []any{nil}, out)
	}
	var all []any
	for v, err := range objects {
		if err != nil {
			return err
		}
		all = append(all, v)
	}
	return runJQ(ctx, q, jq.Each(all), []any{all}, out)
}

func runJQ(ctx context.Context, q *jq.Query, input iter.Seq2[any, error], variables []any, out *results) error {
	var encodeErr error
	err := q.Run(ctx, input, variables, func(v any) bool {
		text, err := jq.Encode(v)
		if err != nil {
			encodeErr = err
			return false
		}
		return out.add(text)
	})
	return errors.Join(err, encodeErr)
}

func (r *reader) language() string {
	switch r.doc.Type {
	case HTML:
		return "CSS selector"
	case XML:
		return "XPath"
	}
	return "jq"
}

func (r *reader) pathExample() string {
	example := `query: ".[0]"`
	switch r.doc.Type {
	case JSON:
		if s := trimFront(r.doc.Text); s[0] == '{' {
			example = "query: " + keyQuery(r.work, s)
		}
	case JSONL:
		example = `query: "keys"`
	case HTML:
		example = `query: "h2"`
	case XML:
		example = `query: "` + childQuery(r.work, trimFront(r.doc.Text)) + `"`
	}
	return r.example(`mode: "path", ` + example)
}

func (r *reader) pathError(err error) error {
	hint := "; an example: " + r.pathExample()
	if r.doc.Type == JSONL {
		hint += ". The query gets one object at a time; $all is the array of all"
	}
	return fmt.Errorf("%w%s", err, hint)
}

// narrower gives ways to ask for less.
func (r *reader) narrower() string {
	switch r.doc.Type {
	case HTML:
		return ", for example with ::text at its end, or use mode search"
	case XML:
		return ", for example with /text() or /@name at its end, or use mode search"
	}
	return `, for example with | keys, | .[0:10] or | length at its end`
}
