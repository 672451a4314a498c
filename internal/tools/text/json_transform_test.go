package text

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestJSONTransform(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := json.RawMessage(`[{"n":"a","v":3},{"n":"b","v":1},{"n":"c","v":2}]`)
	tests := []struct {
		filter string
		json   any
		want   string
	}{
		{".", json.RawMessage(`{"b":1,"a":[1.50,12345678901234567890,1e3]}`), `{"a":[1.50,12345678901234567890,1e3],"b":1}`},
		{".[] | select(.v > 1) | .n", rows, "\"a\"\n\"c\""},
		{"map({(.n): .v}) | add", rows, `{"a":3,"b":1,"c":2}`},
		{"sort_by(.v) | map(.n) | join(\", \")", rows, `"b, c, a"`},
		{"group_by(.v > 1) | map(length)", rows, `[1,2]`},
		{"[.[].v] | add / length", rows, `2`},
		{"map(.v * 2 - 1)", rows, `[5,1,3]`},
		{"(1,2) * (10,20), (5,7) - (1,2)", nil, "10\n20\n20\n40\n4\n6\n3\n5"},
		{".[0].v += 1 | .[1].v *= 5 | .[2].v -= 2 | map(.v)", rows, `[4,5,0]`},
		{".a.b |= . + 1", json.RawMessage(`{"a":{"b":1}}`), `{"a":{"b":2}}`},
		{`.a = 1 | del(.b)`, json.RawMessage(`{"b":1}`), `{"a":1}`},
		{`(.[] | select(.n == "b") | .v) = 9 | map(.v)`, rows, `[3,9,2]`},
		{`first(.[] | select(.v < 3)).n = "x" | map(.n)`, rows, `["a","x","c"]`},
		{`reduce .[] as {n: $n, v: $v} ({}; .[$n] = $v)`, rows, `{"a":3,"b":1,"c":2}`},
		{`"\(.[0].n): \(.[0].v * 2)"`, rows, `"a: 6"`},
		{`.[] | @csv "\([.n, .v])"`, rows, "\"\\\"a\\\",3\"\n\"\\\"b\\\",1\"\n\"\\\"c\\\",2\""},
		{`def double: . * 2; map(.v | double)`, rows, `[6,2,4]`},
		{`def f(g): [g]; f(.[].v)`, rows, `[3,1,2]`},
		{`[limit(3; repeat(1))]`, nil, `[1,1,1]`},
		{`try error("x") catch .`, nil, `"x"`},
		{`.a? // "none"`, json.RawMessage(`[]`), `"none"`},
		{`"a-b-c" | split("-") | map(explode | implode)`, nil, `["a","b","c"]`},
		{`"a1b22" | [match("\\d+"; "g").string], gsub("\\d"; "#"), sub("(?<x>\\d)"; "<\(.x)>"), test("b")`, nil, "[\"1\",\"22\"]\n\"a#b##\"\n\"a<1>b22\"\ntrue"},
		{`{_id: 1, "_x": 2} | ._id, .["_x"]`, nil, "1\n2"},
		{`[paths]`, json.RawMessage(`{"a":[1]}`), `[["a"],["a",0]]`},
		{`fromstream(tostream)`, json.RawMessage(`{"a":[1,{"b":2}]}`), `{"a":[1,{"b":2}]}`},
		{`getpath(["a","b"]) |= 5`, json.RawMessage(`{}`), `{"a":{"b":5}}`},
		{`[.[] as [$a, $b] | $a - $b]`, json.RawMessage(`[[3,1],[5,9]]`), `[2,-4]`},
		{`[1,2,3,4] - [2,4]`, nil, `[1,3]`},
		{`env, $ENV`, nil, "{}\n{}"},
		{`nan, infinite, -infinite`, nil, "null\n1.7976931348623157e+308\n-1.7976931348623157e+308"},
		{`[.[] | . + 1]`, json.RawMessage(`[123456789012345678901234567890]`), `[123456789012345678901234567891]`},
		{`empty`, nil, "no result (the filter gave nothing)"},
		{`1, halt, 2`, nil, "1"},

		// JSON as text, and lines of it.
		{".a", `{"a":1}`, "1"},
		{".a", "{\"a\":1}\n{\"a\":2}\n", "1\n2"},
		{"[., inputs] | map(.a) | add", "{\"a\":1}\n{\"a\":2}\n", "3"},
		{"[input]", "[1]\n[2]", "[[2]]"},
		{"ascii_upcase", "plain text", `"PLAIN TEXT"`},
		{"length", "\ufeff[1,2]", "6"}, // a text that begins like no JSON is itself

		{".a.b.c", json.RawMessage(`{"a":1}`), `error: jq: expected an object but got: number (1)`},
		{".a", "{\"a\":1}\n[1]", `error: jq: input 2: expected an object but got: array ([1])`},
		{".a", "{\"a\":1}\n{\"a\":x}", `error: read the JSON: line 2, column 6: invalid character 'x'`},
		{".a", "{\"a\":", `error: read the JSON: line 1, column`},
		{"map(", nil, "error: jq: the query ends too early, at position 5"},
		{"[é] | map(.a))", nil, `error: jq: unexpected "é" at position 2`},
		{".a))", nil, `error: jq: unexpected ")" at position 3`},
		{"foo", nil, "error: jq: function not defined: foo/0"},
		{"$x", nil, "error: jq: variable not defined: $x"},
		{`import "a" as a; .`, nil, "error: jq: modules are not available"},
		{`include "a"; .`, nil, "error: jq: modules are not available"},
		{`debug`, nil, "error: jq: function not defined: debug/0"},
		{`input_filename`, nil, "error: jq: function not defined"},
		{`_add(1; 2)`, nil, "error: jq: names that begin with _ are reserved: _add"},
		{`. as $_l | 1`, nil, "error: jq: names that begin with _ are reserved"},
		{`. as {$_l} | 1`, nil, "error: jq: names that begin with _ are reserved"},
		{`def _fits: true; 1`, nil, "error: jq: names that begin with _ are reserved"},
		{`def f($_r): 1; f(1)`, nil, "error: jq: names that begin with _ are reserved"},
		{`error("no")`, nil, "error: jq: error: no"},
		{`"x" | halt_error`, nil, "error: jq: function not defined: halt_error/0"},
	}
	for _, tt := range tests {
		input := tt.json
		if input == nil {
			input = json.RawMessage("null")
		}
		got := f.text(t, "json_transform", map[string]any{"filter": tt.filter, "json": input})
		if got != tt.want && !(strings.HasPrefix(tt.want, "error:") && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: got %s, want %s", tt.filter, got, tt.want)
		}
	}
}

func FuzzJSONTransform(f *testing.F) {
	f.Add(".a[1:] | map(. * 2)", `{"a":[1,2,3]}`)
	f.Add(`def f: . + 1; reduce .[] as $x (0; f)`, `[1,2]`)
	f.Add(`.[] as {a: $x} ?// [$x] | $x`, `[{"a":1},[2]]`)
	fix := newFixture(f)
	f.Fuzz(func(t *testing.T, filter, input string) {
		if len(filter) > 60 || len(input) > 200 {
			return
		}
		_, _ = fix.call(t.Context(), "json_transform", map[string]any{"filter": filter, "json": input})
	})
}

func BenchmarkJSONTransform(b *testing.B) {
	var rows []string
	for i := range 10_000 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"name %d","kind":"k%d","tags":["a","b"],"price":%d.5}`, i, i, i%7, i%100))
	}
	f := newFixture(b)
	args := map[string]any{"filter": ".[] | select(.price > 50) | .name", "json": json.RawMessage("[" + strings.Join(rows, ",") + "]")}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.call(b.Context(), "json_transform", args); err != nil {
			b.Fatal(err)
		}
	}
}
