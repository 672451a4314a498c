package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// ledger notes what is stored of model calls.
type ledger struct {
	history
	stored []agent.Spent
	fails  string // the step that can't be stored
	last   *agent.Round
}

func (l *ledger) step(name string, calls []agent.Spent) error {
	if l.fails == name {
		return errors.New("the disk is full")
	}
	l.stored = append(l.stored, calls...)
	return nil
}

func (l *ledger) Called(_ context.Context, _ agent.Turn, r *agent.Round) error {
	return l.step("called", r.Spent)
}

func (l *ledger) Answered(_ context.Context, _ agent.Turn, r *agent.Round, end agent.End) error {
	l.last = r
	return l.step("answered", append(slices.Clone(r.Spent), end.Spent...))
}

func (l *ledger) End(_ context.Context, _ agent.Turn, end agent.End) error {
	l.end = end
	return l.step("end", end.Spent)
}

// attempts is a model that tells of attempts which were given up, then ends as
// last does.
type attempts struct {
	tokens []int64 // of each; 0 where nobody counted
	says   string  // before each is given up
	last   answer
}

func (m attempts) Stream(ctx context.Context, _ string, _ bool, build func(llm.Target) (llm.Request, error)) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for i := range len(m.tokens) + 1 {
			if _, err := build(llm.Target{Provider: "script", Model: fmt.Sprint("m", i)}); err != nil {
				yield(llm.Event{}, err)
				return
			}
			if i == len(m.tokens) {
				m.last(ctx, yield)
				return
			}
			if m.says != "" && !yield(llm.Event{Type: llm.EventText, Text: m.says}, nil) {
				return
			}
			e := llm.Event{Type: llm.EventDropped}
			if n := m.tokens[i]; n > 0 {
				e.Usage = &llm.Usage{Input: n}
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// guard is a brake that lets so many requests pass, and notes what it is told.
type guard struct {
	agent.Watch
	lets int
	told []int64 // tokens; -1 for nothing used
}

func (g *guard) Request(_ context.Context, req *llm.Request, _ int) (string, error) {
	if g.lets--; g.lets < 0 {
		return "", &agent.OverBudget{Reason: "It is used up.", Notice: "used up"}
	}
	req.MaxOutput = 77
	return "mind the price", nil
}

func (g *guard) Spent(s *agent.Spent) {
	if s == nil {
		g.told = append(g.told, -1)
		return
	}
	g.told = append(g.told, s.Usage.Input)
}

// TestEachCallIsStoredOnce: what a model call used is stored once, however it
// and the run end, and the brake learns of it.
func TestEachCallIsStoredOnce(t *testing.T) {
	t.Parallel()
	breaks := func(_ context.Context, yield func(llm.Event, error) bool) {
		if yield(llm.Event{Type: llm.EventText, Text: "Hel"}, nil) {
			yield(llm.Event{}, &llm.Error{Class: llm.ClassNetwork, Message: "no"})
		}
	}
	calls := says("", call("a", "one", "{}"))
	for _, tc := range []struct {
		name   string
		model  attempts
		lets   int
		fails  string
		stored string // model:tokens, ? where nobody counted
		told   []int64
		status agent.Status
		text   string
	}{
		{"an answer", attempts{last: says("hi")}, 9, "", "m0:10", []int64{10}, agent.Done, "hi"},
		{"attempts before it", attempts{tokens: []int64{3, 0}, last: says("hi")}, 9, "", "m0:3 m1:? m2:10", []int64{3, 0, 10}, agent.Done, "hi"},
		{"a failure", attempts{last: fails(llm.ClassAuth)}, 9, "", "", []int64{-1}, agent.Failed, ""},
		{"attempts before a failure", attempts{tokens: []int64{3}, last: fails(llm.ClassAuth)}, 9, "", "m0:3", []int64{3, -1}, agent.Failed, ""},
		{"one that breaks off", attempts{last: breaks}, 9, "", "m0:?", []int64{0}, agent.Failed, ""},
		{"calls that can't be stored", attempts{last: calls}, 9, "called", "m0:10", []int64{10}, agent.Failed, ""},
		{"an answer that can't be stored", attempts{last: says("hi")}, 9, "answered", "m0:10", []int64{10}, agent.Failed, ""},
		{"no request", attempts{last: says("hi")}, 0, "", "", nil, agent.Limited, "It is used up."},
		{"no second request", attempts{tokens: []int64{3}, last: says("hi")}, 1, "", "m0:3", []int64{3}, agent.Limited, "It is used up."},
		{"no second request, after words", attempts{tokens: []int64{3}, says: "Hel", last: says("hi")}, 1, "", "m0:3", []int64{3}, agent.Limited, "Hel\n\nIt is used up."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := &ledger{fails: tc.fails}
			g := &guard{Watch: agent.NewBrake(agent.Limits{}, nil), lets: tc.lets}
			a := loop(nil, toolbox{"one": func() (string, []tool.Effect) { return "1", nil }}, &l.history, agent.Limits{})
			a.Models, a.History, a.Watch = tc.model, l, func(agent.Turn) agent.Watch { return g }
			events := slices.Collect(a.ProcessStream(t.Context(), turn("hi")))
			var stored []string
			var used llm.Usage
			for _, s := range l.stored {
				tokens := "?"
				if s.Counted() {
					tokens = fmt.Sprint(s.Usage.Input)
				} else if s.Guess.Output == 0 || s.USD != nil || s.GuessUSD == nil {
					t.Errorf("what nobody counted is %+v", s)
				}
				stored = append(stored, s.Target.Model+":"+tokens)
				used = used.Add(s.Usage)
			}
			if got := strings.Join(stored, " "); got != tc.stored {
				t.Errorf("stored %q, want %q", got, tc.stored)
			}
			if d := cmp.Diff(tc.told, g.told); d != "" {
				t.Errorf("the brake was told (-want +got):\n%s", d)
			}
			end := events[len(events)-1]
			unknown := strings.Contains(tc.stored, "?")
			if end.End.Status != tc.status || end.End.Usage != used || (end.End.USD == nil) != unknown {
				t.Errorf("it ended as %+v, and %+v is stored", end.End, used)
			}
			if tc.text != "" && end.Text != tc.text {
				t.Errorf("it says %q, want %q", end.Text, tc.text)
			}
			var shown strings.Builder
			notices := ""
			for _, e := range events {
				switch e.Type {
				case agent.TokenChunk:
					shown.WriteString(e.Text)
				case agent.Notice:
					notices += e.Kind + ": " + e.Text + "\n"
				}
			}
			if tc.status == agent.Limited && (shown.String() != tc.text || !strings.Contains(notices, "budget: used up")) || tc.lets > 0 && !strings.Contains(notices, "budget: mind the price") {
				t.Errorf("shown was %q, with notices %q", shown.String(), notices)
			}
		})
	}
}

// A target that is asked again is not told to be asked anew: what it says goes
// on behind what it said.
func TestAnotherAttemptIsNotAnotherCall(t *testing.T) {
	t.Parallel()
	m := sameTarget{attempts{tokens: []int64{3, 4}, last: says("hi")}}
	a := loop(nil, toolbox{}, &history{}, agent.Limits{})
	a.Models = m
	got := types(slices.Collect(a.ProcessStream(t.Context(), turn("hi"))))
	if want := "run_started prompt_built model_call_started token_chunk run_finished"; got != want {
		t.Errorf("events:\n got %s\nwant %s", got, want)
	}
}

// sameTarget makes all attempts at one target.
type sameTarget struct{ attempts }

func (m sameTarget) Stream(ctx context.Context, model string, used bool, build func(llm.Target) (llm.Request, error)) iter.Seq2[llm.Event, error] {
	return m.attempts.Stream(ctx, model, used, func(llm.Target) (llm.Request, error) {
		return build(llm.Target{Provider: "script", Model: "m"})
	})
}

// A provider that counts as it goes has counted little when an answer breaks
// off at once: what was said is more than it knew.
func TestAnAnswerThatBreaksOffIsNotCountedByItsBeginning(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 300)
	for _, tc := range []struct {
		name  string
		told  llm.Usage
		guess int64 // tokens of output
		known bool  // what it cost
	}{
		{"counted before the first word", llm.Usage{Input: 50, Output: 1}, 499, false},
		{"counted to the end", llm.Usage{Input: 50, Output: 301}, 0, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := &ledger{}
			a := loop(nil, toolbox{}, &l.history, agent.Limits{})
			a.History = l
			a.Models = attempts{last: func(_ context.Context, yield func(llm.Event, error) bool) {
				if yield(llm.Event{Type: llm.EventText, Text: words}, nil) && yield(llm.Event{Type: llm.EventDropped, Usage: &tc.told}, nil) {
					yield(llm.Event{}, &llm.Error{Class: llm.ClassNetwork, Message: "no"})
				}
			}}
			for range a.ProcessStream(t.Context(), turn("hi")) {
			}
			if len(l.stored) != 1 {
				t.Fatalf("stored %+v", l.stored)
			}
			s := l.stored[0]
			if s.Usage != tc.told || s.Guess != (llm.Usage{Output: tc.guess}) || (s.USD != nil) != tc.known || (s.GuessUSD != nil) == tc.known {
				t.Errorf("stored %+v", s)
			}
		})
	}
}

