package llm

import "encoding/json"

// Target is the provider and model that a request is built for, with what the
// request's makers must know of them.
type Target struct {
	Provider string `json:"provider"` // the name in the configuration
	Model    string `json:"model"`    // as the provider knows it

	// Vendor names the wire format (openai, anthropic, gemini, ollama, demo).
	Vendor string `json:"vendor,omitempty"`

	// ContextWindow and MaxOutput count tokens; 0 means unknown.
	ContextWindow int `json:"context_window,omitempty"`
	MaxOutput     int `json:"max_output,omitempty"`

	// MaxInput counts the tokens of the largest request that a session may make of
	// it, by estimate, where its server refused a larger one.
	MaxInput int `json:"max_input,omitempty"`

	Images bool `json:"images,omitempty"` // takes images in messages and results
	Files  bool `json:"files,omitempty"`  // takes PDF files there
	Tools  bool `json:"tools,omitempty"`  // takes tools
}

// String is provider/model, the form that people write.
func (t Target) String() string {
	if t.Model == "" {
		return t.Provider
	}
	return t.Provider + "/" + t.Model
}

// AddressHint is what addresses of OpenAI's wire have in common, to stand behind
// the key where one is written; "" for other wires.
func (t Target) AddressHint() string {
	if t.Vendor != "openai" {
		return ""
	}
	return ", which often ends in /v1"
}

// Choice says whether the model may call tools.
type Choice string

const (
	ChoiceAuto Choice = ""     // the model decides
	ChoiceNone Choice = "none" // tools stay in the request, so that its prefix holds, but may not be called
	// ChoiceRequired has the model call a tool, where its provider can be told so.
	ChoiceRequired Choice = "required"
)

// ToolSpec is what a model sees of a tool. In a request, Parameters is JSON Schema
// as the target's provider takes it, and goes out as it is. It is canonical:
// equal schemas are equal bytes.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Request is one model call. It belongs to its target and is never sent to
// another one.
type Request struct {
	Target Target

	// Static is the system prompt that holds across turns and sessions;
	// Session is what holds for the session and follows it. Wires with one
	// system text join them by a blank line.
	Static  string
	Session string

	Messages []Message
	// Load brings the content of media that stand in Messages without it, nil
	// where it is no longer kept. It may be called until the answer has ended,
	// with which its waiting ends too. Nil brings none.
	Load func(*Media) ([]byte, error)

	Tools  []ToolSpec
	Choice Choice
	Only   string // the tool that is to be called; empty for any. It goes with ChoiceRequired.

	MaxOutput   int      // tokens; 0 leaves it to the provider
	Temperature *float64 // nil leaves it to the provider
	Reasoning   string   // off, low, medium, high; empty leaves it to the provider

	// Reuse says that the answer may be one that was given to an equal request
	// before: it is the first call of its turn, and whoever started that doesn't
	// want the model's own.
	Reuse bool
	// Clock is the text of the context part of the last message that tells the
	// current time; empty when none does. Requests that differ in it alone are
	// equal.
	Clock string
}

// Finish says why a reply ended.
type Finish string

const (
	FinishStop    Finish = "stop"
	FinishCalls   Finish = "tool_calls"
	FinishLength  Finish = "length"  // the output limit cut the reply
	FinishFilter  Finish = "filter"  // the provider withheld content
	FinishStopped Finish = "stopped" // the reply broke off: the run was stopped, or every model that was asked failed
	FinishHost    Finish = "host"    // GoClaw itself ended the turn with these words
)

// Cuts reports whether a reply that ended so is not all the model had to say.
func (f Finish) Cuts() bool { return f == FinishLength || f == FinishFilter }

// Usage counts the tokens of one or more model calls.
type Usage struct {
	Input      int64 `json:"input"`       // all input tokens, cached ones included
	Cached     int64 `json:"cached"`      // of Input: read from the provider's cache
	CacheWrite int64 `json:"cache_write"` // of Input: written to the provider's cache
	Output     int64 `json:"output"`      // reasoning included
	Reasoning  int64 `json:"reasoning"`   // of Output
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Cached: u.Cached + v.Cached, CacheWrite: u.CacheWrite + v.CacheWrite,
		Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning,
	}
}

// Reply is a model's whole answer.
type Reply struct {
	Message Message `json:"message"`
	Finish  Finish  `json:"finish"`
	Usage   Usage   `json:"usage"`
	Target  Target  `json:"target"`          // who answered
	Model   string  `json:"model,omitempty"` // the model's name as the provider reported it
	ID      string  `json:"id,omitempty"`    // the provider's id of the answer

	// Cached says that no model was asked: it is the answer to an equal request
	// before. It has used nothing.
	Cached bool `json:"cached,omitempty"`
}
