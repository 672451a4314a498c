package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Repair reads the arguments of a call as a model wrote them, mends what can
// mean one thing only, and gives them in canonical form (see [Canonical]) with
// a note for each repair. It does not validate: what can't be mended without a
// guess stays as it is for [Schema.Validate] to report.
//
// Mended in the text: nothing, white space or null for {}; a byte order mark; a
// Markdown fence around the whole; a JSON string that holds the object, up to
// two levels; a comma before a closing bracket; raw line breaks and tabs in a
// string. Mended by the schema, where the type that came is not allowed: a
// number or boolean written as a string, an array or object written as a
// string, null for an optional field (dropped). Where only whole numbers are
// allowed 3.0 becomes 3.
//
// Everything else that is not a JSON object is an error for the model: the text
// faults of [Decode], above all JSON that was cut, with its offset.
// Arguments that are valid keep their meaning.
func (s *Schema) Repair(raw []byte) (fixed json.RawMessage, notes []string, err error) {
	v, notes, err := readObject(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("arguments: %w", err)
	}
	m := mender{notes: notes}
	v = m.value([]*node{s.root}, v)
	return appendJSON(make([]byte, 0, len(raw)), v), m.notes, nil
}

// Object is the object that a model sent for one, mended in the text as
// [Schema.Repair] does, in canonical form; ok is false when there is none.
func Object(raw []byte) (obj json.RawMessage, ok bool) {
	v, _, err := readObject(raw)
	if err != nil {
		return nil, false
	}
	return appendJSON(make([]byte, 0, len(raw)), v), true
}

// readObject finds the object in what a model sent for one.
func readObject(raw []byte) (obj any, notes []string, err error) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for level := 0; ; level++ {
		if rest, ok := bytes.CutPrefix(raw, []byte("\ufeff")); ok {
			raw = rest
			note("removed a byte order mark")
		}
		if text, ok := unfence(raw); ok {
			raw = text
			note("removed the Markdown fence around the arguments")
		}
		if len(bytes.TrimSpace(raw)) == 0 {
			if len(raw) > 0 || level > 0 {
				note("took an empty text for {}")
			}
			return map[string]any{}, notes, nil
		}
		v, fixes, err := decode(raw, true)
		if err != nil {
			return nil, nil, err
		}
		if fixes&fixTrailingComma != 0 {
			note("removed a comma before a closing bracket")
		}
		if fixes&fixRawNewline != 0 {
			note("escaped a line break or tab inside a string")
		}
		switch v := v.(type) {
		case map[string]any:
			return v, notes, nil
		case nil:
			note("took null for {}")
			return map[string]any{}, notes, nil
		case string:
			if level < 2 {
				raw = []byte(v)
				note("unpacked arguments that were encoded twice")
				continue
			}
			return nil, nil, errors.New("they are a string that holds a string; send one JSON object")
		}
		return nil, nil, fmt.Errorf("expected one JSON object, got %s", show(v))
	}
}

// unfence removes a Markdown code fence that surrounds all of the text.
func unfence(raw []byte) ([]byte, bool) {
	text := bytes.TrimSpace(raw)
	rest, ok := bytes.CutPrefix(text, []byte("```"))
	if !ok {
		return nil, false
	}
	line, rest, ok := bytes.Cut(rest, []byte("\n"))
	if name := bytes.TrimSpace(line); !ok || len(name) > 0 && !bytes.EqualFold(name, []byte("json")) {
		return nil, false
	}
	return bytes.CutSuffix(rest, []byte("```"))
}

// mender adapts values to the types that their schemas allow.
type mender struct {
	run   // for the path
	notes []string
}

func (m *mender) note(format string, args ...any) {
	if len(m.notes) == maxFaults {
		m.notes = append(m.notes, "and more")
	}
	if len(m.notes) < maxFaults {
		m.notes = append(m.notes, m.where()+": "+fmt.Sprintf(format, args...))
	}
}

// value mends v, which all of the nodes judge, and what is in it.
func (m *mender) value(by []*node, v any) any {
	if !m.spend(1 + len(by)) {
		return v
	}
	by = conditions(by, kindOf(v))
	allowed := anyKind
	for _, n := range by {
		allowed &= n.may
	}
	v = m.retype(allowed, v)
	switch v := v.(type) {
	case map[string]any:
		by = conditions(by, kindObject)
		for _, key := range sortedKeys(v) {
			m.member(by, v, key)
		}
	case []any:
		by = conditions(by, kindArray)
		for i, item := range v {
			var inner []*node
			for _, n := range by {
				if i < len(n.prefix) {
					inner = append(inner, n.prefix[i])
				} else if n.items != nil {
					inner = append(inner, n.items)
				}
			}
			if len(inner) == 0 {
				continue
			}
			m.path = append(m.path, step{index: i, item: true})
			v[i] = m.value(inner, item)
			m.path = m.path[:len(m.path)-1]
		}
	}
	return v
}

