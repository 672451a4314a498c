package jsonschema

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// A place is where in the document the compiler is.
type place struct {
	ptr  string // JSON pointer
	base string // URI that references are relative to, without fragment
	old  bool   // draft-07 or older
}

func (p place) child(tokens ...string) place {
	for _, t := range tokens {
		p.ptr += "/" + strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1")
	}
	return p
}

func (p place) errorf(format string, args ...any) error {
	return fmt.Errorf("at %q: "+format, append([]any{"#" + p.ptr}, args...)...)
}

// A reference waits until the whole document is known.
type reference struct {
	from    *node
	to      string
	at      place
	keyword string
}

// dynamic reports whether what is referred to can depend on who refers.
func (r reference) dynamic() bool { return r.keyword != "$ref" }

// A link is a reference that was resolved: what the keyword at a place refers
// to, both as JSON pointers.
type link struct {
	ptr, keyword, target string
	old                  bool // draft-07: it hides what stands beside it
}

// identify notes under which names the object can be referred to.
func (o *object) identify() {
	if s, ok := o.v["$schema"].(string); ok {
		for _, old := range [...]string{"draft-03", "draft-04", "draft-06", "draft-07"} {
			o.at.old = o.at.old || strings.Contains(s, old)
		}
	}
	if !o.c.refs {
		return
	}
	if o.c.ids == nil {
		o.c.ids, o.c.anchors = map[string]string{"": ""}, map[string]string{}
	}
	if _, ref := o.v["$ref"]; ref && o.at.old {
		return
	}
	if id, ok := o.v["$id"].(string); ok {
		base, anchor, _ := strings.Cut(join(o.at.base, id), "#")
		if base != o.at.base || o.at.ptr == "" {
			o.at.base = base
			o.c.ids[base] = o.at.ptr
		}
		if anchor != "" {
			o.c.anchors[base+"#"+anchor] = o.at.ptr
		}
	}
	for _, keyword := range [...]string{"$anchor", "$dynamicAnchor"} {
		if anchor, ok := o.v[keyword].(string); ok {
			o.c.anchors[o.at.base+"#"+anchor] = o.at.ptr
		}
	}
}

// join resolves a reference against a base; what is no URI stays as it is.
func join(base, ref string) string {
	b, err := url.Parse(base)
	if err != nil {
		return ref
	}
	r, err := url.Parse(ref)
	if err != nil {
		return ref
	}
	if base == "" {
		return r.String()
	}
	if b.Opaque != "" && !r.IsAbs() { // urn:…#fragment
		b.Fragment, b.RawFragment = r.Fragment, r.RawFragment
		return b.String()
	}
	return b.ResolveReference(r).String()
}

func (o *object) refs() error {
	for _, keyword := range [...]string{"$ref", "$dynamicRef", "$recursiveRef"} {
		v, ok := o.v[keyword]
		if !ok {
			continue
		}
		to, ok := v.(string)
		if !ok {
			return o.wrong(keyword, "a string")
		}
		if keyword == "$ref" && o.at.old {
			o.hidden = true
			o.c.pending = append(o.c.pending, reference{from: o.n, to: to, at: o.at, keyword: keyword})
			break
		}
		from := o.c.node()
		o.n.all = append(o.n.all, from)
		o.c.pending = append(o.c.pending, reference{from, to, o.at, keyword})
	}
	// Definitions are compiled where they stand, so that their anchors are
	// known and a broken one is found although nothing refers to it yet.
	for _, keyword := range [...]string{"$defs", "definitions"} {
		if _, err := o.table(keyword); err != nil {
			return err
		}
	}
	return nil
}

// resolve connects the references. Doing so can meet new subschemas, at places
// that no keyword leads to, with new references.
func (c *compiler) resolve() error {
	for len(c.pending) > 0 {
		r := c.pending[0]
		c.pending = c.pending[1:]
		if r.dynamic() && c.embeds() {
			return r.at.errorf("a dynamic reference in a schema that embeds others is not supported")
		}
		base, fragment, _ := strings.Cut(join(r.at.base, r.to), "#")
		root, ok := c.ids[base]
		if !ok {
			return r.at.errorf("%s refers to something outside of this schema, which is never loaded", quote(r.to))
		}
		if plain, err := url.PathUnescape(fragment); err == nil {
			fragment = plain
		}
		at := place{ptr: root, base: base, old: r.at.old}
		if fragment != "" && fragment[0] != '/' {
			if at.ptr, ok = c.anchors[base+"#"+fragment]; !ok {
				return r.at.errorf("%s refers to an anchor that isn't there", quote(r.to))
			}
		} else {
			at.ptr += fragment
		}
		v, ok := lookup(c.doc, at.ptr)
		if !ok {
			return r.at.errorf("%s refers to something that isn't there", quote(r.to))
		}
		var err error
		if r.from.ref, err = c.compile(v, at); err != nil {
			return err
		}
		c.links = append(c.links, link{ptr: r.at.ptr, keyword: r.keyword, target: at.ptr, old: r.at.old})
	}
	return nil
}

// embeds reports whether an "$id" below the root makes a schema of its own.
func (c *compiler) embeds() bool {
	for _, ptr := range c.ids {
		if ptr != "" {
			return true
		}
	}
	return false
}

// lookup follows a JSON pointer (RFC 6901).
func lookup(v any, ptr string) (any, bool) {
	for ptr != "" {
		token := ptr[1:]
		if i := strings.IndexByte(token, '/'); i >= 0 {
			token, ptr = token[:i], token[i:]
		} else {
			ptr = ""
		}
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		var ok bool
		switch parent := v.(type) {
		case map[string]any:
			v, ok = parent[token]
		case []any:
			i, err := strconv.Atoi(token)
			if ok = err == nil && i >= 0 && i < len(parent); ok {
				v = parent[i]
			}
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}
