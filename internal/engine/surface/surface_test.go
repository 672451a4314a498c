package surface_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine/owner"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// fake is a tool that is only looked at.
type fake struct{ def tool.Definition }

func (f *fake) Definition() tool.Definition { return f.def }
func (*fake) Execute(context.Context, tool.Call) (tool.Result, error) {
	return tool.TextResult("done"), nil
}

// factory is a tool that is made for each run.
type factory struct {
	*fake
	bind func(tool.Scope, llm.Target) (tool.Tool, string)
}

func (f factory) Bind(b tool.Binding) (tool.Tool, string) { return f.bind(b.Scope, b.Target) }

func plain(name string, traits tool.Traits) tool.Tool {
	return &fake{tool.Definition{Name: name, Parameters: json.RawMessage(`{"type":"object","properties":{}}`), Traits: traits}}
}

func in(category string) tool.Traits { return tool.Traits{Category: category} }

var family = tool.Owner{Kind: tool.FamilyOwner, ID: "all"}

// catalog is a small one with a tool of every kind.
func catalog(t testing.TB) *tool.Catalog {
	t.Helper()
	r := tool.NewRegistry()
	add := func(o tool.Owner, tools ...tool.Tool) {
		if notes := r.Add(o, tools...); len(notes) > 0 {
			t.Fatalf("registering: %+v", notes)
		}
	}
	add(family,
		plain("file_read", in("fs")), plain("file_write", in("fs")), plain("shell", in("shell")),
		plain("web_fetch", in("web")), plain("chart", in("data")),
		plain("memory_search", tool.Traits{Category: "memory", Core: true}),
		plain("calc", tool.Traits{Internal: true}),
		plain("db_write", tool.Traits{Category: "data", AdminOnly: true}),
		plain("hand_over", tool.Traits{Category: "messaging", Channels: []string{"telegram", "slack"}}),
		plain("wake", tool.Traits{Category: "automation", Origins: []tool.Origin{tool.FromCron}}),
	)
	add(tool.Owner{Kind: tool.PluginOwner, ID: "github"},
		plain("github_issue", in("dev")), plain("github_merge", tool.Traits{Category: "dev", Optional: true}))
	add(tool.Owner{Kind: tool.MCPOwner, ID: "docs"}, plain("mcp_docs_find", tool.Traits{}))
	return r.Catalog()
}

func text(value string, pos source.Pos) source.Text { return source.Text{Value: value, Pos: pos} }

// list writes entries below a key of a file, one a line.
func list(key string, entries ...string) []source.Text {
	out := make([]source.Text, len(entries))
	for i, e := range entries {
		out[i] = text(e, source.Pos{Key: fmt.Sprintf("%s[%d]", key, i), File: "/home/config.yaml", Line: 41 + i})
	}
	return out
}

var (
	admin = auth.Principal{ID: "ann", Role: auth.Admin, Human: true}
	user  = auth.Principal{ID: "42", Role: auth.User, Human: true}
	model = llm.Target{Provider: "openai", Model: "gpt-x", Tools: true}
)

// everybody is what an admin in a chat may use of the catalog without policies.
var everybody = []string{
	"calc", "chart", "db_write", "file_read", "file_write", "github_issue",
	"mcp_docs_find", "memory_search", "shell", "web_fetch",
}

func without(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(everybody), func(n string) bool { return slices.Contains(names, n) })
}

