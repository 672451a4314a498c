package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

type answer = func(context.Context, func(llm.Event, error) bool)

func fails(class llm.Class) answer {
	return func(_ context.Context, yield func(llm.Event, error) bool) {
		yield(llm.Event{}, &llm.Error{Class: class, Target: llm.Target{Provider: "script", Model: "m"}, Message: "no"})
	}
}

// kept notes what joined the thread with each round that is stored.
type kept struct {
	history
	before, joined []string
}

func (k *kept) Called(ctx context.Context, t agent.Turn, r *agent.Round) error {
	k.keep(r)
	return k.history.Called(ctx, t, r)
}

func (k *kept) Answered(ctx context.Context, t agent.Turn, r *agent.Round, end agent.End) error {
	k.keep(r)
	return k.history.Answered(ctx, t, r, end)
}

func (k *kept) keep(r *agent.Round) {
	for _, m := range r.Before {
		k.before = append(k.before, m.Text())
	}
	k.joined = append(k.joined, r.Joined...)
}

// What a person said to a going run is stored, however the run ends.
func TestSteeredWordsAreNeverLost(t *testing.T) {
	t.Parallel()
	same := says("", call("x", "poll", "{}"))
	for _, c := range []struct {
		name   string
		second answer
		stop   bool
		limits agent.Limits
		end    agent.Status
	}{
		{"answered", says("done"), false, agent.Limits{}, agent.Done},
		{"the model fails", fails(llm.ClassBadRequest), false, agent.Limits{}, agent.Failed},
		{"the run is stopped", nil, true, agent.Limits{}, agent.Stopped},
		{"the loop guard ends the run", nil, false, agent.Limits{Stop: 1}, agent.Limited},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if c.stop {
				c.second = func(ctx context.Context, yield func(llm.Event, error) bool) {
					stop()
					yield(llm.Event{}, ctx.Err())
				}
			}
			k := &kept{}
			b := toolbox{"poll": func() (string, []tool.Effect) { return "same", nil }}
			a := loop(&script{answers: []answer{same, c.second}}, b, &k.history, c.limits)
			a.History = k
			a.Watch = func(agent.Turn) agent.Watch {
				return agent.NewBrake(c.limits, func() ([]llm.Message, []string) {
					return []llm.Message{llm.UserMessage("and this")}, []string{"joined"}
				})
			}
			for range a.ProcessStream(ctx, turn("hi")) {
			}
			if k.end.Status != c.end || !slices.Equal(k.before, []string{"and this"}) || !slices.Equal(k.joined, []string{"joined"}) {
				t.Errorf("ended %s with %q stored, of the inbox %q", k.end.Status, k.before, k.joined)
			}
		})
	}
}

// trimming prompts leave out as many messages as a target has no room for, one
// token each, but never the last.
type trimming struct{ prompts }

func (trimming) Build(_ context.Context, _ agent.Turn, sf tool.Surface, m []llm.Message) (llm.Request, agent.RequestFacts, error) {
	drop := 0
	if w := sf.Target.MaxInput; w > 0 {
		drop = max(min(len(m)-w, len(m)-1), 0)
	}
	return llm.Request{Target: sf.Target, Messages: m[drop:]}, agent.RequestFacts{Target: sf.Target, Dropped: drop, Bytes: 3 * (len(m) - drop)}, nil
}

// older is a history that begins with n messages, and with what the turn before
// left.
type older struct {
	history
	n     int
	state tool.State
}

func (o *older) Answered(ctx context.Context, t agent.Turn, r *agent.Round, end agent.End) error {
	o.state = r.State
	return o.history.Answered(ctx, t, r, end)
}

func (o *older) Begin(_ context.Context, t agent.Turn) (agent.Thread, error) {
	var m []llm.Message
	for range o.n {
		m = append(m, llm.UserMessage("old"))
	}
	return agent.Thread{Messages: append(m, t.Message), State: o.state}, o.note("begin")
}

func TestATooLongThreadIsSentOnceMoreAndShorter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		before  int
		answers []answer
		sizes   []int // messages of each request
		notices int
		end     agent.Status
	}{
		{"it fits then", 9, []answer{fails(llm.ClassTooLong), says("fine")}, []int{10, 6}, 1, agent.Done},
		{"the room stays small for the turn", 9, []answer{fails(llm.ClassTooLong), says("", call("x", "poll", "{}")), says("fine")}, []int{10, 6, 6}, 2, agent.Done},
		{"it doesn't", 9, []answer{fails(llm.ClassTooLong), fails(llm.ClassTooLong)}, []int{10, 6}, 1, agent.Failed},
		{"nothing can go", 0, []answer{fails(llm.ClassTooLong)}, []int{1}, 0, agent.Failed},
		{"another failure", 9, []answer{fails(llm.ClassBadRequest)}, []int{10}, 0, agent.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := &older{n: c.before}
			m := &script{answers: c.answers}
			a := loop(m, toolbox{"poll": func() (string, []tool.Effect) { return "same", nil }}, &o.history, agent.Limits{})
			a.History, a.Prompts = o, trimming{}
			notices := 0
			var last agent.Event
			for last = range a.ProcessStream(t.Context(), turn("hi")) {
				if last.Type == agent.Notice {
					notices++
				}
			}
			var sizes []int
			for _, r := range m.requests {
				sizes = append(sizes, len(r.Messages))
			}
			if !slices.Equal(sizes, c.sizes) || o.end.Status != c.end {
				t.Errorf("ended %s after requests of %v messages", o.end.Status, sizes)
			}
			if notices != c.notices {
				t.Errorf("%d notices, want %d", notices, c.notices)
			}
			if c.end == agent.Failed && c.name != "another failure" && !strings.Contains(last.Text, "too long") {
				t.Errorf("the person is told %q", last.Text)
			}
		})
	}
}

