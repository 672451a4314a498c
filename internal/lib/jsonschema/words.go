package jsonschema

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWords bounds what one sentence repeats of a schema, in bytes.
const maxWords = 500

// say is a keyword of m as a sentence for a model, "" for those that say nothing
// about values. What belongs together is one sentence.
func (p *projector) say(keyword string, m map[string]any) string {
	v := m[keyword]
	text := func() string { s, _ := v.(string); return s }
	count := func(what string) string { n, _ := v.(json.Number); return counted(n, what) }
	switch keyword {
	case "type":
		return "Its type is " + typeWords(v) + "."
	case "const":
		return "Always " + literal(v) + "."
	case "enum":
		list, _ := v.([]any)
		return oneOf(list)
	case "minimum":
		return "At least " + literal(v) + "."
	case "maximum":
		return "At most " + literal(v) + "."
	case "exclusiveMinimum":
		return "More than " + literal(v) + "."
	case "exclusiveMaximum":
		return "Less than " + literal(v) + "."
	case "multipleOf":
		return "A multiple of " + literal(v) + "."
	case "minLength":
		return "At least " + count("character") + "."
	case "maxLength":
		return "At most " + count("character") + "."
	case "pattern":
		return "Matches " + shorten(text()) + " (a regular expression)."
	case "format":
		return "Format: " + shorten(text()) + "."
	case "contentEncoding":
		return "Encoded as " + shorten(text()) + "."
	case "contentMediaType":
		return "Content of type " + shorten(text()) + "."
	case "minItems":
		return "At least " + count("item") + "."
	case "maxItems":
		return "At most " + count("item") + "."
	case "uniqueItems":
		if v == true {
			return "No item twice."
		}
	case "minProperties":
		return "At least " + count("field") + "."
	case "maxProperties":
		return "At most " + count("field") + "."
	case "default":
		return "Default: " + literal(v) + "."
	case "examples":
		if list, _ := v.([]any); len(list) > 0 {
			return "For example: " + literals(list) + "."
		}
	case "deprecated":
		if v == true {
			return "Deprecated."
		}
	default:
		return p.sayParts(keyword, v, m)
	}
	return ""
}

// sayParts is say for keywords that hold schemas or names.
func (p *projector) sayParts(keyword string, v any, m map[string]any) string {
	switch keyword {
	case "items":
		return "Each item: " + p.words(v) + "."
	case "prefixItems":
		list, _ := v.([]any)
		var parts []string
		for i, s := range list {
			parts = append(parts, "item "+strconv.Itoa(i+1)+": "+p.words(s))
		}
		return upper(strings.Join(parts, "; ")) + "."
	case "contains":
		return p.sayContains(v, m)
	case "propertyNames":
		return "Names of fields: " + p.words(v) + "."
	case "patternProperties":
		table, _ := v.(map[string]any)
		var parts []string
		for _, pattern := range sortedKeys(table) {
			parts = append(parts, "fields whose names match "+shorten(pattern)+": "+p.words(table[pattern]))
		}
		return upper(strings.Join(parts, "; ")) + "."
	case "additionalProperties", "unevaluatedProperties":
		// What is not listed is not offered, so that false needs no words.
		if _, ok := v.(bool); !ok && !anything(v) {
			return "Other fields: " + p.words(v) + "."
		}
	case "unevaluatedItems":
		if _, ok := v.(bool); !ok && !anything(v) {
			return "Other items: " + p.words(v) + "."
		}
	case "required":
		list, _ := v.([]any)
		if len(list) > 0 {
			return "Required: " + names(distinct(list)) + "."
		}
	case "dependentRequired":
		table, _ := v.(map[string]any)
		var parts []string
		for _, name := range sortedKeys(table) {
			list, _ := table[name].([]any)
			parts = append(parts, "with "+name+" also "+names(list))
		}
		return upper(strings.Join(parts, "; ")) + "."
	case "dependentSchemas":
		table, _ := v.(map[string]any)
		var parts []string
		for _, name := range sortedKeys(table) {
			parts = append(parts, "with "+name+": "+p.words(table[name]))
		}
		return upper(strings.Join(parts, "; ")) + "."
	case "not":
		return "Not " + p.words(v) + "."
	case "if":
		s := "If " + p.words(v)
		if then, ok := m["then"]; ok {
			s += ", then " + p.words(then)
		}
		if els, ok := m["else"]; ok {
			s += ", otherwise " + p.words(els)
		}
		return s + "."
	case "allOf", "anyOf", "oneOf":
		list, _ := v.([]any)
		var parts []string
		for _, s := range list {
			parts = append(parts, p.words(s))
		}
		if keyword == "allOf" {
			return upper(strings.Join(parts, ", and ")) + "."
		}
		return "Either " + strings.Join(parts, ", or ") + "."
	}
	return ""
}

