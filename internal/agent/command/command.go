// Package command is the slash commands: what a person writes in place of a
// message to steer the conversation itself. It parses and describes them, for
// every front end alike; a front end does what they say, and may add commands
// that only make sense there to [Common].
//
// It is pure and keeps nothing. Start reading at [Set.Parse].
package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/lib/nearest"
)

// Kind says what an argument names, so that a front end can complete it.
type Kind string

const (
	Nothing Kind = ""        // the command takes no argument
	Text    Kind = "text"    // words of the person's own
	Agent   Kind = "agent"   // the id of an agent
	Session Kind = "session" // the name of a session
	Tool    Kind = "tool"    // the name of a tool
	Model   Kind = "model"   // provider or provider/model
	File    Kind = "file"    // a path on the person's machine
	Command Kind = "command" // the name of a slash command
	Answer  Kind = "answer"  // once, always or no
)

// Spec describes a command.
type Spec struct {
	Name string `json:"name"` // without the slash
	Kind Kind   `json:"kind,omitempty"`
	// Arg names the argument for people: NAME when it must be given, [NAME]
	// when it may be left out, empty when there is none.
	Arg string `json:"arg,omitempty"`
	Use string `json:"use"` // what it does, a phrase
}

// Usage is how the command is written.
func (s Spec) Usage() string {
	if s.Arg == "" {
		return "/" + s.Name
	}
	return "/" + s.Name + " " + s.Arg
}

// required reports whether the command does nothing without its argument.
func (s Spec) required() bool { return s.Arg != "" && !strings.HasPrefix(s.Arg, "[") }

// Set is the commands of a front end, in the order in which help lists them.
type Set []Spec

// Common are the commands of every front end.
func Common() Set {
	return Set{
		{Name: "new", Kind: Text, Arg: "[TITLE]", Use: "begin a new conversation"},
		{Name: "sessions", Use: "list the last conversations"},
		{Name: "resume", Kind: Session, Arg: "NAME", Use: "go on with another conversation"},
		{Name: "fork", Kind: Text, Arg: "[TURN]", Use: "go on from the last answer, or that of an earlier turn, in a copy of this conversation"},
		{Name: "agent", Kind: Agent, Arg: "[ID]", Use: "talk to another agent, or list them"},
		{Name: "model", Kind: Model, Arg: "[NAME]", Use: "use another model from now on, or say which answers"},
		{Name: "stop", Use: "stop what is going on"},
		{Name: "steer", Kind: Text, Arg: "TEXT", Use: "say something to the run that is going, between two of its steps"},
		{Name: "approve", Kind: Answer, Arg: "[once|always|no] [ID]", Use: "answer a tool call that waits for it: once when nothing is said; always lets the same call through from now on"},
		{Name: "plan", Kind: Text, Arg: "[on|off]", Use: "turn plan mode on, in which nothing is changed, or off"},
		{Name: "tools", Kind: Tool, Arg: "[NAME]", Use: "list the tools on offer, or explain one"},
		{Name: "context", Use: "show what the model is told, by size"},
		{Name: "usage", Use: "show tokens and cost of this conversation"},
		{Name: "export", Kind: File, Arg: "[FILE]", Use: "write the conversation to a file: Markdown, or JSON lines when it ends in .jsonl"},
		{Name: "help", Kind: Command, Arg: "[COMMAND]", Use: "list the commands"},
	}
}

// later are commands of every front end that this version doesn't have yet.
var later = []string{"compact", "skills"}

// Call is what a person wrote: a command, or a message when Name is empty.
type Call struct {
	Name string // of the command, as the set has it
	Arg  string // what follows it, without white space around; empty for none
	Text string // the message, when it is none
}

// Error says why a line can't be done.
type Error struct {
	Name string   // what was written
	Near []string // the commands that it may have meant, nearest first
	text string
}

func (e *Error) Error() string { return e.text }

// Parse reads a line. What begins with a slash and a word is a command; two
// slashes send a message that begins with one. A path is a message: its first
// word has another slash in it. The error, if any, is an [*Error] whose text
// says what to write.
func (s Set) Parse(line string) (Call, error) {
	trimmed := strings.TrimSpace(line)
	if rest, ok := strings.CutPrefix(trimmed, "//"); ok {
		return Call{Text: "/" + rest}, nil
	}
	name, arg, ok := split(trimmed)
	if !ok {
		return Call{Text: line}, nil
	}
	spec, ok := s.Find(name)
	switch {
	case !ok && slices.Contains(later, strings.ToLower(name)):
		return Call{}, &Error{Name: name, text: fmt.Sprintf("/%s is not in this version yet. To send it as a message, write //%[1]s", name)}
	case !ok:
		return Call{}, s.unknown(name)
	case arg == "" && spec.required():
		return Call{}, &Error{Name: spec.Name, text: fmt.Sprintf("/%s needs something behind it: write %s", spec.Name, spec.Usage())}
	case arg != "" && spec.Kind == Nothing:
		return Call{}, &Error{Name: spec.Name, text: fmt.Sprintf("/%s takes nothing behind it, and there is %q; two slashes send it as a message", spec.Name, clip(arg))}
	}
	return Call{Name: spec.Name, Arg: arg}, nil
}

// split takes a command line apart and reports whether line is one.
func split(line string) (name, arg string, ok bool) {
	rest, ok := strings.CutPrefix(line, "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' })
	if end < 0 {
		end = len(rest)
	}
	name = rest[:end]
	if name == "" || !letters(name) {
		return "", "", false
	}
	return name, strings.TrimSpace(rest[end:]), true
}

// letters reports whether s can be the name of a command, known or not.
func letters(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case i > 0 && (c == '-' || c == '_' || c == '?' || c >= '0' && c <= '9'):
		default:
			return s == "?"
		}
	}
	return true
}

// Find returns the command of a name, whatever its case.
func (s Set) Find(name string) (Spec, bool) {
	if name == "?" {
		name = "help"
	}
	i := slices.IndexFunc(s, func(c Spec) bool { return strings.EqualFold(c.Name, name) })
	if i < 0 {
		return Spec{}, false
	}
	return s[i], true
}

// Names lists the commands in order.
func (s Set) Names() []string {
	names := make([]string, len(s))
	for i, c := range s {
		names[i] = c.Name
	}
	return names
}

func (s Set) unknown(name string) error {
	e := &Error{Name: name, Near: nearest.Names(strings.ToLower(name), s.Names(), 2)}
	for _, n := range s.Names() { // what was begun counts as near
		if strings.HasPrefix(n, strings.ToLower(name)) && !slices.Contains(e.Near, n) {
			e.Near = append(e.Near, n)
		}
	}
	hint := "/help lists them"
	if len(e.Near) > 0 {
		hint = "did you mean /" + strings.Join(e.Near, " or /") + "?"
	}
	e.text = fmt.Sprintf("there is no command /%s: %s To send it as a message, write //%s", clip(name), strings.TrimSuffix(hint, ".")+dot(hint), clip(name))
	return e
}

// dot ends a sentence that has no end yet.
func dot(s string) string {
	if strings.HasSuffix(s, "?") {
		return ""
	}
	return "."
}

// clip keeps what a person wrote short enough to be repeated.
func clip(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