// What a target found too long is not sent to it again by later turns, also when
// it can't be told from its words how much it takes.
func TestATargetThatFoundAThreadTooLongIsNotAskedSoAgain(t *testing.T) {
	t.Parallel()
	o := &older{n: 99}
	m := &script{}
	a := loop(m, nil, &o.history, agent.Limits{})
	a.History, a.Prompts = o, trimming{}
	long := fails(llm.ClassTooLong)
	for i, c := range []struct {
		answers []answer
		sizes   []int
		told    []string // kinds of notices
		end     agent.Status
	}{
		{[]answer{long, long}, []int{100, 66}, []string{"compaction"}, agent.Failed},
		{[]answer{long, says("fine")}, []int{44, 29}, []string{"compaction", "compaction"}, agent.Done},
		{[]answer{says("fine")}, []int{29}, nil, agent.Done},
	} {
		m.answers, m.requests = c.answers, nil
		var told []string
		for e := range a.ProcessStream(t.Context(), turn("hi")) {
			if e.Type == agent.Notice {
				told = append(told, e.Kind)
			}
		}
		var sizes []int
		for _, r := range m.requests {
			sizes = append(sizes, len(r.Messages))
		}
		if !slices.Equal(sizes, c.sizes) || !slices.Equal(told, c.told) || o.end.Status != c.end {
			t.Errorf("turn %d: requests of %v messages, notices %q, ended %s", i+1, sizes, told, o.end.Status)
		}
	}
}

func TestAnAnswerThatWasCutSaysSo(t *testing.T) {
	t.Parallel()
	for finish, want := range map[llm.Finish]string{llm.FinishStop: "", llm.FinishLength: "output limit", llm.FinishFilter: "filter"} {
		m := &script{answers: []answer{func(_ context.Context, yield func(llm.Event, error) bool) {
			yield(llm.Event{Type: llm.EventDone, Reply: &llm.Reply{Message: llm.AssistantMessage("half"), Finish: finish}}, nil)
		}}}
		var told string
		var cut llm.Finish
		for e := range loop(m, nil, &history{}, agent.Limits{}).ProcessStream(t.Context(), turn("hi")) {
			if e.Type == agent.Notice {
				told += e.Text
			}
			if e.End != nil {
				cut = e.End.Cut
			}
		}
		if whole := finish == llm.FinishStop; whole != (cut == "") || !whole && cut != finish {
			t.Errorf("%s: the end says %q", finish, cut)
		}
		if !strings.Contains(told, want) || (want == "") != (told == "") {
			t.Errorf("%s: the person is told %q", finish, told)
		}
	}
}

// Calls whose arguments can't be read are equal only when what was written is.
func TestTheGuardTellsBrokenCallsApart(t *testing.T) {
	t.Parallel()
	b := agent.NewBrake(agent.Limits{Stop: 3}, nil)
	round := func(args string) *agent.Round {
		return &agent.Round{Outcomes: []tool.Outcome{{Call: call("x", "write", args), Tool: "write", Status: tool.Invalid, Digest: "cut"}}}
	}
	for i, args := range []string{`{"a`, `{"ab`, `{"abc`, `{"abcd`, `{"abcd`, `{"abcd`} {
		if d := b.Before(t.Context(), i+2, round(args)); d.Stop != (i == 5) {
			t.Errorf("behind call %d: %+v", i, d)
		}
	}
}

// Calls are the same when their arguments mean the same, to the last digit.
func TestTheGuardKnowsArgumentsByTheirMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		stop bool
	}{
		{[]string{`{"a":1,"n":10}`, `{"n":1e1,"a":1.0}`, `{"a":1,"n":10.0}`}, true},
		{[]string{`{"n":9007199254740993}`, `{"n":9007199254740992}`, `{"n":9007199254740993}`}, false},
	} {
		b := agent.NewBrake(agent.Limits{Stop: 3}, nil)
		var d agent.Directive
		for i, args := range c.args {
			d = b.Before(t.Context(), i+2, &agent.Round{Outcomes: []tool.Outcome{
				{Call: call("x", "get", args), Args: json.RawMessage(args), Tool: "get", Status: tool.OK, Digest: "same"},
			}})
		}
		if d.Stop != c.stop {
			t.Errorf("%q: %+v", c.args, d)
		}
	}
}

// listing offers another list of tools.
type listing struct{ toolbox }

func (l listing) Offer(ctx context.Context, s tool.Scope, t llm.Target, st tool.State, ask tool.Ask) (tool.Surface, error) {
	st.Tools = []string{"new"}
	return l.toolbox.Offer(ctx, s, t, st, ask)
}

// The list of tools that a request was shown outlives an answer that broke off.
func TestTheListThatWasSentIsKept(t *testing.T) {
	t.Parallel()
	o := &older{state: tool.State{Plan: true, Tools: []string{"old"}}}
	m := &script{answers: []answer{func(_ context.Context, yield func(llm.Event, error) bool) {
		if yield(llm.Event{Type: llm.EventText, Text: "half an"}, nil) {
			yield(llm.Event{}, errors.New("cut"))
		}
	}}}
	a := loop(m, nil, &o.history, agent.Limits{})
	a.History, a.Toolbox = o, listing{}
	for range a.ProcessStream(t.Context(), turn("hi")) {
	}
	if want := (tool.State{Plan: true, Told: true, Tools: []string{"new"}}); !o.state.Equal(want) {
		t.Errorf("%+v, want %+v", o.state, want)
	}
}
