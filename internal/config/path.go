package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// stepKind says what a step of a path goes through.
type stepKind int

const (
	stepField stepKind = iota // a key that the schema names
	stepKey                   // a key of the person's own, in a map
	stepEntry                 // an entry of a list
)

// step is one part of the path to a value.
type step struct {
	kind stepKind
	// name is the key, or what names the entry (its id), which may be empty.
	name string
	// index is the place in the list, -1 when only the name is known.
	index int
}

// path leads from the root of the file to a value.
type path []step

// String writes the path as people are shown it. Keys of a person's own that
// hold anything but letters, digits, _ and - stand in brackets, like entries:
//
//	agents.list[writer].tools.deny
//	ai.providers.openai.prices[gpt-4.1].in
func (p path) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case s.kind == stepEntry && s.name == "":
			fmt.Fprintf(&b, "[%d]", s.index)
		case s.kind == stepEntry || !plainKey(s.name):
			b.WriteString("[" + bracketed(s.name) + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		}
	}
	return b.String()
}

func plainKey(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return s != ""
}

// bracketed quotes what can't stand in brackets as it is.
func bracketed(s string) string {
	q := strconv.Quote(s)
	if s == "" || s[0] == '"' || strings.ContainsAny(s, "]") || q[1:len(q)-1] != s || strings.TrimSpace(s) != s {
		return q
	}
	return s
}

// segment is one part of a written path before it is known what it means.
type segment struct {
	text    string
	bracket bool
	quoted  bool
}

// splitPath takes a written path apart: names joined by dots, and brackets
// with what names an entry or a key, quoted like a Go string where needed.
func splitPath(s string) ([]segment, error) {
	var out []segment
	for rest := s; rest != ""; {
		if rest[0] == '[' {
			seg, after, err := cutBracket(rest[1:])
			if err != nil {
				return nil, fmt.Errorf("key %q: %w", s, err)
			}
			out, rest = append(out, seg), after
			continue
		}
		if len(out) > 0 {
			if rest[0] != '.' {
				return nil, fmt.Errorf("key %q: a dot or a bracket must follow ]", s)
			}
			rest = rest[1:]
		}
		n := strings.IndexAny(rest, ".[")
		if n < 0 {
			n = len(rest)
		}
		if n == 0 {
			return nil, fmt.Errorf("key %q: a name is missing", s)
		}
		out, rest = append(out, segment{text: rest[:n]}), rest[n:]
		if rest == "." {
			return nil, fmt.Errorf("key %q: a name is missing after the last dot", s)
		}
	}
	return out, nil
}

// cutBracket reads up to the closing bracket.
func cutBracket(s string) (segment, string, error) {
	if strings.HasPrefix(s, `"`) {
		q, err := strconv.QuotedPrefix(s)
		if err != nil || !strings.HasPrefix(s[len(q):], "]") {
			return segment{}, "", fmt.Errorf("a closing quote and bracket are missing")
		}
		text, err := strconv.Unquote(q)
		if err != nil {
			return segment{}, "", err
		}
		return segment{text: text, bracket: true, quoted: true}, s[len(q)+1:], nil
	}
	text, rest, ok := strings.Cut(s, "]")
	if !ok || text == "" {
		return segment{}, "", fmt.Errorf("brackets must hold a name or a number and be closed")
	}
	return segment{text: text, bracket: true}, rest, nil
}

// target is a key of the schema that a written path means.
type target struct {
	path path
	typ  reflect.Type
	// field is the innermost field the path goes through; nil for the root.
	field *field
}

// resolve finds what a written path means. The error names the nearest key.
func resolve(key string) (target, error) {
	segs, err := splitPath(key)
	if err != nil {
		return target{}, err
	}
	t := target{typ: reflect.TypeFor[Config]()}
	for _, seg := range segs {
		if err := t.enter(seg); err != nil {
			return target{}, err
		}
	}
	return t, nil
}

func (t *target) enter(seg segment) error {
	for shapeOf(t.typ) == shapePointer {
		t.typ = t.typ.Elem()
	}
	switch shapeOf(t.typ) {
	case shapeStruct:
		m := metaOf(t.typ)
		f := m.find(seg.text)
		if f == nil || seg.bracket {
			return t.unknown(seg.text, m.names())
		}
		t.path = append(t.path, step{kind: stepField, name: f.name})
		t.typ, t.field = f.typ, f
	case shapeMap:
		t.path = append(t.path, step{kind: stepKey, name: seg.text})
		t.typ = t.typ.Elem()
	case shapeList:
		if !seg.bracket {
			return fmt.Errorf("key %s: it is a list; name an entry in brackets, as in %s[0]", t.path, t.path)
		}
		t.path = append(t.path, entryStep(seg))
		t.typ = t.typ.Elem()
	case shapeAny:
		// A plugin's own settings have no schema here.
		if s := entryStep(seg); seg.bracket && s.index >= 0 {
			t.path = append(t.path, s)
		} else {
			t.path = append(t.path, step{kind: stepKey, name: seg.text})
		}
	default:
		return fmt.Errorf("key %s: it holds one value and no keys", t.path)
	}
	return nil
}

