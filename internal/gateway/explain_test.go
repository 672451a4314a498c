package gateway_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/plugin"
)

// github is what Alice installed: of the four tools that its manifest names one
// is like any other, one is optional, one is never registered, and the name of
// one belongs to somebody else.
func github() plugin.Plugin {
	made := func(name string, traits plugin.Traits) plugin.Tool {
		return plugin.NewTool(plugin.Definition{Name: name, Description: "On GitHub.", Traits: traits},
			func(context.Context, plugin.Call, struct{}) (string, error) { return "opened", nil })
	}
	return plugin.Plugin{
		Manifest: plugin.Manifest{ID: "github", Version: "1.4.0", Tools: []string{"github_issue", "github_merge", "github_review", "file_read"}},
		Register: func(a plugin.API) error {
			for _, t := range []plugin.Tool{made("github_issue", plugin.Traits{Category: "dev"}), made("github_merge", plugin.Traits{Optional: true}), made("file_read", plugin.Traits{})} {
				if err := a.RegisterTool(t); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// alice is a gateway with the plugin and some more configuration.
func alice(t *testing.T, more string, answers ...fakellm.Answer) *rig {
	t.Helper()
	model := fakellm.Start(t, answers...)
	return configured(t, model, fmt.Sprintf("ai:\n  provider: openai\n  providers:\n    openai: {api_key: key, model: m, base_url: %q}\n%s", model.Base(), more), github())
}

func (r *rig) explain(req run.Request, name string) engine.Explanation {
	r.t.Helper()
	x, err := r.Explain(r.t.Context(), req, name)
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

// stops is the state that stopped a tool, and what is said of it.
func stops(x engine.Explanation) string {
	for _, s := range x.States {
		if s.Verdict == engine.No {
			where := ""
			if place := " (" + s.Where.Place() + ")"; !s.Where.IsZero() && !strings.Contains(s.Detail, place) {
				where = place
			}
			return s.State + ": " + s.Detail + where
		}
	}
	return ""
}

// The agent has no such tool although its plugin is installed: discovery and
// exposure.
func TestWhyAToolIsNotThere(t *testing.T) {
	t.Parallel()
	bob := func(req run.Request) run.Request {
		req.Caller = auth.Principal{ID: "bob", Role: auth.User, Human: true}
		return req
	}
	for _, c := range []struct {
		name, config, tool string
		change             func(run.Request) run.Request
		stops, fix         string
	}{
		{
			"not installed", "", "gitlab_issue", nil,
			"installed: nothing that is compiled in, installed or connected has a tool of that name", "use github_issue, or build goclaw with a plugin that brings gitlab_issue (docs/adding-a-tool.md)",
		},
		{
			"brought by nothing, and allowed", "tools:\n  also_allow: [gitlab_issue]\n", "gitlab_issue", nil,
			"installed: nothing that is compiled in, installed or connected has a tool of that name; it stands in tools.also_allow (config.yaml:6)",
			"use github_issue, or build goclaw with a plugin that brings gitlab_issue (docs/adding-a-tool.md); or correct the name in tools.also_allow (config.yaml:6)",
		},
		{
			"still to come", "tools:\n  allow: [web_fetch]\n", "web_fetch", nil,
			"installed: this version of GoClaw has no tool web_fetch yet: it belongs to the family web, which is still to come; it stands in tools.allow (config.yaml:6)",
			"take a later version of GoClaw that has the tool web_fetch (goclaw version says which this is); nothing that is installed or written brings it to this one",
		},
		{
			"promised and never registered", "", "github_review", nil,
			"registered: the manifest names it, but the plugin never registered it", "correct the plugin, or its manifest",
		},
		{
			"denied", "tools:\n  deny: [\"github_*\"]\n", "github_issue", nil,
			`exposed: layer policy: denied by tools.deny "github_*" (config.yaml:6)`, `remove "github_*" from tools.deny`,
		},
		{
			"outside of a profile", "agents:\n  list:\n    - id: main\n      tools: {profile: coding}\n", "github_issue", nil,
			`exposed: layer policy: not in the profile "coding", which agents.list[main].tools.profile sets (config.yaml:8)`, `add "github_issue" to agents.list[main].tools.also_allow, or choose a larger profile`,
		},
		{
			"denied by provider", "tools:\n  by_provider:\n    openai: {deny: [\"plugin:github\"]}\n", "github_issue", nil,
			`exposed: layer policy: denied by tools.by_provider.openai.deny "plugin:github" (config.yaml:7)`, `remove "plugin:github" from tools.by_provider.openai.deny`,
		},
		{
			"optional", "tools: {also_allow: [\"*\"]}\n", "github_merge", nil,
			`exposed: layer optional: it is optional, and "*" of tools.also_allow names no tool (wildcards and groups don't count) (config.yaml:5)`,
			`write "github_merge" or "plugin:github" beside "*" in tools.also_allow`,
		},
		{
			"optional, and nowhere meant", "", "github_merge", nil,
			"exposed: layer optional: it is optional, and no allow list names it (wildcards and groups don't count)", "add github_merge or plugin:github to tools.also_allow",
		},
		{
			"not for this role", "", "sessions_list", bob,
			`exposed: layer role: sessions_list is for an administrator in person; it is withheld from the role "user"`, "let an administrator do it",
		},
		{
			"narrowed by skills.allow", "agents:\n  list:\n    - id: main\n      skills: {allow: [review]}\n", "github_issue", nil,
			"exposed: layer skills.allow: agents.list[main].skills.allow neither lists it nor a skill that requires it (config.yaml:8)", `add "github_issue" to agents.list[main].skills.allow`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := alice(t, c.config)
			req := admin("", "open a github issue")
			if c.change != nil {
				req = c.change(req)
			}
			x := r.explain(req, c.tool)
			if got := stops(x); got != c.stops || x.Fix != c.fix {
				t.Errorf("got  %s\nwant %s\nfix  %s\nwant %s", got, c.stops, x.Fix, c.fix)
			}
			if len(x.Remarks) > 0 {
				t.Errorf("of a tool that isn't shown it says %+v", x.Remarks)
			}
		})
	}
}

// The name of a plugin's tool that belongs to GoClaw stays GoClaw's, and the
// conflict is told.
func TestANameConflictIsTold(t *testing.T) {
	t.Parallel()
	r := alice(t, "")
	x := r.explain(admin("", ""), "file_read")
	if s := x.States[2]; s.Verdict != engine.Yes || !strings.Contains(s.Detail, "plugin github 1.4.0 also has one: the name is taken by family files") || x.States[0].Detail != "family files" {
		t.Errorf("got %+v", x.States)
	}
}

// The tool is there and calls are refused: admission.
func TestWhyACallIsRefused(t *testing.T) {
	t.Parallel()
	r := alice(t, "", fakellm.Calls(fakellm.Use("file_write", `{"path":"../out","content":"x"}`)), fakellm.Text("No."),
		fakellm.Calls(fakellm.Use("github_issue", `{"title":5}`)), fakellm.Text("No."))
	r.say("s", "write a file")
	x := r.explain(admin("s", "write a file"), "file_write")
	if got := stops(x); !strings.HasPrefix(got, "executed: guard workspace, rule ") || x.Fix == "" {
		t.Errorf("a guard: %s, fix %s", got, x.Fix)
	}
	r.say("s", "open a github issue")
	x = r.explain(admin("s", "open a github issue"), "github_issue")
	if got := stops(x); !strings.HasPrefix(got, `executed: invalid, step arguments: unknown field "title"`) {
		t.Errorf("arguments: %s", got)
	}
	if x := r.explain(admin("other", "write a file"), "file_write"); x.States[4].Verdict != engine.Unknown {
		t.Errorf("another session: %+v", x.States)
	}
}

// Rules and people that decide about calls are named before a call, and with
// the call that they refused.
func TestWhichRuleRefusesACall(t *testing.T) {
	t.Parallel()
	r := alice(t, `hooks:
  - {name: no-issues, tools: [github_issue], action: block, message: Ask Ann.}
  - {name: careful, tools: [file_write], match: 'args.path == "secret.txt"', action: approve}
  - {name: told, action: notify}
`, fakellm.Calls(fakellm.Use("github_issue", `{}`)), fakellm.Text("No."), fakellm.Calls(fakellm.Use("file_write", `{"path":"secret.txt","content":"x"}`)), fakellm.Text("No."))
	admission := func(x engine.Explanation) (list []string) {
		for _, m := range x.Remarks {
			if m.Topic == engine.Admission {
				list = append(list, fmt.Sprintf("%s (%s)", m.Detail, m.Where.Place()))
			}
		}
		return list
	}
	issue := admin("s", "open a github issue")
	x := r.explain(issue, "github_issue")
	want := "a call without arguments would be blocked by the rule no-issues: it has no condition (config.yaml:6)"
	if got := admission(x); len(got) != 1 || got[0] != want || !strings.HasPrefix(x.Fix, "change hooks[no-issues] (config.yaml:6); goclaw hooks test --tool github_issue") {
		t.Errorf("got %v, fix %s", got, x.Fix)
	}
	want = "a call would wait for a person's approval by the rule careful where its condition holds: args.path == \"secret.txt\" (config.yaml:7)"
	if got := admission(r.explain(admin("s", "write a file"), "file_write")); len(got) != 1 || got[0] != want {
		t.Errorf("a condition on arguments that nobody knows yet: %v", got)
	}
	r.say("s", "open a github issue")
	x = r.explain(issue, "github_issue")
	if got := stops(x); !strings.HasPrefix(got, "executed: step before, rule no-issues: ") || !strings.HasSuffix(got, "(config.yaml:6)") || !strings.Contains(x.Fix, "goclaw hooks test --tool github_issue") {
		t.Errorf("got %s, fix %s", got, x.Fix)
	}
	r.say("s", "write a file")
	x = r.explain(admin("s", "write a file"), "file_write")
	if got := stops(x); !strings.HasPrefix(got, "executed: step before, rule careful: ") {
		t.Errorf("an approval that nobody could give: %s, fix %s", got, x.Fix)
	}
	want = "a call with the arguments of the last one would wait for a person's approval by the rule careful: its condition holds (config.yaml:7)"
	if got := admission(x); len(got) != 1 || got[0] != want {
		t.Errorf("got %v", got)
	}
}

// Plan mode refuses what changes something, and explaining says so.
func TestPlanModeIsSaid(t *testing.T) {
	t.Parallel()
	r := alice(t, "", fakellm.Calls(fakellm.Use("enter_plan_mode", `{}`)), fakellm.Text("Planning."))
	r.say("s", "Plan this first: write a file.")
	x := r.explain(admin("s", "write a file"), "file_write")
	if got := stops(x); got != "executed: plan mode is on, so a call would be refused" || !strings.HasPrefix(x.Fix, "leave plan mode: ") {
		t.Errorf("got %s, fix %s", got, x.Fix)
	}
	if x := r.explain(admin("other", "write a file"), "file_write"); stops(x) != "" {
		t.Errorf("another session: %s", stops(x))
	}
}

// The tool works and the model does not work as it should: guidance.
func TestWhatGuidesTheModel(t *testing.T) {
	t.Parallel()
	r := alice(t, "", fakellm.Text("Done."))
	file := func(name, text string) {
		t.Helper()
		path := filepath.Join(r.home, "workspace", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	guidance := func() (string, string) {
		x := r.explain(admin("s", "open a github issue"), "github_issue")
		var lines []string
		for _, m := range x.Remarks {
			if m.Topic == engine.Guidance {
				lines = append(lines, m.Detail)
			}
		}
		return strings.Join(lines, "\n"), x.Fix
	}
	expect := func(what, want, fix string) {
		t.Helper()
		got, gotFix := guidance()
		if !strings.Contains(got, want) || gotFix != fix {
			t.Errorf("%s:\n%s\nlacks %q, or its fix is not %q but %q", what, got, want, fix, gotFix)
		}
	}
	r.explain(admin("s", "open a github issue"), "github_issue") // the workspace is there now
	file("AGENTS.md", "Test first.\nOpen issues with github_issue.\n")
	expect("a file that names it", "AGENTS.md is in the prompt, 42 bytes; names github_issue in line 2", "")
	expect("no skills", "no skill is in the prompt: this version reads none, and the workspace has none", "")
	r.say("s", "hi")
	expect("a file as it was", "AGENTS.md is in the prompt, 42 bytes, as in the session's last request; names", "")
	file("AGENTS.md", "Test first, always.\n")
	expect("a file that changed", "AGENTS.md is in the prompt, 19 bytes, changed since the session's last request; doesn't name github_issue", "the next turn has the changed AGENTS.md: say it again")
	file("AGENTS.md", strings.Repeat("Test first.\n", 2000))
	expect("a file that is too long", "cut: the file has 24000 bytes, and the first 20000 are in the prompt", "shorten AGENTS.md, or put what matters most first")
	file("AGENTS.md", "")
	expect("an empty file", "AGENTS.md is not in the prompt: it is empty", "write how work is to be done into AGENTS.md of the workspace")
	file("AGENTS.md", "Work well.\n")
	r.model.Add(fakellm.Text("Done."))
	r.say("s", "hi again")
	file("CLAUDE.md", "Test first.\n")
	expect("instructions for another program", "CLAUDE.md is in the workspace and not in the prompt: it is for another program", "move what is to hold here into AGENTS.md")
	if err := os.Remove(filepath.Join(r.home, "workspace", "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	for name, remark := range map[string][2]string{
		"instructions/a.instructions.md": {"instructions/a.instructions.md is in the workspace and not in the prompt: this version doesn't read it", "until it is read, move what is to hold into AGENTS.md"},
		"agents/rev.agent.md":            {"agents/rev.agent.md is in the workspace and not in the prompt: this version doesn't read it", "until it is read, move what is to hold into AGENTS.md"},
		"soul.md":                        {"soul.md is in the workspace and not in the prompt: the file that is read is SOUL.md", "call it SOUL.md"},
	} {
		file(name, "Test first.\n")
		expect(name, remark[0], remark[1])
		if err := os.Remove(filepath.Join(r.home, "workspace", name)); err != nil {
			t.Fatal(err)
		}
	}
	file("skills/test-first/SKILL.md", "---\nname: test-first\n---\nTest first.\n")
	expect("a skill", "the skill test-first (skills/test-first/SKILL.md) is not in the prompt: this version reads no skills", "until skills are read, move its steps into AGENTS.md")
}

func TestKnownTools(t *testing.T) {
	t.Parallel()
	r := alice(t, "tools: {deny: [shell, \"file_w*\"]}\n", fakellm.Calls(fakellm.Use("github_issue", `{}`)), fakellm.Text("Done."))
	r.say("s", "open a github issue")
	get := func(f api.ToolFilter) api.KnownTools {
		t.Helper()
		page, err := r.KnownTools(t.Context(), admin("", "open a github issue"), f)
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	page := get(api.ToolFilter{Owner: "github", Limit: 10})
	if page.Total != 2 || page.Tools[0].Name != "github_issue" || page.Tools[0].Calls.Count != 1 || page.Tools[1].Stopped != "exposed" || page.States["exposed"] != 1 {
		t.Errorf("got %+v", page)
	}
	lost := "registered"
	if page := get(api.ToolFilter{State: &lost, Limit: 10}); len(page.Tools) != 1 || page.Tools[0].Name != "github_review" || page.Tools[0].Fix == "" {
		t.Errorf("got %+v", page)
	}
	var names []string
	for after := ""; ; {
		page := get(api.ToolFilter{Limit: 3, After: after})
		for _, x := range page.Tools {
			names = append(names, x.Name)
		}
		if after = page.Next; after == "" {
			if len(names) != page.Total {
				t.Errorf("%d of %d: %v", len(names), page.Total, names)
			}
			break
		}
	}
	d, err := r.Tool(t.Context(), admin("", "open a github issue"), "github_issue")
	if err != nil || d.Tool == nil || d.Calls.Count != 1 || len(d.Schemas) == 0 || d.Schemas[0].Provider != "openai" || len(d.Schemas[0].Parameters) == 0 || !d.Explanation.Exposed() {
		t.Errorf("got %+v, %v", d, err)
	}
	if d, err := r.Tool(t.Context(), admin("", ""), "github_review"); err != nil || d.Tool != nil || stops(d.Explanation) == "" {
		t.Errorf("got %+v, %v", d, err)
	}
	if _, err := r.Tool(t.Context(), admin("", ""), "nothing_like_it"); status(err) != 404 {
		t.Errorf("got %v", err)
	}
	req := admin("", "")
	req.Cap = tool.Only("calc")
	if x := r.explain(req, "github_issue"); stops(x) != "exposed: layer cap: it is not among the tools that the run was started with" {
		t.Errorf("got %s", stops(x))
	}
}
