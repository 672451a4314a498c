package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// stored has one stored call of each tool that it knows.
type stored map[string]tool.Outcome

func (s stored) LastCall(_ context.Context, q engine.CallQuery) (c engine.StoredCall, ok bool, err error) {
	if q.Agent != "writer" || q.Session != "s" || q.Caller != "" && q.Caller != user.ID {
		return c, false, errors.New("the wrong session was asked for")
	}
	if q.Tool == "unreadable" {
		return c, false, errors.New("disk full")
	}
	c.Outcome, ok = s[q.Tool]
	return c, ok, nil
}

func (stored) KeepCall(context.Context, engine.SideCall) error { return nil }

func (stored) EachCall(context.Context, engine.CallQuery, time.Time, func(engine.CallFact)) error {
	return nil
}

func TestExplain(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, tool.Call, none) (string, error) { return "", nil }
	with := func(name string, traits tool.Traits) tool.Tool {
		return tool.New(tool.Definition{Name: name, Traits: traits}, nothing)
	}
	r := tool.NewRegistry()
	family := tool.Owner{Kind: tool.FamilyOwner, ID: "files"}
	github := tool.Owner{Kind: tool.PluginOwner, ID: "github", Version: "1.4.0", Path: "plugins/github"}
	r.Add(family, with("file_read", tool.Traits{ReadOnly: true}), with("file_write", tool.Traits{}),
		with("restore", tool.Traits{Inverse: true}), with("unreadable", tool.Traits{}), with("shell", tool.Traits{}), with("fetch", tool.Traits{}))
	r.Add(tool.Owner{Kind: tool.CoreOwner}, with("db_write", tool.Traits{AdminOnly: true}))
	r.Add(github, with("github_issue", tool.Traits{}), with("file_read", tool.Traits{}))
	r.Add(tool.Owner{Kind: tool.MCPOwner, ID: "docs"}, with("mcp_docs_find", tool.Traits{}))
	r.Note(tool.Note{
		Tool: "github_merge", Owner: github, State: "registered",
		Reason: "the manifest names it, but the plugin never registered it", Fix: "correct the plugin, or its manifest",
	})
	r.Note(tool.Note{Tool: "jira_issue", Owner: tool.Owner{Kind: tool.PluginOwner, ID: "jira"}, State: "installed", Reason: "its archive is damaged", Fix: "install it again"})

	at := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	begun := tool.Outcome{Started: at, Ended: at.Add(1500*time.Millisecond + 3943)}
	call := func(change func(*tool.Outcome)) tool.Outcome {
		o := begun
		change(&o)
		return o
	}
	e := engine.New(engine.Options{
		Registry: r,
		Policies: surface.Policies{Agent: surface.Block{Policy: surface.Policy{Deny: []source.Text{{
			Value: "github_*", Pos: source.Pos{Key: "agents.list[writer].tools.deny", File: "/home/config.yaml", Line: 41},
		}}}}},
		Calls: stored{
			"file_read": call(func(o *tool.Outcome) { o.Status = tool.OK }),
			"file_write": call(func(o *tool.Outcome) {
				o.Status, o.Step, o.Refusal = tool.Refused, "run", &tool.Refusal{
					Step: "run", Guard: "workspace", Rule: "protected", Reason: "Memory.md is protected.", Allowed: "Ask an administrator.",
				}
			}),
			"mcp_docs_find": call(func(o *tool.Outcome) { // what that rule says now, if there still is one, a remark says
				o.Status, o.Step, o.Refusal = tool.Refused, "before", &tool.Refusal{
					Step: "before", Rule: "gone", Reason: "No.", Where: source.Pos{Key: "hooks[gone]", File: "/home/config.yaml", Line: 8},
				}
			}),
			"shell": call(func(o *tool.Outcome) {
				o.Status, o.Step, o.Content = tool.TimedOut, "run", []llm.Part{llm.Text("Error: shell did not end\nand more")}
			}),
			"fetch": call(func(o *tool.Outcome) {
				o.Status, o.Step, o.Content = tool.Invalid, "arguments", []llm.Part{llm.Text("Error: The arguments of fetch don't fit, so nothing ran.\n- url: expected string, got null\nSend it again.")}
			}),
		},
	})
	const three = "installed   yes  family files\ndiscovered  yes  compiled in\n"
	for _, c := range []struct {
		name  string
		state tool.State
		role  tool.Facts
		want  string
	}{
		{name: "github_issue", want: `installed   yes  plugin github 1.4.0, plugins/github
discovered  yes  by its manifest
registered  yes  its manifest names it
exposed     NO   layer policy: denied by agents.list[writer].tools.deny "github_*" (config.yaml:41)
called      -
executed    -
fix: remove "github_*" from agents.list[writer].tools.deny, or use another agent
`},
		{name: "File-Read", want: three + `registered  yes  as file_read; plugin github 1.4.0 also has one: the name is taken by family files
exposed     yes  number 3 of 7, to openai/gpt-x
called      yes  last at 2026-03-01 12:30:00
executed    yes  ok, in 1.5s
`},
		{name: "file_write", want: three + `registered  yes  as file_write
exposed     yes  number 4 of 7, to openai/gpt-x
called      yes  last at 2026-03-01 12:30:00
executed    NO   guard workspace, rule protected: Memory.md is protected.
fix: Ask an administrator.
`},
		{name: "shell", want: three + `registered  yes  as shell
exposed     yes  number 6 of 7, to openai/gpt-x
called      yes  last at 2026-03-01 12:30:00
executed    yes  timeout: shell did not end
`},
		{name: "fetch", want: three + `registered  yes  as fetch
exposed     yes  number 2 of 7, to openai/gpt-x
called      yes  last at 2026-03-01 12:30:00
executed    NO   invalid, step arguments: url: expected string, got null
`},
		{name: "restore", want: three + `registered  yes  as restore
exposed     NO   layer selection: it undoes what another tool did and is never offered to a model
called      -
executed    -
fix: call it yourself
`},
		{name: "db_write", role: tool.Facts{Caller: user}, want: `installed   yes  core
discovered  yes  compiled in
registered  yes  as db_write
exposed     NO   layer role: db_write needs an administrator; it is withheld from the role "user"
called      -
executed    -
fix: let an administrator do it
`},
		{name: "db_write", state: tool.State{Plan: true}, want: `installed   yes  core
discovered  yes  compiled in
registered  yes  as db_write
exposed     yes  number 1 of 7, to openai/gpt-x
called      -
executed    NO   plan mode is on, so a call would be refused
admission   plan mode is on in this session, so a call would be refused now
fix: leave plan mode: /plan off in the chat, or let the agent call exit_plan_mode when the plan is agreed to
`},
		{name: "mcp_docs_find", role: tool.Facts{Caller: admin, Cap: tool.Only("shell")}, want: `installed   yes  mcp docs
discovered  yes  listed by mcp docs
registered  yes  as mcp_docs_find
exposed     NO   layer cap: it is not among the tools that the run was started with
called      yes  last at 2026-03-01 12:30:00
executed    NO   step before, rule gone: No. (config.yaml:8)
fix: start the run with mcp_docs_find in its cap
`},
		{name: "mcp_docs_find", want: `installed   yes  mcp docs
discovered  yes  listed by mcp docs
registered  yes  as mcp_docs_find
exposed     yes  number 5 of 7, to openai/gpt-x
called      yes  last at 2026-03-01 12:30:00
executed    NO   step before, rule gone: No. (config.yaml:8)
`},
		{name: "github_merge", want: `installed   yes  plugin github 1.4.0, plugins/github
discovered  yes  plugin github 1.4.0, plugins/github
registered  NO   the manifest names it, but the plugin never registered it
exposed     -
called      -
executed    -
fix: correct the plugin, or its manifest
`},
		{name: "jira_issue", want: `installed   NO   its archive is damaged
discovered  -
registered  -
exposed     -
called      -
executed    -
fix: install it again
`},
		{name: "read_file", want: `installed   NO   nothing that is compiled in, installed or connected has a tool of that name
discovered  -
registered  -
exposed     -
called      -
executed    -
nearest: file_read, unreadable
fix: use file_read, or build goclaw with a plugin that brings read_file (docs/adding-a-tool.md)
`},
		{name: "zzz", want: `installed   NO   nothing that is compiled in, installed or connected has a tool of that name
discovered  -
registered  -
exposed     -
called      -
executed    -
fix: build goclaw with a plugin that brings zzz (docs/adding-a-tool.md)
`},
	} {
		f := c.role
		if f.Caller.ID == "" {
			f.Caller = admin
		}
		f.Agent, f.Session = "writer", "s"
		x, err := e.Explain(t.Context(), tool.NewScope(f), model, c.state, tool.Ask{}, c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := x.Text(); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
		if b, err := json.Marshal(x); err != nil || !strings.Contains(string(b), `"state":"executed"`) {
			t.Errorf("%s: %s, %v", c.name, b, err)
		}
	}
	f := tool.Facts{Agent: "writer", Session: "s", Caller: admin}
	if _, err := e.Explain(t.Context(), tool.NewScope(f), model, tool.State{}, tool.Ask{}, "unreadable"); err == nil || err.Error() != "explain unreadable: disk full" {
		t.Errorf("got %v", err)
	}
}

