package jsonschema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// For gives the schema of a tool's input: an object with one property for each
// exported field of the struct T, in canonical form (see [Canonical]) and so
// the same bytes in every process.
//
// A field is described by its tags:
//
//	json:"name,omitempty"      name; omitempty or omitzero makes it optional, as does a pointer
//	jsonschema:"what it is"    the description, for a model
//	enum:"text,lines"          the only values allowed, comma separated (strings and numbers)
//	default:"20"               the value that the tool assumes; it makes the field optional
//	min:"1" max:"100"          bounds of a number, or of the length of a string, slice or map
//
// Allowed are strings, booleans, integers, floats, slices, arrays, maps with
// string keys, nested structs (embedded ones are flattened as encoding/json
// does), pointers to these, json.RawMessage and any (both: any value), and
// types that unmarshal from text (a string). Anything else, a recursive type,
// two fields of one name and a tag that doesn't fit are errors that name the
// field. Unknown fields are not allowed by the schema.
func For[T any]() (json.RawMessage, error) {
	return forType(reflect.TypeFor[T]())
}

// forType is [For] for a type known at run time only.
func forType(t reflect.Type) (json.RawMessage, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("infer schema of %s: the input of a tool is a struct", t)
	}
	schema, err := infer(t, nil)
	if err != nil {
		return nil, fmt.Errorf("infer schema of %s: %w", t, err)
	}
	return appendJSON(make([]byte, 0, 512), schema), nil
}

var (
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonType = reflect.TypeFor[json.Unmarshaler]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

// infer builds the schema of a type; open holds the structs that it is inside.
func infer(t reflect.Type, open []reflect.Type) (map[string]any, error) {
	if t == rawType {
		return map[string]any{}, nil
	}
	if t.Kind() != reflect.Pointer {
		switch p := reflect.PointerTo(t); {
		case p.Implements(jsonType):
			return nil, fmt.Errorf("%s unmarshals itself, its schema is not known", t)
		case p.Implements(textType):
			return map[string]any{"type": "string"}, nil
		}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}, nil
	case reflect.Bool:
		return map[string]any{"type": "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": json.Number("0")}, nil
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}, nil
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return map[string]any{}, nil
		}
	case reflect.Pointer:
		return infer(t.Elem(), open)
	case reflect.Slice, reflect.Array:
		return inferList(t, open)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("%s: keys of JSON objects are strings", t)
		}
		elem, err := infer(t.Elem(), open)
		if err != nil {
			return nil, err
		}
		return map[string]any{"type": "object", "additionalProperties": elem}, nil
	case reflect.Struct:
		if slices.Contains(open, t) {
			return nil, fmt.Errorf("%s contains itself", t)
		}
		return inferStruct(t, append(slices.Clip(open), t))
	}
	return nil, fmt.Errorf("%s has no JSON form that a tool may take", t)
}

func inferList(t reflect.Type, open []reflect.Type) (map[string]any, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return map[string]any{"type": "string", "contentEncoding": "base64"}, nil
	}
	elem, err := infer(t.Elem(), open)
	if err != nil {
		return nil, err
	}
	list := map[string]any{"type": "array", "items": elem}
	if t.Kind() == reflect.Array {
		n := json.Number(strconv.Itoa(t.Len()))
		list["minItems"], list["maxItems"] = n, n
	}
	return list, nil
}

func inferStruct(t reflect.Type, open []reflect.Type) (map[string]any, error) {
	props := map[string]any{}
	var required []any
	var add func(t reflect.Type, open []reflect.Type) error
	add = func(t reflect.Type, open []reflect.Type) error {
		for i := range t.NumField() {
			f := t.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Tag.Get("json") == "-" || !f.IsExported() && !f.Anonymous {
				continue
			}
			if inner := deref(f.Type); f.Anonymous && name == "" && inner.Kind() == reflect.Struct {
				if slices.Contains(open, inner) {
					return fmt.Errorf("%s contains itself", inner)
				}
				if err := add(inner, append(slices.Clip(open), inner)); err != nil {
					return err
				}
				continue
			}
			if !f.IsExported() {
				continue
			}
			if name == "" {
				name = f.Name
			}
			if _, twice := props[name]; twice {
				return fmt.Errorf("field %s: the name %q is taken", f.Name, name)
			}
			prop, err := inferField(f, open)
			if err != nil {
				return fmt.Errorf("field %s: %w", f.Name, err)
			}
			props[name] = prop
			_, defaulted := f.Tag.Lookup("default")
			if !defaulted && f.Type.Kind() != reflect.Pointer &&
				!slices.ContainsFunc(strings.Split(options, ","), func(o string) bool { return o == "omitempty" || o == "omitzero" }) {
				required = append(required, name)
			}
		}
		return nil
	}
	if err := add(t, open); err != nil {
		return nil, err
	}
	schema := map[string]any{"type": "object", "properties": props, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema, nil
}

// inferField adds to the schema of the field's type what its tags say.
func inferField(f reflect.StructField, open []reflect.Type) (map[string]any, error) {
	prop, err := infer(f.Type, open)
	if err != nil {
		return nil, err
	}
	if text := f.Tag.Get("jsonschema"); text != "" {
		prop["description"] = text
	}
	if text, ok := f.Tag.Lookup("enum"); ok {
		// On a slice the values are those of its items.
		of := prop
		if items, ok := prop["items"].(map[string]any); ok {
			of = items
		}
		var values []any
		for _, item := range strings.Split(text, ",") {
			v, err := tagValue(of, item)
			if err != nil {
				return nil, fmt.Errorf("tag enum: %w", err)
			}
			values = append(values, v)
		}
		of["enum"] = values
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		if prop["default"], err = tagValue(prop, text); err != nil {
			return nil, fmt.Errorf("tag default: %w", err)
		}
	}
	for _, bound := range [...]string{"min", "max"} {
		text, ok := f.Tag.Lookup(bound)
		if !ok {
			continue
		}
		keyword, whole := map[any]string{
			"integer": "imum", "number": "imum", "string": "Length", "array": "Items", "object": "Properties",
		}[prop["type"]], prop["type"] != "number"
		if keyword == "" || !isNumber(text) || whole && strings.ContainsAny(text, ".eE") {
			return nil, fmt.Errorf("tag %s: %q is no bound of a value of type %v", bound, text, prop["type"])
		}
		prop[bound+keyword] = json.Number(text)
	}
	return prop, nil
}

// tagValue reads what a tag says as a value of the type that prop describes.
func tagValue(prop map[string]any, text string) (any, error) {
	switch prop["type"] {
	case "string":
		return text, nil
	case "boolean":
		if text == "true" || text == "false" {
			return text == "true", nil
		}
	case "integer", "number":
		if isNumber(text) && (prop["type"] == "number" || !strings.ContainsAny(text, ".eE")) {
			return json.Number(text), nil
		}
	}
	return nil, fmt.Errorf("%q is no value of type %v", text, prop["type"])
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
