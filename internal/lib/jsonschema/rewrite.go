package jsonschema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// rewrite gives the schema in the dialect: first what has an equivalent is
// written as that, then what is left over is said, then the schemas inside are
// projected.
func (w *work) rewrite(depth int) map[string]any {
	for _, step := range [...]func(){w.values, w.bounds, w.forms, w.list, w.members, w.rest} {
		if w.never || w.p.err != nil {
			return w.m
		}
		step()
	}
	w.children(depth)
	w.finish()
	return w.m
}

func (w *work) takes(keyword string) bool { return w.p.d.takes(keyword, w.top) }

func (w *work) changed(keyword, done string) { w.p.changed(keyword, w.at, done) }

// place is a place inside of this one, for people.
func (w *work) place(name string) string {
	if w.at == "" || name == "[]" {
		return w.at + name
	}
	return w.at + "." + name
}

// free reports whether a choice of forms can be added.
func (w *work) free() bool { return w.m["anyOf"] == nil && w.takes("anyOf") }

// values writes const, enum and lists of types as the dialect has them.
func (w *work) values() {
	d := w.p.d
	if v, ok := w.m["const"]; ok && !w.takes("const") {
		delete(w.m, "const")
		list := []any{v}
		if enum, ok := w.m["enum"].([]any); ok && !contains(enum, v) {
			list = nil
		}
		w.m["enum"] = list
		w.changed("const", "written as enum")
	}
	if list, ok := w.m["enum"].([]any); ok {
		list = slices.DeleteFunc(slices.Clone(list), func(v any) bool { return kindOf(v)&typesOf(w.m) == 0 })
		switch {
		case len(list) == 0:
			w.never = true
			return
		case w.takes("enum") && (!d.enumFits(list) || d.Enums != nil && w.m["type"] == nil):
			w.split(list)
		}
	}
	if types, ok := w.m["type"]; ok && !d.typeFits(types) {
		w.spread(kindsOf(types))
	}
}

// split writes an enum of values that can't stand in one as a choice of types,
// those that can be listed with their values.
func (w *work) split(list []any) {
	delete(w.m, "enum")
	w.changed("enum", "written with its types")
	var forms []any
	var all kinds
	for _, name := range [...]string{"string", "number", "boolean", "array", "object", "null"} {
		of := slices.DeleteFunc(slices.Clone(list), func(v any) bool { return kindOf(v)&typeKinds[name] == 0 })
		if len(of) == 0 {
			continue
		}
		k := kindOf(of[0])
		if name == "number" && slices.ContainsFunc(of, func(v any) bool { return kindOf(v) == kindFraction }) {
			k = kindNumber
		}
		all |= k
		form := map[string]any{"type": typeList(k)}
		switch {
		case w.p.d.enumFits(of):
			form["enum"] = of
		case name == "boolean" && len(of) > 1 || name == "null":
		default:
			form["description"] = oneOf(of)
		}
		forms = append(forms, form)
	}
	switch {
	case len(forms) == 1:
		form := forms[0].(map[string]any)
		w.m["type"] = form["type"]
		if enum, ok := form["enum"]; ok {
			w.m["enum"] = enum
		}
		words, _ := form["description"].(string)
		w.say(words)
	case w.free():
		delete(w.m, "type")
		w.m["anyOf"] = forms
	default:
		w.m["type"] = typeList(all)
		w.say(oneOf(list))
	}
}

// ofType are the keywords that speak of values of one type only.
var ofType = map[string][]string{
	"string": {"minLength", "maxLength", "pattern", "contentEncoding", "contentMediaType", "contentSchema"},
	"number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"array": {
		"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems",
	},
	"object": {
		"properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties", "propertyNames",
		"dependentRequired", "dependentSchemas", "unevaluatedProperties",
	},
}

