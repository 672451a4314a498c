package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

func TestAConversationIsReadFromMessages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, messages, system, before, said string }{
		{"one message", `[{"role":"user","content":"hi"}]`, "", "", "hi"},
		{"with a system message", `[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}]`, "be brief", "", "hi"},
		{"two system messages", `[{"role":"system","content":"a"},{"role":"developer","content":"b"},{"role":"user","content":"hi"}]`, "a\n\nb", "", "hi"},
		{"a history", `[{"role":"user","content":"1"},{"role":"assistant","content":"2"},{"role":"user","content":"3"}]`, "", "user 1|assistant 2", "3"},
		{"several messages at the end", `[{"role":"user","content":"1"},{"role":"assistant","content":"2"},{"role":"user","content":"3"},{"role":"user","content":"4"}]`, "", "user 1|assistant 2", "3\n\n4"},
		{"an answer first", `[{"role":"assistant","content":"hello"},{"role":"user","content":"hi"}]`, "", "assistant hello", "hi"},
		{"an empty answer is none", `[{"role":"user","content":"1"},{"role":"assistant","content":""},{"role":"user","content":"2"}]`, "", "", "1\n\n2"},
		{"parts", `[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,iVBORw0KGgo="}}]}]`, "", "", "look[image/png 8]"},
		{"a file", `[{"role":"user","content":[{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,aGk="}}]}]`, "", "", "[text/plain 2]"},
		{"null content", `[{"role":"assistant","content":null},{"role":"user","content":"x"}]`, "", "", "x"},
	} {
		var q ChatRequest
		if err := json.Unmarshal([]byte(`{"messages":`+tc.messages+`}`), &q); err != nil {
			t.Fatal(err)
		}
		c, p := q.read()
		if p != nil {
			t.Errorf("%s: %v", tc.name, p)
			continue
		}
		var before []string
		for _, m := range c.before {
			before = append(before, string(m.Role)+" "+shown(m))
		}
		if c.system != tc.system || strings.Join(before, "|") != tc.before || shown(c.said) != tc.said {
			t.Errorf("%s: system %q, before %q, said %q", tc.name, c.system, before, shown(c.said))
		}
	}
}

func shown(m llm.Message) string {
	text := m.Text()
	for _, p := range m.Parts {
		if p.Media != nil {
			text += fmt.Sprintf("[%s %d]", p.Media.MIME, len(p.Media.Data))
		}
	}
	return text
}

