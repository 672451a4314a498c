package config

import (
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/lib/source"
)

// The tags of the struct types, read by everything that walks them:
//
//	yaml    name of the key; "-" is no key
//	doc     meaning, half a sentence
//	enum    allowed texts, separated by |; a leading | allows the empty text
//	min max bounds of a number
//	format  url, hostport
//	is      secret    printed masked (values of a map as well)
//	        id        names the entry in a list
//	        required  must be written in each entry
//	        loose     numbers and booleans are taken as text
//	        positive  a duration above zero
//	        late      decoded after its siblings
//	        overlay   starts from global settings, not from built-in defaults
//	        nullable  a list that means something else absent than empty
//	        own       shown only as far as it is written
//	        noenv     no GOCLAW_ variable sets it

// shape is what the decoder does with a type.
type shape int

const (
	shapeString shape = iota
	shapeText
	shapeDuration
	shapeBool
	shapeInt
	shapeFloat
	shapePointer
	shapeList
	shapeMap
	shapeStruct
	shapeAny
)

var (
	textType     = reflect.TypeFor[source.Text]()
	durationType = reflect.TypeFor[time.Duration]()
	posType      = reflect.TypeFor[source.Pos]()
)

func shapeOf(t reflect.Type) shape {
	switch t {
	case textType:
		return shapeText
	case durationType:
		return shapeDuration
	}
	switch t.Kind() {
	case reflect.String:
		return shapeString
	case reflect.Bool:
		return shapeBool
	case reflect.Int, reflect.Int64:
		return shapeInt
	case reflect.Float64:
		return shapeFloat
	case reflect.Pointer:
		return shapePointer
	case reflect.Slice:
		return shapeList
	case reflect.Map:
		return shapeMap
	case reflect.Struct:
		return shapeStruct
	case reflect.Interface:
		return shapeAny
	}
	panic("config: no key may have the type " + t.String())
}

// meta describes a struct type.
type meta struct {
	fields []field
	// pos is the index of a field Pos that takes the place of the entry, or of the key.
	pos []int
}

// field describes one key. Tags other than the name are read when they are
// needed, because decoding a small file needs few of them.
type field struct {
	name  string
	index []int
	typ   reflect.Type
	tag   reflect.StructTag
	late  bool
}

func (f *field) is(word string) bool {
	for w := range strings.SplitSeq(f.tag.Get("is"), ",") {
		if w == word {
			return true
		}
	}
	return false
}

func (f *field) enum() ([]string, bool) {
	s, ok := f.tag.Lookup("enum")
	if !ok {
		return nil, false
	}
	return strings.Split(s, "|"), true
}

var metas sync.Map // reflect.Type to *meta

// metaOf describes the struct type t; it is made once for each type.
func metaOf(t reflect.Type) *meta {
	if m, ok := metas.Load(t); ok {
		return m.(*meta)
	}
	m := new(meta)
	m.add(t, nil)
	got, _ := metas.LoadOrStore(t, m)
	return got.(*meta)
}

func (m *meta) add(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		index := append(prefix[:len(prefix):len(prefix)], i)
		if sf.Anonymous {
			m.add(sf.Type, index)
			continue
		}
		switch name := sf.Tag.Get("yaml"); {
		case name != "-" && name != "":
			f := field{name: name, index: index, typ: sf.Type, tag: sf.Tag}
			f.late = f.is("late")
			m.fields = append(m.fields, f)
		case sf.Name == "Pos" && sf.Type == posType:
			m.pos = index
		}
	}
}

func (m *meta) find(name string) *field {
	for i := range m.fields {
		if m.fields[i].name == name {
			return &m.fields[i]
		}
	}
	return nil
}

// id is the key that names an entry of this type in a list, nil when entries
// have no names.
func (m *meta) id() *field {
	for i := range m.fields {
		if m.fields[i].is("id") {
			return &m.fields[i]
		}
	}
	return nil
}

func (m *meta) names() []string {
	out := make([]string, len(m.fields))
	for i := range m.fields {
		out[i] = m.fields[i].name
	}
	return out
}

// defaulter is a type whose default is not its zero value.
type defaulter interface{ setDefaults() }

// reset makes v, which must be addressable, the built-in default of its type.
func reset(v reflect.Value) {
	v.SetZero()
	if d, ok := v.Addr().Interface().(defaulter); ok {
		d.setDefaults()
	}
}

var schemaPaths = sync.OnceValue(func() []string {
	var out []string
	walkSchema(reflect.TypeFor[Config](), "", func(path string, _ *field) { out = append(out, path) })
	return out
})

// walkSchema calls f for every key below the struct type t, parents first, in
// the order of the fields. Entries of lists are written [], those of maps *.
func walkSchema(t reflect.Type, prefix string, f func(path string, fld *field)) {
	m := metaOf(t)
	for i := range m.fields {
		fld := &m.fields[i]
		path := fld.name
		if prefix != "" {
			path = prefix + "." + path
		}
		f(path, fld)
		if sub, path := entryOf(fld.typ, path); shapeOf(sub) == shapeStruct {
			walkSchema(sub, path, f)
		}
	}
}

// entryOf goes through pointers, lists and maps to what they hold in the end,
// whose path it makes of path.
func entryOf(t reflect.Type, path string) (reflect.Type, string) {
	for {
		switch shapeOf(t) {
		case shapePointer:
			t = t.Elem()
		case shapeList:
			t, path = t.Elem(), path+"[]"
		case shapeMap:
			t, path = t.Elem(), path+".*"
		default:
			return t, path
		}
	}
}
