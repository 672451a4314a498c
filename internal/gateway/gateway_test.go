package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
	"github.com/goclaw/goclaw/plugin"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == builtin.ScriptCommand {
		os.Exit(builtin.Script(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

// rig is a gateway on a home folder of its own, with a model server that
// answers by a script. Whatever the gateway sends is held against the wire's
// documented format by the server.
type rig struct {
	*gateway.Gateway
	t     *testing.T
	model *fakellm.Server
	home  string

	plugins []plugin.Plugin
}

func setup(t *testing.T, more string, answers ...fakellm.Answer) *rig {
	t.Helper()
	model := fakellm.Start(t, answers...)
	return configured(t, model, fmt.Sprintf("ai:\n  provider: openai\n  providers:\n    openai: {api_key: key, model: m, base_url: %q}\n%s", model.Base(), more))
}

// configured is a rig with a whole configuration.
func configured(t *testing.T, model *fakellm.Server, text string, plugins ...plugin.Plugin) *rig {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, model: model, home: home, plugins: plugins}
	r.open()
	t.Cleanup(r.close)
	return r
}

func (r *rig) open() {
	r.t.Helper()
	g, err := gateway.Open(r.t.Context(), gateway.Options{
		Home: r.home, Version: "test", Environ: config.EnvironOf(), Plugins: r.plugins, Program: builtin.Self(),
		Log: func(config.Log) (*slog.Logger, error) { return slog.New(slog.DiscardHandler), nil },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.Gateway = g
}

func (r *rig) close() {
	if err := r.Gateway.Close(context.WithoutCancel(r.t.Context())); err != nil {
		r.t.Error(err)
	}
}

func admin(session, text string) run.Request {
	return run.Request{
		Session: session, Origin: tool.FromChat, Message: llm.UserMessage(text),
		Caller: auth.Principal{ID: "ada", Role: auth.Admin, Human: true},
	}
}

// turn is what a person saw of a run.
type turn struct {
	events []agent.Event
	text   string // that streamed
	end    agent.Event
}

func (r *rig) start(req run.Request) *run.Run {
	r.t.Helper()
	started, err := r.Runner.Start(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return started
}

func (r *rig) watch(going *run.Run) turn {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	var seen turn
	for e := range going.Events(ctx, 0) {
		seen.events = append(seen.events, e)
		switch e.Type {
		case agent.TokenChunk:
			seen.text += e.Text
		case agent.Retracted:
			seen.text = ""
		}
		seen.end = e
	}
	if seen.end.End == nil {
		r.t.Fatalf("the run did not end; the last event is %+v", seen.end)
	}
	return seen
}

// say runs one turn of a session.
func (r *rig) say(session, text string) turn {
	r.t.Helper()
	return r.watch(r.start(admin(session, text)))
}

// outcomes are the calls of a turn in the order in which they ended.
func (s turn) outcomes() []tool.Outcome {
	var out []tool.Outcome
	for _, e := range s.events {
		if e.Type == agent.ToolFinished {
			out = append(out, *e.Tool.Outcome)
		}
	}
	return out
}

func (r *rig) file(name string) (string, bool) {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.home, "workspace", name))
	if os.IsNotExist(err) {
		return "", false
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b), true
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.home, "workspace", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// wireMessage is a message as the model server got it.
type wireMessage struct {
	Role      string `json:"role"`
	Content   any    `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

func (m wireMessage) text() string {
	s, _ := m.Content.(string)
	return s
}

// sent are the messages of the n-th request, from 1.
func (r *rig) sent(n int) []wireMessage {
	r.t.Helper()
	all := r.model.Requests()
	if len(all) < n {
		r.t.Fatalf("the model was asked %d times, not %d", len(all), n)
	}
	var body struct {
		Messages []wireMessage `json:"messages"`
	}
	if err := all[n-1].Decode(&body); err != nil {
		r.t.Fatal(err)
	}
	return body.Messages
}

// results are the tool messages at the end of the n-th request.
func (r *rig) results(n int) []wireMessage {
	r.t.Helper()
	messages := r.sent(n)
	i := len(messages)
	for i > 0 && messages[i-1].Role == "tool" {
		i--
	}
	return messages[i:]
}

func mustContain(t *testing.T, what, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s lacks %q: %s", what, w, got)
		}
	}
}