// spread writes a list of types that can't be one as a choice, each with what is
// said of values of its type.
func (w *work) spread(types kinds) {
	list, several := typeList(types).([]any)
	switch {
	case !several:
		w.m["type"] = typeList(types)
		return
	case w.p.d.typeFits(list):
		w.m["type"] = list
		return
	case !w.free():
		delete(w.m, "type")
		w.say("Its type is " + typeWords(list) + ".")
		w.changed("type", "moved to the description")
		return
	}
	delete(w.m, "type")
	w.changed("type", "written as anyOf")
	enum, isEnum := w.m["enum"].([]any)
	delete(w.m, "enum")
	var forms []any
	for _, t := range list {
		name := t.(string)
		form := map[string]any{"type": name}
		keywords := ofType[name]
		if name == "integer" {
			keywords = ofType["number"]
		}
		for _, keyword := range keywords {
			if v, ok := w.m[keyword]; ok {
				form[keyword] = v
			}
		}
		if format, ok := w.m["format"]; ok && (name == "string" || !slices.Contains(list, any("string"))) {
			form["format"] = format
		}
		if isEnum {
			of := slices.DeleteFunc(slices.Clone(enum), func(v any) bool { return kindOf(v)&typeKinds[name] == 0 })
			if len(of) == 0 {
				continue
			}
			if name != "null" {
				form["enum"] = of
			}
		}
		forms = append(forms, form)
	}
	for _, keywords := range ofType {
		for _, keyword := range keywords {
			delete(w.m, keyword)
		}
	}
	delete(w.m, "format")
	w.m["anyOf"] = forms
}

// bounds writes bounds that are excluded as the nearest that are not.
func (w *work) bounds() {
	for _, b := range [...]struct {
		keyword, as string
		step        int64
	}{{"exclusiveMinimum", "minimum", 1}, {"exclusiveMaximum", "maximum", -1}} {
		limit, ok := w.m[b.keyword].(json.Number)
		if !ok || w.takes(b.keyword) || !w.takes(b.as) {
			continue
		}
		delete(w.m, b.keyword)
		bound := limit
		if w.m["type"] == "integer" {
			bound = json.Number(nextWhole(rat(string(limit)), b.step).String())
			w.changed(b.keyword, "written as "+b.as)
		} else {
			w.say(w.p.say(b.keyword, map[string]any{b.keyword: limit}))
			w.changed(b.keyword, "written as "+b.as+" and moved to the description")
		}
		own, ok := w.m[b.as].(json.Number)
		if !ok || rat(string(bound)).Cmp(rat(string(own))) == int(b.step) {
			w.m[b.as] = bound
		}
	}
}

// nextWhole is the first whole number above a bound, or below it for a step of
// -1.
func nextWhole(bound *big.Rat, step int64) *big.Int {
	n := new(big.Int)
	floor, rem := n.DivMod(bound.Num(), bound.Denom(), new(big.Int))
	if step < 0 && rem.Sign() != 0 {
		return floor
	}
	return floor.Add(floor, big.NewInt(step))
}

// forms writes oneOf as anyOf where it can't stay: forms that accept more than
// they did would exclude each other in more cases.
func (w *work) forms() {
	list, ok := w.m["oneOf"].([]any)
	if !ok || w.takes("oneOf") && w.fit(list...) || !w.takes("anyOf") {
		return
	}
	own, taken := w.m["anyOf"]
	switch {
	case !taken:
		w.m["anyOf"] = list
	case w.takes("allOf"):
		delete(w.m, "anyOf")
		all, _ := w.m["allOf"].([]any)
		w.m["allOf"] = append(slices.Clip(all), map[string]any{"anyOf": own}, map[string]any{"anyOf": list})
	default:
		return
	}
	delete(w.m, "oneOf")
	w.changed("oneOf", "written as anyOf")
}

// fit reports whether schemas can stay as they are.
func (w *work) fit(schemas ...any) bool {
	return !slices.ContainsFunc(schemas, func(v any) bool { return !w.p.fit.fits(v, false) })
}

// list writes items by place as items of any of these forms.
func (w *work) list() {
	prefix, isTuple := w.m["prefixItems"].([]any)
	items, ok := w.m["items"]
	if items == false && (w.p.d.NoBooleans || isTuple && !w.takes("prefixItems")) {
		delete(w.m, "items")
		w.atMost("maxItems", len(prefix))
	}
	if !isTuple || w.takes("prefixItems") {
		return
	}
	w.say(w.p.say("prefixItems", w.m))
	delete(w.m, "prefixItems")
	w.changed("prefixItems", "written as items")
	if ok && !anything(items) {
		w.m["items"] = either(append(slices.Clip(prefix), items))
	} else {
		delete(w.m, "items")
	}
}

