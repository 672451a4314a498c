package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func nothing(context.Context, tool.Call, path) (string, error) { return "done", nil }

// crowd is n tools, all alike.
func crowd(n int) []tool.Tool {
	tools := make([]tool.Tool, n)
	for i := range tools {
		tools[i] = reading(fmt.Sprint("tool_", i), nothing)
	}
	return tools
}

func BenchmarkOffer(b *testing.B) {
	for _, n := range []int{25, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := set(b, crowd(n))
			scope := tool.NewScope(e.scope)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Offer(b.Context(), scope, model, tool.State{}, tool.Ask{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkExecute(b *testing.B) {
	for _, n := range []int{1, 8, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := set(b, crowd(25), kept(blob.NewMemory()))
			sf := e.offer()
			calls := repeat(n, call("tool_12", `{"path":"some/where.txt"}`))
			b.ReportAllocs()
			for b.Loop() {
				for _, o := range e.Execute(b.Context(), sf, calls, nil) {
					if o.Status != tool.OK {
						b.Fatal(text(o))
					}
				}
			}
		})
	}
}

// BenchmarkRefused is what a call costs that names nothing.
func BenchmarkRefused(b *testing.B) {
	e := set(b, crowd(25))
	sf := e.offer()
	calls := []llm.ToolCall{call("shell_exec", `{}`)}
	b.ReportAllocs()
	for b.Loop() {
		e.Execute(b.Context(), sf, calls, nil)
	}
}

func BenchmarkExplain(b *testing.B) {
	for _, n := range []int{25, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := set(b, crowd(n))
			scope := tool.NewScope(e.scope)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Explain(b.Context(), scope, model, tool.State{}, tool.Ask{}, "tool_12"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
