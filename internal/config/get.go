package config

import (
	"bytes"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/goclaw/goclaw/internal/lib/source"
)

// Mask stands for a secret wherever a configuration is shown.
const Mask = "***"

// Where says where the value of a key was written: in the file, in a
// variable, or nowhere when it is a default. Entries are named by id or index.
// A setting that an agent takes over from the global block is found there. An
// unknown key gives the key alone.
func (c *Config) Where(key string) source.Pos {
	t, err := resolve(key)
	if err != nil {
		return source.Pos{Key: key}
	}
	return c.where(t.path)
}

func (c *Config) where(p path) source.Pos {
	pl, ok := locate(c.root, p)
	if ok && (pl.key != nil || pl.value != nil) {
		d := decoder{file: c.File, env: c.env}
		node := pl.key
		if _, fromEnv := c.env[pl.value]; fromEnv {
			node = pl.value
		}
		return d.posAt(pl.path.String(), node)
	}
	if global, ok := c.inherited(p); ok {
		return c.where(global)
	}
	return source.Pos{Key: p.String()}
}

// inherited gives the global key whose value an agent has, because the agent
// does not write that block: agents.list[x].tools.shell.timeout is
// tools.shell.timeout then.
func (c *Config) inherited(p path) (path, bool) {
	if len(p) < 5 || p[0].name != "agents" || p[2].kind != stepEntry {
		return nil, false
	}
	if p[3].name != "tools" && p[3].name != "memory" {
		return nil, false
	}
	switch p[4].name {
	case "profile", "allow", "also_allow", "deny", "by_provider", "by_sender", "subagents", "sandbox":
		return nil, false
	}
	block := p[:5]
	if p[3].name == "memory" {
		block = p[:4]
	}
	if _, written := locate(c.root, block); written {
		return nil, false
	}
	return p[3:], true
}

// Setting is the value of a key, ready to be shown: secrets are masked, and
// text that refers to a variable or a secret stands as it is written.
type Setting struct {
	// Key is the key in its usual form.
	Key string
	// Pos is where it was written.
	Pos source.Pos

	node *yaml.Node
}

// Get gives the value of a key with defaults filled in; "" is everything. The
// error names the nearest key, or says that there is no such entry.
func (c *Config) Get(key string) (Setting, error) {
	t, err := resolve(key)
	if err != nil {
		return Setting{}, fmt.Errorf("get configuration: %w", err)
	}
	e := encoder{cfg: c}
	n, err := e.at(t.path)
	if err != nil {
		return Setting{}, fmt.Errorf("get configuration: %w", err)
	}
	return Setting{Key: e.path.String(), Pos: c.where(e.path), node: n}, nil
}

// String is the bare text of a single value, else YAML without a newline at
// the end.
func (s Setting) String() string {
	if s.node.Kind == yaml.ScalarNode {
		if isNull(s.node) {
			return "null"
		}
		return s.node.Value
	}
	return strings.TrimSuffix(string(encodeYAML(s.node)), "\n")
}

// Value is the value as JSON has it: maps by name, lists, text, numbers,
// booleans or nil.
func (s Setting) Value() any { return plain(s.node) }

func plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[n.Content[i].Value] = plain(n.Content[i+1])
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, e := range n.Content {
			out[i] = plain(e)
		}
		return out
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int":
		if i, err := parseInt(n.Value); err == nil {
			return i
		}
	case "!!float":
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return f
		}
	}
	return n.Value
}

// encodeYAML writes a node with two spaces of indent.
func encodeYAML(n *yaml.Node) []byte {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		panic("config: encode a node of its own making: " + err.Error())
	}
	return b.Bytes()
}

// encoder writes values of a Config as nodes, with the written nodes beside
// them, which know what stood there before it was expanded.
type encoder struct {
	cfg  *Config
	path path
	// under is the nearest key that sounds like a secret, among those that no
	// schema describes.
	under string
}