func entryStep(seg segment) step {
	s := step{kind: stepEntry, name: seg.text, index: -1}
	if n, err := strconv.Atoi(seg.text); err == nil && n >= 0 && !seg.quoted {
		s.index = n
	}
	return s
}

func (t *target) unknown(name string, known []string) error {
	at := append(t.path[:len(t.path):len(t.path)], step{kind: stepKey, name: name})
	f := Fault{Unknown: true, Near: nearestKey(name, known)}
	msg := "unknown key " + at.String()
	if f.Near != "" {
		msg += ": did you mean " + f.Near + "?"
	}
	return fmt.Errorf("%s", msg)
}

// nearestKey prefers a sibling that is spelt alike; else it finds a key of the
// very name elsewhere in the schema, because misplaced keys are as frequent
// as misspelt ones.
func nearestKey(name string, siblings []string) string {
	if near := nearestOf(name, siblings); near != "" {
		return near
	}
	for _, p := range schemaPaths() {
		if p == name || strings.HasSuffix(p, "."+name) && !strings.Contains(p, "[]") && !strings.Contains(p, "*") {
			return p
		}
	}
	return ""
}

// place is where a path ends in a document.
type place struct {
	// path is the path with the entries' ids and indexes filled in.
	path path
	// key is the node of the key, or of the entry itself in a list.
	key *yaml.Node
	// value is the node of the value.
	value *yaml.Node
}

// locate follows p through the document with the root node n; ok is false
// when it is not written there.
func locate(n *yaml.Node, p path) (place, bool) {
	pl := place{value: n, key: n}
	typ := reflect.TypeFor[Config]()
	for _, s := range p {
		n := deref(pl.value)
		if n == nil {
			return place{}, false
		}
		typ = pointee(typ)
		var key, value *yaml.Node
		switch s.kind {
		case stepEntry:
			i := findEntry(n, s, idName(typ))
			if i < 0 {
				return place{}, false
			}
			key, value = n.Content[i], n.Content[i]
			s.index, s.name = i, entryName(value, idName(typ))
		default:
			if key, value = child(n, s.name); value == nil {
				return place{}, false
			}
		}
		typ = stepType(typ, s)
		pl.path, pl.key, pl.value = append(pl.path, s), key, value
	}
	return pl, pl.value != nil
}

func pointee(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// stepType is the type below t; nil where the schema says nothing.
func stepType(t reflect.Type, s step) reflect.Type {
	t = pointee(t)
	if t == nil {
		return nil
	}
	switch shapeOf(t) {
	case shapeStruct:
		if f := metaOf(t).find(s.name); f != nil {
			return pointee(f.typ)
		}
	case shapeMap, shapeList:
		if e := pointee(t.Elem()); shapeOf(e) != shapeAny {
			return e
		}
	}
	return nil
}

// idName is the key that names the entries of a list of the type t.
func idName(t reflect.Type) string {
	if t == nil || shapeOf(t) != shapeList || shapeOf(t.Elem()) != shapeStruct {
		return ""
	}
	if f := metaOf(t.Elem()).id(); f != nil {
		return f.name
	}
	return ""
}

// findEntry finds an entry by its name, else by its index.
func findEntry(list *yaml.Node, s step, id string) int {
	if list.Kind != yaml.SequenceNode {
		return -1
	}
	if id != "" {
		for i, e := range list.Content {
			if name := entryName(e, id); name != "" && name == s.name {
				return i
			}
		}
	}
	if s.index >= 0 && s.index < len(list.Content) {
		return s.index
	}
	return -1
}

// entryName is what the entry e of a list is called, or "".
func entryName(e *yaml.Node, id string) string {
	if id == "" {
		return ""
	}
	if _, v := child(deref(e), id); v != nil {
		if v = deref(v); v.Kind == yaml.ScalarNode && !isNull(v) {
			return v.Value
		}
	}
	return ""
}

// maxMerges bounds how many mappings the search for one key looks into: merge
// keys can multiply without end.
const maxMerges = 1000

// child finds the key name of a mapping, in what it merges as well.
func child(n *yaml.Node, name string) (key, value *yaml.Node) {
	left := maxMerges
	return childBelow(n, name, &left)
}

func childBelow(n *yaml.Node, name string, left *int) (key, value *yaml.Node) {
	if *left--; n == nil || n.Kind != yaml.MappingNode || *left < 0 {
		return nil, nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Value == name && k.Tag != mergeTag {
			return k, n.Content[i+1]
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag != mergeTag {
			continue
		}
		for _, from := range merged(n.Content[i+1]) {
			if k, v := childBelow(deref(from), name, left); v != nil {
				return k, v
			}
		}
	}
	return nil, nil
}

// merged are the mappings that the value of a merge key names: one or a list.
func merged(n *yaml.Node) []*yaml.Node {
	if n = deref(n); n != nil && n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return []*yaml.Node{n}
}

const mergeTag = "!!merge"

// deref follows aliases. An alias that leads to itself ends as nil.
func deref(n *yaml.Node) *yaml.Node {
	for range 8 {
		if n == nil || n.Kind != yaml.AliasNode {
			return n
		}
		n = n.Alias
	}
	return nil
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}
