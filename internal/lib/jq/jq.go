// Package jq runs queries in the language of jq over JSON values, with bounds
// that hold whatever the query and the data are.
//
// Queries come from models, which read them in hostile text. The interpreter
// below can be stopped between its instructions, but a single instruction may
// take hours or all memory: "x" * 1e9, .[500000000] = 1, . + . in a loop, two
// nested arrays compared that share their parts. So [Compile] rewrites a query:
// in front of every operation whose cost or result is not in proportion to one
// instruction it puts a check of its operands, and it allows no operation that
// can't be checked. Instructions are counted, and results are measured before
// they are given out.
//
// There is no access to files, modules, the environment or further input. A
// [Query] never changes and may be used by many goroutines. Start reading at
// [Query.Run]; the checks are in check.go, the rewriting is in guard.go.
package jq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"runtime/metrics"
	"strings"

	"github.com/itchyny/gojq"
)

const (
	// MaxQuery is how many bytes a query may have.
	MaxQuery = 4000
	// maxSteps is how many instructions a run may take: two or three seconds.
	maxSteps = 30_000_000
	// maxGrowth is by how many bytes the heap may grow during a run. It is
	// looked at every so many steps, none of which can make more than the
	// checks allow. Others use the heap as well, so it is generous.
	maxGrowth  = 512 << 20
	growthStep = 256
)

var (
	// ErrSteps says that a query took too many instructions.
	ErrSteps = errors.New("the query takes too many steps")
	// ErrMemory says that a query keeps too much at a time.
	ErrMemory = errors.New("the query needs too much memory")
	// ErrSize says that a query makes or works on values that are too large.
	ErrSize = errors.New("the query makes or compares values that are too large")
)

// Query is a compiled query.
type Query struct {
	code *gojq.Code
}

// Compile prepares a query. Variables ("$all") may be used in it; their values
// are given to [Query.Run] in the same order. The error tells a model what is
// wrong.
func Compile(src string, variables ...string) (*Query, error) {
	if len(src) > MaxQuery {
		return nil, fmt.Errorf("the jq query has %d bytes, at most %d are allowed", len(src), MaxQuery)
	}
	tree, err := gojq.Parse(src)
	if err != nil {
		return nil, fmt.Errorf("the query is not in jq's language: %v", err)
	}
	if err := guard(tree); err != nil {
		return nil, err
	}
	code, err := gojq.Compile(tree, append(checks(), gojq.WithVariables(variables))...)
	if err != nil {
		return nil, fmt.Errorf("the jq query can't be used: %v", err)
	}
	return &Query{code: code}, nil
}

// Run gives input to the query and each of its results to yield, until yield
// returns false. Values are those of [Decode]; yield must not change them. The
// error is the query's own, [ErrSteps], [ErrSize], or the reason why ctx ended.
func (q *Query) Run(ctx context.Context, input any, values []any, yield func(any) bool) error {
	steps := &stepContext{Context: ctx, left: maxSteps, heap: heapBytes()}
	results := q.code.RunWithContext(steps, input, values...)
	for {
		v, ok := results.Next()
		if !ok {
			return nil
		}
		if err, failed := v.(error); failed {
			return explain(ctx, err)
		}
		if !small(v) {
			return ErrSize
		}
		if !yield(v) {
			return nil
		}
	}
}

// explain makes an error of the interpreter one for the model.
func explain(ctx context.Context, err error) error {
	var halt *gojq.HaltError
	switch {
	case errors.Is(err, ErrSteps), errors.Is(err, ErrMemory), errors.Is(err, ErrSize):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &halt) && halt.Value() == nil:
		return nil
	}
	text := err.Error()
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + " …"
	}
	return fmt.Errorf("jq: %s", text)
}

// maxMessage is how many bytes of an error's text are told: a query can make
// errors of its own, of any length.
const maxMessage = 500

// stepContext ends when the run has taken too many steps or too much memory: it
// is asked whether it has ended before each instruction.
type stepContext struct {
	context.Context
	left int
	heap uint64 // bytes in use when the run began
	err  error
}

var ended = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (c *stepContext) Done() <-chan struct{} {
	c.left--
	switch {
	case c.err != nil:
	case c.left < 0:
		c.err = ErrSteps
	case c.left%growthStep == 0 && heapBytes() > c.heap+maxGrowth:
		c.err = ErrMemory
	}
	if c.err != nil {
		return ended
	}
	return c.Context.Done()
}

func (c *stepContext) Err() error {
	if c.err != nil {
		return c.err
	}
	return c.Context.Err()
}

// heapBytes is how many bytes of the heap are in use or not yet freed.
func heapBytes() uint64 {
	sample := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample[:])
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// Decode reads one JSON value. Whole numbers keep all their digits, up to a
// length; object keys that come twice keep the last value.
func Decode(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode JSON: more than one value")
	}
	return numbers(v), nil
}

// maxDigits is how long a whole number may be that is kept exactly.
const maxDigits = 1000

// numbers makes numbers of v's numerals, in place.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k, e := range v {
			switch e.(type) {
			case json.Number, []any, map[string]any:
				v[k] = numbers(e)
			}
		}
	}
	return v
}

func number(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return int(i)
	}
	if len(n) <= maxDigits && !strings.ContainsAny(string(n), ".eE") {
		if i, ok := new(big.Int).SetString(string(n), 10); ok {
			return i
		}
	}
	f, err := n.Float64() // out of range is ±Inf, which is the best there is
	if err != nil && f == 0 {
		return 0.0
	}
	return f
}

// Encode writes a value that [Query.Run] gave out as JSON on one line.
func Encode(v any) (string, error) {
	text, err := gojq.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode JSON: %w", err)
	}
	return string(text), nil
}