// at goes to the value that p leads to and encodes it.
func (e *encoder) at(p path) (*yaml.Node, error) {
	v, n := reflect.ValueOf(e.cfg).Elem(), e.cfg.root
	var f *field
	for _, s := range p {
		v, n = pointed(v), deref(n)
		switch {
		case s.kind == stepField:
			f = metaOf(v.Type()).find(s.name)
			v = v.FieldByIndex(f.index)
			_, n = child(n, s.name)
		case v.Kind() == reflect.Interface || !v.IsValid():
			// Below this the written nodes are all there is.
			if s.kind == stepEntry {
				if n == nil || n.Kind != yaml.SequenceNode || s.index >= len(n.Content) {
					return nil, fmt.Errorf("there is no %s", append(e.path, s))
				}
				n = n.Content[s.index]
			} else if _, n = child(n, s.name); n == nil {
				return nil, fmt.Errorf("there is no %s", append(e.path, s))
			}
			if v = (reflect.Value{}); soundsSecret(s.name) {
				e.under = s.name
			}
		case s.kind == stepKey:
			v = v.MapIndex(reflect.ValueOf(s.name))
			if !v.IsValid() {
				return nil, fmt.Errorf("there is no %s", append(e.path, s))
			}
			_, n = child(n, s.name)
		default:
			i := entryIndex(v, s)
			if i < 0 {
				return nil, fmt.Errorf("there is no %s", append(e.path, s))
			}
			s.index, s.name = i, nameOf(v.Index(i))
			n = entryNode(n, i, v.Len())
			v = v.Index(i)
		}
		e.path = append(e.path, s)
	}
	return e.value(v, n, f), nil
}

// pointed follows a pointer; a nil one gives the default of its type.
func pointed(v reflect.Value) reflect.Value {
	if !v.IsValid() || v.Kind() != reflect.Pointer {
		return v
	}
	if !v.IsNil() {
		return v.Elem()
	}
	p := reflect.New(v.Type().Elem())
	reset(p.Elem())
	return p.Elem()
}

// entryIndex finds an entry of a list by its name, else by its index.
func entryIndex(list reflect.Value, s step) int {
	for i := range list.Len() {
		if name := nameOf(list.Index(i)); name != "" && name == s.name {
			return i
		}
	}
	if s.index >= 0 && s.index < list.Len() {
		return s.index
	}
	return -1
}

// nameOf is what the entry of a list is called, or "".
func nameOf(v reflect.Value) string {
	if shapeOf(v.Type()) != shapeStruct {
		return ""
	}
	if f := metaOf(v.Type()).id(); f != nil {
		return v.FieldByIndex(f.index).String()
	}
	return ""
}

// entryNode is the node of an entry, when the list is as it was written.
func entryNode(list *yaml.Node, i, length int) *yaml.Node {
	list = deref(list)
	if list == nil || list.Kind != yaml.SequenceNode || len(list.Content) != length {
		return nil
	}
	return list.Content[i]
}

// value encodes v; n is the node that it was decoded from, nil for a default.
func (e *encoder) value(v reflect.Value, n *yaml.Node, f *field) *yaml.Node {
	n = deref(n)
	if !v.IsValid() || v.Kind() == reflect.Interface {
		left := maxValues
		return e.masked(n, e.under, &left)
	}
	switch shapeOf(v.Type()) {
	case shapePointer:
		if v.IsNil() {
			return nullNode()
		}
		return e.value(v.Elem(), n, f)
	case shapeStruct:
		return e.object(v, n, f)
	case shapeMap:
		return e.dict(v, n, f)
	case shapeList:
		if v.IsNil() && f.is("nullable") {
			return nullNode()
		}
		out := &yaml.Node{Kind: yaml.SequenceNode}
		if v.Len() == 0 {
			out.Style = yaml.FlowStyle
		}
		for i := range v.Len() {
			e.path = append(e.path, step{kind: stepEntry, index: i})
			out.Content = append(out.Content, e.value(v.Index(i), entryNode(n, i, v.Len()), f))
			e.path = e.path[:len(e.path)-1]
		}
		return out
	}
	return e.scalar(v, n, f)
}

func nullNode() *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"} }

func textNode(s string) *yaml.Node {
	var n yaml.Node
	n.SetString(s)
	return &n
}

func (e *encoder) object(v reflect.Value, n *yaml.Node, f *field) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	m := metaOf(v.Type())
	for i := range m.fields {
		fld := &m.fields[i]
		_, sub := child(n, fld.name)
		// What an agent takes over is shown where it is written.
		if f != nil && f.is("own") && sub == nil {
			continue
		}
		e.path = append(e.path, step{kind: stepField, name: fld.name})
		out.Content = append(out.Content, textNode(fld.name), e.value(v.FieldByIndex(fld.index), sub, fld))
		e.path = e.path[:len(e.path)-1]
	}
	if len(out.Content) == 0 {
		out.Style = yaml.FlowStyle
	}
	return out
}

