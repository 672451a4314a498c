package agent

import (
	"encoding/json"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// EventType tells the variants of an [Event] apart. The names are those of the
// wire.
type EventType string

const (
	RunStarted     EventType = "run_started"
	PromptBuilt    EventType = "prompt_built"       // Request
	ModelStarted   EventType = "model_call_started" // Target
	TokenChunk     EventType = "token_chunk"        // Text
	ReasoningChunk EventType = "reasoning_chunk"    // Text
	Retracted      EventType = "retracted"          // the text of this model call begins anew
	ToolStarted    EventType = "tool_started"       // Tool
	ToolProgress   EventType = "tool_progress"      // Tool, Text
	ToolFinished   EventType = "tool_finished"      // Tool with Outcome
	Notice         EventType = "notice"             // Kind, Text
	Attachment     EventType = "attachment"         // Ref
	RunFinished    EventType = "run_finished"       // Text (the whole answer), End
	RunFailed      EventType = "run_failed"         // Text (what went wrong and what to do), End
)

// Event is one thing that happened in a run. Every front end consumes these
// and nothing else. Which fields are set follows from Type.
type Event struct {
	Type    EventType `json:"type"`
	Run     string    `json:"run"`
	Session string    `json:"session"`
	Agent   string    `json:"agent,omitempty"`
	Seq     int       `json:"seq"` // from 1, without gaps within a run
	Time    time.Time `json:"time"`

	Text    string        `json:"text,omitempty"`
	Kind    string        `json:"kind,omitempty"` // of a notice: retry, failover, limit, guard, approval, …
	Ref     string        `json:"ref,omitempty"`
	Target  *llm.Target   `json:"target,omitempty"`
	Request *RequestFacts `json:"request,omitempty"`
	Tool    *ToolEvent    `json:"tool,omitempty"`
	End     *RunEnd       `json:"end,omitempty"`
}

// ToolEvent tells of one call.
type ToolEvent struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Index   int             `json:"index"` // among the calls of its round
	Args    json.RawMessage `json:"args,omitempty"`
	Outcome *tool.Outcome   `json:"outcome,omitempty"`
}

// RunEnd is how a run ended.
type RunEnd struct {
	Status Status    `json:"status"`
	Rounds int       `json:"rounds"`
	Usage  llm.Usage `json:"usage"`
	// USD is what the run's model calls cost; nil when a price is unknown.
	USD *float64 `json:"usd,omitempty"`
}
