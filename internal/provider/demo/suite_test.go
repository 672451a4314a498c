package demo

import (
	"testing"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/llmtest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	asked := func(said string) llmtest.Make {
		return func(*testing.T) (llm.Model, llm.Request) {
			return Model{}, llm.Request{Tools: all, Messages: []llm.Message{llm.UserMessage("hi"), llm.AssistantMessage("hello"), llm.UserMessage(said)}}
		}
	}
	first := func(*testing.T) (llm.Model, llm.Request) {
		return Model{}, llm.Request{Tools: all, Messages: []llm.Message{llm.UserMessage("hi")}}
	}
	llmtest.Run(t, llmtest.Suite{Text: asked("tell me a joke"), Calls: first})
}
