// Package builtin lists what is compiled in: stores, tool families, vendors of
// models, and later channels. A new one is a folder of its own and one line
// here; the architecture test fails until the line is there.
//
// Nothing here has a life of its own. Start reading at the lists.
package builtin

import (
	"fmt"
	"io"
	"time"

	"github.com/goclaw/goclaw/internal/guard/workspace"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/provider/anthropic"
	"github.com/goclaw/goclaw/internal/provider/demo"
	"github.com/goclaw/goclaw/internal/provider/gemini"
	"github.com/goclaw/goclaw/internal/provider/ollama"
	"github.com/goclaw/goclaw/internal/provider/openai"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/internal/tools/code"
	"github.com/goclaw/goclaw/internal/tools/files"
	"github.com/goclaw/goclaw/internal/tools/testtools"
	"github.com/goclaw/goclaw/internal/tools/text"
)

// Vendors are the wires by which models are reached.
func Vendors() map[string]provider.Vendor {
	return map[string]provider.Vendor{
		"openai":    {Open: openai.Open},
		"anthropic": {Open: anthropic.Open},
		"gemini":    {Open: gemini.Open},
		"ollama":    {Open: ollama.Open},
		"demo":      {Open: demo.Open},
	}
}

// Deps is what families are built from, for one agent.
type Deps struct {
	Workspaces *workspace.Set
	Refs       tool.Refs
	Now        func() time.Time
	Scripts    *Scripts // of the process; nil runs none
	// Datasources are for the stand-ins of test builds alone, until there is
	// the family of databases.
	Datasources []Datasource
}

// Datasource is a database of the configuration.
type Datasource = testtools.Datasource

// Scripts runs the scripts of tool_code, in processes of the program.
type Scripts = code.Runner

// Program is what runs a script.
type Program = code.Program

// ScriptCommand is the only argument of a program that is to run [Script].
const ScriptCommand = code.Command

// NewScripts makes what runs scripts in processes of program.
func NewScripts(program Program) *Scripts { return code.NewRunner(program) }

// Self is the program of this process, which must know [ScriptCommand].
func Self() Program { return code.Self() }

// Script runs one script for the gateway at the other end of in and out, and
// returns the exit status of the process.
func Script(in io.Reader, out io.Writer) int { return code.Child(in, out) }

// families are the tool families of one agent.
func families(d Deps) []tool.Family {
	return []tool.Family{
		text.Family(d.Refs, d.Now),
		files.Family(d.Workspaces),
		code.Family(d.Scripts),
		testtools.Family(d.Datasources),
	}
}

// Register builds an agent's families and adds their tools to r.
func Register(r *tool.Registry, d Deps) error {
	for _, f := range families(d) {
		tools, err := f.Build(noSettings)
		if err != nil {
			return fmt.Errorf("build tools: %w", err)
		}
		r.Add(tool.Owner{Kind: tool.FamilyOwner, ID: f.Name}, tools...)
	}
	return nil
}

// noSettings decodes the settings of families that have none. A family with
// settings must not run on its defaults in silence: it fails here until the
// agent's block is handed in.
func noSettings(into any) error {
	if _, none := into.(*struct{}); none {
		return nil
	}
	return fmt.Errorf("nothing decodes its settings (%T) yet", into)
}
