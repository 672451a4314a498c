package jq_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/itchyny/gojq"

	"github.com/goclaw/goclaw/internal/lib/jq"
)

func run(ctx context.Context, query, input string) ([]string, error) {
	q, err := jq.Compile(query)
	if err != nil {
		return nil, err
	}
	v, err := jq.Decode(input)
	if err != nil {
		return nil, err
	}
	var results []string
	err = q.Run(ctx, v, nil, func(v any) bool {
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

// same are queries whose results must be those of the interpreter as it is:
// the checks change nothing.
var same = []string{
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
	`[.list | combinations(2)?] | length`, `.list | any(. > 2), all(. > 0)`, `IN(.list[]; 1, 2)`, `[range(5)] | nth(2)`, `$__prog_args? // 1`,
	`[splits("a";"b")?]`, `walk(if type == "number" then . + 1 else . end)`, `tojson | fromjson | .a`, `"x" | explode | implode`, `.big`, `.big + 1`,
	`env | length`, `$ENV | length`, `ascii_downcase?`, `[.[]?] | length`, `.. |= .`, `input?`, `.a < .list`, `-(.a)`, `"\("\(.a + 1)")"`,
}

const document = `{"a":1,"items":[{"n":2,"s":"one"},{"n":1,"s":"two"},{"n":3,"s":"three"}],"list":[1,2,3],"big":12345678901234567890123}`

func TestChecksChangeNothing(t *testing.T) {
	t.Parallel()
	for _, query := range same {
		tree, err := gojq.Parse(query)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		code, err := gojq.Compile(tree)
		if err != nil {
			continue // not available there either
		}
		input, err := jq.Decode(document)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for it := code.Run(input); ; {
			v, ok := it.Next()
			if !ok {
				break
			}
			if err, failed := v.(error); failed {
				want = append(want, "error: "+err.Error())
				break
			}
			text, err := gojq.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, string(text))
		}
		got, err := run(t.Context(), query, document)
		if err != nil {
			got = append(got, strings.Replace(err.Error(), "jq: ", "error: ", 1))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-interpreter +guarded):\n%s", query, diff)
		}
	}
}

// TestBounds has queries that would take all memory or never end.
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
		{`[foreach range(100000) as $i (.; .[0] = $i)] | length`, "[" + strings.Repeat("0,", 200_000) + "0]"},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("timed out"))
			defer cancel()
			_, err := run(ctx, tt.query, tt.input)
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
		``, `.[`, `_add(1; 2)`, `_multiply("x"; 1e9)`, `_small`, `def _small: .; _small`, `def f($__a): $__a; f(1)`, `1 as $__b | $__b`,
		`input`, `inputs`, `debug`, `halt_error`, `fromstream(tostream)`, `import "a" as a; .`, `nosuch`, `$nosuch`, strings.Repeat(".|", 3000) + ".",
	} {
		if _, err := jq.Compile(query); err == nil {
			t.Errorf("Compile(%.40q): no error", query)
		}
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	cause := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := run(ctx, `range(1e9)`, `null`); !errors.Is(err, cause) {
		t.Errorf("error = %v, want the cause", err)
	}
	q, err := jq.Compile(`range(1e9)`)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := q.Run(t.Context(), nil, nil, func(any) bool { n++; return n < 3 }); err != nil || n != 3 {
		t.Errorf("%d results, %v; want 3 and no error", n, err)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	q, err := jq.Compile(`$all | length`, "$all")
	if err != nil {
		t.Fatal(err)
	}
	err = q.Run(t.Context(), nil, []any{[]any{1, 2}}, func(v any) bool {
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
		`1.50`:                                `1.5`,
		`1e400`:                               `1.7976931348623157e+308`,
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
	for _, query := range same {
		f.Add(query, document)
	}
	f.Fuzz(func(t *testing.T, query, input string) {
		if len(query) > 200 || len(input) > 1000 {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := run(ctx, query, input)
		if errors.Is(err, context.DeadlineExceeded) {
			t.Skip("slow, but stopped")
		}
	})
}

func BenchmarkRun(b *testing.B) {
	var items []string
	for i := range 10_000 {
		items = append(items, fmt.Sprintf(`{"id":%d,"title":"item %d","n":%d}`, i, i, i%7))
	}
	input, err := jq.Decode("[" + strings.Join(items, ",") + "]")
	if err != nil {
		b.Fatal(err)
	}
	for _, query := range []string{`.[] | select(.id == 9999)`, `map(.n) | add`, `group_by(.n) | map({n: .[0].n, count: length})`} {
		b.Run(query, func(b *testing.B) {
			q, err := jq.Compile(query)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := q.Run(b.Context(), input, nil, func(any) bool { return true }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
