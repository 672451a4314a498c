package jq

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/itchyny/gojq"
)

// guard rewrites a query so that nothing in it goes without the check it needs.
func guard(tree *gojq.Query) error {
	g := guarding{}
	g.query(tree)
	return g.err
}

type guarding struct {
	defined []string // functions of the query's own, as name/arity, that are in scope
	err     error
}

func (g *guarding) fail(form string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(form, args...)
	}
}

// name refuses names of the interpreter's own functions and of the checks.
func (g *guarding) name(name string) {
	if strings.HasPrefix(strings.TrimPrefix(name, "$"), "_") {
		g.fail("names that begin with _ are reserved: %s", clip(name))
	}
}

// variable is the same where only a name with $ is one of a variable.
func (g *guarding) variable(name string) {
	if strings.HasPrefix(name, "$") {
		g.name(name)
	}
}

func arity(name string, n int) string { return name + "/" + strconv.Itoa(n) }

func (g *guarding) query(q *gojq.Query) {
	if q == nil {
		return
	}
	if len(q.Imports) > 0 || q.Meta != nil {
		g.fail("modules are not available")
	}
	outside := len(g.defined)
	for _, f := range q.FuncDefs {
		g.name(f.Name)
		g.defined = append(g.defined, arity(f.Name, len(f.Args)))
		before := len(g.defined)
		for _, arg := range f.Args {
			g.name(arg)
			g.defined = append(g.defined, arity(strings.TrimPrefix(arg, "$"), 0))
		}
		g.query(f.Body)
		g.defined = g.defined[:before]
	}
	g.patterns(q.Patterns)
	g.term(q.Term)
	g.query(q.Left)
	g.query(q.Right)
	g.operator(q)
	g.defined = g.defined[:outside]
}

func (g *guarding) patterns(patterns []*gojq.Pattern) {
	for _, p := range patterns {
		g.variable(p.Name)
		g.patterns(p.Array)
		for _, o := range p.Object {
			g.variable(o.Key)
			g.text(o.KeyString)
			if o.KeyQuery != nil {
				g.query(o.KeyQuery)
				o.KeyQuery = pipe(paren(o.KeyQuery), call("_ok_index"))
			}
			if o.Val != nil {
				g.patterns([]*gojq.Pattern{o.Val})
			}
		}
	}
}

// operator guards what joins two queries. The interpreter evaluates the right
// one first, and for each of its results the left one; so do the variables.
func (g *guarding) operator(q *gojq.Query) {
	left, right, op := q.Left, q.Right, q.Op
	check := ""
	switch op {
	case gojq.OpAdd:
		if !isNumber(left) && !isNumber(right) {
			g.whole(q, func(sum *gojq.Query) *gojq.Query { return pipe(sum, call("_ok_made")) })
		}
		return
	case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAlt, gojq.OpUpdateMod:
		g.whole(q, func(update *gojq.Query) *gojq.Query { return pipe(call("_ok_outer"), update) })
		return
	case gojq.OpUpdateAdd, gojq.OpUpdateMul, gojq.OpUpdateSub, gojq.OpUpdateDiv:
		g.update(q)
		return
	case gojq.OpSub:
		if isNumber(left) || isNumber(right) {
			return
		}
		check = "_ok_pairs"
	case gojq.OpMul:
		check = "_ok_product"
	case gojq.OpDiv:
		if isNumber(left) || isNumber(right) {
			return
		}
		check = "_ok_quotient"
	case gojq.OpEq, gojq.OpNe, gojq.OpGt, gojq.OpLt, gojq.OpGe, gojq.OpLe:
		if isScalar(left) || isScalar(right) {
			return
		}
		check = "_ok_compare"
	default:
		return
	}
	if isNumber(right) {
		q.Left = paren(pipe(paren(left), call(check, identity(), right)))
		return
	}
	if isNumber(left) {
		q.Right = paren(pipe(paren(right), call(check, left, identity())))
		return
	}
	a, b := call("$__a"), call("$__b")
	q.Left, q.Op, q.Patterns = paren(right), gojq.OpPipe, bind("$__b")
	q.Right = &gojq.Query{
		Left: paren(left), Op: gojq.OpPipe, Patterns: bind("$__a"),
		Right: pipe(call(check, a, b), &gojq.Query{Left: a, Op: op, Right: b}),
	}
}

