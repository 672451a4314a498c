package jsonschema

import (
	"encoding/json"
	"fmt"
)

// Meaning gives one text for all texts of JSON that mean the same, whatever the
// order of keys, the white space, the escapes and the spelling of numbers, of
// which no digit is rounded away; those that mean something else have another.
// Arguments of calls are compared by it, in a cache, by a permission, and when a
// model repeats itself. It is to be compared and kept, not to be read: numbers
// stand in it as numerator and denominator. The error is a [*SyntaxError].
func Meaning(raw []byte) ([]byte, error) {
	v, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(spelled(v)) // sorts keys
	if err != nil {
		return nil, fmt.Errorf("find what JSON means: %w", err)
	}
	return b, nil
}

// spelled gives each number in v, which it changes, its one spelling: a fraction
// in lowest terms.
func spelled(v any) any {
	switch v := v.(type) {
	case json.Number:
		if r := rat(string(v)); r != nil {
			// All numbers are written so, numerator before denominator.
			return json.Number(r.Num().String() + "." + r.Denom().String())
		}
	case []any:
		for i := range v {
			v[i] = spelled(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = spelled(v[k])
		}
	}
	return v
}
