package text

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"

	"github.com/itchyny/gojq"
)

// A jq filter is a program, and gojq's only brake is its context, which it
// looks at between instructions. A single instruction can already be too much:
// values share their parts, so sixty rounds of [., .] make a value of 2^60
// parts that fits in memory until something walks over it, and thirty rounds
// of . + . make a string of a gigabyte. The guard therefore
//
//   - rewrites a filter before it is compiled, so that whatever can make a
//     value larger is followed by a check that the value fits (as a tree, parts
//     counted as often as they occur);
//   - checks the arguments of the few functions whose cost is more than linear
//     before they run;
//   - counts instructions, and calls of the filter's own functions for many
//     (meter).
//
// With every value bounded, all other functions of gojq are bounded too; those
// written in jq that go on to work with what they collected are defined anew
// (prelude). The
// checks stand in conditions, `if check then . else empty end`, which keeps
// them out of path expressions, and fail with an error.

// Limits of a run.
const (
	maxSteps       = 20_000_000 // instructions, a second or two
	maxParts       = 4_000_000  // of a value: elements, members, scalars
	maxTextBytes   = 16 << 20   // of all strings and keys in a value
	maxNumberLen   = 1_000      // digits
	maxPairs       = 50_000_000 // comparisons of an operation on two arrays
	maxRegexpInput = 64 << 10   // bytes that a global match may search, which takes quadratic time
	maxRegexp      = 1_000      // bytes of a regular expression or a time format
)

// meter counts the work of a run: an instruction is a step, and so is what
// checks look at in the time of one. It is the context of the run, which gojq
// asks for Done before each instruction, and ends when there were too many. It serves one
// run on one goroutine.
type meter struct {
	context.Context
	steps    int
	most     int // maxSteps, less in tests
	done     chan struct{}
	replaced int // bytes that sub has put in
}

func newMeter(ctx context.Context) *meter {
	return &meter{Context: ctx, most: maxSteps, done: make(chan struct{})}
}

func (m *meter) spent() bool { return m.steps > m.most }

func (m *meter) Done() <-chan struct{} {
	if m.steps++; !m.spent() {
		return m.Context.Done()
	}
	select {
	case <-m.done:
	default:
		close(m.done)
	}
	return m.done
}

func (m *meter) Err() error {
	if err := m.Context.Err(); err != nil {
		return err
	}
	if m.spent() {
		return context.DeadlineExceeded
	}
	return nil
}

var errLarge = fmt.Errorf("a value grows beyond %d million parts or %d MiB of text; select less", maxParts/1_000_000, maxTextBytes>>20)

// fits reports why a value is too large. It stops counting at the limit.
func fits(v any) error {
	parts, bytes := 0, 0
	return measure(v, &parts, &bytes)
}

// fits is the same for a value within a run; counting is work.
func (m *meter) fits(v any) error {
	const partsPerStep = 8
	parts, bytes := 0, 0
	err := measure(v, &parts, &bytes)
	m.steps += parts / partsPerStep
	return err
}

func measure(v any, parts, bytes *int) error {
	if *parts++; *parts > maxParts || *bytes > maxTextBytes {
		return errLarge
	}
	switch v := v.(type) {
	case string:
		*bytes += len(v)
	case json.Number:
		if len(v) > maxNumberLen {
			return fmt.Errorf("a number has more than %d digits", maxNumberLen)
		}
	case *big.Int:
		if v.BitLen() > 4*maxNumberLen {
			return fmt.Errorf("a number has more than %d digits", maxNumberLen)
		}
	case []any:
		for _, item := range v {
			if err := measure(item, parts, bytes); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range v {
			*bytes += len(key)
			if err := measure(item, parts, bytes); err != nil {
				return err
			}
		}
	}
	if *bytes > maxTextBytes {
		return errLarge
	}
	return nil
}

// Names of the functions that the guard adds. Filters can't use names that
// begin with an underscore.
const (
	fitsName    = "_fits"    // on a value
	checkName   = "_check"   // of a function's name, its input and arguments
	indexName   = "_place"   // on what stands in brackets
	replaceName = "_replace" // on each text that sub puts in
	enterName   = "_enter"   // where a function of the filter begins
)

// prelude defines anew those of gojq's functions that work on with what they
// collected, so that the guard stands between.
const prelude = `
def walk(f): def w: if type == "array" then map(w) elif type == "object" then map_values(w) else . end | f; w;
def add(f): [f] | add;
def min_by(f): _min_by(map([f]));
def max_by(f): _max_by(map([f]));
def sort_by(f): _sort_by(map([f]));
def group_by(f): _group_by(map([f]));
def unique_by(f): _unique_by(map([f]));
.`

var preludeDefs = sync.OnceValue(func() []*gojq.FuncDef {
	query, err := gojq.Parse(prelude)
	if err != nil {
		panic(err) // a constant, which every test parses
	}
	g := guard{trusted: true}
	g.query(query)
	return query.FuncDefs
})

func (m *meter) functions() []gojq.CompilerOption {
	verdict := func(err error) any {
		if err != nil {
			return err
		}
		return true
	}
	return []gojq.CompilerOption{
		gojq.WithFunction(fitsName, 0, 0, func(v any, _ []any) any { return verdict(m.fits(v)) }),
		gojq.WithFunction(indexName, 0, 0, func(v any, _ []any) any { return verdict(placeable(v)) }),
		gojq.WithFunction(enterName, 0, 0, func(any, []any) any {
			// Recursion takes memory, some 400 bytes a call.
			const stepsPerCall = 50
			m.steps += stepsPerCall
			return true
		}),
		gojq.WithFunction(replaceName, 0, 0, func(v any, _ []any) any {
			// The texts of all calls count, since sub adds to one of them.
			if text, ok := v.(string); ok {
				m.replaced += len(text)
			}
			if m.replaced > 2*maxTextBytes {
				return errLarge
			}
			return true
		}),
		gojq.WithFunction(checkName, 1, 4, func(v any, args []any) any {
			name, ok := args[0].(string)
			if !ok {
				return errors.New("check of a name that is no string")
			}
			if err := checks[name](v, args[1:]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return true
		}),
	}
}

// guard rewrites the syntax tree of a filter.
type guard struct {
	trusted bool // reserved names may be used
	err     error
}

// ask makes `if name(args) then . else empty end`.
func ask(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIf, If: &gojq.If{
		Cond: call(name, args...),
		Then: identity(),
		Else: call("empty"),
	}}}
}

