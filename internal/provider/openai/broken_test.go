package openai

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// A stream that ends early is dead or, behind its finish reason, whole: no byte
// is one at which a part of an answer passes for all of it.
func TestNoPartOfAnAnswerPassesForAllOfIt(t *testing.T) {
	t.Parallel()
	piece := func(delta, reason string) string {
		return `data: {"id":"x","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + reason + "}]}\n\n"
	}
	whole := piece(`{"role":"assistant","content":"Hel"}`, "null") + piece(`{"content":"lo 界"}`, "null") +
		piece(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"calc","arguments":""}}]}`, "null") +
		piece(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"expression\":"}}]}`, "null") +
		piece(`{"tool_calls":[{"index":0,"function":{"arguments":"\"1+1\"}"}},{"index":1,"id":"b","function":{"name":"datetime","arguments":"{}"}}]}`, "null") +
		piece(`{}`, `"tool_calls"`) + "data: " + chunkUsage + "\n\ndata: [DONE]\n\n"
	want := calls(llm.ToolCall{ID: "a", Name: "calc", Arguments: `{"expression":"1+1"}`}, llm.ToolCall{ID: "b", Name: "datetime", Arguments: "{}"})
	finish := strings.Index(whole, `"tool_calls"}]}`) + len(`"tool_calls"}]}`)
	for i := range len(whole) + 1 {
		var got *llm.Reply
		_, watch := provider.Limits{}.Watch(t.Context())
		resp := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(whole[:i]))}
		err := read(resp, watch, llm.Target{}, "", func(e llm.Event, _ error) bool {
			if e.Type == llm.EventDone {
				got = e.Reply
			}
			return true
		})
		watch.Stop()
		if i < finish {
			if err == nil || got != nil {
				t.Errorf("%d bytes: %+v, %v", i, got, err)
			}
			continue
		}
		if err != nil || got.Message.Text() != "Hello 界" || cmp.Diff(want, got.Message.Calls()) != "" {
			t.Errorf("%d bytes: %+v, %v", i, got, err)
		}
	}
}

// A reply is bounded in the number of its calls, too: each is looked for among
// all that came before.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	many.WriteString(`{"choices":[{"delta":{"tool_calls":[`)
	for i := range 100_000 {
		fmt.Fprintf(&many, `{"index":%d,"function":{"name":"a"}},`, i)
	}
	many.WriteString(`{}]}}]}`)
	if err := (&reply{}).chunk([]byte(many.String())); !errors.Is(err, provider.ErrHuge) {
		t.Error(err)
	}
}