// An answer that was cut at what the budget left for it is not to be mended by
// a longer max_output_tokens. What is told of it is kept with the round.
func TestACutAnswerNamesWhatCutIt(t *testing.T) {
	t.Parallel()
	cut := func(_ context.Context, yield func(llm.Event, error) bool) {
		yield(llm.Event{Type: llm.EventDone, Reply: &llm.Reply{Message: llm.AssistantMessage("Hel"), Finish: llm.FinishLength, Usage: llm.Usage{Input: 1, Output: 1}}}, nil)
	}
	for _, tc := range []struct {
		name      string
		watch     agent.Watch
		says, not string
	}{
		{"the budget", &guard{Watch: agent.NewBrake(agent.Limits{}, nil), lets: 1}, "what the budget left for it", "max_output_tokens"},
		{"the model", agent.NewBrake(agent.Limits{}, nil), "raise max_output_tokens", "budget"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := &ledger{}
			a := loop(nil, toolbox{}, &l.history, agent.Limits{})
			a.Models, a.History, a.Watch = attempts{last: cut}, l, func(agent.Turn) agent.Watch { return tc.watch }
			told := ""
			for e := range a.ProcessStream(t.Context(), turn("hi")) {
				if e.Type == agent.Notice && e.Kind == "limit" {
					told += e.Text
				}
			}
			if !strings.Contains(told, tc.says) || strings.Contains(told, tc.not) {
				t.Errorf("told %q", told)
			}
			if n := l.last.Notices; len(n) == 0 || n[len(n)-1] != (agent.Told{Kind: "limit", Text: told, Behind: true}) {
				t.Errorf("kept %+v", n)
			}
		})
	}
}

