package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/hook/rule"
	"github.com/goclaw/goclaw/internal/lib/jsonschema"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// HookBackend is what the routes of hooks ask of the gateway.
type HookBackend interface {
	// Rules lists the hooks of the configuration, in the order in which they are
	// consulted, and the handlers of plugins.
	Rules() Hooks
	// SaveHook writes a hook into the configuration, in place of the one called
	// name, as a new one when name is empty, and puts it in force. The error is a
	// [*Problem] where the hook is to blame.
	SaveHook(name string, h HookRule) (Hook, error)
	// DeleteHook removes a hook from the configuration and has it no longer in force.
	DeleteHook(name string) error
	// TestHooks reads the rules for a call of req that somebody thinks of.
	TestHooks(ctx context.Context, req run.Request, t HookTest) (HookReadings, error)
	// Notices are what rules told admins since the gateway started, the latest first.
	Notices() []rule.Notice
}

// KeptSecret stands for a secret that is set: it isn't told, and saving a hook
// with it keeps the one that there is.
const KeptSecret = "***"

// HookRule is a rule on tool calls as it stands in the configuration.
type HookRule struct {
	Name     string   `json:"name"`
	When     string   `json:"when,omitempty"`    // before (default) or after the call
	Tools    []string `json:"tools,omitempty"`   // names, patterns, group:, plugin:, mcp:; all when empty
	Agents   []string `json:"agents,omitempty"`  // ids; all when empty
	Match    string   `json:"match,omitempty"`   // condition in CEL; always when empty
	Action   string   `json:"action"`            // block, notify, webhook, approve
	Message  string   `json:"message,omitempty"` // what the model and people are told
	Priority int      `json:"priority,omitempty"`
	Timeout  string   `json:"timeout,omitempty"` // as 5s, which is the default
	URL      string   `json:"url,omitempty"`
	Secret   string   `json:"secret,omitempty"` // *** where one is set
	To       string   `json:"to,omitempty"`
}

// Hook is a rule with how it does.
type Hook struct {
	HookRule
	Where   source.Pos `json:"where"`
	Problem string     `json:"problem,omitempty"` // why it can't do what it is for
	Note    string     `json:"note,omitempty"`
	// Since the gateway started or the hooks changed: calls that it was for,
	// those that it did not let through, and those that it could not judge, or of
	// which it could not tell or ask.
	Matched  int64     `json:"matched"`
	Blocked  int64     `json:"blocked"`
	Failed   int64     `json:"failed"`
	Last     time.Time `json:"last,omitzero"`      // when it matched last
	Failure  string    `json:"failure,omitempty"`  // why it failed last, half a sentence
	FailedAt time.Time `json:"failed_at,omitzero"` // when that was
}

// Hooks are all that is consulted about tool calls and other points of a run.
type Hooks struct {
	Rules    []Hook      `json:"rules"`
	Handlers []hook.Info `json:"handlers"` // of plugins
}

// HookTest is a call that rules are tried on.
type HookTest struct {
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args,omitempty"` // {} when left out
	Agent   string          `json:"agent,omitempty"`
	Session string          `json:"session,omitempty"`
	Role    auth.Role       `json:"role,omitempty"` // as which role; admin by default
	User    string          `json:"user,omitempty"` // id of the caller
	Origin  tool.Origin     `json:"origin,omitempty"`
	Channel string          `json:"channel,omitempty"`
	When    string          `json:"when,omitempty"`   // before (default) or after: which rules are tried
	Result  string          `json:"result,omitempty"` // of the call, for those after
	Error   string          `json:"error,omitempty"`  // how it failed, for those after
	Send    bool            `json:"send,omitempty"`   // webhooks that decide are asked
	// ClientTools are what an API client would bring, as /v1/chat/completions takes them.
	ClientTools []ChatTool `json:"client_tools,omitempty"`
}

// After reports whether the rules after calls are tried.
func (t HookTest) After() bool {
	return t.When == string(rule.After) || t.When == "" && (t.Result != "" || t.Error != "")
}

// HookReadings say what the rules would do about a call.
type HookReadings struct {
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"` // as the rules see them
	Agent    string          `json:"agent"`
	Notes    []string        `json:"notes,omitempty"`
	Rules    []HookReading   `json:"rules"` // in the order in which they are consulted
	Decision string          `json:"decision"`
}

// HookReading is what one rule would do.
type HookReading struct {
	Name     string     `json:"name"`
	When     string     `json:"when"`
	Action   string     `json:"action"`
	Priority int        `json:"priority"`
	Matches  bool       `json:"matches"`
	Unsure   bool       `json:"unsure,omitempty"` // its condition can't be evaluated
	Why      string     `json:"why"`
	Would    string     `json:"would,omitempty"`
	Answer   string     `json:"answer,omitempty"` // of its webhook, when it was asked: allow, or why not
	Where    source.Pos `json:"where"`
}

// Notices are what rules told admins.
type Notices struct {
	Notices []rule.Notice `json:"notices"`
}

func listHooks(s *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
	return answer(w, http.StatusOK, s.opts.Backend.Rules())
}

func listNotices(s *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
	return answer(w, http.StatusOK, Notices{Notices: append([]rule.Notice{}, s.opts.Backend.Notices()...)})
}

func addHook(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	return saveHook(s, w, r, "", http.StatusCreated)
}

func replaceHook(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	return saveHook(s, w, r, r.PathValue("name"), http.StatusOK)
}

func saveHook(s *Server, w http.ResponseWriter, r *http.Request, name string, status int) error {
	var body HookRule
	if err := decode(r, &body); err != nil {
		return err
	}
	h, err := s.opts.Backend.SaveHook(name, body)
	if err != nil {
		return err
	}
	return answer(w, status, h)
}

func deleteHook(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	if err := s.opts.Backend.DeleteHook(r.PathValue("name")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func testHooks(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	var body HookTest
	if err := decode(r, &body); err != nil {
		return err
	}
	if body.Tool == "" {
		return badRequest("tool is empty: name the tool of the call")
	}
	args, ok := jsonschema.Object(body.Args)
	if !ok {
		return badRequest("args must be a JSON object")
	}
	body.Args = args
	req := run.Request{Origin: c.origin(), Caller: c.Principal, Delivery: tool.Delivery{Channel: body.Channel}}
	if err := actAs(&req, c, body.Role, body.Origin); err != nil {
		return err
	}
	if body.User != "" {
		req.Caller.ID, req.Caller.Name = body.User, ""
	}
	var err error
	if req.Agent, err = s.agentOf(r.Context(), body.Agent); err != nil {
		return err
	}
	req.Session = body.Session
	tools, p := (&ChatRequest{Tools: body.ClientTools}).tools()
	if p != nil {
		return badRequest("client_%s", p.Detail)
	}
	req.Brought = tools.brought
	v, err := s.opts.Backend.TestHooks(r.Context(), req, body)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, v)
}
