package anthropic

import (
	"bytes"
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
	pings := func(first ...string) fakellm.Answer {
		a := sse(first...)
		for range 100 {
			a.Raw = append(a.Raw, "event: ping\ndata: "+evPing+"\n\n")
		}
		return a
	}
	ends, closed := sse(evStart, evHel, evStop), sse(evStart+"\n\ndata: "+evStop, evEnd)
	ends.Hang, closed.Hang = "middle", "middle"
	providertest.Run(t, providertest.Vendor{
		Wire: vendor, Type: "claude", Model: "claude-sonnet-5-5", Without: []string{fakellm.NoTools},
		Open:     func(s provider.Settings, c *http.Client) llm.Model { return newModel(s, c) },
		Unmarked: func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(cacheMark), nil) },
		Tail:     len(`]}]}`),
		Told:     new(sse(evStart, evHel)),
		Times: []providertest.Time{
			{Name: "PR-020 pings and no end", Answer: pings(), Every: 20 * time.Second, AtLeast: 10 * time.Minute, AtMost: 10 * time.Minute, Message: "the answer was not complete within 10 min"},
			{Name: "complete but not closed", Answer: ends, AtLeast: provider.Grace, AtMost: provider.Grace},
			{Name: "complete, then pings for ever", Answer: pings(evStart, evHel, evStop), Every: time.Second, AtLeast: 3*time.Second + provider.Grace, AtMost: 3*time.Second + provider.Grace},
			{Name: "the end mark but no end", Answer: closed, AtLeast: provider.Drain, AtMost: provider.Drain},
		},
	})
}
