package openai

import (
	"encoding/json"
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
	comments := fakellm.Answer{Raw: []string{": first\n\n"}}
	for range 100 {
		comments.Raw = append(comments.Raw, ": still here\n\n")
	}
	whole := "data: " + chunkHel + "\n\ndata: " + chunkStop + "\n\n"
	chatty := comments
	chatty.Raw = append([]string{whole}, comments.Raw...)
	providertest.Run(t, providertest.Vendor{
		Wire: "openai", Type: provider.Compatible, Model: "m", Path: "/v1",
		Open: func(s provider.Settings, c *http.Client) llm.Model { return newModel(s, c) },
		Tail: len(`]}`), Told: new(sse(chunkHel, `{"error":{"message":"Oops"},"usage":{"prompt_tokens":9,"completion_tokens":3}}`)),
		Times: []providertest.Time{
			{Name: "comments and no end", Answer: comments, Every: 20 * time.Second, AtLeast: 10 * time.Minute, AtMost: 10 * time.Minute, Message: "the answer was not complete within 10 min"},
			{
				Name: "thinking before a word", Answer: fakellm.Answer{Hang: "header"}, AtLeast: time.Minute, AtMost: time.Minute,
				Message: "no answer within 1 min: it may be thinking; raise ai.providers.test.first_byte_timeout",
			},
			{
				Name: "thinking in silence", Answer: fakellm.Answer{Text: "Let me see.", Hang: "middle"}, AtLeast: 30 * time.Second, AtMost: 30 * time.Second,
				Message: "the answer stopped for 30 s: it may be thinking; raise ai.providers.test.idle_timeout",
			},
			{Name: "complete but not closed", Answer: fakellm.Answer{Raw: []string{whole}, Hang: "middle"}, AtLeast: provider.Grace, AtMost: provider.Grace},
			{Name: "complete, then comments for ever", Answer: chatty, Every: time.Second, AtLeast: time.Second + provider.Grace, AtMost: time.Second + provider.Grace},
			{Name: "the end mark but no end", Answer: fakellm.Answer{Raw: []string{whole + "data: [DONE]\n\n"}, Hang: "middle"}, AtLeast: provider.Drain, AtMost: provider.Drain},
		},
	})
}

func TestScenariosOfDeepSeek(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Vendor{
		Wire: "openai", Type: "deepseek", Model: "deepseek-flash",
		Open: func(s provider.Settings, c *http.Client) llm.Model { return newModel(s, c) },
		Tail: len(`]}`),
	})
}

func TestScenariosOfResponses(t *testing.T) {
	t.Parallel()
	providertest.Run(t, providertest.Vendor{
		Wire: "openai", Type: "openai", Model: "gpt-6-luna", Path: "/v1", Without: []string{fakellm.NoTools},
		Open: func(s provider.Settings, c *http.Client) llm.Model {
			m := newModel(s, c)
			m.dialect.official, m.dialect.vendor = true, "openai"
			return m
		},
		Tail: len(`]}`),
		Told: &fakellm.Answer{Deltas: []json.RawMessage{json.RawMessage(
			`{"event":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Oops"},"usage":{"input_tokens":9,"output_tokens":2}}}`,
		)}},
	})
}
