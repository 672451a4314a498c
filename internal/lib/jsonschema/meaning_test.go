package jsonschema

import "testing"

func TestMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"order and space", `{"a":1,"b":[2]}`, ` { "b" : [ 2 ], "a" : 1 }`, true},
		{"escapes", `{"a":"\u00e9<"}`, `{"\u0061":"é\u003c"}`, true},
		{"spelling of numbers", `[10, 0.5, 0, 100]`, `[1e1, 5E-1, -0.0, 1.00e+2]`, true},
		{"beyond 2^53", `9007199254740993`, `9007199254740992`, false},
		{"many digits", `0.30000000000000000001`, `0.3`, false},
		{"a text is no number", `"1"`, `1`, false},
		{"the order of a list", `[1,2]`, `[2,1]`, false},
	} {
		a, err := Meaning([]byte(c.a))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Meaning([]byte(c.b))
		if err != nil {
			t.Fatal(err)
		}
		if (string(a) == string(b)) != c.same {
			t.Errorf("%s: %s and %s", c.name, a, b)
		}
	}
	for _, text := range []string{``, `{"a":1,"a":1}`, `[1e9999]`, `{} {}`, "\"\xff\""} {
		if b, err := Meaning([]byte(text)); err == nil {
			t.Errorf("%q means %s", text, b)
		}
	}
}
