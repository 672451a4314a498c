package jq

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/bits"
	"regexp/syntax"
	"strings"

	"github.com/itchyny/gojq"
)

const (
	maxNodes   = 4_000_000   // values within one value that is worked on
	maxText    = 16 << 20    // bytes of strings within one value that is worked on
	maxNesting = 10_000      // levels of containers
	maxPairs   = 50_000_000  // pairs that one operation compares
	maxIndex   = 4_000_000   // of an array
	maxSought  = 64          // values within an array that is sought by an index
	maxBits    = 4_000       // of a product of whole numbers
	maxDigits  = 1_000       // of a number
	maxPattern = 1_000       // bytes of a regular expression or of a time format
	maxProgram = 5_000       // instructions of a regular expression
	maxMatched = 100_000_000 // bytes times instructions
	maxGlobal  = 20 << 10    // bytes in which all matches are sought, which takes quadratic time
)

// Bytes that the interpreter takes for an element, a member, an element that is
// iterated over, a letter or field of a string, a match, a byte of JSON that is read.
const (
	elementBytes = 16
	memberBytes  = 64
	iterBytes    = 32
	fieldBytes   = 32
	matchBytes   = 600
	readBytes    = 24
)

// checks are the functions that [guard] puts into queries. Each returns its
// input unchanged, which keeps it out of paths, or an error. Their names can't
// be written in a query, and are none of the interpreter's: it treats its own
// _index and _slice in a way of their own wherever they occur.
func (m *meter) checks() []gojq.CompilerOption {
	check := func(name string, arity int, ok func(v any, args []any) error) gojq.CompilerOption {
		return gojq.WithFunction(name, arity, arity, func(v any, args []any) any {
			if err := ok(v, args); err != nil {
				return err
			}
			return v
		})
	}
	return []gojq.CompilerOption{
		check("_ok_whole", 0, m.whole),
		check("_ok_render", 0, m.render),
		check("_ok_order", 0, m.order),
		check("_ok_outer", 0, m.outer),
		check("_ok_slice", 0, m.slice),
		check("_ok_made", 0, m.made),
		check("_ok_total", 0, m.total),
		check("_ok_piece", 1, m.piece),
		check("_ok_compare", 2, m.compare),
		check("_ok_product", 2, m.product),
		check("_ok_quotient", 2, m.quotient),
		check("_ok_pairs", 2, m.pairs),
		check("_ok_join", 1, m.join),
		check("_ok_regex", 2, m.regex),
		check("_ok_put", 0, m.put),
		check("_ok_letters", 1, m.letters),
		check("_ok_rows", 0, m.rows),
		check("_ok_decode", 0, m.decode),
		check("_ok_index", 0, m.index),
		check("_ok_path", 0, m.path),
		check("_ok_event", 0, m.event),
		check("_ok_format", 0, m.format),
	}
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

// whole checks a value that is visited as a whole.
func (m *meter) whole(v any, _ []any) error {
	e, err := m.measure(v)
	if err != nil {
		return err
	}
	return m.grow(e.nodes * elementBytes)
}

// render checks a value that is made a text.
func (m *meter) render(v any, _ []any) error {
	if s, ok := v.(string); ok {
		return m.grow(6 * len(s))
	}
	e, err := m.measure(v)
	if err != nil {
		return err
	}
	if err := m.work(e.rendered() / 256); err != nil {
		return err
	}
	return m.grow(e.rendered())
}

// order checks an array that is sorted by its elements.
func (m *meter) order(v any, _ []any) error {
	e, err := m.measure(v)
	if err != nil {
		return err
	}
	n := size(v)
	if err := m.work(e.nodes * bits.Len(uint(n)) / nodesPerStep); err != nil {
		return err
	}
	return m.grow(n * (memberBytes + elementBytes))
}

// outer checks a value that is copied or iterated over, its parts aside.
func (m *meter) outer(v any, _ []any) error {
	switch v := v.(type) {
	case string:
		if len(v) < 1024 {
			return nil
		}
		if err := m.work(len(v) / 256); err != nil {
			return err
		}
		return m.grow(len(v))
	case []any:
		if err := m.work(len(v) / 16); err != nil {
			return err
		}
		return m.grow(len(v) * iterBytes)
	case map[string]any:
		if err := m.work(len(v) / 2); err != nil {
			return err
		}
		return m.grow(len(v) * memberBytes)
	}
	return nil
}

// slice checks a value of which a slice is taken: letters are counted.
func (m *meter) slice(v any, _ []any) error {
	if s, ok := v.(string); ok {
		return m.work(len(s) / 256)
	}
	return nil
}

// made checks a sum after it was made of two values that passed.
func (m *meter) made(v any, _ []any) error {
	switch v := v.(type) {
	case string:
		if len(v) > maxText {
			return ErrSize
		}
	case []any:
		if len(v) > maxNodes {
			return ErrSize
		}
	case map[string]any:
		if len(v) > maxNodes {
			return ErrSize
		}
	default:
		return nil
	}
	return m.outer(v, nil)
}

// total checks an array whose elements are added up.
func (m *meter) total(v any, _ []any) error {
	list, ok := v.([]any)
	if !ok {
		return m.outer(v, nil)
	}
	bytes := 0
	for _, item := range list {
		switch item := item.(type) {
		case string:
			bytes += len(item)
		case []any:
			bytes += 2 * elementBytes * len(item)
		case map[string]any:
			bytes += memberBytes * len(item)
		}
	}
	if err := m.work(len(list)/nodesPerStep + bytes/256); err != nil {
		return err
	}
	return m.grow(bytes)
}

// piece checks a value that is put into a string, which has as many pieces as
// the argument says.
func (m *meter) piece(v any, a []any) error {
	pieces, ok := a[0].(int)
	if !ok {
		return fmt.Errorf("a string has %v pieces", a[0])
	}
	e, err := m.measure(v)
	if err != nil {
		return err
	}
	n := e.rendered()
	if s, ok := v.(string); ok {
		n = len(s)
	}
	if n*pieces > 6*maxText {
		return ErrSize
	}
	if err := m.work(n * pieces / 1024); err != nil {
		return err
	}
	return m.grow(n * pieces)
}

// compare checks two values that are compared.
func (m *meter) compare(_ any, a []any) error {
	if !isContainer(a[0]) || !isContainer(a[1]) {
		return nil
	}
	_, err := m.measure(a...)
	return err
}

func isContainer(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

// product checks a * b: numbers, a string repeated, objects merged.
func (m *meter) product(_ any, a []any) error {
	for i, v := range a {
		s, ok := v.(string)
		if !ok {
			continue
		}
		n, ok := gojq.ToFloat64(a[1-i])
		if !ok || !(n > 0) {
			return nil
		}
		if n*float64(len(s)) > maxText {
			return ErrSize
		}
		return m.grow(int(n * float64(len(s))))
	}
	if _, ok := a[0].(map[string]any); ok {
		e, err := m.measure(a...)
		if err != nil {
			return err
		}
		return m.grow(e.nodes * memberBytes)
	}
	if bitLen(a[0])+bitLen(a[1]) > maxBits {
		return errDigits
	}
	return nil
}

var errDigits = fmt.Errorf("%w: a number has more than %d digits", ErrSize, maxDigits)

func bitLen(v any) int {
	switch v := v.(type) {
	case *big.Int:
		return v.BitLen()
	case json.Number:
		return 4 * len(v)
	}
	return 0
}

// quotient checks a / b, which splits strings.
func (m *meter) quotient(_ any, a []any) error { return m.letters(a[0], a[1:]) }

// pairs checks an operation that may compare every part of a value with every
// part of another.
func (m *meter) pairs(_ any, a []any) error {
	if !isContainer(a[0]) || !isContainer(a[1]) {
		return nil
	}
	x, err := m.measure(a[0])
	if err != nil {
		return err
	}
	y, err := m.measure(a[1])
	if err != nil {
		return err
	}
	n := (x.nodes + x.text/64) * (y.nodes + y.text/64)
	if n > maxPairs {
		return fmt.Errorf("%w: comparing %d with %d values; use an object as an index, or group_by", ErrSize, x.nodes, y.nodes)
	}
	return m.work(n / nodesPerStep)
}

// join checks join(a).
func (m *meter) join(v any, a []any) error {
	e, err := m.measure(v)
	if err != nil {
		return err
	}
	n := e.text + 24*e.nodes
	if sep, ok := a[0].(string); ok {
		n += len(sep) * size(v)
	}
	if n > 6*maxText {
		return ErrSize
	}
	if err := m.work(n / 256); err != nil {
		return err
	}
	return m.grow(2 * n)
}

// regex checks a function whose first argument is a regular expression, or an
// array that begins with one. The second says whether all matches are sought.
func (m *meter) regex(v any, a []any) error {
	re, all := a[0], a[1] == true
	if list, ok := re.([]any); ok && len(list) > 0 {
		re, all = list[0], all || len(list) > 1 // with flags
	}
	pattern, ok := re.(string)
	text, isText := v.(string)
	if !ok || !isText {
		return nil // the function itself will complain
	}
	if len(pattern) > maxPattern {
		return fmt.Errorf("%w: a regular expression of %d bytes", ErrSize, len(pattern))
	}
	if all && len(text) > maxGlobal {
		return fmt.Errorf("%w: seeking all matches in a string of %d bytes, at most %d are allowed", ErrSize, len(text), maxGlobal)
	}
	n := m.program(pattern)
	if n > maxProgram || n*len(text) > maxMatched {
		return fmt.Errorf("%w: a regular expression of %d instructions over a string of %d bytes", ErrSize, n, len(text))
	}
	if all {
		if err := m.work(len(text) * len(text) / 1024); err != nil {
			return err
		}
		if err := m.grow(len(text) * matchBytes); err != nil {
			return err
		}
	}
	return m.work(n * len(text) / 256)
}

// program gives the length of a compiled pattern; 0 when it is none, of which
// the function itself will complain.
func (m *meter) program(pattern string) int {
	if n, ok := m.programs[pattern]; ok {
		return n
	}
	n := 0
	if tree, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		if program, err := syntax.Compile(tree.Simplify()); err == nil {
			n = len(program.Inst)
		}
	}
	if m.programs == nil || len(m.programs) > 1000 {
		m.programs = map[string]int{}
	}
	m.programs[pattern] = n
	return n
}

// put checks a text that sub or gsub puts in: each is added to all before.
func (m *meter) put(v any, _ []any) error {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	if m.replaced += len(s); m.replaced > 2*maxText {
		return ErrSize
	}
	if err := m.work(m.replaced / 1024); err != nil {
		return err
	}
	return m.grow(m.replaced)
}

// letters checks a string that is taken apart at a separator, the argument, or
// into its letters.
func (m *meter) letters(v any, a []any) error {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	fields := len(s)
	if sep, ok := a[0].(string); ok && len(s) > 1024 {
		fields = strings.Count(s, sep) + 1
	}
	if fields > maxNodes {
		return ErrSize
	}
	if err := m.work(len(s)/256 + fields/nodesPerStep); err != nil {
		return err
	}
	return m.grow(fields * fieldBytes)
}

// rows checks transpose, which makes rows of all columns.
func (m *meter) rows(v any, _ []any) error {
	rows, _ := v.([]any)
	longest := 0
	for _, row := range rows {
		if row, ok := row.([]any); ok {
			longest = max(longest, len(row))
		}
	}
	if longest*len(rows) > maxNodes {
		return ErrSize
	}
	if err := m.work(longest * len(rows) / nodesPerStep); err != nil {
		return err
	}
	return m.grow(longest*len(rows)*elementBytes + longest*fieldBytes)
}

// decode checks a string that is read as a number or as JSON.
func (m *meter) decode(v any, _ []any) error {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	digits := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			digits = 0
		} else if digits++; digits > maxDigits {
			return errDigits
		}
	}
	if err := m.work(len(s) / 32); err != nil {
		return err
	}
	return m.grow(len(s) * readBytes)
}

