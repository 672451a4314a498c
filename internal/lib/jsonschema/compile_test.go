package jsonschema

import (
	"fmt"
	"strings"
	"testing"
)

// fataler is what tests and properties have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func mustCompile(tb fataler, raw string) *Schema {
	tb.Helper()
	s, err := Compile([]byte(raw))
	if err != nil {
		tb.Fatalf("%.200s: %v", raw, err)
	}
	return s
}

func mustDecode(tb fataler, raw string) any {
	tb.Helper()
	v, err := Decode([]byte(raw))
	if err != nil {
		tb.Fatalf("%.200s: %v", raw, err)
	}
	return v
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{`{`, "the text ends too early"},
		{`[]`, `at "#": a schema is an object or a boolean, not array`},
		{`{"type":"strng"}`, `at "#/type": there is no type "strng"`},
		{`{"type":[]}`, "the list of types is empty"},
		{`{"type":["string",1]}`, "there is no type number 1"},
		{`{"type":null}`, `at "#/type"`},
		{`{"properties":[]}`, `at "#/properties": an object was expected, not array`},
		{`{"properties":{"a/b":{"items":7}}}`, `at "#/properties/a~1b/items": a schema is an object or a boolean, not number`},
		{`{"required":"a"}`, "an array of names was expected, not string"},
		{`{"required":null}`, "an array of names was expected, not null"},
		{`{"required":[1]}`, "an array of names"},
		{`{"enum":"a"}`, "an array was expected"},
		{`{"anyOf":[]}`, "an array with something in it"},
		{`{"allOf":{}}`, "an array was expected"},
		{`{"minimum":"1"}`, "a number was expected"},
		{`{"multipleOf":0}`, "a number above 0"},
		{`{"minLength":-1}`, "a count was expected"},
		{`{"maxItems":1.5}`, "a count was expected"},
		{`{"uniqueItems":1}`, "a boolean was expected"},
		{`{"pattern":1}`, "a string was expected"},
		{`{"patternProperties":{"(?!x)":{}}}`, `at "#/patternProperties/(?!x)"`},
		{`{"dependencies":[]}`, "an object was expected"},
		{`{"dependentRequired":{"a":"b"}}`, "an array of names"},
		{`{"$ref":1}`, "a string was expected"},
		{`{"$ref":"#/$defs/none"}`, "refers to something that isn't there"},
		{`{"$ref":"#none"}`, "refers to an anchor that isn't there"},
		{`{"$ref":"file:///etc/passwd"}`, "outside of this schema, which is never loaded"},
		{`{"$ref":"http://127.0.0.1:1/x.json#/a"}`, "outside of this schema, which is never loaded"},
		{`{"$ref":"other.json"}`, "outside of this schema, which is never loaded"},
		{`{"$id":"file:///etc/","$ref":"passwd"}`, "outside of this schema, which is never loaded"},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, "never loaded"},
		{`{"$dynamicRef":"#a","$dynamicAnchor":"a","$defs":{"b":{"$id":"b"}}}`, "dynamic reference"},
		{`{"type":"object","type":"string"}`, `the key "type" appears twice`},
		{`{"description":"` + strings.Repeat("x", 256<<10) + `"}`, "the limit is 262144"},
		{`{"allOf":[` + strings.Repeat("{},", 10_000) + `{}]}`, "more than 10000 subschemas"},
		{strings.Repeat(`{"not":`, 10_000) + "{}" + strings.Repeat("}", 10_000), "nested deeper"},
	}
	for _, tt := range tests {
		if _, err := Compile([]byte(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80s: got %v, want %s", tt.in, err, tt.want)
		} else if len(err.Error()) > 500 {
			t.Errorf("%.80s: message of %d bytes", tt.in, len(err.Error()))
		}
	}
}

