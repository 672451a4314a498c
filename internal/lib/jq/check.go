package jq

import (
	"fmt"
	"math/big"
	"regexp/syntax"

	"github.com/itchyny/gojq"
)

const (
	maxNodes    = 4_000_000   // values within one value
	maxText     = 32 << 20    // bytes of strings within one value
	maxNesting  = 10_000      // levels of containers
	maxPiece    = 256 << 10   // bytes of text put into a string by interpolation
	maxPairs    = 200_000_000 // pairs that one operation compares
	maxIndex    = 10_000_000  // of an array
	maxBits     = 1 << 16     // of a product of whole numbers
	maxRegex    = 5_000       // instructions of a regular expression
	maxMatching = 200_000_000 // bytes times instructions
)

// The checks take the place of functions in a rewritten query. Each returns its
// input unchanged, or an error. Their names can't be written in a query.
func checks() []gojq.CompilerOption {
	check := func(name string, arity int, ok func(v any, args []any) error) gojq.CompilerOption {
		return gojq.WithFunction(name, arity, arity, func(v any, args []any) any {
			if err := ok(v, args); err != nil {
				return err
			}
			return v
		})
	}
	return []gojq.CompilerOption{
		check("_small", 0, func(v any, _ []any) error { return okSmall(v) }),
		check("_both", 2, func(_ any, a []any) error { return okSmall(a[0], a[1]) }),
		check("_piece", 0, okPiece),
		check("_sum", 2, okSum),
		check("_product", 2, okProduct),
		check("_pairs", 1, okPairs),
		check("_join", 1, okJoin),
		check("_regex", 1, okRegex),
		check("_index", 0, okIndex),
		check("_path", 0, okPath),
		check("_rows", 0, okRows),
		check("_letters", 0, okLetters),
	}
}

// meter measures a value as a tree, so that a part that stands in several
// places counts as often.
type meter struct{ nodes, text int }

func (m *meter) add(v any, depth int) bool {
	m.nodes++
	if m.nodes > maxNodes || m.text > maxText || depth > maxNesting {
		return false
	}
	switch v := v.(type) {
	case string:
		m.text += len(v)
	case *big.Int:
		m.text += v.BitLen() / 3
	case []any:
		for _, e := range v {
			if !m.add(e, depth+1) {
				return false
			}
		}
	case map[string]any:
		for k, e := range v {
			m.text += len(k)
			if !m.add(e, depth+1) {
				return false
			}
		}
	}
	return true
}

// small reports whether v is within the limits of one value.
func small(v any) bool {
	var m meter
	return m.add(v, 0) && m.text <= maxText
}

func okSmall(values ...any) error {
	for _, v := range values {
		if !small(v) {
			return ErrSize
		}
	}
	return nil
}

func okPiece(v any, _ []any) error {
	var m meter
	if !m.add(v, 0) || m.text+4*m.nodes > maxPiece {
		return ErrSize
	}
	return nil
}

// size is how large v is on the outside.
func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	}
	return 1
}

// okSum checks a + b.
func okSum(_ any, a []any) error {
	n := size(a[0]) + size(a[1])
	if _, text := a[0].(string); text && n > maxText || !text && n > maxNodes {
		return ErrSize
	}
	return nil
}

// okProduct checks a * b: numbers, a string repeated, objects merged.
func okProduct(_ any, a []any) error {
	for i, v := range a {
		if s, text := v.(string); text {
			if n, ok := gojq.ToFloat64(a[1-i]); ok && n > 0 && n*float64(len(s)) > maxText {
				return ErrSize
			}
		}
	}
	if bits(a[0])+bits(a[1]) > maxBits {
		return ErrSize
	}
	if _, object := a[0].(map[string]any); object {
		return okSmall(a...)
	}
	return nil
}

func bits(v any) int {
	switch v := v.(type) {
	case int:
		return 64
	case *big.Int:
		return v.BitLen()
	}
	return 0
}

// okPairs checks an operation that may compare every part of v with every part
// of its argument.
func okPairs(v any, a []any) error {
	var x, y meter
	if !x.add(v, 0) || !y.add(a[0], 0) || (x.nodes+x.text/64)*(y.nodes+y.text/64) > maxPairs {
		return ErrSize
	}
	return nil
}

// okJoin checks join(a).
func okJoin(v any, a []any) error {
	var m meter
	if !m.add(v, 0) || m.text+m.nodes*size(a[0]) > maxText {
		return ErrSize
	}
	return nil
}

// okRegex checks a function whose first argument is a regular expression, or an
// array that begins with one.
func okRegex(v any, a []any) error {
	re := a[0]
	if list, ok := re.([]any); ok && len(list) > 0 {
		re = list[0]
	}
	pattern, ok := re.(string)
	text, isText := v.(string)
	if !ok || !isText {
		return nil // the function itself will complain
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return fmt.Errorf("regular expression: %v", err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return fmt.Errorf("regular expression: %v", err)
	}
	if n := len(program.Inst); n > maxRegex || n*len(text) > maxMatching || len(text) > maxPiece {
		return fmt.Errorf("%w: a regular expression of %d instructions over a string of %d bytes", ErrSize, n, len(text))
	}
	return nil
}

// okIndex checks a number that may grow an array up to it.
func okIndex(v any, _ []any) error {
	if n, ok := gojq.ToFloat64(v); ok && n > maxIndex {
		return fmt.Errorf("%w: an array index of %v", ErrSize, n)
	}
	return nil
}

// okPath checks a path, or an array of them.
func okPath(v any, _ []any) error {
	path, ok := v.([]any)
	if !ok {
		return nil
	}
	if len(path) > maxNesting {
		return fmt.Errorf("%w: a path of %d steps", ErrSize, len(path))
	}
	for _, e := range path {
		if err := okIndex(e, nil); err != nil {
			return err
		}
	}
	return nil
}

// okRows checks transpose, which makes the longest row of each.
func okRows(v any, _ []any) error {
	rows, _ := v.([]any)
	longest := 0
	for _, row := range rows {
		longest = max(longest, size(row))
	}
	if longest*len(rows) > maxNodes {
		return ErrSize
	}
	return nil
}

// okLetters checks a string that is taken apart into its letters.
func okLetters(v any, _ []any) error {
	if s, ok := v.(string); ok && len(s) > maxNodes {
		return ErrSize
	}
	return nil
}
