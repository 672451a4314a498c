package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/lib/jsonschema/jsonschematest"
	"github.com/goclaw/goclaw/internal/llm"
)

var update = flag.Bool("update", false, "write golden files anew")

func canonical(t *testing.T, schema string) json.RawMessage {
	t.Helper()
	raw, err := jsonschema.Canonical([]byte(schema))
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return raw
}

func TestProjectionsOfEveryVendorHold(t *testing.T) {
	t.Parallel()
	for name, d := range Dialects {
		if d != nil {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				jsonschematest.Projects(t, d)
			})
		}
	}
}

// TestRichSchema shows what becomes of one schema that says everything.
func TestRichSchema(t *testing.T) {
	t.Parallel()
	rich, err := os.ReadFile("testdata/schema/rich.json")
	if err != nil {
		t.Fatal(err)
	}
	raw := canonical(t, string(rich))
	for name, d := range Dialects {
		if d == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := d.Project(raw)
			if err != nil {
				t.Fatal(err)
			}
			jsonschematest.Holds(t, d, raw, p)
			var shown bytes.Buffer
			if err := json.Indent(&shown, p.Parameters, "", "  "); err != nil {
				t.Fatal(err)
			}
			shown.WriteString("\n")
			if p.Remark != "" {
				shown.WriteString("\nremark: " + p.Remark + "\n")
			}
			shown.WriteString("\n" + strings.Join(p.Changes, "\n") + "\n")
			golden := filepath.Join("testdata", "schema", "rich."+name+".golden")
			if *update {
				if err := os.WriteFile(golden, shown.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), shown.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// One odd schema never makes a whole request fail: it is made to fit each vendor,
// or its tool is left out with a reason.
func TestOddSchemas(t *testing.T) {
	t.Parallel()
	type want map[string]string // by vendor; what begins with ! is a rule that refuses it
	const nothing = `{"properties":{},"type":"object"}`
	everywhere := func(s string) want {
		return want{"openai": s, Compatible: s, "anthropic": s, "gemini": s, "ollama": s}
	}
	for _, test := range []struct {
		name, in string
		want     want
	}{
		{"nothing to do", `{"type":"object","properties":{"a":{"type":"string","description":"<b>"}},"required":["a"]}`, everywhere(`{"properties":{"a":{"description":"<b>","type":"string"}},"required":["a"],"type":"object"}`)},
		{
			"TC-057 an array without items", `{"type":"object","properties":{"a":{"type":"array"}}}`, want{
				"openai":    `{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`,
				"gemini":    `{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`,
				"anthropic": `{"properties":{"a":{"type":"array"}},"type":"object"}`,
				"ollama":    `{"properties":{"a":{"type":"array"}},"type":"object"}`,
				Compatible:  `{"properties":{"a":{"items":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{},"type":"array"},{"type":"null"}]},"type":"array"}},"type":"object"}`,
			},
		},
		{
			"TC-058 $schema and additionalProperties",
			`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`,
			want{
				"openai": `{"additionalProperties":false,"properties":{"a":{"type":"string"}},"type":"object"}`,
				"gemini": `{"additionalProperties":false,"properties":{"a":{"type":"string"}},"type":"object"}`,
				"ollama": `{"properties":{"a":{"type":"string"}},"type":"object"}`,
			},
		},
		{
			"TC-062 anyOf at the top",
			`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`,
			want{
				"openai": `{"description":"Give one of these sets of fields: a; b.","properties":{"a":{"anyOf":[{"type":"string"},{}]},"b":{"anyOf":[{"type":"string"},{}]}},"type":"object"}`,
				"ollama": `{"properties":{"a":{"anyOf":[{"type":"string"},{}]},"b":{"anyOf":[{"type":"string"},{}]}},"type":"object"}`,
			},
		},
		{
			"forms that are told apart",
			`{"type":"object","oneOf":[{"properties":{"kind":{"const":"file"},"path":{"type":"string"}},"required":["kind","path"],"additionalProperties":false},` +
				`{"properties":{"kind":{"const":"text"},"text":{"type":"string"}},"required":["kind","text"],"additionalProperties":false}]}`,
			want{
				"anthropic": `{"additionalProperties":false,"description":"Give one of these sets of fields: kind, path; kind, text.","properties":{"kind":{"enum":["file","text"]},"path":{"type":"string"},"text":{"type":"string"}},"required":["kind"],"type":"object"}`,
				"gemini":    `{"additionalProperties":false,"description":"Give one of these sets of fields: kind, path; kind, text.","properties":{"kind":{"enum":["file","text"],"type":"string"},"path":{"type":"string"},"text":{"type":"string"}},"required":["kind"],"type":"object"}`,
			},
		},
		{
			"at least one of the fields",
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
			want{"anthropic": `{"description":"Give one of these sets of fields: a; b.","properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`},
		},
		{"TC-065 no properties", `{"type":"object"}`, want{
			"openai": nothing, Compatible: nothing, "ollama": nothing, "anthropic": `{"type":"object"}`, "gemini": `{"type":"object"}`,
		}},
		{"anything at all", `true`, want{"openai": nothing, "anthropic": `{"type":"object"}`}},
		{"an object or nothing", `{"type":["object","null"],"properties":{}}`, everywhere(nothing)},
		{"Go's slices", `{"type":"object","properties":{"a":{"type":["null","array"],"items":{"type":"string"}}}}`, want{
			"gemini":   `{"properties":{"a":{"items":{"type":"string"},"type":["null","array"]}},"type":"object"}`,
			Compatible: `{"properties":{"a":{"anyOf":[{"items":{"type":"string"},"type":"array"},{"type":"null"}]}},"type":"object"}`,
		}},
		{"values of several types", `{"type":"object","properties":{"a":{"enum":["x","",2,null,true]},"b":{"enum":[1,2]}}}`, want{
			"gemini": `{"properties":{"a":{"anyOf":[{"description":"One of \"x\", \"\".","type":"string"},{"enum":[2],"type":"integer"},{"description":"Always true.","type":"boolean"},{"type":"null"}]},"b":{"enum":[1,2],"type":"integer"}},"type":"object"}`,
		}},
		{"what is required is a property", `{"type":"object","properties":{"a":{"type":"object","required":["x","x"]}},"required":["a","b"]}`, want{
			"gemini": `{"properties":{"a":{"properties":{"x":{}},"required":["x"],"type":"object"},"b":{}},"required":["a","b"],"type":"object"}`,
			"ollama": `{"properties":{"a":{"description":"Required: x.","type":"object"}},"required":["a","b"],"type":"object"}`,
		}},
		{"no type", `{"type":"object","properties":{"a":{"description":"Any value."}}}`, want{
			Compatible: `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"items":{},"type":"array"},{"type":"null"}],"description":"Any value."}},"type":"object"}`,
			"gemini":   `{"properties":{"a":{"description":"Any value."}},"type":"object"}`,
		}},
		{"a tree", `{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"object","properties":{"sub":{"type":"array","items":{"$ref":"#/$defs/t"}}}}}}`, want{
			"openai": `{"$defs":{"t":{"properties":{"sub":{"items":{"$ref":"#/$defs/t"},"type":"array"}},"type":"object"}},"properties":{"a":{"$ref":"#/$defs/t"}},"type":"object"}`,
			"gemini": "!$ref", "ollama": "!$ref", Compatible: "!$ref",
		}},
		{"definitions of draft-07", `{"type":"object","properties":{"a":{"$ref":"#/definitions/s","maxLength":3}},"definitions":{"s":{"type":"string"}},"$schema":"http://json-schema.org/draft-07/schema#"}`, want{
			"anthropic": `{"$defs":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/s"}},"type":"object"}`,
			"gemini":    `{"properties":{"a":{"type":"string"}},"type":"object"}`,
		}},
		{"words for what is referred to", `{"type":"object","properties":{"a":{"type":"string","not":{"$ref":"#/$defs/w"}}},"$defs":{"w":{"enum":["x","y"]}}}`, want{
			"openai": `{"$defs":{"w":{"enum":["x","y"]}},"properties":{"a":{"not":{"$ref":"#/$defs/w"},"type":"string"}},"type":"object"}`,
			"gemini": `{"properties":{"a":{"description":"Not one of \"x\", \"y\".","type":"string"}},"type":"object"}`,
		}},
		{"a name that can't be sent", `{"type":"object","properties":{"a b":{"type":"integer"}},"additionalProperties":false}`, want{
			"anthropic": `{"description":"It also takes the field \"a b\": integer.","properties":{},"type":"object"}`,
			"openai":    `{"additionalProperties":false,"properties":{"a b":{"type":"integer"}},"type":"object"}`,
		}},
		{"a name that can't be sent and must be", `{"type":"object","properties":{"a b":{}},"required":["a b"]}`, want{"anthropic": "!properties"}},
		{"nothing fits", `{"type":"object","properties":{"a":{"type":"string"}},"not":{}}`, everywhere("!nothing")},
		{"nothing fits, at a distance", `{"type":"object","allOf":[{"type":"array"}]}`, everywhere("!nothing")},
		{"false", `false`, everywhere("!nothing")},
		{"no object", `{"type":"array"}`, everywhere("!type")},
		{"refers to what isn't there", `{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`, everywhere("!schema")},
		{"refers to itself", `{"$ref":"#"}`, want{"openai": "!$ref", "gemini": "!$ref"}},
		{"too deep", strings.Repeat(`{"type":"object","properties":{"a":`, 60) + "{}" + strings.Repeat("}}", 60), everywhere("!depth")},
		{"too large when written out", doubling(), want{"gemini": "!size", "ollama": "!size", Compatible: "!size"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			raw := canonical(t, test.in)
			for name, want := range test.want {
				d := Dialects[name]
				p, err := d.Project(raw)
				var unfit *jsonschema.UnfitError
				if rule, refused := strings.CutPrefix(want, "!"); refused {
					if !errors.As(err, &unfit) || unfit.Rule != rule || unfit.Reason == "" {
						t.Errorf("%s: %+v, %#v", name, p, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				jsonschematest.Holds(t, d, raw, p)
				if err := accepted(name, p.Parameters); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if got := string(p.Parameters); got != want {
					t.Errorf("%s\n got %s\nwant %s", name, got, want)
				}
			}
		})
	}
}

// accepted asks the fake servers, which refuse what the real ones are known to
// refuse.
func accepted(vendor string, parameters json.RawMessage) error {
	switch vendor {
	case "openai", Compatible:
		return fakellm.CheckRequest(fmt.Appendf(nil, `{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"odd","parameters":%s}}],"messages":[{"role":"user","content":"Hello"}]}`, parameters))
	case "anthropic":
		return fakellm.CheckMessages(fmt.Appendf(nil, `{"model":"m","max_tokens":9,"stream":true,"tools":[{"name":"odd","input_schema":%s}],"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}]}`, parameters))
	}
	return nil
}

// doubling is a small schema that is large when its references are written out.
func doubling() string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/0"}},"$defs":{`)
	for i := range 20 {
		b.WriteString(`"` + string(rune('0'+i)) + `":{"type":"object","properties":{"a":{"$ref":"#/$defs/` + string(rune('1'+i)) +
			`"},"b":{"$ref":"#/$defs/` + string(rune('1'+i)) + `"}}},`)
	}
	return b.String() + `"` + string(rune('0'+20)) + `":{"type":"string"}}}`
}

func TestDialectOfATarget(t *testing.T) {
	t.Parallel()
	all := map[string]Vendor{}
	for _, name := range []string{"openai", "anthropic", "gemini", "ollama", "demo"} {
		all[name] = Vendor{Open: openSilent}
	}
	own := []Settings{
		{Name: "openai", Key: "k"},
		{Name: "azure", Type: "openai", Key: "k", BaseURL: "https://x.openai.azure.com/openai/v1"},
		{Name: "proxy", Type: "openai", Key: "k", BaseURL: "http://10.0.0.5/v1"},
		{Name: "vllm", Type: Compatible, BaseURL: "http://10.0.0.5/v1", Model: "m"},
	}
	full := New(Options{Vendors: all, Providers: own})
	delete(all, "ollama")
	without := New(Options{Vendors: all, Providers: own})
	for _, test := range []struct {
		set            *Set
		provider, want string
	}{
		{full, "openai", "openai"},
		{full, "azure", "openai"},
		{full, "proxy", Compatible},
		{full, "vllm", Compatible},
		{full, "deepseek", Compatible},
		{full, "claude", "anthropic"},
		{full, "gemini", "gemini"},
		{full, "gemini-legacy", "gemini"},
		{full, "ollama", "ollama"},
		{full, "demo", "demo"},
		{full, "nobody", "demo"},
		{full, "", "demo"},
		{without, "ollama", "ollama"}, // by OpenAI's wire, into the same struct
	} {
		if got := test.set.Dialect(llm.Target{Provider: test.provider}); got != Dialects[test.want] {
			t.Errorf("%s: %+v, want that of %s", test.provider, got, test.want)
		}
	}
}

// Agents that ask at the same time get the same.
func TestProjectionsAreShared(t *testing.T) {
	t.Parallel()
	d := Dialects["gemini"]
	schema := []byte(`{"properties":{"a":{"maxLength":3,"type":"string"}},"type":"object"}`)
	got := make([]*jsonschema.Projection, 8)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			p, err := d.Project(schema)
			if err != nil {
				t.Error(err)
			}
			got[i] = p
		})
	}
	all.Wait()
	for _, p := range got {
		if string(p.Parameters) != string(got[0].Parameters) {
			t.Errorf("%s and %s", p.Parameters, got[0].Parameters)
		}
	}
}
