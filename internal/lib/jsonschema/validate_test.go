package jsonschema

import (
	"strings"
	"testing"
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

// JSON has no number that is none: what a model writes in place of one is told of
// and never becomes one.
func TestWhatIsNoNumberStaysNone(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"type":"object","properties":{"x":{"type":"number"}}}`)
	for _, word := range []string{"NaN", "nan", "Infinity", "-Infinity", "inf", "+Inf", "1e999999", "0x10", "1_000"} {
		args, notes, err := s.Repair([]byte(`{"x":"` + word + `"}`))
		if err != nil || string(args) != `{"x":"`+word+`"}` || len(notes) > 0 {
			t.Errorf("%s is mended: %s %v %v", word, args, notes, err)
			continue
		}
		v, err := Decode(args)
		if err != nil {
			t.Fatal(err)
		}
		faults := s.Validate(v)
		if len(faults) != 1 || faults[0].String() != `x: expected number, got string "`+word+`"` {
			t.Errorf("%s: %v", word, faults)
		}
		if _, _, err := s.Repair([]byte(`{"x":` + word + `}`)); err == nil {
			t.Errorf("%s without quotes is taken", word)
		}
	}
}
