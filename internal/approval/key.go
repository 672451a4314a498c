package approval

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
)

// Key stands for arguments: two texts of JSON have the same one exactly when
// they mean the same, whatever the order of keys, the white space, the escapes
// and the spelling of numbers.
type Key [sha256.Size]byte

// KeyOf is the key of arguments. It fails when they are no JSON.
func KeyOf(args json.RawMessage) (Key, error) {
	v, err := jsonschema.Decode(args)
	if err != nil {
		return Key{}, fmt.Errorf("find the key of arguments: %w", err)
	}
	b, err := json.Marshal(spelled(v)) // sorts keys
	if err != nil {
		return Key{}, fmt.Errorf("find the key of arguments: %w", err)
	}
	return sha256.Sum256(b), nil
}

// spelled gives each number in v its one spelling: as a fraction in lowest
// terms, so that no digit is rounded away.
func spelled(v any) any {
	switch v := v.(type) {
	case json.Number:
		if r, ok := new(big.Rat).SetString(string(v)); ok {
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
