package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
)

// trio is a rig with the providers one, two and three, of which one speaks
// OpenAI's wire and two Anthropic's. more stands behind the providers, and may
// set fallbacks.
func trio(t *testing.T, fallback, more string, answers ...[]fakellm.Answer) (*rig, []*fakellm.Server) {
	t.Helper()
	var servers []*fakellm.Server
	for _, a := range append(answers, make([][]fakellm.Answer, 3-len(answers))...) {
		servers = append(servers, fakellm.Start(t, a...))
	}
	return configured(t, servers[0], fmt.Sprintf(`ai:
  provider: one
  fallback: %s
  providers:
    one: {type: openai-compatible, api_key: first-secret-key, model: m, base_url: %q}
    two: {type: claude, api_key: second-secret-key, model: n, base_url: %q}
    three: {type: openai-compatible, api_key: third-secret-key, model: o, base_url: %q}
%s`, fallback, servers[0].Base(), servers[1].URL, servers[2].Base(), more)), servers
}

// asked counts the requests for an answer to each server.
func asked(servers []*fakellm.Server) []int {
	var n []int
	for _, s := range servers {
		n = append(n, len(s.Requests()))
	}
	return n
}

// denied refuses a key, and tells it.
var denied = fakellm.Fail(401, `{"error":{"message":"Incorrect API key provided: first-secret-key","type":"invalid_request_error","code":"invalid_api_key"}}`)

func TestAnAgentsFallbackReplacesTheGlobalOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, fallback string
		asked          []int
		says           string // "" when the run fails
	}{
		{"null is the global one", "null", []int{1, 1, 0}, "two"},
		{"none", "[]", []int{1, 0, 0}, ""},
		{"another", "[three]", []int{1, 0, 1}, "three"},
		{"its own order", "[three/x, two]", []int{1, 0, 1}, "three"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, servers := trio(t, "[two]", "agents: {list: [{id: main, fallback: "+c.fallback+"}]}\n",
				[]fakellm.Answer{denied}, []fakellm.Answer{fakellm.Text("two")}, []fakellm.Answer{fakellm.Text("three")})
			got := r.say("s", "go")
			if n := asked(servers); !slices.Equal(n, c.asked) || got.text != c.says {
				t.Errorf("%v were asked, the person sees %q (%s)", n, got.text, got.end.Text)
			}
			if c.says != "" {
				return
			}
			if got.end.Type != agent.RunFailed || got.end.Attempt == nil || got.end.Attempt.Class != llm.ClassAuth {
				t.Errorf("%+v", got.end)
			}
			mustContain(t, "what the person reads", got.end.Text, "ai.providers.one.api_key", "HTTP 401")
		})
	}
}

// What was tried is told as it happens, and kept with the round, also with one
// that nobody answered.
func TestAttemptsAreKept(t *testing.T) {
	t.Parallel()
	empty := []fakellm.Answer{{Text: " "}, {Text: " "}}
	moved := []string{"one/m auth 401 failover to two/n", "two/n empty 0 retry", "two/n empty 0 failover to three/o"}
	for _, c := range []struct {
		name   string
		last   []fakellm.Answer // the third's
		told   []string
		kept   []string
		status agent.Status
	}{
		{"answered", []fakellm.Answer{fakellm.Text("hello")}, moved, moved, agent.Done},
		{"by nobody", empty, append(slices.Clip(moved), "three/o empty 0 retry"), append(slices.Clip(moved), "three/o empty 0 retry", "three/o empty 0 "), agent.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, _ := trio(t, "[two, three]", "", []fakellm.Answer{denied}, empty, c.last)
			got := r.say("s", "go")
			line := func(a llm.Attempt) string {
				s := fmt.Sprintf("%s %s %d %s", a.Target, a.Class, a.Status, a.Next)
				if a.To != nil {
					s += " to " + a.To.String()
				}
				return s
			}
			var told, kept []string
			for _, e := range got.events {
				if e.Type == agent.Notice && e.Attempt != nil {
					if e.Kind != string(e.Attempt.Next) || e.Text == "" || e.Text != e.Attempt.Told {
						t.Errorf("%+v", e)
					}
					told = append(told, line(*e.Attempt))
				}
			}
			r.close()
			r.open()
			runs, _, err := r.Sessions.Runs(t.Context(), session.RunFilter{Depth: session.Whole})
			if err != nil || len(runs) != 1 || len(runs[0].Rounds) != 1 {
				t.Fatalf("%v, %v", runs, err)
			}
			round := runs[0].Rounds[0]
			if runs[0].Status != c.status || round.Request.Bytes == 0 || len(round.Request.Sections) == 0 {
				t.Errorf("%s, of the request is kept: %+v", runs[0].Status, round.Request)
			}
			for _, a := range round.Attempts {
				kept = append(kept, line(a))
				if strings.Contains(a.Message+a.Told, "first-secret-key") || a.Message == "" || a.Ended.Before(a.Started) || a.Started.IsZero() {
					t.Errorf("%+v", a)
				}
			}
			if !slices.Equal(told, c.told) || !slices.Equal(kept, c.kept) {
				t.Errorf("told %q, kept %q, want %q, %q", told, kept, c.told, c.kept)
			}
		})
	}
}

