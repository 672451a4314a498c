package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
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
			llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text("What does this file say?"), {Kind: llm.KindContext, Text: "Now: Monday, 2026-11-30 12:00"}}},
			assistant(use(id, "tool_1", `{"path":"some/folder/file.txt"}`)),
			results(result(id, strings.Repeat("A line of some file.\n", 40), false)),
			assistant(llm.Text(strings.Repeat("It says this and that. ", 8))),
		)
	}
	req.Messages = append(req.Messages, llm.UserMessage("And now?"))
	return req
}

func BenchmarkEncode(b *testing.B) {
	for _, turns := range []int{0, 5, 50, 500} {
		b.Run(fmt.Sprint("turns=", turns), func(b *testing.B) {
			m := new(Model)
			req := history(turns)
			b.ReportAllocs()
			for b.Loop() {
				body, err := m.encode(&req, dialect{official: true})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(body)))
			}
		})
	}
}

// chunks is a stream of n pieces as OpenAI sends them.
func chunks(n int) []byte {
	var out bytes.Buffer
	for i := range n {
		fmt.Fprintf(&out, `data: {"id":"chatcmpl-AbCdEfGhIjKlMnOp","object":"chat.completion.chunk","created":1767225600,"model":"gpt-x","service_tier":"default","system_fingerprint":"fp_0123456789","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"a1b2c3"}`+"\n\n", i%10)
	}
	out.WriteString("data: " + chunkStop + "\n\ndata: " + chunkUsage + "\n\ndata: [DONE]\n\n")
	return out.Bytes()
}

// BenchmarkRead reads a stream of 1,000 pieces; divide by them.
func BenchmarkRead(b *testing.B) {
	stream := chunks(1000)
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(stream)))
		b.ReportAllocs()
		for b.Loop() {
			_, w := provider.Limits{}.Watch(b.Context())
			resp := &http.Response{Body: io.NopCloser(bytes.NewReader(stream)), Header: http.Header{"Content-Type": {"text/event-stream"}}}
			done := false
			err := read(resp, w, llm.Target{}, "", func(e llm.Event, _ error) bool { done = e.Type == llm.EventDone; return true })
			w.Stop()
			if err != nil || !done {
				b.Fatal(err)
			}
		}
	})
	// What decoding each piece into the SDK's type costs, without its reader
	// and accumulator.
	b.Run("types", func(b *testing.B) {
		b.SetBytes(int64(len(stream)))
		b.ReportAllocs()
		for b.Loop() {
			in := wire.NewEvents(bytes.NewReader(stream), func() {})
			var text strings.Builder
			for {
				data, err := in.Next()
				if err != nil || string(data) == "[DONE]" {
					break
				}
				var c openai.ChatCompletionChunk
				if err := json.Unmarshal(data, &c); err != nil {
					b.Fatal(err)
				}
				if len(c.Choices) > 0 {
					text.WriteString(c.Choices[0].Delta.Content)
				}
			}
		}
	})
}

// BenchmarkCall makes a whole call to a server without latency, beside the
// same exchange with net/http alone.
func BenchmarkCall(b *testing.B) {
	h := httptest.NewServer(fakellm.Quick(fakellm.Use("file_read", `{"path":"a.txt"}`), "It says hello, and that is all there is to it."))
	defer h.Close()
	req := history(1)
	b.Run("ours", func(b *testing.B) {
		m := open(b, provider.Settings{BaseURL: h.URL + "/v1", Key: "sk-test"})
		b.ReportAllocs()
		for b.Loop() {
			if got := ask(b.Context(), m, req); got.err != nil {
				b.Fatal(got.err)
			}
		}
	})
	b.Run("sdk", func(b *testing.B) {
		// The SDK with a body that is there already and nothing read from it.
		m := open(b, provider.Settings{BaseURL: h.URL + "/v1", Key: "sk-test"})
		body := encoded(b, req, dialect{official: true})
		b.ReportAllocs()
		for b.Loop() {
			resp, err := m.post(b.Context(), chatPath, body)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				b.Fatal(err)
			}
			resp.Body.Close()
		}
	})
	b.Run("floor", func(b *testing.B) {
		body := encoded(b, req, dialect{official: true})
		c := &http.Client{Transport: &http.Transport{}}
		b.ReportAllocs()
		for b.Loop() {
			resp, err := c.Post(h.URL+"/v1/chat/completions", "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				b.Fatal(err)
			}
			resp.Body.Close()
		}
	})
}
