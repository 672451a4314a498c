package hook

import (
	"encoding/json"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Event is what observers of the event registry are told.
type Event struct {
	Name string // as the handler was registered: "llm:input"
	Time time.Time
	// Data is what typed handlers of the same moment get: [*Prompt], [*Call],
	// [*Returned], [*Ended], [*Message], [*ModelInput], [*ModelOutput], [*Session],
	// [*Gateway], [*Install]. It is a copy that changes nothing.
	Data any
}

// Returned is a result that is about to be stored, before handlers transform it.
type Returned struct {
	Call   *Call
	Result tool.Result // its details are a [json.RawMessage], or nil
}

// Ended is a call that has come to its end.
type Ended struct {
	Call    *Call
	Outcome *tool.Outcome
}

// Prompt is a turn whose requests are about to be built.
type Prompt struct {
	Scope   tool.Scope
	Message llm.Message // the person's; images and files without their bytes
	Model   string      // "", provider or provider/model; empty means the configured default
	// Preview says that nothing is going to run: somebody looks at what would.
	Preview bool
}

// PromptVerdict is what a handler of before_prompt_build wants for the turn.
type PromptVerdict struct {
	Context    string    // joins the session context; at most 16 KiB
	ToolsAllow tool.List // the only tools that may be used; the zero list sets no limit
}

// Message is what a person said or is told.
type Message struct {
	Scope   tool.Scope
	Message llm.Message // images and files without their bytes
	Text    string      // of Message
}

// SendVerdict is what a handler of message_sending wants.
type SendVerdict struct {
	Text   string // goes out in place of what the message says; empty keeps that
	Cancel bool   // nothing goes out
	Reason string // why, for the log
}

// Install is a plugin or skill that somebody is about to install.
type Install struct {
	Kind    string // plugin or skill
	Name    string
	Version string
	From    string // the folder, archive or address
	Dir     string // where its files were unpacked to be looked at
	By      auth.Principal
}

// InstallVerdict is what a handler of before_install wants.
type InstallVerdict struct {
	Block string // why it must not be installed; empty lets it
}

// ModelInput is a request to a model.
type ModelInput struct {
	Scope    tool.Scope
	Target   llm.Target
	System   []string      // the parts of the system prompt
	Messages []llm.Message // images and files without their bytes
	Tools    []string      // that are offered
}

// ModelOutput is a model's answer.
type ModelOutput struct {
	Scope   tool.Scope
	Target  llm.Target
	Message llm.Message // calls included
	Finish  llm.Finish
	Usage   llm.Usage
	Took    time.Duration
	Cached  bool // it is the answer to an equal request before
}

// Session is a session that begins or ends.
type Session struct {
	Agent  string
	ID     string
	Caller auth.Principal // who began it
	Origin tool.Origin    // that it began with
}

// Gateway is the process that serves.
type Gateway struct {
	Version string
	Address string // host:port
}

// size is about how many bytes parts hold.
func size(parts []llm.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text)
		if p.Media != nil {
			n += len(p.Media.Data)
		}
		if p.Result != nil {
			n += size(p.Result.Content)
		}
	}
	return n
}

// same reports whether a handler gave back the arguments that it got.
func same(a, b json.RawMessage) bool { return string(a) == string(b) }
