package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/prompt"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/selection"
	"github.com/goclaw/goclaw/internal/engine/spill"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/lib/recent"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Agent is one agent of the configuration with what it runs on.
type Agent struct {
	Config   config.Agent
	Registry *tool.Registry
	Engine   *engine.Engine
	Prompts  *prompt.Prompts

	models  *agentModels
	prior   *recent.Value[[]string] // its most used tools
	profile run.Profile
}

// Agent returns the agent of an id, made when it is first asked for; "", main
// and default name the default agent.
func (g *Gateway) Agent(id string) (*Agent, error) {
	c, ok := g.Config.Agent(id)
	if !ok {
		return nil, g.noAgent(id)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if a := g.agents[c.ID]; a != nil {
		return a, nil
	}
	a, err := g.build(c)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", c.ID, err)
	}
	g.agents[c.ID] = a
	return a, nil
}

// Profile is what the runner needs to know of an agent.
func (g *Gateway) Profile(id string) (run.Profile, error) {
	a, err := g.Agent(id)
	if err != nil {
		return run.Profile{}, err
	}
	return a.profile, nil
}

// NoAgentError says that no agent has the id.
type NoAgentError struct {
	ID    string
	Known []string // all agents, in the order of the configuration
}

func (e *NoAgentError) Error() string {
	known := strings.Join(e.Known, ", ")
	if near, ok := nearest.Name(e.ID, e.Known); ok {
		return fmt.Sprintf("there is no agent %q: did you mean %s? Known are %s", e.ID, near, known)
	}
	return fmt.Sprintf("there is no agent %q: known are %s", e.ID, known)
}

func (g *Gateway) noAgent(id string) error {
	e := &NoAgentError{ID: id}
	for _, a := range g.Config.Agents() {
		e.Known = append(e.Known, a.ID)
	}
	return e
}

// Forsaken says what became of the agent main, which is there without being
// written, when a list that doesn't name it took its place though it has
// conversations. It is "" when nothing did.
func (g *Gateway) Forsaken(ctx context.Context) (string, error) {
	now, _ := g.Config.Agent(config.MainAgent)
	if now.ID == config.MainAgent {
		return "", nil
	}
	left, _, err := g.Sessions.Sessions(ctx, session.Filter{Agent: config.MainAgent, Limit: 1})
	if err != nil || len(left) == 0 {
		return "", err
	}
	return fmt.Sprintf("%s has conversations, and agents.list doesn't name it: they can be looked at, and nobody goes on with them. %s is the default agent and works in %s",
		config.MainAgent, now.ID, now.Workspace), nil
}

// KeepMain is what brings main back with its folder.
const KeepMain = "goclaw config set 'agents.list[" + config.MainAgent + "].default' true"

