package jsonschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// Limits of a schema. Real ones have a few kilobytes and a hundred nodes.
const (
	maxSchemaBytes = 256 << 10
	maxNodes       = 10_000
	maxPattern     = 1_000 // bytes of a regular expression
)

// Compile reads a schema of draft-07 or 2020-12 (a "$schema" of draft-07 or
// older selects the older rules, where "$ref" hides what stands beside it).
// References are followed inside the schema only: by JSON pointer, anchor or an
// "$id" that it contains; a reference to anything else is an error and nothing
// is ever loaded. "$dynamicRef" and "$recursiveRef" are followed like "$ref",
// which is the same where there is one "$id" at most, and an error elsewhere.
//
// "format" and the content keywords are notes, as 2020-12 has it. A "pattern"
// that Go's linear-time regular expressions can't express is not checked: the
// owner of the tool checks its own arguments. In "patternProperties" it is an
// error, since the meaning of other keywords hangs on it.
//
// "nullable": true, which OpenAPI has in place of the type null, adds it to the
// types.
//
// A schema is at most 256 KiB with 10,000 subschemas. Errors name the place as
// a JSON pointer.
func Compile(raw []byte) (*Schema, error) {
	c, root, err := read(raw)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	c.narrow()
	return &Schema{root: root, tracks: c.tracks}, nil
}

// read compiles a schema and resolves its references.
func read(raw []byte) (*compiler, *node, error) {
	if len(raw) > maxSchemaBytes {
		return nil, nil, fmt.Errorf("it has %d bytes, the limit is %d", len(raw), maxSchemaBytes)
	}
	doc, err := Decode(raw)
	if err != nil {
		return nil, nil, err
	}
	c := &compiler{doc: doc, refs: bytes.Contains(raw, []byte(`ef"`))}
	if c.refs {
		c.nodes = map[string]*node{}
	}
	root, err := c.compile(doc, place{})
	if err == nil {
		err = c.resolve()
	}
	return c, root, err
}

type compiler struct {
	doc    any
	made   []*node
	tracks bool

	refs    bool              // the text may hold references: remember places
	nodes   map[string]*node  // by JSON pointer
	anchors map[string]string // "base#anchor" to JSON pointer
	ids     map[string]string // base to JSON pointer
	pending []reference
	links   []link
}

// compile gives the node of the subschema v at a place, the same one for the
// same place.
func (c *compiler) compile(v any, at place) (*node, error) {
	if n := c.nodes[at.ptr]; n != nil {
		return n, nil
	}
	if len(c.made) >= maxNodes {
		return nil, fmt.Errorf("it has more than %d subschemas", maxNodes)
	}
	n := c.node()
	if c.refs {
		c.nodes[at.ptr] = n
	}
	switch v := v.(type) {
	case bool:
		n.never = !v
		return n, nil
	case map[string]any:
		o := object{c: c, n: n, v: v, at: at}
		o.identify()
		for _, step := range [...]func(*object) error{
			(*object).refs, (*object).values, (*object).numbers, (*object).counts,
			(*object).lists, (*object).members, (*object).logic,
		} {
			if err := step(&o); err != nil {
				return nil, err
			}
			if o.at.old && n.ref == nil && o.hidden {
				break // draft-07: the rest is ignored beside $ref
			}
		}
		return n, nil
	}
	return nil, at.errorf("a schema is an object or a boolean, not %s", typeName(v))
}

func (c *compiler) node() *node {
	n := &node{}
	c.made = append(c.made, n)
	return n
}

// narrow works out for each node which types it may allow. Each round is right
// and the next at least as narrow, so it may end at any time; without cycles of
// references the second changes nothing.
func (c *compiler) narrow() {
	for _, n := range c.made {
		n.may = anyKind
		if n.types != 0 {
			n.may = n.types
		}
		if n.isSet {
			var set kinds
			for _, v := range n.enum {
				set |= kindOf(v)
			}
			n.may &= set
		}
		if n.never {
			n.may = 0
		}
	}
	for changed, round := true, 0; changed && round < 16; round++ {
		changed = false
		for _, n := range slices.Backward(c.made) { // parts are made after the whole
			was := n.may
			if n.ref != nil {
				n.may &= n.ref.may
			}
			for _, part := range n.all {
				n.may &= part.may
			}
			for _, forms := range [...][]*node{n.any, n.one} {
				if len(forms) == 0 {
					continue
				}
				var union kinds
				for _, form := range forms {
					union |= form.may
				}
				n.may &= union
			}
			changed = changed || n.may != was
		}
	}
}

// object compiles the keywords of one schema object.
type object struct {
	c      *compiler
	n      *node
	v      map[string]any
	at     place
	hidden bool // a $ref of draft-07 hides everything else
}

