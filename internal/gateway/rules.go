package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/guard/safehttp"
	"github.com/goclaw/goclaw/internal/hook"
	"github.com/goclaw/goclaw/internal/hook/rule"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// maxNotices is how many notices are kept, the latest; they end with the
// process, and the log has them all.
const maxNotices = 200

// rules are the rules on tool calls that are in force.
type rules struct {
	edit sync.Mutex // held while the file and what is in force change

	mu      sync.Mutex
	set     *rule.Set
	guard   *safehttp.Guard // that webhooks are held to; nil when there are no hooks, or none can be sent
	digest  string          // of the configuration that is acted on
	hooks   []config.Hook
	notices []rule.Notice // the latest last
}

// useRules puts hooks in force, for calls that begin from now on.
func (g *Gateway) useRules(hooks []config.Hook) {
	o := rule.Options{Notify: g.notice, Log: g.log}
	var guard *safehttp.Guard
	if len(hooks) > 0 {
		o.Agents = agentsOf(g.Config)
		var err error
		if guard, err = safehttp.NewGuard(g.Config.Tools.HTTP.Rules()); err != nil {
			g.log.Error("no webhook of a hook can be sent", "err", err) // and those that decide block
		} else {
			o.Client = guard.Client()
		}
	}
	set := rule.New(rulesOf(hooks), o)
	g.rules.mu.Lock()
	g.rules.set, g.rules.hooks, g.rules.guard = set, hooks, guard
	g.rules.mu.Unlock()
	g.Hooks.SetRules(set.Hooks())
}

// inForce is the set of rules and what it was made of.
func (g *Gateway) inForce() (*rule.Set, []config.Hook) {
	g.rules.mu.Lock()
	defer g.rules.mu.Unlock()
	return g.rules.set, g.rules.hooks
}

// unsent says why no webhook may go to an address, as far as can be told without
// looking for its host, and what to change; "" when one may.
func (g *Gateway) unsent(address string) (why, fix string) {
	g.rules.mu.Lock()
	guard := g.rules.guard
	g.rules.mu.Unlock()
	u, err := url.Parse(address)
	if err != nil || guard == nil {
		return "", ""
	}
	var reasons, edits []string
	for _, o := range guard.Obstacles(http.MethodPost, u) {
		reasons = append(reasons, strings.TrimSuffix(o.Refusal.Reason, "."))
		if o.Edit == "" { // no edit of the others would do
			return strings.Join(reasons, "; "), "give the rule another address"
		}
		edits = append(edits, o.Edit)
	}
	return strings.Join(reasons, "; "), strings.Join(edits, "; then ")
}

func agentsOf(c *config.Config) rule.Agents {
	a := rule.Agents{Default: c.DefaultAgent().ID}
	for _, one := range c.Agents() {
		a.IDs = append(a.IDs, one.ID)
	}
	return a
}

// rulesOf are the hooks of a configuration as the room for rules has them.
func rulesOf(hooks []config.Hook) []rule.Rule {
	list := make([]rule.Rule, len(hooks))
	for i, h := range hooks {
		list[i] = rule.Rule{
			Name: h.Name, When: rule.When(h.When), Tools: source.Values(h.Tools), Agents: h.Agents, Match: h.Match, Action: rule.Action(h.Action),
			Message: h.Message, Priority: h.Priority, Timeout: h.Timeout, URL: h.URL, Secret: h.Secret, Where: h.Pos,
		}
	}
	return list
}

// notice keeps a notice for admins.
func (g *Gateway) notice(_ context.Context, n rule.Notice) error {
	g.log.Warn("a rule matched a tool call", "rule", n.Rule, "when", n.When, "tool", n.Tool, "agent", n.Agent, "session", n.Session,
		"caller", n.Caller, "message", n.Message)
	g.rules.mu.Lock()
	defer g.rules.mu.Unlock()
	g.rules.notices = append(g.rules.notices, n)
	if n := len(g.rules.notices) - maxNotices; n > 0 {
		g.rules.notices = slices.Delete(g.rules.notices, 0, n)
	}
	return nil
}

// Notices implements [api.Backend].
func (g *Gateway) Notices() []rule.Notice {
	g.rules.mu.Lock()
	defer g.rules.mu.Unlock()
	list := slices.Clone(g.rules.notices)
	slices.Reverse(list)
	return list
}

// Rules implements [api.Backend].
func (g *Gateway) Rules() api.Hooks {
	set, hooks := g.inForce()
	v := api.Hooks{Rules: []api.Hook{}, Handlers: []hook.Info{}}
	for _, r := range set.Report() {
		i := slices.IndexFunc(hooks, func(h config.Hook) bool { return h.Name == r.Name })
		v.Rules = append(v.Rules, hookOf(hooks[i], r))
	}
	for _, h := range g.Hooks.Handlers() {
		if h.Source != rule.Source {
			v.Handlers = append(v.Handlers, h)
		}
	}
	return v
}

