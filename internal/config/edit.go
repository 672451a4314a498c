package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Set writes the value of a key into the file and leaves every other line as
// it is, comments and blank lines included. The value is YAML; for a key that
// holds text it is the text itself, unless it stands in quotes. Missing
// parents, a missing entry that is named by its id, and the file are created;
// a list is appended to by the index behind its last entry. An agent that is
// added where no list is written stands behind main, which is there until then.
//
// The change is checked before the file is replaced in one step: the result
// must hold the new value, nothing else may have changed, and there may be no
// fault that was not there before.
func Set(o Options, key, value string) error {
	_, err := rewrite(o, func(data []byte) ([]byte, error) {
		data, err := withMain(o, data, key)
		if err != nil {
			return nil, err
		}
		return setIn(o, data, key, value)
	})
	if err != nil {
		return fmt.Errorf("set %s: %w", key, err)
	}
	return nil
}

// withMain writes down the agent main, which is there as long as no list is,
// when the key is one of another entry: the list that comes with that entry
// would take main away, and give its folder to somebody else.
func withMain(o Options, data []byte, key string) ([]byte, error) {
	t, err := resolve(key)
	if err != nil || len(t.path) < 3 || t.path[:2].String() != "agents.list" || t.path[2].name == MainAgent {
		return data, nil // whatever is wrong with the key is told when it is set
	}
	_, doc := cutBOM(data)
	root, fault := parseYAML(o.file(), doc)
	if fault != nil {
		return nil, Faults{*fault}
	}
	list, written := locate(root, t.path[:2])
	if written && !isNull(list.value) && (list.value.Kind != yaml.SequenceNode || len(list.value.Content) > 0) {
		return data, nil
	}
	return setIn(o, data, "agents.list[0].id", MainAgent)
}

// Unset removes a key or an entry from the file, under the same guarantees as
// [Set]; also one that nobody knows, as long as it stands there. It reports
// false when a key was not written.
func Unset(o Options, key string) (bool, error) {
	changed, err := rewrite(o, func(data []byte) ([]byte, error) { return unsetIn(o, data, key) })
	if err != nil {
		return false, fmt.Errorf("unset %s: %w", key, err)
	}
	return changed, nil
}

// rewrite replaces the file by what change makes of it. When somebody else
// wrote the file meanwhile it starts again from what stands there now.
func rewrite(o Options, change func([]byte) ([]byte, error)) (bool, error) {
	for range 10 {
		old, _, err := readFile(o.file())
		if err != nil {
			return false, err
		}
		data, err := change(old)
		if err != nil {
			return false, err
		}
		if bytes.Equal(old, data) {
			return false, nil
		}
		now, _, err := readFile(o.file())
		if err != nil {
			return false, err
		}
		if bytes.Equal(old, now) {
			return true, writeFile(o.file(), data)
		}
	}
	return false, errors.New("the file keeps changing")
}

// edit is one change of a document.
type edit struct {
	*text
	root *yaml.Node
	typ  reflect.Type
	key  *yaml.Node
	at   *yaml.Node
	path path
}

// open reads a document for editing.
func openEdit(o Options, data []byte) (*edit, error) {
	root, fault := parseYAML(o.file(), data)
	if fault != nil {
		return nil, Faults{*fault}
	}
	return &edit{text: newText(data), root: root, at: root, typ: reflect.TypeFor[Config]()}, nil
}

// down follows p as far as it is written and gives what is left of it.
func (e *edit) down(p path) (path, error) {
	for i, s := range p {
		if e.at == nil || isNull(e.at) {
			return p[i:], nil
		}
		if e.at.Kind == yaml.AliasNode || e.at.Anchor != "" {
			return nil, fmt.Errorf("%s is shared with other places by an anchor: edit the file by hand", e.path)
		}
		if s.kind == stepEntry {
			if e.at.Kind != yaml.SequenceNode {
				return nil, fmt.Errorf("%s is no list in the file", e.path)
			}
			n := findEntry(e.at, s, idName(e.typ))
			if n < 0 {
				return p[i:], nil
			}
			s.index = n
			e.key, e.at = nil, e.at.Content[n]
		} else {
			if e.at.Kind != yaml.MappingNode {
				return nil, fmt.Errorf("%s is no mapping in the file", e.path)
			}
			n := ownKey(e.at, s.name)
			if n < 0 {
				return p[i:], nil
			}
			e.key, e.at = e.at.Content[n], e.at.Content[n+1]
		}
		e.typ = stepType(e.typ, s)
		e.path = append(e.path, s)
	}
	return nil, nil
}

