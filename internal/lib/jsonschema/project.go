package jsonschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	maxInside  = 32  // schemas inside each other in a projection
	maxInPlace = 100 // references that lead from one to the next
	maxChanges = 40  // lines that tell of changes
)

// projector fits one schema to a dialect. Every step widens what is accepted or
// leaves it as it is; what is lost is said in descriptions.
type projector struct {
	d    *Dialect
	fit  *fitting
	doc  any
	err  *UnfitError
	size int // schemas visited

	spelt int // values written out in words

	names   map[string]string // of definitions, by JSON pointer
	taken   map[string]bool   // names
	needed  map[string]bool   // pointers of definitions that are referred to
	pending []string          // the same, in the order in which they were met
	inPlace int

	changes []string
	more    int
}

func (d *Dialect) project(schema json.RawMessage) (*Projection, error) {
	p := &projector{d: d, names: map[string]string{}, taken: map[string]bool{}, needed: map[string]bool{}}
	c, _, err := read(schema)
	if err != nil {
		return nil, &UnfitError{Rule: "schema", Reason: err.Error(), Fix: "correct the schema"}
	}
	p.doc = c.doc
	p.link(c.links)
	root, _ := p.doc.(map[string]any)
	if root != nil && p.fit.fits(root, true) && p.nesting(root) <= maxInside {
		return &Projection{Parameters: same(schema, root), Changes: p.changes}, nil
	}
	if !d.refs() {
		p.acyclic(p.doc, nil)
		p.size = 0
	}
	out, remark := p.top()
	if p.err == nil {
		p.definitions(out)
	}
	if p.err == nil {
		p.check(out)
	}
	if p.err != nil {
		return nil, p.err
	}
	if p.more > 0 {
		p.changes = append(p.changes, fmt.Sprintf("and %d more", p.more))
	}
	return &Projection{Parameters: same(schema, out), Remark: remark, Changes: p.changes}, nil
}

// same is the canonical form of v; schema itself when that is it.
func same(schema json.RawMessage, v any) json.RawMessage {
	out := appendJSON(make([]byte, 0, len(schema)), v)
	if bytes.Equal(out, schema) {
		return schema
	}
	return out
}

// fail says why there is no projection; the first reason counts.
func (p *projector) fail(rule, fix, reason string, args ...any) {
	if p.err == nil {
		p.err = &UnfitError{Rule: rule, Reason: fmt.Sprintf(reason, args...), Fix: fix}
	}
}

// changed notes what was done to a keyword of the schema at a place.
func (p *projector) changed(keyword, at, done string) {
	line := keyword
	if at != "" {
		line += " of " + at
		done = strings.Replace(done, "to the description", "to its description", 1)
	}
	line += " " + done
	switch {
	case slices.Contains(p.changes, line):
	case len(p.changes) < maxChanges:
		p.changes = append(p.changes, line)
	default:
		p.more++
	}
}

// link makes references independent of where they stand: each names its target
// as a JSON pointer from the top, and none hides anything.
func (p *projector) link(links []link) {
	var targets []string
	seen := map[string]bool{}
	for _, l := range links {
		if !seen[l.target] {
			seen[l.target] = true
			targets = append(targets, l.target)
		}
		v, _ := lookup(p.doc, l.ptr)
		m, _ := v.(map[string]any)
		was, _ := m[l.keyword].(string)
		if l.old && l.keyword == "$ref" {
			for _, keyword := range sortedKeys(m) {
				if !slices.Contains(besideRef, keyword) {
					delete(m, keyword)
				}
			}
		}
		delete(m, l.keyword)
		ref := refTo(l.target)
		if ptr, ok := pointer(was); ok && ptr == l.target {
			ref = was
		}
		if _, twice := m["$ref"]; !twice {
			m["$ref"] = ref
			continue
		}
		all, _ := m["allOf"].([]any)
		m["allOf"] = append(slices.Clip(all), map[string]any{"$ref": ref})
	}
	p.fit = newFitting(p.d, p.doc, targets)
	for _, ptr := range targets {
		if name, ok := strings.CutPrefix(ptr, "/$defs/"); ok && !strings.Contains(name, "/") {
			name = unescaped(name)
			p.names[ptr], p.taken[name] = name, true
		}
	}
}

