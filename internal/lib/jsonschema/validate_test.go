package jsonschema

import (
	"fmt"
	"strings"
	"testing"

	oracle "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

func TestFaultsReadWell(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200)
	tests := []struct {
		schema, value string
		want          []string
	}{
		{
			`{"type":"object","properties":{"path":{"type":"string"},"from":{"type":"integer"}},"required":["path"],"additionalProperties":false}`,
			`{"pth":1,"other":2,"from":1.5}`,
			[]string{
				`missing required field "path"`,
				`unknown field "other"; allowed: from, path`,
				`unknown field "pth"; did you mean "path"?`,
				`from: expected integer, got number 1.5`,
			},
		},
		{
			`{"properties":{"items":{"items":{"properties":{"name":{"type":"string"}},"required":["id"]}}}}`,
			`{"items":[{"id":1},{"id":2,"name":[]},{"name":{"a":1}}]}`,
			[]string{
				`items[1].name: expected string, got an empty array`,
				`items[2]: missing required field "id"`,
				`items[2].name: expected string, got an object of 1 field`,
			},
		},
		{`{"type":["string","null"]}`, `true`, []string{`expected string or null, got boolean true`}},
		{`{"type":["number","integer"]}`, `"` + long + `"`, []string{`expected number, got string "` + strings.Repeat("é", 59) + `…"`}},
		{`{"type":"integer"}`, strings.Repeat("9", 80) + ".5", []string{`expected integer, got number ` + strings.Repeat("9", 57) + `…`}},
		{`{"enum":["read","write"]}`, `"raed"`, []string{`expected one of "read", "write", got string "raed"; did you mean "read"?`}},
		{`{"enum":[1,"a",null]}`, `2`, []string{`expected one of 1, "a", null, got number 2`}},
		{`{"const":"x"}`, `null`, []string{`expected "x", got null`}},
		{`{"minimum":1,"maximum":0.5}`, `0.7`, []string{`expected at least 1, got number 0.7`, `expected at most 0.5, got number 0.7`}},
		{`{"exclusiveMinimum":1,"exclusiveMaximum":1,"multipleOf":2}`, `1`, []string{
			`expected more than 1, got number 1`, `expected less than 1, got number 1`, `expected a multiple of 2, got number 1`,
		}},
		{`{"minLength":2}`, `"é"`, []string{`expected at least 2 characters, got 1`}},
		{`{"maxLength":1}`, `"éé"`, []string{`expected at most 1 character, got 2`}},
		{`{"minItems":1}`, `[]`, []string{`expected at least 1 item, got 0`}},
		{`{"maxProperties":0}`, `{"a":1}`, []string{`expected at most 0 fields, got 1`}},
		{`{"uniqueItems":true}`, `[{"a":1.0},2,{"a":1}]`, []string{`items 0 and 2 are equal, expected no item twice`}},
		{`{"pattern":"^[a-z]+$"}`, `"A\nB"`, []string{`"A\nB" doesn't match the pattern ^[a-z]+$`}},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, []string{`"ab" is no name that a field may have here`}},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, []string{`missing field "b", which is required when "a" is given`}},
		{`{"not":{"type":"null"}}`, `null`, []string{`null is what the schema excludes here`}},
		{`{"contains":{"type":"string"}}`, `[1]`, []string{`expected at least 1 item of the kind asked for, got 0`}},
		{`{"properties":{"a b":{"type":"null"},"":{"type":"null"}}}`, `{"a b":1,"":2}`, []string{`[""]: expected null, got number 2`, `["a b"]: expected null, got number 1`}},
		{`false`, `1`, []string{`nothing is allowed here, got number 1`}},

		// A choice is explained by the form that was meant.
		{`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, `3`, []string{`expected string or array, got number 3`}},
		{`{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, `["a",3]`, []string{`[1]: expected string, got number 3`}},
		{
			`{"oneOf":[{"properties":{"kind":{"const":"a"},"n":{"type":"integer"}}},{"properties":{"kind":{"const":"b"},"n":{"type":"string"}}}]}`,
			`{"kind":"b","n":1}`,
			[]string{`n: expected string, got number 1`},
		},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, []string{
			`fits none of the 2 forms that are allowed: (1) missing required field "a"; (2) missing required field "b"`,
		}},
		{`{"oneOf":[{"minimum":1},{"maximum":5}]}`, `3`, []string{`fits 2 of the 2 forms of which exactly one is allowed`}},
		{`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, `"x"`, []string{`expected integer or null, got string "x"`}},
	}
	for _, tt := range tests {
		faults := mustCompile(t, tt.schema).Validate(mustDecode(t, tt.value))
		var got []string
		for _, f := range faults {
			got = append(got, f.String())
		}
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s\n%s\ngot  %s\nwant %s", tt.schema, tt.value, strings.Join(got, "\n     "), strings.Join(tt.want, "\n     "))
		}
	}
}

func TestManyFaultsAreCounted(t *testing.T) {
	t.Parallel()
	faults := mustCompile(t, `{"items":{"type":"string"}}`).Validate(mustDecode(t, `[`+strings.Repeat("1,", 99)+`1]`))
	if len(faults) != 21 || faults[20].String() != "and 80 more" {
		t.Errorf("got %v", faults)
	}
}

func TestValidateTakesGoNumbers(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"items":{"type":"integer","minimum":2,"multipleOf":2},"uniqueItems":true}`)
	if faults := s.Validate([]any{2, int64(4), 6.0}); faults != nil {
		t.Error(faults)
	}
	if faults := s.Validate([]any{2, 2.0, 7}); len(faults) != 2 {
		t.Error(faults)
	}
	if faults := s.Validate([]any{make(chan int)}); len(faults) == 0 {
		t.Error("accepted a channel")
	}
}

