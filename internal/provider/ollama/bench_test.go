package ollama

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// history is a session of n turns with a tool call each.
func history(n int) llm.Request {
	req := hello()
	req.Static = strings.Repeat("You are an assistant with rules. ", 200)
	req.Tools = nil
	for i := range 20 {
		req.Tools = append(req.Tools, llm.ToolSpec{
			Name: fmt.Sprint("tool_", i), Description: "Does one thing, and says in a sentence or two what that is and when not to use it.",
			Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{"depth":{"description":"How deep.","type":"integer"},"path":{"description":"Relative to the workspace.","type":"string"}},"required":["path"],"type":"object"}`),
		})
	}
	req.Messages = nil
	for i := range n {
		id := fmt.Sprint("call_", i)
		req.Messages = append(req.Messages,
			user(llm.Text("What does this file say?"), added("Now: Monday, 2026-11-30 12:00")),
			assistant(thought("The person wants to know what it says."), use(id, "tool_1", `{"path":"some/folder/file.txt"}`)),
			results(result(id, strings.Repeat("A line of some file.\n", 40), false)),
			assistant(llm.Text(strings.Repeat("It says this and that. ", 8))),
		)
	}
	req.Messages = append(req.Messages, llm.UserMessage("And now?"))
	return req
}

// readAll reads a stream of lines that lies in memory.
func readAll(t testing.TB, stream string, yield func(llm.Event, error) bool) error {
	t.Helper()
	_, watch := provider.Limits{}.Watch(t.Context())
	defer watch.Stop()
	return read(answering(stream), watch, llm.Target{}, yield)
}

func answering(stream string) *http.Response {
	return &http.Response{Body: io.NopCloser(strings.NewReader(stream))}
}

// BenchmarkRead reads a stream of 1,000 pieces; divide by them.
func BenchmarkRead(b *testing.B) {
	var out strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&out, `{"model":"qwen3:latest","created_at":"2026-11-30T12:00:00.123456789Z","message":{"role":"assistant","content":" word%d"},"done":false}`+"\n", i%10)
	}
	out.WriteString(lnDone + "\n")
	stream := out.String()
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		done := false
		if err := readAll(b, stream, func(e llm.Event, _ error) bool { done = e.Type == llm.EventDone; return true }); err != nil || !done {
			b.Fatal(err)
		}
	}
}
