package jq_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"
	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/lib/jq"
)

// small limits make hostile queries end soon.
var small = jq.Limits{Steps: 250_000, Memory: 32 << 20}

// roomy is for ordinary queries: other tests of this process use the heap too.
var roomy = jq.Limits{Memory: 1 << 40}

func run(ctx context.Context, limits jq.Limits, query, input string) ([]string, error) {
	q, err := jq.Compile(query, jq.Options{Limits: limits})
	if err != nil {
		return nil, err
	}
	v, err := jq.Decode(input)
	if err != nil {
		return nil, err
	}
	var results []string
	err = q.Run(ctx, jq.Each(v), nil, func(v any) bool {
		text, encodeErr := jq.Encode(v)
		if encodeErr != nil {
			results = append(results, encodeErr.Error())
			return false
		}
		results = append(results, text)
		return len(results) < 1000
	})
	return results, err
}

// ordinary are queries whose results must be those of the interpreter as it is:
// the checks change nothing.
var ordinary = []string{
	`.`, `.a`, `.items[0]`, `.items[-1].n`, `.items[] | select(.n > 1) | .s`, `.items | map(.n) | add`, `[.items[].n] | add / length`,
	`(1,2) * (3,4)`, `(1,2) + (10,20)`, `(1,2) - (10,20)`, `[(1,2) == (1,2)]`, `"ab" * 3`, `{a:1} * {b:{c:2}}`, `[1,2,3,2] - [2]`,
	`.items | sort_by(.n) | reverse | .[0].s`, `.items | group_by(.n % 2) | map(length)`, `.items | unique_by(.n) | length`,
	`.items | min_by(.n), max_by(.n)`, `.a += 1`, `.items[].n *= 2`, `.items[0].s += "!"`, `.list -= [2]`, `.a |= . + 1`, `.b = (1,2)`,
	`.items | to_entries | map(.key)`, `with_entries(.key |= "x" + .)`, `[paths] | length`, `[.. | numbers] | add`,
	`"\(.a) and \(.items[0].s)"`, `@json "x\(.items[0])"`, `.items[0] | @json`, `.list | @csv`, `@base64`, `"abc" | @base64 | @base64d`,
	`.items[0].s | test("^o")`, `"foo bar" | [scan("[a-z]+")]`, `"a1b22" | gsub("[0-9]+"; "#")`, `"a,b" | split(",")`, `"a1b" | split("[0-9]"; null)`,
	`"xyz" | [match("y").offset]`, `"2024-01-02" | capture("(?<y>\\d+)-(?<m>\\d+)")`, `"abc" | sub("(?<x>b)"; "[\(.x)]")`,
	`reduce .list[] as $x (0; . + $x)`, `[foreach .list[] as $x (0; . + $x)]`, `def f(x): x * 2; f(.a + 1)`, `[limit(2; .list[])]`, `first(.list[])`,
	`.list | contains([2]), inside([1,2,3,4]), index(2), indices(2)`, `.list | join("-")`, `[[1,2],[3]] | transpose`, `.missing // "none"`,
	`try error("x") catch .`, `.a as $v | .list | map(. + $v)`, `if .a == 1 then "one" else "other" end`, `[.list[:2], .list[1:]]`,
	`.["a"]`, `."a"`, `.items[.a].s`, `setpath(["x","y"]; 5) | .x`, `getpath(["items",0,"n"])`, `del(.items)`, `delpaths([["a"]]) | has("a")`,
	`[.list | combinations(2)?] | length`, `.list | any(. > 2), all(. > 0)`, `IN(.list[]; 1, 2)`, `[range(5)] | nth(2)`,
	`[splits("a";"b")?]`, `walk(if type == "number" then . + 1 else . end)`, `tojson | fromjson | .a`, `"x" | explode | implode`, `.big`, `.big + 1`,
	`env | length`, `$ENV | length`, `ascii_downcase?`, `[.[]?] | length`, `.. |= .`, `.list[1:] = [9]`, `(.list[1:] | .) = [7]`, `first(.list[.a:]) = 1`, `[path(.items[.a].n, .list[:.a])]`, `del(.list[.a:], .items[.a])`, `(.nothing[1:])? = 1`, `.a < .list`, `-(.a)`, `"\("\(.a + 1)")"`,
}