// whole makes of q what change makes of it, definitions aside.
func (g *guarding) whole(q *gojq.Query, change func(*gojq.Query) *gojq.Query) {
	plain := *q
	plain.FuncDefs = nil
	defs := q.FuncDefs
	*q = *change(&plain)
	q.FuncDefs = defs
}

// update makes of l += r what it means: r as $b | l |= (. + $b), guarded.
func (g *guarding) update(q *gojq.Query) {
	left, right := q.Left, q.Right
	here, b := identity(), call("$__b")
	var change *gojq.Query
	switch q.Op {
	case gojq.OpUpdateAdd:
		change = pipe(&gojq.Query{Left: here, Op: gojq.OpAdd, Right: b}, call("_ok_made"))
	case gojq.OpUpdateMul:
		change = pipe(call("_ok_product", here, b), &gojq.Query{Left: here, Op: gojq.OpMul, Right: b})
	case gojq.OpUpdateDiv:
		change = pipe(call("_ok_quotient", here, b), &gojq.Query{Left: here, Op: gojq.OpDiv, Right: b})
	default:
		change = pipe(call("_ok_pairs", here, b), &gojq.Query{Left: here, Op: gojq.OpSub, Right: b})
	}
	q.Left, q.Op, q.Patterns = paren(right), gojq.OpPipe, bind("$__b")
	q.Right = pipe(call("_ok_outer"), &gojq.Query{Left: left, Op: gojq.OpModify, Right: paren(change)})
}

func (g *guarding) term(t *gojq.Term) {
	if t == nil {
		return
	}
	g.index(t.Index)
	for _, s := range t.SuffixList {
		g.index(s.Index)
	}
	g.text(t.Str)
	g.query(t.Query)
	if t.Unary != nil {
		g.term(t.Unary.Term)
	}
	if t.Object != nil {
		for _, kv := range t.Object.KeyVals {
			g.variable(kv.Key)
			g.text(kv.KeyString)
			g.query(kv.KeyQuery)
			g.query(kv.Val)
		}
	}
	if t.Array != nil {
		g.query(t.Array.Query)
	}
	g.control(t)
	switch t.Type {
	case gojq.TermTypeNumber:
		if len(t.Number) > maxDigits {
			g.fail("a number has more than %d digits", maxDigits)
		}
	case gojq.TermTypeFormat:
		if t.Str == nil {
			replace(t, pipe(call("_ok_render"), &gojq.Query{Term: &gojq.Term{Type: t.Type, Format: t.Format}}))
		}
	case gojq.TermTypeRecurse:
		replace(t, pipe(call("_ok_outer"), &gojq.Query{Term: &gojq.Term{Type: t.Type}}))
	case gojq.TermTypeFunc:
		g.function(t)
	}
	suffixes(t)
}

// control guards the parts of what steers a query.
func (g *guarding) control(t *gojq.Term) {
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
}

// suffixes puts the checks before a suffix that iterates or takes a slice.
func suffixes(t *gojq.Term) {
	if t.Type == gojq.TermTypeIndex && t.Index.IsSlice {
		t.SuffixList = slices.Insert(t.SuffixList, 0, &gojq.Suffix{Index: t.Index})
		*t = gojq.Term{Type: gojq.TermTypeIdentity, SuffixList: t.SuffixList}
	}
	for i := 0; i < len(t.SuffixList); i++ {
		check := ""
		switch s := t.SuffixList[i]; {
		case s.Iter:
			check = "_ok_outer"
		case s.Index != nil && s.Index.IsSlice:
			check = "_ok_slice"
		default:
			continue
		}
		inner, rest := *t, t.SuffixList[i:]
		inner.SuffixList = slices.Clone(t.SuffixList[:i])
		*t = gojq.Term{Type: gojq.TermTypeQuery, Query: pipe(&gojq.Query{Term: &inner}, call(check)), SuffixList: slices.Clone(rest)}
		i = 0
	}
}