func (o *object) values() error {
	switch t := o.v["type"].(type) {
	case nil:
		if _, ok := o.v["type"]; ok {
			return o.wrong("type", "a type name or a list of them")
		}
	case string:
		if o.n.types = typeKinds[t]; o.n.types == 0 {
			return o.at.child("type").errorf("there is no type %s", quote(t))
		}
	case []any:
		for _, item := range t {
			name, _ := item.(string)
			k := typeKinds[name]
			if k == 0 {
				return o.at.child("type").errorf("there is no type %s", show(item))
			}
			o.n.types |= k
		}
		if len(t) == 0 {
			return o.at.child("type").errorf("the list of types is empty")
		}
	default:
		return o.wrong("type", "a type name or a list of them")
	}
	if o.v["nullable"] == true && o.n.types != 0 {
		o.n.types |= kindNull
	}
	if v, ok := o.v["enum"]; ok {
		if o.n.enum, ok = v.([]any); !ok {
			return o.wrong("enum", "an array")
		}
		o.n.isSet = true
	}
	if v, ok := o.v["const"]; ok {
		if o.n.isSet { // both: const stands in a node of its own
			only := o.c.node()
			only.enum, only.isSet = []any{v}, true
			o.n.all = append(o.n.all, only)
		} else {
			o.n.enum, o.n.isSet = []any{v}, true
		}
	}
	return nil
}

func (o *object) numbers() error {
	for _, k := range [...]struct {
		keyword string
		to      **bound
	}{
		{"minimum", &o.n.minimum},
		{"maximum", &o.n.maximum},
		{"exclusiveMinimum", &o.n.above},
		{"exclusiveMaximum", &o.n.below},
		{"multipleOf", &o.n.multiple},
	} {
		switch v := o.v[k.keyword].(type) {
		case json.Number:
			*k.to = &bound{string(v), rat(string(v))}
		case bool:
			// draft-04 wrote a flag beside the limit.
			switch {
			case k.to == &o.n.above && v:
				o.n.above, o.n.minimum = o.n.minimum, nil
			case k.to == &o.n.below && v:
				o.n.below, o.n.maximum = o.n.maximum, nil
			case k.to != &o.n.above && k.to != &o.n.below:
				return o.wrong(k.keyword, "a number")
			}
		default:
			if _, ok := o.v[k.keyword]; ok {
				return o.wrong(k.keyword, "a number")
			}
		}
	}
	if o.n.multiple != nil && o.n.multiple.rat.Sign() <= 0 {
		return o.wrong("multipleOf", "a number above 0")
	}
	return nil
}

func (o *object) counts() error {
	for _, k := range [...]struct {
		keyword string
		to      *limit
	}{
		{"minLength", &o.n.minLength},
		{"maxLength", &o.n.maxLength},
		{"minItems", &o.n.minItems},
		{"maxItems", &o.n.maxItems},
		{"minProperties", &o.n.minProperties},
		{"maxProperties", &o.n.maxProperties},
		{"minContains", &o.n.minContains},
		{"maxContains", &o.n.maxContains},
	} {
		v, ok := o.v[k.keyword]
		if !ok {
			continue
		}
		num, ok := v.(json.Number)
		if !ok || !whole(string(num)) || num[0] == '-' {
			return o.wrong(k.keyword, "a count")
		}
		*k.to = limit{n: 1 << 40, set: true}
		if r := rat(string(num)).Num(); r.IsInt64() {
			k.to.n = int(min(r.Int64(), 1<<40))
		}
	}
	if v, ok := o.v["uniqueItems"]; ok {
		if o.n.unique, ok = v.(bool); !ok {
			return o.wrong("uniqueItems", "a boolean")
		}
	}
	if v, ok := o.v["pattern"]; ok {
		s, ok := v.(string)
		if !ok {
			return o.wrong("pattern", "a string")
		}
		o.n.pattern, _ = compilePattern(s) // nil is not checked, see Compile
	}
	return nil
}

func compilePattern(s string) (*pattern, error) {
	if len(s) > maxPattern {
		return nil, fmt.Errorf("it has more than %d bytes", maxPattern)
	}
	s = goEscapes(s)
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	match, err := regexp.Compile(s)
	if err != nil {
		return nil, err
	}
	return &pattern{match, len(prog.Inst)}, nil
}

// goEscapes writes ECMAScript's \uXXXX as Go's \x{XXXX}.
func goEscapes(s string) string {
	if !strings.Contains(s, `\u`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		if hex := s[i+2:]; s[i+1] == 'u' && len(hex) >= 4 {
			if _, err := strconv.ParseUint(hex[:4], 16, 16); err == nil {
				b.WriteString(`\x{` + hex[:4] + `}`)
				i += 5
				continue
			}
		}
		b.WriteString(s[i : i+2])
		i++
	}
	return b.String()
}

