package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/plugin"
)

// odd is a tool as strangers write them.
type odd struct{ name, schema string }

func (o odd) Definition() plugin.Definition {
	return plugin.Definition{Name: o.name, Description: "Odd.", Parameters: json.RawMessage(o.schema)}
}

func (odd) Execute(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{}, errors.New("not to be called")
}

// One tool with an odd schema never makes a server refuse the request: the fake
// one refuses what the vendors are known to refuse.
func TestOddSchemasNeverSpoilARequest(t *testing.T) {
	t.Parallel()
	odds := []odd{
		{"no_items", `{"type":"object","properties":{"a":{"type":"array"}}}`},                                                                                // TC-057
		{"draft", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`}, // TC-058
		{"forms", `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`},               // TC-062
		{"bare", `{"type":"object"}`}, // TC-065
		{"list", `{"type":"array"}`},  // can't be shown to anybody
	}
	p := plugin.Plugin{Manifest: plugin.Manifest{ID: "odd", Version: "1"}, Register: func(api plugin.API) error {
		for _, o := range odds {
			if err := api.RegisterTool(o); err != nil {
				return err
			}
		}
		return nil
	}}
	for _, o := range odds {
		p.Manifest.Tools = append(p.Manifest.Tools, o.name)
	}
	for _, name := range []string{"openai", "claude"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := fakellm.Start(t, fakellm.Text("done"))
			base := model.Base()
			if name == "claude" {
				base = model.URL
			}
			r := configured(t, model, fmt.Sprintf("ai:\n  provider: %s\n  providers:\n    %s: {api_key: key, model: m, base_url: %q}\n", name, name, base), p)
			if got := r.say("s", "go"); got.end.Type != agent.RunFinished {
				t.Fatalf("%s %s", got.end.Type, got.end.Text)
			}
			var body struct {
				Tools []struct {
					Name     string
					Function struct{ Name string }
				}
			}
			if err := json.Unmarshal(model.Requests()[0].Body, &body); err != nil {
				t.Fatal(err)
			}
			var sent []string
			for _, tool := range body.Tools {
				sent = append(sent, tool.Name+tool.Function.Name)
			}
			for _, o := range odds {
				if slices.Contains(sent, o.name) != (o.name != "list") {
					t.Errorf("%s among what was sent, %v: %v", o.name, sent, slices.Contains(sent, o.name))
				}
			}
		})
	}
}
