package gateway_test

import (
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/plugin"
)

// What an admin has called in bob's conversation stays hidden from bob where the
// tool is denied to him, wherever he looks: that something was called he may know.
// The admin is told all.
func TestCallsOfDeniedToolsAreWithheld(t *testing.T) {
	t.Parallel()
	s := guarded(t, "tools: {by_sender: {bob: {deny: [vault_open]}}}\n", []plugin.Plugin{vault()},
		fakellm.Text("Hello."),
		fakellm.Calls(fakellm.Use("vault_open", `{}`), fakellm.Use("calc", `{"expression":"6*7"}`), fakellm.Use("search_tools", `{"query":"vault"}`)), fakellm.Text("Done."),
		fakellm.Calls(fakellm.Use("vault_opened", `{}`)), fakellm.Text("Sorry."))
	bob, ann := s.token, s.user("ann", auth.Admin)
	s.text(s.ask("POST", "/api/runs", `{"session":"s","message":"hi"}`))
	s.token = ann
	live := s.ask("POST", "/api/runs", `{"session":"s","message":"open it"}`)
	run := live.Header.Get("X-GoClaw-Run")
	if all := s.text(live); !strings.Contains(all, "vault_open") {
		t.Fatalf("the admin's run: %s", all)
	}
	s.token = bob
	s.text(s.ask("POST", "/api/runs", `{"session":"s","message":"and mine"}`))
	paths := []string{
		"/api/sessions/main/s/turns", "/api/sessions/main/s/export", "/api/sessions/main/s/export?format=markdown",
		"/api/runs/" + run + "/events", "/api/runs/" + run + "/events?after=r0",
	}
	for _, who := range []struct {
		token string
		all   bool
	}{{bob, false}, {ann, true}} {
		s.token = who.token
		for _, path := range paths {
			body := s.text(s.ask("GET", path, ""))
			if told := strings.Contains(strings.ReplaceAll(body, "vault_opened", ""), "vault_open"); told != who.all {
				t.Errorf("%s (an admin asks: %t) tells of the tool: %t: %s", path, who.all, told, body)
			}
			if !strings.Contains(body, "42") {
				t.Errorf("%s (an admin asks: %t) lacks the other call: %s", path, who.all, body)
			}
			if said := strings.Contains(body, `"withheld":true`) || strings.Contains(body, "a tool that you are not told of"); said == who.all {
				t.Errorf("%s (an admin asks: %t) says that something is left out: %t: %s", path, who.all, said, body)
			}
			if !strings.Contains(path, "/runs/") && !strings.Contains(body, "vault_opened") {
				t.Errorf("%s (an admin asks: %t) lacks what bob's own run tried: %s", path, who.all, body)
			}
		}
	}
}

// A script that puts a name together, or spells it as a person would, tells bob of
// it no more than one that writes it out, and neither does one that never ran.
func TestScriptsTellOfNoDeniedTool(t *testing.T) {
	t.Parallel()
	s := guarded(t, "tools: {by_sender: {bob: {deny: [vault_open]}}}\n", []plugin.Plugin{vault()},
		fakellm.Text("Hello."),
		fakellm.Calls(
			fakellm.Use("tool_code", `{"script":"(await tools.call(\"vault\" + \"_open\", {})).text"}`),
			fakellm.Use("tool_code", `{"script":"await tools.call(\"VAULT_OPEN\", {})"}`),
			fakellm.Use("tool_code", `{"script":"await tools.call(\"vault_open\", {})","foo":1}`),
			fakellm.Use("search_tools", `{"qury":"vault_open"}`), fakellm.Use("calc", `{"expression":"6*7"}`),
		), fakellm.Text("Done."))
	bob, ann := s.token, s.user("ann", auth.Admin)
	s.text(s.ask("POST", "/api/runs", `{"session":"s","message":"hi"}`))
	s.token = ann
	live := s.ask("POST", "/api/runs", `{"session":"s","message":"open it"}`)
	run := live.Header.Get("X-GoClaw-Run")
	s.text(live)
	for _, who := range []string{bob, ann} {
		s.token = who
		for _, path := range []string{
			"/api/sessions/main/s/turns", "/api/sessions/main/s/export", "/api/sessions/main/s/export?format=markdown", "/api/runs/" + run + "/events?after=r0",
		} {
			body := strings.ToLower(s.text(s.ask("GET", path, "")))
			if told := strings.Contains(body, "vault"); told != (who == ann) || !strings.Contains(body, "42") {
				t.Errorf("%s (an admin asks: %t) tells of the tool: %t: %s", path, who == ann, told, body)
			}
		}
	}
}

// Why an admin's run in bob's conversation failed names no tool that is denied to
// bob, in lists of runs either.
func TestWhyARunFailedNamesNoDeniedTool(t *testing.T) {
	t.Parallel()
	s := guarded(t, "tools: {by_sender: {bob: {deny: [vault_open]}}}\n", []plugin.Plugin{vault()},
		fakellm.Text("Hello."), fakellm.Fail(400, `{"error":{"message":"the schema of vault_open is bad"}}`))
	bob, ann := s.token, s.user("ann", auth.Admin)
	s.text(s.ask("POST", "/api/runs", `{"session":"s","message":"hi"}`))
	s.token = ann
	live := s.ask("POST", "/api/runs", `{"session":"s","message":"open it"}`)
	run := live.Header.Get("X-GoClaw-Run")
	s.text(live)
	for _, who := range []string{bob, ann} {
		s.token = who
		for _, path := range []string{"/api/runs?session=s", "/api/runs/" + run, "/api/sessions/main/s/turns"} {
			if body := s.text(s.ask("GET", path, "")); strings.Contains(body, "vault_open") != (who == ann) || !strings.Contains(body, `"failed"`) {
				t.Errorf("%s (an admin asks: %t): %s", path, who == ann, body)
			}
		}
	}
}