func TestLayers(t *testing.T) {
	t.Parallel()
	global := func(p surface.Policy) surface.Policies {
		return surface.Policies{Global: surface.Block{Policy: p}}
	}
	for _, c := range []struct {
		name   string
		facts  tool.Facts // an admin's when empty
		target llm.Target
		p      surface.Policies
		want   []string // permitted
		// removed is one of the removals, as "tool: layer/rule: reason".
		removed string
	}{
		{name: "nothing restricts", target: model, want: everybody},
		{
			name: "the cap comes first", target: model, facts: tool.Facts{Caller: user, Cap: tool.Only("calc", "db_write")},
			want: []string{"calc"}, removed: "db_write: role/admin_only: db_write needs an administrator",
		},
		{name: "an empty cap allows nothing", target: model, facts: tool.Facts{Caller: admin, Cap: tool.Only()}, want: []string{}, removed: "calc: cap/cap"},
		{
			name: "a deny with its place", target: model, p: global(surface.Policy{Deny: list("tools.deny", "nope", "file_*")}),
			want: without("file_read", "file_write"), removed: `file_read: policy/global: denied by tools.deny "file_*"`,
		},
		{
			name: "a group", target: model, p: global(surface.Policy{Deny: list("tools.deny", "group:fs", "GROUP:Web ")}),
			want: without("file_read", "file_write", "web_fetch"),
		},
		{
			name: "the tools of an owner", target: model, p: global(surface.Policy{Deny: list("tools.deny", "plugin:github", "mcp:docs")}),
			want: without("github_issue", "mcp_docs_find"),
		},
		{
			name: "groups of owners", target: model, p: global(surface.Policy{Deny: list("tools.deny", "group:plugins", "group:mcp")}),
			want: without("github_issue", "mcp_docs_find"),
		},
		{
			name: "an allow list", target: model, p: global(surface.Policy{Allow: list("tools.allow", "file_?ead", "calc")}),
			want: []string{"calc", "file_read"}, removed: "shell: policy/global: not among what tools.allow allows",
		},
		{
			name: "an empty allow list restricts nothing", target: model, p: global(surface.Policy{Allow: []source.Text{}, Deny: []source.Text{}}),
			want: everybody,
		},
		{
			name: "an entry that is empty selects nothing", target: model, p: global(surface.Policy{Deny: list("tools.deny", "", " ", "group:", "plugin:", "mcp:")}),
			want: everybody,
		},
		{
			name: "a later allow brings nothing back", target: model,
			p: surface.Policies{
				Global: surface.Block{Policy: surface.Policy{Deny: list("tools.deny", "shell")}},
				Agent:  surface.Block{Policy: surface.Policy{Allow: list("agents.list[a].tools.allow", "*")}},
			},
			want: without("shell"), removed: "shell: policy/global",
		},
		{
			name: "lists of global and agent intersect", target: model,
			p: surface.Policies{
				Global: surface.Block{Policy: surface.Policy{Allow: list("tools.allow", "group:fs", "shell")}},
				Agent:  surface.Block{Policy: surface.Policy{Allow: list("agents.list[a].tools.allow", "group:fs", "web_fetch")}},
			},
			want: []string{"file_read", "file_write"}, removed: "shell: policy/agent: not among what agents.list[a].tools.allow allows",
		},
		{
			name: "a profile", target: model, p: global(surface.Policy{Profile: text("messaging", source.Pos{Key: "tools.profile", File: "config.yaml", Line: 3})}),
			want: []string{"calc", "memory_search"}, removed: `shell: policy/profile: not in the profile "messaging", which tools.profile sets`,
		},
		{name: "the full profile", target: model, p: global(surface.Policy{Profile: text("full", source.Pos{})}), want: everybody},
		{name: "the smallest profile", target: model, p: global(surface.Policy{Profile: text("minimal", source.Pos{})}), want: []string{"calc", "memory_search"}},
		{
			name: "coding", target: model, p: global(surface.Policy{Profile: text("coding", source.Pos{})}),
			want: []string{"calc", "file_read", "file_write", "memory_search", "shell", "web_fetch"},
		},
		{
			name: "a profile that doesn't exist lets pass what the smallest does", target: model,
			p: global(surface.Policy{Profile: text("codng", source.Pos{})}), want: []string{"calc", "memory_search"},
		},
		{
			name: "also_allow adds to its profile", target: model,
			p: global(surface.Policy{
				Profile: text("minimal", source.Pos{Key: "tools.profile"}), AlsoAllow: list("tools.also_allow", "chart", "plugin:github"),
			}),
			want: []string{"calc", "chart", "github_issue", "github_merge", "memory_search"},
		},
		{
			name: "also_allow restricts nothing", target: model, p: global(surface.Policy{AlsoAllow: list("tools.also_allow", "chart")}), want: everybody,
		},
		{
			name: "also_allow never beats a deny", target: model,
			p:    global(surface.Policy{AlsoAllow: list("tools.also_allow", "chart"), Deny: list("tools.deny", "chart")}),
			want: without("chart"),
		},
		{
			name: "the agent's also_allow doesn't widen the global profile", target: model,
			p: surface.Policies{
				Global: surface.Block{Policy: surface.Policy{Profile: text("minimal", source.Pos{})}},
				Agent:  surface.Block{Policy: surface.Policy{AlsoAllow: list("agents.list[a].tools.also_allow", "chart")}},
			},
			want: []string{"calc", "memory_search"},
		},
		{
			name: "a wildcard names no optional tool", target: model, p: global(surface.Policy{Allow: list("tools.allow", "*", "github_*", "plugin:*")}),
			want: everybody, removed: "github_merge: optional/optional",
		},
		{
			name: "an allow list names an optional tool", target: model, p: global(surface.Policy{AlsoAllow: list("tools.also_allow", "github_merge")}),
			want: append(without("mcp_docs_find", "memory_search", "shell", "web_fetch"), "github_merge", "mcp_docs_find", "memory_search", "shell", "web_fetch"),
		},
		{
			name: "a user", target: model, facts: tool.Facts{Caller: user},
			want: without("db_write"), removed: `db_write: role/admin_only: db_write needs an administrator; it is withheld from the role "user"`,
		},
		{name: "nobody", target: model, facts: tool.Facts{Agent: "a"}, want: without("db_write"), removed: `db_write: role/admin_only: db_write needs an administrator; it is withheld from the role "nobody"`},
		{name: "work of an admin for no one in particular", target: model, facts: tool.Facts{Caller: auth.Principal{Role: auth.System}}, want: everybody},
		{
			name: "an origin", target: model, facts: tool.Facts{Caller: admin, Origin: tool.FromCron, Cap: tool.Only("wake", "calc")},
			want: []string{"calc", "wake"},
		},
		{name: "another origin", target: model, facts: tool.Facts{Caller: admin, Origin: tool.FromChat}, want: everybody, removed: "wake: compatibility/origin: it is only for runs of origin cron, and this one is of origin chat"},
		{
			name: "a channel", target: model, facts: tool.Facts{Caller: admin, Delivery: tool.Delivery{Channel: "slack"}, Cap: tool.Only("hand_over")},
			want: []string{"hand_over"},
		},
		{name: "another channel", target: model, facts: tool.Facts{Caller: admin, Delivery: tool.Delivery{Channel: "web"}}, want: everybody, removed: "hand_over: compatibility/channel: it is only for the channels telegram, slack, and this run answers to web"},
		{name: "a model without tools", target: llm.Target{Provider: "old"}, want: []string{}, removed: "calc: compatibility/model: the model old takes no tools"},
		{name: "no model at all", want: everybody},
		{
			name: "declared tools, with the internal ones", target: model, facts: tool.Facts{Caller: admin, Declared: tool.Only("shell", "wake")},
			want: []string{"calc", "shell"}, removed: "memory_search: declared/declared",
		},
		{name: "nothing declared", target: model, facts: tool.Facts{Caller: admin, Declared: tool.Only()}, want: []string{"calc"}},
		{
			name: "the declared set brings no internal tool back", target: model, facts: tool.Facts{Caller: admin, Declared: tool.Only("shell")},
			p: global(surface.Policy{Deny: list("tools.deny", "calc")}), want: []string{"shell"},
		},
		{
			name: "by provider", target: model,
			p: surface.Policies{Global: surface.Block{ByProvider: map[string]surface.Policy{
				"openai":       {Deny: list("tools.by_provider.openai.deny", "shell")},
				"openai/gpt-x": {Profile: text("coding", source.Pos{})},
				"openai/gpt-y": {Deny: list("x", "*")},
				"ollama":       {Deny: list("x", "*")},
			}}},
			want: []string{"calc", "file_read", "file_write", "memory_search", "web_fetch"}, removed: "shell: policy/provider: denied by tools.by_provider.openai.deny",
		},
		{
			name: "by the agent's provider", target: model,
			p: surface.Policies{Agent: surface.Block{ByProvider: map[string]surface.Policy{
				"openai": {Deny: list("agents.list[a].tools.by_provider.openai.deny", "shell")},
			}}},
			want: without("shell"), removed: "shell: policy/agent provider",
		},
		{
			name: "by sender", target: model, facts: tool.Facts{Caller: user, Delivery: tool.Delivery{Channel: "telegram"}},
			p: surface.Policies{Global: surface.Block{BySender: map[string]surface.Policy{
				"telegram:42": {Deny: list("tools.by_sender.telegram:42.deny", "group:fs", "hand_over")},
				"42":          {Deny: list("tools.by_sender.42.deny", "chart")},
				"slack:42":    {Deny: list("x", "*")},
				"*":           {Deny: list("tools.by_sender.*.deny", "shell")},
			}}},
			want: without("db_write", "file_read", "file_write", "chart", "shell"), removed: "shell: policy/sender: denied by tools.by_sender.*.deny",
		},
		{
			name: "a sender without an entry", target: model, facts: tool.Facts{Caller: user},
			p: surface.Policies{Agent: surface.Block{BySender: map[string]surface.Policy{
				"43": {Deny: list("x", "*")}, "*": {Deny: list("agents.list[a].tools.by_sender.*.deny", "shell")},
			}}},
			want: without("db_write", "shell"), removed: "shell: policy/sender",
		},
		{
			name: "the system is no sender", target: model, facts: tool.Facts{Caller: auth.Principal{ID: "cron", Role: auth.System}},
			p:    surface.Policies{Agent: surface.Block{BySender: map[string]surface.Policy{"*": {Deny: list("x", "shell")}}}},
			want: everybody,
		},
		{
			name: "by chat group", target: model, facts: tool.Facts{Caller: admin, Delivery: tool.Delivery{Channel: "slack", Group: "-100"}, Cap: tool.Only("shell", "calc")},
			p: surface.Policies{Groups: map[string]map[string]surface.Policy{
				"slack":    {"-100": {Deny: list("channels.slack.groups.-100.tools.deny", "shell")}, "*": {Deny: list("y", "calc")}},
				"telegram": {"-100": {Deny: list("x", "*")}},
			}},
			want: []string{}, removed: "shell: policy/channel group",
		},
		{
			name: "by another chat group", target: model, facts: tool.Facts{Caller: admin, Delivery: tool.Delivery{Channel: "slack", Group: "7"}, Cap: tool.Only("shell", "calc")},
			p:    surface.Policies{Groups: map[string]map[string]surface.Policy{"slack": {"-100": {}, "*": {Deny: list("x", "shell")}}}},
			want: []string{"calc"},
		},
		{
			name: "subagents", target: model, facts: tool.Facts{Caller: admin, Origin: tool.FromSubagent},
			p: surface.Policies{
				Global: surface.Block{Subagents: surface.Policy{Deny: list("tools.subagents.deny", "shell")}},
				Agent:  surface.Block{Subagents: surface.Policy{Allow: list("agents.list[a].tools.subagents.allow", "shell", "calc")}},
			},
			want: []string{"calc"}, removed: "shell: policy/subagent",
		},
		{
			name: "no subagent", target: model, p: surface.Policies{Global: surface.Block{Subagents: surface.Policy{Deny: list("x", "shell")}}}, want: everybody,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.facts.Agent == "" && c.facts.Caller == (auth.Principal{}) {
				c.facts.Caller = admin
			}
			d := surface.New(c.p, nil)
			cat := catalog(t)
			dec := d.Decide(t.Context(), cat, tool.NewScope(c.facts), c.target)
			if diff := cmp.Diff(c.want, tool.Names(dec.Permitted)); diff != "" {
				t.Errorf("permitted (-want +got):\n%s", diff)
			}
			if len(dec.Permitted)+len(dec.Removed) != len(cat.Entries) {
				t.Errorf("%d permitted and %d removed of %d", len(dec.Permitted), len(dec.Removed), len(cat.Entries))
			}
			if c.removed == "" {
				return
			}
			name, _, _ := strings.Cut(c.removed, ":")
			r, ok := dec.Removal(name)
			if got := fmt.Sprintf("%s: %s/%s: %s", r.Tool, r.Layer, r.Rule, r.Reason); !ok || !strings.HasPrefix(got, c.removed) {
				t.Errorf("removal of %s: got %q", name, got)
			}
			if r.Reason == "" || r.Fix == "" {
				t.Errorf("a removal says why and what to do: %+v", r)
			}
		})
	}
}