// build makes an agent: its workspace, its tools, its engine, its prompts, and
// the loop over them.
func (g *Gateway) build(c config.Agent) (*Agent, error) {
	if err := prompt.SeedWorkspace(c.Workspace, prompt.SeedMissing); err != nil {
		return nil, err
	}
	files, err := g.workspaces.Open(c.Workspace)
	if err != nil {
		return nil, err
	}
	limits := spill.Options{MaxResult: c.Tools.MaxResultChars, MaxStep: c.Tools.MaxStepChars, Preview: g.Config.Outputs.PreviewChars, Log: g.log}
	m := g.models.of(c)
	prior := selection.NewPrior(g.store.Usage, c.ID, g.log)
	picks := g.selectorOf(c, m, prior.Get)
	registry, err := register(limits, picks, builtin.Deps{Workspaces: g.workspaces, Datasources: datasources(g.Config), Scripts: g.scripts}, g.Sessions, g.blobs, g.plugins)
	if err != nil {
		return nil, err
	}
	a := &Agent{Config: c, Registry: registry, models: m, prior: prior}
	a.Engine = engine.New(engine.Options{
		Registry: a.Registry, Pool: g.pool, Policies: policies(g.Config, c), Selector: picks, Spiller: spill.New(g.blobs, limits), Calls: g.ledger, Cache: g.results, Presets: g.Presets,
		Dialects: g.models.set.Dialect, Timeout: c.Tools.Timeout, Log: g.log.With("agent", c.ID),
		Hooks: g.Hooks, Approve: g.approve(c.Tools.ApprovalTimeout), Clean: g.clean, Planned: g.planned,
	})
	a.Prompts = prompt.New(prompt.Options{
		Files: func() (fs.FS, error) {
			w, err := g.workspaces.Open(c.Workspace) // anew where the directory was replaced
			if err != nil {
				return nil, err
			}
			return w.FS(), nil
		},
		Workspace: files.Dir(), CoreInstruction: c.CoreInstruction,
		ContextBudget: c.Memory.ContextBudgetChars, MaxResultChars: c.Tools.MaxResultChars,
		Snapshots: g.history, Trim: trim, Parameters: g.models.parameters,
	})
	a.profile = run.Profile{
		Lend: a.Engine.Lend,
		Bring: func(ctx context.Context, t agent.Turn, b tool.Brought) ([]tool.Note, func(), error) {
			return a.Engine.Bring(ctx, t.Scope, a.models.probed(ctx, t.Model), b)
		},
		Receive: func(ctx context.Context, t agent.Turn) (agent.Turn, error) {
			return g.history.Receive(ctx, t, func(ctx context.Context, s tool.Scope, r tool.ClientRound) {
				a.Engine.Receive(ctx, s, a.models.probed(ctx, t.Model), r)
			})
		},
		ID: c.ID, Model: c.Model, Workspace: files.Dir(), Skills: runtimeList(c.Skills.Allow),
		Limits: agent.Limits{Rounds: c.Tools.MaxToolIterations, Hint: c.Tools.LoopGuard.Hint, Stop: c.Tools.LoopGuard.Stop},
		Loop:   &agent.Agent{Models: a.models, Toolbox: a.Engine, Prompts: a.Prompts, History: g.history, Now: time.Now, Cost: g.models.set.Cost},
	}
	return a, nil
}

// clean gives a file's name its one spelling in the workspace of a scope.
func (g *Gateway) clean(s tool.Scope, name string) (string, error) {
	if s.Workspace() == "" {
		return "", errors.New("this run has no workspace")
	}
	ws, err := g.workspaces.Open(s.Workspace())
	if err != nil {
		return "", err
	}
	return ws.Clean(name)
}

// approve has people asked, who have so long to answer.
func (g *Gateway) approve(within time.Duration) engine.Approve {
	return func(ctx context.Context, r approval.Request, asked func(tool.Approval)) tool.Approval {
		r.Timeout = within
		return g.Approvals.Ask(ctx, r, asked)
	}
}

// planned reports whether plan mode was switched on beside a call of a session.
func (g *Gateway) planned(ctx context.Context, s tool.Scope) (bool, error) {
	if s.Session() == "" {
		return false, nil
	}
	key := session.KeyOf(s)
	if on, known := g.Runner.Switched(key, s.Run()); known {
		return on, nil
	}
	stored, err := g.Sessions.Session(ctx, key)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	return stored.State != nil && stored.State.Plan, nil
}

// runtimeList is a list whose absence sets no limit and whose emptiness allows
// nothing.
func runtimeList(names []string) tool.List {
	if names == nil {
		return tool.List{}
	}
	return tool.Only(names...)
}

func trim(messages []llm.Message, budget int) ([]llm.Message, int) {
	return session.Trim(messages, budget, func(m llm.Message) int { return prompt.Tokens(prompt.Bytes(m)) })
}

// PromptPreview is the request that a run would begin with.
type PromptPreview struct {
	Agent    string
	Session  string          // empty for a new one
	Sections []agent.Section // what is added after the person's words included
	Request  llm.Request
	// Last and LastUsage are of the session's last request; nil without one.
	Last      *agent.RequestFacts
	LastUsage *llm.Usage
}

