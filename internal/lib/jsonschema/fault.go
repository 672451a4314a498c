package jsonschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Fault is one thing wrong with a value, on one line, for a model to mend.
type Fault struct {
	// Path leads to the value, like items[2].name; empty for the whole.
	Path string
	// Message says what was expected and what came. It repeats at most 60
	// characters of a value.
	Message string
}

// String gives "path: message", or the message alone for the whole value.
func (f Fault) String() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}

// reason says why a fault was found, as far as choosing among forms needs it.
type reason uint8

const (
	byOther reason = iota
	byType
	byValue // enum, const
	byMissing
	byUnknown
)

type finding struct {
	Fault
	reason reason
	depth  int   // of the path
	types  kinds // allowed, for byType
}

// findings collects faults. A nil *findings takes none, and costs nothing.
type findings struct {
	list []finding
	more int // found beyond maxFaults
}

func (f *findings) faults() []Fault {
	if len(f.list) == 0 {
		return nil
	}
	faults := make([]Fault, 0, len(f.list)+1)
	for _, found := range f.list {
		faults = append(faults, found.Fault)
	}
	if f.more > 0 {
		faults = append(faults, Fault{Message: fmt.Sprintf("and %d more", f.more)})
	}
	return faults
}

func (f *findings) push(found finding) {
	if f == nil {
		return
	}
	if len(f.list) >= maxFaults {
		f.more++
		return
	}
	f.list = append(f.list, found)
}

func (f *findings) add(r *run, why reason, format string, args ...any) {
	if f == nil {
		return
	}
	f.push(finding{
		Fault:  Fault{Path: r.where(), Message: fmt.Sprintf(format, args...)},
		reason: why,
		depth:  len(r.path),
	})
}

func (f *findings) addType(r *run, want kinds, v any) {
	if f == nil {
		return
	}
	f.push(finding{
		Fault:  Fault{Path: r.where(), Message: fmt.Sprintf("expected %s, got %s", want, show(v))},
		reason: byType,
		depth:  len(r.path),
		types:  want,
	})
}

func (f *findings) addEnum(r *run, want []any, v any) {
	if f == nil {
		return
	}
	const most = 12
	var names, texts []string
	for _, w := range want {
		if s, ok := w.(string); ok {
			names = append(names, s)
		}
		texts = append(texts, clip(string(appendJSON(nil, w))))
	}
	expected := strings.Join(texts[:min(len(texts), most)], ", ")
	switch {
	case len(texts) > most:
		expected += fmt.Sprintf(" and %d more", len(texts)-most)
		fallthrough
	case len(texts) > 1:
		expected = "one of " + expected
	case len(texts) == 0:
		expected = "nothing at all"
	}
	hint := ""
	if s, ok := v.(string); ok {
		if name := closest(s, names); name != "" {
			hint = "; did you mean " + quote(name) + "?"
		}
	}
	f.add(r, byValue, "expected %s, got %s%s", expected, show(v), hint)
}

func (f *findings) addUnknown(r *run, key string, known map[string]*node) {
	if f == nil {
		return
	}
	const most = 12
	names := sortedKeys(known)
	hint := ""
	if name := closest(key, names); name != "" {
		hint = "; did you mean " + quote(name) + "?"
	} else if len(names) > 0 && len(names) <= most {
		hint = "; allowed: " + strings.Join(names, ", ")
	}
	f.add(r, byUnknown, "unknown field %s%s", quote(key), hint)
}

// addChoice explains why none of several forms fits, by the one that was meant
// where that is plain.
func (f *findings) addChoice(r *run, tried []findings, v any) {
	if f == nil {
		return
	}
	here := len(r.path)
	var types kinds
	var near []findings
	for _, t := range tried {
		wrongType := false
		for _, found := range t.list {
			if found.reason == byType && found.depth == here {
				wrongType = true
				types |= found.types
			}
		}
		if !wrongType {
			near = append(near, t)
		}
	}
	if len(near) == 0 && types != 0 {
		f.addType(r, types, v)
		return
	}
	if len(near) > 1 {
		// A constant in a member ("kind": "file") tells which form was meant.
		meant := slices.DeleteFunc(slices.Clone(near), func(t findings) bool {
			return slices.ContainsFunc(t.list, func(found finding) bool {
				return found.reason == byValue && found.depth == here+1
			})
		})
		if len(meant) > 0 && len(meant) < len(near) {
			near = meant
		}
	}
	if len(near) == 1 {
		for _, found := range near[0].list {
			f.push(found)
		}
		f.more += near[0].more
		return
	}
	const most = 4
	var forms []string
	for i, t := range near[:min(len(near), most)] {
		if len(t.list) > 0 {
			forms = append(forms, fmt.Sprintf("(%d) %s", i+1, t.list[0].Fault))
		}
	}
	f.add(r, byOther, "fits none of the %d forms that are allowed: %s", len(tried), strings.Join(forms, "; "))
}

// String names the types as a sentence does: "string or null".
func (k kinds) String() string {
	var names []string
	for _, t := range [...]struct {
		kind kinds
		name string
	}{
		{kindString, "string"},
		{kindNumber, "number"},
		{kindInteger, "integer"},
		{kindFraction, "number"},
		{kindBoolean, "boolean"},
		{kindArray, "array"},
		{kindObject, "object"},
		{kindNull, "null"},
	} {
		if k&t.kind == t.kind {
			names = append(names, t.name)
			k &^= t.kind
		}
	}
	return strings.Join(names, " or ")
}

// show describes a value that was not expected, with its type.
func show(v any) string {
	switch v := plain(v).(type) {
	case nil:
		return "null"
	case bool:
		return "boolean " + strconv.FormatBool(v)
	case json.Number:
		return "number " + clip(string(v))
	case string:
		return "string " + quote(v)
	case []any:
		if len(v) == 0 {
			return "an empty array"
		}
		return "an array of " + plural(len(v), "item")
	case map[string]any:
		if len(v) == 0 {
			return "an empty object"
		}
		return "an object of " + plural(len(v), "field")
	}
	return fmt.Sprintf("a %T of Go", v)
}

// typeName names the type of a value in an error about a schema.
func typeName(v any) string {
	if v == nil {
		return "null"
	}
	if k := kindOf(v); k&kindNumber == 0 {
		return k.String()
	}
	return "number"
}

// clip cuts a text that is shown without quotes, such as a number.
func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown-3], "") + "…"
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if head, tail, ok := strings.Cut(what, " "); ok {
		return strconv.Itoa(n) + " " + head + "s " + tail
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// closest gives the one name that a misspelt one must mean, "" when none or
// several are as near: equal but for case and separators, or one or two typing
// slips away. It is not a search; the names of one object are few.
func closest(got string, names []string) string {
	if len(got) > maxShown {
		return ""
	}
	bare := fold(got)
	best, dist, tie := "", 3, false
	for _, name := range names {
		d := slips(bare, fold(name))
		if 3*d > max(len(bare), 3) {
			continue
		}
		switch {
		case d < dist:
			best, dist, tie = name, d, false
		case d == dist:
			tie = true
		}
	}
	if tie {
		return ""
	}
	return best
}

func fold(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c == '.' || c == ' ' {
			return -1
		}
		return c
	}, strings.ToLower(s))
}

// slips counts insertions, deletions, substitutions and swaps of neighbours
// between two short strings; more than 2 counts as 3.
func slips(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	two, one, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one, row = one, row, two
	}
	return min(one[len(b)], 3)
}
