package plugin

import (
	"context"

	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/tool"
)

// What handlers get and return; see the documentation of each.
type (
	HookOptions = hook.Options

	HookCall     = hook.Call
	Verdict      = hook.Verdict
	Approval     = hook.Ask
	Outcome      = tool.Outcome
	ToolList     = tool.List
	Event        = hook.Event
	CallReturned = hook.Returned
	CallEnded    = hook.Ended
	Prompt       = hook.Prompt
	PromptWish   = hook.PromptVerdict

	Message     = hook.Message
	SendWish    = hook.SendVerdict
	Install     = hook.Install
	InstallWish = hook.InstallVerdict
	ModelInput  = hook.ModelInput
	ModelOutput = hook.ModelOutput
	Session     = hook.Session
	Gateway     = hook.Gateway
)

// Hook is a typed hook: its name, and the type of its handlers.
type Hook[H any] struct{ name string }

// Name is that by which [API.On] knows the hook.
func (h Hook[H]) Name() string { return h.name }

// Observer is a handler that changes nothing. What it returns is recorded.
type Observer[E any] = func(ctx context.Context, e E) error

// The typed hooks. Those that decide or change are asked one after the other,
// highest priority first, and whoever waits for them waits: keep them short.
// All others are told on a goroutine of their own and nobody waits for them.
//
// A handler has HookOptions.Timeout, 5 seconds when that is 0. Then the context
// that it was given ends; one that does not heed that is left behind, and one
// that often does so is not asked any more.
var (
	// BeforePromptBuild is asked before a turn, and when somebody looks at what a
	// turn would be (Prompt.Preview). What several allow intersects; none can add
	// a tool. When one fails the turn has only tools that read.
	BeforePromptBuild = Hook[func(context.Context, *Prompt) (PromptWish, error)]{"before_prompt_build"}
	// BeforeToolCall decides about each call, whoever makes it, among the admin's
	// rules. It fails closed: with an error, a panic or when its time is up, the
	// call does not run; nor does any when Register fails after this was registered.
	// It is asked once more, at the end, when others rewrote the arguments after it
	// had seen them: a block counts then, other arguments don't.
	BeforeToolCall = Hook[func(context.Context, *HookCall) (Verdict, error)]{"before_tool_call"}
	// AfterToolCall is told how each call ended that got as far as to run or to be
	// answered by the cache.
	AfterToolCall = Hook[func(context.Context, *HookCall, *Outcome) error]{"after_tool_call"}
	// ToolResultPersist may change content and details of a result, also of one
	// that tells of a failure, before it is stored and shown. The details that it
	// is given are a json.RawMessage, or nil when the tool gave none; it may give
	// back anything that can be written as JSON. One that fails is passed over.
	ToolResultPersist = Hook[func(context.Context, *HookCall, Result) (Result, error)]{"tool_result_persist"}
	// MessageSending may change or call off what goes out through a channel. One
	// that fails is passed over. Answers in the terminal, on the page and over
	// HTTP are not sent but read, and don't pass here.
	MessageSending = Hook[func(context.Context, *Message) (SendWish, error)]{"message_sending"}
	// BeforeInstall may block the installation of a plugin or skill. It fails
	// closed.
	BeforeInstall = Hook[func(context.Context, *Install) (InstallWish, error)]{"before_install"}

	LLMInput        = Hook[Observer[*ModelInput]]{"llm_input"}
	LLMOutput       = Hook[Observer[*ModelOutput]]{"llm_output"}
	MessageReceived = Hook[Observer[*Message]]{"message_received"}
	MessageSent     = Hook[Observer[*Message]]{"message_sent"}
	SessionStart    = Hook[Observer[*Session]]{"session_start"}
	SessionEnd      = Hook[Observer[*Session]]{"session_end"}
	GatewayStart    = Hook[Observer[*Gateway]]{"gateway_start"}
	GatewayStop     = Hook[Observer[*Gateway]]{"gateway_stop"}
)

// On registers a handler of a typed hook. It is [API.On] with the type of the
// handler checked by the compiler.
func On[H any](a API, h Hook[H], handler H, o HookOptions) error { return a.On(h.name, handler, o) }

// Only makes a list that allows exactly the tools of these names.
func Only(names ...string) ToolList { return tool.Only(names...) }