// function guards the call of a function that isn't one of the query's own.
func (g *guarding) function(t *gojq.Term) {
	f := t.Func
	for _, arg := range f.Args {
		g.query(arg)
	}
	g.name(f.Name)
	if f.Name[0] == '$' || slices.Contains(g.defined, arity(f.Name, len(f.Args))) {
		return
	}
	plain := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: f}}
	before := func(check string, args ...*gojq.Query) { replace(t, pipe(call(check, args...), plain)) }
	after := func(n int, check string) {
		if n < len(f.Args) {
			f.Args[n] = pipe(paren(f.Args[n]), call(check))
		}
	}
	switch rules[f.Name] {
	case unknown:
		g.fail("function not defined: %s", clip(arity(f.Name, len(f.Args))))
	case free:
	case outer:
		before("_ok_outer")
	case whole, render:
		check := "_ok_whole"
		if rules[f.Name] == render {
			check = "_ok_render"
		}
		for i := range f.Args {
			after(i, check)
		}
		before(check)
	case order:
		before("_ok_order")
	case orderBy:
		if len(f.Args) == 1 { // sort_by(f) is _sort_by(map([f]))
			// What map is defined as stands here: the query may have a map of its own.
			keys := pipe(list(pipe(each(), list(f.Args[0]))), call("_ok_order"))
			replace(t, pipe(call("_ok_outer"), call("_"+f.Name, keys)))
		}
	case adding:
		if len(f.Args) == 1 { // add(f) is [f] | add
			if slices.Contains(g.defined, arity("add", 0)) {
				g.fail("add(f) beside an add of one's own: name yours otherwise")
				return
			}
			replace(t, pipe(list(f.Args[0]), pipe(call("_ok_total"), call("add"))))
			return
		}
		before("_ok_total")
	case pairing:
		first(t, "_ok_pairs", identity())
	case joining:
		first(t, "_ok_join")
	case matching, global, putting:
		g.matching(t)
	case letters:
		before("_ok_letters", literal(""))
	case fields:
		if len(f.Args) == 2 {
			g.matching(t)
			return
		}
		first(t, "_ok_letters")
	case rows:
		before("_ok_rows")
	case decoding:
		before("_ok_decode")
	case index:
		after(0, "_ok_index")
	case path:
		after(0, "_ok_path")
		before("_ok_outer")
	case stream:
		after(0, "_ok_event")
	case looking:
		after(min(len(f.Args)-1, 2), "_ok_index")
	case format:
		after(0, "_ok_format")
	}
}

// matching guards a function of regular expressions.
func (g *guarding) matching(t *gojq.Term) {
	f := t.Func
	all := "false"
	switch rules[f.Name] {
	case global, fields:
		all = "true"
	case putting:
		if len(f.Args) > 1 {
			f.Args[1] = pipe(paren(f.Args[1]), call("_ok_put"))
		}
		if f.Name == "gsub" || len(f.Args) > 2 && mayBeGlobal(f.Args[2]) {
			all = "true"
		}
	default:
		if f.Name != "test" && len(f.Args) > 1 && mayBeGlobal(f.Args[1]) {
			all = "true"
		}
	}
	first(t, "_ok_regex", nil, constant(all))
}

// mayBeGlobal reports whether the flags that q gives may ask for all matches.
func mayBeGlobal(q *gojq.Query) bool {
	return !isScalar(q) || isText(q) && strings.Contains(q.Term.Str.Str, "g")
}