// ownKey is the index of a key that a mapping has itself, or -1.
func ownKey(m *yaml.Node, name string) int {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if k := m.Content[i]; k.Kind == yaml.ScalarNode && k.Value == name && k.Tag != mergeTag {
			return i
		}
	}
	return -1
}

// cutBOM parts a mark of the byte order from the document behind it.
func cutBOM(data []byte) (bom, rest []byte) {
	rest = bytes.TrimPrefix(data, utf8BOM)
	return data[:len(data)-len(rest)], rest
}

// resolveKey is [resolve] for what can be set or removed: not the whole
// document.
func resolveKey(key string) (target, error) {
	t, err := resolve(key)
	if err == nil && len(t.path) == 0 {
		err = errors.New("name a key")
	}
	return t, err
}

func setIn(o Options, data []byte, key, value string) ([]byte, error) {
	out, err := placeIn(o, data, key, value)
	if err == nil {
		err = freshFaults(o, data, out)
	}
	return out, err
}

// placeIn is setIn without asking what the configuration makes of the result.
func placeIn(o Options, data []byte, key, value string) ([]byte, error) {
	bom, data := cutBOM(data)
	t, err := resolveKey(key)
	if err != nil {
		return nil, err
	}
	if !utf8.ValidString(key) || !utf8.ValidString(value) {
		return nil, errors.New("key and value must be UTF-8")
	}
	n, msg := nodeOfVar(value, t)
	if msg != "" {
		return nil, errors.New(msg)
	}
	e, err := openEdit(o, data)
	if err != nil {
		return nil, err
	}
	rest, err := e.down(t.path)
	if err != nil {
		return nil, err
	}
	var out []byte
	var where path
	if len(rest) == 0 {
		if e.at.Kind == yaml.ScalarNode && n.Kind == yaml.ScalarNode && n.Style == 0 && n.ShortTag() == "!!str" {
			n.Style = e.at.Style & (yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle)
		}
		where = e.path
		out, err = e.replace(n)
	} else {
		where, n, err = e.build(rest, n)
		if err == nil {
			out, err = e.insert(where[len(where)-1], n)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := e.verify(o, data, out, func(root *yaml.Node) *yaml.Node {
		return graft(root, where, n, false, func(*yaml.Node) {})
	}); err != nil {
		return nil, err
	}
	return append(bom[:len(bom):len(bom)], out...), nil
}

// build makes the value of the first missing step so that rest leads to n in
// it. It gives the path of that step.
func (e *edit) build(rest path, n *yaml.Node) (path, *yaml.Node, error) {
	types := []reflect.Type{e.typ}
	for _, s := range rest {
		types = append(types, stepType(types[len(types)-1], s))
	}
	first := rest[0]
	for i := len(rest) - 1; i >= 0; i-- {
		s := rest[i]
		if s.kind == stepEntry {
			length := 0
			if i == 0 && e.at != nil && e.at.Kind == yaml.SequenceNode {
				length = len(e.at.Content)
			}
			id := idName(types[i])
			switch {
			case s.index == length:
			case s.index < 0 && id != "":
				if n.Kind != yaml.MappingNode {
					return nil, nil, fmt.Errorf("there is no %s", append(e.path, rest[:i+1]...))
				}
				if ownKey(n, id) < 0 {
					n.Content = append([]*yaml.Node{textNode(id), textNode(s.name)}, n.Content...)
				}
			default:
				return nil, nil, fmt.Errorf("there is no %s", append(e.path, rest[:i+1]...))
			}
			first = step{kind: stepEntry, index: length}
			if i > 0 {
				n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{n}}
			}
		} else {
			first = s
			if i > 0 {
				n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{textNode(s.name), n}}
			}
		}
	}
	return append(e.path[:len(e.path):len(e.path)], first), n, nil
}

