package tool

import "encoding/json"

// ClientTool is a tool that an API client brings with its request. The model
// calls it as any other; the client runs it, and its next message has the
// result.
type ClientTool struct {
	Name        string          `json:"name"` // canonical
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Brought are the tools that come with one request.
type Brought struct {
	Tools []ClientTool `json:"tools"`
	// Single says that the client takes one call at a time.
	Single bool `json:"single,omitempty"`
}
