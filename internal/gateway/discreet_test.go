package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/plugin"
)

// vault brings tools of which some are denied in the tests: two whose names are
// easily taken for each other, one that is optional, one that no run is made of,
// one that only some front ends can use, and one that is never registered.
func vault() plugin.Plugin {
	made := func(name string, traits plugin.Traits) plugin.Tool {
		return plugin.NewTool(plugin.Definition{Name: name, Description: "Opens the vault.", Traits: traits},
			func(context.Context, plugin.Call, struct{}) (string, error) { return "open", nil })
	}
	return plugin.Plugin{
		Manifest: plugin.Manifest{ID: "vault", Version: "1", Tools: []string{"vault_open", "va_ultopen", "vault_spare", "vault_shown", "vault_never"}},
		Register: func(a plugin.API) error {
			return errors.Join(
				a.RegisterTool(made("vault_open", plugin.Traits{})), a.RegisterTool(made("va_ultopen", plugin.Traits{})),
				a.RegisterTool(made("vault_spare", plugin.Traits{Optional: true})), a.RegisterTool(made("vault_shown", plugin.Traits{Client: []string{"show"}})),
			)
		},
	}
}

// guarded is a gateway of which bob, a user, asks.
func guarded(t *testing.T, more string, plugins []plugin.Plugin, answers ...fakellm.Answer) *served {
	t.Helper()
	model := fakellm.Start(t, answers...)
	text := fmt.Sprintf("ai:\n  provider: openai\n  providers:\n    openai: {api_key: key, model: m, base_url: %q}\n%s", model.Base(), more)
	s := configured(t, model, text, plugins...).serve(gateway.ServeOptions{})
	s.token = s.user("bob", auth.User)
	return s
}

// leaves is a plugin whose hook leaves a turn these tools.
func leaves(names ...string) plugin.Plugin {
	return plugin.Plugin{Manifest: plugin.Manifest{ID: "narrow", Version: "1"}, Register: func(a plugin.API) error {
		return plugin.On(a, plugin.BeforePromptBuild, func(context.Context, *plugin.Prompt) (plugin.PromptWish, error) {
			return plugin.PromptWish{ToolsAllow: plugin.Only(names...)}, nil
		}, plugin.HookOptions{})
	}}
}

// looks are the queries by which people look at tools: each parameter that
// narrows or places a run, and some together.
func looks(secret string) []string {
	return []string{
		"", "cap=zz", "cap=", "cap=calc," + secret, "declare=zz", "declare=" + secret, "tools_allow=zz", "tools_allow=", "tools_allow=" + secret, "tools_deny=" + secret, "tools_deny=*",
		"origin=chat", "origin=channel", "origin=subagent", "role=user", "session=mine", "agent=main", "client=zz", "client=show", "channel=slack", "channel=slack&group=7&account=a&thread=t",
		"sandbox=true", "flush=true", "depth=9", "message=" + secret, "model=openai/m",
		"cap=zz&declare=zz&tools_allow=&tools_deny=*&client=zz&sandbox=true&flush=true&depth=9&origin=subagent", "tools_allow=" + secret + "&cap=" + secret + "&declare=" + secret + "&client=show",
	}
}

// What an admin denied to the agent is not there for users, however they ask:
// whatever else takes the tool before that.
func TestWhatIsDeniedIsNotRevealed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config  string
		plugins []plugin.Plugin
		secret  []string
	}{
		"global":    {config: "tools: {deny: [vault_open, file_write, vault_shown]}\n", secret: []string{"vault_open", "file_write", "vault_shown"}},
		"allow":     {config: "tools: {allow: [calc, va_ultopen]}\n", secret: []string{"vault_open", "shell"}},
		"profile":   {config: "tools: {profile: minimal}\n", secret: []string{"vault_open", "git"}},
		"agent":     {config: "agents: {list: [{id: main, default: true, tools: {deny: [\"vault_o*\", \"group:fs\"]}}]}\n", secret: []string{"vault_open", "file_read"}},
		"provider":  {config: "tools: {by_provider: {openai: {deny: [vault_open]}}}\n", secret: []string{"vault_open"}},
		"sender":    {config: "tools: {by_sender: {bob: {deny: [vault_open, sessions_list]}}}\n", secret: []string{"vault_open", "sessions_list"}},
		"optional":  {secret: []string{"vault_spare"}},
		"skills":    {config: "agents: {list: [{id: main, default: true, skills: {allow: [va_ultopen]}}]}\n", secret: []string{"vault_open", "shell"}},
		"hook":      {plugins: []plugin.Plugin{leaves("calc", "va_ultopen", "sessions_list")}, secret: []string{"vault_open", "sessions_history"}},
		"no tool":   {secret: []string{"vault_never"}},
		"no search": {config: "tools: {deny: [search_tools]}\n", secret: []string{"search_tools"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := guarded(t, c.config, append(c.plugins, vault()), fakellm.Text("Hello."))
			s.text(s.ask("POST", "/api/runs", `{"session":"mine","message":"hi"}`))
			for _, secret := range c.secret {
				s.keeps(secret)
			}
		})
	}
}

