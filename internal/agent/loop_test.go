package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// The rooms around the loop, each as the smallest thing that keeps its
// contract: a list of answers, a map of functions, a list of messages.

// script is a model that gives its answers in order.
type script struct {
	answers  []func(ctx context.Context, yield func(llm.Event, error) bool)
	requests []llm.Request
	used     []bool
}

func (s *script) Stream(ctx context.Context, _ string, used bool, build func(llm.Target) (llm.Request, error)) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		req, err := build(llm.Target{Provider: "script", Model: "m"})
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		s.requests, s.used = append(s.requests, req), append(s.used, used)
		if len(s.requests) > len(s.answers) {
			yield(llm.Event{}, fmt.Errorf("the script has only %d answers", len(s.answers)))
			return
		}
		s.answers[len(s.requests)-1](ctx, yield)
	}
}

func says(text string, calls ...llm.ToolCall) func(context.Context, func(llm.Event, error) bool) {
	return func(_ context.Context, yield func(llm.Event, error) bool) {
		m := llm.Message{Role: llm.Assistant}
		if text != "" {
			if !yield(llm.Event{Type: llm.EventText, Text: text}, nil) {
				return
			}
			m.Parts = append(m.Parts, llm.Text(text))
		}
		for _, c := range calls {
			m.Parts = append(m.Parts, llm.Part{Kind: llm.KindCall, Call: &c})
		}
		yield(llm.Event{Type: llm.EventDone, Reply: &llm.Reply{Message: m, Finish: llm.FinishStop, Usage: llm.Usage{Input: 10, Output: 2}}}, nil)
	}
}

func call(id, name, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: args}
}

// toolbox runs functions; a nil result of one waits for the context.
type toolbox map[string]func() (string, []tool.Effect)

func (b toolbox) Offer(_ context.Context, s tool.Scope, t llm.Target, st tool.State, _ tool.Ask) (tool.Surface, error) {
	return tool.Surface{Scope: s, Target: t, State: st}, nil
}

func (b toolbox) Execute(ctx context.Context, _ tool.Surface, calls []llm.ToolCall, emit func(tool.Event)) []tool.Outcome {
	out := make([]tool.Outcome, len(calls))
	for i, c := range calls {
		emit(tool.Event{Type: tool.Started, Index: i, Tool: c.Name})
		o := tool.Outcome{Call: c, Tool: c.Name, Args: []byte(c.Arguments), Status: tool.OK}
		if f := b[c.Name]; f == nil {
			<-ctx.Done()
			o.Status, o.Content = tool.Cancelled, []llm.Part{llm.Text("cancelled")}
		} else {
			text, effects := f()
			o.Content, o.Effects, o.Digest = []llm.Part{llm.Text(text)}, effects, text
		}
		out[i] = o
		emit(tool.Event{Type: tool.Finished, Index: i, Outcome: &o})
	}
	return out
}

type prompts struct{}

func (prompts) Context(context.Context, agent.Turn) ([]llm.Part, error) {
	return []llm.Part{{Kind: llm.KindContext, Text: "now"}}, nil
}

func (prompts) Build(_ context.Context, _ agent.Turn, sf tool.Surface, m []llm.Message) (llm.Request, agent.RequestFacts, error) {
	return llm.Request{Target: sf.Target, Messages: slices.Clone(m)}, agent.RequestFacts{Target: sf.Target}, nil
}

// history notes the order in which things are stored.
type history struct {
	log []string
	end agent.End
	err error
}

func (h *history) note(format string, args ...any) error {
	h.log = append(h.log, fmt.Sprintf(format, args...))
	return h.err
}

func (h *history) Begin(_ context.Context, t agent.Turn) (agent.Thread, error) {
	return agent.Thread{Messages: []llm.Message{t.Message}}, h.note("begin")
}

func (h *history) Called(_ context.Context, _ agent.Turn, r *agent.Round) error {
	after := ""
	for _, m := range r.Before {
		after += m.Text()
	}
	if after != "" {
		after = fmt.Sprintf(" after %q", after)
	}
	return h.note("called %d %q %d%s", r.Number, r.Reply.Message.Text(), len(r.Calls), after)
}

func (h *history) Result(_ context.Context, _ agent.Turn, r *agent.Round, i int, o tool.Outcome) error {
	return h.note("result %d.%d %s", r.Number, i, o.Status)
}

