// Package tool is the contract between those who make tools, the engine that
// offers and runs them, and the loop that asks for them: [Tool], [Definition],
// [Call], [Result], the closed authority of a run ([Scope]), what may change
// between rounds ([State]), what a request is offered ([Surface]) and where
// tools are kept ([Registry]).
//
// It decides nothing and runs nothing. Its values are plain data, safe to keep
// and to store; nothing here has a life of its own.
//
// To add a tool, start reading at [New]. To follow a call, start at [Call] and
// [Outcome].
package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
)

// Tool is an executable typed action.
type Tool interface {
	// Definition is asked for once, when the tool is registered, and must not
	// change afterwards.
	Definition() Definition
	// Execute runs one call. The arguments are valid against the schema. It
	// must return soon after ctx ends. An error of type [*Refusal] says that a
	// guard refused; any other error is the tool's own failure, whose text the
	// model reads.
	Execute(ctx context.Context, call Call) (Result, error)
}

// Toucher is a tool that knows before it runs what a call reads and writes.
// A tool that is no Toucher touches nothing when it is read-only and isn't
// cached, else everything.
type Toucher interface {
	// Touches must not block: it is asked before the call runs, and again about
	// arguments that a hook rewrote. A plugin's tool that does not answer within
	// two seconds touches everything. The call has no host yet.
	Touches(call Call) []Touch
}

// Stamper is a cacheable tool that reads what others than tools may change: an
// answer of it is used again only while the stamp stays the same.
type Stamper interface {
	// Stamp tells in a short text in what condition everything is that the call
	// reads. It is asked before the call runs, and again with the same at before
	// an equal call is answered without running, and should cost much less than
	// running. at is when it was asked first: what changed shortly before may
	// change again without a trace in size and times, so it has to be told
	// closer. ok is false when that can't be told at a fair price; then the call
	// is neither kept nor answered. The call has no host.
	Stamp(ctx context.Context, call Call, at time.Time) (stamp string, ok bool)
}

// Binder is a factory: given the facts of a run it returns the tool for that
// run, or a reason why there is none. What it returns passes every layer like
// any other tool.
type Binder interface {
	// Bind is asked for each request and must not block, nor start anything. A
	// plugin's that does not answer within two seconds has declined.
	// The tool is the one that was registered, by its definition.
	Bind(b Binding) (Tool, string)
}

// Binding is what a factory is told of the run that it makes a tool for. All of
// it comes from the host, none from a model.
type Binding struct {
	// Scope says for whom and where: agent, session, workspace, caller, delivery
	// with channel, account and thread, sandbox, what the client can do.
	Scope Scope
	// Target is the provider and model of the request; zero when no model is
	// involved.
	Target llm.Target
}

// namePattern is what [ValidName] accepts, for messages.
const namePattern = `^[a-z][a-z0-9_]{0,63}$`