func (e *encoder) dict(v reflect.Value, n *yaml.Node, f *field) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	if v.Len() == 0 {
		out.Style = yaml.FlowStyle
	}
	var names []string
	for _, k := range v.MapKeys() {
		names = append(names, k.String())
	}
	slices.Sort(names)
	for _, name := range names {
		_, sub := child(n, name)
		e.path = append(e.path, step{kind: stepKey, name: name})
		fld := f
		if shapeOf(v.Type().Elem()) == shapeStruct {
			fld = nil
		}
		out.Content = append(out.Content, textNode(name), e.value(v.MapIndex(reflect.ValueOf(name)), sub, fld))
		e.path = e.path[:len(e.path)-1]
	}
	return out
}

func (e *encoder) scalar(v reflect.Value, n *yaml.Node, f *field) *yaml.Node {
	switch shapeOf(v.Type()) {
	case shapeText:
		return textNode(shown(v.Interface().(source.Text).Value, n, f.is("secret")))
	case shapeString:
		text := v.String()
		if f.name == "api_key" && len(e.path) == 4 && e.path[0].name == "ai" && (n == nil || n.Value == "") {
			if b, ok := builtinNamed(e.path[2].name); ok && b.keyVar != "" {
				return textNode("${" + b.keyVar + "}")
			}
		}
		return textNode(shown(text, n, f.is("secret")))
	case shapeDuration:
		return textNode(FormatDuration(time.Duration(v.Int())))
	case shapeBool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v.Bool())}
	case shapeInt:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(v.Int(), 10)}
	}
	x := strconv.FormatFloat(v.Float(), 'g', -1, 64)
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: plainTag(x), Value: x}
}

// shown is what people may see of a text whose node is n.
func shown(text string, n *yaml.Node, secret bool) string {
	written := text
	if n != nil && n.Kind == yaml.ScalarNode {
		written = n.Value
	}
	switch {
	case text == "" && written == "":
		return ""
	case secret && !isReference(written):
		return Mask
	case holdsReference(written):
		return written
	}
	return withoutPassword(text)
}

// withoutPassword masks the password of an address.
func withoutPassword(s string) string {
	if !strings.Contains(s, "://") || !strings.Contains(s, "@") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return s
	}
	if _, has := u.User.Password(); !has {
		return s
	}
	return strings.Replace(u.Redacted(), ":xxxxx@", ":"+Mask+"@", 1)
}

// masked copies what no schema describes, with the values masked whose keys
// sound like secrets. left bounds what aliases may expand to.
func (e *encoder) masked(n *yaml.Node, key string, left *int) *yaml.Node {
	n = deref(n)
	if *left--; n == nil || *left < 0 {
		return nullNode()
	}
	out := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value, Style: n.Style &^ (yaml.TaggedStyle | yaml.FlowStyle)}
	switch n.Kind {
	case yaml.ScalarNode:
		if n.ShortTag() == "!!null" {
			return nullNode()
		}
		if soundsSecret(key) || n.ShortTag() == "!!str" {
			text := n.Value
			if _, fromEnv := e.cfg.env[n]; !fromEnv {
				text, _ = expand(text, func(string) (string, bool) { return "", true })
			}
			return textNode(shown(text, n, soundsSecret(key)))
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			under := name
			if soundsSecret(key) {
				under = key
			}
			out.Content = append(out.Content, textNode(name), e.masked(n.Content[i+1], under, left))
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			out.Content = append(out.Content, e.masked(c, key, left))
		}
	}
	if n.Kind != yaml.ScalarNode && len(out.Content) == 0 {
		out.Style = yaml.FlowStyle
	}
	return out
}

func soundsSecret(key string) bool {
	key = strings.ToLower(key)
	for _, word := range []string{"key", "token", "secret", "password", "passwd", "dsn", "credential", "headers", "authorization"} {
		if strings.HasSuffix(key, word) || strings.HasSuffix(key, word+"s") {
			return true
		}
	}
	return false
}

// FormatDuration writes a duration as a person would: 60s, 10m, 1h30m.
func FormatDuration(d time.Duration) string {
	if d > 0 && d < 2*time.Minute && d%time.Second == 0 {
		return strconv.Itoa(int(d/time.Second)) + "s"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
