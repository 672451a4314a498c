package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/lib/source"
)

func TestAgentNames(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		doc  string
		want map[string]string // name to id, "" where there is none
	}{
		"no list":          {"", map[string]string{"": "main", "main": "main", "MAIN": "main", "Default": "main", "other": ""}},
		"first":            {"agents: {list: [{id: a}, {id: b}]}", map[string]string{"": "a", "main": "a", "default": "a", "b": "b", "B": ""}},
		"marked":           {"agents: {list: [{id: a}, {id: b, default: true}]}", map[string]string{"": "b", "Main": "b", "default": "b", "a": "a"}},
		"main configured":  {"agents: {list: [{id: a, default: true}, {id: main}]}", map[string]string{"": "a", "main": "main", "MAIN": "main", "default": "a"}},
		"default is an id": {"agents: {list: [{id: a, default: true}, {id: default}]}", map[string]string{"": "a", "main": "a", "Default": "default"}},
	} {
		c := parse(t, tc.doc)
		for ask, want := range tc.want {
			a, ok := c.Agent(ask)
			if a.ID != want || ok != (want != "") {
				t.Errorf("%s: Agent(%q) = %q, %t; want %q", name, ask, a.ID, ok, want)
			}
		}
	}
}

func TestWorkspaces(t *testing.T) {
	t.Parallel()
	c := parse(t, "agents: {list: [{id: a}, {id: b, default: true}, {id: c, workspace: work/c/}, {id: d, workspace: ~/d}, {id: e, workspace: /srv/../e}]}")
	for id, want := range map[string]string{
		"a": "/home/ada/.goclaw/agents/a/workspace", "b": "/home/ada/.goclaw/workspace",
		"c": "/home/ada/.goclaw/work/c", "d": "/home/ada/d", "e": "/e",
	} {
		if a, _ := c.Agent(id); a.Workspace != want {
			t.Errorf("%s: %s, want %s", id, a.Workspace, want)
		}
	}
	_, err := config.Parse(config.Options{Home: "/h"}, []byte("agents: {list: [{id: d, workspace: ~/d}]}"))
	if err == nil {
		t.Error("~ without HOME must be a fault")
	}
}

// Settings replace block by block, policies stay apart.
func TestAgentToolsAreMerged(t *testing.T) {
	t.Parallel()
	c := parse(t, `
tools:
  profile: coding
  allow: [file_read, shell]
  deny: [browser]
  by_provider: {ollama: {deny: [x]}}
  subagents: {deny: [y]}
  max_result_chars: 5000
  pool: {workers: 4}
  shell: {allow: [git], deny: [git push], network: true, timeout: 5s}
  http: {default: allow, deny: [a.example], timeout: 9s}
  rag: {top_k: 3}
memory: {learn: "off", context_budget_chars: 1}
agents:
  list:
    - id: plain
    - id: own
      tools:
        deny: [file_write]
        allow: []
        max_result_chars: 100
        pool: {workers: 2}
        shell: {allow: [ls], deny: [rm]}
        http:
          deny: [b.example]
          max_body_bytes: 7
      memory: {context_budget_chars: 2}
`)
	plain, _ := c.Agent("plain")
	if plain.Tools.Shell.Timeout != 5*time.Second || !plain.Tools.Shell.Network || plain.Tools.RAG.TopK != 3 || plain.Tools.MaxResultChars != 5000 || plain.Memory.Learn != "off" {
		t.Errorf("the global settings are missing: %+v", plain.Tools)
	}
	if p := plain.Tools.Policy; p.Profile.Value != "" || p.Allow != nil || p.Deny != nil || p.ByProvider != nil || plain.Tools.Subagents.Deny != nil {
		t.Errorf("the global policy was copied: %+v", p)
	}
	own, _ := c.Agent("own")
	sh := own.Tools.Shell
	if diff := cmp.Diff([]string{"git push", "rm"}, source.Values(sh.Deny)); diff != "" {
		t.Errorf("shell.deny: %s", diff)
	}
	if sh.Network || sh.Timeout != 60*time.Second || len(sh.Allow) != 1 || sh.Allow[0].Value != "ls" {
		t.Errorf("shell is not replaced whole: %+v", sh)
	}
	http := own.Tools.HTTP
	if diff := cmp.Diff([]string{"a.example", "b.example"}, source.Values(http.Deny)); diff != "" {
		t.Errorf("http.deny: %s", diff)
	}
	if http.Default != "deny" || http.Timeout != 30*time.Second || http.MaxBodyBytes != 7 || len(http.Methods) != 6 {
		t.Errorf("http is not replaced whole: %+v", http)
	}
	if own.Tools.RAG.TopK != 3 || own.Tools.MaxResultChars != 100 || own.Tools.Pool != (config.Pool{Workers: 2, Queue: 64}) {
		t.Errorf("other settings: %+v", own.Tools)
	}
	if own.Memory.ContextBudgetChars != 2 || own.Memory.Learn != "propose" {
		t.Errorf("memory is not replaced whole: %+v", own.Memory)
	}
	if own.Tools.Allow == nil || len(own.Tools.Allow) != 0 {
		t.Errorf("an empty list must stay apart from an absent one: %#v", own.Tools.Allow)
	}
	if got := own.Tools.Deny[0].Pos.String(); got != "agents.list[own].tools.deny (config.yaml:19)" {
		t.Errorf("position: %s", got)
	}
	if got := c.Tools.Deny; len(got) != 1 || got[0].Value != "browser" || c.Tools.Shell.Deny[0].Value != "git push" || len(c.Tools.Shell.Deny) != 1 {
		t.Errorf("the global block has changed: %+v", c.Tools)
	}
}

