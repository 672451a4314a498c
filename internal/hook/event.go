package hook

import (
	"encoding/json"
	"slices"
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
	// [*Ended], [*Message], [*ModelInput], [*ModelOutput], [*Session], [*Gateway],
	// [*Install]. It is a copy that changes nothing.
	Data any
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

// copied is c for one handler alone.
func (c *Call) copied() *Call {
	own := *c
	own.Args, own.Touches = slices.Clone(c.Args), slices.Clone(c.Touches)
	return &own
}

// copied is o for one handler alone.
func copied(o *tool.Outcome) *tool.Outcome {
	own := *o
	own.Args, own.Details = slices.Clone(o.Args), slices.Clone(o.Details)
	own.Content, own.Steps = cloned(o.Content, true), slices.Clone(o.Steps)
	own.Effects, own.Touches = slices.Clone(o.Effects), slices.Clone(o.Touches)
	if o.Refusal != nil {
		r := *o.Refusal
		own.Refusal = &r
	}
	return &own
}

func (p *Prompt) copied() *Prompt {
	own := *p
	own.Message = light(p.Message)
	return &own
}

func (m *Message) copied() *Message {
	own := *m
	own.Message = light(m.Message)
	return &own
}

// light is m for one handler alone, without the bytes of images and files.
func light(m llm.Message) llm.Message {
	m.Parts = cloned(m.Parts, false)
	return m
}

// cloned is parts for one handler alone, with or without the bytes of images
// and files.
func cloned(parts []llm.Part, bytes bool) []llm.Part {
	parts = slices.Clone(parts)
	for i := range parts {
		p := &parts[i]
		if p.Media != nil {
			media := *p.Media
			if !bytes {
				media.Data = nil
			}
			p.Media = &media
		}
		if p.Call != nil {
			call := *p.Call
			p.Call = &call
		}
		if p.Result != nil {
			result := *p.Result
			result.Content = cloned(result.Content, bytes)
			p.Result = &result
		}
	}
	return parts
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
