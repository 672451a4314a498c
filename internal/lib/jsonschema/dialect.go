package jsonschema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A Dialect is what a provider takes of JSON Schema in the parameters of a
// tool, as a table. Below the top it takes the keywords Below, at the top, where
// the type is always object, the keywords Top; no other keyword is ever in a
// projection. Fields that are zero restrict nothing.
//
// A Dialect remembers what it projected. It is made once, is not changed
// afterwards, and is safe for concurrent use.
type Dialect struct {
	Name  string // as diagnoses call it
	Top   []string
	Below []string

	Lists   TypeLists // where "type" may be a list
	Enums   []string  // the types of values that "enum" may hold; nil: all
	NoBlank bool      // "enum" may not hold the empty string
	Formats []string  // nil: all

	// Items says that a schema of an array has to say what its items are.
	Items bool
	// Properties says that the top has to have properties, if only {}.
	Properties bool
	// Known says that only what stands in properties may be required.
	Known bool
	// Anything is the schema of any value as it is written where {} is not taken
	// for that, and neither is one that names no type.
	Anything map[string]any
	// NoBooleans says that true and false are no schemas but for
	// additionalProperties.
	NoBooleans bool
	// Field tells whether a property at the top may have a name; nil: any.
	Field func(name string) bool

	mu   sync.RWMutex
	seen map[string]*projected
}

// TypeLists says where "type" may be a list of types.
type TypeLists uint8

const (
	AnyList      TypeLists = iota // anywhere
	NullableList                  // of one type and null
	NoList                        // nowhere
)

// takes reports whether the keyword may stand at the top, or below.
func (d *Dialect) takes(keyword string, top bool) bool {
	if top {
		return slices.Contains(d.Top, keyword)
	}
	return slices.Contains(d.Below, keyword)
}

// refs reports whether the dialect can refer to definitions.
func (d *Dialect) refs() bool { return d.takes("$ref", false) && d.takes("$defs", true) }

// A Projection is the schema of a tool as a provider takes it. It accepts
// whatever the tool's own schema accepts, and may accept more.
type Projection struct {
	Parameters json.RawMessage // canonical; the schema itself where nothing had to change
	// Remark is what the schema says and its projection can't, at its top, where
	// the provider has no place for it: it belongs to the tool's description.
	Remark string
	// Changes tells of what was changed, a line each.
	Changes []string
}

// An UnfitError says why a schema can't be shown to a provider.
type UnfitError struct {
	Rule   string // the keyword or limit that decides
	Reason string // one clause
	Fix    string
}

func (e *UnfitError) Error() string { return e.Reason }

type projected struct {
	projection *Projection
	err        error
}

// maxSeen bounds what a dialect remembers; a build has some hundred tools.
const maxSeen = 4096

// Project fits the schema of a tool to the dialect. Equal schemas give equal
// projections, and a projection is its own. The error is an [*UnfitError].
func (d *Dialect) Project(schema json.RawMessage) (*Projection, error) {
	d.mu.RLock()
	p, ok := d.seen[string(schema)]
	d.mu.RUnlock()
	if !ok {
		p = &projected{}
		p.projection, p.err = d.project(schema)
		d.mu.Lock()
		if d.seen == nil || len(d.seen) >= maxSeen {
			d.seen = map[string]*projected{}
		}
		d.seen[string(schema)] = p
		d.mu.Unlock()
	}
	return p.projection, p.err
}

// fitting tells whether schemas are in a dialect already.
type fitting struct {
	d   *Dialect
	bad map[string]bool // the definitions that don't fit, by JSON pointer
}

// newFitting works out which definitions of doc fit: all, but for those that
// say something that doesn't, and those that refer to one.
func newFitting(d *Dialect, doc any, targets []string) *fitting {
	f := &fitting{d: d, bad: map[string]bool{}}
	users := map[string][]string{} // of a definition: those that refer to it
	var bad []string
	for _, ptr := range targets {
		v, ok := lookup(doc, ptr)
		eachRef(v, func(to string) { users[to] = append(users[to], ptr) })
		if !ok || !f.fits(v, ptr == "") {
			bad = append(bad, ptr)
		}
	}
	for len(bad) > 0 {
		ptr := bad[len(bad)-1]
		bad = bad[:len(bad)-1]
		if !f.bad[ptr] {
			f.bad[ptr] = true
			bad = append(bad, users[ptr]...)
		}
	}
	return f
}

// eachRef calls do with the JSON pointer that each reference in v holds.
func eachRef(v any, do func(ptr string)) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	if ref, ok := m["$ref"].(string); ok {
		if ptr, ok := pointer(ref); ok {
			do(ptr)
		}
	}
	for _, c := range subschemas(m) {
		if c.keyword != "$defs" {
			eachRef(c.v, do)
		}
	}
}

// fits reports whether v can stand as it is.
func (f *fitting) fits(v any, top bool) bool {
	m, ok := v.(map[string]any)
	if !ok {
		_, ok = v.(bool)
		return ok && !top && !f.d.NoBooleans
	}
	switch {
	case top && m["type"] != "object":
		return false
	case f.d.Anything == nil || top:
	case reflect.DeepEqual(m, f.d.Anything):
		return true
	case untyped(m):
		return false
	}
	if m["enum"] != nil && m["type"] == nil && f.d.Enums != nil {
		return false
	}
	for keyword, value := range m {
		if !f.d.takes(keyword, top) || !f.value(keyword, value, m, top) {
			return false
		}
	}
	if _, ok := m["properties"]; !ok && top && f.d.Properties {
		return false
	}
	if f.d.Items && mayBe(m["type"], "array") && m["items"] == nil && m["prefixItems"] == nil {
		return false
	}
	whole := f.d.Anything != nil && reflect.DeepEqual(m["anyOf"], f.d.Anything["anyOf"])
	for _, child := range subschemas(m) {
		if whole && child.keyword == "anyOf" {
			continue
		}
		_, isBool := child.v.(bool)
		if !(isBool && child.keyword == "additionalProperties") && !f.fits(child.v, false) {
			return false
		}
	}
	return f.target(m)
}

