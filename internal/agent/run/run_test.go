package run_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func TestMain(m *testing.M) {
	flag.Parse()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil))) // faults are made on purpose here
	if *child != "" {
		beChild(*child)
	}
	goleak.VerifyTestMain(m)
}

// log is what all tests together told the log.
var log lines

// lines keeps a text, by several writers at once.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// of returns the lines that name a run.
func (l *lines) of(run string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for line := range strings.Lines(l.b.String()) {
		if strings.Contains(line, "run="+run) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

// echo is a model that repeats the person's last words after a second, and a
// history and prompts that remember only that. "panic" breaks its code; "call"
// makes a call first, so that something can join before the second model call.
type echo struct {
	mu   sync.Mutex
	seen []string // messages in the order in which the model was given them
	busy int
	most int

	thinks time.Duration            // how long; a second when 0
	asked  func()                   // called when it begins to think
	called func(*agent.Round) error // nil stores every round
	begun  func(agent.Turn)
}

func (e *echo) Stream(ctx context.Context, _ string, _ bool, build func(llm.Target) (llm.Request, error)) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		req, err := build(llm.Target{Provider: "echo"})
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		last := len(req.Messages) - 1
		for last > 0 && req.Messages[last].Role == llm.User && req.Messages[last].Text() == "" {
			last-- // the host's words
		}
		text := req.Messages[last].Text()
		e.enter(text)
		defer e.leave()
		if e.asked != nil {
			e.asked()
		}
		if text == "panic" {
			panic("broken")
		}
		select {
		case <-time.After(cmp.Or(e.thinks, time.Second)):
		case <-ctx.Done():
			yield(llm.Event{}, ctx.Err())
			return
		}
		for _, word := range strings.SplitAfter(text, " ") {
			if !yield(llm.Event{Type: llm.EventText, Text: word}, nil) {
				return
			}
		}
		reply := llm.AssistantMessage(text)
		if text == "call" {
			reply.Parts = append(reply.Parts, llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{ID: "c", Name: "noop", Arguments: "{}"}})
		}
		yield(llm.Event{Type: llm.EventDone, Reply: &llm.Reply{Message: reply}}, nil)
	}
}

func (e *echo) enter(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, text)
	e.busy++
	e.most = max(e.most, e.busy)
}

func (e *echo) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy--
}

func (e *echo) Offer(_ context.Context, s tool.Scope, t llm.Target, st tool.State, _ tool.Ask) (tool.Surface, error) {
	return tool.Surface{Scope: s, Target: t, State: st}, nil
}

func (e *echo) Execute(_ context.Context, _ tool.Surface, calls []llm.ToolCall, emit func(tool.Event)) []tool.Outcome {
	o := tool.Outcome{Call: calls[0], Tool: "noop", Status: tool.OK, Content: []llm.Part{llm.Text("ok")}}
	emit(tool.Event{Type: tool.Finished, Outcome: &o})
	return []tool.Outcome{o}
}
func (e *echo) Context(context.Context, agent.Turn) ([]llm.Part, error) { return nil, nil }
func (e *echo) Build(_ context.Context, _ agent.Turn, sf tool.Surface, m []llm.Message) (llm.Request, agent.RequestFacts, error) {
	return llm.Request{Messages: m}, agent.RequestFacts{}, nil
}

func (e *echo) Begin(_ context.Context, t agent.Turn) (agent.Thread, error) {
	if e.begun != nil {
		e.begun(t)
	}
	return agent.Thread{Messages: []llm.Message{t.Message}}, nil
}

func (e *echo) Called(_ context.Context, _ agent.Turn, r *agent.Round) error {
	if e.called == nil {
		return nil
	}
	return e.called(r)
}

func (e *echo) Result(context.Context, agent.Turn, *agent.Round, int, tool.Outcome) error { return nil }

func (e *echo) Settled(context.Context, agent.Turn, *agent.Round) error { return nil }

func (e *echo) Answered(ctx context.Context, t agent.Turn, r *agent.Round, _ agent.End) error {
	return e.Called(ctx, t, r)
}

func (e *echo) End(context.Context, agent.Turn, agent.End) error { return nil }