// The schemas that strangers' tools really have must compile, and mean what
// they say.
func TestCompileAccepts(t *testing.T) {
	t.Parallel()
	tests := []struct{ schema, good, bad string }{
		{`{"type":"object"}`, `{"a":1}`, `[]`},
		{`{"type":"object","properties":{"a":{"type":"array"}}}`, `{"a":[1,"x"]}`, `{"a":1}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, `{"a":"x"}`, `{"b":1}`},
		{`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","required":["b"]}]}`, `{"b":1}`, `{"c":1}`},
		{`{"definitions":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/definitions/n"}}}`, `{"a":1}`, `{"a":"1"}`},
		{`{"$defs":{"a/b%c":{"type":"integer"}},"$ref":"#/$defs/a~1b%25c"}`, `1`, `"1"`},
		{`{"$defs":{"n":{"$anchor":"n","type":"integer"}},"items":{"$ref":"#n"}}`, `[1]`, `["1"]`},
		{`{"$id":"https://example.com/tool","$defs":{"n":{"$id":"num","type":"integer"}},"items":{"$ref":"num"}}`, `[1]`, `["1"]`},
		{`{"$ref":"#/x-own/odd","x-own":{"odd":{"type":"null"}}}`, `null`, `1`},
		{`{"items":[{"type":"string"}],"additionalItems":false}`, `["a"]`, `["a",1]`},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a"]`, `["a",1]`},
		{`{"minimum":1,"exclusiveMinimum":true}`, `2`, `1`},
		{`{"maximum":1,"exclusiveMaximum":false}`, `1`, `2`},
		{`{"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"b":1}`, `{"c":1}`},
		{`{"pattern":"^(?!secret)"}`, `"secret"`, ``}, // can't be expressed: not checked
		{`{"pattern":"^\\u0041\\u0042\\d+$"}`, `"AB1"`, `"B"`},
		{`{"pattern":"^\\\\u0041$"}`, `"\\u0041"`, `"A"`},
		{`{"format":"email"}`, `"no email"`, ``},
		{`{"const":{"a":[1]},"enum":[{"a":[1]},2]}`, `{"a":[1.0]}`, `2`},
		{`true`, `1`, ``},
		{`{"not":true}`, ``, `1`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/s","type":"number"}},"definitions":{"s":{"type":"string"}}}`, `{"a":"x"}`, `{"a":1}`},
		{`{"properties":{"a":{"$ref":"#/$defs/s","maxLength":1}},"$defs":{"s":{"type":"string"}}}`, `{"a":"x"}`, `{"a":"xx"}`},
		{`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`},
	}
	for _, tt := range tests {
		s := mustCompile(t, tt.schema)
		if tt.good != "" {
			if faults := s.Validate(mustDecode(t, tt.good)); faults != nil {
				t.Errorf("%s: refused %s: %v", tt.schema, tt.good, faults)
			}
		}
		if tt.bad != "" {
			if faults := s.Validate(mustDecode(t, tt.bad)); faults == nil {
				t.Errorf("%s: accepted %s", tt.schema, tt.bad)
			}
		}
	}
}

// Schemas made to explode end in a fault, not in a hang. What would take ages
// is stopped by counting, so the test needs no clock.
func TestHostileSchemasAreBounded(t *testing.T) {
	t.Parallel()
	doubling := func(keyword string) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
		for i := range 60 {
			fmt.Fprintf(&b, `"d%d":{"%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
		}
		return b.String() + `"d60":{"type":"string"}}}`
	}
	deep := strings.Repeat(`{"x":`, 150) + "1" + strings.Repeat("}", 150)
	tests := []struct{ name, schema, value, want string }{
		{"refers to itself", `{"$ref":"#"}`, `1`, "nested too deep"},
		{"refers in a circle", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `1`, "nested too deep"},
		{"doubles in allOf", doubling("allOf"), `"x"`, "too complex"},
		{"doubles in anyOf", doubling("anyOf"), `1`, "too complex"},
		{"doubles in oneOf", doubling("oneOf"), `1`, "too complex"},
		{"doubles per member", `{"patternProperties":{"x":{"$ref":"#"},"^x":{"$ref":"#"}}}`, deep, "too complex"},
		{"doubles in not", `{"not":{"patternProperties":{"x":{"$ref":"#"},"^x":{"$ref":"#"}}}}`, deep, "too complex"},
		{"contains of contains", `{"contains":{"$ref":"#"},"minContains":0}`, strings.Repeat("[", 190) + strings.Repeat("]", 190), ""},
		{"slow pattern", `{"items":{"pattern":"(x+x+){1,50}y"}}`, `["` + strings.Repeat("x", 1<<20) + `"]`, "too complex"},
		{
			"many forms of a large object", `{"allOf":[` + strings.Repeat(`{"propertyNames":{}},`, 4000) + `{}]}`,
			`{` + manyKeys(2000) + `}`, "too complex",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := mustCompile(t, tt.schema)
			v := mustDecode(t, tt.value)
			faults := s.Validate(v)
			if tt.want == "" && faults != nil || tt.want != "" && (len(faults) != 1 || !strings.Contains(faults[0].Message, tt.want)) {
				t.Errorf("got %v, want %s", faults, tt.want)
			}
			// Mending the same is bounded as well.
			if _, _, err := s.Repair([]byte(`{"x":` + tt.value + `}`)); err != nil {
				t.Error(err)
			}
		})
	}
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	return strings.Join(keys, ",")
}

func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"type":"integer","minimum":1}},"required":["a"]}`,
		`{"anyOf":[{"type":"string"},{"$ref":"#"}],"$defs":{"a":{"$anchor":"x"}}}`,
		`{"patternProperties":{"^a":false},"unevaluatedProperties":{"not":{}}}`,
		`{"items":[{}],"contains":{"const":1},"uniqueItems":true,"multipleOf":0.1}`,
	} {
		f.Add([]byte(seed), []byte(`{"a":[1,"1",null],"b":{"a":1}}`))
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := Compile(schema)
		if err != nil {
			return
		}
		if v, err := Decode(value); err == nil {
			first := s.Validate(v)
			if second := s.Validate(v); fmt.Sprint(first) != fmt.Sprint(second) {
				t.Fatalf("not stable: %v, %v", first, second)
			}
			for _, f := range first {
				if len(f.String()) > 4000 || strings.ContainsAny(f.String(), "\n\r") {
					t.Fatalf("fault %q", f)
				}
			}
		}
		_, _, _ = s.Repair(value)
	})
}
