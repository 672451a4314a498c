package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/goclaw/goclaw/internal/lib/source"
)

const (
	// maxValues bounds the values of a file after its aliases are expanded.
	maxValues = 200_000
	// maxDepth bounds how deep values nest after aliases are expanded.
	maxDepth = 64
	// maxFaults bounds what one reading reports.
	maxFaults = 100
)

// decoder writes a document into a Config and collects all that is wrong.
type decoder struct {
	file    string
	environ Environ
	cfg     *Config
	// env names the variable that a node came from.
	env map[*yaml.Node]string

	at       path
	left     int
	faults   []Fault
	warnings []Fault
}

// document decodes the root node, which is nil for an empty file.
func (d *decoder) document(root *yaml.Node) {
	if root == nil || isNull(root) {
		return
	}
	d.value(root, nil, reflect.ValueOf(d.cfg).Elem(), nil)
}

// fault notes that the value at n is wrong. The position is that of n, or of
// its key where the value is empty.
func (d *decoder) fault(n *yaml.Node, format string, args ...any) {
	d.add(Fault{Pos: d.pos(n), Message: fmt.Sprintf(format, args...)})
}

func (d *decoder) add(f Fault) {
	if len(d.faults) < maxFaults {
		d.faults = append(d.faults, f)
	}
}

func (d *decoder) warn(n *yaml.Node, format string, args ...any) {
	if len(d.warnings) < maxFaults {
		d.warnings = append(d.warnings, Fault{Pos: d.pos(n), Message: fmt.Sprintf(format, args...)})
	}
}

func (d *decoder) pos(n *yaml.Node) source.Pos {
	return d.posAt(d.at.String(), n)
}

func (d *decoder) posAt(key string, n *yaml.Node) source.Pos {
	p := source.Pos{Key: key}
	if n == nil {
		return p
	}
	if v, ok := d.env[n]; ok {
		p.Env = v
		return p
	}
	p.File, p.Line, p.Column = d.file, n.Line, n.Column
	return p
}

// enter counts a value and refuses what would never end.
func (d *decoder) enter(n *yaml.Node) bool {
	d.left--
	if d.left == -1 {
		d.fault(n, "the file expands to more than %d values", maxValues)
	}
	if len(d.at) > maxDepth {
		if d.left >= 0 {
			d.fault(n, "values nest more than %d deep", maxDepth)
			d.left = 0
		}
		return false
	}
	return d.left >= 0
}

func (d *decoder) push(s step) { d.at = append(d.at, s) }
func (d *decoder) pop()        { d.at = d.at[:len(d.at)-1] }

// value decodes n into v, which must be addressable. A null leaves v as it is:
// null means not written. f is the innermost field, key the node of its name.
func (d *decoder) value(n, key *yaml.Node, v reflect.Value, f *field) {
	if !d.enter(n) {
		return
	}
	if n.Kind == yaml.AliasNode {
		if n = deref(n); n == nil {
			d.fault(key, "the alias leads to itself")
			return
		}
	}
	if isNull(n) {
		return
	}
	switch shapeOf(v.Type()) {
	case shapeStruct:
		d.object(n, v, f)
		if m := metaOf(v.Type()); m.pos != nil {
			v.FieldByIndex(m.pos).Set(reflect.ValueOf(d.pos(key)))
		}
	case shapeMap:
		d.dict(n, v, f)
	case shapeList:
		d.list(n, v, f)
	case shapePointer:
		p := reflect.New(v.Type().Elem())
		reset(p.Elem())
		before := len(d.faults)
		d.value(n, key, p.Elem(), f)
		if len(d.faults) == before {
			v.Set(p)
		}
	case shapeAny:
		if got := d.any(n); got != nil {
			v.Set(reflect.ValueOf(got))
		}
	default:
		d.scalar(n, v, f)
	}
}

