package api

import (
	"encoding/json"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/preset"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Me is who asks.
type Me struct {
	User auth.Principal `json:"user"`
	// Version is the gateway's.
	Version string `json:"version"`
}

// Agent is one agent that can be talked to.
type Agent struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Default bool   `json:"default"`
	// Provider and Model answer for it; empty when none is set up, as Problem says.
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Demo says that the model is the built-in script, no AI.
	Demo    bool   `json:"demo,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// Agents is the answer of GET /api/agents.
type Agents struct {
	Agents []Agent `json:"agents"`
}

// ModelChoices are the models that can answer messages to an agent.
type ModelChoices struct {
	Agent string `json:"agent"`
	// Default is the provider/model that answers unless a message names another; empty when none is set up.
	Default string `json:"default"`
	// Asked is the provider/model that the model of the query stands for.
	Asked string `json:"asked,omitempty"`
	// Models are those that are known of the providers that are set up, as provider/model; others of theirs can be named too.
	Models []string `json:"models"`
}

// StartRun is the body of POST /api/runs.
type StartRun struct {
	// Agent is an agent's id; empty means the default agent.
	Agent string `json:"agent,omitempty"`
	// Session is the conversation that goes on; empty begins one.
	Session string `json:"session,omitempty"`
	// Message is what the person says.
	Message string `json:"message"`
	// Attachments are ids that POST /api/attachments gave.
	Attachments []string `json:"attachments,omitempty"`
	// Model is a provider or provider/model for this run.
	Model string `json:"model,omitempty"`
	// Plan has the run begin in plan mode, in which nothing is changed.
	Plan bool `json:"plan,omitempty"`
	// Fresh asks the model even where the cache of answers has one to an equal request.
	Fresh bool `json:"fresh,omitempty"`
	// ToolsAllow narrows the run to these tools, patterns and groups; an empty list allows none. ToolsDeny takes tools from it.
	ToolsAllow *[]string `json:"tools_allow,omitempty"`
	ToolsDeny  []string  `json:"tools_deny,omitempty"`
	// Sandbox holds the run to tools.sandbox.
	Sandbox bool `json:"sandbox,omitempty"`
	// Client is what the client can do beyond showing text, which some tools need.
	Client []string `json:"client,omitempty"`
	// WhileBusy says what happens when the session's run is going: queue, steer or interrupt; empty means sessions.while_busy.
	WhileBusy string `json:"while_busy,omitempty"`
	// Stream answers with the run's events (the default); false answers at once with the run.
	Stream *bool `json:"stream,omitempty"`
	// StopOnDisconnect stops the run when the client of a stream leaves before its end.
	StopOnDisconnect bool `json:"stop_on_disconnect,omitempty"`
}

// RunState is how far a run is.
type RunState string

const (
	RunQueued  RunState = "queued"
	RunRunning RunState = "running"
	RunEnded   RunState = "ended"
)

// Run is one execution of the agent loop.
type Run struct {
	ID      string   `json:"id"`
	Agent   string   `json:"agent"`
	Session string   `json:"session"`
	State   RunState `json:"state"`
	// Status is how it ended; empty before.
	Status  agent.Status   `json:"status,omitempty"`
	Error   string         `json:"error,omitempty"`
	Caller  auth.Principal `json:"caller"`
	Origin  tool.Origin    `json:"origin"`
	Message llm.Message    `json:"message"` // what the person said; the bytes of media are left out
	Media   []Media        `json:"media,omitempty"`
	Model   string         `json:"model,omitempty"`
	Started time.Time      `json:"started,omitzero"`
	Ended   time.Time      `json:"ended,omitzero"`
	Usage   llm.Usage      `json:"usage"`
	USD     *float64       `json:"usd,omitempty"` // what is stored of it cost so; nil when a price is unknown
}

// Runs is a page of runs, the last started first.
type Runs struct {
	Runs []Run `json:"runs"`
	// Next continues the list where it ends; empty at the end.
	Next string `json:"next,omitempty"`
}

// Session is one conversation with one agent.
type Session struct {
	Agent   string         `json:"agent"`
	ID      string         `json:"id"`
	Title   string         `json:"title"`
	Origin  tool.Origin    `json:"origin"`
	Caller  auth.Principal `json:"caller"` // who began it
	Created time.Time      `json:"created"`
	Updated time.Time      `json:"updated"`
	Turns   int            `json:"turns"`
	Usage   llm.Usage      `json:"usage"`
	USD     *float64       `json:"usd,omitempty"` // nil when a price is unknown
	Status  agent.Status   `json:"status"`        // of the last turn; done when there is none yet
	ForkOf  *session.Point `json:"fork_of,omitempty"`
	// Running is the id of the run that is going; empty when none is.
	Running string `json:"running,omitempty"`
	// Queued counts the messages that wait.
	Queued int `json:"queued,omitempty"`
	// Plan says that plan mode is on, in which nothing is changed.
	Plan bool `json:"plan,omitempty"`
}

// Sessions is a page of sessions, the last updated first.
type Sessions struct {
	Sessions []Session `json:"sessions"`
	Next     string    `json:"next,omitempty"`
}

// SessionDetail is a session with what goes on in it.
type SessionDetail struct {
	Session
	// Runs are the run that is going, if any, and those that wait, in order.
	Runs []Run `json:"runs"`
}

// PlanMode is the body of PUT /api/sessions/{agent}/{id}/plan, and its answer.
type PlanMode struct {
	On bool `json:"on"`
}

// Rename is the body of PATCH /api/sessions/{agent}/{id}.
type Rename struct {
	Title string `json:"title"`
}

// ForkMode says on which side of a turn a fork leaves a session.
type ForkMode string

const (
	ForkAfter  ForkMode = "after"  // the fork begins with the turn and all before it
	ForkBefore ForkMode = "before" // the fork begins with what is before the turn
)

// Fork is the body of POST /api/sessions/{agent}/{id}/fork.
type Fork struct {
	// Turn is the number of a turn, or its run; empty means the last one that has ended.
	Turn string `json:"turn,omitempty"`
	// Mode is after unless it is before.
	Mode ForkMode `json:"mode,omitempty"`
}

// Turns is a page of a session's turns in order. Before continues towards the beginning.
type Turns struct {
	Turns  []Turn `json:"turns"`
	Before int    `json:"before,omitempty"` // number of the first turn of this page, when there are earlier ones
}

// Turn is one message of a person and everything until the agent's final answer.
type Turn struct {
	Number  int            `json:"number"`
	Run     string         `json:"run"`
	Seeded  bool           `json:"seeded,omitempty"` // a client told it; there was no run
	Copied  bool           `json:"copied,omitempty"` // the fork began with it; it ran, and counts, where that was made
	Message llm.Message    `json:"message"`          // what the person said; the bytes of media are left out
	Added   []string       `json:"added,omitempty"`  // what the host put behind their words for the model
	Media   []Media        `json:"media,omitempty"`  // of the message and all that follows
	Model   string         `json:"model,omitempty"`  // provider/model that answered
	Status  agent.Status   `json:"status"`
	Error   string         `json:"error,omitempty"`
	Caller  auth.Principal `json:"caller"`
	Origin  tool.Origin    `json:"origin"`
	Started time.Time      `json:"started"`
	Ended   time.Time      `json:"ended,omitzero"`
	Usage   llm.Usage      `json:"usage"`
	USD     *float64       `json:"usd,omitempty"` // nil when a price is unknown
	Rounds  []Round        `json:"rounds"`
}

// Media is an image or a file in a turn. GET
// /api/sessions/{agent}/{id}/turns/{turn}/media/{media} has its bytes; turn is
// the turn's number or its run. Its id says where it stands, while the run goes
// and later: message:0 is the first of the message, joined:3:0 of what was said
// just before round 3, reply:3:0 of that round's answer, call:ID:0 of a call's
// result.
type Media struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	MIME string `json:"mime"`
	Size int    `json:"size"` // bytes
}

// Round is one model call with the tool calls of its answer.
type Round struct {
	Number int `json:"number"`
	// Joined is what the person said meanwhile, just before this call.
	Joined     []string       `json:"joined,omitempty"`
	Text       string         `json:"text"`
	Reasoning  string         `json:"reasoning,omitempty"`
	Finish     llm.Finish     `json:"finish"`
	Target     llm.Target     `json:"target"`
	Usage      llm.Usage      `json:"usage"`
	USD        *float64       `json:"usd,omitempty"`    // what all model calls for it cost; nil when a price is unknown
	Cached     bool           `json:"cached,omitempty"` // the answer to an equal request before; no model was asked
	Calls      []tool.Outcome `json:"calls"`
	Attempts   []llm.Attempt  `json:"attempts,omitempty"`  // model calls for it that failed, in order
	Notices    []agent.Told   `json:"notices,omitempty"`   // what whoever watched was told besides
	Retracted  int            `json:"retracted,omitempty"` // how often text that had been shown was taken back
	Started    time.Time      `json:"started"`
	FirstToken time.Time      `json:"first_token,omitzero"`
	Replied    time.Time      `json:"replied,omitzero"`
	Ended      time.Time      `json:"ended,omitzero"`
}

// Hits is the answer of GET /api/search.
type Hits struct {
	Hits []Hit `json:"hits"`
}

// Hit is a place of a session that a search found.
type Hit struct {
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	Title   string    `json:"title"`
	Turn    int       `json:"turn"`
	Role    llm.Role  `json:"role"` // user or assistant
	Time    time.Time `json:"time"`
	Snippet string    `json:"snippet"`
}

// Surface is what a run would be offered, and what not and why.
type Surface struct {
	Agent   string         `json:"agent"`
	Session string         `json:"session,omitempty"`
	Origin  tool.Origin    `json:"origin"`
	Role    auth.Role      `json:"role"`
	Target  llm.Target     `json:"target"`
	Offered []Tool         `json:"offered"` // in the order in which a model is shown them
	Others  []Tool         `json:"permitted_not_offered"`
	Removed []tool.Removal `json:"removed"`
	Picks   []tool.Pick    `json:"picks,omitempty"`   // why each of Offered is there, in the same order
	Notices []string       `json:"notices,omitempty"` // of the pick: that the session's list begins anew, what could not be asked
	Doubts  []string       `json:"doubts,omitempty"`  // names and places of the request that don't exist; not told to users
}

// Tool is one tool of a [Surface].
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Owner       string          `json:"owner"`
	Category    string          `json:"category,omitempty"`
	ReadOnly    bool            `json:"read_only"`
	Internal    bool            `json:"internal,omitempty"`
	Core        bool            `json:"core,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Explanation says how far a tool gets and why no further.
type Explanation = engine.Explanation

// KnownTools is a page of the tools that an agent knows of, those included that
// never came to be, ordered by name.
type KnownTools struct {
	Agent  string      `json:"agent"`
	Target llm.Target  `json:"target"`
	Tools  []KnownTool `json:"tools"`
	// Total is how many tools the filters but state let pass; States is how many
	// of them stop at which state, under "" those that a request would show.
	Total  int            `json:"total"`
	States map[string]int `json:"states"`
	// Next continues the list where it ends; empty at the end.
	Next string `json:"next,omitempty"`
}

// KnownTool is a tool with how far it gets.
type KnownTool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"` // its first line
	Owner       string `json:"owner,omitempty"`
	Category    string `json:"category,omitempty"`
	ReadOnly    bool   `json:"read_only,omitempty"`
	// Stopped is the first of installed, discovered, registered and exposed that it did not reach; empty when a request would show it.
	Stopped string             `json:"stopped,omitempty"`
	States  []engine.StateLine `json:"states"`
	Fix     string             `json:"fix,omitempty"`
	Calls   engine.CallStats   `json:"calls"` // of the last 30 days
	// Secret says that users are not told of it.
	Secret bool `json:"-"`
}

