package llm

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Role says who speaks in a message.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	// Results is the role of the message that answers an assistant's calls:
	// it holds exactly one result part per call, in the order of the calls.
	Results Role = "tool"
)

// Message is one entry of a transcript.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Kind tells the variants of a [Part] apart.
type Kind string

const (
	KindText      Kind = "text"      // Text
	KindContext   Kind = "context"   // Text that the host added to a person's message; never the person's words
	KindReasoning Kind = "reasoning" // Text may be empty when the vendor hides it and only Opaque counts
	KindMedia     Kind = "media"     // Media
	KindFile      Kind = "file"      // a file that a person gave, in the agent's workspace: Text says so to the model; Media says where, without Data
	KindCall      Kind = "call"      // Call; only in assistant messages
	KindResult    Kind = "result"    // Result; only in messages of role Results
)

// Part is one piece of a message. Kind says which of the other fields counts.
type Part struct {
	Kind   Kind        `json:"kind"`
	Text   string      `json:"text,omitempty"`
	Media  *Media      `json:"media,omitempty"`
	Call   *ToolCall   `json:"call,omitempty"`
	Result *ToolResult `json:"result,omitempty"`

	// Origin says where content from outside came from ("web", "file", "mcp",
	// …); empty for what the person, the model or GoClaw itself wrote.
	Origin string `json:"origin,omitempty"`

	// Opaque goes back only to the vendor that made it, unchanged.
	Opaque *Opaque `json:"opaque,omitempty"`
}

// Opaque is data of a vendor that GoClaw keeps and returns without reading it.
type Opaque struct {
	Vendor string          `json:"vendor"`
	Data   json.RawMessage `json:"data"`
}

// Media is an image or a file.
type Media struct {
	MIME string `json:"mime"`
	Name string `json:"name,omitempty"` // of a [KindFile] its path in the workspace, with slashes
	Data []byte `json:"data,omitempty"`
	Size int    `json:"size,omitempty"` // in bytes, where Data is left out
	Sum  string `json:"sum,omitempty"`  // SHA-256 of Data in hexadecimal, where a store keeps that elsewhere

	Pages int `json:"pages,omitempty"` // of a PDF file; 0 when it is unknown
}

// Bytes is the size of the content, whether it is at hand or kept elsewhere.
func (m *Media) Bytes() int { return max(len(m.Data), m.Size) }

// Whole reports whether the content is at hand, or can be had for its sum.
func (m *Media) Whole() bool { return len(m.Data) > 0 || m.Sum != "" && m.Size > 0 }

// Size is a number of bytes for people and models, about as exact as they need
// it.
func Size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KB", (n+1<<9)>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// MaxImage is the size, in bytes, of the largest image that the wires of all
// vendors take: 5 MiB when it is encoded in base64, which is how Anthropic's
// API and the clouds that pass it on have measured it ("image exceeds 5 MB
// maximum", HTTP 400). One that is larger would spoil its whole conversation.
const MaxImage = 5 << 20 / 4 * 3

// MaxFile is the same for a PDF file: with it a request stays within the 32 MB
// that Anthropic's API takes, and within OpenAI's 50 MB.
const MaxFile = 16 << 20

// IsImage reports whether mime is one of the types of images that the models
// of all vendors take.
func IsImage(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// ToolCall is one call that a model asks for.
type ToolCall struct {
	// ID names the call on the wire. It is unique within a transcript once the
	// loop has taken the reply in; a vendor's package may leave it empty.
	ID string `json:"id"`
	// Name is what the model wrote, before any resolving.
	Name string `json:"name"`
	// Arguments is the text that the model wrote: usually a JSON object, but
	// anything at all until the engine's arguments step has seen it.
	Arguments string `json:"arguments"`
	// Cut says that the reply ended inside Arguments (output limit or a dead
	// stream): the call must not run.
	Cut bool `json:"cut,omitempty"`
}

// ToolResult answers one call.
type ToolResult struct {
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	Content []Part `json:"content"`
	IsError bool   `json:"is_error,omitempty"`
	// Digest is of the result as an API client told it, of which Content may be
	// a part; empty for results of other tools.
	Digest string `json:"digest,omitempty"`
}

// Text makes a text part.
func Text(s string) Part { return Part{Kind: KindText, Text: s} }

// UserMessage is a person's message of plain text.
func UserMessage(text string) Message { return Message{Role: User, Parts: []Part{Text(text)}} }

// AssistantMessage is a model's message of plain text.
func AssistantMessage(text string) Message {
	return Message{Role: Assistant, Parts: []Part{Text(text)}}
}

// Text joins the text parts of m. Context, files, reasoning and media are
// left out.
func (m Message) Text() string { return JoinText(m.Parts) }

// Calls lists the tool calls of m in order.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if p.Kind == KindCall && p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// JoinText joins the text parts among parts without a separator.
func JoinText(parts []Part) string {
	n, last := 0, -1
	for i, p := range parts {
		if p.Kind == KindText && p.Text != "" {
			n++
			last = i
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return parts[last].Text
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Kind == KindText {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}