// runner returns a runner that ends with the test.
func runner(t *testing.T, e *echo, busy run.Busy) *run.Runner {
	r := run.New(run.Options{
		WhileBusy: busy,
		Profile: func(id string) (run.Profile, error) {
			if id == "nobody" {
				return run.Profile{}, errors.New("no agent nobody")
			}
			return run.Profile{ID: "main", Loop: &agent.Agent{Models: e, Toolbox: e, Prompts: e, History: e, Now: time.Now}}, nil
		},
		Hold: func(context.Context, session.Key, func()) (func(), error) { return func() {}, nil },
	})
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func ask(session, text string) run.Request {
	return run.Request{Session: session, Origin: tool.FromChat, Caller: auth.Principal{ID: "p", Role: auth.User}, Message: llm.UserMessage(text)}
}

func start(t *testing.T, r *run.Runner, req run.Request) *run.Run {
	t.Helper()
	started, err := r.Start(req)
	if err != nil {
		t.Fatal(err)
	}
	return started
}

func answer(ctx context.Context, r *run.Run) string {
	var last agent.Event
	for e := range r.Events(ctx, 0) {
		last = e
	}
	if last.End == nil {
		return "no end"
	}
	return fmt.Sprintf("%s %q", last.End.Status, last.Text)
}

func TestRunsOfOneSessionQueueAndOfOthersDont(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &echo{}
		r := runner(t, e, run.Queue)
		began := time.Now()
		one, two, other := start(t, r, ask("s", "one")), start(t, r, ask("s", "two")), start(t, r, ask("o", "other"))
		for want, got := range map[string]*run.Run{`done "one"`: one, `done "two"`: two, `done "other"`: other} {
			if a := answer(t.Context(), got); a != want {
				t.Errorf("%s, want %s", a, want)
			}
		}
		if d := time.Since(began); d != 2*time.Second || e.most != 2 {
			t.Errorf("took %v with %d at once, want 2s with 2", d, e.most)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := r.Start(ask("s", "late")); !errors.Is(err, run.ErrClosed) {
			t.Errorf("a closed runner says %v", err)
		}
	})
}

// notices are the notices of a run: kind, what they refer to, text.
func notices(ctx context.Context, r *run.Run) []string {
	var out []string
	for e := range r.Events(ctx, 0) {
		if e.Type == agent.Notice {
			out = append(out, strings.TrimSpace(e.Kind+" "+e.Ref))
		}
	}
	return out
}

func TestSteeringJoinsTheGoingRunOrIsHandledNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &echo{}
		r := runner(t, e, run.Steer)
		first := start(t, r, ask("s", "call"))
		time.Sleep(100 * time.Millisecond)
		joined := start(t, r, ask("s", "and this"))
		stranger := ask("s", "not yours")
		stranger.Caller.ID = "q"
		own := start(t, r, stranger)
		narrow := ask("s", "with less")
		narrow.Cap = tool.Only("noop")
		less := start(t, r, narrow)
		other := ask("s", "under other words")
		other.System = "be brief"
		words := start(t, r, other)
		if going, waiting := r.Session(session.Key{Agent: "main", ID: "s"}); going != first || !slices.Equal(waiting, []*run.Run{joined, own, less, words}) {
			t.Errorf("going %v, waiting %v", going, waiting)
		}
		time.Sleep(1500 * time.Millisecond) // the second model call is under way: too late to steer it
		if joined.State() != run.Running {
			t.Errorf("what the run has taken in is %s", joined.State())
		}
		late := start(t, r, ask("s", "too late"))
		for got, want := range map[*run.Run]string{
			first: `done "and this"`, joined: `done ""`, own: `done "not yours"`, less: `done "with less"`, words: `done "under other words"`, late: `done "too late"`,
		} {
			if a := answer(t.Context(), got); a != want {
				t.Errorf("%s, want %s", a, want)
			}
		}
		if want := []string{"call", "and this", "too late", "not yours", "with less", "under other words"}; !slices.Equal(e.seen, want) {
			t.Errorf("the model was given %q, want %q", e.seen, want)
		}
		if got, want := notices(t.Context(), first), []string{"steered " + joined.ID}; !slices.Equal(got, want) {
			t.Errorf("the going run tells %q, want %q", got, want)
		}
		if got, want := notices(t.Context(), joined), []string{"queued " + first.ID, "joined " + first.ID}; !slices.Equal(got, want) {
			t.Errorf("the run that joined tells %q, want %q", got, want)
		}
		if got, want := notices(t.Context(), late), []string{"queued " + first.ID}; !slices.Equal(got, want) {
			t.Errorf("the late run tells %q, want %q", got, want)
		}
	})
}

// What a run has taken in without being able to store it is handled by itself.
func TestWordsThatWereTakenInAndNotStoredAreHandledNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &echo{}
		e.called = func(r *agent.Round) error {
			if len(r.Joined) > 0 {
				return errors.New("disk full")
			}
			return nil
		}
		r := runner(t, e, run.Steer)
		first := start(t, r, ask("s", "call"))
		synctest.Wait()
		second := start(t, r, ask("s", "and this"))
		if a := answer(t.Context(), first); !strings.HasPrefix(a, "failed") || !strings.Contains(a, "disk full") {
			t.Errorf("the run that could not store: %s", a)
		}
		if a := answer(t.Context(), second); a != `done "and this"` {
			t.Errorf("the words: %s", a)
		}
	})
}

