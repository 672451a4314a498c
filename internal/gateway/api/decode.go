package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/lib/nearest"
)

// maxDepth is how deep objects and arrays of a body may stand in each other.
const maxDepth = 100

// decode reads the body as the JSON of one value into v, a pointer. What v
// doesn't know, what stands twice, and what stands behind the value is an
// error: a client whose word is passed over believes that it counted. The error
// is a [Problem] that names the place.
func decode(r *http.Request, v any) error { return decodeBody(r, v, true) }

// decodeKnown is decode that passes over keys which v doesn't know: where the
// form of the body is another vendor's, who adds to it.
func decodeKnown(r *http.Request, v any) error { return decodeBody(r, v, false) }

func decodeBody(r *http.Request, v any, strict bool) error {
	if err := isJSON(r.Header); err != nil {
		return err
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		if _, internal := problemOf(err); !internal {
			return err
		}
		return badRequest("the body can't be read: %v", err)
	}
	if p := checkJSON(b, reflect.TypeOf(v).Elem(), strict); p != nil {
		return p
	}
	if err := json.Unmarshal(b, v); err != nil {
		return badRequest("%s", fault(err))
	}
	return nil
}

// isJSON holds the declared type to what is read. A page can make a browser
// send some other types without asking, and no type at all.
func isJSON(h http.Header) *Problem {
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return problem(http.StatusUnsupportedMediaType, "bad_request", "Content-Encoding %q is not read; send the body as it is", enc)
	}
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return problem(http.StatusUnsupportedMediaType, "bad_request", "send the body as JSON, with the header Content-Type: application/json")
	}
	return nil
}

// checkJSON looks at what [json.Unmarshal] would pass over.
func checkJSON(b []byte, t reflect.Type, strict bool) *Problem {
	if len(bytes.TrimSpace(b)) == 0 {
		return badRequest("the body is empty; send JSON")
	}
	if !utf8.Valid(b) {
		return badRequest("the body is not UTF-8")
	}
	c := checker{dec: json.NewDecoder(bytes.NewReader(b)), strict: strict, fields: map[reflect.Type]map[string]reflect.Type{}}
	c.dec.UseNumber()
	if p := c.value(t, "", 0); p != nil {
		return p
	}
	if _, err := c.dec.Token(); err != io.EOF {
		return badRequest("something stands behind the JSON of the body, at byte %d", c.dec.InputOffset())
	}
	return nil
}

// checker walks over JSON beside the type that it is read into.
type checker struct {
	dec    *json.Decoder
	strict bool                                     // a key that the type doesn't know is an error
	fields map[reflect.Type]map[string]reflect.Type // of the structs that were met
}

// value checks the next value. t is nil where everything goes.
func (c *checker) value(t reflect.Type, at string, depth int) *Problem {
	tok, err := c.dec.Token()
	if err != nil {
		return badRequest("%s", fault(err))
	}
	if depth == 0 && tok == nil {
		return badRequest("the body is null; send an object")
	}
	open, ok := tok.(json.Delim)
	if !ok {
		return nil
	}
	if depth == maxDepth {
		return badRequest("%s: more than %d objects and arrays stand in each other", place(at), maxDepth)
	}
	t = shape(t)
	if open == '{' {
		if p := c.members(t, at, depth); p != nil {
			return p
		}
	} else {
		var elem reflect.Type
		if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
			elem = t.Elem()
		}
		for i := 0; c.dec.More(); i++ {
			if p := c.value(elem, at+"["+strconv.Itoa(i)+"]", depth+1); p != nil {
				return p
			}
		}
	}
	if _, err := c.dec.Token(); err != nil { // what closes it
		return badRequest("%s", fault(err))
	}
	return nil
}

// members checks an object up to what closes it.
func (c *checker) members(t reflect.Type, at string, depth int) *Problem {
	var fields map[string]reflect.Type
	var elem reflect.Type
	if t != nil {
		switch t.Kind() {
		case reflect.Struct:
			if fields = c.fields[t]; fields == nil {
				fields = map[string]reflect.Type{}
				fieldsOf(t, fields)
				c.fields[t] = fields
			}
		case reflect.Map:
			elem = t.Elem()
		}
	}
	seen := map[string]bool{}
	for c.dec.More() {
		tok, err := c.dec.Token()
		if err != nil {
			return badRequest("%s", fault(err))
		}
		key, ok := tok.(string)
		if !ok {
			return badRequest("%s: a key must be a string", place(at))
		}
		where := key
		if at != "" {
			where = at + "." + key
		}
		if seen[key] {
			return badRequest("%s: it stands there twice", place(where))
		}
		seen[key] = true
		next := elem
		if fields != nil {
			known := false
			if next, known = fields[key]; !known && c.strict {
				return unknownKey(where, key, fields)
			} else if !known && foldsTo(key, fields) {
				// The standard library would take it for the other.
				return unknownKey(where, key, fields)
			}
		}
		if p := c.value(next, where, depth+1); p != nil {
			return p
		}
	}
	return nil
}

func unknownKey(where, key string, fields map[string]reflect.Type) *Problem {
	known := make([]string, 0, len(fields))
	for name := range fields {
		known = append(known, name)
	}
	if near := nearest.Names(key, known, 1); len(near) > 0 {
		return badRequest("%s: there is no such key; did you mean %s?", place(where), near[0])
	}
	slices.Sort(known)
	return badRequest("%s: there is no such key; known are %s", place(where), strings.Join(known, ", "))
}

func foldsTo(key string, fields map[string]reflect.Type) bool {
	for name := range fields {
		if strings.EqualFold(name, key) {
			return true
		}
	}
	return false
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// shape is the type whose keys count, nil where the type reads its JSON itself.
func shape(t reflect.Type) reflect.Type {
	for t != nil {
		if t.Kind() == reflect.Interface || t.Implements(unmarshaler) || reflect.PointerTo(t).Implements(unmarshaler) {
			return nil
		}
		if t.Kind() != reflect.Pointer {
			return t
		}
		t = t.Elem()
	}
	return nil
}

// fieldsOf lists the keys of a struct, with those of embedded ones.
func fieldsOf(t reflect.Type, into map[string]reflect.Type) {
	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Tag.Get("json") == "-":
		case f.Anonymous && tag == "":
			e := f.Type
			if e.Kind() == reflect.Pointer {
				e = e.Elem()
			}
			if e.Kind() == reflect.Struct {
				fieldsOf(e, into)
			}
		case !f.IsExported():
		case tag == "":
			into[f.Name] = f.Type
		default:
			into[tag] = f.Type
		}
	}
}

// fault says what is wrong with a body in words for who wrote it.
func fault(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the body is not valid JSON: it ends too early"
	case errors.As(err, &syntax):
		return fmt.Sprintf("the body is not valid JSON: %v, at byte %d", syntax, syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Sprintf("%s: expected %s, found %s", place(kind.Field), kindName(kind.Type), kind.Value)
	}
	return fmt.Sprintf("the body can't be used: %v", err)
}

// place is a path into the body, short enough for a message.
func place(at string) string {
	if at == "" {
		return "the body"
	}
	if len(at) > 200 {
		at = "…" + strings.ToValidUTF8(at[len(at)-200:], "")
	}
	return at
}

// kindName is the JSON that a type is read from.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return kindName(t.Elem())
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}
