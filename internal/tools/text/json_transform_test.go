package text

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
	"pgregory.net/rapid"
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

		{".a.b.c", json.RawMessage(`{"a":1}`), `error: filter: expected an object but got: number (1)`},
		{".a", "{\"a\":1}\n[1]", `error: filter: input 2: expected an object but got: array ([1])`},
		{".a", "{\"a\":1}\n{\"a\":x}", `error: read the JSON: line 2, column 6: invalid character 'x'`},
		{".a", "{\"a\":", `error: read the JSON: line 1, column`},
		{"map(", nil, "error: filter: it ends too early, at position 5"},
		{"[é] | map(.a))", nil, `error: filter: unexpected "é" at position 2`},
		{".a))", nil, `error: filter: unexpected ")" at position 3`},
		{"foo", nil, "error: filter: function not defined: foo/0"},
		{"$x", nil, "error: filter: variable not defined: $x"},
		{`import "a" as a; .`, nil, "error: filter: modules are not available"},
		{`include "a"; .`, nil, "error: filter: modules are not available"},
		{`debug`, nil, "error: filter: function not defined: debug/0"},
		{`input_filename`, nil, "error: filter: function not defined"},
		{`_add(1; 2)`, nil, "error: filter: names that begin with _ are reserved: _add"},
		{`. as $_l | 1`, nil, "error: filter: names that begin with _ are reserved"},
		{`. as {$_l} | 1`, nil, "error: filter: names that begin with _ are reserved"},
		{`def _fits: true; 1`, nil, "error: filter: names that begin with _ are reserved"},
		{`def f($_r): 1; f(1)`, nil, "error: filter: names that begin with _ are reserved"},
		{`error("no")`, nil, "error: filter: error: no"},
		{`"x" | halt_error`, nil, "error: filter: halt"},
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