// ToolFilter chooses tools of [KnownTools].
type ToolFilter struct {
	Query    string  // words of name, description, owner
	Category string  // exactly
	Owner    string  // any part of it
	State    *string // that they stop at; nil is all
	Limit    int
	After    string // the next of the page before
	Discreet bool   // without what users are not told of
}

// ToolDetail is all about one tool.
type ToolDetail struct {
	Tool   *Tool           `json:"tool,omitempty"` // nil for one that never came to be
	Tags   []string        `json:"tags,omitempty"`
	Output json.RawMessage `json:"output,omitempty"` // schema of the details of its results
	// Schemas are what the providers are sent that are in use.
	Schemas     []ToolSchema     `json:"schemas"`
	Calls       engine.CallStats `json:"calls"` // of the last 30 days
	Explanation Explanation      `json:"explanation"`
}

// ToolSchema is a tool as one provider is sent it.
type ToolSchema struct {
	Provider    string          `json:"provider"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Changes     []string        `json:"changes,omitempty"` // what was changed for it, a line each
	Problem     string          `json:"problem,omitempty"` // why it can't be shown to it
}

// Invoke is the body of POST /tools/invoke.
type Invoke struct {
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args,omitempty"` // an object; absent means {}
	Agent   string          `json:"agent,omitempty"`
	Session string          `json:"session,omitempty"` // absent means the caller's own session for calls by hand
	Role    auth.Role       `json:"role,omitempty"`    // as which role, at most the caller's, which is meant when it is absent
	Origin  tool.Origin     `json:"origin,omitempty"`  // as from where
}