// ValidName reports whether name is canonical: 1 to 64 small letters of ASCII,
// digits and underscores, of which a letter comes first; as a regular
// expression, ^[a-z][a-z0-9_]{0,63}$. It is written out because compiling that
// would slow down every start of the program.
func ValidName(name string) bool {
	if len(name) == 0 || len(name) > 64 || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// Definition is what the engine and the model know of a tool.
type Definition struct {
	Name        string // canonical: see ValidName
	Description string // for the model: when to use it, when not, one example

	// Parameters is the JSON schema of the arguments, an object schema in
	// canonical form. Output, if any, describes Result.Details.
	Parameters json.RawMessage
	Output     json.RawMessage

	Traits
}

// Traits is what the layers and the steps need to know of a tool. The zero
// value is an ordinary writing tool without limits of its own.
type Traits struct {
	Category string   // the group it belongs to: fs, shell, git, web, data, dev, media, memory, sessions, automation, messaging, code
	Tags     []string // further words by which selection finds it

	ReadOnly   bool // changes nothing that anybody can see
	Core       bool // always offered when permitted; cleared for all but core tools and built-in families
	Internal   bool // free of side effects; joins every declared set; cleared as Core is
	AdminOnly  bool // only for privileged callers
	OwnerOnly  bool // only for an administrator in person, not for work that acts for no one
	DataWrite  bool // only where some data source may be written
	Finder     bool // finds tools that selection left out: only where selection runs, and in no step of a procedure
	Delegates  bool // starts runs of its own: only where the agent may start some and depth is left
	Optional   bool // takes part only when an allow list names it
	DirectOnly bool // keeps out of search_tools and code mode
	Inverse    bool // undoes another tool's effect; never offered to a model
	Waits      bool // waits for calls or runs of its own, so it takes no worker; only then people are asked about its calls
	Repeats    bool // meant to be called again and again; the loop guard looks away

	Origins  []Origin // only for runs of these origins; empty means all
	Channels []string // only for runs that deliver to these channels; empty means all
	Client   []string // only where the front end can do all of this

	// Cacheable: equal calls of an agent in a workspace may be answered from the
	// result cache, so a result depends on nothing else but what the call says
	// that it touches; see also Stamper.
	Cacheable    bool
	CallerCached bool // … but only for the same caller
	KeepResult   bool // the result is stored under a ref even when it is small

	// Paths are the parameters that name files or folders of the workspace, or
	// lists of such. Their values reach rules, handlers and the tool in their
	// one spelling, and none that leads out of the workspace does. Nil means
	// "path", where the tool is one of ours or of a compiled-in plugin and has a
	// text of that name; an empty list means none. A slash behind the name says
	// that one at the end of a value tells something and stays.
	Paths []string

	Timeout time.Duration // 0 means the configured default
}

// Call is one call as a tool gets it.
type Call struct {
	ID    string          // of the call within its session
	Args  json.RawMessage // final: repaired, validated, rewritten by hooks
	Scope Scope           // for whom and where
	State State           // as it is for this call
	Host  Host            // lent for the length of the call
}

// Host is what the engine lends to a running call.
type Host interface {
	// Call runs another tool under the same scope, through every step but
	// show, and waits for it.
	Call(ctx context.Context, name string, args json.RawMessage) Outcome
	// Progress tells whoever watches how far the call is. It never blocks.
	Progress(text string)
	// Permitted lists what the scope may use, before selection.
	Permitted() []Definition
	// Withheld lists what the caller's role keeps away, with the reason.
	Withheld() []Removal
	// Resolve finds the tool that a call of this name would run. The error is
	// why it would run none, in the words that the call would get.
	Resolve(name string) (Definition, error)
	// Search finds at most most permitted tools that fit query, as search_tools
	// does.
	Search(query string, most int) Found
}

// Found is what a search came upon.
type Found struct {
	Tools    []Match   `json:"tools"` // the best first
	Withheld []Removal `json:"withheld,omitempty"`
}

// Match is a tool that a search found.
type Match struct {
	Name    string   `json:"name"`
	Score   float64  `json:"score,omitempty"`
	Reasons []string `json:"reasons,omitempty"` // why it fits
	Offered bool     `json:"offered,omitempty"` // it was shown to the model already
}

// Result is what a tool returns.
type Result struct {
	// Content feeds the model's next inference.
	Content []llm.Part
	// Details is structured data for people, traces and composition; it is
	// never sent to a model. It must marshal to JSON.
	Details any
	// Effects change the state when the result is stored.
	Effects []Effect
	// Touched adds touches that only running could find out.
	Touched []Touch
	// IsError marks content that tells of a failure, when the tool has more to
	// say than an error could.
	IsError bool
	// Passing marks a result that an equal call would not get again though
	// nothing changed, such as one that time cut short. It isn't cached.
	Passing bool
}

// TextResult is a result of plain text.
func TextResult(s string) Result { return Result{Content: []llm.Part{llm.Text(s)}} }

// Refs gives the bytes that a ref stands for, to the session that owns it.
type Refs interface {
	Read(ctx context.Context, s Scope, ref string) ([]byte, error)
}
