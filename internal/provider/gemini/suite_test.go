package gemini

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
	awake := func(first ...string) fakellm.Answer {
		a := sse(first...)
		for range 100 {
			a.Raw = append(a.Raw, ": keep alive\r\n\r\n")
		}
		return a
	}
	ends := sse(chHel, chStop)
	ends.Hang = "middle"
	providertest.Run(t, providertest.Vendor{
		Wire: vendor, Type: "gemini", Model: "gemini-3.8-flash",
		Open: func(s provider.Settings, c *http.Client) llm.Model { return newModel(s, c) },
		Tail: len(`]}`),
		Told: new(sse(chHel, `{"usageMetadata":{"promptTokenCount":9}}`)),
		Times: []providertest.Time{
			{Name: "comments and no end", Answer: awake(), Every: 20 * time.Second, AtLeast: 10 * time.Minute, AtMost: 10 * time.Minute, Message: "the answer was not complete within 10 min"},
			{Name: "complete but not closed", Answer: ends, AtLeast: provider.Grace, AtMost: provider.Grace},
			{Name: "complete, then comments for ever", Answer: awake(chHel, chStop), Every: time.Second, AtLeast: 2*time.Second + provider.Grace, AtMost: 2*time.Second + provider.Grace},
		},
	})
}
