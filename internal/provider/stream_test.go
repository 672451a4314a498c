package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// step is one answer of a vendor: text, then how it ends.
type step struct {
	reasoning string
	text      []string
	call      bool
	err       error
	finish    llm.Finish
	hang      bool      // until the context ends
	used      llm.Usage // told before the end
}

func says(text ...string) step { return step{text: text} }

func fails(c llm.Class) step { return step{err: &llm.Error{Class: c, Message: "no luck"}} }

func breaks(c llm.Class, text ...string) step {
	s := fails(c)
	s.text = text
	return s
}

// vendor answers by a script, for all providers that have its wire. Each call
// is noted with its time.
type vendor struct {
	mu     sync.Mutex
	begin  time.Time
	script map[string][]step // by provider; the last one again and again
	asked  []string          // "a/m at 2s"
}

func (v *vendor) open(s Settings) (llm.Model, error) {
	if s.BaseURL == "bad" {
		return nil, errors.New("the address is bad")
	}
	return v, nil
}

func (v *vendor) next(t llm.Target) step {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked = append(v.asked, fmt.Sprintf("%s at %s", t, time.Since(v.begin).Round(100*time.Millisecond)))
	steps := v.script[t.Provider]
	if len(steps) == 0 {
		return says("hello from " + t.Provider)
	}
	if len(steps) > 1 {
		v.script[t.Provider] = steps[1:]
	}
	return steps[0]
}

func (v *vendor) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		s := v.next(req.Target)
		if s.hang {
			<-ctx.Done()
			yield(llm.Event{}, ctx.Err())
			return
		}
		if s.reasoning != "" && !yield(llm.Event{Type: llm.EventReasoning, Text: s.reasoning}, nil) {
			return
		}
		for _, t := range s.text {
			if !yield(llm.Event{Type: llm.EventText, Text: t}, nil) {
				return
			}
		}
		if s.used != (llm.Usage{}) && !yield(llm.Event{Type: llm.EventUsage, Usage: &s.used}, nil) {
			return
		}
		if s.err != nil {
			err := s.err
			var e *llm.Error
			if errors.As(err, &e) {
				own := *e
				own.Target = req.Target
				err = &own
			}
			yield(llm.Event{}, err)
			return
		}
		reply := &llm.Reply{Message: llm.AssistantMessage(strings.Join(s.text, "")), Target: req.Target, Finish: s.finish, Usage: s.used}
		if s.call {
			reply.Message.Parts = append(reply.Message.Parts, llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{Name: "x"}})
		}
		yield(llm.Event{Type: llm.EventDone, Reply: reply}, nil)
	}
}

// world is a set of the providers a, b and c on one scripted vendor.
type world struct {
	*vendor
	set *Set
}

func newWorld(script map[string][]step) *world {
	v := &vendor{begin: time.Now(), script: script}
	w := &world{vendor: v}
	w.set = New(Options{
		Vendors: map[string]Vendor{"openai": {Open: v.open}},
		Providers: []Settings{
			{Name: "a", Type: Compatible, BaseURL: "http://a", Model: "m", Key: "key-of-provider-a"},
			{Name: "b", Type: Compatible, BaseURL: "http://b", Model: "m"},
			{Name: "c", Type: Compatible, BaseURL: "http://c", Model: "m"},
			{Name: "gone", Type: "deepseek", Model: "m"},
			{Name: "broken", Type: Compatible, BaseURL: "bad", Model: "m"},
		},
	})
	return w
}

func (v *vendor) calls() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := v.asked
	v.asked = nil
	return out
}

// outcome is what a watcher saw.
type outcome struct {
	text      string // what stands on the screen at the end
	reasoning string
	events    string // t for text, R for retracted
	notices   []string
	attempts  []string
	built     []string
	reply     *llm.Reply
	err       error
}