func TestRemovalKnowsTheLineThatDecided(t *testing.T) {
	t.Parallel()
	d := surface.New(surface.Policies{Agent: surface.Block{Policy: surface.Policy{
		Deny: list("agents.list[writer].tools.deny", "shell", "github_*"),
	}}}, nil)
	r, _ := d.Decide(t.Context(), catalog(t), tool.NewScope(tool.Facts{Caller: admin}), model).Removal("github_issue")
	want := tool.Removal{
		Tool: "github_issue", Layer: "policy", Rule: "agent",
		Reason: `denied by agents.list[writer].tools.deny "github_*"`,
		Where:  source.Pos{Key: "agents.list[writer].tools.deny[1]", File: "/home/config.yaml", Line: 42},
		Fix:    `remove "github_*" from agents.list[writer].tools.deny, or use another agent`,
		Secret: true,
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

// A fix that is followed is enough: it names every entry and every list that
// keeps the tool away, and the variable that is in force in place of a key.
func TestAFixIsOfAllThatKeepsAToolAway(t *testing.T) {
	t.Parallel()
	variable := text("shell", source.Pos{Key: "tools.sandbox.deny", Env: "GOCLAW_TOOLS_SANDBOX_DENY"})
	d := surface.New(surface.Policies{
		Global: surface.Block{
			Policy:  surface.Policy{Deny: list("tools.deny", "shell", "calc", "sh*", "shell")},
			Sandbox: surface.Policy{Deny: []source.Text{variable}},
		},
		Agent: surface.Block{Policy: surface.Policy{Allow: list("agents.list[a].tools.allow", "calc")}},
	}, nil)
	r, _ := d.Decide(t.Context(), catalog(t), tool.NewScope(tool.Facts{Caller: admin, Sandbox: true}), model).Removal("shell")
	const want = `remove "shell" and "sh*" from tools.deny; then add "shell" to agents.list[a].tools.allow; ` +
		`then remove "shell" from the variable GOCLAW_TOOLS_SANDBOX_DENY of the environment, which is in force for tools.sandbox.deny`
	if r.Fix != want || r.Rule != "global" {
		t.Errorf("got  %s\nwant %s", r.Fix, want)
	}
}

func TestWithheldIsWhatTheRoleKeepsAway(t *testing.T) {
	t.Parallel()
	dec := surface.New(surface.Policies{}, nil).Decide(t.Context(), catalog(t), tool.NewScope(tool.Facts{Caller: user}), model)
	got := surface.Withheld(dec.Removed)
	if len(got) != 1 || got[0].Tool != "db_write" {
		t.Errorf("got %+v", got)
	}
}

func TestFactories(t *testing.T) {
	t.Parallel()
	var asked []string
	made := func(name, reason string, made tool.Tool) tool.Tool {
		return factory{&fake{plain(name, tool.Traits{}).Definition()}, func(s tool.Scope, _ llm.Target) (tool.Tool, string) {
			asked = append(asked, name)
			if name == "broken" {
				panic("no")
			}
			if s.Workspace() == "" {
				return nil, reason
			}
			return made, ""
		}}
	}
	own := plain("bound", tool.Traits{})
	r := tool.NewRegistry()
	r.Add(family, plain("alpha", tool.Traits{}), made("bound", "it needs a workspace", own), made("broken", "", nil), made("capped", "", own), made("silent", "", nil))
	d := surface.New(surface.Policies{}, owner.New(nil, slog.New(slog.DiscardHandler)))
	capped := tool.Only("alpha", "bound", "broken", "silent")

	dec := d.Decide(t.Context(), r.Catalog(), tool.NewScope(tool.Facts{Caller: admin, Cap: capped}), model)
	for name, want := range map[string]string{
		"bound":  "it is not available here: it needs a workspace",
		"broken": "it is not available here: its factory broke, as the log of GoClaw tells",
		"silent": "it is not available here: its owner gave no reason",
		"capped": "it is not among the tools that the run was started with",
	} {
		if r, ok := dec.Removal(name); !ok || r.Reason != want {
			t.Errorf("%s: got %+v", name, r)
		}
	}
	if slices.Contains(asked, "capped") {
		t.Error("a factory outside the cap was asked")
	}

	dec = d.Decide(t.Context(), r.Catalog(), tool.NewScope(tool.Facts{Caller: admin, Cap: capped, Workspace: "/w"}), model)
	if got := tool.Names(dec.Permitted); !slices.Equal(got, []string{"alpha", "bound"}) {
		t.Fatalf("permitted %v", got)
	}
	if e := dec.Permitted[1]; e.Tool != own || e.Schema == nil {
		t.Errorf("the bound tool is %+v", e)
	}
	if e, _ := r.Catalog().Find("bound"); e.Tool == own {
		t.Error("binding changed the catalog")
	}
}

func TestDecisionsAreRememberedUntilSomethingChanges(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry()
	r.Add(family, plain("alpha", tool.Traits{}), plain("beta", tool.Traits{AdminOnly: true}))
	d := surface.New(surface.Policies{}, nil)
	scope := func(session string, who auth.Principal) tool.Scope {
		return tool.NewScope(tool.Facts{Session: session, Caller: who})
	}
	one := d.Decide(t.Context(), r.Catalog(), scope("1", admin), model)
	if two := d.Decide(t.Context(), r.Catalog(), scope("2", admin), model); one != two {
		t.Error("an equal decision was made again")
	}
	if other := d.Decide(t.Context(), r.Catalog(), scope("1", user), model); other == one || len(other.Permitted) != 1 {
		t.Errorf("a user got %+v", other)
	}
	r.Add(family, plain("gamma", tool.Traits{}))
	if next := d.Decide(t.Context(), r.Catalog(), scope("1", admin), model); len(next.Permitted) != 3 {
		t.Errorf("a new tool is missing: %v", tool.Names(next.Permitted))
	}
	if len(one.Permitted) != 2 {
		t.Error("an old decision changed")
	}
	for i := range 1000 {
		dec := d.Decide(t.Context(), r.Catalog(), tool.NewScope(tool.Facts{Caller: admin, Cap: tool.Only("beta", fmt.Sprint(i))}), model)
		if got := tool.Names(dec.Permitted); !slices.Equal(got, []string{"beta"}) {
			t.Fatalf("cap %d permits %v", i, got)
		}
	}
}

// What a skill requires may change while catalog and configuration stay.
func TestOtherRequirementsOfSkillsAreDecidedAnew(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry()
	r.Add(family, plain("alpha", tool.Traits{}), plain("beta", tool.Traits{}))
	requires := map[string][]string{"review": {"alpha"}}
	d := surface.New(surface.Policies{Skills: surface.Skills{Requires: func(skill string) ([]string, bool) {
		tools, ok := requires[skill]
		return tools, ok
	}}}, nil)
	permitted := func() (*surface.Decision, []string) {
		dec := d.Decide(t.Context(), r.Catalog(), tool.NewScope(tool.Facts{Caller: admin, Skills: tool.Only("review", "lint")}), model)
		return dec, tool.Names(dec.Permitted)
	}
	first, got := permitted()
	if !slices.Equal(got, []string{"alpha"}) {
		t.Errorf("at first %v", got)
	}
	requires = map[string][]string{"review": {"beta"}}
	if _, got := permitted(); !slices.Equal(got, []string{"beta"}) {
		t.Errorf("with another requirement %v", got)
	}
	requires = map[string][]string{"review": {"alpha"}, "lint": {"beta", "alpha"}}
	if _, got := permitted(); !slices.Equal(got, []string{"alpha", "beta"}) {
		t.Errorf("with another skill %v", got)
	}
	requires = map[string][]string{"lint": {"alpha"}}
	if again, _ := permitted(); again != first {
		t.Error("an equal decision was made again")
	}
}

func TestListsInForce(t *testing.T) {
	t.Parallel()
	d := surface.New(surface.Policies{Global: surface.Block{Policy: surface.Policy{
		Allow: list("tools.allow", "nothing"), Deny: list("tools.deny", "calc"),
	}}}, nil)
	dec := d.Decide(t.Context(), catalog(t), tool.NewScope(tool.Facts{Caller: admin, Cap: tool.Only("calc"), Declared: tool.Only("calc")}), model)
	if diff := cmp.Diff([]string{"the run's cap", "tools.allow", "the declared tools"}, dec.Lists); diff != "" {
		t.Error(diff)
	}
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry()
	r.Add(family, plain("file_read", in("fs")), plain("shell", in("shell")))
	r.Add(tool.Owner{Kind: tool.PluginOwner, ID: "github"}, plain("github_merge", tool.Traits{Optional: true}), plain("Bad", tool.Traits{}))
	r.Note(tool.Note{Tool: "github_issue", State: "discovered", Reason: "the manifest names it, but the plugin never registered it"})
	d := surface.New(surface.Policies{
		Global: surface.Block{Policy: surface.Policy{
			Allow: list("tools.allow", "*", "read_file", "group:fs", "group:data", "group:tables", "group:webs", "github_issue"),
			Deny:  list("tools.deny", "plugin:githob", "mcp:docs", "zzz_*", "", "shell"),
		}},
		Agent: surface.Block{Policy: surface.Policy{
			Profile: text("codng", source.Pos{Key: "agents.list[a].tools.profile", File: "config.yaml", Line: 9}),
			Deny:    list("agents.list[a].tools.deny", "group:client", "get_weather", "get_*"), // whose tools they are is said
		}, BySender: map[string]surface.Policy{"42": {
			AlsoAllow: list("agents.list[a].tools.by_sender.42.also_allow", "shell", "github_merge"),
		}}, ByProvider: map[string]surface.Policy{
			"opnai/gpt-x": {Deny: list("agents.list[a].tools.by_provider.opnai/gpt-x.deny", "shell")},
			"openai":      {Allow: list("agents.list[a].tools.by_provider.openai.allow", "shell"), AlsoAllow: list("agents.list[a].tools.by_provider.openai.also_allow", "file_read")},
			"cloud":       {},
		}},
		Providers: []string{"ollama", "openai"},
	}, nil)
	var got []string
	for _, g := range d.Diagnose(r.Catalog()) {
		got = append(got, g.String())
	}
	want := []string{
		`agents.list[a].tools.by_provider.opnai/gpt-x.deny[0] (config.yaml:41): there is no provider "opnai", so this never holds; nearest: openai`,
		`agents.list[a].tools.profile (config.yaml:9): there is no profile "codng", so only core and internal tools pass; nearest: coding`,
		`tools.allow[1] (config.yaml:42): there is no tool "read_file", unless an API client brings it; nearest: file_read`,
		`tools.allow[4] (config.yaml:45): there is no group "group:tables"; nearest: group:fs, group:shell, group:git, group:web, group:data, group:dev, group:media, group:memory, group:sessions, group:automation, group:messaging, group:code, group:plugins, group:mcp, group:client`,
		`tools.allow[5] (config.yaml:46): there is no group "group:webs"; nearest: group:web`,
		`tools.allow[6] (config.yaml:47): the tool github_issue never came to be: the manifest names it, but the plugin never registered it`,
		`tools.deny[0] (config.yaml:41): no plugin of that name has a tool; nearest: plugin:github`,
		`tools.deny[1] (config.yaml:42): no MCP server of that name has a tool`,
		`tools.deny[2] (config.yaml:43): the pattern "zzz_*" matches no tool, unless an API client brings one`,
		`tools.deny[3] (config.yaml:44): an empty entry selects nothing`,
		`agents.list[a].tools.by_provider.openai.also_allow[0] (config.yaml:41): it adds to the profile only: the allow list beside it doesn't let file_read pass, add it there`,
		`agents.list[a].tools.by_sender.42.also_allow[0] (config.yaml:41): it adds nothing: beside it stands no profile, and it names no optional tool`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What one request brings decides nothing about another one's, however it is
// written.
func TestListsOfRequestsAreToldApart(t *testing.T) {
	t.Parallel()
	d, cat := surface.New(surface.Policies{}, nil), catalog(t)
	for _, deny := range [][]string{{"shell\x00chart"}, {"shell", "chart"}, {"shellchart"}, {"shell", ""}, {"shell"}} {
		dec := d.Decide(t.Context(), cat, tool.NewScope(tool.Facts{Caller: user, Deny: deny}), model)
		for _, name := range []string{"shell", "chart"} {
			_, permitted := tool.Find(dec.Permitted, name)
			if permitted == slices.Contains(deny, name) {
				t.Errorf("%q: %s is permitted: %v", deny, name, permitted)
			}
		}
	}
}
