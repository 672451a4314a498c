package provider_test

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/store/sqlite/sqlitetest"
)

// speaker is a model that says the same each time, and how often it was asked.
type speaker struct {
	mu    sync.Mutex
	reply llm.Reply
	fails bool
	asked int
}

func (s *speaker) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	reply, fails := s.reply, s.fails
	return func(yield func(llm.Event, error) bool) {
		if fails {
			yield(llm.Event{}, &llm.Error{Class: llm.ClassAuth, Message: "no"})
			return
		}
		for _, p := range reply.Message.Parts {
			e := llm.Event{Type: llm.EventText, Text: p.Text}
			if p.Kind == llm.KindReasoning {
				e.Type = llm.EventReasoning
			}
			if p.Text != "" && !yield(e, nil) {
				return
			}
		}
		reply.Target = req.Target
		yield(llm.Event{Type: llm.EventDone, Reply: &reply}, nil)
	}
}

// said is a whole answer with what it took.
func said() llm.Reply {
	return llm.Reply{
		Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.KindReasoning, Text: "hm", Opaque: &llm.Opaque{Vendor: "v", Data: []byte(`{"sig":"x"}`)}}, llm.Text("Yes, ü."),
		}},
		Finish: llm.FinishStop, Usage: llm.Usage{Input: 10, Output: 5}, Model: "m-2026", ID: "resp_1",
	}
}

// desk is a set of the providers a and b with a cache.
type desk struct {
	*provider.Set
	t *testing.T
	*speaker
	log bytes.Buffer
}

func newDesk(t *testing.T, answers provider.Answers, ttl time.Duration, more ...provider.Settings) *desk {
	d := &desk{t: t, speaker: &speaker{reply: said()}}
	d.Set = provider.New(provider.Options{
		Vendors: map[string]provider.Vendor{"openai": {Open: func(provider.Settings) (llm.Model, error) { return d.speaker, nil }}},
		Providers: append([]provider.Settings{
			{Name: "a", Type: provider.Compatible, BaseURL: "http://a", Model: "m"},
			{Name: "b", Type: provider.Compatible, BaseURL: "http://b", Model: "m"},
		}, more...),
		Cache: provider.Cache{Answers: answers, TTL: ttl, Log: slog.New(slog.NewTextHandler(&d.log, nil))},
	})
	return d
}

func db(t *testing.T) provider.Answers {
	return sqlitetest.Open(t, filepath.Join(t.TempDir(), "state.db")).Answers()
}

// question is a request that may be answered from the cache.
func question() llm.Request {
	return llm.Request{
		Static: "be kind", Session: "to Ada", Reuse: true, Clock: "Now: 12:00",
		Messages: []llm.Message{
			llm.UserMessage("hi"), llm.AssistantMessage("hello"),
			{Role: llm.User, Parts: []llm.Part{llm.Text("is it so?"), {Kind: llm.KindContext, Text: "Now: 12:00"}, {Kind: llm.KindContext, Text: "a memory"}}},
		},
	}
}

// ask returns the reply to q and what streamed: reasoning in brackets, text.
func (d *desk) ask(model string, q llm.Request) (*llm.Reply, string) {
	d.t.Helper()
	var reply *llm.Reply
	text := ""
	for e, err := range d.For(model, nil).Stream(d.t.Context(), "", false, func(t llm.Target) (llm.Request, error) { q.Target = t; return q, nil }) {
		if err != nil {
			return nil, err.Error()
		}
		switch e.Type {
		case llm.EventText:
			text += e.Text
		case llm.EventReasoning:
			text += "[" + e.Text + "]"
		case llm.EventDone:
			reply = e.Reply
		}
	}
	return reply, text
}

// hits reports whether q is answered without asking the model.
func (d *desk) hits(model string, q llm.Request) bool {
	d.t.Helper()
	before := d.asked
	reply, text := d.ask(model, q)
	if reply == nil {
		d.t.Fatalf("no reply: %s", text)
	}
	hit := d.asked == before
	if hit != reply.Cached {
		d.t.Errorf("asked %v, and the reply says cached %v", !hit, reply.Cached)
	}
	return hit
}