const document = `{"a":1,"items":[{"n":2,"s":"one"},{"n":1,"s":"two"},{"n":3,"s":"three"}],"list":[1,2,3],"big":12345678901234567890123}`

func TestChecksChangeNothing(t *testing.T) {
	t.Parallel()
	for _, query := range ordinary {
		t.Run(query, func(t *testing.T) { same(t, query, document, 1000) })
	}
}

// TestBounds has queries that would, unguarded, take gigabytes or minutes, or
// never end. What stops them is counted, not timed.
func TestBounds(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("a", 1<<20) + `"`
	tests := []struct{ query, input string }{
		{`[range(1e12)]`, `null`},
		{`range(1e12) | empty`, `null`},
		{`def f: f; f`, `null`},
		{`def f: [f]; f`, `null`},
		{`[repeat(1)]`, `null`},
		{`last(repeat(.))`, `1`},
		{`"x" * 1e9`, `null`},
		{`1e9 * "x"`, `null`},
		{`. *= 1e9`, `"x"`},
		{`reduce range(60) as $i ("x"; . + .)`, `null`},
		{`reduce range(60) as $i ("x"; . += .)`, `null`},
		{`reduce range(60) as $i ([1]; . + .)`, `null`},
		{`reduce range(60) as $i ("x"; "\(.)\(.)")`, `null`},
		{`reduce range(60) as $i ("x"; @json "\(.)\(.)")`, `null`},
		{`reduce range(60) as $i ("x"; [., .] | join(""))`, `null`},
		{`reduce range(60) as $i ("x"; [., .] | add)`, `null`},
		{`reduce range(60) as $i (12345; . * .)`, `null`},
		{`reduce range(60) as $i (0; [., .]) | tojson`, `null`},
		{`reduce range(60) as $i (0; [., .]) | tostring`, `null`},
		{`reduce range(60) as $i (0; [., .]) | @text`, `null`},
		{`reduce range(60) as $i (0; [., .]) | @json`, `null`},
		{`reduce range(60) as $i (0; [., .]) | "\(.)"`, `null`},
		{`reduce range(60) as $i (0; [., .]) | flatten`, `null`},
		{`reduce range(60) as $i (0; [., .])`, `null`},
		{`reduce range(60) as $i (0; {a: ., b: .})`, `null`},
		{`reduce range(60) as $i (0; [., .]) | . as $x | $x == .`, `null`},
		{`reduce range(60) as $i (0; [., .]) | . as $x | [$x, $x] | sort`, `null`},
		{`reduce range(60) as $i (0; [., .]) as $x | [1, 2] | group_by($x)`, `null`},
		{`reduce range(60) as $i (0; [., .]) as $x | [1, 2] | min_by($x)`, `null`},
		{`reduce range(60) as $i (0; [., .]) | contains(.)`, `null`},
		{`reduce range(60) as $i (0; [., .]) | error`, `null`},
		{`reduce range(60) as $i (0; [., .]) | IN(.)`, `null`},
		{`reduce range(2000000) as $i (0; [.])`, `null`},
		{`reduce range(2000000) as $i (0; [.]) | tojson`, `null`},
		{`.[500000000] = 1`, `null`},
		{`.[5e8] |= 1`, `null`},
		{`5e8 as $n | .[$n] = 1`, `null`},
		{`setpath([500000000]; 1)`, `null`},
		{`getpath([500000000]) = 1`, `null`},
		{`nth(500000000) = 1`, `null`},
		{`[range(100000)] | contains([range(100000) | . + 0.5])`, `null`},
		{`[range(100000)] | . - [range(100000) | . + 0.5]`, `null`},
		{`[range(100000)] | indices([range(50000)])`, `null`},
		{`[[range(1000000)], (range(1000000) | [])] | transpose`, `null`},
		{`[match("";"g")]`, long},
		{`test("(a|b|c){500}(a|b|c){500}x")`, long},
		{`test("((((a{10}){10}){10}){10}){10}")`, `"a"`},
		{`. as $x | [range(100000) | $x + "y"] | length`, long},
		{`. as $x | [range(100000) | [$x]] | tojson | length`, long},
		{`. as $x | [range(100000) | $x] | join(",") | length`, long},
		{`[foreach range(100000) as $i (.; .[0] = $i)] | length`, "[" + strings.Repeat("0,", 50_000) + "0]"},
		{`[range(1e9)]`, `null`},
		{`range(1e9)`, `null`},
		{`repeat(1)`, `null`},
		{`last(repeat(1))`, `null`},
		{`reduce range(1e9) as $i (0; . + $i)`, `null`},
		{`until(false; .)`, `null`},
		{`reduce range(60) as $i (1; [., .])`, `null`},
		{`reduce range(60) as $i (1; {a: ., b: .})`, `null`},
		{`reduce range(60) as $i ({}; .a = .b | .b.x = . | .a.y = .)`, `null`},
		{`reduce range(60) as $i ([1]; .[0] = . | .[1] = .)`, `null`},
		{`[limit(60; foreach repeat(1) as $x (1; [., .]))] | tojson`, `null`},
		{`last(limit(60; recurse([., .])))`, `null`},
		{`def f: if length > 60 then . else [., .] | f end; 1 | until(false; [., .])`, `null`},
		{`reduce range(60) as $i (3; . * .)`, `null`},
		{`reduce range(60) as $i (3; . *= .)`, `null`},
		{`"x" * 2e9`, `null`},
		{`("x" * 1e7) as $s | [range(1000) | $s]`, `null`},
		{`("x" * 1e6) as $s | [range(1e5) | ""] | join($s)`, `null`},
		{`("x" * 1e7) | explode`, `null`},
		{`("x" * 1e7) | split("")`, `null`},
		{`("x" * 1e6) | [match("x"; "g")]`, `null`},
		{`("x" * 1e4) | gsub("x"; "y" * 1e5)`, `null`},
		{`("x" * 5e4) | gsub("x"; "y")`, `null`},
		{`("x" * 4000) | range(1e9) as $i | gsub("x"; "y") | empty`, `null`},
		{`("x" * 1e6) | test("(x{1000}){1}(x{1000})y")`, `null`},
		{`.[5e8] = 1`, `null`},
		{`.[500000000:] = [1] | .[400000000] = 1`, `null`},
		{`setpath([5e8]; 1)`, `null`},
		{`getpath([5e8]) = 1`, `null`},
		{`nth(5e8) = 1`, `null`},
		{`fromstream([[5e8], 1], [[5e8]])`, `null`},
		{`[range(1e5)] as $a | $a - $a`, `null`},
		{`[range(1e5)] as $a | $a | . -= $a`, `null`},
		{`[range(1e5)] as $a | $a | contains($a)`, `null`},
		{`[range(1e5) | 0] as $a | $a | indices($a[1:])`, `null`},
		{`[range(1e5) | 0] as $a | $a | .[$a[1:]]`, `null`},
		{`[range(1e5) | 0] as $a | [$a] + [range(1e4) | []] | transpose`, `null`},
		{`("9" * 1e6) | tonumber`, `null`},
		{`("9" * 1e6) | fromjson`, `null`},
		{`now | strftime("%1000d" * 100000)`, `null`},
		{`[range(1e5)] as $a | add(range(1e3) | $a)`, `null`},
		{`("x" * 1e6) as $s | add(range(1e5) | $s)`, `null`},
		{`[range(1e5)] as $a | [range(1e3)] | sort_by($a)`, `null`},
		{`[range(1e5)] as $a | [range(1e3)] | unique_by($a) | length`, `null`},
		{`[range(1e5)] as $a | [range(100)] | walk(if type == "array" then tojson else $a end)`, `null`},
		{`[range(1e5)] as $a | [range(100)] | walk(if type == "array" then . == . else $a end)`, `null`},
		{`[range(1e5)] as $a | [range(1e3)] | map($a)`, `null`},
		{`[range(1e5)] as $a | [range(1e3)] | map_values($a)`, `null`},
		{`[range(1e5)] as $a | INDEX(range(1e4) | [., $a]; .[0])`, `null`},
		{`("x" * 1e7) / ""`, `null`},
		{`("x" * 1e7) | . /= ""`, `null`},
		{`"x" * 1e7 | "\(.)\(.)\(.)\(.)\(.)\(.)\(.)\(.)\(.)"`, `null`},
		{`"x" * 1e7 | @html "\(.)\(.)\(.)\(.)\(.)\(.)\(.)\(.)\(.)\(.)\(.)\(.)"`, `null`},
		{`[range(5e4)] as $a | [range(1e4) | $a + [.]]`, `null`},
		{`[range(5e4)] as $a | [range(1e4) | $a | .[0] = 1]`, `null`},
		{`[range(5e4)] as $a | [range(1e4) | $a | map(.)]`, `null`},
		{`[range(5e4)] as $a | [range(1e4) | $a | reverse]`, `null`},
		{`[range(5e4)] as $a | range(1e9) | $a | tojson | empty`, `null`},
		{`[range(5e4)] as $a | range(1e9) | $a == $a | empty`, `null`},
		{`[range(5e4)] as $a | [$a[] as $b | $a[] as $c | $a[] as $d | 1]`, `null`},
		{`def f($a): $a[] as $x | f($a); [range(5e4)] as $a | f($a)`, `null`},
		{`("x" * 1e6) as $s | reduce range(1e9) as $i (0; . + ($s[$i:] | length))`, `null`},
		{`("x" * 1e6) as $s | reduce range(1e9) as $i (0; . + ($s | length))`, `null`},
		{`[range(5e4) | 0] as $a | reduce range(1e9) as $i (0; $a | contains([1]) | 0)`, `null`},
		{`last(inputs, repeat(1))`, `null`},
		{`path(repeat(.))`, `null`},
		{`[paths] | [repeat(1)] | length`, `null`},
		{`[range(1e5)] as $a | [$a, $a, $a, $a] | combinations | empty`, `null`},
		{`[range(1e5)] as $a | [limit(100; repeat($a))] | combinations | empty`, `null`},
		{`"[" * 1e6 | fromjson`, `null`},
		{`"[]," * 5e6 | "[" + . + "0]" | fromjson`, `null`},
		{`. as [$x] | {} | .[[range(1000)]] = 1`, `null`},
		{`[range(1e5)] | .[[range(1e4)]]`, `null`},
		{`[range(1e5)] as $a | $a | . as {(range(1e4) | $a): $x} | $x`, `null`},
		{`setpath([range(20000)]; 1)`, `null`},
		{`("x" * 1e6) | ltrimstr("x") | splits("")`, `null`},
		{`("x" * 4000) | gsub(""; "yyyy") | gsub(""; "y") | gsub(""; "y")`, `null`},
		{`[limit(1e9; range(1e9))]`, `null`},
		{`until(. > 1e12; . + 1)`, `null`},
		{`[range(1e6) | tostring] | add | explode | implode | ascii_downcase | @base64 | @uri`, `null`},
		{`[range(3e4) | {key: tostring, value: .}] | from_entries | [range(1e5) as $i | . + {a: $i}]`, `null`},
		{`[range(1e9) as $x | {a: $x, b: {c: $x}}]`, `null`},
		{`reduce range(1e9) as $i (""; . + "0123456789")`, `null`},
		{`reduce range(1e9) as $i ([]; . + [$i])`, `null`},
		{`reduce range(1e9) as $i ({}; .["\($i)"] = $i)`, `null`},
		{`reduce range(1e9) as $i ([]; .[$i] = $i)`, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("timed out"))
			defer cancel()
			q, err := jq.Compile(tt.query, jq.Options{Limits: small})
			if err != nil {
				if !strings.Contains(err.Error(), "digits") {
					t.Fatal(err)
				}
				return
			}
			v, err := jq.Decode(tt.input)
			if err != nil {
				t.Fatal(err)
			}
			err = q.Run(ctx, jq.Each(v), nil, func(any) bool { return true })
			if err == nil {
				t.Error("no error")
			} else if ctx.Err() != nil {
				t.Errorf("only the time limit ended it: %v", err)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, query := range []string{
		``, `.[`, `_add(1; 2)`, `_multiply("x"; 1e9)`, `_ok_whole`, `def _ok_whole: .; _ok_whole`, `def f($__a): $__a; f(1)`, `1 as $__b | $__b`,
		`debug`, `debug(1)`, `halt_error`, `stderr`, `modulemeta`, `input_filename`, `include "a"; .`, `. as {$_l} | 1`, `import "a" as a; .`, `nosuch`, `$nosuch`, strings.Repeat(".|", 3000) + ".",
	} {
		if _, err := jq.Compile(query, jq.Options{}); err == nil {
			t.Errorf("Compile(%.40q): no error", query)
		}
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	cause := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := run(ctx, roomy, `range(1e9)`, `null`); !errors.Is(err, cause) {
		t.Errorf("error = %v, want the cause", err)
	}
	q, err := jq.Compile(`range(1e9)`, jq.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := q.Run(t.Context(), jq.Each(nil), nil, func(any) bool { n++; return n < 3 }); err != nil || n != 3 {
		t.Errorf("%d results, %v; want 3 and no error", n, err)
	}
}

// TestStopsBetween cancels a run that gives no results any more.
func TestStopsBetween(t *testing.T) {
	t.Parallel()
	cause := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	q, err := jq.Compile(`1, (range(1e12) | empty)`, jq.Options{Limits: jq.Limits{Steps: 1 << 60, Memory: 1 << 40}})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Run(ctx, jq.Each(nil), nil, func(any) bool { cancel(cause); return true }); !errors.Is(err, cause) {
		t.Errorf("error = %v, want the cause", err)
	}
}

// TestInputs has several values, and an error among them.
func TestInputs(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for query, want := range map[string]string{
		`. * 2`:                          `2 4 6`,
		`[., inputs]`:                    `[1,2,3]`,
		`[., input]`:                     `[1,2] jq: input 3: there is no more input`,
		`if . > 1 then error else . end`: `1 jq: input 2: error: 2`,
		`first(inputs)`:                  `2`,
	} {
		q, err := jq.Compile(query, jq.Options{Limits: roomy})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		err = q.Run(t.Context(), jq.Each(1, 2, 3), nil, func(v any) bool { got = append(got, encode(v)); return true })
		if err != nil {
			got = append(got, err.Error())
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: got %s, want %s", query, text, want)
		}
	}
	for _, query := range []string{`.`, `[., (try input catch 0)]`, `[., inputs]`} {
		q, err := jq.Compile(query, jq.Options{Limits: roomy})
		if err != nil {
			t.Fatal(err)
		}
		err = q.Run(t.Context(), func(yield func(any, error) bool) { _ = yield(1, nil) && yield(nil, broken) }, nil, func(any) bool { return true })
		if !errors.Is(err, broken) {
			t.Errorf("%s: got %v", query, err)
		}
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	q, err := jq.Compile(`$all | length`, jq.Options{Variables: []string{"$all"}})
	if err != nil {
		t.Fatal(err)
	}
	err = q.Run(t.Context(), jq.Each(nil), []any{[]any{1, 2}}, func(v any) bool {
		if v != 2 {
			t.Errorf("got %v, want 2", v)
		}
		return true
	})
	if err != nil {
		t.Error(err)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`9007199254740993`:                    `9007199254740993`,
		`123456789012345678901`:               `123456789012345678901`,
		`-0`:                                  `0`,
		`1.50`:                                `1.50`,
		`1e400`:                               `1e400`,
		`{"a":1,"a":2}`:                       `{"a":2}`,
		`"\u00e9\ud83d"`:                      `"é` + "\ufffd" + `"`,
		`[` + strings.Repeat("9", 2000) + `]`: `[1.7976931348623157e+308]`,
	} {
		v, err := jq.Decode(in)
		if err != nil {
			t.Errorf("Decode(%.30s): %v", in, err)
			continue
		}
		if got, err := jq.Encode(v); got != want || err != nil {
			t.Errorf("Decode(%.30s) = %s, %v, want %s", in, got, err, want)
		}
	}
	for _, in := range []string{``, `{`, `1 2`, `[1,]`, strings.Repeat("[", 100_000)} {
		if _, err := jq.Decode(in); err == nil {
			t.Errorf("Decode(%.30q): no error", in)
		}
	}
}

func FuzzRun(f *testing.F) {
	for _, query := range ordinary {
		f.Add(query, document)
	}
	f.Fuzz(func(t *testing.T, query, input string) {
		if len(query) > 200 || len(input) > 1000 {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := run(ctx, small, query, input)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Skip("slow, but stopped")
		}
	})
}

// TestGuardKeepsMeaning says that checks change what a query can't do, not what
// it does.
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
		"((%s) / (%s))?", "(.a /= (%s))? | %s", "[(%s) < (%s)]", "sort_by(%s)? | %s", "group_by(%s)? | %s", "[min_by(%s)?, unique_by(%s)?]", "add(%s)? | %s",
		"(.[1:] | %s)? | %s", "IN(%s; %s)", "[gsub(\"x\"; %s)?] | %s", "(.[%s:])? | %s", "[.[]? as [$x] | %s, %s]", "def map(f): f; map(%s) | %s",
		"def split(f): [f]; split(%s), (%s)", "def length: 5; %s | %s", "[tostream?, %s] | %s", "[limit(2; combinations(2)?), %s] | %s",
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
		query := draw(3)
		input := rapid.SampledFrom([]string{`null`, `{"a":1,"b":[1,2]}`, `{"a":"x","b":{"a":2}}`, `[1,"a",[2]]`, `[[1,2],[3]]`, `"ab"`, `3`}).Draw(t, "input")
		same(t, query, input, 200)
	})
}

// same compares the results of a query with those of the interpreter.
func same(t interface {
	Helper()
	Fatalf(string, ...any)
	Context() context.Context
}, query, input string, most int,
) {
	t.Helper()
	tree, err := gojq.Parse(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	code, err := gojq.Compile(tree)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	v, err := jq.Decode(input)
	if err != nil {
		t.Fatalf("%s: %v", input, err)
	}
	var want, got []string
	for it := code.Run(v); len(want) < most; {
		v, ok := it.Next()
		if !ok {
			break
		}
		if err, failed := v.(error); failed {
			want = append(want, "jq: "+err.Error())
			break
		}
		want = append(want, encode(v))
	}
	q, err := jq.Compile(query, jq.Options{Limits: roomy})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	err = q.Run(t.Context(), jq.Each(v), nil, func(v any) bool {
		got = append(got, encode(v))
		return len(got) < most
	})
	if err != nil {
		got = append(got, err.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s on %s (-interpreter +guarded):\n%s", query, input, diff)
	}
}

func encode(v any) string {
	text, err := jq.Encode(v)
	if err != nil {
		return err.Error()
	}
	return text
}

// BenchmarkRun compares with the interpreter as it is.
func BenchmarkRun(b *testing.B) {
	var rows []string
	for i := range 10_000 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"name %d","kind":"k%d","tags":["a","b"],"price":%d.5}`, i, i, i%7, i%100))
	}
	input, err := jq.Decode("[" + strings.Join(rows, ",") + "]")
	if err != nil {
		b.Fatal(err)
	}
	for _, query := range []string{
		`.[] | select(.id == 9999)`,
		`.[] | select(.price > 50) | .name`,
		`map(.id) | add`,
		`map({id, total: (.price * 2 - 1)}) | length`,
		`group_by(.kind) | map({kind: .[0].kind, n: length, sum: (map(.price) | add)})`,
		`reduce .[] as $r ({}; .[$r.kind] += $r.price)`,
		`INDEX(.id) | length`,
	} {
		b.Run(query+"/plain", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tree, err := gojq.Parse(query)
				if err != nil {
					b.Fatal(err)
				}
				code, err := gojq.Compile(tree)
				if err != nil {
					b.Fatal(err)
				}
				for it := code.RunWithContext(b.Context(), input); ; {
					if _, ok := it.Next(); !ok {
						break
					}
				}
			}
		})
		b.Run(query+"/guarded", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q, err := jq.Compile(query, jq.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if err := q.Run(b.Context(), jq.Each(input), nil, func(any) bool { return true }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestEveryFunctionHasARule fails when the interpreter learns a function that
// nobody has judged.
func TestEveryFunctionHasARule(t *testing.T) {
	t.Parallel()
	refused := []string{"debug/1", "halt_error/0", "halt_error/1", "modulemeta/0"}
	tree, err := gojq.Parse(`builtins | sort[]`)
	if err != nil {
		t.Fatal(err)
	}
	var without []string
	for it := tree.Run(nil); ; {
		v, ok := it.Next()
		if !ok {
			break
		}
		name, arity, _ := strings.Cut(v.(string), "/")
		n, err := strconv.Atoi(arity)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			name += "(" + strings.Repeat("1;", n-1) + "1)"
		}
		if _, err := jq.Compile(name, jq.Options{}); err != nil {
			without = append(without, v.(string))
		}
	}
	if diff := cmp.Diff(refused, without); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}