func TestStopAndInterrupt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &echo{}
		r := runner(t, e, run.Interrupt)
		first := start(t, r, ask("s", "one"))
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		second := start(t, r, ask("s", "two"))
		if a := answer(t.Context(), first); a != `stopped ""` || time.Since(began) != 0 {
			t.Errorf("the first run: %s after %v", a, time.Since(began))
		}
		synctest.Wait() // until the second one has taken its place
		if !r.StopSession(session.Key{Agent: "main", ID: "s"}) {
			t.Error("nothing to stop")
		}
		if a := answer(t.Context(), second); !strings.HasPrefix(a, "stopped") {
			t.Errorf("the second run: %s", a)
		}
		synctest.Wait()
		if r.StopSession(session.Key{Agent: "main", ID: "s"}) {
			t.Error("an idle session was stopped")
		}
	})
}

func TestAQueuedRunIsStoppedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &echo{}
		r := runner(t, e, run.Queue)
		first, second, third := start(t, r, ask("s", "one")), start(t, r, ask("s", "two")), start(t, r, ask("s", "three"))
		began := time.Now()
		second.Stop()
		second.Stop()
		if a := answer(t.Context(), second); a != `stopped ""` || time.Since(began) != 0 {
			t.Errorf("%s after %v", a, time.Since(began))
		}
		for want, got := range map[string]*run.Run{`done "one"`: first, `done "three"`: third} {
			if a := answer(t.Context(), got); a != want {
				t.Errorf("%s, want %s", a, want)
			}
		}
		if want := []string{"one", "three"}; !slices.Equal(e.seen, want) {
			t.Errorf("the model was given %q, want %q", e.seen, want)
		}
	})
}

func TestMessagesThatInterruptKeepTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &echo{}
		r := runner(t, e, run.Interrupt)
		start(t, r, ask("s", "one"))
		synctest.Wait()
		start(t, r, ask("s", "two"))
		last := start(t, r, ask("s", "three"))
		if a := answer(t.Context(), last); a != `done "three"` {
			t.Errorf("the last run: %s", a)
		}
		if want := []string{"one", "two", "three"}; !slices.Equal(e.seen, want) {
			t.Errorf("the model was given %q, want %q", e.seen, want)
		}
	})
}

func TestViewersComeLateLeaveAndResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := runner(t, &echo{}, run.Queue)
		going := start(t, r, ask("s", "a b c d"))
		for range going.Events(t.Context(), 0) {
			break // this viewer leaves at once; the run goes on
		}
		<-going.Done()

		var text string
		seen := 0
		for e := range going.Events(t.Context(), 0) {
			if e.Seq <= seen {
				t.Errorf("event %d comes after %d", e.Seq, seen)
			}
			seen = e.Seq
			if e.Type == agent.TokenChunk {
				text += e.Text
			}
		}
		if text != "a b c d" {
			t.Errorf("a late viewer reads %q", text)
		}
		for after := range seen {
			var rest string
			for e := range going.Events(t.Context(), after) {
				if e.Type == agent.TokenChunk {
					rest += e.Text
				}
			}
			if !strings.HasSuffix(text, rest) {
				t.Errorf("behind %d stands %q", after, rest)
			}
		}
		if again, ok := r.Run(going.ID); !ok || again != going {
			t.Error("an ended run can't be found")
		}
	})
}

func TestAPanicInTheLoopEndsOnlyItsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := runner(t, &echo{}, run.Queue)
		bad, good := start(t, r, ask("s", "panic")), start(t, r, ask("s", "fine"))
		if a := answer(t.Context(), bad); !strings.HasPrefix(a, `failed "internal error: broken`) {
			t.Errorf("the broken run: %s", a)
		}
		if a := answer(t.Context(), good); a != `done "fine"` {
			t.Errorf("the next run: %s", a)
		}
	})
}

func TestWhatCantStart(t *testing.T) {
	t.Parallel()
	r := runner(t, &echo{}, run.Queue)
	for name, change := range map[string]func(*run.Request){
		"an unknown agent": func(q *run.Request) { q.Agent = "nobody" },
		"no message":       func(q *run.Request) { q.Message = llm.Message{} },
		"no caller":        func(q *run.Request) { q.Caller = auth.Principal{} },
		"no origin":        func(q *run.Request) { q.Origin = "" },
	} {
		req := ask("s", "hi")
		change(&req)
		if _, err := r.Start(req); err == nil {
			t.Errorf("%s: started", name)
		}
	}
}

func TestCloseStopsWhatIsGoing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := runner(t, &echo{}, run.Queue)
		going, waiting := start(t, r, ask("s", "one")), start(t, r, ask("s", "two"))
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, x := range []*run.Run{going, waiting} {
			if a := answer(t.Context(), x); !strings.HasPrefix(a, "stopped") {
				t.Errorf("a closed runner's run: %s", a)
			}
		}
	})
}