// replace writes n over the value that is reached.
func (e *edit) replace(n *yaml.Node) ([]byte, error) {
	old := e.at
	flow := e.inFlow()
	if isImplicit(old) {
		at := e.start(old)
		if e.key != nil {
			var err error
			if at, err = e.valueStart(e.key); err != nil {
				return nil, err
			}
		}
		return e.splice(at, at, " "+strings.TrimPrefix(e.inline(n, flow, at), " ")), nil
	}
	start := e.start(old)
	end, err := e.end(old)
	if err != nil {
		return nil, err
	}
	if e.key != nil && old.Line > e.key.Line && old.Style&yaml.FlowStyle == 0 && old.Kind != yaml.ScalarNode {
		// A block below its key: the value goes behind the colon, before a
		// comment that stands there, and the lines of the block go away.
		colon, err := e.valueStart(e.key)
		if err != nil {
			return nil, err
		}
		value := e.inline(n, flow, colon)
		rest := e.splice(e.lineStart(start), e.lineEnd(end), "")
		return slices.Concat(rest[:colon], []byte(" "+value), rest[colon:]), nil
	}
	return e.splice(start, end, e.inline(n, flow, end)), nil
}

// inline renders a value behind its key or dash. It may take several lines
// when nothing else stands on the line behind the offset at.
func (e *edit) inline(n *yaml.Node, flow bool, at int) string {
	alone := len(bytes.TrimSpace(e.data[at:e.textEnd(at)])) == 0
	if flow || !alone || n.Kind != yaml.ScalarNode {
		return e.flowText(n)
	}
	pair := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{textNode("k"), n}}
	lines := strings.Split(strings.TrimSuffix(string(encodeYAML(pair)), "\n"), "\n")
	indent := strings.Repeat(" ", e.indent(at))
	for i := range lines {
		if i > 0 && lines[i] != "" {
			lines[i] = indent + lines[i]
		}
	}
	return strings.TrimPrefix(strings.Join(lines, e.eol), "k: ")
}

// indent is how far the key that leads to the offset is indented; it counts
// the dashes before it.
func (e *edit) indent(at int) int {
	if e.key != nil {
		return e.key.Column - 1
	}
	line := e.data[e.lineStart(at):e.textEnd(at)]
	return len(line) - len(bytes.TrimLeft(line, " "))
}

// flowText renders a value on one line.
func (e *edit) flowText(n *yaml.Node) string {
	seq := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{oneLine(n)}}
	s := strings.TrimSuffix(string(encodeYAML(seq)), "\n")
	return s[1 : len(s)-1]
}

// oneLine copies a value in a style that needs no second line.
func oneLine(n *yaml.Node) *yaml.Node {
	c := *n
	c.HeadComment, c.LineComment, c.FootComment = "", "", ""
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, sub := range n.Content {
		c.Content[i] = oneLine(sub)
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		c.Style = yaml.FlowStyle
	case n.ShortTag() == "!!str" && (n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || strings.ContainsAny(n.Value, "\n\r\u0085\u2028\u2029")):
		c.Style = yaml.DoubleQuotedStyle
	}
	return &c
}

// inFlow reports whether the place that is reached lies in a flow collection.
func (e *edit) inFlow() bool {
	n := e.root
	for _, s := range e.path {
		if n.Style&yaml.FlowStyle != 0 {
			return true
		}
		if s.kind == stepEntry {
			n = n.Content[s.index]
		} else {
			n = n.Content[ownKey(n, s.name)+1]
		}
	}
	return false
}

// insert adds n as a new key or entry to the collection that is reached, or
// makes one where there is none yet.
func (e *edit) insert(s step, n *yaml.Node) ([]byte, error) {
	member := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{textNode(s.name), n}}
	if s.kind == stepEntry {
		member = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{n}}
	}
	switch {
	case e.at == nil || len(e.path) == 0 && isImplicit(e.at):
		return e.appendLines(e.documentEnd(), 0, member), nil
	case isImplicit(e.at) && e.key != nil && !e.inFlow():
		// key: with nothing behind it; the lines go below.
		colon, err := e.valueStart(e.key)
		if err != nil {
			return nil, err
		}
		return e.appendLines(e.lineEnd(colon), e.key.Column-1+e.indentStep(), member), nil
	case isNull(e.at):
		return e.replace(member)
	case e.at.Style&yaml.FlowStyle != 0:
		return e.insertFlow(member)
	}
	end, err := e.end(e.at)
	if err != nil {
		return nil, err
	}
	return e.appendLines(e.lineEnd(end), e.at.Column-1, member), nil
}