// index checks what stands in brackets: a number may grow an array up to it, an
// array is sought in another.
func (m *meter) index(v any, _ []any) error {
	switch v := v.(type) {
	case string:
		return nil
	case []any:
		var e extent
		if size(v) > maxSought || !e.add(v, 0) || e.nodes > maxSought {
			return fmt.Errorf("%w: an array to seek has more than %d parts", ErrSize, maxSought)
		}
		return nil
	}
	if n, ok := gojq.ToFloat64(v); ok && n > maxIndex {
		return fmt.Errorf("%w: an index is too large, at most %d is allowed", ErrSize, maxIndex)
	}
	return nil
}

// path checks a path.
func (m *meter) path(v any, _ []any) error {
	path, ok := v.([]any)
	if !ok {
		return nil
	}
	if len(path) > maxNesting {
		return fmt.Errorf("%w: a path of %d steps", ErrSize, len(path))
	}
	for _, e := range path {
		if err := m.index(e, nil); err != nil {
			return err
		}
	}
	return m.work(len(path) / nodesPerStep)
}

// event checks an event of a stream, which begins with a path.
func (m *meter) event(v any, _ []any) error {
	if event, ok := v.([]any); ok && len(event) > 0 {
		return m.path(event[0], nil)
	}
	return nil
}

// format checks the format of a time.
func (m *meter) format(v any, _ []any) error {
	if s, ok := v.(string); ok && len(s) > maxPattern {
		return fmt.Errorf("%w: the format has more than %d bytes", ErrSize, maxPattern)
	}
	return nil
}