func identity() *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}
}

func call(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

func pipe(left, right *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: left, Op: gojq.OpPipe, Right: right}
}

// bind makes `value as $name | body`.
func bind(value *gojq.Query, name string, body *gojq.Query) *gojq.Query {
	q := pipe(paren(value), body)
	q.Patterns = []*gojq.Pattern{{Name: name}}
	return q
}

func paren(q *gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: q}}
}

func literalText(s string) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: s}}}
}

func (g *guard) fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
}

func (g *guard) query(q *gojq.Query) {
	if q == nil {
		return
	}
	if len(q.Imports) > 0 || q.Meta != nil {
		g.fail("modules are not available")
	}
	for _, f := range q.FuncDefs {
		g.reserved(f.Name)
		for _, arg := range f.Args {
			g.reserved(strings.TrimPrefix(arg, "$"))
		}
		g.query(f.Body)
		if !g.trusted {
			f.Body = pipe(ask(enterName), f.Body)
		}
	}
	g.patterns(q.Patterns)
	g.term(q.Term)
	g.query(q.Left)
	g.query(q.Right)
	defs := q.FuncDefs
	switch q.Op {
	case gojq.OpMul, gojq.OpSub:
		// As `right as $r | left as $l | check | $l op $r`, which is how the
		// operator works on several values.
		op := &gojq.Query{Left: call("$_l"), Op: q.Op, Right: call("$_r")}
		checked := pipe(ask(checkName, literalText(q.Op.String()), call("$_l"), call("$_r")), pipe(op, ask(fitsName)))
		*q = *bind(q.Right, "$_r", bind(q.Left, "$_l", checked))
		q.FuncDefs = defs
	case gojq.OpUpdateMul, gojq.OpUpdateSub:
		// As `right as $r | left |= (. op $r)`, by the manual.
		op := map[gojq.Operator]gojq.Operator{gojq.OpUpdateMul: gojq.OpMul, gojq.OpUpdateSub: gojq.OpSub}[q.Op]
		change := pipe(ask(checkName, literalText(op.String()), identity(), call("$_r")), &gojq.Query{Left: identity(), Op: op, Right: call("$_r")})
		update := &gojq.Query{Left: q.Left, Op: gojq.OpModify, Right: paren(pipe(change, ask(fitsName)))}
		*q = *bind(q.Right, "$_r", pipe(update, ask(fitsName)))
		q.FuncDefs = defs
	case gojq.OpAdd, gojq.OpDiv, gojq.OpMod,
		gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		whole := *q
		whole.FuncDefs = nil
		*q = *pipe(&whole, ask(fitsName))
		q.FuncDefs = defs
	}
}

// reserved refuses names that begin with an underscore: gojq's own functions
// under such names go past the guard.
func (g *guard) reserved(name string) {
	if strings.HasPrefix(name, "_") && !g.trusted {
		g.fail("names that begin with _ are reserved: %s", clip(name, 40))
	}
}

// variable refuses a reserved name where it is that of a variable; as the key
// of an object it is none.
func (g *guard) variable(name string) {
	if plain, ok := strings.CutPrefix(name, "$"); ok {
		g.reserved(plain)
	}
}

