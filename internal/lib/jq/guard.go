package jq

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// rule says which check a call of a function needs.
type rule uint8

const (
	free    rule = iota // in proportion to one instruction
	whole               // works on all of its input and arguments
	pairing             // compares all of its input with all of its argument
	joining             // join
	regex               // the first argument is a regular expression
	index               // the first argument is an index
	path                // the first argument is a path
	rows                // transpose
	letters             // takes a string apart
	refused             // can't be checked, or has no meaning here
)

// rules has the functions that are not free.
var rules = map[string]rule{
	"tojson": whole, "tostring": whole, "format": whole, "add": whole, "flatten": whole, "implode": whole, "error": whole,
	"sort": whole, "sort_by": whole, "group_by": whole, "unique": whole, "unique_by": whole, "bsearch": whole,
	"min": whole, "min_by": whole, "max": whole, "max_by": whole, "IN": whole, "INDEX": whole, "JOIN": whole,
	"from_entries": whole, "with_entries": whole, "delpaths": whole, "combinations": whole,

	"contains": pairing, "inside": pairing, "index": pairing, "rindex": pairing, "indices": pairing,
	"join":      joining,
	"transpose": rows,
	"explode":   letters,

	"test": regex, "match": regex, "capture": regex, "scan": regex, "split": regex, "splits": regex, "sub": regex, "gsub": regex,

	"nth":     index,
	"setpath": path, "getpath": path,

	"fromstream": refused, "truncate_stream": refused, "halt_error": refused,
	"input": refused, "inputs": refused, "debug": refused, "stderr": refused,
}

// guard rewrites a query so that nothing in it goes without the check it needs.
func guard(tree *gojq.Query) error {
	g := guarding{}
	g.walk(reflect.ValueOf(tree))
	return g.err
}

type guarding struct {
	err error
}

// walk rewrites the parts of v, then v. The tree's types are many and all plain,
// so it goes by reflection; what it makes itself it doesn't walk again.
func (g *guarding) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		g.walk(v.Elem())
		switch e := v.Interface().(type) {
		case *gojq.Query:
			g.query(e)
		case *gojq.Term:
			g.term(e)
		case *gojq.String:
			g.text(e)
		case *gojq.Index:
			g.index(e)
		case *gojq.FuncDef:
			g.name(e.Name)
			for _, name := range e.Args {
				g.name(name)
			}
		case *gojq.Pattern:
			g.name(e.Name)
		}
	case reflect.Slice:
		for i := range v.Len() {
			g.walk(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			g.walk(v.Field(i))
		}
	}
}

// name refuses names of the interpreter's own functions and of the checks.
func (g *guarding) name(name string) {
	if g.err == nil && strings.HasPrefix(strings.TrimPrefix(name, "$"), "_") {
		g.err = fmt.Errorf("the jq query uses the name %s; names that begin with _ are not available", name)
	}
}

// query guards the operators.
func (g *guarding) query(q *gojq.Query) {
	left, right, op := q.Left, q.Right, q.Op
	a, b := variable("$__a"), variable("$__b")
	check := ""
	switch op {
	case gojq.OpAdd:
		if isNumeral(left) || isNumeral(right) {
			return
		}
		check = "_sum"
	case gojq.OpMul:
		check = "_product"
	case gojq.OpSub:
		if isNumeral(left) || isNumeral(right) {
			return
		}
		q.Left, q.Op, q.Patterns = right, gojq.OpPipe, bindTo("$__b")
		q.Right = &gojq.Query{
			Left: left, Op: gojq.OpPipe, Patterns: bindTo("$__a"),
			Right: pipe(a, pipe(call("_pairs", b), &gojq.Query{Left: a, Op: gojq.OpSub, Right: b})),
		}
		return
	case gojq.OpEq, gojq.OpNe, gojq.OpGt, gojq.OpLt, gojq.OpGe, gojq.OpLe:
		if isLiteral(left) || isLiteral(right) {
			return
		}
		check = "_both"
	case gojq.OpUpdateAdd, gojq.OpUpdateMul, gojq.OpUpdateSub:
		g.update(q)
		return
	default:
		return
	}
	q.Left, q.Op, q.Patterns = right, gojq.OpPipe, bindTo("$__b")
	q.Right = &gojq.Query{
		Left: left, Op: gojq.OpPipe, Patterns: bindTo("$__a"),
		Right: pipe(call(check, a, b), &gojq.Query{Left: a, Op: op, Right: b}),
	}
}