// PreviewPrompt builds the first request of a run without starting it: the
// session's thread as it is, with the message behind it.
func (g *Gateway) PreviewPrompt(ctx context.Context, req run.Request) (PromptPreview, error) {
	look, err := g.Look(ctx, req)
	if err != nil {
		return PromptPreview{}, err
	}
	t := agent.Turn{Scope: look.Scope, Message: req.Message, Started: time.Now(), System: req.System, Added: look.Added}
	extra, err := look.Agent.Prompts.Context(ctx, t)
	if err != nil {
		return PromptPreview{}, err
	}
	sf, err := look.Agent.Engine.Offer(ctx, look.Scope, look.Target, look.State, look.Ask)
	if err != nil {
		return PromptPreview{}, err
	}
	last, err := g.lastRequest(ctx, look.Key)
	if err != nil {
		return PromptPreview{}, err
	}
	thread, err := g.thread(ctx, look.Key)
	if err != nil {
		return PromptPreview{}, err
	}
	message := llm.Message{Role: llm.User, Parts: append(append([]llm.Part(nil), req.Message.Parts...), extra...)}
	r, facts, err := look.Agent.Prompts.Build(ctx, t, sf, append(thread, message))
	if err != nil {
		return PromptPreview{}, err
	}
	p := PromptPreview{Agent: look.Scope.Agent(), Session: req.Session, Sections: facts.Sections, Request: r}
	if last != nil {
		p.Last, p.LastUsage = &last.Request, &last.Reply.Usage
	}
	for _, part := range extra {
		p.Sections = append(p.Sections, agent.Section{Name: "context", Place: prompt.Message, Source: "built in", Bytes: len(part.Text), Text: part.Text})
	}
	return p, nil
}

// thread is a session's transcript as a model gets it; empty for a new one.
func (g *Gateway) thread(ctx context.Context, key session.Key) ([]llm.Message, error) {
	if key.ID == "" {
		return nil, nil
	}
	turns, err := g.Sessions.Turns(ctx, key, 1, 0, session.Spoken)
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return session.Thread(turns), nil
}

// lastRequest is the round with the last request of a session, which is what
// its provider may have cached; nil when there was none. A run that failed
// before a model answered has stored no request, so it may not be of the last
// turn. What a fork began with counts: its first request repeats it.
func (g *Gateway) lastRequest(ctx context.Context, key session.Key) (*agent.Round, error) {
	if key.ID == "" {
		return nil, nil
	}
	s, err := g.Sessions.Session(ctx, key)
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for n := s.Turns; n > 0; n-- {
		turns, err := g.Sessions.Turns(ctx, key, n, n, session.Traced)
		if err != nil {
			return nil, err
		}
		for _, t := range turns {
			for _, round := range slices.Backward(t.Rounds) {
				if len(round.Request.Sections) > 0 {
					return &round, nil
				}
			}
		}
	}
	return nil, nil
}

// Look is what a command needs to look at an agent's tools as a run would.
type Look struct {
	Agent  *Agent
	Key    session.Key
	Scope  tool.Scope
	Target llm.Target
	State  tool.State
	Ask    tool.Ask
	Added  []agent.Addition // what hooks add to the session context
	Stored bool             // there is such a session
	Turns  int              // how many it has
}

// Look resolves req without starting a run. A session that doesn't exist yet
// has an empty state. Hooks are asked as they are before a turn, so that the
// scope is as narrow as its would be. What a client would bring is judged with
// the agent's tools, and taken back when ctx ends.
func (g *Gateway) Look(ctx context.Context, req run.Request) (Look, error) {
	scope, p, err := g.Runner.Scope(req)
	if err != nil {
		return Look{}, err
	}
	a, err := g.Agent(p.ID)
	if err != nil {
		return Look{}, err
	}
	if req.Model != "" {
		if _, err := g.Config.Target(req.Model); err != nil {
			return Look{}, err
		}
	}
	l := Look{Agent: a, Key: session.KeyOf(scope), Scope: scope, Target: a.models.probed(ctx, req.Model), Ask: tool.Ask{Message: req.Message}}
	s, err := g.Sessions.Session(ctx, l.Key)
	switch {
	case errors.Is(err, session.ErrNotFound):
	case err != nil:
		return Look{}, err
	default:
		l.Stored = true
		if s.State != nil {
			l.State, l.Turns = *s.State, s.Turns
			l.Ask.Idle = max(time.Since(s.Updated), 0)
		}
	}
	t, failures, err := g.Runner.Consult(ctx, agent.Turn{Scope: scope, Message: req.Message, Model: req.Model}, true)
	if err != nil {
		return Look{}, err
	}
	for _, f := range failures {
		g.log.Warn("a hook failed", "agent", scope.Agent(), "what", f)
	}
	l.Scope, l.Added = t.Scope, t.Added
	if len(req.Brought.Tools) > 0 {
		_, revoke, err := a.Engine.Bring(ctx, l.Scope, l.Target, req.Brought)
		if err != nil {
			return Look{}, err
		}
		context.AfterFunc(ctx, revoke)
	}
	return l, nil
}