// atMost bounds a count.
func (w *work) atMost(keyword string, n int) {
	bound := json.Number(strconv.Itoa(n))
	own, ok := w.m[keyword].(json.Number)
	if !ok || rat(string(own)).Cmp(rat(string(bound))) > 0 {
		w.m[keyword] = bound
	}
}

// members writes patterns of names as additional properties, and takes out
// names that the dialect doesn't have.
func (w *work) members() {
	if patterns, ok := w.m["patternProperties"].(map[string]any); ok && !w.takes("patternProperties") {
		w.say(w.p.say("patternProperties", w.m))
		delete(w.m, "patternProperties")
		w.changed("patternProperties", "written as additionalProperties")
		rest, ok := w.m["additionalProperties"]
		if !ok {
			rest = true
		}
		forms := []any{rest}
		for _, pattern := range sortedKeys(patterns) {
			forms = append(forms, patterns[pattern])
		}
		delete(w.m, "additionalProperties")
		if s := either(forms); !slices.ContainsFunc(forms, anything) {
			w.m["additionalProperties"] = s
		}
	}
	w.odd()
	required, ok := w.m["required"].([]any)
	if !ok || !w.takes("required") {
		return
	}
	list := distinct(required)
	w.m["required"] = list
	props, _ := w.m["properties"].(map[string]any)
	var missing []any
	for _, name := range list {
		if _, known := props[name.(string)]; !known {
			missing = append(missing, name)
		}
	}
	if !w.p.d.Known || len(missing) == 0 {
		return
	}
	all := map[string]any{}
	for name, s := range props {
		all[name] = s
	}
	for _, name := range missing {
		if all[name.(string)] = w.m["additionalProperties"]; all[name.(string)] == nil || w.m["patternProperties"] != nil {
			all[name.(string)] = true
		}
	}
	w.m["properties"] = all
	w.changed("required", "listed in properties")
}

// distinct keeps the first of equal values.
func distinct(list []any) []any {
	var out []any
	seen := map[string]bool{}
	for _, v := range list {
		if key := string(appendJSON(nil, v)); !seen[key] {
			seen[key] = true
			out = append(out, v)
		}
	}
	return out
}

// odd takes out properties with names that the dialect doesn't have.
func (w *work) odd() {
	props, _ := w.m["properties"].(map[string]any)
	if !w.top || w.p.d.Field == nil || props == nil {
		return
	}
	kept := map[string]any{}
	for _, name := range sortedKeys(props) {
		if w.p.d.Field(name) {
			kept[name] = props[name]
			continue
		}
		if list, _ := w.m["required"].([]any); slices.Contains(list, any(name)) {
			w.p.fail("properties", "rename the field", "it requires the field %s, a name that %s doesn't take", quote(name), w.p.d.Name)
			return
		}
		delete(w.m, "additionalProperties") // the name is one of the others now
		w.say("It also takes the field " + quote(name) + ": " + w.p.words(props[name]) + ".")
		w.p.changed("the field", name, "moved to the description")
	}
	w.m["properties"] = kept
}

// rest says what can't stay. Keywords under which accepting more inside accepts
// less stay only when nothing inside has to change.
func (w *work) rest() {
	f := w.p.fit
	for _, keyword := range sortedKeys(w.m) {
		v, there := w.m[keyword]
		if !there {
			continue
		}
		stays := w.takes(keyword) && f.value(keyword, v, w.m, w.top)
		switch keyword {
		case "not":
			stays = stays && w.fit(v)
		case "oneOf":
			stays = stays && w.fit(v.([]any)...)
		case "if":
			stays = stays && w.fit(v) && w.takes("then") && w.takes("else")
		case "then", "else":
			stays = stays && w.m["if"] != nil
		case "contains":
			stays = stays && (w.m["maxContains"] == nil || w.fit(v))
		case "minContains", "maxContains":
			stays = stays && w.m["contains"] != nil
		case "unevaluatedItems", "unevaluatedProperties":
			stays = false
		}
		if stays {
			continue
		}
		w.move(keyword)
	}
}

