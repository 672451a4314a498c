package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"

	"github.com/goclaw/goclaw/internal/engine"
)

func TestLentTools(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, tool.Call, none) (string, error) { return "done", nil }
	lent := func(name, schema string) tool.Tool {
		return tool.New(tool.Definition{Name: name, Parameters: json.RawMessage(schema)}, nothing)
	}
	dialect := &jsonschema.Dialect{
		Name: "picky", Top: []string{"type", "properties"}, Below: []string{"type", "description", "properties"}, Properties: true,
	}
	b := set(t, []tool.Tool{reading("one", nothing)}, func(o *engine.Options) {
		o.Policies = deny("*")
		o.Dialects = func(llm.Target) *jsonschema.Dialect { return dialect }
	})
	b.scope.Run, b.scope.Cap, b.scope.Caller = "r", tool.Only(), user
	if _, err := b.Lend("r", lent("one", `{"type":"object"}`)); err == nil || !strings.Contains(err.Error(), "the name belongs to") {
		t.Errorf("a taken name: %v", err)
	}
	if _, err := b.Lend("r", lent("Bad", `{"type":"object"}`)); err == nil {
		t.Error("a bad name was lent")
	}
	revoke, err := b.Lend("r", lent("pair", `{"type":"object","properties":{}}`), lent("odd", `{"type":"array"}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second decision is remembered
		sf := b.offer()
		if got := tool.Names(sf.Offered); len(got) != 1 || got[0] != "pair" {
			t.Fatalf("offered %v", got)
		}
		removed := map[string]string{}
		for _, r := range sf.Removed {
			removed[r.Tool] = r.Layer
		}
		if removed["odd"] != "schema" || removed["one"] != "cap" {
			t.Errorf("removed %v", removed)
		}
	}
	other := b.scope
	other.Run = "another"
	if sf, err := b.Engine.Offer(t.Context(), tool.NewScope(other), model, tool.State{}, tool.Ask{}); err == nil || len(sf.Permitted) > 0 {
		t.Errorf("another run is offered %v", tool.Names(sf.Permitted))
	}
	sf := b.offer()
	call := []llm.ToolCall{{ID: "1", Name: "pair", Arguments: "{}"}}
	if o := b.Execute(t.Context(), sf, call, nil)[0]; o.Status != tool.OK {
		t.Errorf("got %s: %s", o.Status, llm.JoinText(o.Content))
	}
	revoke()
	if o := b.Execute(t.Context(), sf, call, nil)[0]; o.Status != tool.Refused || o.Refusal.Rule != "revoked" {
		t.Errorf("after the run: %s: %s", o.Status, llm.JoinText(o.Content))
	}
	if sf, err := b.Engine.Offer(t.Context(), tool.NewScope(b.scope), model, tool.State{}, tool.Ask{}); err == nil || len(sf.Permitted) > 0 {
		t.Errorf("after the run it is offered %v", tool.Names(sf.Permitted))
	}
}