func (w *world) ask(ctx context.Context, m *Models, model string, used bool) (o outcome) {
	build := func(t llm.Target) (llm.Request, error) {
		o.built = append(o.built, t.String())
		return llm.Request{Target: t}, nil
	}
	for e, err := range m.Stream(ctx, model, used, build) {
		if err != nil {
			o.err = err
			continue
		}
		switch e.Type {
		case llm.EventText:
			o.text += e.Text
			o.events += "t"
		case llm.EventReasoning:
			o.reasoning += e.Text
		case llm.EventRetracted:
			o.text, o.reasoning = "", ""
			o.events += "R"
		case llm.EventNotice:
			if e.Text != "" {
				o.notices = append(o.notices, e.Kind+": "+e.Text)
			}
			if e.Attempt != nil {
				o.attempts = append(o.attempts, tried(*e.Attempt))
			}
		case llm.EventDone:
			o.reply = e.Reply
		}
	}
	return o
}

// bubble runs f where time passes by itself.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// near reports whether every time of got is within a fifth of that of want.
func near(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		gotWho, gotAt, _ := strings.Cut(got[i], " at ")
		wantWho, wantAt, _ := strings.Cut(want[i], " at ")
		g, err1 := time.ParseDuration(gotAt)
		w, err2 := time.ParseDuration(wantAt)
		if gotWho != wantWho || err1 != nil || err2 != nil || (g-w).Abs() > w/5 {
			return false
		}
	}
	return true
}