// Prompt is the request that the session's next turn would begin with.
type Prompt struct {
	Agent    string          `json:"agent"`
	Session  string          `json:"session,omitempty"`
	Target   llm.Target      `json:"target"`
	Sections []PromptSection `json:"sections"`
	Tools    PromptTools     `json:"tools"`
	Messages PromptMessages  `json:"messages"`
	// Window is the target's, in tokens; 0 when unknown.
	Window int `json:"window,omitempty"`
	// Last is what the session's last request used; nil before the first.
	Last *llm.Usage `json:"last,omitempty"`
}

// PromptSection is a named part of the prompt.
type PromptSection struct {
	Name   string `json:"name"`
	Place  string `json:"place"` // static, session or message
	Source string `json:"source,omitempty"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"tokens"` // estimated
	// Changed says how it differs from the session's last request and so broke the provider's cache: changed, new or empty.
	Changed string `json:"changed,omitempty"`
	Text    string `json:"text"`
}

// PromptTools is the part of the tools' descriptions.
type PromptTools struct {
	Count  int `json:"count"`
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
}

// PromptMessages is the part of the history.
type PromptMessages struct {
	Count  int `json:"count"`
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
}

// Files are files and folders of an agent's workspace, the best match first.
type Files struct {
	Agent string `json:"agent"`
	Files []File `json:"files"`
	// LeftOut counts more that match.
	LeftOut int `json:"left_out,omitempty"`
	// Partial says that not all was looked at: there is too much, it takes too long, or it may not be read.
	Partial bool `json:"partial,omitempty"`
}

