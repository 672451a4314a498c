package agent

import (
	"encoding/json"
	"fmt"
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
	Notice         EventType = "notice"             // Kind, Text, Attempt
	Attachment     EventType = "attachment"         // Ref; Media when a model made it
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
	Seq     int       `json:"seq"` // rises within a run; chunks that come as one have the number of the last
	Time    time.Time `json:"time"`

	Text    string        `json:"text,omitempty"`
	Kind    string        `json:"kind,omitempty"` // of a notice: retry, failover, cooldown, fallback, compaction, limit, guard, approval_needed, approval_answered, queued, steered, joined, parked, …
	Ref     string        `json:"ref,omitempty"`  // of an attachment: its ref, or where it stands among the media of its turn; of a notice steered or joined: the other run's id
	Target  *llm.Target   `json:"target,omitempty"`
	Request *RequestFacts `json:"request,omitempty"`
	Tool    *ToolEvent    `json:"tool,omitempty"`
	Media   *Made         `json:"media,omitempty"`
	End     *RunEnd       `json:"end,omitempty"`
	// Attempt is the model call that failed which a notice is about, or with
	// which a run did.
	Attempt *llm.Attempt `json:"attempt,omitempty"`
	// Approval is what a notice of the kind approval_needed asks people, and one
	// of the kind approval_answered tells the end of. The notice is of the call
	// that Tool names; the approval's own call may be one that this one makes.
	Approval *tool.Approval `json:"approval,omitempty"`
}

// ToolEvent tells of one call.
type ToolEvent struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Index   int             `json:"index"` // among the calls of its round
	Args    json.RawMessage `json:"args,omitempty"`
	Outcome *tool.Outcome   `json:"outcome,omitempty"`
}

// Made is an image or a file that a model made.
type Made struct {
	Name string `json:"name,omitempty"`
	MIME string `json:"mime"`
	Size int    `json:"size"` // bytes
	Data []byte `json:"-"`    // for those who show the run in its own process
}

// Attachments are the events that tell what the model made in r, which is
// stored.
func (r *Round) Attachments() []Event {
	var list []Event
	for _, p := range r.Reply.Message.Parts {
		if p.Kind != llm.KindMedia || p.Media == nil {
			continue
		}
		m := &Made{Name: p.Media.Name, MIME: p.Media.MIME, Size: p.Media.Bytes(), Data: p.Media.Data}
		list = append(list, Event{Type: Attachment, Ref: fmt.Sprintf("reply:%d:%d", r.Number, len(list)), Media: m})
	}
	return list
}

// RunEnd is how a run ended.
type RunEnd struct {
	Status Status    `json:"status"`
	Rounds int       `json:"rounds"`
	Usage  llm.Usage `json:"usage"`
	// Cut is length or filter when the answer is not all the model had to say.
	Cut llm.Finish `json:"cut,omitempty"`
	// Calls went to the API client that brought their tools: it runs them, and
	// its next message has the results. Their arguments are final.
	Calls []ToolEvent `json:"calls,omitempty"`
	// Cached says that the answer was given to an equal request before, and no
	// model was asked.
	Cached bool `json:"cached,omitempty"`
	// USD is what the run's model calls cost; nil when a price is unknown.
	USD *float64 `json:"usd,omitempty"`
	// Err is why the run failed, for the log of the process; nil when it did not.
	Err error `json:"-"`
}
