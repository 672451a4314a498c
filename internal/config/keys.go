package config

import (
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Key is a key as a person writes it, with what it means.
type Key struct{ Name, Doc string }

// Keys are all keys that can be read and written, parents first: those of the
// schema, with the entries and names that are in force below lists and maps.
func (c *Config) Keys() []Key {
	var out []Key
	keysBelow(reflect.ValueOf(c).Elem(), nil, &out)
	return out
}

// keysBelow adds the keys below a value that is not written yet, too: then v is
// the default of its type.
func keysBelow(v reflect.Value, p path, out *[]Key) {
	v = pointed(v)
	below := func(s step, v reflect.Value, doc string) {
		sub := append(p[:len(p):len(p)], s)
		*out = append(*out, Key{sub.String(), doc})
		keysBelow(v, sub, out)
	}
	switch shapeOf(v.Type()) {
	case shapeStruct:
		m := metaOf(v.Type())
		for i := range m.fields {
			f := &m.fields[i]
			below(step{kind: stepField, name: f.name}, v.FieldByIndex(f.index), f.tag.Get("doc"))
		}
	case shapeMap:
		var names []string
		for _, k := range v.MapKeys() {
			names = append(names, k.String())
		}
		slices.Sort(names)
		for _, name := range names {
			below(step{kind: stepKey, name: name}, v.MapIndex(reflect.ValueOf(name)), "")
		}
	case shapeList:
		for i := range v.Len() {
			below(step{kind: stepEntry, name: nameOf(v.Index(i)), index: i}, v.Index(i), "")
		}
	}
}

// WrittenKeys are the keys that stand in the file, parents first, also such
// that nobody knows. There are none in a file that is no YAML, or none at all.
func WrittenKeys(o Options) []string {
	data, _, err := readFile(o.file())
	if err != nil {
		return nil
	}
	root, fault := parseYAML(o.file(), data)
	if fault != nil {
		return nil
	}
	var out []string
	left := maxValues
	writtenBelow(root, reflect.TypeFor[Config](), nil, &left, &out)
	return out
}

func writtenBelow(n *yaml.Node, typ reflect.Type, p path, left *int, out *[]string) {
	below := func(s step, n *yaml.Node) {
		if *left--; *left < 0 {
			return
		}
		sub := append(p[:len(p):len(p)], s)
		*out = append(*out, sub.String())
		writtenBelow(n, stepType(typ, s), sub, left, out)
	}
	if n == nil {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Tag != mergeTag {
				below(step{kind: stepKey, name: k.Value}, n.Content[i+1])
			}
		}
	case yaml.SequenceNode:
		for i, e := range n.Content {
			below(step{kind: stepEntry, name: entryName(e, idName(typ)), index: i}, e)
		}
	}
}
