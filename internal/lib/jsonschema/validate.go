package jsonschema

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of one validation.
const (
	maxSteps  = 2_000_000 // subschemas applied, and values compared
	maxNested = 1_000     // subschemas and values inside each other
	maxFaults = 20        // reported; the rest is counted
)

// Validate reports everything that is wrong with a value as [Decode] gives it
// (floats and integers of Go are taken as well), in a stable order: the faults
// of an object before those of its fields, fields by name. At most 20 faults
// are spelled out and the rest counted. No fault means valid.
func (s *Schema) Validate(value any) []Fault {
	r := run{track: s.tracks}
	var found findings
	r.visit(s.root, value, &found, nil)
	if r.stopped != "" {
		return []Fault{{Message: r.stopped}}
	}
	return found.faults()
}

// run is the state of one validation.
type run struct {
	path    []step
	steps   int
	nested  int
	track   bool
	stopped string // why the run gave up
}

// A step leads from a value into a member or, with an empty list flag, an item.
type step struct {
	key   string
	index int
	item  bool
}

// marks remembers which members and items some subschema has judged; only
// unevaluatedProperties and unevaluatedItems ask. A nil *marks takes nothing.
type marks struct {
	keys  map[string]bool
	items map[int]bool
}

func (m *marks) key(k string) {
	if m != nil {
		if m.keys == nil {
			m.keys = map[string]bool{}
		}
		m.keys[k] = true
	}
}

func (m *marks) item(i int) {
	if m != nil {
		if m.items == nil {
			m.items = map[int]bool{}
		}
		m.items[i] = true
	}
}

func (m *marks) merge(from *marks) {
	if m == nil {
		return
	}
	for k := range from.keys {
		m.key(k)
	}
	for i := range from.items {
		m.item(i)
	}
}

// spend counts work and reports whether the run may go on.
func (r *run) spend(n int) bool {
	if r.steps += n; r.steps > maxSteps && r.stopped == "" {
		r.stopped = "too complex to check against its schema"
	}
	return r.stopped == ""
}

// visit judges v by n. Faults go to f, nil when only the verdict matters; what
// a valid v had judged goes to m.
func (r *run) visit(n *node, v any, f *findings, m *marks) bool {
	if r.nested++; r.nested > maxNested {
		r.stopped = "nested too deep to check against its schema"
	}
	defer func() { r.nested-- }()
	if !r.spend(1) {
		return false
	}
	if n.never {
		f.add(r, byOther, "nothing is allowed here, got %s", show(v))
		return false
	}
	v = plain(v)
	kind := kindOf(v)
	if num, ok := v.(json.Number); kind == 0 || ok && !isNumber(string(num)) {
		f.add(r, byType, "this is no JSON value that can be checked")
		return false
	}
	if n.types != 0 && n.types&kind == 0 {
		f.addType(r, n.types, v)
		return false
	}
	var own *marks
	if r.track && (m != nil || n.restItems != nil || n.restP != nil) {
		own = &marks{}
	}
	ok := r.values(n, v, f)
	switch v := v.(type) {
	case string:
		ok = r.text(n, v, f) && ok
	case json.Number:
		ok = r.number(n, v, f) && ok
	case []any:
		ok = r.array(n, v, f, own) && ok
	case map[string]any:
		ok = r.object(n, v, f, own) && ok
	}
	ok = r.logic(n, v, f, own) && ok
	ok = r.rest(n, v, f, own) && ok
	if ok && m != nil && own != nil {
		m.merge(own)
	}
	return ok && r.stopped == ""
}

// plain gives the numbers of Go the form that Decode gives.
func plain(v any) any {
	switch v := v.(type) {
	case float64:
		return json.Number(strconv.FormatFloat(v, 'g', -1, 64))
	case int:
		return json.Number(strconv.Itoa(v))
	case int64:
		return json.Number(strconv.FormatInt(v, 10))
	}
	return v
}

func (r *run) values(n *node, v any, f *findings) bool {
	if !n.isSet {
		return true
	}
	for _, want := range n.enum {
		if r.equal(v, want) {
			return true
		}
	}
	f.addEnum(r, n.enum, v)
	return false
}

func (r *run) equal(a, b any) bool {
	if !r.spend(1) {
		return false
	}
	switch a := plain(a).(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && compare(string(a), string(b)) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, r.equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, r.equal)
	default:
		// What is left is comparable on both sides, or of different types.
		switch b.(type) {
		case []any, map[string]any:
			return false
		}
		return a == b
	}
}

// compare orders two bounded numbers; what is no number is equal to nothing.
func compare(a, b string) int {
	if a == b {
		return 0
	}
	x, y := rat(a), rat(b)
	if x == nil || y == nil {
		return 1
	}
	return x.Cmp(y)
}