// asked notes what was asked for, and knows nothing.
type asked []engine.CallQuery

func (a *asked) LastCall(_ context.Context, q engine.CallQuery) (c engine.StoredCall, ok bool, err error) {
	*a = append(*a, q)
	return c, false, nil
}

func (*asked) KeepCall(context.Context, engine.SideCall) error { return nil }

func (*asked) EachCall(context.Context, engine.CallQuery, time.Time, func(engine.CallFact)) error {
	return nil
}

// When others called a tool, and how that ended, is none of a user's business.
func TestExplainTellsUsersOfTheirOwnCalls(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry()
	r.Add(tool.Owner{Kind: tool.CoreOwner}, reading("one", func(context.Context, tool.Call, none) (string, error) { return "", nil }))
	for _, c := range []struct {
		caller auth.Principal
		want   asked
	}{
		{auth.Principal{ID: "ada", Role: auth.Admin}, asked{{Agent: "writer", Tool: "one"}}},
		{auth.Principal{ID: "system", Role: auth.System}, asked{{Agent: "writer", Tool: "one"}}},
		{auth.Principal{ID: "bob", Role: auth.User}, asked{{Agent: "writer", Tool: "one", Caller: "bob"}}},
		{auth.Principal{Role: auth.User}, nil},
		{auth.Principal{}, nil},
	} {
		var got asked
		e := engine.New(engine.Options{Registry: r, Calls: &got})
		if _, err := e.Explain(t.Context(), tool.NewScope(tool.Facts{Agent: "writer", Caller: c.caller}), model, tool.State{}, tool.Ask{}, "one"); err != nil {
			t.Error(err)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("for %+v it looks for %+v, want %+v", c.caller, got, c.want)
		}
	}
}

