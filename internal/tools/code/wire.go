package code

import "encoding/json"

// The process that runs a script and the tool that started it speak in lines of
// JSON. The first line is a job; then the process sends requests and gets a
// reply to each, in any order, but to that it waits, which it says when it has
// nothing to do without another reply; its last line is the end.

// job is what the process has to do, and within which limits.
type job struct {
	Script string `json:"script"`
	Limits limits `json:"limits"`
}

// request is what a script asks for.
type request struct {
	Op   string          `json:"op"` // search, describe, call, wait, or end
	ID   int             `json:"id,omitempty"`
	Name string          `json:"name,omitempty"` // of the tool; the query of search
	Args json.RawMessage `json:"args,omitempty"`
	End  *end            `json:"end,omitempty"`
	// Heard is how many replies the process has taken in when it waits.
	Heard int `json:"heard,omitempty"`
}

// reply answers a request.
type reply struct {
	ID    int             `json:"id"`
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"` // why it failed
}

// called is the value of a reply to a call.
type called struct {
	Tool   string          `json:"tool"`
	Status string          `json:"status"`
	Text   string          `json:"text"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// end is how a script ended.
type end struct {
	Value   json.RawMessage `json:"value,omitempty"` // what it returned; empty for nothing
	Error   string          `json:"error,omitempty"` // why it did not get to its end, with the line
	Console []string        `json:"console,omitempty"`
	Dropped int             `json:"dropped,omitempty"` // lines that were too much
	Unheard []string        `json:"unheard,omitempty"` // errors of calls that nobody waited for
}