func TestWhatAConversationCantBe(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"messages":[]}`: "the last one must be the person's",
		`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}]}`:                               "the last one must be the person's",
		`{"messages":[{"role":"user","content":"  "}]}`:                                                                    "the last one must be the person's",
		`{"messages":[{"role":"robot","content":"hi"}]}`:                                                                   `role "robot"`,
		`{"messages":[{"role":"user","content":7}]}`:                                                                       "neither text nor a list",
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://10.0.0.1/a.png"}}]}]}`:      "not fetched",
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:text/html;base64,aGk="}}]}]}`: "no image",
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}]}`: "no image",
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png,hi"}}]}]}`:          "not in base64",
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}]}]}`:     "holds nothing",
		`{"messages":[{"role":"user","content":[{"type":"input_audio"}]}]}`:                                                "none of text",
		`{"messages":[{"role":"user","content":"hi"}],"n":2}`:                                                              "one answer",
		`{"messages":[{"role":"user","content":"hi"}],"functions":[{"name":"f"}]}`:                                         "functions:",
		`{"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema"}}`:                           "response_format",
		`{"messages":[{"role":"user","content":"hi"}],"stop":["x"]}`:                                                       "stop:",
		`{"messages":[{"role":"user","content":"hi"}],"modalities":["text","audio"]}`:                                      "modalities",
		`{"messages":[{"role":"user","content":"hi"}],"logprobs":true}`:                                                    "logprobs",
	} {
		var q ChatRequest
		if err := json.Unmarshal([]byte(body), &q); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if _, p := q.read(); p == nil || p.Status != 400 || !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %v, want %q", body, p, want)
		}
	}
	ok := `{"messages":[{"role":"user","content":"hi"}],"n":1,"tools":[],"tool_choice":"auto","stop":null,"response_format":{"type":"text"},"temperature":0.5,"max_tokens":5,"modalities":["text"]}`
	var q ChatRequest
	if err := json.Unmarshal([]byte(ok), &q); err != nil {
		t.Fatal(err)
	}
	if _, p := q.read(); p != nil {
		t.Errorf("%s: %v", ok, p)
	}
}

func TestSessionsOfCallersNeverMeet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ caller, name, want string }{
		{"ada", "work", "api:ada:work"},
		{"ada", "a:b", "api:ada:a:b"},
		{"ada", "two words", "api:"},
		{"ada@example.org", "work", "api:"},
		{"ada", strings.Repeat("x", 200), "api:"},
		{"ada", "ünïcode", "api:"},
	} {
		got := apiSession(tc.caller, tc.name)
		if tc.want != "api:" && got != tc.want || !strings.HasPrefix(got, "api:") || len(got) > 128 {
			t.Errorf("%s %q: %s", tc.caller, tc.name, got)
		}
	}
	if apiSession("ada", "two words") == apiSession("bob", "two words") || apiSession("a", "b c") == apiSession("a", "b d") {
		t.Error("two sessions have one id")
	}
}

// story is the events of a run with two model calls.
func story() []agent.Event {
	return []agent.Event{
		{Type: agent.RunStarted},
		{Type: agent.ModelStarted},
		{Type: agent.ReasoningChunk, Text: "hm"},
		{Type: agent.TokenChunk, Text: "I look"},
		{Type: agent.TokenChunk, Text: " it up."},
		{Type: agent.ToolStarted},
		{Type: agent.ToolFinished},
		{Type: agent.ModelStarted},
		{Type: agent.TokenChunk, Text: "It is "},
		{Type: agent.TokenChunk, Text: "42."},
		{Type: agent.RunFinished, Text: "It is 42.", End: &agent.RunEnd{Status: agent.Done, Usage: llm.Usage{Input: 10, Cached: 4, Output: 5, Reasoning: 1}}},
	}
}

func TestBothFormsOfAnAnswerSayTheSame(t *testing.T) {
	t.Parallel()
	const want = "I look it up.\n\nIt is 42."
	a := &completion{id: "x", model: "goclaw/main", created: 7}
	w := httptest.NewRecorder()
	if err := a.whole(t.Context(), w, slices.Values(story())); err != nil {
		t.Fatal(err)
	}
	var whole ChatCompletion
	if err := json.Unmarshal(w.Body.Bytes(), &whole); err != nil {
		t.Fatal(err)
	}
	m := whole.Choices[0].Message
	if m.Content != want || m.ReasoningContent != "hm" || whole.Usage.TotalTokens != 15 || whole.Usage.PromptTokensDetails.CachedTokens != 4 {
		t.Errorf("whole: %+v", whole)
	}

	chunks, tail := streamed(t, story(), true)
	var text string
	var reason string
	for _, c := range chunks {
		for _, choice := range c.Choices {
			if choice.Delta.Content != nil {
				text += *choice.Delta.Content
			}
			if choice.FinishReason != nil {
				reason = *choice.FinishReason
			}
		}
	}
	last := chunks[len(chunks)-1]
	if text != want || reason != "stop" || tail != "[DONE]" || last.Usage == nil || last.Usage.CompletionTokens != 5 || len(last.Choices) != 0 {
		t.Errorf("stream: %q, %s, %s, %+v", text, reason, tail, last)
	}
}

func TestAStreamThatCantGoOnSaysSo(t *testing.T) {
	t.Parallel()
	retracted := append(story()[:5:5], agent.Event{Type: agent.Retracted})
	failed := append(story()[:5:5], agent.Event{Type: agent.RunFailed, Text: "no key", End: &agent.RunEnd{Status: agent.Failed}})
	for want, list := range map[string][]agent.Event{"began anew": retracted, "no key": failed} {
		_, tail := streamed(t, list, false)
		if !strings.Contains(tail, `"error"`) || !strings.Contains(tail, want) {
			t.Errorf("the stream ends with %s, want %q", tail, want)
		}
	}
	// A model that begins anew is asked before it is known that it says something
	// else, and another one may be.
	moved := []agent.Event{
		{Type: agent.ModelStarted},
		{Type: agent.TokenChunk, Text: "Beg"},
		{Type: agent.Notice, Kind: "failover"},
		{Type: agent.ModelStarted},
		{Type: agent.Retracted},
		{Type: agent.TokenChunk, Text: "It is 42."},
		story()[len(story())-1],
	}
	if _, tail := streamed(t, moved, false); !strings.Contains(tail, "began anew") {
		t.Errorf("the stream ends with %s", tail)
	}
	b := &completion{}
	if err := b.whole(t.Context(), httptest.NewRecorder(), slices.Values(moved)); err != nil || b.text() != "It is 42." {
		t.Errorf("whole: %q, %v", b.text(), err)
	}
	// What was taken back before anything was sent is nobody's business.
	early := append(slices.Clone(story()[:2]), append([]agent.Event{{Type: agent.Retracted}}, story()[3:]...)...)
	if _, tail := streamed(t, early, false); tail != "[DONE]" {
		t.Errorf("the stream ends with %s", tail)
	}
	// A whole answer never shows it.
	a := &completion{}
	w := httptest.NewRecorder()
	if err := a.whole(t.Context(), w, slices.Values(append(retracted, story()[8:]...))); err != nil {
		t.Fatal(err)
	}
	if got := a.text(); got != "It is 42." {
		t.Errorf("whole: %q", got)
	}
}

// An image that the model made is part of the answer.
func TestImagesThatAModelMakes(t *testing.T) {
	t.Parallel()
	made := agent.Event{Type: agent.Attachment, Ref: "reply:1:0", Media: &agent.Made{Name: "image-1.png", MIME: "image/png", Data: []byte("x")}}
	foreign := agent.Event{Type: agent.Attachment, Ref: "report.pdf"}
	list := append(slices.Clone(story()[:5]), made, foreign, story()[len(story())-1])
	const want = `"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]`
	w := httptest.NewRecorder()
	if err := (&completion{}).whole(t.Context(), w, slices.Values(list)); err != nil || strings.Count(w.Body.String(), want) != 1 {
		t.Errorf("%s, %v", w.Body, err)
	}
	chunks, tail := streamed(t, list, false)
	n := 0
	for _, c := range chunks {
		n += len(c.Choices[0].Delta.Images)
	}
	if n != 1 || tail != "[DONE]" {
		t.Errorf("%d images, the stream ends with %s", n, tail)
	}
}

// streamed returns the pieces of a stream and what stands last in it.
func streamed(t *testing.T, list []agent.Event, usage bool) (chunks []ChatChunk, tail string) {
	t.Helper()
	a := &completion{id: "x", model: "goclaw/main", created: 7}
	w := httptest.NewRecorder()
	if err := a.stream(t.Context(), &deadliner{w}, slices.Values(list), usage); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(w.Body.String(), "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		tail = data
		var c ChatChunk
		if bytes.Contains([]byte(data), []byte(`"choices"`)) {
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, c)
		}
	}
	return chunks, tail
}

// deadliner is a recorder whose writes can be given a deadline, as those of a
// connection.
type deadliner struct{ *httptest.ResponseRecorder }

func (deadliner) SetWriteDeadline(time.Time) error { return nil }