// Filters that would take the memory or the time of the process end in an
// error. Each would, unguarded, need gigabytes or minutes; what stops them is
// counted, not timed.
func TestJSONTransformIsBounded(t *testing.T) {
	t.Parallel()
	const (
		large = "a value grows beyond"
		steps = "stopped after"
		one   = large + "|" + steps
	)
	tests := []struct{ filter, want string }{
		{`[range(1e9)]`, steps},
		{`range(1e9)`, "gives more than 100000 results"},
		{`repeat(1)`, "gives more than 100000 results"},
		{`last(repeat(1))`, steps},
		{`def f: f; f`, steps},
		{`reduce range(1e9) as $i (0; . + $i)`, steps},
		{`until(false; .)`, steps},
		{`reduce range(60) as $i ("x"; . + .)`, large},
		{`reduce range(60) as $i ("x"; . += .)`, large},
		{`reduce range(60) as $i ("x"; "\(.)\(.)")`, large},
		{`reduce range(60) as $i ("x"; [., .] | join(""))`, large},
		{`reduce range(60) as $i (1; [., .])`, large},
		{`reduce range(60) as $i (1; {a: ., b: .})`, large},
		{`reduce range(60) as $i ({}; .a = .b | .b.x = . | .a.y = .)`, one},
		{`reduce range(60) as $i ([1]; .[0] = . | .[1] = .)`, large},
		{`[limit(60; foreach repeat(1) as $x (1; [., .]))] | tojson`, large},
		{`last(limit(60; recurse([., .])))`, large},
		{`def f: if length > 60 then . else [., .] | f end; 1 | until(false; [., .])`, large},
		{`reduce range(60) as $i (3; . * .)`, "digits"},
		{`reduce range(60) as $i (3; . *= .)`, "digits"},
		{`"x" * 2e9`, large},
		{`("x" * 1e7) as $s | [range(1000) | $s]`, large},
		{`("x" * 1e6) as $s | [range(1e5) | ""] | join($s)`, large},
		{`("x" * 1e7) | explode`, large},
		{`("x" * 1e7) | split("")`, large},
		{`("x" * 1e6) | [match("x"; "g")]`, "use the tool regex"},
		{`("x" * 5e4) | gsub("x"; "y" * 1e6)`, large},
		{`("x" * 1e6) | test("(x{1000}){1}(x{1000})y")`, "use the tool regex"},
		{`.[5e8] = 1`, "an index is too large"},
		{`.[500000000:] = [1] | .[400000000] = 1`, "an index is too large"},
		{`setpath([5e8]; 1)`, "an index is too large"},
		{`getpath([5e8]) = 1`, "an index is too large"},
		{`nth(5e8) = 1`, "an index is too large"},
		{`fromstream([[5e8], 1], [[5e8]])`, "an index is too large"},
		{`[range(1e5)] as $a | $a - $a`, "takes too long"},
		{`[range(1e5)] as $a | $a | . -= $a`, "takes too long"},
		{`[range(1e5)] as $a | $a | contains($a)`, "takes too long"},
		{`[range(1e5) | 0] as $a | $a | indices($a[1:])`, "takes too long"},
		{`[range(1e5) | 0] as $a | $a | .[$a[1:]]`, "too long an array"},
		{`[range(1e5) | 0] as $a | [$a] + [range(1e4) | []] | transpose`, large},
		{`("9" * 1e6) | tonumber`, "digits"},
		{`("9" * 1e6) | fromjson`, "digits"},
		{`now | strftime("%1000d" * 100000)`, "the format has more than"},
		{`[range(1e5)] as $a | add(range(1e3) | $a)`, one},
		{`("x" * 1e6) as $s | add(range(1e5) | $s)`, large},
		{`[range(1e5)] as $a | [range(1e3)] | sort_by($a)`, steps},
		{`[range(1e5)] as $a | [range(1e3)] | unique_by($a) | length`, steps},
		{`[range(1e5)] as $a | [range(100)] | walk(if type == "array" then tojson else $a end)`, one},
		{`[range(1e5)] as $a | [range(100)] | walk(if type == "array" then . == . else $a end)`, one},
		{`[range(1e5)] as $a | [range(1e3)] | map($a)`, large},
		{`[range(1e5)] as $a | [range(1e3)] | map_values($a)`, large},
		{`[range(1e5)] as $a | INDEX(range(1e4) | [., $a]; .[0])`, steps},
		{`try (reduce range(60) as $i (1; [., .])) catch . | length`, ""},
		{`first(range(10; infinite))`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.filter, func(t *testing.T) {
			t.Parallel()
			f, err := compileFilter(t.Context(), tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			f.inputs.values = []any{nil}
			f.meter.most = 3_000_000
			r, err := f.run()
			if (err != nil) != (tt.want != "") || err != nil && !regexp.MustCompile(tt.want).MatchString(err.Error()) {
				t.Errorf("got %.300v, %v, want %s", r.Content, err, tt.want)
			}
		})
	}
}

// The guard changes what a filter can't do, not what it does.
func TestGuardKeepsMeaning(t *testing.T) {
	t.Parallel()
	atoms := []string{
		".", ".a", ".b", ".[0]?", ".[]?", "1", "2.5", `"x"`, "null", "[]", "{}", "..", "(1, 2)", "empty",
		"length?", "keys?", "tojson", "type", "add?", "not", "first?", "tostring", "reverse?", "explode?", "transpose?", "tonumber?",
	}
	forms := []string{
		"%s | %s", "(%s) + (%s)", "((%s) - (%s))?", "((%s) * (%s))?", "(%s), (%s)", "[%s, %s]", "{a: (%s), b: (%s)}", "(%s) // (%s)",
		"(%s) == (%s)", "(%s) and (%s)", "if %s then %s else 1 end", "try (%s) catch (%s)", `"\(%s)-\(%s)"`, "(%s) as $x | %s", "map(%s)? | %s",
		"reduce (%s) as $x (0; %s)", "[foreach (%s) as $x (0; %s)]", "select(%s)? | %s", "(.a |= (%s))? | %s", "(.b = (%s))? | %s", "(.a += (%s))? | %s",
		"(.a -= (%s))? | %s", "(.a *= (%s))? | %s", "join(%s)? | %s", "[splits(\"a\")?] | %s | %s", "def f(g): g | g; f(%s) | %s", "[limit(3; %s)] | %s",
		"with_entries(%s)? | %s", "[paths(%s)] | %s", "(contains(%s))?, (%s)", "(index(%s))?, (%s)", "del(.a | select(%s))? | %s", "walk(%s)? | %s",
		"(getpath([%s]))? | %s", "(setpath([\"a\"]; %s))? | %s", "(first(%s) = 1)? | %s", "(.[%s])? | %s",
	}
	rapid.Check(t, func(t *rapid.T) {
		var draw func(depth int) string
		draw = func(depth int) string {
			if depth == 0 || rapid.Bool().Draw(t, "leaf") {
				return rapid.SampledFrom(atoms).Draw(t, "atom")
			}
			form := rapid.SampledFrom(forms).Draw(t, "form")
			return fmt.Sprintf(form, draw(depth-1), draw(depth-1))
		}
		filter := draw(3)
		input := rapid.SampledFrom([]string{`null`, `{"a":1,"b":[1,2]}`, `{"a":"x","b":{"a":2}}`, `[1,"a",[2]]`, `[[1,2],[3]]`, `"ab"`, `3`}).Draw(t, "input")
		query, err := gojq.Parse(filter)
		if err != nil {
			t.Fatalf("%s: %v", filter, err)
		}
		plain, err := gojq.Compile(query)
		if err != nil {
			t.Fatalf("%s: %v", filter, err)
		}
		guarded, err := compileFilter(t.Context(), filter)
		if err != nil {
			t.Fatalf("%s: %v", filter, err)
		}
		results := func(code *gojq.Code) string {
			var v any
			if err := json.Unmarshal([]byte(input), &v); err != nil {
				t.Fatal(err)
			}
			var out []string
			for run := code.Run(v); len(out) < 200; {
				v, ok := run.Next()
				if !ok {
					break
				}
				if err, ok := v.(error); ok {
					out = append(out, "error "+err.Error())
					break
				}
				line, err := gojq.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, string(line))
			}
			return strings.Join(out, "\n")
		}
		if want, got := results(plain), results(guarded.code); got != want {
			t.Fatalf("%s on %s:\ngot  %s\nwant %s", filter, input, got, want)
		}
	})
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
	raw := []byte("[" + strings.Join(rows, ",") + "]")
	for _, filter := range []string{
		".[] | select(.price > 50) | .name",
		"map({id, total: (.price * 2 - 1)}) | length",
		"group_by(.kind) | map({kind: .[0].kind, n: length, sum: (map(.price) | add)})",
		"reduce .[] as $r ({}; .[$r.kind] += $r.price)",
	} {
		for _, guarded := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/guarded=%v", filter, guarded), func(b *testing.B) {
				query, err := gojq.Parse(filter)
				if err != nil {
					b.Fatal(err)
				}
				plain, err := gojq.Compile(query)
				if err != nil {
					b.Fatal(err)
				}
				values, err := readValues(raw)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					f, err := compileFilter(b.Context(), filter)
					if err != nil {
						b.Fatal(err)
					}
					if !guarded {
						f.code = plain
					}
					f.inputs.values = values
					if _, err := f.run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
