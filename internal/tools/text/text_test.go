package text

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// kept holds results under refs, as the engine's spill does.
type kept map[string][]byte

var errNoRef = errors.New("no such ref in this session")

func (k kept) Read(_ context.Context, _ tool.Scope, ref string) ([]byte, error) {
	raw, ok := k[ref]
	if !ok {
		return nil, errNoRef
	}
	return raw, nil
}

// fixture builds the family and calls its tools as the engine does: with
// arguments that fit the schema.
type fixture struct {
	tools map[string]tool.Tool
	refs  kept
}

func newFixture(tb testing.TB) fixture {
	tb.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		tb.Fatal(err)
	}
	// A Friday, as clocks give it.
	now := time.Date(2026, 3, 27, 15, 4, 5, 347_571_120, berlin)
	f := fixture{tools: map[string]tool.Tool{}, refs: kept{}}
	tools, err := Family(f.refs, func() time.Time { return now }).Build(func(any) error { return nil })
	if err != nil {
		tb.Fatal(err)
	}
	for _, t := range tools {
		f.tools[t.Definition().Name] = t
	}
	return f
}

func (f fixture) call(ctx context.Context, name string, args map[string]any) (tool.Result, error) {
	t := f.tools[name]
	raw, err := json.Marshal(args)
	if err != nil {
		return tool.Result{}, err
	}
	schema, err := jsonschema.Compile(t.Definition().Parameters)
	if err != nil {
		return tool.Result{}, err
	}
	v, err := jsonschema.Decode(raw)
	if err != nil {
		return tool.Result{}, err
	}
	if faults := schema.Validate(v); faults != nil {
		return tool.Result{}, fmt.Errorf("arguments: %v", faults)
	}
	return t.Execute(ctx, tool.Call{Args: raw})
}

// text gives the result as the model sees it, errors as "error: …".
func (f fixture) text(tb testing.TB, name string, args map[string]any) string {
	tb.Helper()
	r, err := f.call(tb.Context(), name, args)
	if err != nil {
		return "error: " + err.Error()
	}
	if _, err := json.Marshal(r.Details); err != nil {
		tb.Errorf("%s: details: %v", name, err)
	}
	return llm.JoinText(r.Content)
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	want := []string{"calc", "datetime", "json_transform", "regex", "text_utils"}
	total := 0
	for _, name := range want {
		def := f.tools[name].Definition()
		if !def.Internal || !def.ReadOnly || !tool.ValidName(def.Name) {
			t.Errorf("%s: traits %+v", name, def.Traits)
		}
		if n := len(def.Description); n < 100 || n > 450 {
			t.Errorf("%s: the description has %d bytes", name, n)
		}
		if !strings.Contains(def.Description, "Example: ") {
			t.Errorf("%s: the description has no example", name)
		}
		total += len(def.Description) + len(def.Parameters)
	}
	// All tools share 12 KiB with the system prompt.
	if total > 3400 {
		t.Errorf("the definitions have %d bytes", total)
	}
	if len(f.tools) != len(want) {
		t.Errorf("got %d tools", len(f.tools))
	}
}

// The examples in the descriptions must work.
func TestExamplesWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.refs["…"] = []byte(`{"items":[{"name":"a","price":12,"x":1},{"name":"b","price":3}]}`)
	for name, want := range map[string]string{
		"datetime":       "2026-04-03T17:00:00+02:00",
		"json_transform": `[{"name":"a","price":12}]`,
		"regex":          "20-10",
		"text_utils":     "characters 1, words 1, lines 1, bytes 3",
	} {
		_, example, _ := strings.Cut(f.tools[name].Definition().Description, "Example: ")
		var args map[string]any
		if err := json.NewDecoder(strings.NewReader(example)).Decode(&args); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := f.text(t, name, args); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	_, example, _ := strings.Cut(f.tools["calc"].Definition().Description, "Example: ")
	if got := f.text(t, "calc", map[string]any{"expression": example}); got != "201.5 minutes" {
		t.Errorf("calc: got %s", got)
	}
}

func TestRefs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.refs["0123456789abcdef"] = []byte(`{"a":[1,2]}`)
	f.refs["large"] = make([]byte, maxInput+1)
	tests := []struct {
		name string
		args map[string]any
		want string
	}{
		{"json_transform", map[string]any{"filter": ".a[1]", "ref": "0123456789abcdef"}, "2"},
		{"regex", map[string]any{"pattern": `\d`, "ref": "0123456789abcdef"}, "2 matches"},
		{"json_transform", map[string]any{"filter": ".", "ref": "none"}, "error: no such ref in this session"},
		{"regex", map[string]any{"pattern": ".", "ref": "none"}, "error: no such ref in this session"},
		{"json_transform", map[string]any{"filter": ".", "ref": "large"}, "error: read large: it has 16777217 bytes"},
		{"json_transform", map[string]any{"filter": "."}, "error: give json, or ref for a result that is kept"},
		{"json_transform", map[string]any{"filter": ".", "json": 1, "ref": "none"}, "error: give json or ref, not both"},
		{"regex", map[string]any{"pattern": "."}, "error: give text, or ref"},
		{"regex", map[string]any{"pattern": ".", "text": "", "ref": "none"}, "error: give text or ref, not both"},
	}
	for _, tt := range tests {
		if got := f.text(t, tt.name, tt.args); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s %v: got %s, want %s", tt.name, tt.args, got, tt.want)
		}
	}
	if _, err := f.call(t.Context(), "regex", map[string]any{"pattern": ".", "ref": "none"}); !errors.Is(err, errNoRef) {
		t.Errorf("the error of the contract is lost: %v", err)
	}
}