// What had been tried before a budget ended the run is kept with its end.
func TestABudgetsEndKeepsWhatWasTried(t *testing.T) {
	t.Parallel()
	tried := llm.Attempt{Class: llm.ClassOverloaded, Message: "busy", Next: llm.Retry}
	g := &guard{Watch: agent.NewBrake(agent.Limits{}, nil), lets: 1}
	l := &ledger{}
	a := loop(nil, toolbox{}, &l.history, agent.Limits{})
	a.Models, a.History, a.Watch = triedThen{tried}, l, func(agent.Turn) agent.Watch { return g }
	for range a.ProcessStream(t.Context(), turn("hi")) {
	}
	if l.last == nil || len(l.last.Attempts) != 1 || l.last.Attempts[0] != tried || l.last.Reply.Message.Text() != "It is used up." {
		t.Errorf("kept %+v", l.last)
	}
}

// triedThen is a model that fails once and asks for another request.
type triedThen struct{ failed llm.Attempt }

func (m triedThen) Stream(_ context.Context, _ string, _ bool, build func(llm.Target) (llm.Request, error)) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		target := llm.Target{Provider: "script", Model: "m"}
		_, err := build(target)
		if err == nil && yield(llm.Event{Type: llm.EventDropped}, nil) && yield(llm.Event{Type: llm.EventNotice, Kind: "retry", Text: "again", Attempt: &m.failed}, nil) {
			_, err = build(target)
		}
		yield(llm.Event{}, err)
	}
}

// An answer for which the budget left so little room that the model only
// thought is the budget's end, and no failure of the model.
func TestABudgetThatLeavesRoomForNoAnswerEndsPolitely(t *testing.T) {
	t.Parallel()
	thought := func(_ context.Context, yield func(llm.Event, error) bool) {
		yield(llm.Event{}, &llm.Error{Class: llm.ClassEmpty, Code: string(llm.FinishLength), Message: "the output limit was used up before the answer began"})
	}
	for _, tc := range []struct {
		name  string
		watch agent.Watch
		want  agent.Status
	}{
		{"shortened", &guard{Watch: agent.NewBrake(agent.Limits{}, nil), lets: 1}, agent.Limited},
		{"as long as the model's get", agent.NewBrake(agent.Limits{}, nil), agent.Failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := loop(nil, toolbox{}, &history{}, agent.Limits{})
			a.Models, a.Watch = attempts{last: thought}, func(agent.Turn) agent.Watch { return tc.watch }
			events := slices.Collect(a.ProcessStream(t.Context(), turn("hi")))
			if end := events[len(events)-1]; end.End.Status != tc.want || strings.Contains(end.Text, "budget") != (tc.want == agent.Limited) {
				t.Errorf("it ended as %s: %s", end.End.Status, end.Text)
			}
		})
	}
}
