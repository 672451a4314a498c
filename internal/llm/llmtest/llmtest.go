// Package llmtest holds an [llm.Model] against the contract that is written
// beside the interface. Each vendor's package calls [Run] in its tests, with
// requests that its fake server, or its script, answers in the ways that the
// suite needs; what a vendor does with its own wire is its own tests' matter.
//
// The suite keeps nothing and leaves nothing behind but what the model does.
// Start reading at [Suite].
package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goclaw/goclaw/internal/llm"
)

// Make gives a model and a request for one test; a server that it starts ends
// with the test.
type Make func(t *testing.T) (llm.Model, llm.Request)

// Suite is what the models under test are asked. Fields that are nil leave
// their tests out, for a model to which the like can't happen.
type Suite struct {
	Text  Make // is answered with text in several pieces, as often as it is asked
	Calls Make // is answered with at least two calls
	Named Make // is answered with a call of calendar_list
	Fails Make // is answered with a failure
	Told  Make // is told what the call has used, and then the answer breaks
	Hangs Make // is never answered
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	t.Helper()
	run := func(name string, m Make, test func(*testing.T, llm.Model, llm.Request)) {
		if m == nil {
			return
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, req := m(t)
			test(t, model, req)
		})
	}
	run("text", s.Text, text)
	run("several at once", s.Text, together)
	run("leaving", s.Text, leaving)
	run("stopped before", s.Text, stoppedBefore)
	run("calls", s.Calls, calls)
	run("names", s.Named, named)
	run("a failure", s.Fails, failure)
	run("what a broken answer has used", s.Told, told)
	run("stopped", s.Hangs, stopped)
}

// answer ranges over a whole answer and checks what holds for every one: events
// up to one Done or one error, and nothing behind it. The events are those that
// a model makes but Done.
func answer(ctx context.Context, t *testing.T, m llm.Model, req llm.Request) (events []llm.Event, reply *llm.Reply, err error) {
	t.Helper()
	for e, eerr := range m.Stream(ctx, req) {
		switch {
		case reply != nil || err != nil:
			t.Errorf("%+v, %v came after the end", e, eerr)
		case eerr != nil:
			err = eerr
		case e.Type == llm.EventDone:
			if reply = e.Reply; reply == nil {
				t.Fatal("Done without a reply")
			}
		case e.Type == llm.EventText, e.Type == llm.EventReasoning, e.Type == llm.EventCall:
			events = append(events, e)
		case e.Type == llm.EventUsage:
			if e.Usage == nil {
				t.Fatal("an event of usage without any")
			}
			events = append(events, e)
		default:
			t.Errorf("an event that is not a model's: %+v", e)
		}
	}
	if reply == nil && err == nil {
		t.Error("the answer ended without Done and without an error")
	}
	return events, reply, err
}

func text(t *testing.T, m llm.Model, req llm.Request) {
	events, reply, err := answer(t.Context(), t, m, req)
	if err != nil {
		t.Fatal(err)
	}
	var streamed strings.Builder
	pieces := 0
	for _, e := range events {
		if e.Type == llm.EventText {
			streamed.WriteString(e.Text)
			pieces++
		}
	}
	if pieces < 2 || streamed.String() != reply.Message.Text() {
		t.Errorf("streamed %q in %d pieces, the reply says %q", streamed.String(), pieces, reply.Message.Text())
	}
	if reply.Message.Role != llm.Assistant || reply.Finish != llm.FinishStop || reply.Target != req.Target {
		t.Errorf("%+v", reply)
	}
}

func together(t *testing.T, m llm.Model, req llm.Request) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, _, err := answer(t.Context(), t, m, req); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func leaving(t *testing.T, m llm.Model, req llm.Request) {
	for range m.Stream(t.Context(), req) {
		break
	}
}

func stoppedBefore(t *testing.T, m llm.Model, req llm.Request) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := answer(ctx, t, m, req)
	isContext(t, err)
}

func stopped(t *testing.T, m llm.Model, req llm.Request) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go cancel()
	_, _, err := answer(ctx, t, m, req)
	isContext(t, err)
}

// isContext wants the context's own error, not a failure of the provider's.
func isContext(t *testing.T, err error) {
	t.Helper()
	var e *llm.Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
		t.Errorf("a stopped call ends with %v", err)
	}
}

func calls(t *testing.T, m llm.Model, req llm.Request) {
	events, reply, err := answer(t.Context(), t, m, req)
	if err != nil {
		t.Fatal(err)
	}
	got := reply.Message.Calls()
	if len(got) < 2 || reply.Finish != llm.FinishCalls {
		t.Fatalf("%+v", reply)
	}
	seen := map[int]bool{}
	for _, e := range events {
		if e.Type != llm.EventCall {
			continue
		}
		if e.Index < 0 || e.Index >= len(got) || e.Text != "" && e.Text != got[e.Index].Name {
			t.Errorf("%+v among the calls %+v", e, got)
		}
		seen[e.Index] = true
	}
	for i, c := range got {
		if c.Name == "" || c.Cut || !seen[i] {
			t.Errorf("call %d: %+v, announced: %v", i, c, seen[i])
		}
	}
}

// named gives a tool, and a call in the history, a name that no vendor takes:
// the server refuses it unless it goes by another one, by which it comes back.
func named(t *testing.T, m llm.Model, req llm.Request) {
	const name = "calendar list"
	call := llm.ToolCall{ID: "call_1", Name: name, Arguments: "{}"}
	req.Tools = []llm.ToolSpec{{Name: name, Description: "Lists.", Parameters: json.RawMessage(`{"properties":{},"type":"object"}`)}}
	req.Messages = append(slices.Clip(req.Messages),
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.KindCall, Call: &call}}},
		llm.Message{Role: llm.Results, Parts: []llm.Part{{Kind: llm.KindResult, Result: &llm.ToolResult{
			CallID: call.ID, Name: name, Content: []llm.Part{llm.Text("Nothing.")},
		}}}},
	)
	events, reply, err := answer(t.Context(), t, m, req)
	if err != nil {
		t.Fatal(err)
	}
	got := reply.Message.Calls()
	if len(got) != 1 || got[0].Name != name {
		t.Fatalf("the reply calls %+v", got)
	}
	for _, e := range events {
		if e.Type == llm.EventCall && e.Text != "" && e.Text != name {
			t.Errorf("announced as %q", e.Text)
		}
	}
}

func failure(t *testing.T, m llm.Model, req llm.Request) {
	_, _, err := answer(t.Context(), t, m, req)
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is %T: %v", err, err)
	}
	if e.Class == "" || e.Message == "" || e.Target != req.Target {
		t.Errorf("%+v", e)
	}
}

func told(t *testing.T, m llm.Model, req llm.Request) {
	events, _, err := answer(t.Context(), t, m, req)
	if err == nil {
		t.Fatal("the answer is whole")
	}
	var used llm.Usage
	for _, e := range events {
		if e.Type == llm.EventUsage {
			used = *e.Usage
		}
	}
	if used.Input == 0 {
		t.Errorf("the call has used %+v; the events are %+v", used, events)
	}
}