// member mends or drops one field of an object.
func (m *mender) member(by []*node, obj map[string]any, key string) {
	var inner []*node
	required := false
	for _, n := range by {
		required = required || slices.Contains(n.required, key)
		named := n.properties[key]
		if named != nil {
			inner = append(inner, named)
		}
		for _, p := range n.patterns {
			if m.matches(p.match, key) {
				named = p.node
				inner = append(inner, named)
			}
		}
		if named == nil && n.additional != nil && !n.additional.never {
			inner = append(inner, n.additional)
		}
	}
	if len(inner) == 0 {
		return
	}
	m.path = append(m.path, step{key: key})
	defer func() { m.path = m.path[:len(m.path)-1] }()
	if obj[key] == nil && !required {
		for _, n := range conditions(inner, kindNull) {
			if n.may&kindNull == 0 {
				delete(obj, key)
				m.note("dropped null, the field is optional")
				return
			}
		}
	}
	obj[key] = m.value(inner, obj[key])
}

// retype gives v one of the allowed types if its own is not and its text can
// be of one only.
func (m *mender) retype(allowed kinds, v any) any {
	switch v := v.(type) {
	case json.Number:
		if allowed&kindFraction != 0 || allowed&kindInteger == 0 {
			return v
		}
		if text, ok := integral(string(v)); ok && text != string(v) {
			m.note("wrote %s as %s, the field takes whole numbers", clip(string(v)), clip(text))
			return json.Number(text)
		}
	case string:
		if allowed&kindString != 0 {
			return v
		}
		text := strings.TrimSpace(v)
		switch low := strings.ToLower(text); {
		case allowed&kindBoolean != 0 && (low == "true" || low == "false"):
			m.note("took the string %s for a boolean", quote(v))
			return low == "true"
		case allowed&kindNumber != 0 && isNumber(text):
			num := json.Number(text)
			if allowed&kindOf(num) == 0 {
				return v
			}
			m.note("took the string %s for a number", quote(v))
			if whole, ok := integral(text); ok && allowed&kindFraction == 0 {
				return json.Number(whole)
			}
			return num
		case allowed&kindArray != 0 && strings.HasPrefix(text, "["), allowed&kindObject != 0 && strings.HasPrefix(text, "{"):
			inner, _, err := decode([]byte(text), true)
			if err != nil || len(m.path)+depth(inner) > maxDepth {
				return v // Validate says that a string came
			}
			m.note("unpacked the %s from a string", kindOf(inner))
			return inner
		}
	}
	return v
}

// integral writes a whole number without point and exponent.
func integral(num string) (string, bool) {
	if !strings.ContainsAny(num, ".eE") {
		return num, true
	}
	r := rat(num)
	if r == nil || !r.IsInt() || r.Num().CmpAbs(tooLong) >= 0 {
		return "", false
	}
	return r.Num().String(), true
}

// tooLong is where writing out a number's zeros helps nobody: 10^40.
var tooLong = new(big.Int).Exp(big.NewInt(10), big.NewInt(40), nil)

// depth counts nested arrays and objects.
func depth(v any) int {
	most := 0
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			most = max(most, depth(item))
		}
	case map[string]any:
		for _, item := range v {
			most = max(most, depth(item))
		}
	default:
		return 0
	}
	return most + 1
}

// maxJudge limits how many nodes mending looks at for one value. With fewer of
// them less is mended, never more.
const maxJudge = 64

// conditions gives the nodes that all must hold for a value of a kind: those
// given, what they refer to, and the one form of a choice that such a value
// can take. Where several forms are possible none is followed.
func conditions(by []*node, kind kinds) []*node {
	all := slices.Clone(by)
	add := func(n *node) {
		if len(all) < maxJudge && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	for i := 0; i < len(all); i++ {
		n := all[i]
		if n.ref != nil {
			add(n.ref)
		}
		for _, part := range n.all {
			add(part)
		}
		for _, forms := range [...][]*node{n.any, n.one} {
			var fit *node
			several := false
			for _, form := range forms {
				if form.may&kind != 0 {
					several = fit != nil
					fit = form
					if several {
						break
					}
				}
			}
			if fit != nil && !several {
				add(fit)
			}
		}
	}
	return all
}
