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
// Start reading at [Plugin] and [NewTool].
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
	Part       = llm.Part
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
