package jsonschema_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/lib/jsonschema/jsonschematest"
)

// dialects are of every kind: with and without references, choices, lists of
// types; the providers' own tables are tested where they stand.
func dialects() []*jsonschema.Dialect {
	most := []string{
		"$ref", "type", "enum", "const", "title", "description", "default", "examples", "deprecated", "format", "pattern",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
		"items", "prefixItems", "contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems", "unevaluatedItems",
		"properties", "patternProperties", "additionalProperties", "propertyNames", "required", "dependentRequired",
		"dependentSchemas", "minProperties", "maxProperties", "unevaluatedProperties",
		"allOf", "anyOf", "oneOf", "not", "if", "then", "else",
	}
	some := []string{"type", "description", "properties", "required", "items", "enum", "minimum", "maximum", "maxItems", "anyOf"}
	few := []string{"type", "properties", "items"}
	without := func(list []string, words ...string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(w string) bool { return slices.Contains(words, w) })
	}
	top := without(most, "$ref", "anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else")
	return []*jsonschema.Dialect{
		{Name: "most", Top: append(slices.Clone(top), "$defs"), Below: most},
		{Name: "no refs", Top: top, Below: without(most, "$ref"), Items: true, Properties: true},
		{Name: "no allOf", Top: append(slices.Clone(top), "$defs"), Below: without(most, "allOf"), NoBooleans: true},
		{
			Name: "some", Top: some, Below: some, Lists: jsonschema.NullableList, Enums: []string{"string", "number"}, NoBlank: true,
			Items: true, Known: true, NoBooleans: true, Field: func(name string) bool { return name != "ab" },
		},
		{
			Name: "typed", Top: some, Below: some, Lists: jsonschema.NoList, Items: true, NoBooleans: true,
			Anything: map[string]any{"anyOf": []any{
				map[string]any{"type": "string"},
				map[string]any{"type": "number"},
				map[string]any{"type": "boolean"},
				map[string]any{"type": "object"},
				map[string]any{"type": "array", "items": map[string]any{}},
				map[string]any{"type": "null"},
			}},
		},
		{
			Name: "few", Top: few, Below: few, Lists: jsonschema.NoList, Properties: true, NoBooleans: true,
		},
	}
}

func TestProjectionsHold(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			jsonschematest.Projects(t, d)
		})
	}
}