// What explaining says of exposure is what deciding decided, tool by tool.
func TestExplainAgreesWithOffer(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, tool.Call, none) (string, error) { return "", nil }
	b := set(t, []tool.Tool{
		reading("one", nothing), reading("two", nothing), tool.New(tool.Definition{Name: "three", Traits: tool.Traits{AdminOnly: true}}, nothing),
		tool.New(tool.Definition{Name: "four", Traits: tool.Traits{Optional: true}}, nothing), reading("five", nothing),
	}, func(o *engine.Options) { o.Policies = deny("two") })
	b.scope.Caller, b.scope.Cap = user, tool.Only("one", "two", "three", "four")
	sf := b.offer()
	for _, name := range []string{"one", "two", "three", "four", "five"} {
		x, err := b.Explain(t.Context(), tool.NewScope(b.scope), model, tool.State{}, tool.Ask{}, name)
		if err != nil {
			t.Fatal(err)
		}
		line := x.States[3]
		_, shown := tool.Find(sf.Offered, name)
		if (line.Verdict == engine.Yes) != shown {
			t.Errorf("%s: shown %v, explained %+v", name, shown, line)
		}
		for _, r := range sf.Removed {
			if r.Tool == name && (!strings.Contains(line.Detail, r.Reason) || line.Where != r.Where || x.Fix != r.Fix) {
				t.Errorf("%s: removed by %+v, explained %+v", name, r, line)
			}
		}
	}
}

