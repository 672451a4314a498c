package anthropic

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// readAll reads a stream of events that lies in memory.
func readAll(t testing.TB, stream string, yield func(llm.Event, error) bool) error {
	t.Helper()
	_, watch := provider.Limits{}.Watch(t.Context())
	defer watch.Stop()
	resp := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(stream))}
	return read(resp, watch, llm.Target{}, yield)
}

// A stream that ends early is dead or, behind its reason, whole: no byte is one
// at which a part of an answer passes for all of it.
func TestNoPartOfAnAnswerPassesForAllOfIt(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, data := range []string{
		evStart, evText, evHel, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo 界"}}`, evClose,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"calc","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"expression\":"}}`, evPing,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"1+1\"}"}}`,
		`{"type":"content_block_stop","index":1}`, stopped("tool_use"), evEnd,
	} {
		b.WriteString("event: x\ndata: " + data + "\n\n")
	}
	whole := b.String()
	want := calls(llm.ToolCall{ID: "a", Name: "calc", Arguments: `{"expression":"1+1"}`})
	finish := strings.Index(whole, stopped("tool_use")) + len(stopped("tool_use"))
	for i := range len(whole) + 1 {
		var got *llm.Reply
		err := readAll(t, whole[:i], func(e llm.Event, _ error) bool {
			if e.Type == llm.EventDone {
				got = e.Reply
			}
			return true
		})
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