// first makes of f(x; …) what it means when x is evaluated once: x as $b |
// check($b) | f($b; …). In args, nil stands for $b; alone, it is the last.
func first(t *gojq.Term, check string, args ...*gojq.Query) {
	f := t.Func
	if len(f.Args) == 0 {
		return
	}
	arg, b := f.Args[0], call("$__b")
	f.Args[0] = b
	if i := slices.Index(args, nil); i >= 0 {
		args[i] = b
	} else {
		args = append(args, b)
	}
	plain := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: f}}
	replace(t, &gojq.Query{Left: paren(arg), Op: gojq.OpPipe, Patterns: bind("$__b"), Right: pipe(call(check, args...), plain)})
}

// replace makes of t a query in parentheses, keeping its suffixes.
func replace(t *gojq.Term, q *gojq.Query) {
	*t = gojq.Term{Type: gojq.TermTypeQuery, Query: q, SuffixList: t.SuffixList}
}

// text guards what is put into a string.
func (g *guarding) text(s *gojq.String) {
	if s == nil {
		return
	}
	pieces := constant(strconv.Itoa(len(s.Queries)))
	for i, q := range s.Queries {
		if q.Term != nil && q.Term.Str != nil && q.Term.Type == gojq.TermTypeString && len(q.Term.Str.Queries) == 0 && len(q.Term.SuffixList) == 0 {
			continue
		}
		g.query(q)
		s.Queries[i] = paren(pipe(paren(q), call("_ok_piece", pieces)))
	}
}

// index guards an index that is computed or large.
func (g *guarding) index(e *gojq.Index) {
	if e == nil {
		return
	}
	g.text(e.Str)
	for _, q := range [...]**gojq.Query{&e.Start, &e.End} {
		if *q == nil {
			continue
		}
		g.query(*q)
		if n, ok := literalNumber(*q); ok && n <= maxIndex || isText(*q) {
			continue
		}
		*q = pipe(paren(*q), call("_ok_index"))
	}
}

func pipe(a, b *gojq.Query) *gojq.Query {
	return &gojq.Query{Left: a, Op: gojq.OpPipe, Right: b}
}

func paren(q *gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: q}}
}

func call(name string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}}}
}

// each is .[].
func each() *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity, SuffixList: []*gojq.Suffix{{Iter: true}}}}
}

func identity() *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}}
}

func list(q *gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: q}}}
}

// constant makes a number, or a truth value.
func constant(text string) *gojq.Query {
	t := &gojq.Term{Type: gojq.TermTypeNumber, Number: text}
	switch text {
	case "true":
		t = &gojq.Term{Type: gojq.TermTypeTrue}
	case "false":
		t = &gojq.Term{Type: gojq.TermTypeFalse}
	}
	return &gojq.Query{Term: t}
}

func literal(s string) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: s}}}
}

func bind(name string) []*gojq.Pattern { return []*gojq.Pattern{{Name: name}} }

// plainTerm gives the term that is all of q.
func plainTerm(q *gojq.Query) *gojq.Term {
	if q == nil || q.Term == nil || len(q.Term.SuffixList) > 0 || len(q.FuncDefs) > 0 {
		return nil
	}
	return q.Term
}

// literalNumber gives the number that q is, as written.
func literalNumber(q *gojq.Query) (float64, bool) {
	t := plainTerm(q)
	if t == nil || t.Type != gojq.TermTypeNumber {
		return 0, false
	}
	n, err := strconv.ParseFloat(t.Number, 64)
	return n, err == nil
}

func isNumber(q *gojq.Query) bool { _, ok := literalNumber(q); return ok }

func isText(q *gojq.Query) bool {
	t := plainTerm(q)
	return t != nil && t.Type == gojq.TermTypeString && len(t.Str.Queries) == 0
}

// isScalar reports whether q is a scalar as written, with which anything is
// compared at once.
func isScalar(q *gojq.Query) bool {
	if isNumber(q) || isText(q) {
		return true
	}
	t := plainTerm(q)
	return t != nil && (t.Type == gojq.TermTypeNull || t.Type == gojq.TermTypeTrue || t.Type == gojq.TermTypeFalse)
}