// A schema that is known costs nothing.
func TestProjectionsAreRemembered(t *testing.T) {
	d := dialects()[3]
	schema := []byte(`{"properties":{"a":{"maxLength":3,"type":"string"}},"type":"object"}`)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := d.Project(schema); err != nil {
			panic(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Schemas made to explode end in a reason, not in a hang: what would take ages is
// stopped by counting, so the test needs no clock.
func TestHostileSchemasAreProjectedInTime(t *testing.T) {
	t.Parallel()
	many := func(n int, item func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = item(i)
		}
		return strings.Join(parts, ",")
	}
	object := func(inner string) string { return `{"type":"object",` + inner + `}` }
	for name, schema := range map[string]string{
		"many sentences":  object(`"allOf":[` + many(5000, func(i int) string { return fmt.Sprintf(`{"not":{"minimum":%d}}`, i) }) + `]`),
		"many forms":      object(`"anyOf":[` + many(1000, func(i int) string { return fmt.Sprintf(`{"properties":{"p%d":{"const":%d}}}`, i, i) }) + `]`),
		"many values":     object(`"properties":{"a":{"enum":[` + many(20000, strconv.Itoa) + `],"allOf":[{"enum":[` + many(20000, strconv.Itoa) + `]}]}}`),
		"many required":   object(`"required":[` + many(20000, func(i int) string { return fmt.Sprintf(`"r%d"`, i) }) + `]`),
		"many references": object(`"properties":{` + many(1000, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/d%d"}`, i, i) }) + `},"$defs":{` + many(1000, func(i int) string { return fmt.Sprintf(`"d%d":{"x":1}`, i) }) + `}`),
		"a chain":         object(`"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + many(1000, func(i int) string { return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1) }) + `,"d1000":{"x":1}}`),
		"a chain upwards": object(`"properties":{"a":{"$ref":"#/$defs/d1000"}},"$defs":{` + many(1000, func(i int) string { return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i+1, i) }) + `,"d0":{"x":1}}`),
		"doubles in allOf": object(`"allOf":[{"$ref":"#/$defs/d0"}],"$defs":{` + many(60, func(i int) string {
			return fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
		}) + `,"d60":{}}`),
		"doubles in anyOf": object(`"anyOf":[{"$ref":"#/$defs/d0"}],"$defs":{` + many(60, func(i int) string {
			return fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
		}) + `,"d60":{}}`),
		"doubles in not": object(`"not":{"$ref":"#/$defs/d0"},"$defs":{` + many(60, func(i int) string {
			return fmt.Sprintf(`"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1)
		}) + `,"d60":{}}`),
		"deep, and unlike it": strings.Repeat(`{"type":"object","properties":{"a":`, 95) + `{"x":1}` + strings.Repeat("}}", 95),
		"long words":          object(`"properties":{"a":{"not":{"enum":["` + strings.Repeat("x", 200_000) + `"]}}}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := jsonschema.Canonical([]byte(schema))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range dialects() {
				p, err := d.Project(raw)
				if err != nil {
					continue
				}
				if again, err := d.Project(p.Parameters); err != nil || string(again.Parameters) != string(p.Parameters) {
					t.Errorf("%s: its projection is projected again, %v", d.Name, err)
				}
			}
		})
	}
}

// Whatever compiles is projected to something that holds, or to a reason.
func FuzzProject(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"type":["integer","null"],"exclusiveMinimum":1}},"required":["a","b"]}`,
		`{"anyOf":[{"properties":{"a":{"const":1}}},{"$ref":"#"}],"definitions":{"a":{"$anchor":"x"}},"$schema":"http://json-schema.org/draft-07/schema#"}`,
		`{"patternProperties":{"^a":false},"unevaluatedProperties":{"not":{}},"dependencies":{"a":["b"],"c":{}}}`,
		`{"allOf":[{"items":[{}],"additionalItems":false},{"contains":{"const":1},"maxContains":1}],"nullable":true}`,
		`{"$id":"https://x/y","$defs":{"a/b":{"$ref":"#/$defs/a~1b/c","c":{"enum":[1,"",null,{}]}}},"properties":{"a":{"$ref":"#/$defs/a~1b"}}}`,
	} {
		f.Add([]byte(seed))
	}
	all := dialects()
	f.Fuzz(func(t *testing.T, schema []byte) {
		raw, err := jsonschema.Canonical(schema)
		if err != nil {
			return
		}
		if _, err := jsonschema.Compile(raw); err != nil {
			return
		}
		if _, err := jsonschematest.Oracle(raw); err != nil {
			return // it says something that only looks like a schema
		}
		for _, d := range all {
			p, err := d.Project(raw)
			var unfit *jsonschema.UnfitError
			switch {
			case err == nil:
				jsonschematest.Holds(t, d, raw, p)
			case !errors.As(err, &unfit) || unfit.Rule == "form" || unfit.Reason == "":
				t.Fatalf("%s: %s: %v", d.Name, raw, err)
			}
		}
	})
}

// What was changed is told in one order, whatever that of maps is.
func TestChangesHaveAnOrder(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":true}}}`
	var want []string
	for range 30 {
		d := &jsonschema.Dialect{Name: "d", Top: []string{"type", "properties"}, Below: []string{"type", "minimum", "maximum"}}
		p, err := d.Project([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = p.Changes
		}
		if !slices.Equal(want, p.Changes) {
			t.Fatalf("first %q, now %q", want, p.Changes)
		}
	}
}
