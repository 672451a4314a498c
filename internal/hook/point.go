package hook

import (
	"context"
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/tool"
)

// The checkpoints, by the names under which handlers are registered.
const (
	beforePromptBuild = "before_prompt_build"
	beforeToolCall    = "before_tool_call"
	afterToolCall     = "after_tool_call"
	toolResultPersist = "tool_result_persist"
	messageSending    = "message_sending"
	beforeInstall     = "before_install"
	llmInput          = "llm_input"
	llmOutput         = "llm_output"
	messageReceived   = "message_received"
	messageSent       = "message_sent"
	sessionStart      = "session_start"
	sessionEnd        = "session_end"
	gatewayStart      = "gateway_start"
	gatewayStop       = "gateway_stop"
)

// The types of handlers. Those that return only an error observe.
type (
	decides  = func(context.Context, *Call) (Verdict, error)
	prompts  = func(context.Context, *Prompt) (PromptVerdict, error)
	persists = func(context.Context, *Call, tool.Result) (tool.Result, error)
	sends    = func(context.Context, *Message) (SendVerdict, error)
	installs = func(context.Context, *Install) (InstallVerdict, error)
	observes = func(context.Context, *Call, *tool.Outcome) error
)

// point is a checkpoint.
type point struct {
	name  string
	event string // its name in the event registry; empty when observers have none of it
	takes func(handler any) (call any, ok bool)
	want  string // the type that it takes, for messages
}

func points() []point {
	return []point{
		at[prompts](beforePromptBuild, beforePromptBuild),
		at[decides](beforeToolCall, beforeToolCall),
		{afterToolCall, afterToolCall, takesAfter, fmt.Sprintf("%T", observes(nil))},
		at[persists](toolResultPersist, ""),
		at[sends](messageSending, "message:sending"),
		at[installs](beforeInstall, ""),
		at[func(context.Context, *ModelInput) error](llmInput, "llm:input"),
		at[func(context.Context, *ModelOutput) error](llmOutput, "llm:output"),
		at[func(context.Context, *Message) error](messageReceived, "message:received"),
		at[func(context.Context, *Message) error](messageSent, "message:sent"),
		at[func(context.Context, *Session) error](sessionStart, "session:start"),
		at[func(context.Context, *Session) error](sessionEnd, "session:end"),
		at[func(context.Context, *Gateway) error](gatewayStart, "gateway:start"),
		at[func(context.Context, *Gateway) error](gatewayStop, "gateway:stop"),
	}
}

// at is a point whose handlers are of type H.
func at[H any](name, event string) point {
	var h H
	return point{name, event, func(v any) (any, bool) { f, ok := v.(H); return f, ok }, fmt.Sprintf("%T", h)}
}

func takesAfter(v any) (any, bool) {
	f, ok := v.(observes)
	return func(ctx context.Context, e *Ended) error { return f(ctx, e.Call, e.Outcome) }, ok
}

// typed finds the point of a typed hook.
func typed(name string) (point, error) {
	var names []string
	for _, p := range points() {
		if p.name == name {
			return p, nil
		}
		names = append(names, p.name)
	}
	return point{}, fmt.Errorf("there is no hook %q: there are %s", name, strings.Join(names, ", "))
}

// event finds the point that an event's name means. The names of typed hooks
// are taken, too; only says that the name is one of those.
func event(name string) (p point, only bool, err error) {
	var names []string
	for _, p := range points() {
		switch {
		case p.name == name:
			return p, true, nil
		case p.event != "" && p.event == name:
			return p, false, nil
		case p.event != "":
			names = append(names, p.event)
		}
	}
	return point{}, false, fmt.Errorf("there is no event %q: there are %s", name, strings.Join(names, ", "))
}
