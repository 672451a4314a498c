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

// ClientRound is a round of calls that went to a client, with what it says came of
// them.
type ClientRound struct {
	// Outcomes are of these calls alone. Their content is what the client told,
	// and becomes what a model is shown of it.
	Outcomes []Outcome
	Others   int  // code points that a model is shown of the round's other calls
	Past     bool // the client tells of an earlier turn: nobody hears of it any more
}

// Brought are the tools that come with one request.
type Brought struct {
	Tools []ClientTool `json:"tools"`
	// Single says that the client takes one call at a time.
	Single bool `json:"single,omitempty"`
}
