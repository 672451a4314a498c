package approval

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
)

// Key stands for arguments: two texts of JSON have the same one exactly when
// they mean the same (see [jsonschema.Meaning]).
type Key [sha256.Size]byte

// KeyOf is the key of arguments. It fails when they are no JSON.
func KeyOf(args json.RawMessage) (Key, error) {
	b, err := jsonschema.Meaning(args)
	if err != nil {
		return Key{}, fmt.Errorf("find the key of arguments: %w", err)
	}
	return sha256.Sum256(b), nil
}