// File is a file or a folder of a workspace.
type File struct {
	// Path is relative to the workspace, as the files tools take it; what is hidden in it is spelled out.
	Path   string `json:"path"`
	Folder bool   `json:"folder,omitempty"`
}

// Attachment is a file that a person gave.
type Attachment struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	MIME string `json:"mime"`
	Size int    `json:"size"` // bytes
}

// Presets are the calls that people wrote down.
type Presets struct {
	Presets []preset.Preset `json:"presets"`
}

// AddPreset is a call to write down.
type AddPreset struct {
	Tool        string          `json:"tool"`
	Name        string          `json:"name"`                  // one line of at most 80 characters
	Description string          `json:"description,omitempty"` // what it answers, one line of at most 300 characters
	Args        json.RawMessage `json:"args"`                  // an object
}

// Approvals is a page of what people are asked.
type Approvals struct {
	Approvals []Approval `json:"approvals"`
	Next      string     `json:"next,omitempty"` // is the after of the next page
}

// Approval is what people are asked before a call runs.
type Approval struct {
	tool.Approval
	// MayAnswer says that it is open and the caller may answer it.
	MayAnswer bool `json:"may_answer,omitempty"`
}

// AnswerApproval is what a person says to that.
type AnswerApproval struct {
	// Answer is allow_once, allow_always (the same call of the same person is not asked about again) or deny.
	Answer tool.Answer `json:"answer"`
}

// Grants is what is always allowed.
type Grants struct {
	Grants []approval.Grant `json:"grants"`
}

// Status is how the gateway is.
type Status struct {
	Version   string           `json:"version"`
	Started   time.Time        `json:"started"`
	Ready     bool             `json:"ready"`
	Problems  []string         `json:"problems"` // for admins alone
	Providers []ProviderStatus `json:"providers"`
	Pool      PoolStatus       `json:"pool"`
	Runs      RunsStatus       `json:"runs"`

	// Fault is why nothing can be stored at the moment; nil when it can. Then
	// Ready is false, and Problems says it too.
	Fault error `json:"-"`
}

// ProviderStatus is how a provider and model do.
type ProviderStatus struct {
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Failures int       `json:"failures"` // of the last 5 minutes
	Until    time.Time `json:"cooling_until,omitzero"`
	// LastFailed is when it failed last; a success forgets that.
	LastFailed time.Time `json:"last_failed,omitzero"`
	// Reason is how it failed then, or why it can't be asked; for admins alone.
	Reason string `json:"reason,omitempty"`
}

// PoolStatus is how busy the tools' workers are.
type PoolStatus struct {
	Workers int `json:"workers"`
	// Busy is how many of them run a call.
	Busy int `json:"busy"`
	// Spare is how many calls run beside them, at most as many again: of people
	// who have no other running while all workers are busy.
	Spare  int `json:"spare"`
	Queued int `json:"queued"`
}

// RunsStatus counts runs.
type RunsStatus struct {
	Running int `json:"running"`
	Queued  int `json:"queued"`
}

// SessionChanged is the data of the event session_changed of GET /api/events.
type SessionChanged struct {
	Session
	Deleted bool `json:"deleted,omitempty"`
}

// Kept is the data of the event run_replayed: the events that follow were made from the record of a run whose own are no longer kept.
type Kept struct {
	Run string `json:"run"`
}