func (r *run) number(n *node, v json.Number, f *findings) bool {
	if n.minimum == nil && n.maximum == nil && n.above == nil && n.below == nil && n.multiple == nil {
		return true
	}
	num, ok := rat(string(v)), true
	for _, c := range [...]struct {
		bound *bound
		fits  func(order int) bool
		want  string
	}{
		{n.minimum, func(o int) bool { return o >= 0 }, "at least "},
		{n.maximum, func(o int) bool { return o <= 0 }, "at most "},
		{n.above, func(o int) bool { return o > 0 }, "more than "},
		{n.below, func(o int) bool { return o < 0 }, "less than "},
	} {
		if c.bound != nil && !c.fits(num.Cmp(c.bound.rat)) {
			ok = false
			f.add(r, byOther, "expected %s%s, got %s", c.want, clip(c.bound.text), show(v))
		}
	}
	if n.multiple != nil && !new(big.Rat).Quo(num, n.multiple.rat).IsInt() {
		ok = false
		f.add(r, byOther, "expected a multiple of %s, got %s", clip(n.multiple.text), show(v))
	}
	return ok
}

func (r *run) text(n *node, v string, f *findings) bool {
	ok := true
	if n.minLength.set || n.maxLength.set {
		ok = r.count(n.minLength, n.maxLength, utf8.RuneCountInString(v), "character", f)
	}
	if n.pattern == nil {
		return ok
	}
	if !r.matches(n.pattern, v) && r.stopped == "" {
		f.add(r, byOther, "%s doesn't match the pattern %s", quote(v), clip(n.pattern.String()))
		return false
	}
	return ok
}

// matches spends in proportion to what a pattern can cost.
func (r *run) matches(p *pattern, s string) bool {
	return r.spend(1+len(s)*p.size/16) && p.MatchString(s)
}

// count holds a number of things against two limits.
func (r *run) count(low, high limit, got int, what string, f *findings) bool {
	for _, c := range [...]struct {
		limit limit
		bad   bool
		want  string
	}{{low, got < low.n, "at least"}, {high, got > high.n, "at most"}} {
		if c.limit.set && c.bad {
			f.add(r, byOther, "expected %s %s, got %d", c.want, plural(c.limit.n, what), got)
			return false
		}
	}
	return true
}

func (r *run) array(n *node, v []any, f *findings, m *marks) bool {
	ok := r.count(n.minItems, n.maxItems, len(v), "item", f)
	if n.unique {
		ok = r.distinct(v, f) && ok
	}
	for i, item := range v {
		by := n.items
		if i < len(n.prefix) {
			by = n.prefix[i]
		}
		if by == nil {
			break
		}
		m.item(i)
		ok = r.into(step{index: i, item: true}, by, item, f) && ok
		if r.stopped != "" || !ok && f == nil {
			return false
		}
	}
	if n.contains == nil {
		return ok
	}
	matches := 0
	for i, item := range v {
		if r.into(step{index: i, item: true}, n.contains, item, nil) {
			m.item(i)
			matches++
		}
	}
	low := n.minContains
	if !low.set {
		low = limit{1, true}
	}
	return r.count(low, n.maxContains, matches, "item of the kind asked for", f) && ok
}

// distinct compares all items by their canonical text.
func (r *run) distinct(v []any, f *findings) bool {
	seen := make(map[string]int, len(v))
	for i, item := range v {
		text := string(appendJSON(nil, normal(item)))
		if !r.spend(1 + len(text)/16) {
			return false
		}
		if j, twice := seen[text]; twice {
			f.add(r, byOther, "items %d and %d are equal, expected no item twice", j, i)
			return false
		}
		seen[text] = i
	}
	return true
}

// normal gives equal numbers one spelling, so that canonical texts are equal
// when values are.
func normal(v any) any {
	switch v := plain(v).(type) {
	case json.Number:
		if x := rat(string(v)); x != nil {
			return x.RatString() // a string can't be taken for it: see below
		}
		return nil
	case string:
		return " " + v
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = normal(item)
		}
		return list
	case map[string]any:
		obj := make(map[string]any, len(v))
		for k, item := range v {
			obj[k] = normal(item)
		}
		return obj
	case bool:
		return v
	}
	return nil
}

func (r *run) object(n *node, v map[string]any, f *findings, m *marks) bool {
	ok := r.count(n.minProperties, n.maxProperties, len(v), "field", f)
	for _, name := range n.required {
		if _, there := v[name]; !there {
			ok = false
			f.add(r, byMissing, "missing required field %s", quote(name))
		}
	}
	if n.properties == nil && n.patterns == nil && n.additional == nil && n.names == nil {
		return r.needs(n, v, f, m) && ok
	}
	if !r.spend(len(v)) {
		return false
	}
	keys := sortedKeys(v)
	if r.unknown(n, keys, f) {
		ok = false
	}
	for _, key := range keys {
		by, patterned := n.properties[key], false
		for _, p := range n.patterns {
			if r.matches(p.match, key) {
				patterned = true
				ok = r.into(step{key: key}, p.node, v[key], f) && ok
			}
		}
		if by == nil && !patterned {
			by = n.additional
		}
		if by != nil || patterned {
			m.key(key)
		}
		if by != nil && (by != n.additional || !by.never) { // else reported by unknown
			ok = r.into(step{key: key}, by, v[key], f) && ok
		}
		if n.names != nil && !r.visit(n.names, key, nil, nil) {
			ok = false
			f.add(r, byOther, "%s is no name that a field may have here", quote(key))
		}
		if r.stopped != "" || !ok && f == nil {
			return false
		}
	}
	return r.needs(n, v, f, m) && ok
}