func TestPolicyEntriesKnowTheirPlace(t *testing.T) {
	t.Parallel()
	c := parse(t, `tools:
  profile: coding
  allow: [a,
    b]
  also_allow:
    - c
  by_provider:
    openai/gpt-x: {profile: minimal}
    ollama: {deny: [browser]}
  by_sender: {"telegram:42": {deny: ["group:fs"]}, "*": {}}
channels:
  telegram:
    groups: {"-100": {tools: {deny: [shell]}}}
`)
	for _, tc := range []struct {
		text source.Text
		want string
	}{
		{c.Tools.Profile, "tools.profile (config.yaml:2)"},
		{c.Tools.Allow[0], "tools.allow (config.yaml:3)"},
		{c.Tools.Allow[1], "tools.allow (config.yaml:4)"},
		{c.Tools.AlsoAllow[0], "tools.also_allow (config.yaml:6)"},
		{c.Tools.ByProvider["openai/gpt-x"].Profile, "tools.by_provider[openai/gpt-x].profile (config.yaml:8)"},
		{c.Tools.ByProvider["ollama"].Deny[0], "tools.by_provider.ollama.deny (config.yaml:9)"},
		{c.Tools.BySender["telegram:42"].Deny[0], "tools.by_sender[telegram:42].deny (config.yaml:10)"},
		{c.Channels["telegram"].Groups["-100"].Tools.Deny[0], "channels.telegram.groups.-100.tools.deny (config.yaml:13)"},
		{parse(t, "").Tools.Profile, "tools.profile (default)"},
	} {
		if got := tc.text.Pos.String(); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.text, got, tc.want)
		}
	}
	if _, ok := c.Tools.BySender["*"]; !ok {
		t.Error("an empty rule of a sender must be kept")
	}
}

func TestUnknownNamesTurnTheirPartOff(t *testing.T) {
	t.Parallel()
	c := parse(t, `
routes: [{match: {channel: telegram}, agent: gone}, {agent: MAIN}]
cron: [{name: daily, schedule: "0 7 * * *", agent: gone, message: hi, timezone: Mars/Base}]
webhooks: {deploy: {agent: gone}}
hooks: [{name: h, action: notify, agents: [default, gone]}]
`)
	want := []string{
		`routes[0].agent (config.yaml:2:46): there is no agent "gone", so that this does nothing`,
		`cron[daily].agent (config.yaml:3:52): there is no agent "gone", so that this does nothing`,
		`cron[daily].timezone (config.yaml:3:81): the time zone "Mars/Base" is not known here`,
		`webhooks.deploy.agent (config.yaml:4:28): there is no agent "gone", so that this does nothing`,
		`hooks[h].agents (config.yaml:5:35): there is no agent "gone", so that this does nothing`,
	}
	var got []string
	for _, w := range c.Warnings {
		got = append(got, w.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if c.Hooks[0].Pos.String() != "hooks[h] (config.yaml:5)" || c.Hooks[0].When != "before" || c.Hooks[0].Timeout != 5*time.Second {
		t.Errorf("hook: %+v", c.Hooks[0])
	}
}

// What becomes of agents that have a folder when others take their place.
func TestDisplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{"workspace", "agents/writer/workspace"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const can = "can be looked at, and nobody goes on with them"
	for name, tc := range map[string]struct {
		before, after string
		want          []string // with . for the home folder
	}{
		"nothing":        {"", "log: {level: debug}", nil},
		"written down":   {"", "agents: {list: [{id: main}, {id: writer}]}", nil},
		"its own key":    {"", "agents: {list: [{id: main, workspace: x}]}", nil},
		"its key is off": {"agents: {list: [{id: main, workspace: agents/writer/workspace}]}", "", nil},
		"no folder yet":  {"agents: {list: [{id: main}, {id: new}]}", "", nil},
		"main is gone": {"", "agents: {list: [{id: writer}]}", []string{
			"agent main is gone: its conversations " + can + ", and writer works in its folder, ./workspace; to keep main: goclaw config set 'agents.list[main].default' true",
		}},
		"another is gone": {"agents: {list: [{id: main}, {id: writer}]}", "", []string{
			"agent writer is gone: its conversations " + can + ", and its folder stays, ./agents/writer/workspace",
		}},
		"another default": {"agents: {list: [{id: main}, {id: writer}]}", "agents: {list: [{id: main}, {id: writer, default: true}]}", []string{
			"agent main works in ./agents/main/workspace now, no longer in ./workspace; to leave it there: goclaw config set 'agents.list[main].workspace' workspace",
			"agent writer works in ./workspace now, no longer in ./agents/writer/workspace; to leave it there: goclaw config set 'agents.list[writer].workspace' agents/writer/workspace",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := config.Options{Home: dir}
			before, err := config.Parse(o, []byte(tc.before))
			if err != nil {
				t.Fatal(err)
			}
			after, err := config.Parse(o, []byte(tc.after))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range after.Displaced(before) {
				got = append(got, strings.ReplaceAll(s, dir, "."))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