func (h *history) Settled(_ context.Context, _ agent.Turn, r *agent.Round) error {
	return h.note("settled %d", r.Number)
}

func (h *history) Answered(ctx context.Context, t agent.Turn, r *agent.Round, e agent.End) error {
	err := h.Called(ctx, t, r)
	h.log[len(h.log)-1] = strings.Replace(h.log[len(h.log)-1], "called", "answered "+string(e.Status), 1)
	h.end = e
	return err
}

func (h *history) End(_ context.Context, _ agent.Turn, e agent.End) error {
	h.end = e
	return h.note("end %s", e.Status)
}

func loop(m *script, b toolbox, h *history, l agent.Limits) *agent.Agent {
	return &agent.Agent{
		Models: m, Toolbox: b, Prompts: prompts{}, History: h, Now: func() time.Time { return time.Unix(0, 0) },
		Watch: func(agent.Turn) agent.Watch { return agent.NewBrake(l, nil) },
		Cost: func(u llm.Usage, t llm.Target) *float64 {
			usd := float64(u.Input + u.Output)
			if t.Provider != "script" {
				return nil
			}
			return &usd
		},
	}
}

func turn(text string) agent.Turn {
	s := tool.NewScope(tool.Facts{Agent: "main", Session: "s", Run: "r", Origin: tool.FromChat, Caller: auth.Principal{Role: auth.Admin}})
	return agent.Turn{Scope: s, Message: llm.UserMessage(text)}
}

func types(events []agent.Event) string {
	var names []string
	for _, e := range events {
		names = append(names, string(e.Type))
	}
	return strings.Join(names, " ")
}

func TestATurnStoresEachStepBeforeTheNext(t *testing.T) {
	t.Parallel()
	m := &script{answers: []func(context.Context, func(llm.Event, error) bool){
		says("looking", call("a", "one", "{}"), call("b", "two", "{}")), says("done"),
	}}
	h := &history{}
	b := toolbox{
		"one": func() (string, []tool.Effect) { return "1", []tool.Effect{{Kind: tool.PlanMode, Value: "on"}} },
		"two": func() (string, []tool.Effect) { return "2", nil },
	}
	events := slices.Collect(loop(m, b, h, agent.Limits{Rounds: 5}).ProcessStream(t.Context(), turn("hi")))

	want := []string{
		"begin", `called 1 "looking" 2`, "result 1.0 ok", "settled 1", `answered done 2 "done" 0`,
	}
	if d := cmp.Diff(want, h.log); d != "" {
		t.Errorf("stored (-want +got):\n%s", d)
	}
	if got, want := types(events), "run_started prompt_built model_call_started token_chunk tool_started tool_finished tool_started tool_finished prompt_built model_call_started token_chunk run_finished"; got != want {
		t.Errorf("events:\n got %s\nwant %s", got, want)
	}
	for i, e := range events {
		if e.Seq != i+1 || e.Run != "r" || e.Session != "s" {
			t.Errorf("event %d has seq %d, run %q, session %q", i, e.Seq, e.Run, e.Session)
		}
	}
	last := events[len(events)-1]
	if last.End.USD == nil || *last.End.USD != 24 {
		t.Errorf("the cost is %v", last.End.USD)
	}
	if last.Text != "done" || last.End.Usage.Input != 20 || last.End.Rounds != 2 {
		t.Errorf("the end is %+v %+v", last, last.End)
	}
	if parts := m.requests[0].Messages[0].Parts; len(parts) != 2 || parts[1].Kind != llm.KindContext {
		t.Errorf("the message went out as %+v", parts)
	}
	second := m.requests[1].Messages
	if len(second) != 3 || second[2].Role != llm.Results || len(second[2].Parts) != 2 || second[2].Parts[1].Result.CallID != "b" {
		t.Errorf("the second request holds %+v", second)
	}
	if m.used[0] || !m.used[1] {
		t.Errorf("used is %v, want false, true", m.used)
	}
	if !m.requests[0].Reuse || m.requests[1].Reuse {
		t.Error("the first call of a turn may be answered from the cache, and no other")
	}
}

