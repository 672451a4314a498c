package jsonschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Canonical gives the one form of a JSON text that bytes can be compared by:
// keys sorted, no white space, only the escapes that JSON demands, numbers as
// they were written. The error is a [*SyntaxError].
func Canonical(raw []byte) (json.RawMessage, error) {
	v, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	return appendJSON(make([]byte, 0, len(raw)), v), nil
}

// appendJSON appends the canonical form of a value that Decode could have made.
func appendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		return append(dst, v...)
	case string:
		return appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, item)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, key := range sortedKeys(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, key)
			dst = append(dst, ':')
			dst = appendJSON(dst, v[key])
		}
		return append(dst, '}')
	}
	panic(fmt.Sprintf("jsonschema: %T is no decoded JSON value", v))
}

// sortedKeys is slices.Sorted(maps.Keys(m)) with a single allocation.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// appendString leaves everything readable: unlike encoding/json it does not
// escape <, > and &, which would only cost tokens.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// maxShown is how much of a value a message repeats, in characters.
const maxShown = 60

// quote shows a string in a message: quoted, on one line, at most maxShown
// characters of it.
func quote(s string) string {
	if len(s) > maxShown && utf8.RuneCountInString(s) > maxShown {
		cut := 0
		for range maxShown - 1 {
			_, n := utf8.DecodeRuneInString(s[cut:])
			cut += n
		}
		s = s[:cut] + "…"
	}
	return strconv.Quote(s)
}
