package openai

import (
	"testing"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/llmtest"
	"github.com/goclaw/goclaw/internal/provider"
)

func TestContract(t *testing.T) {
	t.Parallel()
	answering := func(a fakellm.Answer) llmtest.Make {
		return func(t *testing.T) (llm.Model, llm.Request) {
			s := fakellm.StartScript(t, fakellm.Script{Loop: true, Answers: []fakellm.Answer{a}})
			return open(t, provider.Settings{BaseURL: s.Base()}), hello()
		}
	}
	llmtest.Run(t, llmtest.Suite{
		Text:  answering(fakellm.Answer{Text: "Hello, how are you?", Pieces: 4}),
		Calls: answering(fakellm.Calls(fakellm.Use("file_read", `{"path":"a.txt"}`), fakellm.Use("datetime", `{}`))),
		Fails: answering(fakellm.Fail(500, `{"error":{"message":"oops"}}`)),
		Hangs: answering(fakellm.Answer{Hang: "before"}),
	})
}