func (e *edit) insertFlow(member *yaml.Node) ([]byte, error) {
	text := e.flowText(member)
	text = text[1 : len(text)-1]
	if len(e.at.Content) == 0 {
		at := e.skipProperties(e.at) + 1
		return e.splice(at, at, text), nil
	}
	last := e.at.Content[len(e.at.Content)-1]
	at, err := e.end(last)
	if isImplicit(last) && e.at.Kind == yaml.MappingNode {
		at, err = e.valueStart(e.at.Content[len(e.at.Content)-2])
	}
	if err != nil {
		return nil, err
	}
	return e.splice(at, at, ", "+text), nil
}

// appendLines puts the lines of a collection at the beginning of a line.
func (e *edit) appendLines(at, indent int, member *yaml.Node) []byte {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(e.indentStep())
	if err := enc.Encode(member); err != nil {
		panic("config: encode a node of its own making: " + err.Error())
	}
	lines := strings.SplitAfter(b.String(), "\n")
	var out strings.Builder
	for _, l := range lines {
		if l = strings.TrimSuffix(l, "\n"); l != "" {
			out.WriteString(strings.Repeat(" ", indent) + l)
		}
		out.WriteString(e.eol)
	}
	text := strings.TrimSuffix(out.String(), e.eol)
	if at > 0 && breakBefore(e.data, at) == 0 {
		text = e.eol + strings.TrimSuffix(text, e.eol)
	}
	return e.splice(at, at, text)
}

// breakBefore is the length of the line break that ends at the offset.
func breakBefore(data []byte, at int) int {
	for n := 3; n > 0; n-- {
		if at >= n && breakLen(data[at-n:at]) == n {
			return n
		}
	}
	return 0
}

// documentEnd is where more lines of an empty document go.
func (e *edit) documentEnd() int {
	at := len(e.data)
	for i, end := range e.ends {
		start := 0
		if i > 0 {
			start = e.ends[i-1]
		}
		if bytes.HasPrefix(e.data[start:end], []byte("...")) {
			return start
		}
	}
	return at
}

// indentStep is how far the file indents a block below its key.
func (e *edit) indentStep() int {
	if e.root != nil && e.root.Kind == yaml.MappingNode && e.root.Style&yaml.FlowStyle == 0 {
		for i := 1; i < len(e.root.Content); i += 2 {
			k, v := e.root.Content[i-1], e.root.Content[i]
			if v.Kind == yaml.MappingNode && v.Style&yaml.FlowStyle == 0 && len(v.Content) > 0 {
				if n := v.Content[0].Column - k.Column; n >= 2 && n <= 8 {
					return n
				}
			}
		}
	}
	return 2
}

// splice gives the document with the bytes from start to end replaced.
func (e *edit) splice(start, end int, text string) []byte {
	return slices.Concat(e.data[:start], []byte(text), e.data[end:])
}

// verify refuses a result that is not what was meant: the document as want
// makes it.
func (e *edit) verify(o Options, old, out []byte, want func(*yaml.Node) *yaml.Node) error {
	got, fault := parseYAML(o.file(), out)
	if fault != nil {
		return fmt.Errorf("%w (the result would not be valid: %s)", errOdd, fault.Message)
	}
	before, _ := parseYAML(o.file(), old)
	if !sameNode(want(before), got) {
		return errOdd
	}
	return nil
}

// sameNode compares two documents by what they say: kinds, types and values.
// The order of keys, styles and comments don't count; an empty document is a
// null.
func sameNode(a, b *yaml.Node) bool {
	if a == nil || b == nil {
		return isNull(a) && isNull(b)
	}
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return false
	}
	switch a.Kind {
	case yaml.AliasNode:
		return a.Value == b.Value
	case yaml.ScalarNode:
		return a.ShortTag() == b.ShortTag() && (a.Value == b.Value || isNull(a))
	case yaml.MappingNode:
		for i := 0; i+1 < len(a.Content); i += 2 {
			if !sameMember(a, i, b) {
				return false
			}
		}
		return true
	}
	for i := range a.Content {
		if !sameNode(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// sameMember finds the key at index i of a, with the same value, in b. Keys
// are most often in the same place.
func sameMember(a *yaml.Node, i int, b *yaml.Node) bool {
	same := func(j int) bool {
		return sameNode(a.Content[i], b.Content[j]) && sameNode(a.Content[i+1], b.Content[j+1])
	}
	if same(i) {
		return true
	}
	for j := 0; j+1 < len(b.Content); j += 2 {
		if same(j) {
			return true
		}
	}
	return false
}