func TestAnEqualRequestIsAnsweredFromTheCache(t *testing.T) {
	t.Parallel()
	kept := db(t)
	first := newDesk(t, kept, time.Minute)
	if first.hits("a", question()) {
		t.Fatal("answered before anybody asked")
	}
	second := newDesk(t, kept, time.Minute) // as after a restart, or beside it
	later := question()
	later.Clock = "Now: 12:01"
	later.Messages[2].Parts[1].Text = "Now: 12:01"
	reply, text := second.ask("a", later)
	want := said()
	want.Usage, want.ID, want.Cached, want.Target = llm.Usage{}, "", true, reply.Target
	if d := cmp.Diff(&want, reply); d != "" || text != "[hm]Yes, ü." || second.asked != 0 {
		t.Errorf("asked %d times, %q, reply (-want +got)\n%s", second.asked, text, d)
	}
	if hits, misses := second.CacheCount(); hits != 1 || misses != 0 {
		t.Errorf("%d hits, %d misses", hits, misses)
	}
	if hits, misses := first.CacheCount(); hits != 0 || misses != 1 {
		t.Errorf("%d hits, %d misses of the first", hits, misses)
	}
}

// Whatever a model's answer may depend on makes another request.
func TestAnotherRequestIsAskedAnew(t *testing.T) {
	t.Parallel()
	half := 0.5
	changes := map[string]func(*llm.Request){
		"Target":      func(q *llm.Request) { q.Target.Images = !q.Target.Images },
		"Static":      func(q *llm.Request) { q.Static = "be short" },
		"Session":     func(q *llm.Request) { q.Session = "to Bob" },
		"Messages":    func(q *llm.Request) { q.Messages[2].Parts[2].Text = "another memory" },
		"Tools":       func(q *llm.Request) { q.Tools = []llm.ToolSpec{{Name: "calc"}} },
		"Choice":      func(q *llm.Request) { q.Choice = llm.ChoiceNone },
		"Only":        func(q *llm.Request) { q.Only = "calc" },
		"MaxOutput":   func(q *llm.Request) { q.MaxOutput = 5 },
		"Temperature": func(q *llm.Request) { q.Temperature = &half },
		"Reasoning":   func(q *llm.Request) { q.Reasoning = "high" },
		"Reuse":       func(q *llm.Request) { q.Reuse = false },
		// The time of an earlier turn is part of what was said.
		"Clock": func(q *llm.Request) {
			q.Messages[0].Parts = append(q.Messages[0].Parts, llm.Part{Kind: llm.KindContext, Text: q.Clock})
		},
	}
	fields := reflect.TypeFor[llm.Request]()
	for i := range fields.NumField() {
		name := fields.Field(i).Name
		if name == "Load" {
			continue // brings what the sums in Messages name
		}
		change := changes[name]
		if change == nil {
			t.Errorf("whether requests that differ in %s have the same answer, nobody says", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, db(t), time.Minute)
			d.hits("a", question())
			q := question()
			asked := d.asked
			for range d.For("a", nil).Stream(t.Context(), "", false, func(t llm.Target) (llm.Request, error) { q.Target = t; change(&q); return q, nil }) {
			}
			if d.asked == asked {
				t.Error("it was answered from the cache")
			}
			if !d.hits("a", question()) {
				t.Error("the first one's answer is gone")
			}
		})
	}
	t.Run("order", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, db(t), time.Minute)
		d.hits("a", question())
		q := question()
		q.Static, q.Session = q.Static+q.Session, ""
		if d.hits("a", q) {
			t.Error("two texts are taken for one")
		}
	})
}

func TestAnotherProviderIsAskedAnew(t *testing.T) {
	t.Parallel()
	kept := db(t)
	newDesk(t, kept, time.Minute).hits("a", question())
	for name, s := range map[string]provider.Settings{
		"name":    {Name: "c", Type: provider.Compatible, BaseURL: "http://a", Model: "m"},
		"address": {Name: "a", Type: provider.Compatible, BaseURL: "http://elsewhere", Model: "m"},
		"model":   {Name: "a", Type: provider.Compatible, BaseURL: "http://a", Model: "n"},
		"headers": {Name: "a", Type: provider.Compatible, BaseURL: "http://a", Model: "m", Headers: map[string]string{"OpenAI-Project": "p"}},
	} {
		d := newDesk(t, kept, time.Minute, s)
		if d.hits(s.Name, question()) {
			t.Errorf("another %s: answered from the cache", name)
		}
	}
}

func TestOnlyWholeAnswersInWordsAreKept(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*llm.Reply){
		"cut":      func(r *llm.Reply) { r.Finish = llm.FinishLength },
		"filtered": func(r *llm.Reply) { r.Finish = llm.FinishFilter },
		"no end":   func(r *llm.Reply) { r.Finish = "" },
		"a call": func(r *llm.Reply) {
			r.Message.Parts = append(r.Message.Parts, llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{Name: "x"}})
		},
		"an image": func(r *llm.Reply) {
			r.Message.Parts = append(r.Message.Parts, llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png"}})
		},
		"too large": func(r *llm.Reply) { r.Message.Parts[1].Text = strings.Repeat("long ", 60_000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, db(t), time.Minute)
			change(&d.reply)
			for range 2 {
				if d.hits("a", question()) {
					t.Error("answered from the cache")
				}
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t, db(t), time.Minute)
		d.reply.Message.Parts[1].Text = " \n"
		if reply, _ := d.ask("a", question()); reply != nil {
			t.Fatal("an empty answer is one")
		}
		d.reply = said()
		if d.hits("a", question()) {
			t.Error("an empty answer was kept")
		}
	})
}

func TestAnAnswerIsKeptForItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := db(t)
		d := newDesk(t, kept, time.Minute)
		d.hits("a", question())
		time.Sleep(59 * time.Second)
		if !d.hits("a", question()) {
			t.Error("gone too early")
		}
		if newDesk(t, kept, 30*time.Second).hits("a", question()) {
			t.Error("answered by one that is older than is allowed now")
		}
		time.Sleep(time.Minute)
		if newDesk(t, ahead{kept}, time.Minute).hits("a", question()) {
			t.Error("answered by one that has expired")
		}
		if d.hits("a", question()) {
			t.Error("answered from the future")
		}
		time.Sleep(time.Minute)
		if d.hits("a", question()) {
			t.Error("answered by one that has expired")
		}
		if off := newDesk(t, kept, 0); off.hits("a", question()) {
			t.Error("answered with the cache off")
		}
	})
}

// ahead keeps as a process would whose clock is an hour ahead.
type ahead struct{ provider.Answers }

func (s ahead) Keep(ctx context.Context, a provider.Answer, rows int, size int64) error {
	a.Created, a.Expires = a.Created.Add(time.Hour), a.Expires.Add(time.Hour)
	return s.Answers.Keep(ctx, a, rows, size)
}

// spoiled gives back what is not what was kept.
type spoiled struct {
	provider.Answers
	spoil func(a *provider.Answer) error
}

func (s spoiled) Answer(ctx context.Context, key provider.AnswerKey) (provider.Answer, bool, error) {
	a, ok, err := s.Answers.Answer(ctx, key)
	if err == nil && ok {
		err = s.spoil(&a)
	}
	return a, ok, err
}

func TestADamagedAnswerCostsNothingButItself(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*provider.Answer) error{
		"cut":   func(a *provider.Answer) error { a.Packed = a.Packed[:len(a.Packed)-1]; return nil },
		"empty": func(a *provider.Answer) error { a.Packed = nil; return nil },
		"changed": func(a *provider.Answer) error {
			a.Packed = bytes.Replace(a.Packed, []byte("Yes"), []byte("Not"), 1)
			return nil
		},
		"no table": func(*provider.Answer) error { return context.DeadlineExceeded },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, spoiled{db(t), spoil}, time.Minute)
			d.hits("a", question())
			if reply, text := d.ask("a", question()); reply == nil || reply.Cached || text != "[hm]Yes, ü." || d.asked != 2 {
				t.Errorf("asked %d times, answered %q (%+v)", d.asked, text, reply)
			}
			if !strings.Contains(d.log.String(), "a kept answer can't be read") {
				t.Errorf("the log says %q", d.log.String())
			}
		})
	}
}

// untouched is for those who have no business there.
type untouched struct {
	provider.Answers
	t *testing.T
}

func (s untouched) Answer(context.Context, provider.AnswerKey) (a provider.Answer, ok bool, err error) {
	s.t.Error("an answer is looked for")
	return a, false, nil
}

func (s untouched) Keep(context.Context, provider.Answer, int, int64) error {
	s.t.Error("an answer is kept")
	return nil
}

func TestToolsKeepARequestAwayFromTheCache(t *testing.T) {
	t.Parallel()
	d := newDesk(t, untouched{t: t}, time.Minute)
	tools, own := question(), question()
	tools.Tools = []llm.ToolSpec{{Name: "calc"}}
	own.Reuse = false
	for _, q := range []llm.Request{tools, own} {
		if d.hits("a", q) {
			t.Error("it was answered from the cache")
		}
	}
	if hits, misses := d.CacheCount(); hits+misses > 0 {
		t.Errorf("%d hits, %d misses", hits, misses)
	}
}

// What came from the cache says nothing of the provider's health.
func TestAnAnswerFromTheCacheIsNoSignOfLife(t *testing.T) {
	t.Parallel()
	d := newDesk(t, db(t), time.Minute)
	d.hits("a", question())
	d.fails = true
	other := question()
	other.Reuse = false
	if reply, _ := d.ask("a", other); reply != nil {
		t.Fatal("a failure is a reply")
	}
	if !d.hits("a", question()) {
		t.Error("no answer from the cache")
	}
	for _, s := range d.State() {
		if s.Target.Provider == "a" && s.Cooling.IsZero() {
			t.Error("the provider is taken for well again")
		}
	}
}