// TestFailures is runtime.md's table, one class after the other.
func TestFailures(t *testing.T) {
	t.Parallel()
	retryAfter := func(d time.Duration) step {
		return step{err: &llm.Error{Class: llm.ClassOverloaded, Message: "slow down", RetryAfter: d}}
	}
	for _, test := range []struct {
		name     string
		script   map[string][]step
		fallback []string
		used     bool
		asked    []string
		text     string
		class    llm.Class // of the error, "" when it ends well
		held     string    // who would have been asked next
	}{
		{
			name:   "PR-001 overloaded twice, then fine",
			script: map[string][]step{"a": {fails(llm.ClassOverloaded), fails(llm.ClassOverloaded), says("hi")}},
			asked:  []string{"a/m at 0s", "a/m at 2s", "a/m at 8s"}, text: "hi",
		},
		{
			name:     "PR-002 overloaded for good",
			script:   map[string][]step{"a": {fails(llm.ClassOverloaded)}, "b": {says("hi")}},
			fallback: []string{"b"}, asked: []string{"a/m at 0s", "a/m at 2s", "a/m at 8s", "b/m at 8s"}, text: "hi",
		},
		{
			name:   "overloaded for good and no other",
			script: map[string][]step{"a": {fails(llm.ClassOverloaded)}},
			asked:  []string{"a/m at 0s", "a/m at 2s", "a/m at 8s"}, class: llm.ClassOverloaded,
		},
		{
			name:     "PR-005 the quota is used up",
			script:   map[string][]step{"a": {fails(llm.ClassQuota)}},
			fallback: []string{"b"}, asked: []string{"a/m at 0s", "b/m at 0s"}, text: "hello from b",
		},
		{
			name:   "PR-008 the network fails once",
			script: map[string][]step{"a": {fails(llm.ClassNetwork), says("hi")}},
			asked:  []string{"a/m at 0s", "a/m at 500ms"}, text: "hi",
		},
		{
			name:     "the network fails for good",
			script:   map[string][]step{"a": {fails(llm.ClassNetwork)}},
			fallback: []string{"b"}, asked: []string{"a/m at 0s", "a/m at 500ms", "b/m at 500ms"}, text: "hello from b",
		},
		{
			name:     "each class has its own attempts",
			script:   map[string][]step{"a": {fails(llm.ClassNetwork), fails(llm.ClassOverloaded), fails(llm.ClassNetwork)}},
			fallback: []string{"b"}, asked: []string{"a/m at 0s", "a/m at 500ms", "a/m at 2.5s", "b/m at 2.5s"}, text: "hello from b",
		},
		{
			name:     "a wrong key",
			script:   map[string][]step{"a": {fails(llm.ClassAuth)}},
			fallback: []string{"b"}, asked: []string{"a/m at 0s", "b/m at 0s"}, text: "hello from b",
		},
		{name: "a wrong key and no other", script: map[string][]step{"a": {fails(llm.ClassAuth)}}, asked: []string{"a/m at 0s"}, class: llm.ClassAuth},
		{
			name:     "no money",
			script:   map[string][]step{"a": {fails(llm.ClassBilling)}},
			fallback: []string{"b"}, asked: []string{"a/m at 0s", "b/m at 0s"}, text: "hello from b",
		},
		{
			name:     "a model that is not there",
			script:   map[string][]step{"a": {fails(llm.ClassNoModel)}},
			fallback: []string{"b"}, asked: []string{"a/m at 0s", "b/m at 0s"}, text: "hello from b",
		},
		{
			name:     "something unknown",
			script:   map[string][]step{"a": {{err: errors.New("what?")}}},
			fallback: []string{"b"}, asked: []string{"a/m at 0s", "b/m at 0s"}, text: "hello from b",
		},
		{
			name:     "our own fault",
			script:   map[string][]step{"a": {fails(llm.ClassBadRequest)}},
			fallback: []string{"b"}, asked: []string{"a/m at 0s"}, class: llm.ClassBadRequest,
		},
		{
			name:     "PR-015 too long",
			script:   map[string][]step{"a": {fails(llm.ClassTooLong)}},
			fallback: []string{"b"}, asked: []string{"a/m at 0s"}, class: llm.ClassTooLong,
		},
		{
			name:   "TC-042 an empty answer, then one",
			script: map[string][]step{"a": {says(), says("hi")}},
			asked:  []string{"a/m at 0s", "a/m at 0s"}, text: "hi",
		},
		{name: "empty twice", script: map[string][]step{"a": {says(), says(" \n")}}, asked: []string{"a/m at 0s", "a/m at 0s"}, text: " \n", class: llm.ClassEmpty},
		{name: "reasoning alone is empty", script: map[string][]step{"a": {{reasoning: "hm"}}}, asked: []string{"a/m at 0s", "a/m at 0s"}, class: llm.ClassEmpty},
		{name: "a call without text is not empty", script: map[string][]step{"a": {{call: true}}}, asked: []string{"a/m at 0s"}},
		{
			name:   "asked to wait a little",
			script: map[string][]step{"a": {retryAfter(20 * time.Second), says("hi")}},
			asked:  []string{"a/m at 0s", "a/m at 20s"}, text: "hi",
		},
		{
			name:     "PR-013 asked to wait too long",
			script:   map[string][]step{"a": {retryAfter(time.Hour)}},
			fallback: []string{"b"}, asked: []string{"a/m at 0s", "b/m at 0s"}, text: "hello from b",
		},
		{name: "asked to wait too long and no other", script: map[string][]step{"a": {retryAfter(31 * time.Second)}}, asked: []string{"a/m at 0s"}, class: llm.ClassOverloaded},
		{
			name:     "PR-011 after a tool was used",
			script:   map[string][]step{"a": {fails(llm.ClassOverloaded)}},
			fallback: []string{"a", "nobody", "b"}, used: true, asked: []string{"a/m at 0s", "a/m at 2s", "a/m at 8s"}, class: llm.ClassOverloaded, held: "b/m",
		},
		{
			name:     "after a tool was used, with nobody else",
			script:   map[string][]step{"a": {fails(llm.ClassAuth)}},
			fallback: []string{"a"}, used: true, asked: []string{"a/m at 0s"}, class: llm.ClassAuth,
		},
		{
			name:     "our own fault after a tool was used",
			script:   map[string][]step{"a": {fails(llm.ClassBadRequest)}},
			fallback: []string{"b"}, used: true, asked: []string{"a/m at 0s"}, class: llm.ClassBadRequest,
		},
		{
			name:     "one after the other",
			script:   map[string][]step{"a": {fails(llm.ClassAuth)}, "b": {fails(llm.ClassQuota)}},
			fallback: []string{"b/other", "nobody", "broken", "a", "", "c"},
			asked:    []string{"a/m at 0s", "b/other at 0s", "c/m at 0s"}, text: "hello from c",
		},
		{
			name:     "all of them fail: the last one's error",
			script:   map[string][]step{"a": {fails(llm.ClassAuth)}, "b": {fails(llm.ClassQuota)}},
			fallback: []string{"b"}, asked: []string{"a/m at 0s", "b/m at 0s"}, class: llm.ClassQuota,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(test.script)
				got := w.ask(t.Context(), w.set.For("a", test.fallback), "", test.used)
				if asked := w.calls(); !near(asked, test.asked) {
					t.Errorf("asked %q, want about %q", asked, test.asked)
				}
				if got.text != test.text {
					t.Errorf("the person sees %q, want %q", got.text, test.text)
				}
				var e *llm.Error
				switch {
				case test.class == "" && (got.err != nil || got.reply == nil):
					t.Errorf("no reply: %v", got.err)
				case test.class != "" && (!errors.As(got.err, &e) || e.Class != test.class || e.Target.Provider == "" || got.reply != nil):
					t.Errorf("%v (%+v), want %s", got.err, e, test.class)
				}
				if e != nil && e.Held.String() != test.held {
					t.Errorf("held back: %s, want %q", e.Held, test.held)
				}
				if retries := len(test.asked) - 1; len(got.notices) < retries {
					t.Errorf("%d attempts, but %q", len(test.asked), got.notices)
				}
				for _, n := range got.notices {
					if !strings.HasSuffix(n, ".") || strings.Contains(n, "..") {
						t.Errorf("no sentence: %q", n)
					}
				}
			})
		})
	}
}