// object decodes a mapping into a struct, which starts from its built-in
// defaults, so that a block that is written replaces one that is inherited.
func (d *decoder) object(n *yaml.Node, v reflect.Value, f *field) {
	if n.Kind != yaml.MappingNode {
		d.fault(n, "expected a mapping of keys, found %s", describe(n, f))
		return
	}
	if f != nil && !f.is("overlay") {
		reset(v)
	}
	m := metaOf(v.Type())
	var late *field
	var lateNode pair
	for _, p := range d.pairs(n) {
		fld := m.find(p.key.Value)
		if fld == nil {
			d.push(step{kind: stepField, name: p.key.Value})
			d.add(Fault{Pos: d.pos(p.key), Unknown: true, Near: nearestKey(p.key.Value, m.names())})
			d.pop()
			continue
		}
		if fld.late {
			late, lateNode = fld, p
			continue
		}
		d.field(p, v, fld)
	}
	if late != nil {
		d.field(lateNode, v, late)
	}
}

func (d *decoder) field(p pair, v reflect.Value, f *field) {
	d.push(step{kind: stepField, name: f.name})
	d.value(p.value, p.key, v.FieldByIndex(f.index), f)
	d.pop()
}

// dict decodes a mapping into a map. Entries that are there by default keep
// what is not written.
func (d *decoder) dict(n *yaml.Node, v reflect.Value, f *field) {
	if n.Kind != yaml.MappingNode {
		d.fault(n, "expected a mapping of names, found %s", describe(n, f))
		return
	}
	pairs := d.pairs(n)
	if v.IsNil() {
		v.Set(reflect.MakeMapWithSize(v.Type(), len(pairs)))
	}
	for _, p := range pairs {
		name := reflect.ValueOf(p.key.Value)
		entry := reflect.New(v.Type().Elem()).Elem()
		reset(entry)
		sub := f
		if entry.Kind() == reflect.Struct {
			if old := v.MapIndex(name); old.IsValid() {
				entry.Set(old)
			}
			sub = overlayField
		}
		d.push(step{kind: stepKey, name: p.key.Value})
		d.value(p.value, p.key, entry, sub)
		d.pop()
		v.SetMapIndex(name, entry)
	}
}

// overlayField stands for the entries of maps and lists, whose defaults are
// set before they are decoded.
var overlayField = &field{tag: `is:"overlay"`}