func TestAFreshTurnIsAnsweredByAModel(t *testing.T) {
	t.Parallel()
	m := &script{answers: []func(context.Context, func(llm.Event, error) bool){says("hi")}}
	fresh := turn("hi")
	fresh.Fresh = true
	for range loop(m, toolbox{}, &history{}, agent.Limits{}).ProcessStream(t.Context(), fresh) {
	}
	if m.requests[0].Reuse {
		t.Error("its request may be answered from the cache")
	}
}

// What the cache answers has used nothing and costs nothing, and says so.
func TestAnAnswerFromTheCacheIsMarked(t *testing.T) {
	t.Parallel()
	m := &script{answers: []func(context.Context, func(llm.Event, error) bool){
		func(_ context.Context, yield func(llm.Event, error) bool) {
			yield(llm.Event{Type: llm.EventDone, Reply: &llm.Reply{Message: llm.AssistantMessage("hi"), Finish: llm.FinishStop, Cached: true}}, nil)
		},
	}}
	events := slices.Collect(loop(m, toolbox{}, &history{}, agent.Limits{}).ProcessStream(t.Context(), turn("hi")))
	end := events[len(events)-1].End
	if !end.Cached || end.USD == nil || *end.USD != 0 || end.Usage != (llm.Usage{}) {
		t.Errorf("the end is %+v", end)
	}
}

// What a viewer has seen of a call is in the history: no result is told before
// it is stored, also not the last one, which is stored with its round.
func TestNobodyIsToldOfAResultBeforeItIsStored(t *testing.T) {
	t.Parallel()
	one := func() (string, []tool.Effect) { return "1", []tool.Effect{{Kind: tool.Attached, Key: "ref"}} }
	m := &script{answers: []func(context.Context, func(llm.Event, error) bool){
		says("", call("a", "one", "{}"), call("b", "one", "{}")), says("", call("c", "one", "{}")), says("done"),
	}}
	h := &history{}
	for e := range loop(m, toolbox{"one": one}, h, agent.Limits{}).ProcessStream(t.Context(), turn("hi")) {
		switch e.Type {
		case agent.ToolFinished:
			h.log = append(h.log, "told "+e.Tool.ID)
		case agent.Attachment, agent.RunFinished:
			h.log = append(h.log, string(e.Type))
		}
	}
	want := []string{
		"begin", `called 1 "" 2`, "result 1.0 ok", "told a", "settled 1", "told b", "attachment", "attachment",
		`called 2 "" 1`, "settled 2", "told c", "attachment", `answered done 3 "done" 0`, "run_finished",
	}
	if d := cmp.Diff(want, h.log); d != "" {
		t.Errorf("stored and told (-want +got):\n%s", d)
	}
}

func TestTheLastCallAtTheLimitForbidsTools(t *testing.T) {
	t.Parallel()
	m := &script{answers: []func(context.Context, func(llm.Event, error) bool){
		says("", call("a", "one", `{"n":1}`)), says("", call("b", "one", `{"n":2}`)), says("what I have", call("c", "one", "{}")),
	}}
	h := &history{}
	b := toolbox{"one": func() (string, []tool.Effect) { return "1", nil }}
	events := slices.Collect(loop(m, b, h, agent.Limits{Rounds: 2}).ProcessStream(t.Context(), turn("hi")))

	if got := m.requests[2]; got.Choice != llm.ChoiceNone {
		t.Errorf("the last request has choice %q", got.Choice)
	}
	last := m.requests[2].Messages
	if m := last[len(last)-1]; m.Role != llm.User || m.Parts[0].Kind != llm.KindContext || !strings.Contains(m.Parts[0].Text, "limit of 2") {
		t.Errorf("the model is told %+v", m)
	}
	if h.end.Status != agent.Limited || !strings.Contains(strings.Join(h.log, "\n"), `answered limited 3 "what I have" 0`) {
		t.Errorf("stored %q", h.log)
	}
	if !strings.Contains(types(events), "notice") {
		t.Errorf("nobody is told: %s", types(events))
	}
}

func TestALastAnswerIsNeverEmpty(t *testing.T) {
	t.Parallel()
	m := &script{answers: []func(context.Context, func(llm.Event, error) bool){
		says("", call("a", "one", "{}")), says("", call("b", "one", "{}")),
	}}
	h := &history{}
	b := toolbox{"one": func() (string, []tool.Effect) { return "1", nil }}
	events := slices.Collect(loop(m, b, h, agent.Limits{Rounds: 1}).ProcessStream(t.Context(), turn("hi")))
	if e := events[len(events)-1]; !strings.Contains(e.Text, "go on") {
		t.Errorf("the answer is %q", e.Text)
	}
}

