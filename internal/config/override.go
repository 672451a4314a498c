package config

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/goclaw/goclaw/internal/lib/source"
)

const varPrefix = "GOCLAW_"

// overrides writes the GOCLAW_ variables into the document, as if they stood
// there, and remembers which nodes came from them. It gives the new root.
//
// A name stands for the longest key that it fits: GOCLAW_GATEWAY_LISTEN is
// gateway.listen. Names of a person's own are found in the file, or among the
// built-in providers, or taken in lower case. An empty variable is none.
func (d *decoder) overrides(root *yaml.Node) *yaml.Node {
	type override struct {
		name, value string
		target      target
	}
	var found []override
	for _, v := range d.environ.vars {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, varPrefix) || value == "" || reservedVar(name) {
			continue
		}
		t, ok := matchVar(strings.TrimPrefix(name, varPrefix), root)
		if !ok {
			d.warnings = append(d.warnings, Fault{
				Pos:     source.Pos{Env: name},
				Message: "no key is set by this variable",
				Near:    nearestVar(name),
			})
			continue
		}
		found = append(found, override{name, value, t})
	}
	if len(found) == 0 {
		return root
	}
	// Blocks before the keys in them, and always in the same order.
	slices.SortStableFunc(found, func(a, b override) int {
		if n := len(a.target.path) - len(b.target.path); n != 0 {
			return n
		}
		return strings.Compare(a.name, b.name)
	})
	d.env = make(map[*yaml.Node]string)
	for _, o := range found {
		n, fault := nodeOfVar(o.value, o.target)
		if fault != "" {
			d.add(Fault{Pos: source.Pos{Key: o.target.path.String(), Env: o.name}, Message: fault})
			continue
		}
		d.own(n, o.name)
		root = graft(root, o.target.path, n, false, func(made *yaml.Node) { d.own(made, o.name) })
	}
	return root
}

// reservedVar reports whether the name sets no key: the two that mean
// something else, and those that Kubernetes makes for a service called goclaw.
func reservedVar(name string) bool {
	switch rest := strings.TrimPrefix(name, varPrefix); {
	case name == homeVar, name == tokenVar:
		return true
	case rest == "PORT", strings.HasPrefix(rest, "PORT_"), strings.HasPrefix(rest, "SERVICE_"),
		strings.HasSuffix(rest, "_SERVICE_HOST"), strings.HasSuffix(rest, "_SERVICE_PORT"):
		return true
	}
	return false
}

// own remembers that n and all in it came from a variable.
func (d *decoder) own(n *yaml.Node, name string) {
	d.env[n] = name
	for _, c := range n.Content {
		d.own(c, name)
	}
}

// nodeOfVar reads the value of a variable as YAML. Where the key holds text
// the value is that text, unless it is null or stands in quotes: keys and
// addresses hold characters that mean something in YAML.
func nodeOfVar(value string, t target) (*yaml.Node, string) {
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(value), &doc)
	var n *yaml.Node
	if err == nil && len(doc.Content) == 1 {
		n = doc.Content[0]
	}
	if s := shapeOf(pointee(t.typ)); s == shapeString || s == shapeText {
		if n != nil && n.Kind == yaml.ScalarNode && (n.Style != 0 || isNull(n) && n.Value != "") {
			return n, ""
		}
		return textNode(strings.TrimSpace(value)), ""
	}
	if err != nil {
		return nil, "the value is not valid YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")
	}
	if n == nil {
		n = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return n, ""
}

// graft gives the root of a document in which p leads to n, changing the
// document in place and creating what is missing on the way; made is told each
// node that it created. What is reached through an alias or a merge key is
// copied first, because other places share it: shared says that root is such.
func graft(root *yaml.Node, p path, n *yaml.Node, shared bool, made func(*yaml.Node)) *yaml.Node {
	if len(p) == 0 {
		return n
	}
	if root != nil && (root.Kind == yaml.AliasNode || root.Anchor != "") {
		root, shared = deref(root), true
	}
	s := p[0]
	kind, tag := yaml.MappingNode, "!!map"
	if s.kind == stepEntry {
		kind, tag = yaml.SequenceNode, "!!seq"
	}
	if root == nil || root.Kind != kind {
		root = &yaml.Node{Kind: kind, Tag: tag}
		made(root)
	} else if shared {
		copied := *root
		copied.Content, copied.Anchor = slices.Clone(root.Content), ""
		root = &copied
	}
	if s.kind == stepEntry {
		if s.index >= 0 && s.index < len(root.Content) {
			root.Content[s.index] = graft(root.Content[s.index], p[1:], n, shared, made)
		} else {
			root.Content = append(root.Content, graft(nil, p[1:], n, false, made))
		}
		return root
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if k := root.Content[i]; k.Kind == yaml.ScalarNode && k.Value == s.name && k.Tag != mergeTag {
			root.Content[i+1] = graft(root.Content[i+1], p[1:], n, shared, made)
			return root
		}
	}
	// What is merged stays visible below a key that is added for one part of it.
	_, inherited := child(root, s.name)
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s.name}
	made(key)
	root.Content = append(root.Content, key, graft(inherited, p[1:], n, true, made))
	return root
}

