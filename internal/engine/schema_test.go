package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// A model is shown a schema in its provider's words; what it calls is held
// against the tool's own.
func TestShownInTheProvidersWords(t *testing.T) {
	t.Parallel()
	echo := func(_ context.Context, _ tool.Call, args json.RawMessage) (string, error) { return string(args), nil }
	tools := []tool.Tool{
		&raw{tool.Definition{Name: "find", Description: "Finds.", Parameters: json.RawMessage(
			`{"type":"object","properties":{"query":{"type":"string","pattern":"^[a-z]+$"}},"required":["query"]}`)}, echo},
		&raw{tool.Definition{Name: "tree", Parameters: json.RawMessage(
			`{"type":"object","properties":{"t":{"$ref":"#/$defs/t"}},"$defs":{"t":{"items":{"$ref":"#/$defs/t"}}}}`)}, echo},
	}
	few := &jsonschema.Dialect{
		Name: "few", Top: []string{"type", "properties", "required"}, Below: []string{"type", "description", "properties", "items"},
	}
	b := set(t, tools, func(o *engine.Options) {
		o.Dialects = func(target llm.Target) *jsonschema.Dialect {
			if target == model {
				return few
			}
			return nil
		}
	})
	specs := b.offer().Specs()
	const shown = `{"properties":{"query":{"description":"Matches ^[a-z]+$ (a regular expression).","type":"string"}},"required":["query"],"type":"object"}`
	if len(specs) != 1 || string(specs[0].Parameters) != shown {
		t.Fatalf("%+v", specs)
	}
	out := b.run(t.Context(), llm.ToolCall{ID: "1", Name: "find", Arguments: `{"query":"A B"}`})
	if out[0].Status != tool.Invalid || !strings.Contains(llm.JoinText(out[0].Content), "pattern") {
		t.Errorf("a call that only what was shown accepts: %+v", out[0])
	}

	explain := func(name string, target llm.Target) string {
		t.Helper()
		x, err := b.Explain(t.Context(), tool.NewScope(b.scope), target, b.state, tool.Ask{}, name)
		if err != nil {
			t.Fatal(err)
		}
		return x.Text()
	}
	for _, test := range []struct {
		tool   string
		target llm.Target
		want   string
		not    string
	}{
		{"find", model, "changed for few: pattern of query moved to its description\n", "fix:"},
		{"find", llm.Target{Provider: "other", Model: "m", Tools: true}, "exposed     yes", "changed"},
		{"find", llm.Target{}, "exposed     yes", "changed"},
		{
			"tree", model, "exposed     NO   layer schema: its parameter schema can't be shown to few: it contains itself (#/$defs/t), and few takes no references\n",
			"changed",
		},
		{"tree", model, "fix: ask whoever made tree for a schema without that, or use another provider\n", "changed"},
	} {
		if got := explain(test.tool, test.target); !strings.Contains(got, test.want) || strings.Contains(got, test.not) {
			t.Errorf("%s for %v:\n%s", test.tool, test.target, got)
		}
	}
}
