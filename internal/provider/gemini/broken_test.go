package gemini

import (
	"errors"
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
	last := `data: {"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]}`
	whole := "data: " + chHel + "\r\n\r\ndata: " + strings.Replace(chLo, "lo", "lo 界", 1) + "\r\n\r\n: awake\r\n\r\n" +
		`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"calc","args":{"e":"1+1"}}}]}}]}` + "\r\n\r\n" + last
	want := calls(llm.ToolCall{Name: "calc", Arguments: `{"e":"1+1"}`})
	for i := range len(whole) + 4 {
		stream := (whole + "\r\n\r\n")[:i]
		var got *llm.Reply
		err := readAll(t, stream, func(e llm.Event, _ error) bool {
			if e.Type == llm.EventDone {
				got = e.Reply
			}
			return true
		})
		if i < len(whole) {
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

// A reply is bounded in the number of its calls, too.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	many := `{"candidates":[{"content":{"parts":[` + strings.Repeat(`{"functionCall":{}},`, 100_000) + `{}]},"finishReason":"STOP"}]}`
	if err := (&reply{}).chunk([]byte(many)); !errors.Is(err, provider.ErrHuge) {
		t.Error(err)
	}
}