func (d *decoder) list(n *yaml.Node, v reflect.Value, f *field) {
	if n.Kind != yaml.SequenceNode {
		hint := ""
		if n.Kind == yaml.ScalarNode {
			hint = ": write it in brackets, [...]"
		}
		d.fault(n, "expected a list, found %s%s", describe(n, f), hint)
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	isStruct := shapeOf(v.Type().Elem()) == shapeStruct
	id := idName(v.Type())
	var names map[string]*yaml.Node
	if id != "" {
		names = make(map[string]*yaml.Node, len(n.Content))
	}
	for i, e := range n.Content {
		entry := out.Index(i)
		if !isStruct {
			// The key of an entry is that of the list: its line tells them apart.
			if isNull(deref(e)) {
				d.fault(e, "an entry of the list is empty")
				continue
			}
			d.value(e, e, entry, f)
			continue
		}
		name := entryName(e, id)
		d.push(step{kind: stepEntry, index: i, name: name})
		if isNull(deref(e)) {
			d.fault(e, "the entry is empty")
		} else {
			d.entry(e, entry)
		}
		if first := names[name]; first != nil {
			d.fault(e, "the %s stands here a second time, first in line %d", id, first.Line)
		} else if name != "" {
			names[name] = e
		}
		d.pop()
	}
	v.Set(out)
}

// entry decodes an entry of a list of structs.
func (d *decoder) entry(n *yaml.Node, v reflect.Value) {
	reset(v)
	agent, isAgent := v.Addr().Interface().(*Agent)
	if isAgent {
		agent.Tools, agent.Memory = d.cfg.Tools.own(), d.cfg.Memory
	}
	d.value(n, n, v, overlayField)
	if isAgent {
		d.addUpDenies(deref(n), agent)
	}
	if n = deref(n); n != nil {
		d.required(n, metaOf(v.Type()))
	}
}

// required faults the entry for each key that it must have and lacks.
func (d *decoder) required(n *yaml.Node, m *meta) {
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := range m.fields {
		f := &m.fields[i]
		if !f.is("required") {
			continue
		}
		_, val := child(n, f.name)
		if val = deref(val); isNull(val) || val.Kind == yaml.ScalarNode && val.Value == "" {
			d.fault(n, "the key %s is missing: %s", f.name, f.tag.Get("doc"))
		}
	}
}

// addUpDenies keeps the global deny lists of the blocks that an agent
// replaces: they can grow, never shrink.
func (d *decoder) addUpDenies(n *yaml.Node, a *Agent) {
	_, tools := child(n, "tools")
	if _, shell := child(deref(tools), "shell"); !isNull(deref(shell)) {
		a.Tools.Shell.Deny = joined(d.cfg.Tools.Shell.Deny, a.Tools.Shell.Deny)
	}
	if _, http := child(deref(tools), "http"); !isNull(deref(http)) {
		a.Tools.HTTP.Deny = joined(d.cfg.Tools.HTTP.Deny, a.Tools.HTTP.Deny)
	}
}

func joined(a, b []source.Text) []source.Text {
	return append(a[:len(a):len(a)], b...)
}

// pair is a key of a mapping with its value.
type pair struct{ key, value *yaml.Node }

// pairs are the keys of a mapping in the order of the file, then those it
// merges and does not have itself. Keys that are no text and doubled ones are
// faults.
func (d *decoder) pairs(n *yaml.Node) []pair {
	out := make([]pair, 0, len(n.Content)/2)
	var seen map[string]*yaml.Node // for large mappings only
	if len(n.Content) > 64 {
		seen = make(map[string]*yaml.Node, len(n.Content)/2)
	}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			d.fault(k, "a key must be plain text")
			continue
		}
		if k.Tag == mergeTag {
			merges = append(merges, v)
			continue
		}
		if first := firstOf(out, seen, k.Value); first != nil {
			d.push(step{kind: stepKey, name: k.Value})
			d.fault(k, "the key stands here a second time, first in line %d", first.Line)
			d.pop()
			continue
		}
		if seen != nil {
			seen[k.Value] = k
		}
		out = append(out, pair{k, v})
	}
	for _, m := range merges {
		out = d.merge(out, m, 0)
	}
	return out
}

func firstOf(pairs []pair, seen map[string]*yaml.Node, name string) *yaml.Node {
	if seen != nil {
		return seen[name]
	}
	for _, p := range pairs {
		if p.key.Value == name {
			return p.key
		}
	}
	return nil
}

// merge adds the keys of the mapping or mappings n that are not there yet.
func (d *decoder) merge(out []pair, n *yaml.Node, depth int) []pair {
	if depth > maxDepth {
		d.fault(n, "<< leads through more than %d mappings", maxDepth)
		d.left = 0
	}
	if !d.enter(n) {
		return out
	}
	for _, from := range merged(n) {
		from = deref(from)
		if from == nil || from.Kind != yaml.MappingNode {
			d.fault(n, "<< takes a mapping or a list of mappings")
			return out
		}
		for i := 0; i+1 < len(from.Content); i += 2 {
			if !d.enter(n) {
				return out
			}
			k, v := from.Content[i], from.Content[i+1]
			if k.Tag == mergeTag {
				out = d.merge(out, v, depth+1)
			} else if k.Kind == yaml.ScalarNode && firstOf(out, nil, k.Value) == nil {
				out = append(out, pair{k, v})
			}
		}
	}
	return out
}

// any decodes what no schema describes: text, numbers, booleans, lists and
// mappings as JSON has them.
func (d *decoder) any(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for _, p := range d.pairs(n) {
			d.push(step{kind: stepKey, name: p.key.Value})
			var v any
			d.value(p.value, p.key, reflect.ValueOf(&v).Elem(), nil)
			d.pop()
			out[p.key.Value] = v
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, e := range n.Content {
			d.push(step{kind: stepEntry, index: i})
			d.value(e, e, reflect.ValueOf(&out[i]).Elem(), nil)
			d.pop()
		}
		return out
	}
	text, tag := d.text(n)
	switch tag {
	case "!!int":
		if i, err := parseInt(text); err == nil {
			return i
		}
	case "!!float":
		if f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64); err == nil {
			return f
		}
	case "!!bool":
		return strings.EqualFold(text, "true")
	case "!!null":
		return nil
	}
	return text
}