// unknown reports fields that additionalProperties: false forbids.
func (r *run) unknown(n *node, keys []string, f *findings) bool {
	if n.additional == nil || !n.additional.never {
		return false
	}
	any := false
	for _, key := range keys {
		if n.properties[key] != nil || slices.ContainsFunc(n.patterns, func(p patternNode) bool { return r.matches(p.match, key) }) {
			continue
		}
		any = true
		f.addUnknown(r, key, n.properties)
	}
	return any
}

func (r *run) needs(n *node, v map[string]any, f *findings, m *marks) bool {
	ok := true
	for _, need := range n.needs {
		if _, there := v[need.name]; !there {
			continue
		}
		for _, name := range need.required {
			if _, there := v[name]; !there {
				ok = false
				f.add(r, byMissing, "missing field %s, which is required when %s is given", quote(name), quote(need.name))
			}
		}
		if need.node != nil {
			ok = r.visit(need.node, v, f, m) && ok
		}
	}
	return ok
}

// into judges a member or item.
func (r *run) into(s step, n *node, v any, f *findings) bool {
	r.path = append(r.path, s)
	ok := r.visit(n, v, f, nil)
	r.path = r.path[:len(r.path)-1]
	return ok
}

// logic applies the subschemas that judge the same value.
func (r *run) logic(n *node, v any, f *findings, m *marks) bool {
	ok := true
	if n.ref != nil {
		ok = r.visit(n.ref, v, f, m)
	}
	for _, part := range n.all {
		ok = r.visit(part, v, f, m) && ok
		if r.stopped != "" || !ok && f == nil {
			return false
		}
	}
	if len(n.any) > 0 {
		ok = r.choose(n.any, v, f, m, false) && ok
	}
	if len(n.one) > 0 {
		ok = r.choose(n.one, v, f, m, true) && ok
	}
	if n.not != nil && r.visit(n.not, v, nil, nil) {
		ok = false
		f.add(r, byOther, "%s is what the schema excludes here", show(v))
	}
	if n.when != nil {
		branch := n.els
		if r.visit(n.when, v, nil, m) {
			branch = n.then
		}
		if branch != nil {
			ok = r.visit(branch, v, f, m) && ok
		}
	}
	return ok
}

// choose demands that one of the forms fits, and only one of them if asked.
func (r *run) choose(forms []*node, v any, f *findings, m *marks, only bool) bool {
	var tried []findings
	fits := 0
	for _, form := range forms {
		var found *findings
		if f != nil && fits == 0 {
			found = &findings{}
		}
		if r.visit(form, v, found, m) {
			if fits++; !only && m == nil {
				return true
			}
		} else if found != nil {
			tried = append(tried, *found)
		}
		if r.stopped != "" {
			return false
		}
	}
	switch {
	case fits == 0:
		f.addChoice(r, tried, v)
		return false
	case only && fits > 1:
		f.add(r, byOther, "fits %d of the %d forms of which exactly one is allowed", fits, len(forms))
		return false
	}
	return true
}

// rest judges what no other subschema has.
func (r *run) rest(n *node, v any, f *findings, m *marks) bool {
	ok := true
	switch v := v.(type) {
	case map[string]any:
		if n.restP == nil {
			break
		}
		for _, key := range sortedKeys(v) {
			if m.keys[key] {
				continue
			}
			m.key(key)
			if n.restP.never {
				ok = false
				f.addUnknown(r, key, n.properties)
			} else {
				ok = r.into(step{key: key}, n.restP, v[key], f) && ok
			}
		}
	case []any:
		if n.restItems == nil {
			break
		}
		for i, item := range v {
			if !m.items[i] {
				m.item(i)
				ok = r.into(step{index: i, item: true}, n.restItems, item, f) && ok
			}
		}
	}
	return ok
}

// where renders the path of the value at hand: items[2].name.
func (r *run) where() string {
	var b strings.Builder
	for i, s := range r.path {
		switch {
		case s.item:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteByte(']')
		case isName(s.key):
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.key)
		default:
			b.WriteByte('[')
			b.WriteString(quote(s.key))
			b.WriteByte(']')
		}
	}
	return b.String()
}

// isName reports whether a key can stand in a dotted path.
func isName(key string) bool {
	if key == "" || len(key) > maxShown {
		return false
	}
	for _, c := range []byte(key) {
		if !(c == '_' || c == '-' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z') {
			return false
		}
	}
	return true
}
