package agent_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

func TestAFailureIsAnEventWithAdvice(t *testing.T) {
	t.Parallel()
	fails := func(_ context.Context, yield func(llm.Event, error) bool) {
		yield(llm.Event{}, &llm.Error{Class: llm.ClassAuth, Target: llm.Target{Provider: "openai"}, Status: 401, Message: "invalid key"})
	}
	h := &history{}
	m := &script{answers: []func(context.Context, func(llm.Event, error) bool){fails}}
	events := slices.Collect(loop(m, nil, h, agent.Limits{}).ProcessStream(t.Context(), turn("hi")))
	last := events[len(events)-1]
	if last.Type != agent.RunFailed || !strings.Contains(last.Text, "ai.providers.openai.api_key") {
		t.Errorf("the end is %+v", last)
	}
	if h.end.Status != agent.Failed {
		t.Errorf("stored %+v", h.end)
	}
}

// What a person is told is true of what happened.
func TestAdviceFitsWhatHappened(t *testing.T) {
	t.Parallel()
	target := llm.Target{Provider: "p", Model: "m", Vendor: "anthropic"}
	again := []llm.Attempt{{Target: target.Short(), Next: llm.Retry}, {Target: target.Short(), Next: llm.Retry}}
	other := llm.Target{Provider: "q", Model: "n"}
	for _, c := range []struct {
		name string
		err  llm.Error
		want string
	}{
		{
			"it was tried again",
			llm.Error{Class: llm.ClassOverloaded, Status: 529, Message: "Busy.", Before: again},
			`p: Busy (HTTP 529). It was tried again 2 times, without success. Nothing is lost: say "go on" in a moment, or name another provider in ai.fallback.`,
		},
		{
			"it asks for more than a run waits",
			llm.Error{Class: llm.ClassOverloaded, Status: 429, Message: "Slow down!", RetryAfter: time.Minute},
			`p: Slow down! (HTTP 429; it asks to wait 60 s). It was not tried again: that is longer than a run waits. Nothing is lost: say "go on" after that time, or name another provider in ai.fallback.`,
		},
		{
			"a tool had run",
			llm.Error{Class: llm.ClassNetwork, Status: 500, Message: "oops", Before: again[:1], Held: other},
			`p: oops (HTTP 500). The fault is at p. It was tried again once, without success. Nothing is lost: say "go on" in a moment. q/n was not asked instead, since a tool had run in this turn, and none may run twice: "go on" may ask it.`,
		},
		{
			"nobody listens",
			llm.Error{Class: llm.ClassNetwork, Message: "dial: refused", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}},
			`p: dial: refused. Most likely nothing listens there: start the server; check ai.providers.p.base_url. Nothing is lost: say "go on" to try again.`,
		},
		{
			"a proxy is dead",
			llm.Error{Class: llm.ClassNetwork, Message: "refused", Err: &net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}},
			`p: refused. Most likely the proxy can't be reached; check ai.providers.p.proxy. Nothing is lost: say "go on" to try again.`,
		},
		{
			"no TLS",
			llm.Error{Class: llm.ClassNetwork, Message: "no", Err: http.ErrSchemeMismatch},
			`p: no. Most likely it speaks no TLS: write http:// in place of https://; check ai.providers.p.base_url. Nothing is lost: say "go on" to try again.`,
		},
		{
			"it broke off",
			llm.Error{Class: llm.ClassNetwork, Message: "the answer broke off", Before: again[:1]},
			`p: the answer broke off. It was tried again once, without success. Nothing is lost: say "go on" to try again, or name another provider in ai.fallback.`,
		},
		{
			"a wrong address",
			llm.Error{Class: llm.ClassNoModel, Status: 404, Message: "no m"},
			`p: no m (HTTP 404). Set ai.providers.p.model (or the agent's model) to one that p offers; if that is right, check ai.providers.p.base_url.`,
		},
		{
			"a bad request",
			llm.Error{Class: llm.ClassBadRequest, Status: 400, Message: "f: Invalid value: 'x'."},
			`p: f: Invalid value: 'x' (HTTP 400). The request was refused as it is, so that it is not sent again: look at what ai.providers.p sets for it (reasoning, temperature, max_output_tokens, extra_headers), or begin a new conversation if it is about something in this one.`,
		},
		{
			"a page",
			llm.Error{Class: llm.ClassUnknown, Message: "a page", Err: llm.ErrForeign},
			`p: a page. What answers there is no such server: check ai.providers.p.base_url.`,
		},
	} {
		c.err.Target = target
		if got := agent.Advice(&c.err); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	target.Vendor = "openai"
	if got := agent.Advice(&llm.Error{Class: llm.ClassNoModel, Target: target, Status: 404}); !strings.Contains(got, "base_url, which often ends in /v1.") {
		t.Error(got)
	}
}

// Who else was asked before is told, each once.
func TestAdviceTellsWhoWasAskedBefore(t *testing.T) {
	t.Parallel()
	failed := func(provider, message string) llm.Attempt {
		return llm.Attempt{Target: llm.Target{Provider: provider, Model: "m"}, Message: message}
	}
	words := agent.Advice(&llm.Error{
		Class: llm.ClassAuth, Target: llm.Target{Provider: "c", Model: "m", Vendor: "openai"}, Status: 401, Message: "no such key",
		Before: []llm.Attempt{failed("a", "busy"), failed("a", "still busy."), failed("b", "no quota"), failed("c", "empty")},
	})
	want := "c: no such key (HTTP 401). Check the key: ai.providers.c.api_key in config.yaml, or the provider's environment variable. " +
		"Before that: a/m: still busy; b/m: no quota."
	if words != want {
		t.Errorf("%s", words)
	}
}