func TestTextUtils(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tests := []struct{ op, text, want string }{
		{"count", "", "characters 0, words 0, lines 0, bytes 0"},
		{"count", "zwei Wörter\n", "characters 12, words 2, lines 1, bytes 13"},
		{"count", "a\n\nb", "characters 4, words 2, lines 3, bytes 4"},
		{"count", "👩‍👩‍👧e\u0301", "characters 2, words 1, lines 1, bytes 21, code points 7"},
		{"upper", "straße", "STRASSE"},
		{"lower", "ÄB", "äb"},
		{"title", "hello wOrld", "Hello World"},
		{"trim", " \ta b\n", "a b"},
		{"slug", "  Crème brûlée & Größe — it's 50%! ", "creme-brulee-grosse-its-50"},
		{"slug", "", ""},
		{"slug", "日本", "error: slug: nothing in it is a Latin letter or a digit"},
		{"sort_lines", "b\na\nC\n", "C\na\nb\n"},
		{"sort_lines", "b\r\na", "a\r\nb"},
		{"unique_lines", "a\nb\na\n\nb\n\n", "a\nb\n\n"},
		{"reverse_lines", "1\n2\n3", "3\n2\n1"},
		{"number_lines", "a\nb\n", "1  a\n2  b\n"},
		{"reverse", "abé", "éba"},
		{"base64_encode", "hallö", "aGFsbMO2"},
		{"base64_decode", "aGFs\nbMO2", "hallö"},
		{"base64_decode", "_-8=", "error: base64_decode: the decoded bytes are not text (invalid UTF-8)"},
		{"base64_decode", "a!", "error: base64_decode: illegal base64 data"},
		{"url_encode", "a b&c/é", "a+b%26c%2F%C3%A9"},
		{"url_decode", "a+b%26", "a b&"},
		{"url_decode", "%zz", "error: url_decode: invalid URL escape"},
		{"hex_encode", "é", "c3a9"},
		{"hex_decode", "0xC3 a9", "é"},
		{"hex_decode", "c", "error: hex_decode: encoding/hex: odd length"},
		{"html_escape", `<a href="x">&`, "&lt;a href=&#34;x&#34;&gt;&amp;"},
		{"html_unescape", "&lt;&eacute;&#128512;", "<é😀"},
		{"json_escape", "a\"<\n", `"a\"<\n"`},
		{"json_unescape", `a\"\u00e9`, `a"é`},
		{"json_unescape", `"a\n"`, "a\n"},
		{"json_unescape", `a"b`, "error: json_unescape: invalid character"},
		{"sha256", "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"md5", "", "d41d8cd98f00b204e9800998ecf8427e"},
		{"nfc", "e\u0301", "é"},
	}
	for _, tt := range tests {
		if got := f.text(t, "text_utils", map[string]any{"op": tt.op, "text": tt.text}); got != tt.want && !(strings.HasPrefix(tt.want, "error") && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s %q: got %q, want %q", tt.op, tt.text, got, tt.want)
		}
	}
}

// The schema names exactly the operations there are, and one that isn't there
// gets the nearest.
func TestTextUtilsNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	def := f.tools["text_utils"].Definition()
	var schema struct {
		Properties struct {
			Op struct{ Enum []string }
		}
	}
	if err := json.Unmarshal(def.Parameters, &schema); err != nil {
		t.Fatal(err)
	}
	var have []string
	for name := range operations {
		have = append(have, name)
	}
	slices.Sort(have)
	slices.Sort(schema.Properties.Op.Enum)
	if !slices.Equal(have, schema.Properties.Op.Enum) {
		t.Errorf("the schema has %q, the tool %q", schema.Properties.Op.Enum, have)
	}
	if got := f.text(t, "text_utils", map[string]any{"op": "uppper", "text": "a"}); !strings.Contains(got, `did you mean "upper"?`) {
		t.Errorf("got %s", got)
	}
	_, err := f.tools["text_utils"].Execute(t.Context(), tool.Call{Args: json.RawMessage(`{"op":"sort","text":"a"}`)})
	if err == nil || !strings.Contains(err.Error(), "did you mean sort_lines") {
		t.Errorf("got %v", err)
	}
}
