package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/tool"
)

func show[T any](t interface{ Context() context.Context }, v T) (text, details string, err error) {
	give := tool.New(tool.Definition{Name: "give"}, func(context.Context, tool.Call, struct{}) (T, error) { return v, nil })
	r, err := give.Execute(t.Context(), tool.Call{})
	if err != nil {
		return "", "", err
	}
	raw, err := json.Marshal(r.Details)
	return r.Content[0].Text, string(raw), err
}

type base struct {
	ID    int     `json:"id"`
	Score float64 `json:"score"`
}

type hidden struct {
	Rate  float32 `json:"rate,omitempty"`
	Empty float64 `json:"empty,omitempty"`
}

// level encodes itself.
type level float64

func (l level) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "level %v", float64(l)), nil }

type reading struct {
	base
	*hidden
	Time    time.Time          `json:"time"`
	Level   level              `json:"level"`
	Row     []any              `json:"row"`
	ByName  map[string]float64 `json:"by_name"`
	ByNum   map[int]any        `json:"by_num,omitempty"`
	Pointer *float64           `json:"pointer"`
	Nil     *float64           `json:"nil"`
	Quoted  float64            `json:"quoted,string"`
	Pair    [2]float64
	Raw     json.RawMessage `json:"raw"`
	Skipped float64         `json:"-"`
	secret  float64
}

func TestFloatsWithoutNumeralsAreSpelled(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	full := reading{
		base: base{1, nan}, hidden: &hidden{Rate: float32(-inf)}, Time: time.Unix(0, 0).UTC(), Level: level(nan),
		Row: []any{1, "x", nan, nil, []float64{inf, 2.5}}, ByName: map[string]float64{"b": nan, "a": 1}, ByNum: map[int]any{3: inf},
		Pointer: &nan, Quoted: inf, Pair: [2]float64{-inf, 0}, Raw: json.RawMessage(`{"x":1.50}`), Skipped: nan, secret: nan,
	}
	text, details, err := show(t, full)
	want := `{"id":1,"score":"NaN","rate":"-Infinity","time":"1970-01-01T00:00:00Z","level":"level NaN",` +
		`"row":[1,"x","NaN",null,["Infinity",2.5]],"by_name":{"a":1,"b":"NaN"},"by_num":{"3":"Infinity"},` +
		`"pointer":"NaN","nil":null,"quoted":"Infinity","Pair":["-Infinity",0],"raw":{"x":1.50}}`
	// The encoder writes raw JSON compactly and unchanged.
	if err != nil || text != want || details != want {
		t.Errorf("got  %s\nwant %s\ndetails %s, %v", text, want, details, err)
	}
	for _, tt := range []struct {
		v    any
		want string
	}{
		{nan, `"NaN"`},
		{[]float64{1, -inf}, `[1,"-Infinity"]`},
		{&struct{ A any }{map[string]any{"<": nan}}, `{"A":{"<":"NaN"}}`},
		{[]*base{{1, 2}, {3, nan}}, `[{"id":1,"score":2},{"id":3,"score":"NaN"}]`},
		{struct {
			base
			B base
		}{base{1, 2}, base{3, nan}}, `{"id":1,"score":2,"B":{"id":3,"score":"NaN"}}`},
		{map[string]base{"x": {1, nan}}, `{"x":{"id":1,"score":"NaN"}}`},
	} {
		if text, _, err := show(t, tt.v); err != nil || text != tt.want {
			t.Errorf("%v: got %s, %v, want %s", tt.v, text, err, tt.want)
		}
	}
	loop := map[string]any{"x": nan}
	loop["loop"] = loop
	if _, _, err := show(t, loop); err == nil {
		t.Error("a value that holds itself is encoded")
	}
	if _, _, err := show(t, any(func() {})); err == nil {
		t.Error("a function is encoded")
	}
}

// TestSpellingChangesNothingElse compares with the same value in which the
// strings stand already.
func TestSpellingChangesNothingElse(t *testing.T) {
	t.Parallel()
	spelling := map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}
	var value func(depth int) *rapid.Generator[[2]any] // with floats, with strings
	value = func(depth int) *rapid.Generator[[2]any] {
		return rapid.Custom(func(t *rapid.T) [2]any {
			kinds := []string{"float", "special", "text", "null", "list", "map", "struct"}
			if depth == 0 {
				kinds = kinds[:4]
			}
			item := func() [2]any { return value(depth-1).Draw(t, "item") }
			switch rapid.SampledFrom(kinds).Draw(t, "kind") {
			case "float":
				f := rapid.Float64Range(-1e9, 1e9).Draw(t, "f")
				return [2]any{f, f}
			case "special":
				s := rapid.SampledFrom([]string{"NaN", "Infinity", "-Infinity"}).Draw(t, "s")
				return [2]any{spelling[s], s}
			case "text":
				s := rapid.String().Draw(t, "s")
				return [2]any{s, s}
			case "list":
				var a, b []any
				for range rapid.IntRange(1, 3).Draw(t, "n") {
					v := item()
					a, b = append(a, v[0]), append(b, v[1])
				}
				return [2]any{a, b}
			case "map":
				a, b := map[string]any{}, map[string]any{}
				for _, k := range rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "keys") {
					v := item()
					a[k], b[k] = v[0], v[1]
				}
				return [2]any{a, b}
			case "struct":
				type node struct {
					First any  `json:"first"`
					Next  *any `json:"next,omitempty"`
				}
				v, w := item(), item()
				return [2]any{node{v[0], &w[0]}, &node{v[1], &w[1]}}
			}
			return [2]any{}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "v")
		got, _, err := show(t, v[:1])
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := show(t, v[1:])
		if err != nil || got != want {
			t.Fatalf("got  %s\nwant %s, %v", got, want, err)
		}
	})
}

func TestValidName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a": true, "shell": true, "file_read": true, "a1_": true, strings.Repeat("a", 64): true,
		"": false, "_a": false, "1a": false, "Shell": false, "file-read": false, "a.b": false, "a b": false, "ä": false, "aé": false,
		"a\n": false, "\x00": false, strings.Repeat("a", 65): false,
	} {
		if tool.ValidName(name) != want {
			t.Errorf("ValidName(%q) = %v", name, !want)
		}
	}
	pattern := regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	names := rapid.OneOf(rapid.StringMatching(`[a-z_0-9A-Z]{0,3}[a-z0-9_]{0,66}`), rapid.StringMatching(`[a-z][a-z0-9_]{60,66}`), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		name := names.Draw(t, "name")
		if got, want := tool.ValidName(name), pattern.MatchString(name); got != want {
			t.Fatalf("ValidName(%q) = %v, the pattern says %v", name, got, want)
		}
	})
}

func BenchmarkResult(b *testing.B) {
	for name, score := range map[string]float64{"ordinary": 1, "spelled": math.NaN()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := show(b, []base{{1, 2}, {3, score}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
