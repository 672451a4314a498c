package api

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// A run that another process is at is told as far as it is sure.
func TestARunOfAnotherProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	key := session.Key{Agent: "alpha", ID: "s"}
	at := time.Now()
	_, err := r.sessions.Begin(t.Context(), key, session.Turn{
		Run: "aaaaaaaaaaaaaaaa", Message: llm.UserMessage("go"), Status: agent.Running, Caller: bob, Origin: "chat", Started: at,
	}, "go")
	if err != nil {
		t.Fatal(err)
	}
	round := &agent.Round{Number: 1, Started: at, Replied: at, Reply: llm.Reply{Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
		llm.Text("Let me see."),
		{Kind: llm.KindCall, Call: &llm.ToolCall{ID: "a", Name: "noop", Arguments: "{}"}},
		{Kind: llm.KindCall, Call: &llm.ToolCall{ID: "b", Name: "noop", Arguments: "{}"}},
	}}}}
	round.Calls = round.Reply.Message.Calls()
	if err := r.sessions.Called(t.Context(), "aaaaaaaaaaaaaaaa", round); err != nil {
		t.Fatal(err)
	}
	path := "/api/runs/aaaaaaaaaaaaaaaa/events"
	begin := r.stream("bob", "GET", path, nil)
	if got := types(begin); got != "run_replayed run_started prompt_built model_call_started token_chunk" {
		t.Errorf("it begins with %s", got)
	}
	last := begin[len(begin)-1].id
	if rest := r.stream("bob", "GET", path, nil, header{"Last-Event-ID", last}); len(rest) != 0 {
		t.Errorf("it goes on with %v", rest)
	}
	o := toolbox{r.model}
	for i, c := range round.Calls {
		out := o.outcome(t.Context(), i, c, func(tool.Event) {})
		if err := r.sessions.Result(t.Context(), "aaaaaaaaaaaaaaaa", 1, i, out); err != nil {
			t.Fatal(err)
		}
		rest := r.stream("bob", "GET", path, nil, header{"Last-Event-ID", last})
		if got := types(rest); got != "tool_started tool_finished" {
			t.Errorf("then comes %s", got)
		}
		last = rest[len(rest)-1].id
	}
	r.refused("bob", "POST", "/api/runs/aaaaaaaaaaaaaaaa/stop", nil, http.StatusConflict, "busy")
	if _, _, err := r.sessions.Interrupt(t.Context(), key, at); err != nil {
		t.Fatal(err)
	}
	rest := r.stream("bob", "GET", path, nil, header{"Last-Event-ID", last})
	if got := types(rest); got != "run_finished" || rest[0].agent(t).End.Status != agent.Interrupted {
		t.Errorf("it ends with %v", rest)
	}
}

func TestASessionThatIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{wait: 1})
		r.model.on("one", reply{text: "half an answer", middle: make(chan struct{})})
		for _, text := range []string{"one", "two"} {
			r.post("bob", StartRun{Session: "s", Message: text})
			time.Sleep(time.Second)
		}
		resp := r.call("bob", "POST", "/api/runs", StartRun{Session: "s", Message: "three"}, http.StatusTooManyRequests, nil)
		if resp.Header.Get("Retry-After") == "" {
			t.Error("no word about when to try again")
		}
		r.post("bob", StartRun{Session: "other", Message: "three"})
	})
}