// update makes of l += r what it means: r as $b | l |= (. + $b), guarded.
func (g *guarding) update(q *gojq.Query) {
	left, right := q.Left, q.Right
	here, b := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}, variable("$__b")
	var change *gojq.Query
	switch q.Op {
	case gojq.OpUpdateAdd:
		change = pipe(call("_sum", here, b), &gojq.Query{Left: here, Op: gojq.OpAdd, Right: b})
	case gojq.OpUpdateMul:
		change = pipe(call("_product", here, b), &gojq.Query{Left: here, Op: gojq.OpMul, Right: b})
	default:
		change = pipe(call("_pairs", b), &gojq.Query{Left: here, Op: gojq.OpSub, Right: b})
	}
	q.Left, q.Op, q.Patterns = right, gojq.OpPipe, bindTo("$__b")
	q.Right = &gojq.Query{Left: left, Op: gojq.OpModify, Right: change}
}

// term guards calls and formats.
func (g *guarding) term(t *gojq.Term) {
	switch t.Type {
	case gojq.TermTypeFormat:
		if t.Str == nil {
			g.replace(t, pipe(call("_small"), &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFormat, Format: t.Format}}))
		}
	case gojq.TermTypeFunc:
		g.function(t)
	case gojq.TermTypeNumber:
		if len(t.Number) > maxDigits && g.err == nil {
			g.err = fmt.Errorf("the jq query has a number of %d digits", len(t.Number))
		}
	}
}

func (g *guarding) function(t *gojq.Term) {
	f := t.Func
	g.name(f.Name)
	plain := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: f}}
	switch rules[f.Name] {
	case refused:
		if g.err == nil {
			g.err = fmt.Errorf("the jq function %s is not available", f.Name)
		}
	case whole:
		for i, arg := range f.Args {
			f.Args[i] = pipe(arg, call("_small"))
		}
		g.replace(t, pipe(call("_small"), plain))
	case rows:
		g.replace(t, pipe(call("_rows"), plain))
	case letters:
		g.replace(t, pipe(call("_letters"), plain))
	case pairing:
		g.first(t, "_pairs")
	case joining:
		g.first(t, "_join")
	case regex:
		if f.Name == "split" && len(f.Args) == 1 { // by a plain string
			g.replace(t, pipe(call("_letters"), plain))
			return
		}
		g.first(t, "_regex")
	case index:
		if len(f.Args) > 0 {
			f.Args[0] = pipe(f.Args[0], call("_index"))
		}
	case path:
		if len(f.Args) > 0 {
			f.Args[0] = pipe(f.Args[0], call("_path"))
		}
	}
}

// first makes of f(x; …) what it means when x is evaluated once: x as $b |
// check($b) | f($b; …).
func (g *guarding) first(t *gojq.Term, check string) {
	f := t.Func
	if len(f.Args) == 0 {
		return
	}
	arg, b := f.Args[0], variable("$__b")
	f.Args[0] = b
	plain := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: f}}
	g.replace(t, &gojq.Query{Left: arg, Op: gojq.OpPipe, Patterns: bindTo("$__b"), Right: pipe(call(check, b), plain)})
}

// replace makes of t a query in parentheses, keeping its suffixes.
func (g *guarding) replace(t *gojq.Term, q *gojq.Query) {
	*t = gojq.Term{Type: gojq.TermTypeQuery, Query: q, SuffixList: t.SuffixList}
}

// text guards what is put into a string.
func (g *guarding) text(s *gojq.String) {
	for _, q := range s.Queries {
		if q.Term != nil && q.Term.Str == nil {
			inner := *q.Term
			g.replace(q.Term, pipe(&gojq.Query{Term: &inner}, call("_piece")))
			q.Term.SuffixList = nil
		}
	}
}

// index guards an index that is computed or large.
func (g *guarding) index(e *gojq.Index) {
	if e.Start == nil || e.IsSlice {
		return
	}
	if t := e.Start.Term; t != nil && t.Type == gojq.TermTypeNumber && len(t.SuffixList) == 0 {
		if n, err := strconv.ParseFloat(t.Number, 64); err == nil && n <= maxIndex {
			return
		}
	}
	if t := e.Start.Term; t != nil && t.Type == gojq.TermTypeString && len(t.SuffixList) == 0 && t.Str.Queries == nil {
		return
	}
	e.Start = pipe(e.Start, call("_index"))
}

func pipe(a, b *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: a, Op: gojq.OpPipe, Right: b}
}

func call(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

func variable(name string) *gojq.Query { return call(name) }

func bindTo(name string) []*gojq.Pattern { return []*gojq.Pattern{{Name: name}} }

// isNumeral reports whether q is a number as written.
func isNumeral(q *gojq.Query) bool {
	return q != nil && q.Term != nil && q.Term.Type == gojq.TermTypeNumber && len(q.Term.SuffixList) == 0
}

// isLiteral reports whether q is a scalar as written, with which anything is
// compared at once.
func isLiteral(q *gojq.Query) bool {
	if q == nil || q.Term == nil || len(q.Term.SuffixList) > 0 {
		return false
	}
	switch t := q.Term; t.Type {
	case gojq.TermTypeNumber, gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse:
		return true
	case gojq.TermTypeString:
		return t.Str.Queries == nil
	}
	return false
}