// generator draws schemas and values over few names, so that they often meet.
type generator struct{ t *rapid.T }

func (g generator) pick(of ...string) string { return rapid.SampledFrom(of).Draw(g.t, "pick") }

func (g generator) value(depth int) string {
	kinds := 7
	if depth <= 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds-1).Draw(g.t, "kind") {
	case 0:
		return g.pick("null", "true", "false")
	case 1:
		return g.pick("0", "1", "2", "3", "-1", "1.0", "2.5", "1e1", "10", "0.1", "123456789012345678901234567890")
	case 2, 3:
		return g.pick(`""`, `"a"`, `"b"`, `"ab"`, `"1"`, `"é"`)
	case 4:
		return g.pick("[]", "{}")
	case 5:
		var items []string
		for range rapid.IntRange(0, 3).Draw(g.t, "items") {
			items = append(items, g.value(depth-1))
		}
		return "[" + strings.Join(items, ",") + "]"
	default:
		return g.members(func() string { return g.value(depth - 1) })
	}
}

func (g generator) members(value func() string) string {
	var members []string
	for _, name := range []string{"a", "b", "ab"} {
		if rapid.Bool().Draw(g.t, name) {
			members = append(members, fmt.Sprintf("%q:%s", name, value()))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (g generator) schema(depth int) string {
	if depth <= 0 {
		return g.pick("true", "false", `{}`, `{"type":"string"}`, `{"type":"integer"}`, `{"type":["number","null"]}`,
			`{"type":"boolean"}`, `{"const":1}`, `{"enum":["a",1,null,[],{}]}`, `{"$ref":"#"}`, `{"$ref":"#/$defs/d"}`)
	}
	sub := func() string { return g.schema(depth - 1) }
	list := func() string { return "[" + sub() + "," + sub() + "]" }
	keywords := map[string]func() string{
		"type": func() string {
			return g.pick(`"object"`, `"array"`, `"string"`, `"number"`, `["object","integer"]`, `["array","string"]`)
		},
		"const":   func() string { return g.value(1) },
		"enum":    func() string { return "[" + g.value(1) + "," + g.value(1) + "]" },
		"minimum": func() string { return g.pick("1", "1.5") },
		"maximum": func() string { return g.pick("2", "2.5") },
		"multipleOf": func() string {
			return g.pick("2", "0.1", "1.5")
		},
		"exclusiveMinimum": func() string { return "1" }, "exclusiveMaximum": func() string { return "2" },
		"minLength": func() string { return "1" }, "maxLength": func() string { return "1" },
		"pattern":  func() string { return g.pick(`"^a"`, `"b$"`) },
		"minItems": func() string { return "1" }, "maxItems": func() string { return "2" },
		"uniqueItems": func() string { return g.pick("true", "false") },
		"prefixItems": list, "items": sub, "contains": sub,
		"minContains": func() string { return g.pick("0", "2") }, "maxContains": func() string { return "1" },
		"properties":            func() string { return g.members(sub) },
		"patternProperties":     func() string { return `{"^a":` + sub() + `,"b":` + sub() + `}` },
		"additionalProperties":  sub,
		"unevaluatedProperties": sub,
		"unevaluatedItems":      sub,
		"propertyNames":         func() string { return g.pick(`{"maxLength":1}`, `{"pattern":"a"}`, sub()) },
		"required":              func() string { return g.pick(`[]`, `["a"]`, `["b","ab"]`) },
		"dependentRequired":     func() string { return `{"a":["b"]}` },
		"dependentSchemas":      func() string { return `{"a":` + sub() + `}` },
		"minProperties":         func() string { return "1" }, "maxProperties": func() string { return "1" },
		"allOf": list, "anyOf": list, "oneOf": list, "not": sub, "if": sub, "then": sub, "else": sub,
		"$ref": func() string { return `"#/$defs/d"` },
	}
	var parts []string
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(sortedKeys(keywords)), 1, 4, rapid.ID).Draw(g.t, "keywords") {
		parts = append(parts, fmt.Sprintf("%q:%s", name, keywords[name]()))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// The verdict on any schema and value is that of an independent validator.
func TestAgreesWithAnotherValidator(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := generator{t}
		raw := `{"$defs":{"d":` + g.schema(1) + `},"allOf":[` + g.schema(3) + `]}`
		mine := mustCompile(t, raw)
		doc, err := oracle.UnmarshalJSON(strings.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		c := oracle.NewCompiler()
		if err := c.AddResource("mem:///schema", doc); err != nil {
			t.Fatal(err)
		}
		theirs, err := c.Compile("mem:///schema")
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		for range 4 {
			value := g.value(3)
			v := mustDecode(t, value)
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