// scalar decodes a single value.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, f *field) {
	if n.Kind != yaml.ScalarNode {
		d.fault(n, "expected %s, found %s", wanted(v.Type(), f), describe(n, f))
		return
	}
	text, tag := d.text(n)
	if text != n.Value {
		// In a flow mapping "${N}" can't do without its quotes.
		tag = plainTag(text)
	}
	bad := func() { d.fault(n, "expected %s, found %s", wanted(v.Type(), f), describe(n, f)) }
	switch shapeOf(v.Type()) {
	case shapeString, shapeText:
		// What a variable holds is text here, even when it looks like a number.
		if tag = n.ShortTag(); !isTextTag(tag) && !(f.is("loose") && isScalarTag(tag)) {
			if isScalarTag(tag) {
				d.fault(n, "expected text, found %s: put it in quotes", describe(n, f))
			} else {
				bad()
			}
			return
		}
		d.string(n, text, v, f)
	case shapeDuration:
		dur, ok := parseDuration(text)
		if !ok || f.is("positive") && dur == 0 {
			bad()
			return
		}
		v.SetInt(int64(dur))
	case shapeBool:
		if tag != "!!bool" {
			bad()
			return
		}
		v.SetBool(strings.EqualFold(text, "true"))
	case shapeInt:
		i, err := parseInt(text)
		if tag != "!!int" || err != nil || !inBounds(float64(i), f) {
			bad()
			return
		}
		v.SetInt(i)
	case shapeFloat:
		x, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		if tag != "!!int" && tag != "!!float" || err != nil || x != x || x-x != 0 || !inBounds(x, f) {
			bad()
			return
		}
		v.SetFloat(x)
	}
}

// string stores a text after checking it against the field.
func (d *decoder) string(n *yaml.Node, text string, v reflect.Value, f *field) {
	if allowed, ok := f.enum(); ok && !slices.Contains(allowed, text) {
		d.add(Fault{
			Pos:     d.pos(n),
			Message: fmt.Sprintf("expected %s, found %s", wanted(v.Type(), f), describe(n, f)),
			Near:    nearestOf(text, allowed),
		})
		return
	}
	if msg := checkFormat(f.tag.Get("format"), text); msg != "" {
		d.fault(n, "expected %s, found %s", msg, describe(n, f))
		return
	}
	if f.is("secret") && d.cfg.literal.IsZero() && isLiteralSecret(n.Value) && d.env[n] == "" {
		d.cfg.literal = d.pos(n)
	}
	if v.Type() == textType {
		v.Set(reflect.ValueOf(source.Text{Value: text, Pos: d.pos(n)}))
		return
	}
	v.SetString(text)
}

func isTextTag(tag string) bool {
	return tag == "!!str" || tag == "!!timestamp" || tag == mergeTag
}

func isScalarTag(tag string) bool {
	return tag == "!!int" || tag == "!!float" || tag == "!!bool"
}

// parseInt reads what YAML takes for an integer.
func parseInt(s string) (int64, error) {
	return strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 0, 64)
}

// parseDuration reads 30s, 1h30m, 7d, or a number of seconds.
func parseDuration(s string) (time.Duration, bool) {
	const most = float64(1<<63 - 1)
	scale := func(num string, unit time.Duration) (time.Duration, bool) {
		x, err := strconv.ParseFloat(num, 64)
		if err != nil || !(x >= 0 && x*float64(unit) < most) {
			return 0, false
		}
		return time.Duration(x * float64(unit)), true
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		return scale(days, 24*time.Hour)
	}
	if d, ok := scale(s, time.Second); ok {
		return d, true
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0
}

func inBounds(x float64, f *field) bool {
	lo, hi, hasLo, hasHi := f.bounds()
	return (!hasLo || x >= lo) && (!hasHi || x <= hi)
}
