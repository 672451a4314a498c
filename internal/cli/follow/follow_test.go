package follow_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/cli/follow"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a model that repeats the person's words, one a second, and a history
// and prompts that remember only those.
type echo struct{}

func (echo) Stream(ctx context.Context, _ string, _ bool, build func(llm.Target) (llm.Request, error)) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		req, err := build(llm.Target{Provider: "echo"})
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		text := req.Messages[len(req.Messages)-1].Text()
		for _, word := range strings.SplitAfter(text, " ") {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				yield(llm.Event{}, ctx.Err())
				return
			}
			if !yield(llm.Event{Type: llm.EventText, Text: word}, nil) {
				return
			}
		}
		yield(llm.Event{Type: llm.EventDone, Reply: &llm.Reply{Message: llm.AssistantMessage(text)}}, nil)
	}
}

func (echo) Offer(_ context.Context, s tool.Scope, t llm.Target, st tool.State, _ tool.Ask) (tool.Surface, error) {
	return tool.Surface{Scope: s, Target: t, State: st}, nil
}

func (echo) Execute(context.Context, tool.Surface, []llm.ToolCall, func(tool.Event)) []tool.Outcome {
	return nil
}
func (echo) Context(context.Context, agent.Turn) ([]llm.Part, error) { return nil, nil }
func (echo) Build(_ context.Context, _ agent.Turn, _ tool.Surface, m []llm.Message) (llm.Request, agent.RequestFacts, error) {
	return llm.Request{Messages: m}, agent.RequestFacts{}, nil
}

func (echo) Begin(_ context.Context, t agent.Turn) (agent.Thread, error) {
	return agent.Thread{Messages: []llm.Message{t.Message}}, nil
}

func (echo) Called(context.Context, agent.Turn, *agent.Round) error { return nil }

func (echo) Result(context.Context, agent.Turn, *agent.Round, int, tool.Outcome) error { return nil }

func (echo) Settled(context.Context, agent.Turn, *agent.Round) error { return nil }

func (echo) Answered(context.Context, agent.Turn, *agent.Round, agent.End) error { return nil }

func (echo) End(context.Context, agent.Turn, agent.End) error { return nil }

// following returns a runner and who follows it; both end with the test.
func following(t *testing.T) (*run.Runner, *follow.Follower) {
	r := run.New(run.Options{
		Profile: func(string) (run.Profile, error) {
			e := echo{}
			return run.Profile{ID: "main", Loop: &agent.Agent{Models: e, Toolbox: e, Prompts: e, History: e, Now: time.Now}}, nil
		},
		Hold:    func(context.Context, session.Key, func()) (func(), error) { return func() {}, nil },
		Waiting: 1000,
	})
	ctx, stop := context.WithCancel(context.Background())
	f := follow.Start(ctx, r)
	t.Cleanup(func() {
		stop()
		f.Wait()
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r, f
}

func start(t *testing.T, r *run.Runner, session, text string) *run.Run {
	t.Helper()
	started, err := r.Start(run.Request{Session: session, Origin: tool.FromChat, Caller: auth.Principal{ID: "p", Role: auth.User}, Message: llm.UserMessage(text)})
	if err != nil {
		t.Fatal(err)
	}
	return started
}

// told reads until so many runs have ended, and returns their words and ends.
func told(f *follow.Follower, runs int) string {
	var b strings.Builder
	for runs > 0 {
		e := <-f.Events()
		switch {
		case e.Of.ID != e.Run:
			fmt.Fprintf(&b, "event of %s with run %s\n", e.Run, e.Of.ID)
		case e.Type == agent.TokenChunk:
			b.WriteString(e.Text)
		case e.End != nil:
			fmt.Fprintf(&b, " (%s)\n", e.End.Status)
			runs--
		}
	}
	return b.String()
}

func TestRunsComeInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := following(t)
		for _, text := range []string{"one two", "three", "four five"} {
			f.Tell(start(t, r, "s", text))
		}
		if got, want := told(f, 3), "one two (done)\nthree (done)\nfour five (done)\n"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// A run that ended before anybody was told of it is handed on all the same, and
// so is one of another session.
func TestNothingIsMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := following(t)
		one, two := start(t, r, "s", "one"), start(t, r, "s", "two")
		<-two.Done()
		f.Tell(one)
		f.Tell(two)
		other := start(t, r, "t", "other")
		f.Tell(other)
		if got, want := told(f, 3), "one (done)\ntwo (done)\nother (done)\n"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// A run that is stopped while it waits is told of behind the one that is going.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := following(t)
		runs := []*run.Run{start(t, r, "s", "one"), start(t, r, "s", "two"), start(t, r, "s", "three")}
		for _, r := range runs {
			f.Tell(r)
		}
		runs[1].Stop()
		if got, want := told(f, 3), "one (done)\nthree (done)\n (stopped)\n"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// Many messages may wait while nobody reads.
func TestTellNeverBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := following(t)
		const many = 300
		var want strings.Builder
		for i := range many {
			f.Tell(start(t, r, "s", fmt.Sprint(i)))
			fmt.Fprintf(&want, "%d (done)\n", i)
		}
		synctest.Wait()
		if got := told(f, many); got != want.String() {
			t.Errorf("got\n%s", got)
		}
	})
}

// The end of the context ends the goroutines, whatever they are at.
func TestEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := following(t)
		f.Tell(start(t, r, "s", "a long answer that nobody reads"))
		synctest.Wait()
	})
}
