package surface_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// large is a catalog of n tools with schemas of a usual size.
func large(b *testing.B, n int) *tool.Catalog {
	b.Helper()
	r := tool.NewRegistry()
	tools := make([]tool.Tool, n)
	for i := range tools {
		traits := tool.Traits{Category: tool.Groups[i%12], AdminOnly: i%10 == 0}
		tools[i] = &fake{tool.Definition{
			Name: fmt.Sprintf("tool_%d_%d", i%7, i), Traits: traits,
			Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"relative to the workspace"},` +
				`"from":{"type":"integer","minimum":1},"to":{"type":"integer"}},"required":["path"],"additionalProperties":false}`),
		}}
	}
	if notes := r.Add(family, tools...); len(notes) > 0 {
		b.Fatal(notes)
	}
	return r.Catalog()
}

func policies() surface.Policies {
	return surface.Policies{
		Global: surface.Block{Policy: surface.Policy{
			Profile: source.Text{Value: "coding"}, AlsoAllow: list("tools.also_allow", "group:data", "tool_1_*"),
			Deny: list("tools.deny", "tool_3_?", "tool_4_4", "tool_*_99", "group:media"),
		}},
		Agent: surface.Block{Policy: surface.Policy{Deny: list("agents.list[a].tools.deny", "group:shell", "tool_6_*")}},
	}
}

// deciding shows tools to a provider that takes some of their schemas' keywords.
func deciding() *surface.Decider {
	d := surface.New(policies(), nil)
	d.SetDialects(func(llm.Target) *jsonschema.Dialect { return plainSpeaker })
	return d
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{25, 1000} {
		cat := large(b, n)
		scope := tool.NewScope(tool.Facts{Agent: "a", Session: "s", Caller: user, Origin: tool.FromChat})
		b.Run(fmt.Sprintf("cold/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				deciding().Decide(b.Context(), cat, scope, model)
			}
		})
		b.Run(fmt.Sprintf("new facts/%d", n), func(b *testing.B) {
			d := deciding()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				d.Decide(b.Context(), cat, tool.NewScope(tool.Facts{Caller: user, Origin: tool.Origin(fmt.Sprint(i))}), model)
			}
		})
		b.Run(fmt.Sprintf("cached/%d", n), func(b *testing.B) {
			d := deciding()
			b.ReportAllocs()
			for b.Loop() {
				d.Decide(b.Context(), cat, scope, model)
			}
		})
	}
}
