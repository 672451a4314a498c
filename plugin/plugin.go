// Package plugin is the public API for Go plugins that are compiled in: a
// program of one's own is a main that calls goclaw.Main with its plugins.
//
//	func main() { os.Exit(goclaw.Main(weather.Plugin())) }
//
// The types are aliases of the contracts that GoClaw itself is built on, so a
// plugin's tool is the same thing as a built-in one. A plugin says in its
// manifest what it brings before any of its code runs; what it then registers
// beyond that is refused, and what it promised but never registered is
// reported by "goclaw tools explain".
//
// Life: Register is called once per process, before the first run, and must
// return soon. What it registers stays until the process ends.
//
// Start reading at [Plugin] and [NewTool], then at [On] for hooks.
package plugin

import (
	"context"
	"log/slog"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// The contract of a tool; see the documentation of each.
type (
	Tool       = tool.Tool
	Definition = tool.Definition
	Traits     = tool.Traits
	Touch      = tool.Touch
	Call       = tool.Call
	Host       = tool.Host
	Result     = tool.Result
	Effect     = tool.Effect
	Refusal    = tool.Refusal
	// A Binder is a factory: it makes the tool for each run, or says why not.
	Binder  = tool.Binder
	Binding = tool.Binding
	Part    = llm.Part
)

// Plugin is one compiled-in plugin.
type Plugin struct {
	Manifest Manifest
	Register func(API) error
}

// Manifest says what a plugin is and brings.
type Manifest struct {
	ID      string // lower-case letters, digits and dashes
	Version string
	Tools   []string // canonical names of all the tools that it registers
}

// API is what a plugin registers with. It is valid during Register only.
type API interface {
	// RegisterTool adds a tool. It fails when the manifest doesn't name the
	// tool, when the plugin has registered one of that name, or when its name
	// or schema is unusable. A tool whose name belongs to GoClaw or to a plugin
	// before this one is skipped; "goclaw tools explain" says so.
	RegisterTool(Tool) error
	// On registers a handler of a typed hook by its name: see the hooks that
	// [On] takes. It fails when there is no hook of that name, or when the
	// handler is not of its type: the error says which type that is.
	On(name string, handler any, o HookOptions) error
	// RegisterHook registers an observer of the event registry, which can't
	// change or stop what happens: gateway:start, gateway:stop,
	// message:received, message:sending, message:sent, before_prompt_build,
	// llm:input, llm:output, before_tool_call, after_tool_call, session:start,
	// session:end. The name of a typed hook is taken, too, with a warning in the
	// log that the handler only observes.
	RegisterHook(event string, observer func(context.Context, Event) error, o HookOptions) error
	// Logger writes to the process's log, marked with the plugin's id.
	Logger() *slog.Logger
}

// NewTool makes a tool of a plain function; the schema of the parameters is
// inferred from In's json and jsonschema tags. It panics when that schema
// can't be inferred.
func NewTool[In, Out any](def Definition, f func(ctx context.Context, call Call, in In) (Out, error)) Tool {
	return tool.New(def, f)
}

// Text is a part of plain text, for results.
func Text(s string) Part { return llm.Text(s) }
