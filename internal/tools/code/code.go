// Package code is the family of tools that run code a model writes: tool_code,
// which calls other tools from a short JavaScript.
//
// A script runs in a process of its own, which is this program started anew
// with nothing but the script: no environment, no files, no network, and bounds
// on time and memory that hold whatever the script does, since the process is
// ended by them and nobody else is harmed. It asks for tools over its standard
// input and output; each call goes through the engine's whole pipeline as if
// the model had made it.
//
// A [Runner] is shared by all agents of the process and bounds how many scripts
// there are at once, and how many of them work: one that waits for its calls, for
// which a person may be asked, keeps nobody from working. It has no goroutine of
// its own; each script's processes and goroutines end with its call.
//
// Start reading at tool_code.go, the side of the gateway; script.go is the side
// of the script, in its process, and child.go what watches it there.
package code

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/goclaw/goclaw/internal/lib/turns"
	"github.com/goclaw/goclaw/internal/tool"
)

// limits bound one script.
type limits struct {
	Work    time.Duration `json:"work"`    // that it works itself, its calls not counted
	Memory  int64         `json:"memory"`  // bytes
	Calls   int           `json:"calls"`   // of tools, searches included
	Output  int           `json:"output"`  // bytes of what it returns, and of the arguments of a call
	Console int           `json:"console"` // bytes that it prints
	Depth   int           `json:"depth"`   // of functions that call each other, as the interpreter counts: one of a script for 1, one within the language for up to 9
}

var usual = limits{Work: 10 * time.Second, Memory: 128 << 20, Calls: 100, Output: 1 << 20, Console: 64 << 10, Depth: 2000}

const (
	// Scripts that work at once, each for no longer than its limit, in one process
	// of the gateway, and of them those of one person.
	working, workingEach = 4, 3
	// Scripts that have begun, those included that wait for their calls.
	begun, begunEach = 32, 8
	// beginWithin is for a script to begin. One that calls an agent that runs
	// scripts might wait for itself, so none waits for long.
	beginWithin = 15 * time.Second
)

// Program is what runs a script in a process of its own, where it is called
// with [Command] as its only argument: it runs [Child] then.
type Program struct {
	Path string // empty when there is none
	Name string // by which it knows itself
}

// Self is the program of this process. That one has to be made for it: a program
// that doesn't know [Command] would begin its usual work.
func Self() Program {
	// The system's own name for it leads to the same program also after it was
	// replaced on the disk.
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return Program{Path: self, Name: os.Args[0]}
	}
	path, err := os.Executable()
	if err != nil {
		return Program{}
	}
	return Program{Path: path, Name: os.Args[0]}
}

// Runner runs scripts.
type Runner struct {
	program        Program
	limits         limits
	begun, working *turns.Turns
}

// NewRunner makes a runner that starts program for each script.
func NewRunner(program Program) *Runner {
	return &Runner{program: program, limits: usual, begun: turns.New(begun, begunEach), working: turns.New(working, workingEach)}
}

// errBusy says that no script may begin.
var errBusy = errors.New("too many scripts run at once, of this person or of all; call the tools one by one, or try again later")

// begin waits until a script in a session of a person may begin. done is called at its end.
func (r *Runner) begin(ctx context.Context, who, session string) (done func(), err error) {
	ctx, stop := context.WithTimeoutCause(ctx, beginWithin, errBusy)
	defer stop()
	return r.begun.Take(ctx, who, session)
}

// Family is the family "code". A nil runner makes tools that tell that scripts
// can't run.
func Family(r *Runner) tool.Family {
	return tool.NewFamily("code", struct{}{}, func(struct{}) ([]tool.Tool, error) {
		if r == nil {
			r = NewRunner(Program{})
		}
		return []tool.Tool{toolCode(r)}, nil
	})
}