// A failure that won't go away by itself makes the next message go straight to
// the next model, and everybody can see it. A gateway that starts anew, with
// another key say, knows nothing of it.
func TestARefusedKeyRests(t *testing.T) {
	t.Parallel()
	r, servers := trio(t, "[two]", "", []fakellm.Answer{denied, fakellm.Text("one again")},
		[]fakellm.Answer{fakellm.Text("two"), fakellm.Text("two")})
	for _, want := range [][]int{{1, 1, 0}, {1, 2, 0}} {
		if got := r.say("s", "go"); got.text != "two" || !slices.Equal(asked(servers), want) {
			t.Fatalf("%v were asked, want %v; %q (%s)", asked(servers), want, got.text, got.end.Text)
		}
	}
	found := false
	for _, p := range r.Status(t.Context()).Providers {
		if p.Provider != "one" {
			continue
		}
		found = true
		if rest := time.Until(p.Until); rest <= 0 || rest > time.Minute || p.LastFailed.IsZero() {
			t.Errorf("it rests until %s, failed last at %s", p.Until, p.LastFailed)
		}
		mustContain(t, "the reason", p.Reason, "Incorrect API key", "HTTP 401", "***")
		if strings.Contains(p.Reason, "first-secret-key") {
			t.Errorf("the key is told: %s", p.Reason)
		}
	}
	if !found {
		t.Error("the provider that rests is not among the others")
	}
	r.close()
	r.open()
	if got := r.say("s", "go"); got.text != "one again" {
		t.Errorf("after a start %q answers (%s)", got.text, got.end.Text)
	}
}

// The time-outs of the configuration reach every wire.
func TestTimeoutsReachTheVendors(t *testing.T) {
	t.Parallel()
	hangs := []fakellm.Answer{{Hang: "before"}, {Hang: "before"}}
	stalls := []fakellm.Answer{{Text: "Hel", Hang: "middle"}, {Text: "Hel", Hang: "middle"}}
	for _, kind := range []string{"openai", "claude", "deepseek", "ollama", "openai-compatible"} {
		for _, c := range []struct {
			setting, says string
			answers       []fakellm.Answer
		}{
			{"first_byte_timeout: 20ms", "no answer within 20ms", hangs},
			{"timeout: 30ms", "was not complete within 30ms", hangs},
			{"idle_timeout: 20ms", "the answer stopped for 20ms", stalls},
		} {
			t.Run(kind+" "+c.setting, func(t *testing.T) {
				t.Parallel()
				s := fakellm.Start(t, c.answers...)
				r := configured(t, s, fmt.Sprintf("ai: {provider: p, providers: {p: {type: %s, api_key: key, model: m, base_url: %q, %s}}}\n", kind, s.URL, c.setting))
				if got := r.say("s", "go"); got.end.Type != agent.RunFailed || !strings.Contains(got.end.Text, c.says) {
					t.Errorf("%s: %s", got.end.Type, got.end.Text)
				}
			})
		}
	}
}