func TestTheLoopGuard(t *testing.T) {
	t.Parallel()
	same := says("", call("x", "poll", "{}"))
	for _, c := range []struct {
		name    string
		changes bool
		limits  agent.Limits
		calls   int
		end     agent.Status
	}{
		{"the same result five times ends the run", false, agent.Limits{Rounds: 20, Hint: 3, Stop: 5}, 5, agent.Limited},
		{"a changing result doesn't", true, agent.Limits{Rounds: 20, Hint: 3, Stop: 5}, 8, agent.Done},
		{"no limit, no guard", false, agent.Limits{Rounds: 20}, 8, agent.Done},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := 0
			b := toolbox{"poll": func() (string, []tool.Effect) {
				n++
				if c.changes {
					return fmt.Sprint(n), nil
				}
				return "same", nil
			}}
			m := &script{answers: append(slices.Repeat([]func(context.Context, func(llm.Event, error) bool){same}, 8), says("done"))}
			h := &history{}
			for range loop(m, b, h, c.limits).ProcessStream(t.Context(), turn("hi")) {
			}
			if n != c.calls || h.end.Status != c.end {
				t.Errorf("%d calls and %s, want %d and %s", n, h.end.Status, c.calls, c.end)
			}
		})
	}
}

func TestStoppingKeepsWhatWasSeen(t *testing.T) {
	t.Parallel()
	t.Run("in the middle of an answer", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := &script{answers: []func(context.Context, func(llm.Event, error) bool){
			func(ctx context.Context, yield func(llm.Event, error) bool) {
				yield(llm.Event{Type: llm.EventText, Text: "half an ans"}, nil)
				cancel()
				<-ctx.Done()
				yield(llm.Event{}, ctx.Err())
			},
		}}
		h := &history{}
		events := slices.Collect(loop(m, nil, h, agent.Limits{}).ProcessStream(ctx, turn("hi")))
		if d := cmp.Diff([]string{"begin", `answered stopped 1 "half an ans" 0`}, h.log); d != "" {
			t.Errorf("stored (-want +got):\n%s", d)
		}
		if e := events[len(events)-1]; e.Type != agent.RunFinished || e.End.Status != agent.Stopped || e.End.USD != nil {
			t.Errorf("the end is %+v %+v, of a cost that nobody knows", e, e.End)
		}
	})
	t.Run("in the middle of a call", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := &script{answers: []func(context.Context, func(llm.Event, error) bool){says("", call("a", "hang", "{}"))}}
		h := &history{}
		for e := range loop(m, toolbox{}, h, agent.Limits{}).ProcessStream(ctx, turn("hi")) {
			if e.Type == agent.ToolStarted {
				cancel()
			}
		}
		if d := cmp.Diff([]string{"begin", `called 1 "" 1`, "settled 1", "end stopped"}, h.log); d != "" {
			t.Errorf("stored (-want +got):\n%s", d)
		}
	})
	t.Run("by leaving the range", func(t *testing.T) {
		t.Parallel()
		m := &script{answers: []func(context.Context, func(llm.Event, error) bool){says("one"), says("two")}}
		h := &history{}
		for e := range loop(m, nil, h, agent.Limits{}).ProcessStream(t.Context(), turn("hi")) {
			if e.Type == agent.TokenChunk {
				break
			}
		}
		if !strings.HasPrefix(h.log[len(h.log)-1], "answered stopped") {
			t.Errorf("stored %q", h.log)
		}
	})
}