// besideRef is what a reference of draft-07 leaves in force beside it, and what
// other references may lead to.
var besideRef = []string{"$ref", "description", "title", "default", "$defs", "definitions"}

// pointer is the JSON pointer that a reference inside of a schema holds.
func pointer(ref string) (string, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok || fragment != "" && fragment[0] != '/' {
		return "", false
	}
	ptr, err := url.PathUnescape(fragment)
	return ptr, err == nil
}

func refTo(ptr string) string {
	u := url.URL{Fragment: ptr}
	return "#" + u.EscapedFragment()
}

func unescaped(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

func escaped(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}

// acyclic fails when v, which is inside of what the pointers lead to, refers to
// one of them: such a schema can't be written out.
func (p *projector) acyclic(v any, open []string) {
	m, ok := v.(map[string]any)
	if !ok || p.err != nil {
		return
	}
	if p.visit(); p.err != nil {
		return
	}
	if ref, ok := m["$ref"].(string); ok {
		ptr, _ := pointer(ref)
		switch {
		case slices.Contains(open, ptr) || ptr == "":
			p.fail("$ref", "", "it contains itself (%s), and %s takes no references", ref, p.d.Name)
			return
		case len(open) >= maxInPlace:
			p.fail("$ref", "", "more than %d of its references lead from one to the next", maxInPlace)
			return
		}
		target, _ := lookup(p.doc, ptr)
		p.acyclic(target, append(slices.Clip(open), ptr))
	}
	for _, c := range subschemas(m) {
		if c.keyword != "$defs" {
			p.acyclic(c.v, open)
		}
	}
}

// visit counts a schema.
func (p *projector) visit() {
	if p.size++; p.size > maxNodes {
		p.fail("size", "", "written out for %s it has more than %d subschemas", p.d.Name, maxNodes)
	}
}

// top projects the whole schema.
func (p *projector) top() (out map[string]any, remark string) {
	w := p.flatten(p.doc, "", true)
	if p.err != nil {
		return nil, ""
	}
	if k := typesOf(w.m); !w.never && k&kindObject == 0 {
		p.fail("type", "", "arguments are an object, and its type is %s", typeWords(w.m["type"]))
		return nil, ""
	}
	if w.m["type"] != "object" {
		w.m["type"] = "object"
		p.changed("type", "", "written as object")
	}
	out = w.rewrite(0)
	if w.never {
		p.fail("nothing", "", "no arguments can fit it")
	}
	return out, w.remark
}

// schema projects a schema below the top. some is false when nothing fits it.
func (p *projector) schema(v any, at string, depth int) (out any, some bool) {
	if p.visit(); p.err != nil {
		return map[string]any{}, true
	}
	if depth > maxInside {
		p.fail("depth", "", "it has more than %d schemas inside each other", maxInside)
		return map[string]any{}, true
	}
	if p.fit.fits(v, false) && v != false {
		eachRef(v, func(ptr string) { p.definition(ptr) })
		return v, true
	}
	if v == true || p.d.Anything != nil && anything(v) {
		return p.anything(), true
	}
	w := p.flatten(v, at, false)
	if w.never {
		return nil, false
	}
	m := w.rewrite(depth)
	return m, !w.never
}

// anything is the schema of any value.
func (p *projector) anything() any {
	if p.d.Anything != nil {
		return p.d.Anything
	}
	return map[string]any{}
}

// definition is the reference to what a pointer leads to.
func (p *projector) definition(ptr string) string {
	root, _ := p.doc.(map[string]any)
	if ptr == "" && root["type"] == "object" {
		return "#"
	}
	name, ok := p.names[ptr]
	if !ok {
		name = unescaped(ptr[strings.LastIndexByte(ptr, '/')+1:])
		if ptr == "" {
			name = "self"
		}
		for base, again := name, 2; p.taken[name]; again++ {
			name = base + "_" + strconv.Itoa(again)
		}
		p.names[ptr], p.taken[name] = name, true
	}
	if !p.needed[ptr] {
		p.needed[ptr] = true
		p.pending = append(p.pending, ptr)
	}
	return refTo("/$defs/" + escaped(name))
}

// definitions projects what is referred to. What nothing can fit is defined so.
func (p *projector) definitions(root map[string]any) {
	defs := map[string]any{}
	for i := 0; i < len(p.pending) && p.err == nil; i++ {
		v, _ := lookup(p.doc, p.pending[i])
		out, some := p.schema(v, p.names[p.pending[i]], 1)
		if !some {
			out = map[string]any{"not": map[string]any{}}
		}
		defs[p.names[p.pending[i]]] = out
	}
	if len(defs) > 0 {
		root["$defs"] = defs
	}
}

// check holds the projection against the dialect: what is shown to a provider
// is in its dialect or isn't shown.
func (p *projector) check(out map[string]any) {
	var targets []string
	defs, _ := out["$defs"].(map[string]any)
	for _, name := range sortedKeys(defs) {
		targets = append(targets, "/$defs/"+escaped(name))
	}
	switch f := newFitting(p.d, out, targets); {
	case p.nesting(out) > maxInside:
		p.fail("depth", "", "it has more than %d schemas inside each other", maxInside)
	case !f.fits(out, true) || len(f.bad) > 0:
		p.fail("form", "", "it can't be written in the form that %s takes", p.d.Name)
	case len(appendJSON(nil, out)) > maxSchemaBytes:
		p.fail("size", "", "written out for %s it has more than %d bytes", p.d.Name, maxSchemaBytes)
	}
}

// nesting is how deep schemas stand inside each other in v.
func (p *projector) nesting(v any) int {
	m, ok := v.(map[string]any)
	if !ok {
		return 0
	}
	deepest := 0
	for _, c := range subschemas(m) {
		deepest = max(deepest, p.nesting(c.v))
	}
	return deepest + 1
}

// flatten is v with everything taken in that holds at the same place and can't
// stay a schema of its own there.
func (p *projector) flatten(v any, at string, top bool) *work {
	w := &work{p: p, at: at, top: top}
	if p.visit(); p.err != nil {
		w.m = map[string]any{}
		return w
	}
	if p.inPlace++; p.inPlace > maxInPlace {
		p.fail("$ref", "", "it refers to itself")
	}
	defer func() { p.inPlace-- }()
	m, ok := v.(map[string]any)
	w.m = maps.Clone(m)
	if !ok {
		w.m, w.never = map[string]any{}, v == false
		return w
	}
	w.modern()
	if not, ok := w.m["not"]; ok && anything(not) {
		w.never = true
	}
	if ref, ok := w.m["$ref"].(string); ok {
		ptr, _ := pointer(ref)
		if p.d.refs() && !top {
			if now := p.definition(ptr); now != ref {
				w.m["$ref"] = now
				p.changed("$ref", at, "written as "+now)
			}
		} else {
			delete(w.m, "$ref")
			target, _ := lookup(p.doc, ptr)
			w.take(p.flatten(target, at, top))
			p.changed("$ref", at, "written out")
		}
	}
	if all, ok := w.m["allOf"].([]any); ok && !p.d.takes("allOf", top) {
		delete(w.m, "allOf")
		for _, part := range all {
			w.take(p.flatten(part, at, top))
		}
		p.changed("allOf", at, "merged")
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		forms, ok := w.m[keyword].([]any)
		if !ok || !top && p.d.takes("anyOf", false) || p.d.takes(keyword, top) {
			continue
		}
		delete(w.m, keyword)
		var parts []*work
		for _, form := range forms {
			parts = append(parts, p.flatten(form, at, top))
		}
		w.take(p.union(parts, at, top))
		p.changed(keyword, at, "merged")
	}
	return w
}
