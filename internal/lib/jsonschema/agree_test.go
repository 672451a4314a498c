package jsonschema_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/lib/jsonschema/jsonschematest"
)

// The verdict on any schema and value is that of an independent validator.
func TestAgreesWithAnotherValidator(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(jsonschematest.Schema(t))
		mine, err := jsonschema.Compile(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		theirs, err := jsonschematest.Oracle(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		for range 4 {
			value := jsonschematest.Value(t)
			v, err := jsonschema.Decode([]byte(value))
			if err != nil {
				t.Fatal(err)
			}
			faults, verdict := mine.Validate(v), theirs.Validate(v)
			if verdict != nil && strings.Contains(verdict.Error(), "reference cycle") || len(faults) == 1 && strings.Contains(faults[0].Message, "nested too deep") {
				continue // a schema without meaning, refused by each in its own way
			}
			if (faults == nil) != (verdict == nil) {
				t.Fatalf("schema %s\nvalue %s\nhere  %v\nthere %v", raw, value, faults, verdict)
			}
		}
	})
}

// Arguments that are valid pass with the meaning they had, but for the spelling
// of whole numbers.
func TestRepairKeepsValidArguments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := jsonschema.Compile([]byte(jsonschematest.Schema(t)))
		if err != nil {
			t.Fatal(err)
		}
		raw := jsonschematest.Arguments(t)
		if v, err := jsonschema.Decode([]byte(raw)); err != nil || s.Validate(v) != nil {
			return
		}
		fixed, notes, err := s.Repair([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		same, err := jsonschema.Compile([]byte(`{"const":` + raw + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := jsonschema.Decode(fixed); err != nil || same.Validate(v) != nil {
			t.Fatalf("%s became %s (%q)", raw, fixed, notes)
		}
	})
}