// What a person says while the run goes on stands nowhere but in the round that
// takes it in, so that round is stored however it ends.
func TestWhatIsSaidMeanwhileIsNeverLost(t *testing.T) {
	t.Parallel()
	same := says("", call("a", "one", "{}"))
	fails := func(_ context.Context, yield func(llm.Event, error) bool) {
		yield(llm.Event{}, &llm.Error{Class: llm.ClassNetwork, Message: "reset"})
	}
	for name, c := range map[string]struct {
		answers []func(context.Context, func(llm.Event, error) bool)
		limits  agent.Limits
		said    int // asked so often for what was said, it is told
		want    string
	}{
		"the model call fails":   {[]func(context.Context, func(llm.Event, error) bool){same, fails}, agent.Limits{}, 1, `answered failed 2 "" 0 after "and this"`},
		"the guard ends the run": {[]func(context.Context, func(llm.Event, error) bool){same, same}, agent.Limits{Stop: 2}, 2, `answered limited 3 "I stopped`},
		"the limit ends the run": {[]func(context.Context, func(llm.Event, error) bool){same, says("so far")}, agent.Limits{Rounds: 1}, 1, `answered limited 2 "so far" 0 after "and this`},
		"the model answers":      {[]func(context.Context, func(llm.Event, error) bool){same, says("done")}, agent.Limits{}, 1, `answered done 2 "done" 0 after "and this"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			steer := func() ([]llm.Message, []string) {
				if asked++; asked != c.said {
					return nil, nil
				}
				return []llm.Message{llm.UserMessage("and this")}, []string{"joined"}
			}
			h := &history{}
			a := loop(&script{answers: c.answers}, toolbox{"one": func() (string, []tool.Effect) { return "1", nil }}, h, agent.Limits{})
			a.Watch = func(agent.Turn) agent.Watch { return agent.NewBrake(c.limits, steer) }
			for range a.ProcessStream(t.Context(), turn("hi")) {
			}
			if all := strings.Join(h.log, "\n"); !strings.Contains(all, c.want) || !strings.Contains(all, `after "and this`) {
				t.Errorf("stored\n%s", all)
			}
		})
	}
}

// A host that has to stop leaves a turn that is as valid as a stopped one and
// says that no person stopped it.
func TestAHostThatStopsInterrupts(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	h := &history{}
	m := &script{answers: []func(context.Context, func(llm.Event, error) bool){
		func(ctx context.Context, yield func(llm.Event, error) bool) {
			yield(llm.Event{Type: llm.EventText, Text: "half"}, nil)
			cancel(fmt.Errorf("%w: an update", agent.ErrInterrupted))
			yield(llm.Event{}, ctx.Err())
		},
	}}
	events := slices.Collect(loop(m, nil, h, agent.Limits{}).ProcessStream(ctx, turn("hi")))
	if d := cmp.Diff([]string{"begin", `answered interrupted 1 "half" 0`}, h.log); d != "" {
		t.Error(d)
	}
	if last := events[len(events)-1]; last.Type != agent.RunFinished || last.End.Status != agent.Interrupted {
		t.Errorf("the end is %+v", last)
	}
}

// A run that was stopped says so, unless what it did is not in its history.
func TestAStoppedRunThatCouldNotBeStoredHasFailed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := &history{}
	m := &script{answers: []func(context.Context, func(llm.Event, error) bool){
		func(ctx context.Context, yield func(llm.Event, error) bool) {
			yield(llm.Event{Type: llm.EventText, Text: "half"}, nil)
			h.err = errors.New("disk full")
			cancel()
			yield(llm.Event{}, ctx.Err())
		},
	}}
	events := slices.Collect(loop(m, nil, h, agent.Limits{}).ProcessStream(ctx, turn("hi")))
	if last := events[len(events)-1]; last.Type != agent.RunFailed || !strings.Contains(last.Text, "disk full") {
		t.Errorf("the end is %+v", last)
	}
}

func TestNothingRunsWhenNothingCanBeStored(t *testing.T) {
	t.Parallel()
	ran := false
	b := toolbox{"one": func() (string, []tool.Effect) { ran = true; return "1", nil }}
	h := &history{}
	m := &script{answers: []func(context.Context, func(llm.Event, error) bool){
		func(ctx context.Context, yield func(llm.Event, error) bool) {
			h.err = errors.New("disk full")
			says("", call("a", "one", "{}"))(ctx, yield)
		},
	}}
	events := slices.Collect(loop(m, b, h, agent.Limits{}).ProcessStream(t.Context(), turn("hi")))
	if last := events[len(events)-1]; last.Type != agent.RunFailed || !strings.Contains(last.Text, "disk full") || ran {
		t.Errorf("ran %v, the end is %+v", ran, last)
	}
}