// matchVar finds the key that the rest of a variable's name stands for.
func matchVar(rest string, root *yaml.Node) (target, bool) {
	t := target{typ: reflect.TypeFor[Config]()}
	return t.match(rest, root)
}

// match goes on with rest below the target; n is the node there, or nil. Of
// the keys that rest may begin with the longest is tried first.
func (t target) match(rest string, n *yaml.Node) (target, bool) {
	t.typ = pointee(t.typ)
	n = deref(n)
	type candidate struct {
		step  step
		typ   reflect.Type
		field *field
		node  *yaml.Node
	}
	var cands []candidate
	add := func(s step, typ reflect.Type, f *field, node *yaml.Node) {
		cands = append(cands, candidate{s, typ, f, node})
	}
	longestFirst := func() {
		slices.SortStableFunc(cands, func(a, b candidate) int { return len(b.step.name) - len(a.step.name) })
	}
	switch shapeOf(t.typ) {
	case shapeStruct:
		m := metaOf(t.typ)
		for i := range m.fields {
			f := &m.fields[i]
			if !f.is("noenv") {
				_, v := child(n, f.name)
				add(step{kind: stepField, name: f.name}, f.typ, f, v)
			}
		}
		longestFirst()
	case shapeMap:
		for _, name := range t.knownNames(rest, n) {
			_, v := child(n, name)
			add(step{kind: stepKey, name: name}, t.typ.Elem(), t.field, v)
		}
	case shapeList:
		if n == nil || n.Kind != yaml.SequenceNode {
			return target{}, false
		}
		for i, e := range n.Content {
			if name := entryName(e, idName(t.typ)); name != "" {
				add(step{kind: stepEntry, name: name, index: i}, t.typ.Elem(), t.field, e)
			}
		}
		longestFirst()
	}
	for _, c := range cands {
		after, ok := strings.CutPrefix(rest, varPart(c.step.name))
		if !ok {
			continue
		}
		next := target{path: append(t.path[:len(t.path):len(t.path)], c.step), typ: c.typ, field: c.field}
		if after == "" {
			return next, true
		}
		if after, ok = strings.CutPrefix(after, "_"); ok {
			if got, ok := next.match(after, c.node); ok {
				return got, true
			}
		}
	}
	return target{}, false
}

// knownNames are the names that rest may begin with in a map: those of the
// file and of the built-in providers, the longest first, and then, where the
// values have keys of their own, whatever is left before one of these, the
// longest of these keys first.
func (t target) knownNames(rest string, n *yaml.Node) []string {
	var names []string
	if n != nil && n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Tag != mergeTag {
				names = append(names, k.Value)
			}
		}
	}
	if t.typ.Elem() == reflect.TypeFor[Provider]() {
		for _, b := range builtins {
			names = append(names, b.name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(b) - len(a) })
	if shapeOf(t.typ.Elem()) != shapeStruct {
		return names
	}
	var free []string
	for _, key := range metaOf(t.typ.Elem()).names() {
		if name, ok := strings.CutSuffix(rest, "_"+varPart(key)); ok && name != "" {
			free = append(free, strings.ToLower(name))
		}
	}
	slices.SortStableFunc(free, func(a, b string) int { return len(a) - len(b) })
	return append(names, free...)
}

// varPart writes a key as a part of a variable's name.
func varPart(key string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, key)
}

// nearestVar is the variable that was probably meant, or "". Variables for
// names of a person's own are not among the suggestions.
func nearestVar(name string) string {
	known := []string{strings.TrimPrefix(homeVar, varPrefix), strings.TrimPrefix(tokenVar, varPrefix)}
	walkSchema(reflect.TypeFor[Config](), "", func(p string, f *field) {
		if !strings.ContainsAny(p, "[]*") && !f.is("noenv") {
			known = append(known, varPart(p))
		}
	})
	if near := nearestOf(strings.TrimPrefix(name, varPrefix), known); near != "" {
		return varPrefix + near
	}
	return ""
}