// keeps asks in all ways about a tool that is denied.
func (s *served) keeps(secret string) {
	s.t.Helper()
	told := func(path string) (*http.Response, string) {
		resp := s.ask("GET", path, "")
		body := s.text(resp)
		if i := strings.Index(body, s.home); i >= 0 || strings.Contains(body, "config.yaml") {
			s.t.Errorf("%s tells of the configuration: %s", path, body)
		}
		return resp, body
	}
	// A tool of that name that the caller brings is the caller's.
	brought := "client_tools=" + url.QueryEscape(`[{"type":"function","function":{"name":"`+secret+`","description":"Mine."}}]`)
	for _, path := range []string{"/api/tools/" + secret, "/api/tools/" + secret + "/explain", "/api/tools", "/api/catalog"} {
		_, body := told(path + "?" + brought)
		_, is, here := strings.Cut(body, `{"name":"`+secret+`","description":"`)
		if here && !strings.HasPrefix(is, "Mine.") || strings.Contains(body, "also has one") || strings.Contains(body, "the manifest names it") {
			s.t.Errorf("%s with a tool of that name: %s", path, body)
		}
	}
	for _, q := range looks(secret) {
		var v api.Surface
		_, body := told("/api/tools?" + q)
		if err := json.Unmarshal([]byte(body), &v); err != nil || v.Agent == "" {
			s.t.Fatalf("%s: %s", q, body)
		}
		if strings.Contains(body, `"`+secret+`"`) {
			s.t.Errorf("/api/tools?%s: %s", q, body)
		}
		var known []string
		for _, list := range [][]api.Tool{v.Offered, v.Others} {
			for _, t := range list {
				known = append(known, t.Name)
			}
		}
		for _, r := range v.Removed {
			known = append(known, r.Tool)
		}
		slices.Sort(known)
		if _, body := told("/api/catalog?limit=200&" + q); strings.Contains(body, `"`+secret+`"`) || !strings.Contains(body, `"tools"`) {
			s.t.Errorf("/api/catalog?%s: %s", q, body)
		}
		names := []string{secret}
		if q == "" || q == "cap=zz" {
			names = append(names, strings.ToUpper(secret[:1])+secret[1:], "functions."+secret, strings.ReplaceAll(secret, "_", ""), secret[:len(secret)-1])
		}
		for _, name := range names {
			at := "/api/tools/" + url.PathEscape(name)
			want := engine.Strange(name, "main", known)
			if means := engine.Meant(name, known); len(means) == 1 { // one of the others, which they may know
				if _, body := told(at + "/explain?" + q); !strings.Contains(body, `{"tool":"`+means[0]) || strings.Contains(body, `"`+secret+`"`) {
					s.t.Errorf("%s/explain?%s: %s", at, q, body)
				}
				continue
			}
			var x api.Explanation
			_, body := told(at + "/explain?" + q)
			if err := json.Unmarshal([]byte(body), &x); err != nil || x.Text() != want.Text() || x.Tool != want.Tool {
				s.t.Errorf("%s/explain?%s: %s, want\n%s", at, q, body, want.Text())
			}
			if resp, body := told(at + "?" + q); resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "nothing that is compiled in, installed or connected has a tool") {
				s.t.Errorf("%s?%s: %s", at, q, body)
			}
		}
		if s.t.Failed() {
			return
		}
	}
}

// What a rule did to bob's calls is told without where it stands and how it
// reads: as the answer to the call, in events, turns and exports, and when it is
// explained.
func TestRulesAreNotHandedToUsers(t *testing.T) {
	t.Parallel()
	s := guarded(t, "tools: {deny: [file_list]}\nhooks: [{name: still, tools: [file_delete], match: 'args.path != \"secret-cel\"', action: block, message: Ask Ann.}]\n", nil,
		fakellm.Calls(fakellm.Use("file_delete", `{"path":"a.txt"}`)), fakellm.Text("No."))
	for _, c := range []struct{ method, path, body, want string }{
		{"POST", "/api/runs", `{"session":"s","message":"delete it"}`, "Ask Ann."},
		{"POST", "/tools/invoke", `{"tool":"file_delete","args":{"path":"a.txt"}}`, "Ask Ann."},
		{"GET", "/api/sessions/main/s/turns", "", "Ask Ann."},
		{"GET", "/api/sessions/main/s/export", "", "Ask Ann."},
		{"GET", "/api/tools/file_delete/explain", "", "Ask Ann."},
		{"GET", "/api/files?q=a", "", "there is no such tool"},
	} {
		body := s.text(s.ask(c.method, c.path, c.body))
		if !strings.Contains(body, c.want) {
			t.Errorf("%s lacks %q: %s", c.path, c.want, body)
		}
		for _, never := range []string{"config.yaml", "hooks[", "secret-cel", "tools.deny"} {
			if strings.Contains(body, never) {
				t.Errorf("%s tells of %q: %s", c.path, never, body)
			}
		}
	}
}