func (g *guard) patterns(patterns []*gojq.Pattern) {
	for _, p := range patterns {
		g.variable(p.Name)
		g.patterns(p.Array)
		for _, o := range p.Object {
			g.variable(o.Key)
			g.str(o.KeyString)
			g.query(o.KeyQuery)
			if o.Val != nil {
				g.patterns([]*gojq.Pattern{o.Val})
			}
		}
	}
}

func (g *guard) str(s *gojq.String) {
	if s != nil {
		for _, q := range s.Queries {
			g.query(q)
		}
	}
}

func (g *guard) term(t *gojq.Term) {
	if t == nil {
		return
	}
	g.index(t.Index)
	for _, s := range t.SuffixList {
		g.index(s.Index)
	}
	g.str(t.Str)
	g.query(t.Query)
	if t.Unary != nil {
		g.term(t.Unary.Term)
	}
	if t.Object != nil {
		for _, kv := range t.Object.KeyVals {
			g.variable(kv.Key)
			g.str(kv.KeyString)
			g.query(kv.KeyQuery)
			g.query(kv.Val)
		}
	}
	if t.Array != nil {
		g.query(t.Array.Query)
	}
	if t.If != nil {
		g.query(t.If.Cond)
		g.query(t.If.Then)
		for _, e := range t.If.Elif {
			g.query(e.Cond)
			g.query(e.Then)
		}
		g.query(t.If.Else)
	}
	if t.Try != nil {
		g.query(t.Try.Body)
		g.query(t.Try.Catch)
	}
	if t.Reduce != nil {
		g.query(t.Reduce.Query)
		g.patterns(t.Reduce.Patterns)
		g.query(t.Reduce.Start)
		g.query(t.Reduce.Update)
	}
	if t.Foreach != nil {
		g.query(t.Foreach.Query)
		g.patterns(t.Foreach.Patterns)
		g.query(t.Foreach.Start)
		g.query(t.Foreach.Update)
		g.query(t.Foreach.Extract)
	}
	if t.Label != nil {
		g.query(t.Label.Body)
	}
	g.grow(t)
}

// grow follows a term that can make something large with the check.
func (g *guard) grow(t *gojq.Term) {
	inner := *t
	inner.SuffixList = nil
	value := &gojq.Query{Term: &inner}
	switch t.Type {
	case gojq.TermTypeArray, gojq.TermTypeObject, gojq.TermTypeReduce, gojq.TermTypeForeach:
	case gojq.TermTypeString, gojq.TermTypeFormat:
		if t.Str != nil && len(t.Str.Queries) == 0 {
			return
		}
	case gojq.TermTypeFunc:
		if t.Func.Name[0] == '$' || t.Func.Name == "empty" || t.Func.Name == "not" {
			g.variable(t.Func.Name)
			return
		}
		g.reserved(t.Func.Name)
		for _, arg := range t.Func.Args {
			g.query(arg)
		}
		value = g.checked(t.Func)
	default:
		return
	}
	*t = gojq.Term{Type: gojq.TermTypeQuery, Query: pipe(value, ask(fitsName)), SuffixList: t.SuffixList}
}

// checked puts the check of a function before its call: its arguments are
// bound to variables first, the first outermost.
func (g *guard) checked(f *gojq.Func) *gojq.Query {
	plain := call(f.Name, f.Args...)
	if _, ok := checks[f.Name]; !ok {
		return plain
	}
	if f.Name == "fromstream" {
		if len(f.Args) != 1 {
			return plain
		}
		return call(f.Name, pipe(f.Args[0], ask(checkName, literalText(f.Name))))
	}
	args := make([]*gojq.Query, len(f.Args))
	copy(args, f.Args)
	bound := []*gojq.Query{literalText(f.Name)}
	eager, isLazy := lazy[f.Name]
	for i := range args {
		if isLazy && i == eager {
			if strings.HasSuffix(f.Name, "sub") {
				args[i] = pipe(args[i], ask(replaceName))
			}
			continue
		}
		bound = append(bound, call(fmt.Sprintf("$_%d", i)))
		args[i] = call(fmt.Sprintf("$_%d", i))
	}
	q := pipe(ask(checkName, bound...), call(f.Name, args...))
	for i := len(args) - 1; i >= 0; i-- {
		if !isLazy || i != eager {
			q = bind(f.Args[i], fmt.Sprintf("$_%d", i), q)
		}
	}
	return q
}

func (g *guard) index(i *gojq.Index) {
	if i == nil {
		return
	}
	g.str(i.Str)
	for _, q := range [...]**gojq.Query{&i.Start, &i.End} {
		if *q == nil {
			continue
		}
		g.query(*q)
		*q = pipe(*q, ask(indexName))
	}
}