func (o *object) lists() (err error) {
	for _, keyword := range [...]string{"prefixItems", "items"} {
		if _, ok := o.v[keyword].([]any); ok { // draft-07 has the tuple in items
			if o.n.prefix, err = o.list(keyword); err != nil {
				return err
			}
		}
	}
	keyword := "items"
	if _, ok := o.v["items"].([]any); ok {
		keyword = "additionalItems"
	}
	if o.n.items, err = o.one(keyword); err != nil {
		return err
	}
	if o.n.contains, err = o.one("contains"); err != nil {
		return err
	}
	o.n.restItems, err = o.one("unevaluatedItems")
	return err
}

func (o *object) members() (err error) {
	if o.n.properties, err = o.table("properties"); err != nil {
		return err
	}
	patterns, err := o.table("patternProperties")
	if err != nil {
		return err
	}
	for _, p := range sortedKeys(patterns) {
		match, err := compilePattern(p)
		if err != nil {
			return o.at.child("patternProperties", p).errorf("%w", err)
		}
		o.n.patterns = append(o.n.patterns, patternNode{match, patterns[p]})
	}
	if o.n.additional, err = o.one("additionalProperties"); err != nil {
		return err
	}
	if o.n.restP, err = o.one("unevaluatedProperties"); err != nil {
		return err
	}
	if o.n.names, err = o.one("propertyNames"); err != nil {
		return err
	}
	if o.n.required, err = o.names(o.v["required"], "required"); err != nil {
		return err
	}
	for _, keyword := range [...]string{"dependentRequired", "dependentSchemas", "dependencies"} {
		v, ok := o.v[keyword]
		if !ok {
			continue
		}
		table, ok := v.(map[string]any)
		if !ok {
			return o.wrong(keyword, "an object")
		}
		for _, name := range sortedKeys(table) {
			n := need{name: name}
			if _, list := table[name].([]any); list || keyword == "dependentRequired" {
				n.required, err = o.names(table[name], keyword)
			} else {
				n.node, err = o.c.compile(table[name], o.at.child(keyword, name))
			}
			if err != nil {
				return err
			}
			o.n.needs = append(o.n.needs, n)
		}
	}
	return nil
}

func (o *object) logic() error {
	for _, k := range [...]struct {
		keyword string
		to      *[]*node
	}{{"allOf", &o.n.all}, {"anyOf", &o.n.any}, {"oneOf", &o.n.one}} {
		if _, ok := o.v[k.keyword]; !ok {
			continue
		}
		list, err := o.list(k.keyword)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return o.wrong(k.keyword, "an array with something in it")
		}
		*k.to = append(*k.to, list...)
	}
	for _, k := range [...]struct {
		keyword string
		to      **node
	}{{"not", &o.n.not}, {"if", &o.n.when}, {"then", &o.n.then}, {"else", &o.n.els}} {
		var err error
		if *k.to, err = o.one(k.keyword); err != nil {
			return err
		}
	}
	o.c.tracks = o.c.tracks || o.n.restItems != nil || o.n.restP != nil
	return nil
}

// one compiles the schema that a keyword holds, nil when it is absent.
func (o *object) one(keyword string) (*node, error) {
	v, ok := o.v[keyword]
	if !ok {
		return nil, nil
	}
	return o.c.compile(v, o.at.child(keyword))
}

// list compiles the schemas that a keyword holds in an array.
func (o *object) list(keyword string) ([]*node, error) {
	items, ok := o.v[keyword].([]any)
	if !ok {
		return nil, o.wrong(keyword, "an array")
	}
	nodes := make([]*node, len(items))
	for i, item := range items {
		var err error
		if nodes[i], err = o.c.compile(item, o.at.child(keyword, strconv.Itoa(i))); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// table compiles the schemas that a keyword holds by name.
func (o *object) table(keyword string) (map[string]*node, error) {
	v, ok := o.v[keyword]
	if !ok {
		return nil, nil
	}
	table, ok := v.(map[string]any)
	if !ok {
		return nil, o.wrong(keyword, "an object")
	}
	nodes := make(map[string]*node, len(table))
	for _, name := range sortedKeys(table) {
		var err error
		if nodes[name], err = o.c.compile(table[name], o.at.child(keyword, name)); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// names reads a list of property names.
func (o *object) names(v any, keyword string) ([]string, error) {
	if v == nil {
		if _, ok := o.v[keyword]; ok {
			return nil, o.wrong(keyword, "an array of names")
		}
		return nil, nil
	}
	items, ok := v.([]any)
	if !ok {
		return nil, o.wrong(keyword, "an array of names")
	}
	names := make([]string, 0, len(items))
	for _, item := range items {
		name, ok := item.(string)
		if !ok {
			return nil, o.wrong(keyword, "an array of names")
		}
		names = append(names, name)
	}
	return names, nil
}

func (o *object) wrong(keyword, want string) error {
	return o.at.child(keyword).errorf("%s was expected, not %s", want, typeName(o.v[keyword]))
}