func TestRequestsBelongToTheirTarget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(map[string][]step{"a": {fails(llm.ClassNetwork)}, "b": {fails(llm.ClassOverloaded), says("hi")}})
		got := w.ask(t.Context(), w.set.For("a", []string{"b"}), "", false)
		if diff := cmp.Diff([]string{"a/m", "b/m"}, got.built); diff != "" {
			t.Errorf("requests were built for (-want +got):\n%s", diff)
		}
		if got.reply == nil || got.reply.Target.Provider != "b" {
			t.Errorf("%+v", got.reply)
		}
	})
}

func TestTextIsNeverSaidTwice(t *testing.T) {
	t.Parallel()
	network := llm.ClassNetwork
	for _, test := range []struct {
		name   string
		steps  []step
		text   string
		events string
	}{
		{"PR-009 the same words again", []step{breaks(network, "Hel"), says("Hello")}, "Hello", "tt"},
		{"the same in other pieces", []step{breaks(network, "Hel", "lo wo"), says("H", "ello", " w", "orld")}, "Hello world", "ttt"},
		{"exactly the same", []step{breaks(network, "Hello"), says("Hel", "lo")}, "Hello", "t"},
		{"other words at once", []step{breaks(network, "Hel"), says("Good day")}, "Good day", "tRt"},
		{"other words later", []step{breaks(network, "Hello wo"), says("Hello ", "dear", " all")}, "Hello dear all", "tRtt"},
		{"fewer words", []step{breaks(network, "Hello world"), says("Hello")}, "Hello", "tRt"},
		{"nothing before", []step{fails(network), says("Hello")}, "Hello", "t"},
		{"other words, and broken again", []step{breaks(llm.ClassOverloaded, "a b"), breaks(llm.ClassOverloaded, "a c"), says("a c d")}, "a c d", "tRtt"},
		{"white space that was an empty answer", []step{says("\n"), says("Hello")}, "Hello", "tRt"},
		{"nothing new, and broken for good", []step{breaks(network, "Hello"), breaks(network, "Hel")}, "Hello", "t"},
		{"reasoning as well", []step{{reasoning: "hm", text: []string{"Hel"}, err: fails(network).err}, {reasoning: "hm, so", text: []string{"Hello"}}}, "Hello", "tt"},
		{"other reasoning, and then another answer", []step{{reasoning: "hm", text: []string{"Hel"}, err: fails(network).err}, {reasoning: "so", text: []string{"Hi"}}}, "Hi", "tRt"},
		{"the same reasoning", []step{{reasoning: "hm", text: []string{"Hel"}, err: fails(network).err}, {reasoning: "hm", text: []string{"Hello"}}}, "Hello", "tt"},
		{"no reasoning this time", []step{{reasoning: "hm", text: []string{"Hel"}, err: fails(network).err}, says("Hello")}, "Hello", "tt"},
		{"only reasoning before", []step{{reasoning: "hm", err: fails(network).err}, {reasoning: "hm, so", text: []string{"Hi"}}}, "Hi", "t"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(map[string][]step{"a": test.steps})
				got := w.ask(t.Context(), w.set.For("a", nil), "", false)
				if got.text != test.text || got.events != test.events {
					t.Errorf("%q by %s, want %q by %s", got.text, got.events, test.text, test.events)
				}
				last := test.steps[len(test.steps)-1]
				thought := last.reasoning
				if first := test.steps[0]; len(first.text) > 0 && first.reasoning != "" && test.events == "tt" {
					thought = first.reasoning // what was shown of an answer that is only repeated
				}
				if last.err == nil && (got.reasoning != thought || got.reply == nil) {
					t.Errorf("reasoning %q, want %q (%v)", got.reasoning, thought, got.err)
				}
			})
		})
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	for name, script := range map[string][]step{
		"while it answers": {{hang: true}},
		"while it waits":   {fails(llm.ClassOverloaded)},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(map[string][]step{"a": script})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				begin := time.Now()
				got := w.ask(ctx, w.set.For("a", []string{"b"}), "", false)
				if got.err != context.DeadlineExceeded || time.Since(begin) != time.Second { //nolint:errorlint // it has to pass as it is
					t.Errorf("%v after %s", got.err, time.Since(begin))
				}
				if st := trouble1(w.set, "a/m"); st.Failures != 0 || st.LastError != "" {
					t.Errorf("stopping counted as a failure: %+v", st)
				}
				if asked := w.calls(); len(asked) != 1 {
					t.Errorf("%q", asked)
				}
			})
		})
	}
}

