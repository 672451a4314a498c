package api

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine/preset"
	"github.com/goclaw/goclaw/internal/tool"
)

// access is what a route asks of its caller. The zero value is no access: a
// route that declares none does not start.
type access string

const (
	// public routes need no sign-in.
	public access = "public"
	// user routes need somebody who is signed in.
	user access = access(auth.User)
	// admin routes need an admin.
	admin access = access(auth.Admin)
)

// handler answers a request. An error that it returns becomes a problem,
// unless the answer has begun.
type handler func(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error

// route is one line of the interface. What stands here is also what the
// OpenAPI document says.
type route struct {
	method, path string
	access       access
	handle       handler
	summary      string
	query        []param   // parameters of the query
	headers      []param   // of the request, besides those that every route takes
	body         any       // zero value of the body's type; nil for none
	raw          string    // media type of a body that is not JSON; empty for none
	limit        int64     // of the body in bytes; a route with a body must declare one
	answers      []success // its answers when all is well
	refusals     []int     // statuses of its problems, besides those that any route of its kind has
	endless      bool      // its stream has no end of its own
	page         bool      // for people; it doesn't stand in the document
}

// success is one of a route's answers when all is well.
type success struct {
	status  int      // 200 when 0
	when    string   // in which case, where the route has several
	body    any      // zero value of the type of its JSON; nil for none
	stream  []any    // zero values of the types of the events that it streams; nil for none
	media   []string // its types when it is neither; nil for no content
	headers []param  // besides those that every answer has
}

// streams reports whether an answer can be a stream.
func (rt *route) streams() bool {
	return slices.ContainsFunc(rt.answers, func(a success) bool { return a.stream != nil })
}

// gives is the one answer of a route that tells v.
func gives(v any) []success { return []success{{body: v}} }

// done is the one answer of a route that has nothing to tell.
var done = []success{{status: http.StatusNoContent}}

// param is a parameter of a query, or a header.
type param struct{ name, about string }

// looked are the parameters by which a run is looked at that isn't started.
var looked = []param{
	{"agent", "the agent"},
	{"session", "the session"},
	{"role", "as which role, at most the caller's"},
	{"origin", "as a run of this origin"},
	{"model", "provider or provider/model"},
	{"message", "the message that the request is for"},
	{"cap", "as a run with this cap: names with commas; empty allows none"},
	{"declare", "as a run that declares these tools"},
	{"tools_allow", "as a run whose request allows these tools, patterns and groups; empty allows none"},
	{"tools_deny", "as a run whose request denies these"},
	{"channel", "as a run that answers to this channel"},
	{"account", "of the channel"},
	{"group", "of the channel"},
	{"thread", "in the group"},
	{"client", "what the front end can do beyond showing text"},
	{"sandbox", "true: as a run that is confined to a sandbox"},
	{"flush", "true: as before a conversation is shortened"},
	{"depth", "how many runs stand above it"},
	{"client_tools", "a list of tools as an API client would bring them to /v1/chat/completions, as JSON"},
}

// routes is the interface, in the order of the OpenAPI document.
func routes() []route {
	return []route{
		{method: "GET", path: "/healthz", access: public, handle: health, summary: "Whether the process lives", answers: gives(State{})},
		{method: "GET", path: "/readyz", access: public, handle: ready, summary: "Whether the gateway takes work", answers: gives(State{})},
		{method: "GET", path: "/metrics", access: user, handle: metrics, refusals: []int{404}, summary: "Metrics in the text format of Prometheus; those of tokens, costs and budgets only for admins", answers: []success{{media: []string{"text/plain"}}}},

		{method: "GET", path: "/api/me", access: user, handle: me, summary: "Who asks", answers: gives(Me{})},
		{method: "POST", path: "/api/signout", access: user, handle: signOut, refusals: []int{400}, summary: "End the browser's session", answers: done},
		{method: "GET", path: "/api/status", access: user, handle: status, summary: "How the gateway is", answers: gives(Status{})},
		{method: "GET", path: "/api/agents", access: user, handle: agents, summary: "The agents that can be talked to", answers: gives(Agents{})},
		{
			method: "GET", path: "/api/models", access: user, handle: listChoices, refusals: []int{404}, summary: "The models that can answer messages to an agent",
			query: []param{{"agent", "the agent"}, {"model", "provider or provider/model, to find out whether messages can name it and what it stands for"}}, answers: gives(ModelChoices{}),
		},
		{method: "GET", path: "/api/openapi.json", access: user, handle: document, summary: "This document", answers: gives(json.RawMessage(nil))},

		{
			method: "POST", path: "/api/runs", access: user, handle: startRun, refusals: []int{404, 409}, summary: "Start a run and follow its events",
			headers: []param{{"Idempotency-Key", "1 to 128 printable characters; the same key of the same caller is the same run, and another message under it is refused"}, {"Last-Event-ID", "of the last event that was seen of that run"}},
			body:    StartRun{}, limit: maxBody,
			answers: []success{
				{stream: toldOfRuns, headers: runHeaders, when: "the run's events"},
				{status: http.StatusAccepted, body: Run{}, headers: runHeaders, when: "the run, where stream is false"},
			},
		},
		{
			method: "GET", path: "/api/runs", access: user, handle: listRuns, refusals: []int{404}, summary: "Runs, the last started first",
			query:   []param{{"agent", "of this agent"}, {"session", "of this session"}, {"status", "that ended so, or run"}, {"limit", "at most so many, 50 by default"}, {"after", "next of the page before"}},
			answers: gives(Runs{}),
		},
		{method: "GET", path: "/api/runs/{id}", access: user, handle: getRun, summary: "One run", answers: gives(Run{})},
		{
			method: "GET", path: "/api/runs/{id}/events", access: user, handle: runEvents, summary: "Follow a run from any event (Last-Event-ID)",
			query:   []param{{"after", "the same, for clients that can't set headers"}},
			headers: []param{{"Last-Event-ID", "of the last event that was seen; the answer goes on behind it"}},
			answers: []success{
				{stream: toldOfRuns, headers: runHeaders, when: "the events behind that one"},
				{status: http.StatusNoContent, headers: runHeaders, when: "the run has ended, and there is no event behind that one"},
			},
		},
		{method: "POST", path: "/api/runs/{id}/stop", access: user, handle: stopRun, refusals: []int{409}, summary: "Stop a run", answers: gives(Run{})},

		{
			method: "GET", path: "/api/events", access: user, handle: events, refusals: []int{404}, summary: "Follow what goes on: changes of sessions, and the runs of one",
			query:   []param{{"agent", "the agent of session"}, {"session", "whose runs' events are sent too"}},
			headers: []param{{"Last-Event-ID", "run:seq of the last event that was seen of the session's run"}},
			answers: []success{{stream: append([]any{SessionChanged{}, Run{}}, toldOfRuns...)}}, endless: true,
		},

		{
			method: "GET", path: "/api/sessions", access: user, handle: listSessions, refusals: []int{404}, summary: "Sessions, the last updated first",
			query:   []param{{"agent", "of this agent"}, {"title", "whose title holds these words"}, {"limit", "at most so many, 50 by default"}, {"after", "next of the page before"}},
			answers: gives(Sessions{}),
		},
		{
			method: "GET", path: "/api/search", access: user, handle: search, refusals: []int{404}, summary: "Messages and answers that hold all words",
			query:   []param{{"q", "the words"}, {"agent", "of this agent"}, {"session", "of this session"}, {"limit", "at most so many, 50 by default"}},
			answers: gives(Hits{}),
		},
		{method: "GET", path: "/api/sessions/{agent}/{id}", access: user, handle: getSession, summary: "One session and what goes on in it", answers: gives(SessionDetail{})},
		{method: "PATCH", path: "/api/sessions/{agent}/{id}", access: user, handle: renameSession, refusals: []int{409}, summary: "Rename a session", body: Rename{}, limit: maxBody, answers: gives(Session{})},
		{method: "PUT", path: "/api/sessions/{agent}/{id}/plan", access: user, handle: setPlan, refusals: []int{409}, summary: "Turn plan mode on or off, in which nothing is changed", body: PlanMode{}, limit: maxBody, answers: gives(PlanMode{})},
		{
			method: "POST", path: "/api/sessions/{agent}/{id}/fork", access: user, handle: forkSession, refusals: []int{409}, summary: "Begin a session with a copy of the first turns of this one",
			headers: []param{{"Idempotency-Key", "1 to 128 printable characters; the same key of the same caller is the same fork"}},
			body:    Fork{}, limit: maxBody, answers: []success{{status: http.StatusCreated, body: Session{}}},
		},
		{method: "DELETE", path: "/api/sessions/{agent}/{id}", access: user, handle: deleteSession, refusals: []int{409}, summary: "Delete a session", answers: done},
		{
			method: "GET", path: "/api/sessions/{agent}/{id}/turns", access: user, handle: listTurns, summary: "Turns of a session in order, the last ones by default",
			query: []param{{"before", "only turns before this number"}, {"limit", "at most so many, 50 by default"}}, answers: gives(Turns{}),
		},
		{method: "GET", path: "/api/sessions/{agent}/{id}/turns/{turn}/media/{media}", access: user, handle: getMedia, summary: "The bytes of an image or a file of a turn, which is named by its number or its run", answers: []success{{media: []string{"*/*"}}}},
		{
			method: "GET", path: "/api/sessions/{agent}/{id}/export", access: user, handle: exportSession, refusals: []int{409}, summary: "A session as JSONL or Markdown",
			query: []param{{"format", "jsonl (default) or markdown"}}, answers: []success{{media: []string{"application/jsonl", "text/markdown"}}},
		},
		{method: "POST", path: "/api/sessions/{agent}/{id}/stop", access: user, handle: stopSession, summary: "Stop the session's run and withdraw what waits", answers: done},
		{
			method: "GET", path: "/api/prompt", access: user, handle: promptOf, refusals: []int{404}, summary: "The request that the next turn would begin with",
			query: []param{{"agent", "the agent"}, {"session", "the session"}, {"message", "the words that it is for"}, {"model", "provider or provider/model"}}, answers: gives(Prompt{}),
		},

		{
			method: "GET", path: "/api/tools", access: user, handle: listTools, refusals: []int{404}, summary: "The tools that a run is offered, and what not and why",
			query:   looked,
			answers: gives(Surface{}),
		},
		{
			method: "GET", path: "/api/catalog", access: user, handle: listKnown, refusals: []int{404}, summary: "All tools that an agent knows of, those included that never came to be, and how far each gets",
			query: append([]param{
				{"q", "words of the name, the description or the owner"},
				{"category", "of this category"},
				{"owner", "whose owner's name holds this"},
				{"state", "that stop at this state: installed, discovered, registered, exposed; offered for those that a request would show"},
				{"limit", "at most so many, 50 by default"},
				{"after", "next of the page before"},
			}, looked...),
			answers: gives(KnownTools{}),
		},
		{
			method: "GET", path: "/api/tools/{name}", access: user, handle: getTool, refusals: []int{404}, summary: "One tool: what it takes, as providers are sent it, how its calls went, and how far it gets",
			query: looked, answers: gives(ToolDetail{}),
		},
		{
			method: "GET", path: "/api/tools/{name}/explain", access: user, handle: explainTool, summary: "How far a tool gets, why no further, and what to do about it",
			query:   looked,
			answers: gives(Explanation{}),
		},
		{
			method: "GET", path: "/api/usage", access: user, handle: listUsage, refusals: []int{403}, summary: "What model calls used and cost: an admin sees all, others what they caused themselves",
			query: []param{
				{"by", "what it is added up by: day, agent, model, person, session, run, several with commas; day,model by default"},
				{"since", "a date, a time, or how long ago, as 7d; the last 30 days by default"},
				{"until", "the same; a date includes its day"},
				{"agent", "of this agent"},
				{"session", "of this session of the agent"},
				{"person", "caused by this person, by their id"},
				{"model", "provider or provider/model"},
				{"run", "of this run"},
				{"zone", "the time zone whose days count, as Europe/Berlin; the gateway's by default"},
				{"limit", "at most so many rows, those that cost most; 1000 by default"},
			},
			answers: gives(budget.Report{}),
		},

		{
			method: "GET", path: "/api/approvals", access: user, handle: listApprovals, refusals: []int{404}, summary: "What people are asked before a call runs, and said, the latest first: an admin sees all, others what their own runs ask",
			query: []param{
				{"status", "only those that are open, allowed, denied, expired, stopped or lost"},
				{"agent", "of this agent"},
				{"session", "of this session of the agent"},
				{"limit", "at most so many, 50 by default"},
				{"after", "next of the page before"},
			},
			answers: gives(Approvals{}),
		},
		{method: "GET", path: "/api/approvals/{id}", access: user, handle: getApproval, summary: "One of them", answers: gives(Approval{})},
		{
			method: "POST", path: "/api/approvals/{id}", access: user, handle: answerApproval, refusals: []int{403, 409},
			summary: "Answer: of several who do, one is heard, and the others get 409. Who is no admin can answer what their own runs ask, unless the rule guards them", body: AnswerApproval{}, limit: maxBody, answers: gives(Approval{}),
		},
		{method: "GET", path: "/api/approvals/grants", access: user, handle: listGrants, summary: "What is always allowed, the latest first: an admin sees all, others what is allowed to them", answers: gives(Grants{})},
		{method: "DELETE", path: "/api/approvals/grants/{id}", access: user, handle: revokeGrant, summary: "Ask about it again from the next call on", answers: done},
		{method: "GET", path: "/api/hooks", access: admin, handle: listHooks, summary: "The rules on tool calls and the handlers of plugins, in the order in which they are consulted", answers: gives(Hooks{})},
		{method: "POST", path: "/api/hooks", access: admin, handle: addHook, refusals: []int{409}, summary: "Add a rule: it is written into the configuration and in force at once", body: HookRule{}, limit: maxBody, answers: []success{{status: http.StatusCreated, body: Hook{}}}},
		{method: "PUT", path: "/api/hooks/{name}", access: admin, handle: replaceHook, refusals: []int{404, 409}, summary: "Change a rule", body: HookRule{}, limit: maxBody, answers: gives(Hook{})},
		{method: "DELETE", path: "/api/hooks/{name}", access: admin, handle: deleteHook, refusals: []int{404, 409}, summary: "Remove a rule", answers: done},
		{method: "POST", path: "/api/hooks/test", access: admin, handle: testHooks, refusals: []int{404}, summary: "Which rules match a call that somebody thinks of, and what they would do; nothing runs", body: HookTest{}, limit: 8 << 20, answers: gives(HookReadings{})},
		{method: "GET", path: "/api/notices", access: admin, handle: listNotices, summary: "What rules told admins since the gateway started, the latest first", answers: gives(Notices{})},

		{
			method: "GET", path: "/api/presets", access: user, handle: listPresets, summary: "Calls that people wrote down (saved queries, presets of tools), in the order in which they were added: an admin sees all, others the approved ones of tools that they may use and their own",
			query: []param{{"tool", "of this tool"}}, answers: gives(Presets{}),
		},
		{
			method: "POST", path: "/api/presets", access: user, handle: addPreset, refusals: []int{404, 409}, summary: "Write a call down, of a tool that the caller may use; models see it when an admin has approved it",
			body: AddPreset{}, limit: maxBody, answers: gives(preset.Preset{}),
		},
		{method: "POST", path: "/api/presets/{tool}/{name}/approve", access: admin, handle: approvePreset, summary: "Show it to models from the next request on", answers: done},
		{method: "DELETE", path: "/api/presets/{tool}/{name}", access: admin, handle: removePreset, summary: "Forget it", answers: done},
		{method: "POST", path: "/tools/invoke", access: user, handle: invokeTool, refusals: []int{404}, summary: "One tool call under the caller's policy", body: Invoke{}, limit: 8 << 20, answers: gives(tool.Outcome{})},

		{
			method: "GET", path: "/api/files", access: user, handle: findFiles, summary: "Files and folders of an agent's workspace by what is written of their path, for completion",
			query:    []param{{"agent", "the agent"}, {"session", "the session"}, {"q", "any part of a path, in any case; without it the top of the workspace"}, {"limit", "at most so many, 50 by default"}},
			refusals: []int{403, 404}, answers: gives(Files{}),
		},
		{
			method: "POST", path: "/api/attachments", access: user, handle: attach, summary: "Keep a file for one of the next messages; the body is the file, or a form with one",
			query: []param{{"name", "of the file; a form says it itself"}}, raw: "*/*", limit: 20 << 20, answers: []success{{status: http.StatusCreated, body: Attachment{}}},
		},

		{
			method: "POST", path: "/v1/chat/completions", access: user, handle: chatCompletions, refusals: []int{404, 409, 502}, summary: "OpenAI-compatible: one turn with an agent",
			headers: []param{{"X-GoClaw-Session", "names a session of the caller, which goes on: a name of their choice, what an answer said, or the id of one that began elsewhere; without it, or user in the body, the conversation is in messages"}, {"Idempotency-Key", "1 to 128 printable characters; the same key of the same caller is the same run, and another message under it is refused"}},
			body:    ChatRequest{}, limit: 20 << 20, answers: []success{{body: ChatCompletion{}, stream: []any{ChatChunk{}, OpenAIProblem{}}, headers: runHeaders}},
		},
		{method: "GET", path: "/v1/models", access: user, handle: listModels, summary: "OpenAI-compatible: the agents as models", answers: gives(Models{})},
		{method: "GET", path: "/v1/models/{model...}", access: user, handle: getModel, summary: "OpenAI-compatible: one agent as a model", answers: gives(ModelInfo{})},

		{method: "GET", path: signInPath, access: public, handle: getSignIn, summary: "The sign-in page", page: true},
		{method: "POST", path: signInPath, access: public, handle: postSignIn, summary: "Sign in", raw: "application/x-www-form-urlencoded", limit: maxSignIn, page: true},
		{method: "GET", path: signInStyle, access: public, handle: getSignInStyle, summary: "What the sign-in page looks like", page: true},
		{method: "GET", path: "/", access: user, handle: pages, summary: "The web UI", page: true},
	}
}

// toldOfRuns is what streams tell of a run.
var toldOfRuns = []any{agent.Event{}, Kept{}}

// runHeaders say which run an answer is of, before its first event.
var runHeaders = []param{{"X-GoClaw-Run", "the run's id"}, {"X-GoClaw-Session", "its session"}, {"X-GoClaw-Agent", "its agent"}}
