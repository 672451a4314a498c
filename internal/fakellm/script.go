package fakellm

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
)

// Script says what a server answers. As JSON it is a file:
//
//	{
//	  "answers": [
//	    {"calls": [{"name": "file_read", "args": {"path": "a.txt"}}]},
//	    {"text": "It says hello.", "usage": {"input": 100, "output": 5}}
//	  ]
//	}
//
// Each request takes the first answer that has not been used and whose "when"
// stands in the request. A request that finds none is answered with status 500
// and makes the test fail.
type Script struct {
	Answers []Answer `json:"answers"`
	// Loop uses the answers again from the first one when all were used.
	Loop bool `json:"loop,omitempty"`
	// Invalid lets requests be wrong: else each is held against the vendor's
	// documented format, and a fault makes the test fail.
	Invalid bool `json:"invalid,omitempty"`
	// Models are the names that a list of models has; fake-model when empty.
	Models []string `json:"models,omitempty"`
	// Embeddings are what the first requests for vectors get in their order, each
	// as a fault, or literally; a zero one, and all later requests, get vectors.
	Embeddings []Answer `json:"embeddings,omitempty"`
	// Alike are groups of words, in lower case, that mean the same: their vectors
	// are equal. Else texts are as similar as the words they share are many.
	Alike [][]string `json:"alike,omitempty"`
}

func (s Script) models() []string {
	if len(s.Models) == 0 {
		return []string{"fake-model"}
	}
	return s.Models
}

// Answer is one answer of a model, in words that hold for every vendor, or
// literally. A zero Answer is an empty one that ended well.
type Answer struct {
	// When has to stand in the body of a request that is to get this answer.
	When string `json:"when,omitempty"`

	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	Calls     []Call `json:"calls,omitempty"`
	// Finish is stop, tool_calls, length or filter; by what the answer holds
	// when empty. "none" leaves it out, so that the answer never ends.
	Finish string `json:"finish,omitempty"`
	Usage  *Usage `json:"usage,omitempty"`
	// Pieces is how many bytes of text and of arguments go into one piece of a
	// stream; 0 sends each whole. Letters are never cut by it.
	Pieces int `json:"pieces,omitempty"`
	// Whole sends one document although a stream was asked for.
	Whole bool `json:"whole,omitempty"`

	// Deltas are pieces of a stream in the vendor's own form, in place of the
	// fields above. For OpenAI: {"delta": {…}, "finish": "stop"}; for
	// Anthropic: {"event": "content_block_delta", "delta": {…}}, and likewise for
	// the Responses API, where they have to bring the end; for Gemini:
	// {"parts": […], "finish": "STOP"}; for Ollama: {"message": {…}, "done": false}.
	Deltas []json.RawMessage `json:"deltas,omitempty"`
	// Raw is the body as it is, in place of all above: each element is written
	// by itself and sent before the next. Bytes that are not UTF-8 go into
	// RawBytes, which as JSON are base64.
	Raw      []string `json:"raw,omitempty"`
	RawBytes [][]byte `json:"raw_bytes,omitempty"`

	// Status other than 0 and 200 answers with Body and Header, and so do
	// these alone.
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Body   string            `json:"body,omitempty"`

	// Fault fails as the vendor documents it: one of [Faults]. An answer that
	// has text, reasoning or calls begins with them, and fails within its stream.
	Fault string `json:"fault,omitempty"`

	// Hang stops forever: "before" anything was sent, with the header sent
	// ("header"), behind the content, before the end ("middle"), or behind the
	// end, without closing the answer ("end").
	Hang string `json:"hang,omitempty"`
	// Break ends the connection at the same places, "before" or "middle", by a
	// reset.
	Break string `json:"break,omitempty"`
	// Delay is waited before the answer, in milliseconds, so that a page can be seen
	// waiting. Where something has to happen meanwhile, Hold waits for it.
	Delay int `json:"delay,omitempty"`
	// Hold keeps the answer back until [Server.Release].
	Hold bool `json:"hold,omitempty"`

	// Gate is waited for before each write, as long as the client stays: a
	// value lets one write pass, closing it lets all.
	Gate <-chan struct{} `json:"-"`
}

// Call is a tool call of an answer.
type Call struct {
	ID   string `json:"id,omitempty"` // made up from the call's place when empty
	Name string `json:"name"`
	// Args is the arguments: as JSON any value, which is sent as its text.
	Args json.RawMessage `json:"args,omitempty"`
	// Text are arguments as the model wrote them, when they are no JSON.
	Text string `json:"args_text,omitempty"`
}

func (c Call) arguments() string {
	if c.Text != "" {
		return c.Text
	}
	return string(c.Args)
}

// Usage counts an answer's tokens.
type Usage struct {
	Input      int `json:"input,omitempty"`
	Cached     int `json:"cached,omitempty"`      // of Input: read from the cache
	CacheWrite int `json:"cache_write,omitempty"` // of Input: written to it
	Output     int `json:"output,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
}

// Text answers with text.
func Text(text string) Answer { return Answer{Text: text} }

// Calls answers with calls.
func Calls(calls ...Call) Answer { return Answer{Calls: calls} }

// Use is a call of the tool name with args, which is JSON.
func Use(name, args string) Call { return Call{Name: name, Args: json.RawMessage(args)} }

// Fail answers with an HTTP status and a body.
func Fail(status int, body string) Answer { return Answer{Status: status, Body: body} }

// readScript reads a script from a file.
func readScript(name string) (Script, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return Script{}, fmt.Errorf("read script: %w", err)
	}
	return parseScript(data)
}

// parseScript reads a script from JSON. Unknown fields are errors.
func parseScript(data []byte) (Script, error) {
	var s Script
	if err := strict(data, &s); err != nil {
		return Script{}, fmt.Errorf("parse script: %w", err)
	}
	for i, a := range append(slices.Clone(s.Answers), s.Embeddings...) {
		if err := a.check(); err != nil {
			return Script{}, fmt.Errorf("parse script: answer %d: %w", i+1, err)
		}
	}
	return s, nil
}

func (a Answer) check() error {
	switch a.Hang {
	case "", "before", "header", "middle", "end":
	default:
		return fmt.Errorf("hang is %q; want before, header, middle or end", a.Hang)
	}
	switch a.Break {
	case "", "before", "middle":
	default:
		return fmt.Errorf("break is %q; want before or middle", a.Break)
	}
	switch a.Finish {
	case "", "none", "stop", "tool_calls", "length", "filter":
	default:
		return fmt.Errorf("finish is %q; want stop, tool_calls, length, filter or none", a.Finish)
	}
	return checkFault(a.Fault)
}

func (a Answer) delay() time.Duration { return time.Duration(a.Delay) * time.Millisecond }

// literal is the body as the script has it, nil when it has none.
func (a Answer) literal() [][]byte {
	var pieces [][]byte
	for _, raw := range a.Raw {
		pieces = append(pieces, []byte(raw))
	}
	return append(pieces, a.RawBytes...)
}

func (a Answer) fails() bool {
	return a.Status != 0 && a.Status != 200 || a.Body != ""
}
