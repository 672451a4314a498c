package surface_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// plainSpeaker takes little and has no place for a description at the top.
var plainSpeaker = &jsonschema.Dialect{
	Name: "plain", Top: []string{"type", "properties"}, Below: []string{"type", "description", "properties", "items"},
	Properties: true, NoBooleans: true,
}

// dialects gives plainSpeaker to the providers that are named so.
func dialects(t llm.Target) *jsonschema.Dialect {
	if t.Provider == plainSpeaker.Name {
		return plainSpeaker
	}
	return nil
}

// schemas is a catalog of tools with these parameters.
func schemas(t *testing.T, byName map[string]string) *tool.Catalog {
	t.Helper()
	r := tool.NewRegistry()
	for name, schema := range byName {
		def := tool.Definition{Name: name, Description: "Does it.", Parameters: json.RawMessage(schema)}
		if notes := r.Add(family, &fake{def}); len(notes) > 0 {
			t.Fatalf("%s: %+v", schema, notes)
		}
	}
	return r.Catalog()
}

func TestSchemaLayer(t *testing.T) {
	t.Parallel()
	cat := schemas(t, map[string]string{
		"fits":  `{"type":"object","properties":{"a":{"type":"string"}}}`,
		"made":  `{"type":"object","properties":{"a":{"type":"string","maxLength":3}},"minProperties":1}`,
		"never": `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":{"$ref":"#/$defs/a"}}}}`,
		"array": `{"type":"array"}`,
	})
	d := surface.New(surface.Policies{}, nil)
	d.SetDialects(dialects)
	scope := tool.NewScope(tool.Facts{Caller: admin})
	dec := d.Decide(t.Context(), cat, scope, llm.Target{Provider: "plain", Model: "m", Tools: true})
	if got, want := tool.Names(dec.Permitted), []string{"fits", "made"}; !cmp.Equal(got, want) {
		t.Fatalf("permitted %v", got)
	}
	fits, made := dec.Permitted[0], dec.Permitted[1]
	if own, _ := cat.Find("fits"); fits != own {
		t.Errorf("what needs no change is not the tool as it was registered: %+v", fits)
	}
	wantSpec := llm.ToolSpec{
		Name: "made", Description: "Does it.\n\nAt least 1 field.",
		Parameters: json.RawMessage(`{"properties":{"a":{"description":"At most 3 characters.","type":"string"}},"type":"object"}`),
	}
	if diff := cmp.Diff(wantSpec, made.Spec); diff != "" {
		t.Error(diff)
	}
	if want := []string{"plain: minProperties moved to the description", "plain: maxLength of a moved to its description"}; !cmp.Equal(made.Changes, want) {
		t.Errorf("changes %q", made.Changes)
	}
	// Calls are held against the tool's own schema all the same.
	if v, err := jsonschema.Decode([]byte(`{"a":"long"}`)); err != nil || made.Schema.Validate(v) == nil {
		t.Error("a call is judged by what was shown")
	}
	for name, want := range map[string]tool.Removal{
		"never": {
			Tool: "never", Layer: "schema", Rule: "plain/$ref",
			Reason: "its parameter schema can't be shown to plain: it contains itself (#/$defs/a), and plain takes no references",
			Fix:    "ask whoever made never for a schema without that, or use another provider",
		},
		"array": {
			Tool: "array", Layer: "schema", Rule: "plain/type",
			Reason: "its parameter schema can't be shown to plain: arguments are an object, and its type is array",
			Fix:    "ask whoever made array for a schema without that, or use another provider",
		},
	} {
		if got, _ := dec.Removal(name); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}

	// Who takes anything, and a call that no model makes, see tools as they are.
	for _, target := range []llm.Target{{Provider: "other", Model: "m", Tools: true}, {}} {
		dec := d.Decide(t.Context(), cat, scope, target)
		for i, e := range dec.Permitted {
			if e != cat.Entries[i] {
				t.Errorf("%v: %+v", target, e)
			}
		}
		if len(dec.Permitted) != len(cat.Entries) {
			t.Errorf("%v: %+v", target, dec.Removed)
		}
	}
}

// What is made for one run is shown as its provider takes it, too.
func TestFactoriesAreProjected(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry()
	made := &fake{}
	def := tool.Definition{Name: "made", Parameters: json.RawMessage(`{"type":"object","properties":{},"maxProperties":2}`)}
	r.Add(family, factory{&fake{def}, func(tool.Scope, llm.Target) (tool.Tool, string) { return made, "" }})
	d := surface.New(surface.Policies{}, nil)
	d.SetDialects(dialects)
	dec := d.Decide(t.Context(), r.Catalog(), tool.NewScope(tool.Facts{Caller: admin}), llm.Target{Provider: "plain", Tools: true})
	if len(dec.Permitted) != 1 || dec.Permitted[0].Tool != tool.Tool(made) || string(dec.Permitted[0].Spec.Parameters) != `{"properties":{},"type":"object"}` {
		t.Errorf("%+v", dec.Permitted)
	}
}