// untyped reports whether nothing in m tells which types of values fit.
func untyped(m map[string]any) bool {
	return !slices.ContainsFunc(typing, func(keyword string) bool { return m[keyword] != nil })
}

// typing are the keywords that tell the type of a value, by name or by their
// own meaning.
var typing = []string{"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "properties", "items", "prefixItems"}

// target reports whether what m refers to fits.
func (f *fitting) target(m map[string]any) bool {
	ref, ok := m["$ref"].(string)
	if !ok {
		return true
	}
	ptr, named := definition(ref)
	return named && !f.bad[ptr]
}

// definition reports whether a reference is one to the whole schema or to a
// definition, and its JSON pointer.
func definition(ref string) (ptr string, ok bool) {
	ptr, ok = pointer(ref)
	rest, isDef := strings.CutPrefix(ptr, "/$defs/")
	return ptr, ok && (ptr == "" || isDef && !strings.Contains(rest, "/"))
}

// value reports whether the value of a keyword has a form that is taken.
func (f *fitting) value(keyword string, value any, m map[string]any, top bool) bool {
	switch keyword {
	case "type":
		return f.d.typeFits(value)
	case "enum":
		list, ok := value.([]any)
		return ok && len(list) > 0 && f.d.enumFits(list)
	case "format":
		s, ok := value.(string)
		return ok && (f.d.Formats == nil || slices.Contains(f.d.Formats, s))
	case "description", "title":
		_, ok := value.(string)
		return ok
	case "examples":
		_, ok := value.([]any)
		return ok
	case "deprecated", "readOnly", "writeOnly":
		_, ok := value.(bool)
		return ok
	case "exclusiveMinimum", "exclusiveMaximum":
		_, ok := value.(json.Number)
		return ok
	case "items":
		_, list := value.([]any)
		return !list
	case "required":
		return f.d.requiredFits(value, m)
	case "properties":
		props, ok := value.(map[string]any)
		if !ok {
			return false
		}
		return !top || f.d.Field == nil || !slices.ContainsFunc(sortedKeys(props), func(name string) bool { return !f.d.Field(name) })
	}
	return true
}

func (d *Dialect) typeFits(value any) bool {
	list, ok := value.([]any)
	if !ok {
		_, ok = value.(string)
		return ok
	}
	if len(list) > len(typeNames) {
		return false
	}
	for i, t := range list {
		if slices.Contains(list[:i], t) {
			return false
		}
	}
	switch d.Lists {
	case NoList:
		return false
	case NullableList:
		return len(list) == 2 && slices.Contains(list, any("null"))
	}
	return len(list) > 0
}

// enumFits reports whether each of the values may stand in an enum.
func (d *Dialect) enumFits(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { return !d.enumerable(v) })
}

func (d *Dialect) enumerable(v any) bool {
	if d.NoBlank && v == "" {
		return false
	}
	if d.Enums == nil {
		return true
	}
	k := kindOf(v)
	return slices.ContainsFunc(d.Enums, func(t string) bool { return typeKinds[t]&k != 0 })
}

func (d *Dialect) requiredFits(value any, m map[string]any) bool {
	list, ok := value.([]any)
	props, _ := m["properties"].(map[string]any)
	seen := make(map[string]bool, len(list))
	for _, item := range list {
		name, isName := item.(string)
		_, known := props[name]
		if !isName || seen[name] || d.Known && !known {
			return false
		}
		seen[name] = true
	}
	return ok
}

// mayBe reports whether a type, or a list of them, names t.
func mayBe(types any, t string) bool {
	list, ok := types.([]any)
	return types == t || ok && slices.Contains(list, any(t))
}

// A child is a schema inside another.
type child struct {
	keyword string
	v       any
}

// Where schemas stand inside a schema.
var (
	schemaKeywords = []string{
		"items", "additionalItems", "contains", "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties",
		"not", "if", "then", "else",
	}
	schemaLists  = []string{"prefixItems", "allOf", "anyOf", "oneOf"}
	schemaTables = []string{"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs"}
)

// subschemas lists the schemas in m, in a fixed order.
func subschemas(m map[string]any) []child {
	var out []child
	for _, k := range schemaKeywords {
		v, ok := m[k]
		list, isList := v.([]any) // items of draft-07
		for _, v := range list {
			out = append(out, child{k, v})
		}
		if ok && !isList {
			out = append(out, child{k, v})
		}
	}
	for _, k := range schemaLists {
		list, _ := m[k].([]any)
		for _, v := range list {
			out = append(out, child{k, v})
		}
	}
	for _, k := range schemaTables {
		table, _ := m[k].(map[string]any)
		for _, name := range sortedKeys(table) {
			if _, isNames := table[name].([]any); !isNames { // as in dependencies
				out = append(out, child{k, table[name]})
			}
		}
	}
	return out
}
