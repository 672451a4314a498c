package gemini

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/llm"
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
			assistant(thought("Look."), signed(use(id, "tool_1", `{"path":"some/folder/file.txt"}`), "", strings.Repeat("c2ln", 100))),
			results(result(id, strings.Repeat("A line of some file.\n", 40), false)),
			assistant(llm.Text(strings.Repeat("It says this and that. ", 8)), signed(llm.Text(""), "", strings.Repeat("c2ln", 100))),
		)
	}
	req.Messages = append(req.Messages, llm.UserMessage("And now?"))
	return req
}

func BenchmarkEncode(b *testing.B) {
	for _, turns := range []int{0, 5, 50, 500} {
		b.Run(fmt.Sprint("turns=", turns), func(b *testing.B) {
			req := history(turns)
			b.ReportAllocs()
			for b.Loop() {
				b.SetBytes(int64(len(encodedAs(req, formOf(&req, 0, false)))))
			}
		})
	}
}

// BenchmarkRead reads a stream of 1,000 pieces; divide by them.
func BenchmarkRead(b *testing.B) {
	var out strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&out, "data: %s\r\n\r\n", strings.Replace(strings.Replace(chLo, "lo", fmt.Sprintf(" word%d", i%10), 1), `"index":0}]`,
			`"index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2},"modelVersion":"gemini-3.8-flash","responseId":"r1"`, 1))
	}
	out.WriteString("data: " + chStop + "\r\n\r\n")
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
