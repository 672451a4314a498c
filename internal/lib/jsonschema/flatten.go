package jsonschema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// work is one schema while it is fitted.
type work struct {
	p      *projector
	at     string // where, for people
	top    bool
	m      map[string]any // flat; its own, but not what is in it
	never  bool           // nothing fits
	said   []string       // sentences for its description
	remark string         // what has no place in it
}

// maxSaid bounds the sentences of one description.
const maxSaid = 30

func (w *work) say(sentence string) {
	if sentence != "" && len(w.said) < maxSaid && !slices.Contains(w.said, sentence) {
		w.said = append(w.said, sentence)
	}
}

// modern writes older forms in those of 2020-12.
func (w *work) modern() {
	m := w.m
	for _, k := range [...]struct{ bound, flag string }{{"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}} {
		bound, flag := k.bound, k.flag
		b, ok := m[flag].(bool)
		if !ok {
			continue
		}
		delete(m, flag)
		if limit, ok := m[bound]; ok && b {
			m[flag] = limit
			delete(m, bound)
		}
		w.p.changed(flag, w.at, "written as a number")
	}
	list, isList := m["items"].([]any)
	rest, ok := m["additionalItems"]
	delete(m, "additionalItems")
	if isList {
		delete(m, "items")
		if len(list) > 0 {
			m["prefixItems"] = list
		}
		if ok {
			m["items"] = rest
		}
		w.p.changed("items", w.at, "written as prefixItems")
	}
	if table, ok := m["dependencies"].(map[string]any); ok {
		names, schemas := map[string]any{}, map[string]any{}
		for name, need := range table {
			if _, ok := need.([]any); ok {
				names[name] = need
			} else {
				schemas[name] = need
			}
		}
		for keyword, table := range map[string]map[string]any{"dependentRequired": names, "dependentSchemas": schemas} {
			if _, taken := m[keyword]; len(table) > 0 && !taken {
				m[keyword] = table
			}
		}
		delete(m, "dependencies")
		w.p.changed("dependencies", w.at, "written as of 2020-12")
	}
	if m["nullable"] == true && m["type"] != nil && !mayBe(m["type"], "null") {
		types, ok := m["type"].([]any)
		if !ok {
			types = []any{m["type"]}
		}
		m["type"] = append(slices.Clip(types), "null")
		w.p.changed("nullable", w.at, "written as a type")
	}
	delete(m, "nullable")
	delete(m, "$defs") // what is referred to is found by its place
	delete(m, "definitions")
	// These say something beside others only.
	for keyword, lead := range map[string]string{"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"} {
		if _, ok := m[lead]; !ok {
			delete(m, keyword)
		}
	}
}

// anything reports whether a schema accepts every value, by its form.
func anything(v any) bool {
	m, ok := v.(map[string]any)
	return v == true || ok && len(m) == 0
}

// take has w accept only what b accepts as well. What can't be merged is said
// instead.
func (w *work) take(b *work) {
	w.never = w.never || b.never
	for _, s := range b.said {
		w.say(s)
	}
	w.groups(b.m)
	w.fields(b.m)
	for _, keyword := range sortedKeys(b.m) {
		theirs := b.m[keyword]
		own, both := w.m[keyword]
		switch {
		case !both:
			w.m[keyword] = theirs
		case reflect.DeepEqual(own, theirs):
		default:
			w.both(keyword, own, theirs, b.m)
		}
	}
	if typesOf(w.m) == 0 {
		w.never = true
	}
}

// fields merges what two schemas say of members: a name that only one of them
// knows is in the other one of its additional ones.
func (w *work) fields(b map[string]any) {
	own, _ := w.m["properties"].(map[string]any)
	theirs, _ := b["properties"].(map[string]any)
	if own == nil && theirs == nil {
		return
	}
	all := map[string]any{}
	for name, s := range own {
		all[name] = s
		if _, ok := theirs[name]; !ok {
			all[name] = withRest(s, b)
		}
	}
	for name, s := range theirs {
		if mine, ok := own[name]; ok {
			all[name] = both(mine, s)
		} else {
			all[name] = withRest(s, w.m)
		}
	}
	w.m["properties"] = all
	delete(b, "properties")
}

// withRest is s with what another schema says of names that it doesn't know.
// One that allows none is taken to have forgotten it.
func withRest(s any, other map[string]any) any {
	rest, ok := other["additionalProperties"]
	if _, isBool := rest.(bool); !ok || isBool || other["patternProperties"] != nil {
		return s
	}
	return both(s, rest)
}

// both accepts what a and b accept.
func both(a, b any) any {
	switch {
	case anything(a) || reflect.DeepEqual(a, b) || b == false:
		return b
	case anything(b) || a == false:
		return a
	}
	return map[string]any{"allOf": []any{a, b}}
}

// either accepts what any of the forms accepts.
func either(forms []any) any {
	out := slices.DeleteFunc(distinct(forms), func(f any) bool { return f == false })
	switch len(out) {
	case 0:
		return false
	case 1:
		return out[0]
	}
	if one, ok := choice(out); ok {
		return one
	}
	// The form that says something comes before the one that allows everything.
	slices.SortStableFunc(out, func(a, b any) int {
		if anything(a) == anything(b) {
			return 0
		} else if anything(a) {
			return 1
		}
		return -1
	})
	for i, f := range out {
		if f == true {
			out[i] = map[string]any{}
		}
	}
	return map[string]any{"anyOf": out}
}

// choice is one enum for forms that only name values, as those that tell the
// forms of an object apart.
func choice(forms []any) (any, bool) {
	var values []any
	for _, f := range forms {
		m, _ := f.(map[string]any)
		list, ok := m["enum"].([]any)
		if v, isConst := m["const"]; isConst && !ok {
			list, ok = []any{v}, true
		}
		for keyword, v := range m {
			ok = ok && (keyword == "enum" || keyword == "const" || keyword == "type" && v == "string")
		}
		if !ok {
			return nil, false
		}
		for _, v := range list {
			if m["type"] == nil || kindOf(v) == kindString {
				values = append(values, v)
			}
		}
	}
	return map[string]any{"enum": values}, true
}

// stricter are the keywords of which the larger value, or the smaller one, is
// the stricter.
var stricter = map[string]int{
	"minimum": 1, "exclusiveMinimum": 1, "minLength": 1, "minItems": 1, "minProperties": 1,
	"maximum": -1, "exclusiveMaximum": -1, "maxLength": -1, "maxItems": -1, "maxProperties": -1,
}

// maxCompared bounds how many pairs of values are compared.
const maxCompared = 1_000_000

// both merges two values of one keyword; b is where theirs stands.
func (w *work) both(keyword string, own, theirs any, b map[string]any) {
	if sign := stricter[keyword]; sign != 0 {
		x, y := own.(json.Number), theirs.(json.Number)
		if rat(string(y)).Cmp(rat(string(x))) == sign {
			w.m[keyword] = theirs
		}
		return
	}
	switch keyword {
	case "type":
		w.m["type"] = typeList(kindsOf(own) & kindsOf(theirs))
	case "enum":
		if len(own.([]any)) > maxCompared/(1+len(theirs.([]any))) {
			w.say(w.p.say(keyword, b))
			return
		}
		w.m["enum"] = slices.DeleteFunc(slices.Clone(own.([]any)), func(v any) bool { return !contains(theirs.([]any), v) })
	case "uniqueItems":
		w.m["uniqueItems"] = own == true || theirs == true
	case "required":
		w.m["required"] = distinct(append(slices.Clip(own.([]any)), theirs.([]any)...))
	case "description":
		a, _ := own.(string)
		c, _ := theirs.(string)
		w.m["description"] = sentences(a, []string{c})
	case "additionalProperties", "propertyNames":
		w.m[keyword] = both(own, theirs)
	case "items":
		w.m["items"] = both(own, theirs)
	case "patternProperties", "dependentSchemas":
		table := map[string]any{}
		for _, t := range []any{own, theirs} {
			for name, s := range t.(map[string]any) {
				if other, ok := table[name]; ok {
					s = both(other, s)
				}
				table[name] = s
			}
		}
		w.m[keyword] = table
	case "allOf":
		w.m["allOf"] = append(slices.Clip(own.([]any)), theirs.([]any)...)
	case "title", "default", "examples", "deprecated", "readOnly", "writeOnly":
	default:
		w.say(w.p.say(keyword, b))
	}
}

// together are keywords whose meaning hangs on each other.
var together = [][]string{{"if", "then", "else"}, {"contains", "minContains", "maxContains"}, {"prefixItems", "items", "unevaluatedItems"}}

// groups says what can't be merged keyword by keyword.
func (w *work) groups(b map[string]any) {
	for _, group := range together {
		differ, own := false, false
		for _, keyword := range group {
			mine, ok := w.m[keyword]
			own = own || ok
			differ = differ || !reflect.DeepEqual(mine, b[keyword])
		}
		if !own || !differ || group[0] == "prefixItems" && w.m["prefixItems"] == nil && b["prefixItems"] == nil {
			continue
		}
		for _, keyword := range group {
			if _, ok := b[keyword]; ok {
				w.say(w.p.say(keyword, b))
			}
		}
		for _, keyword := range group {
			delete(b, keyword)
		}
	}
}

func contains(list []any, v any) bool {
	var r run
	return slices.ContainsFunc(list, func(o any) bool { return r.equal(o, v) })
}

// union is what any of the parts of an object accepts, as one object: a field
// that only some forms know may be anything in the others.
func (p *projector) union(parts []*work, at string, top bool) *work {
	parts = slices.DeleteFunc(parts, func(w *work) bool {
		return w.never || top && typesOf(w.m)&kindObject == 0
	})
	u := &work{p: p, at: at, top: top, m: map[string]any{}}
	switch len(parts) {
	case 0:
		u.never = true
		return u
	case 1:
		return parts[0]
	}
	var types kinds
	for _, w := range parts {
		types |= typesOf(w.m)
	}
	if types != anyKind {
		u.m["type"] = typeList(types)
	}
	if props := fieldsOf(parts); len(props) > 0 {
		u.m["properties"] = props
	}
	var rest []any
	for _, w := range parts {
		rest = append(rest, w.others())
	}
	if s := either(rest); !slices.ContainsFunc(rest, anything) {
		u.m["additionalProperties"] = s
	}
	u.required(parts)
	for _, w := range parts {
		for _, s := range w.said {
			u.say(s)
		}
		for _, keyword := range sortedKeys(w.m) {
			switch keyword {
			case "type", "properties", "required", "additionalProperties", "title", "default", "examples", "deprecated":
			case "description":
				text, _ := w.m[keyword].(string)
				u.say(sentences(text, nil))
			default:
				if s := p.say(keyword, w.m); s != "" {
					u.say("In one form: " + lower(s))
				}
			}
		}
	}
	return u
}

// others is what w says of members that its properties don't name.
func (w *work) others() any {
	rest, ok := w.m["additionalProperties"]
	switch {
	case typesOf(w.m)&kindObject == 0:
		return false
	case !ok || w.m["patternProperties"] != nil || w.m["$ref"] != nil:
		return true
	}
	return rest
}

// fieldsOf is what any of the parts accepts of each member that one of them
// names.
func fieldsOf(parts []*work) map[string]any {
	forms := map[string][]any{}
	open := map[string]int{} // parts that name it and allow all others
	all, some := 0, []*work(nil)
	for _, w := range parts {
		rest := w.others()
		if anything(rest) {
			all++
		} else if rest != false {
			some = append(some, w)
		}
		props, _ := w.m["properties"].(map[string]any)
		for name, s := range props {
			forms[name] = append(forms[name], s)
			if anything(rest) {
				open[name]++
			}
		}
	}
	out := map[string]any{}
	for name, list := range forms {
		switch {
		case open[name] < all || len(some) > maxCompared/len(forms):
			list = append(list, true)
		default:
			for _, w := range some {
				props, _ := w.m["properties"].(map[string]any)
				if _, ok := props[name]; !ok {
					list = append(list, w.others())
				}
			}
		}
		if s := either(list); s != false {
			out[name] = s
		}
	}
	return out
}

// required takes over what all parts require, and says which fields go
// together where they differ.
func (w *work) required(parts []*work) {
	var common []any
	var sets []string
	differ := false
	for i, part := range parts {
		list, _ := part.m["required"].([]any)
		if i == 0 {
			common = slices.Clone(list)
		}
		differ = differ || len(list) != len(common)
		common = slices.DeleteFunc(common, func(name any) bool { return !slices.Contains(list, name) })
		differ = differ || len(list) != len(common)
		if len(list) == 0 {
			props, _ := part.m["properties"].(map[string]any)
			for _, name := range sortedKeys(props) {
				list = append(list, name)
			}
		}
		names := make([]string, len(list))
		for i, name := range list {
			names[i], _ = name.(string)
		}
		if set := strings.Join(names, ", "); set != "" && !slices.Contains(sets, set) {
			sets = append(sets, set)
		}
	}
	if len(common) > 0 {
		w.m["required"] = common
	}
	if len(sets) > 1 || differ && len(sets) > 0 {
		w.say("Give one of these sets of fields: " + strings.Join(sets, "; ") + ".")
	}
}

// typesOf is the types that a flat schema leaves possible by its keyword type.
func typesOf(m map[string]any) kinds {
	if v, ok := m["type"]; ok {
		return kindsOf(v)
	}
	return anyKind
}

func kindsOf(types any) kinds {
	list, ok := types.([]any)
	if !ok {
		list = []any{types}
	}
	var k kinds
	for _, t := range list {
		name, _ := t.(string)
		k |= typeKinds[name]
	}
	return k
}

// typeNames is the order in which types are listed.
var typeNames = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

// typeList is the value of "type" for a set of types.
func typeList(k kinds) any {
	list := []any{}
	for _, name := range typeNames {
		switch {
		case name == "integer" && k&kindNumber == kindNumber:
		case k&typeKinds[name] == typeKinds[name]:
			list = append(list, name)
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}
