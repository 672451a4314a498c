package surface

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
)

// members sees what encoding/json sees.
func TestMembers(t *testing.T) {
	t.Parallel()
	value := rapid.SampledFrom([]string{
		`1`, `-1.5e3`, `true`, `null`, `""`, `"a\"}\\"`, `"{[,"`, `[]`, `{}`, `[1,[2,{"a":"]"}]]`, `{"a":{"b":"}"},"c":[]}`,
	})
	key := rapid.SampledFrom([]string{"type", "anyOf", "a,b", "{", "]"})
	rapid.Check(t, func(t *rapid.T) {
		raw := map[string]json.RawMessage{}
		for _, k := range rapid.SliceOfNDistinct(key, 0, 5, rapid.ID).Draw(t, "keys") {
			raw[k] = json.RawMessage(value.Draw(t, k))
		}
		text, err := json.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		if text, err = jsonschema.Canonical(text); err != nil {
			t.Fatal(err)
		}
		got := map[string]json.RawMessage{}
		for k, v := range members(text) {
			got[string(k)] = v
		}
		if !maps.EqualFunc(got, raw, slices.Equal) {
			t.Fatalf("%s has the members %s", text, got)
		}
	})
	for _, text := range []string{``, `1`, `true`, `[]`, `{`, `{}`, `"a"`} {
		for k := range members(json.RawMessage(text)) {
			t.Errorf("%s has a member %s", text, k)
		}
	}
}
