package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/goclaw/goclaw/internal/lib/source"
)

// Schema is a JSON schema (draft 2020-12) of config.yaml for editors, with the
// meaning and the default of each key. Equal builds give equal bytes. Null is
// allowed everywhere: it means not written.
func Schema() []byte {
	s := schemaWriter{defs: make(map[string]object)}
	root := s.object(reflect.TypeFor[Config]())
	doc := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "GoClaw configuration"},
		{"description", "The file config.yaml in GoClaw's home folder."},
	}
	doc = append(doc, root...)
	var defs object
	for _, name := range s.order {
		defs = append(defs, member{name, s.defs[name]})
	}
	doc = append(doc, member{"$defs", defs})
	raw, err := json.Marshal(doc)
	if err != nil {
		panic("config: the schema holds plain values only: " + err.Error())
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		panic("config: indent the schema: " + err.Error())
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// object is a JSON object whose keys keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, part := range []any{m.name, m.value} {
			if j > 0 {
				b.WriteByte(':')
			}
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(part); err != nil {
				return nil, err
			}
			b.Truncate(b.Len() - 1) // the newline that Encode adds
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// schemaWriter collects the struct types below $defs, each once.
type schemaWriter struct {
	defs  map[string]object
	order []string
}

func (s *schemaWriter) object(t reflect.Type) object {
	v := reflect.New(t).Elem()
	reset(v)
	var props object
	var required []string
	m := metaOf(t)
	for i := range m.fields {
		f := &m.fields[i]
		o := object{{"description", f.tag.Get("doc")}}
		o = append(o, s.value(f.typ, f)...)
		if def, ok := defaultOf(v.FieldByIndex(f.index), f); ok && !f.is("required") {
			o = append(o, member{"default", def})
		}
		props = append(props, member{f.name, o})
		if f.is("required") {
			required = append(required, f.name)
		}
	}
	out := object{{"type", []string{"object", "null"}}}
	if len(props) > 0 {
		out = append(out, member{"properties", props})
	}
	if len(required) > 0 {
		out = append(out, member{"required", required})
	}
	return append(out, member{"additionalProperties", false})
}

// ref names a struct type under $defs.
func (s *schemaWriter) ref(t reflect.Type) object {
	name := t.Name()
	if _, ok := s.defs[name]; !ok {
		s.defs[name] = nil
		s.order = append(s.order, name)
		s.defs[name] = s.object(t)
	}
	return object{{"$ref", "#/$defs/" + name}}
}

func (s *schemaWriter) value(t reflect.Type, f *field) object {
	if allowed, ok := f.enum(); ok {
		list := []any{}
		for _, a := range allowed {
			list = append(list, a)
		}
		return object{{"enum", append(list, nil)}}
	}
	switch shapeOf(t) {
	case shapePointer:
		return s.value(t.Elem(), f)
	case shapeStruct:
		return s.ref(t)
	case shapeList:
		items := s.item(t.Elem(), f)
		if shapeOf(t.Elem()) == shapeStruct {
			items = append(items, member{"type", "object"})
		} else {
			items = append(items, member{"not", object{{"type", "null"}}})
		}
		return object{{"type", []string{"array", "null"}}, {"items", items}}
	case shapeMap:
		return object{{"type", []string{"object", "null"}}, {"additionalProperties", s.item(t.Elem(), f)}}
	case shapeAny:
		return object{}
	case shapeDuration:
		return object{{"type", []string{"string", "number", "null"}}, {"minimum", 0}}
	case shapeBool:
		return object{{"type", []string{"boolean", "null"}}}
	case shapeInt:
		return append(object{{"type", []string{"integer", "null"}}}, bounds(f)...)
	case shapeFloat:
		return append(object{{"type", []string{"number", "null"}}}, bounds(f)...)
	}
	if f.is("loose") {
		return object{{"type", []string{"string", "number", "boolean", "null"}}}
	}
	return object{{"type", []string{"string", "null"}}}
}

// item is the schema of what a list or a map holds.
func (s *schemaWriter) item(t reflect.Type, f *field) object {
	plain := *f
	plain.tag = reflect.StructTag(fmt.Sprintf(`is:%q`, f.tag.Get("is")))
	return s.value(t, &plain)
}

func bounds(f *field) object {
	var out object
	lo, hi, hasLo, hasHi := f.bounds()
	if hasLo {
		out = append(out, member{"minimum", lo})
	}
	if hasHi {
		out = append(out, member{"maximum", hi})
	}
	return out
}

// defaultOf gives a default as JSON has it. Blocks and named entries have
// none of their own: their keys do.
func defaultOf(v reflect.Value, f *field) (any, bool) {
	switch shapeOf(v.Type()) {
	case shapePointer:
		return nil, v.IsNil()
	case shapeStruct:
		return nil, false
	case shapeMap:
		return object{}, v.Len() == 0
	case shapeList:
		switch {
		case v.Len() > 0:
			return v.Interface(), true
		case f.is("nullable"):
			return nil, true
		}
		return []any{}, true
	case shapeText:
		return v.Interface().(source.Text).Value, true
	case shapeDuration:
		return FormatDuration(time.Duration(v.Int())), true
	}
	return v.Interface(), true
}