// move takes a keyword out and says what it said.
func (w *work) move(keyword string) {
	sentence := w.p.say(keyword, w.m)
	switch keyword {
	case "contains":
		delete(w.m, "minContains")
		delete(w.m, "maxContains")
	case "if":
		delete(w.m, "then")
		delete(w.m, "else")
	case "title":
		if title, ok := w.m["title"].(string); ok && w.m["description"] == nil && w.remark == "" {
			sentence = title
		}
	case "description":
		text, _ := w.m["description"].(string)
		w.remark = text
	}
	delete(w.m, keyword)
	switch {
	case sentence != "":
		w.say(sentence)
		w.changed(keyword, "moved to the description")
	case keyword == "description" || strings.HasPrefix(keyword, "$"): // nothing is lost
	default:
		w.changed(keyword, "left out")
	}
}

// children projects the schemas inside.
func (w *work) children(depth int) {
	for _, keyword := range schemaKeywords {
		v, ok := w.m[keyword]
		_, isBool := v.(bool)
		if !ok || keyword == "additionalProperties" && isBool {
			continue
		}
		at := w.at
		if keyword == "items" {
			at = w.place("[]")
		}
		out, some := w.p.schema(v, at, depth+1)
		w.m[keyword] = out
		if !some {
			w.impossible(keyword)
		}
	}
	for _, keyword := range schemaLists {
		if list, ok := w.m[keyword].([]any); ok {
			w.childList(keyword, list, depth)
		}
	}
	for _, keyword := range schemaTables {
		table, ok := w.m[keyword].(map[string]any)
		if !ok {
			continue
		}
		out := make(map[string]any, len(table))
		for _, name := range sortedKeys(table) {
			at := w.at
			if keyword == "properties" {
				at = w.place(name)
			}
			if s, some := w.p.schema(table[name], at, depth+1); some {
				out[name] = s
			}
		}
		w.m[keyword] = out
	}
}

// impossible writes that nothing fits the schema of a keyword.
func (w *work) impossible(keyword string) {
	delete(w.m, keyword)
	switch keyword {
	case "items":
		prefix, _ := w.m["prefixItems"].([]any)
		w.none("maxItems", len(prefix), "It has no items.")
	case "additionalProperties":
		w.m[keyword] = false
	case "propertyNames":
		w.none("maxProperties", 0, "It has no fields.")
	case "contains":
		delete(w.m, "minContains")
		delete(w.m, "maxContains")
	}
}

// none bounds a count, or says so.
func (w *work) none(keyword string, n int, sentence string) {
	if w.takes(keyword) {
		w.atMost(keyword, n)
	} else {
		w.say(sentence)
	}
}

func (w *work) childList(keyword string, list []any, depth int) {
	var out []any
	for i, v := range list {
		s, some := w.p.schema(v, w.at, depth+1)
		switch {
		case some:
			out = append(out, s)
		case keyword == "allOf":
			w.never = true
			return
		case keyword == "prefixItems":
			// Nothing fits here, so that no list is longer.
			delete(w.m, "items")
			w.none("maxItems", i, "It has at most "+plural(i, "item")+".")
			list = list[:i]
		}
		if keyword == "prefixItems" && len(list) == i {
			break
		}
	}
	switch {
	case len(out) > 0:
		w.m[keyword] = out
	case keyword == "prefixItems":
		delete(w.m, keyword)
	default:
		w.never = true
	}
}

// finish adds what the dialect wants to see said, and the description.
func (w *work) finish() {
	d := w.p.d
	if d.Items && mayBe(w.m["type"], "array") && w.m["items"] == nil && w.m["prefixItems"] == nil {
		w.m["items"] = w.p.anything()
		w.changed("items", "added")
	}
	if d.Anything != nil && !w.top && untyped(w.m) {
		for keyword, v := range d.Anything {
			w.m[keyword] = v
		}
		w.changed("anyOf", "added")
	}
	props, ok := w.m["properties"].(map[string]any)
	if !ok && w.top && d.Properties {
		w.m["properties"] = map[string]any{}
		w.changed("properties", "added")
	}
	if list, ok := w.m["required"].([]any); ok && d.Known {
		w.m["required"] = slices.DeleteFunc(slices.Clone(list), func(name any) bool {
			_, known := props[name.(string)]
			return !known
		})
	}
	if w.takes("description") {
		text, _ := w.m["description"].(string)
		if text = sentences(text, w.said); text != "" {
			w.m["description"] = text
		}
		return
	}
	w.remark = sentences(w.remark, w.said)
}