func hookOf(h config.Hook, r rule.Report) api.Hook {
	v := api.Hook{
		HookRule: api.HookRule{
			Name: h.Name, When: string(r.When), Tools: source.Values(h.Tools), Agents: h.Agents, Match: h.Match, Action: h.Action, Message: h.Message,
			Priority: h.Priority, Timeout: h.Timeout.String(), URL: h.URL, To: h.To,
		},
		Where: h.Pos, Problem: r.Problem, Matched: r.Matched, Blocked: r.Blocked, Failed: r.Failed, Last: r.Last,
		Failure: r.Failure, FailedAt: r.FailedAt,
	}
	if h.Secret != "" {
		v.Secret = api.KeptSecret
	}
	if h.To != "" && h.Action == string(rule.Notify) {
		v.Note = "channels are not in this version: admins are told on the web page"
	}
	return v
}

// TestHooks implements [api.Backend]: which rules match a call that somebody
// thinks of, and what they would do. Nothing runs, and nothing is told to
// anybody but, with Send, to webhooks that decide.
func (g *Gateway) TestHooks(ctx context.Context, req run.Request, t api.HookTest) (api.HookReadings, error) {
	look, err := g.Look(ctx, req)
	if err != nil {
		return api.HookReadings{}, err
	}
	c, notes := look.Agent.Engine.Imagine(ctx, look.Scope, t.Tool, t.Args)
	var o *tool.Outcome
	if t.After() {
		o = &tool.Outcome{Tool: c.Tool, Args: c.Args, Status: tool.OK, Content: []llm.Part{llm.Text(t.Result)}}
		if t.Error != "" {
			o.Status, o.Content = tool.Failed, []llm.Part{llm.Text(t.Error)}
		}
	}
	set, hooks := g.inForce()
	v := api.HookReadings{Tool: c.Tool, Args: c.Args, Agent: look.Scope.Agent(), Notes: notes, Rules: []api.HookReading{}}
	for _, r := range set.Try(ctx, c, o) {
		i := slices.IndexFunc(hooks, func(h config.Hook) bool { return h.Name == r.Rule.Name })
		one := api.HookReading{
			Name: r.Rule.Name, When: string(r.Rule.When), Action: string(r.Rule.Action), Priority: r.Rule.Priority, Matches: r.Matches,
			Why: r.Why, Unsure: r.Unsure, Where: hooks[i].Pos,
		}
		if r.Matches {
			one.Would = would(r)
			if t.Send && r.Rule.Action == rule.Webhook && o == nil {
				if one.Answer, err = answerOf(set.Ask(ctx, r.Rule.Name, c)); err != nil {
					return v, err
				}
			}
		}
		v.Rules = append(v.Rules, one)
	}
	v.Decision = decisionOf(v.Rules, o != nil)
	for _, h := range g.Hooks.Handlers() {
		if h.Hook == "before_tool_call" && h.Broken != "" && o == nil {
			v.Decision = blockedBy(h) + "; fix: " + mending(h)
			break
		}
	}
	return v, nil
}

// would says what a match of a rule does.
func would(reading rule.Reading) string {
	r := reading.Rule
	switch {
	case r.Action == rule.Block:
		return "block the call"
	case r.Action == rule.Approve && reading.Admins:
		return "have an admin approve it"
	case r.Action == rule.Approve:
		return "have a person approve it"
	case r.Action == rule.Notify:
		return "tell admins"
	case r.When == rule.After:
		return "tell its webhook"
	}
	return "let its webhook decide"
}

// answerOf is what a webhook said, or would have been taken for.
func answerOf(v hook.Verdict, err error) (string, error) {
	if err != nil {
		return "", err
	}
	if v.Block != nil {
		return v.Block.Error(), nil
	}
	return "allow", nil
}

// decisionOf is what the rules come to.
func decisionOf(list []api.HookReading, after bool) string {
	if after {
		return "none: the call has ended"
	}
	asks := ""
	for _, r := range list {
		switch {
		case !r.Matches:
		case r.Action == string(rule.Block), r.Answer != "" && r.Answer != "allow":
			return "blocked by " + r.Name
		case r.Action == string(rule.Approve):
			asks = "runs when it is approved (" + r.Name + ")"
		case r.Action == string(rule.Webhook) && r.Answer == "" && asks == "":
			asks = "runs if the webhook of " + r.Name + " allows it"
		}
	}
	if asks != "" {
		return asks
	}
	return "no rule stands in the way"
}

// DiagnoseRules tells of hooks of c that don't do what their author must have
// meant. It opens nothing.
func (g *Gateway) DiagnoseRules() []string {
	_, hooks := g.inForce()
	var list []string
	add := func(pos source.Pos, key, format string, args ...any) {
		if key != "" {
			pos.Key += "." + key
		}
		list = append(list, pos.String()+": "+fmt.Sprintf(format, args...))
	}
	a, err := g.Agent("")
	if err != nil {
		return list // doctor says so itself
	}
	for _, h := range hooks {
		for _, d := range surface.DiagnoseList(a.Registry.Catalog(), h.Tools) {
			list = append(list, d.String())
		}
		if h.Action != string(rule.Webhook) {
			continue
		}
		if why, fix := g.unsent(h.URL); why != "" {
			add(h.Pos, "url", "the webhook can't be sent: %s; fix: %s", why, fix)
		}
	}
	return list
}
