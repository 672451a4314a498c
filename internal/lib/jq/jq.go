// Package jq runs queries in the language of jq over JSON values, with bounds
// that hold whatever the query and the data are.
//
// Queries come from models, which read them in hostile text. The interpreter
// below can be stopped between its instructions, but a single instruction may
// take hours or all memory: "x" * 1e9, .[500000000] = 1, two nested arrays
// compared that share their parts. So [Compile] rewrites a query: wherever an
// operation's cost or result is not in proportion to one instruction it puts a
// check of what goes in or comes out, and it allows no function that it has no
// rule for. Values are measured where they are consumed, not where they grow,
// which keeps ordinary queries about as fast as they are without checks.
// Instructions are counted, with the work that checks foresee; the heap is
// watched.
//
// There is no access to files, modules or the environment. A [Query] serves one
// goroutine. Start reading at [Query.Run]; the rules for functions are in
// rules.go, the rewriting is in guard.go, the checks are in check.go, the
// counting is in meter.go.
package jq

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// MaxQuery is how many bytes a query may have.
const MaxQuery = 4000

var (
	// ErrSteps says that a query takes too long, as counted in instructions.
	ErrSteps = errors.New("the query was stopped after too many steps; select less, or bound it with limit(20; f)")
	// ErrMemory says that a query keeps too much at a time.
	ErrMemory = errors.New("the query needs too much memory; select less")
	// ErrSize says that a query makes or works on values that are too large.
	ErrSize = errors.New("the query makes or works on values that are too large; select less")
)

// Limits bounds what all runs of a query may take together.
type Limits struct {
	Steps  int // instructions
	Memory int // bytes by which the heap may grow, that of the whole process
}

// Default is what a query may take where nothing else is said: a second or two.
var Default = Limits{Steps: 20_000_000, Memory: 192 << 20}

// Options says how a query is compiled. The zero value is fine.
type Options struct {
	Variables []string // that the query may use, with their $
	Limits    Limits   // what is 0 is as in [Default]
}

// Query is a compiled query.
type Query struct {
	code  *gojq.Code
	meter *meter
	in    inputs
}

// Compile prepares a query. The error tells a model what is wrong.
func Compile(src string, o Options) (*Query, error) {
	if len(src) > MaxQuery {
		return nil, fmt.Errorf("jq: the query has %d bytes, at most %d are allowed", len(src), MaxQuery)
	}
	tree, err := gojq.Parse(src)
	if err != nil {
		return nil, parseError(src, err)
	}
	if err := guard(tree); err != nil {
		return nil, fmt.Errorf("jq: %w", err)
	}
	if o.Limits.Steps == 0 {
		o.Limits.Steps = Default.Steps
	}
	if o.Limits.Memory == 0 {
		o.Limits.Memory = Default.Memory
	}
	q := &Query{meter: &meter{limits: o.Limits}}
	options := append(q.meter.checks(), gojq.WithVariables(o.Variables), gojq.WithInputIter(&q.in))
	if q.code, err = gojq.Compile(tree, options...); err != nil {
		return nil, fmt.Errorf("jq: %s", clip(err.Error()))
	}
	return q, nil
}

// parseError says where the syntax of a query breaks, in characters from 1.
func parseError(src string, err error) error {
	var parse *gojq.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("jq: %s", clip(err.Error()))
	}
	if parse.Token == "" {
		return fmt.Errorf("jq: the query ends too early, at position %d", utf8.RuneCountInString(src)+1)
	}
	at := max(min(parse.Offset-len(parse.Token), len(src)), 0)
	return fmt.Errorf("jq: unexpected %q at position %d", clip(parse.Token), utf8.RuneCountInString(src[:at])+1)
}

// Each is an input of these values, in order.
func Each(values ...any) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// Run runs the query on each input, from which its own input and inputs take
// as well, and gives each result to yield, until yield returns false. Inputs
// and results are values as [Decode] makes them, which nobody may change;
// values are those of the variables, in their order. An error among the inputs
// ends the run and is returned. Other errors are the query's own, [ErrSteps],
// [ErrMemory], [ErrSize], or the reason why ctx ended.
func (q *Query) Run(ctx context.Context, input iter.Seq2[any, error], values []any, yield func(any) bool) error {
	next, stop := iter.Pull2(input)
	defer stop()
	q.in = inputs{next: next}
	q.meter.Context = ctx
	if !q.meter.watching {
		q.meter.watching, q.meter.heap = true, watchHeap(q.meter.limits.Memory)
	}
	for {
		v, ok := q.in.Next()
		if !ok {
			return q.in.err
		}
		if more, err := q.run(v, values, yield); err != nil || !more {
			return err
		}
	}
}

// run runs the query on one input and reports whether to go on.
func (q *Query) run(input any, values []any, yield func(any) bool) (bool, error) {
	results := q.code.RunWithContext(q.meter, input, values...)
	for {
		v, ok := results.Next()
		switch {
		case q.in.err != nil:
			return false, q.in.err
		case !ok:
			return true, nil
		}
		err, failed := v.(error)
		if !failed {
			err = q.meter.render(v, nil)
		}
		if err != nil {
			return false, q.explain(err)
		}
		if !yield(v) {
			return false, nil
		}
	}
}

// explain makes an error of the interpreter one for the model; nil when the
// query halted.
func (q *Query) explain(err error) error {
	var halt *gojq.HaltError
	switch ctx := q.meter.Context; {
	case q.meter.err != nil:
		err = q.meter.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrSize):
	case errors.As(err, &halt) && halt.Value() == nil:
		return nil
	case err.Error() == "break":
		err = errors.New("there is no more input")
	default:
		err = errors.New(clip(err.Error()))
	}
	if q.in.count > 1 {
		return fmt.Errorf("jq: input %d: %w", q.in.count, err)
	}
	return fmt.Errorf("jq: %w", err)
}

// inputs gives what remains of the input to the runs and to the functions
// input and inputs.
type inputs struct {
	next  func() (any, error, bool)
	count int
	err   error
}

// Next gives the next value.
func (i *inputs) Next() (any, bool) {
	if i.err != nil || i.next == nil {
		return nil, false
	}
	v, err, ok := i.next()
	if !ok || err != nil {
		i.err = err
		return nil, false
	}
	i.count++
	return v, true
}

// maxMessage is how many characters of a text are told: a query can make names
// and errors of any length.
const maxMessage = 300

func clip(s string) string {
	if utf8.RuneCountInString(s) <= maxMessage {
		return s
	}
	return string([]rune(s)[:maxMessage-1]) + "…"
}