func TestLeaving(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(map[string][]step{"a": {breaks(llm.ClassNetwork, "Hel"), says("Hello")}})
		for _, event := range []llm.EventType{llm.EventText, llm.EventNotice} {
			seen := 0
			build := func(t llm.Target) (llm.Request, error) { return llm.Request{Target: t}, nil }
			for e := range w.set.For("a", []string{"b"}).Stream(t.Context(), "", false, build) {
				seen++
				if e.Type == event {
					break
				}
			}
			if asked := w.calls(); len(asked) != 1 || seen > 3 {
				t.Errorf("left at %d: %d events, asked %q", event, seen, asked)
			}
			w.script["a"] = []step{breaks(llm.ClassNetwork, "Hel"), says("Hello")}
		}
	})
}

func TestErrorsOfBuildEndTheCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(nil)
		for _, want := range []error{errors.New("nothing left to call"), &llm.Error{Class: llm.ClassNetwork, Message: "not about the model"}} {
			var got error
			for _, err := range w.set.For("a", []string{"b"}).Stream(t.Context(), "", false, func(llm.Target) (llm.Request, error) {
				return llm.Request{}, want
			}) {
				got = err
			}
			if got != want || len(w.calls()) != 0 { //nolint:errorlint // it has to pass as it is
				t.Errorf("%v", got)
			}
		}
		if st := trouble1(w.set, "a/m"); st.LastError != "" {
			t.Errorf("%+v", st)
		}
	})
}

func TestEveryClassHasAnAction(t *testing.T) {
	t.Parallel()
	for _, c := range []llm.Class{
		llm.ClassOverloaded, llm.ClassNetwork, llm.ClassQuota, llm.ClassAuth, llm.ClassBilling, llm.ClassTooLong, llm.ClassNoModel,
		llm.ClassBadRequest, llm.ClassEmpty, llm.ClassUnknown,
	} {
		if a, ok := actions[c]; !ok || a.words == "" {
			t.Errorf("%s: %+v", c, a)
		}
	}
	if actionFor("new").move != actions[llm.ClassUnknown].move || !actionFor("new").move {
		t.Error("what the table doesn't know stays")
	}
}

func TestCallsThatAFilterBrokeOffAreNotRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(map[string][]step{"a": {
			{text: []string{"I will"}, call: true, finish: llm.FinishFilter},
			{call: true, finish: llm.FinishFilter},
		}})
		got := w.ask(t.Context(), w.set.For("a", nil), "", false)
		if got.err != nil || len(got.reply.Message.Calls()) != 0 || got.reply.Message.Text() != "I will" {
			t.Errorf("with words: %+v, %v", got.reply, got.err)
		}
		// Nothing is left of the second, nor of the one more that is asked for.
		got = w.ask(t.Context(), w.set.For("a", []string{"b"}), "", false)
		if asked := w.calls(); got.text != "hello from b" || len(asked) != 4 {
			t.Errorf("without: %q, %q", got.text, asked)
		}
	})
}
