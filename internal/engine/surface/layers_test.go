package surface_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine/surface"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// Layers beside policies: what each takes away, in which words, and what the
// position of the deciding key is.
func TestWhatTheRunAndTheAgentDecide(t *testing.T) {
	t.Parallel()
	r := tool.NewRegistry()
	if notes := r.Add(family,
		plain("calc", tool.Traits{Internal: true}), plain("note", tool.Traits{Category: "memory", Core: true}),
		plain("recall", in("memory")), plain("file_read", in("fs")), plain("file_write", in("fs")),
		plain("db_write", tool.Traits{Category: "data", DataWrite: true}),
		plain("sessions_list", tool.Traits{Category: "sessions", OwnerOnly: true}),
		plain("search_tools", tool.Traits{Finder: true}), plain("subagents", tool.Traits{Delegates: true}),
		plain("delegate_canvas", tool.Traits{Delegates: true, Client: []string{"canvas"}}),
		plain("canvas", tool.Traits{Client: []string{"canvas"}}), plain("extra", tool.Traits{Optional: true}),
	); len(notes) > 0 {
		t.Fatal(notes)
	}
	all := func() surface.Policies {
		return surface.Policies{Writable: surface.Setting{On: true}, Delegates: surface.Setting{On: true}, MaxDepth: 2}
	}
	at := func(key string) source.Pos { return source.Pos{Key: key, File: "/home/config.yaml", Line: 7} }
	robot := auth.Principal{ID: "ci", Role: auth.Admin}
	base := []string{"calc", "db_write", "file_read", "file_write", "note", "recall", "search_tools", "sessions_list", "subagents"}
	sans := func(names ...string) []string {
		return slices.DeleteFunc(slices.Clone(base), func(n string) bool { return slices.Contains(names, n) })
	}
	for _, c := range []struct {
		name    string
		facts   tool.Facts
		change  func(*surface.Policies)
		want    []string
		removed string // "tool: layer/rule: reason (place)"
	}{
		{name: "nothing", want: base, removed: `canvas: compatibility/client: it needs a front end that can do "canvas", and this one doesn't say so`},
		{name: "a client that can", facts: tool.Facts{Client: []string{"x", "canvas"}}, want: append([]string{"calc", "canvas", "db_write", "delegate_canvas"}, base[2:]...)},

		{
			name: "an empty runtime list allows nothing", facts: tool.Facts{Allow: tool.Only()}, want: []string{},
			removed: "calc: policy/runtime: not among the tools that the request itself allows",
		},
		{name: "a runtime list takes groups and patterns", facts: tool.Facts{Allow: tool.Only("group:fs", "c*")}, want: []string{"calc", "file_read", "file_write"}},
		{name: "a runtime list names no optional tool", facts: tool.Facts{Allow: tool.Only("extra")}, want: []string{}, removed: "extra: optional/optional"},
		{
			name: "a runtime deny", facts: tool.Facts{Deny: []string{"zzz", "group:fs"}}, want: sans("file_read", "file_write"),
			removed: `file_read: policy/runtime: denied by the request itself, with "group:fs"`,
		},
		{
			name: "a sandbox", facts: tool.Facts{Sandbox: true}, want: []string{"calc"},
			change: func(p *surface.Policies) {
				p.Global.Sandbox.Deny = list("tools.sandbox.deny", "group:fs")
				p.Agent.Sandbox.Allow = list("agents.list[a].tools.sandbox.allow", "calc", "group:fs")
			},
			removed: "file_read: policy/sandbox: denied by tools.sandbox.deny \"group:fs\" (config.yaml:41)",
		},
		{name: "no sandbox", change: func(p *surface.Policies) { p.Global.Sandbox.Deny = list("tools.sandbox.deny", "*") }, want: base},
		{
			name: "the first rule that removes is the one that is named", facts: tool.Facts{Sandbox: true, Deny: []string{"file_read"}},
			change: func(p *surface.Policies) {
				p.Global.Sandbox.Deny = list("tools.sandbox.deny", "file_read")
				p.Agent.Deny = list("agents.list[a].tools.deny", "file_read")
			},
			want: sans("file_read"), removed: "file_read: policy/agent:",
		},

		{
			name: "skills.allow leaves what it names", facts: tool.Facts{Skills: tool.Only("file_read", "review")},
			change: func(p *surface.Policies) {
				p.Skills = surface.Skills{Where: at("agents.list[a].skills.allow"), Requires: func(skill string) ([]string, bool) {
					return []string{"recall"}, skill == "review"
				}}
			},
			want:    []string{"calc", "file_read", "note", "recall"},
			removed: "file_write: skills.allow/skills.allow: agents.list[a].skills.allow neither lists it nor a skill that requires it (config.yaml:7)",
		},
		{name: "an empty skills.allow leaves core and internal tools", facts: tool.Facts{Skills: tool.Only()}, want: []string{"calc", "note"}},

		{
			name: "db_write of a user", facts: tool.Facts{Caller: user}, want: sans("db_write", "sessions_list"),
			removed: `db_write: role/admin_only: db_write needs an administrator; it is withheld from the role "user"`,
		},
		{
			name: "db_write without a data source to write", change: func(p *surface.Policies) { p.Writable = surface.Setting{Where: at("datasources")} },
			want:    sans("db_write"),
			removed: "db_write: role/allow_write: db_write needs a data source that may be written, and none has allow_write: true (config.yaml:7)",
		},
		{
			name: "db_write of the system", facts: tool.Facts{Caller: auth.Principal{ID: "system", Role: auth.System}, Origin: tool.FromCron}, want: sans("sessions_list"),
			removed: `sessions_list: role/owner_only: sessions_list is for an administrator in person; it is withheld from the role "system"`,
		},
		{
			name: "an admin who is no person", facts: tool.Facts{Caller: robot}, want: sans("sessions_list"),
			removed: "sessions_list: role/owner_only: sessions_list is for an administrator in person; it is withheld from whoever is no person",
		},
		{
			name: "without selection there is nothing to find", change: func(p *surface.Policies) { p.Whole = surface.Setting{On: true, Where: at("tools.rag.enabled")} },
			want: sans("search_tools"), removed: "search_tools: role/selection: search_tools has nothing to find: every permitted tool is shown (config.yaml:7)",
		},
		{
			name: "a procedure's step finds nothing", facts: tool.Facts{Origin: tool.FromSOP}, want: sans("search_tools"),
			removed: "search_tools: role/selection: search_tools is not for a step that declares its tools",
		},
		{name: "declared tools", facts: tool.Facts{Declared: tool.Only("search_tools", "recall")}, want: []string{"calc", "recall"}},

		{
			name: "nobody to delegate to", change: func(p *surface.Policies) {
				p.Delegates = surface.Setting{Where: at("agents.list[a].subagents.allow_agents")}
			},
			want:    sans("subagents"),
			removed: "subagents: compatibility/allow_agents: the agent may start no others: its subagents.allow_agents is empty (config.yaml:7)",
		},
		{name: "depth is left", facts: tool.Facts{Depth: 1}, want: base},
		{name: "no depth is left", facts: tool.Facts{Depth: 2}, want: sans("subagents"), removed: "subagents: compatibility/depth: runs nest at most 2 deep, and this one stands below 2"},
		{
			name: "before a conversation is shortened", facts: tool.Facts{Flush: true}, want: []string{"note", "recall"},
			removed: "calc: compatibility/flush: before a conversation is shortened only memory tools are offered",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.facts.Caller == (auth.Principal{}) {
				c.facts.Caller = admin
			}
			p := all()
			if c.change != nil {
				c.change(&p)
			}
			dec := surface.New(p, nil).Decide(t.Context(), r.Catalog(), tool.NewScope(c.facts), model)
			if diff := cmp.Diff(c.want, tool.Names(dec.Permitted)); diff != "" {
				t.Errorf("permitted (-want +got):\n%s", diff)
			}
			if c.removed == "" {
				return
			}
			name, _, _ := strings.Cut(c.removed, ":")
			x, ok := dec.Removal(name)
			got := fmt.Sprintf("%s: %s/%s: %s", x.Tool, x.Layer, x.Rule, x.Reason)
			if !x.Where.IsZero() {
				got += " (" + x.Where.Place() + ")"
			}
			if !ok || !strings.HasPrefix(got, c.removed) || x.Fix == "" {
				t.Errorf("got  %s\nwant %s\nfix %q", got, c.removed, x.Fix)
			}
		})
	}
}

func TestDiagnoseSkills(t *testing.T) {
	t.Parallel()
	d := surface.New(surface.Policies{Skills: surface.Skills{
		Allow:    list("agents.list[a].skills.allow", "file_read", "review", "file_raed"),
		Requires: func(name string) ([]string, bool) { return nil, name == "review" },
	}}, nil)
	var got []string
	for _, g := range d.Diagnose(catalog(t)) {
		got = append(got, g.String())
	}
	want := []string{`agents.list[a].skills.allow[2] (config.yaml:43): there is no skill and no tool "file_raed"; nearest: file_read`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
