package ollama

import (
	"net/http"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/provider/providertest"
)

func TestScenarios(t *testing.T) {
	t.Parallel()
	closed := lines(lnHel, lnDone)
	closed.Hang = "middle"
	providertest.Run(t, providertest.Vendor{
		Wire: vendor, Type: "ollama", Model: "qwen3", Path: "/v1",
		Open:    func(s provider.Settings, c *http.Client) llm.Model { return newModel(s, c) },
		Without: []string{providertest.Filter, providertest.Shares},
		Tail:    len(`]}`),
		Times: []providertest.Time{
			{
				Name: "the model is being loaded", Answer: fakellm.Answer{Hang: "before"}, AtLeast: time.Minute, AtMost: time.Minute,
				Message: "no answer within 1 min: the server may still be loading the model; raise first_byte_timeout",
			},
			{
				Name: "a call is being written", Answer: fakellm.Answer{Text: "Let me see.", Hang: "middle"}, AtLeast: 30 * time.Second, AtMost: 30 * time.Second,
				Message: "the answer stopped for 30 s: the server sends a call only when the model has written all of it; raise idle_timeout",
			},
			{Name: "complete but not closed", Answer: closed, AtLeast: provider.Drain, AtMost: provider.Drain},
		},
	})
}