func (p *projector) sayContains(v any, m map[string]any) string {
	least, ok := m["minContains"].(json.Number)
	if !ok {
		least = "1"
	}
	s := "At least " + counted(least, "item")
	if most, ok := m["maxContains"].(json.Number); ok {
		s += " and at most " + string(most)
	}
	return s + " of the kind: " + p.words(v) + "."
}

// words is a schema in words that can stand inside of a sentence: a simple one
// by its type and what is said of it, any other as it is written.
func (p *projector) words(v any) string {
	v = p.spelled(v, maxSpelled)
	m, ok := v.(map[string]any)
	switch {
	case anything(v):
		return "anything"
	case !ok:
		return "nothing"
	}
	if list, ok := m["required"].([]any); ok && len(list) > 0 && (len(m) == 1 || len(m) == 2 && m["type"] == "object") {
		if len(list) == 1 {
			return names(list) + " is given"
		}
		return names(list) + " are given"
	}
	parts := []string{}
	if t, ok := m["type"]; ok {
		parts = append(parts, typeWords(t))
	}
	for _, keyword := range sortedKeys(m) {
		switch keyword {
		case "type", "additionalProperties", "title", "examples", "default":
			continue
		case "description":
			text, _ := m["description"].(string)
			parts = append(parts, shorten(strings.TrimRight(text, ". ")))
			continue
		case "required", "const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
			"minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties":
			if s := p.say(keyword, m); s != "" {
				parts = append(parts, lower(strings.TrimSuffix(s, ".")))
			}
			continue
		}
		return shorten(string(appendJSON(nil, v)))
	}
	return strings.Join(parts, ", ")
}

// maxSpelled is how many references inside each other are written out in words.
const maxSpelled = 2

// spelled is v with what it refers to in its place, as deep as it goes.
func (p *projector) spelled(v any, depth int) any {
	if p.spelt++; p.spelt > maxNodes {
		return v
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = p.spelled(item, depth)
		}
		return out
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			ptr, _ := pointer(ref)
			target, found := lookup(p.doc, ptr)
			if found && depth > 0 && len(v) == 1 {
				return p.spelled(target, depth-1)
			}
			return v
		}
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = p.spelled(item, depth)
		}
		return out
	}
	return v
}

func typeWords(types any) string {
	list, ok := types.([]any)
	if !ok {
		list = []any{types}
	}
	return strings.Join(texts(list), " or ")
}

func oneOf(list []any) string {
	if len(list) == 1 {
		return "Always " + literal(list[0]) + "."
	}
	return "One of " + literals(list) + "."
}

func literals(list []any) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = string(appendJSON(nil, v))
	}
	return shorten(strings.Join(parts, ", "))
}

func literal(v any) string { return shorten(string(appendJSON(nil, v))) }

func names(list []any) string { return shorten(strings.Join(texts(list), ", ")) }

// texts are those values that are strings.
func texts(list []any) []string {
	var out []string
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// counted is a count and what it counts.
func counted(n json.Number, what string) string {
	if n == "1" {
		return "1 " + what
	}
	return string(n) + " " + what + "s"
}

// sentences adds sentences to a text that ends like one.
func sentences(text string, said []string) string {
	for _, s := range said {
		if s == "" || strings.HasSuffix(text, s) {
			continue
		}
		if text = strings.TrimRight(text, " \n\t"); text != "" {
			if !strings.ContainsRune(".!?:;", rune(text[len(text)-1])) {
				text += "."
			}
			text += " "
		}
		text += s
	}
	return text
}

// shorten cuts a text to what a sentence may repeat.
func shorten(s string) string {
	if len(s) <= maxWords {
		return s
	}
	cut := maxWords
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

func upper(s string) string { return capital(s, strings.ToUpper) }
func lower(s string) string { return capital(s, strings.ToLower) }

// capital changes the first letter.
func capital(s string, change func(string) string) string {
	if s == "" {
		return s
	}
	_, n := utf8.DecodeRuneInString(s)
	return change(s[:n]) + s[n:]
}
