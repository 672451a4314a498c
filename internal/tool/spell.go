package tool

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
)

// maxSpelled is how deep a value is looked at: one that holds itself is left to
// the encoder to refuse.
const maxSpelled = 1000

var (
	anyType     = reflect.TypeFor[any]()
	encodesJSON = reflect.TypeFor[json.Marshaler]()
	encodesText = reflect.TypeFor[encoding.TextMarshaler]()
)

// spelled gives a value that encodes like v, but for the floats that JSON has
// no numerals for: they become strings. What encodes itself is left as it is.
// Whatever holds no such float is the same value in the result.
func spelled(v reflect.Value, depth int) (reflect.Value, bool) {
	if !v.IsValid() || depth > maxSpelled {
		return v, false
	}
	if t := v.Type(); t.Implements(encodesJSON) || t.Implements(encodesText) {
		return v, false
	} else if p := reflect.PointerTo(t); v.CanAddr() && (p.Implements(encodesJSON) || p.Implements(encodesText)) {
		return v, false
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		switch f := v.Float(); {
		case math.IsNaN(f):
			return reflect.ValueOf("NaN"), true
		case math.IsInf(f, 1):
			return reflect.ValueOf("Infinity"), true
		case math.IsInf(f, -1):
			return reflect.ValueOf("-Infinity"), true
		}
	case reflect.Interface, reflect.Pointer:
		if inner, changed := spelled(v.Elem(), depth+1); changed {
			return inner, true
		}
	case reflect.Slice, reflect.Array:
		return spelledList(v, depth)
	case reflect.Map:
		return spelledMap(v, depth)
	case reflect.Struct:
		return spelledStruct(v, depth, false)
	}
	return v, false
}

func spelledList(v reflect.Value, depth int) (reflect.Value, bool) {
	list, changed := make([]any, v.Len()), false
	for i := range list {
		// An address lets a method of the pointer encode what it points to.
		item, c := spelled(v.Index(i), depth+1)
		changed = changed || c
		if !c && item.CanAddr() && item.Kind() != reflect.Interface {
			item = item.Addr()
		}
		list[i] = item.Interface()
	}
	if !changed {
		return v, false
	}
	return reflect.ValueOf(list), true
}

func spelledMap(v reflect.Value, depth int) (reflect.Value, bool) {
	m, changed := reflect.MakeMap(reflect.MapOf(v.Type().Key(), anyType)), false
	for k, item := range v.Seq2() {
		item, c := spelled(item, depth+1)
		changed = changed || c
		m.SetMapIndex(k, item)
	}
	if !changed {
		return v, false
	}
	return m, true
}

// spelledStruct makes a struct of another type: its fields are those of v, with
// their tags, but for the types of those that change. The embedded structs
// become plain ones, because a made type can't take over methods; always asks
// for that also where nothing changes.
func spelledStruct(v reflect.Value, depth int, always bool) (reflect.Value, bool) {
	var fields []reflect.StructField
	var values []reflect.Value
	changed := always
	for i := range v.NumField() {
		f, item := v.Type().Field(i), v.Field(i)
		tag := f.Tag.Get("json")
		if f.Anonymous && (tag == "" || tag[0] == ',') {
			if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
				if item.IsNil() {
					continue // it adds no fields
				}
				item = item.Elem()
			}
			if item.Kind() == reflect.Struct {
				_, c := spelledStruct(item, depth+1, false)
				changed = changed || c
				item, _ = spelledStruct(item, depth+1, true)
				fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Embedded%d_%d", depth, i), Type: item.Type(), Tag: f.Tag, Anonymous: true})
				values = append(values, item)
				continue
			}
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		t := f.Type
		item, c := spelled(item, depth+1)
		if c {
			t, changed = anyType, true
		}
		fields = append(fields, reflect.StructField{Name: f.Name, Type: t, Tag: f.Tag})
		values = append(values, item)
	}
	if !changed {
		return v, false
	}
	made := reflect.New(reflect.StructOf(fields)).Elem()
	for i, item := range values {
		made.Field(i).Set(item)
	}
	return made, true
}