// Without a message nothing is picked, but what the session was shown last is known.
func TestExplainTellsWhatTheSessionWasShown(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, tool.Call, none) (string, error) { return "", nil }
	b := set(t, []tool.Tool{reading("one", nothing), reading("two", nothing)})
	for name, left := range map[string]bool{"one": false, "two": true} {
		for _, ask := range []tool.Ask{{}, {Message: llm.UserMessage("one and two")}} {
			x, err := b.Explain(t.Context(), tool.NewScope(b.scope), model, tool.State{Tools: []string{"one"}}, ask, name)
			if err != nil {
				t.Fatal(err)
			}
			line := x.States[3]
			if got := strings.Contains(line.Detail, "the session's last request did not have it"); got != (left && ask.Message.Text() == "") || line.Verdict != engine.Yes {
				t.Errorf("%s for %q: %+v", name, ask.Message.Text(), line)
			}
		}
	}
}

// A name that several tools can be meant by is explained by them.
func TestAnAmbiguousNameIsExplained(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, tool.Call, none) (string, error) { return "", nil }
	b := set(t, []tool.Tool{reading("file_read", nothing), reading("fileread", nothing)})
	x, err := b.Explain(t.Context(), tool.NewScope(b.scope), model, tool.State{}, tool.Ask{}, "File__Read!")
	if err != nil || x.Tool != "file_read" {
		t.Errorf("%q, %v", x.Tool, err) // case and punctuation are forgiven first
	}
	b = set(t, []tool.Tool{reading("file_r_ead", nothing), reading("fileread", nothing), reading("fi_leread", nothing)})
	x, err = b.Explain(t.Context(), tool.NewScope(b.scope), model, tool.State{}, tool.Ask{}, "file_read")
	if err != nil || x.States[0].Detail != "the name can mean several tools: fi_leread, file_r_ead, fileread" || x.Fix != "name one of them exactly" || len(x.Nearest) != 3 {
		t.Errorf("%+v, %v", x, err)
	}
}

// A name that nothing has may be one that the configuration would bring.
func TestWhatTheConfigurationWouldBring(t *testing.T) {
	t.Parallel()
	x := engine.Strange("github_create_issue", "main", nil)
	x.Await(nil)
	if strings.Contains(x.States[0].Detail, "would bring") {
		t.Errorf("without a key: %+v", x)
	}
	key := source.Pos{Key: "plugins", File: "/etc/config.yaml", Line: 3}
	x.Await([]source.Pos{key})
	if !x.Strange() || x.States[0].Where != key || !strings.Contains(x.States[0].Detail, "does not have yet: plugins (config.yaml:3)") || !strings.Contains(x.Fix, "plugins (config.yaml:3) is kept") {
		t.Errorf("with one: %+v", x)
	}
}

// A tool of GoClaw that is still to come is nothing that could be installed.
func TestAToolThatIsStillToCome(t *testing.T) {
	t.Parallel()
	key := source.Pos{Key: "tools.also_allow[0]", File: "/etc/config.yaml", Line: 3}
	for _, name := range []string{"web_fetch", "Web-Fetch"} {
		x := engine.Strange(name, "main", []string{"file_read"})
		x.Written([]source.Pos{key})
		x.Await([]source.Pos{{Key: "plugins", File: "/etc/config.yaml", Line: 9}})
		const want = "this version of GoClaw has no tool web_fetch yet: it belongs to the family web, which is still to come; it stands in tools.also_allow[0] (config.yaml:3)"
		if x.States[0].Detail != want || x.States[0].Where != key || strings.Contains(x.Fix, "plugin") || !strings.HasPrefix(x.Fix, "take a later version of GoClaw that has the tool web_fetch") {
			t.Errorf("%s: got %+v", name, x)
		}
	}
}

func (stored) OpenCall(context.Context, engine.SideCall) error { return nil }

func (stored) OpenBy(context.Context) ([]string, error) { return nil, nil }

func (stored) InterruptCalls(context.Context, string, time.Time) (int, error) { return 0, nil }

func (*asked) OpenCall(context.Context, engine.SideCall) error { return nil }

func (*asked) OpenBy(context.Context) ([]string, error) { return nil, nil }

func (*asked) InterruptCalls(context.Context, string, time.Time) (int, error) { return 0, nil }
