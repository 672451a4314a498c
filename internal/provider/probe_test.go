package provider

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/llm"
)

// probed is a vendor that is asked what its models can do.
type probed struct {
	says  func(ctx context.Context) (Abilities, error)
	asked int
	// refuses answers requests; nil takes all.
	refuses func(llm.Request) error
}

func (p *probed) Probe(ctx context.Context, _ string) (Abilities, error) {
	p.asked++
	return p.says(ctx)
}

func (p *probed) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if p.refuses != nil {
			if err := p.refuses(req); err != nil {
				yield(llm.Event{}, err)
				return
			}
		}
		yield(llm.Event{Type: llm.EventDone, Reply: &llm.Reply{Message: llm.AssistantMessage("a"), Target: req.Target}}, nil)
	}
}

// set is a Set of p alone, called mine, with the model m.
func (p *probed) set(s Settings) *Set {
	s.Name, s.Type, s.BaseURL, s.Model = "mine", Compatible, "http://box", "m"
	return New(Options{Vendors: map[string]Vendor{"openai": {Open: func(Settings) (llm.Model, error) { return p, nil }}}, Providers: []Settings{s}})
}

// targets makes a call and returns what its requests were built for.
func targets(t *testing.T, s *Set) (built []llm.Target) {
	t.Helper()
	for _, err := range s.For("mine", nil).Stream(t.Context(), "", false, func(target llm.Target) (llm.Request, error) {
		built = append(built, target)
		return llm.Request{Target: target}, nil
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	return built
}

func TestWhatAServerSaysOfAModel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		settings Settings
		says     Abilities
		err      error
		want     llm.Target
	}{
		{"all", Settings{}, Abilities{ContextWindow: 8_000, MaxOutput: 2_000, Known: true, Images: true, Tools: true}, nil, llm.Target{ContextWindow: 8_000, MaxOutput: 2_000, Images: true, Tools: true}},
		{"no tools", Settings{}, Abilities{Known: true}, nil, llm.Target{}},
		{"sizes only", Settings{}, Abilities{ContextWindow: 8_000, Images: true}, nil, llm.Target{ContextWindow: 8_000, Images: true, Tools: true}},
		{"other sizes than configured", Settings{ContextWindow: 4_000, MaxOutput: 1_000}, Abilities{ContextWindow: 8_000, MaxOutput: 2_000}, nil, llm.Target{ContextWindow: 4_000, MaxOutput: 1_000, Images: true, Tools: true}},
		{"nothing", Settings{}, Abilities{}, errors.New("no"), llm.Target{Images: true, Tools: true}},
	} {
		p := &probed{says: func(context.Context) (Abilities, error) { return test.says, test.err }}
		s := p.set(test.settings)
		test.want.Provider, test.want.Model, test.want.Vendor = "mine", "m", "openai"
		for range 2 {
			if got := targets(t, s); len(got) != 1 || got[0] != test.want {
				t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
			}
		}
		// It is known from then on, also to those who don't ask.
		if got, err := s.For("mine", nil).Target(""); err != nil || got != test.want || p.asked != 1 {
			t.Errorf("%s: %+v, %v; asked %d times", test.name, got, err, p.asked)
		}
	}
}

// What was said holds for some minutes. A server that doesn't answer delays a
// call for a moment and doesn't fail it, and what it said before goes on to
// hold.
func TestHowLongItHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hangs bool
		p := &probed{says: func(ctx context.Context) (Abilities, error) {
			if hangs {
				<-ctx.Done()
				return Abilities{}, ctx.Err()
			}
			return Abilities{ContextWindow: 8_000, Known: true}, nil
		}}
		s := p.set(Settings{})
		for _, step := range []struct {
			after time.Duration
			hangs bool
			asked int
			took  time.Duration
		}{
			{0, false, 1, 0},
			{probeHolds - 1, true, 1, 0},
			{1, true, 2, probeWithin},
			{probeAgain - probeWithin - 1, true, 2, 0},
			{probeWithin + 1, true, 3, probeWithin},
			{probeAgain, false, 4, 0},
		} {
			time.Sleep(step.after)
			hangs = step.hangs
			begin := time.Now()
			got := targets(t, s)
			if len(got) != 1 || got[0].Tools || got[0].ContextWindow != 8_000 || p.asked != step.asked || time.Since(begin) != step.took {
				t.Errorf("%+v: %+v, asked %d times, took %s", step, got, p.asked, time.Since(begin))
			}
		}
	})
}

// A refusal of tools has the request made again without, once, and is
// remembered as long as what the server says.
func TestRefusedTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &probed{
			says: func(context.Context) (Abilities, error) { return Abilities{Known: true, Tools: true}, nil },
			refuses: func(r llm.Request) error {
				if r.Target.Tools {
					return &llm.Error{Class: llm.ClassBadRequest, Status: 400, Message: "m does not support tools"}
				}
				return nil
			},
		}
		s := p.set(Settings{})
		if got := targets(t, s); len(got) != 2 || !got[0].Tools || got[1].Tools {
			t.Errorf("%+v", got)
		}
		if got := targets(t, s); len(got) != 1 || got[0].Tools {
			t.Errorf("%+v", got)
		}
		time.Sleep(probeHolds)
		if got := targets(t, s); len(got) != 2 {
			t.Errorf("%+v", got)
		}
		// Who refuses them all the same refuses the request.
		p.refuses = func(llm.Request) error {
			return &llm.Error{Class: llm.ClassBadRequest, Status: 400, Message: "m does not support tools"}
		}
		var failed error
		for _, err := range s.For("mine", nil).Stream(t.Context(), "", false, func(t llm.Target) (llm.Request, error) { return llm.Request{Target: t}, nil }) {
			failed = err
		}
		if failed == nil || !strings.Contains(failed.Error(), "does not support tools") {
			t.Error(failed)
		}
		// And who can't build one without isn't asked.
		s = p.set(Settings{})
		unbuilt := errors.New("nothing to ask")
		for _, err := range s.For("mine", nil).Stream(t.Context(), "", false, func(t llm.Target) (llm.Request, error) {
			if !t.Tools {
				return llm.Request{}, unbuilt
			}
			return llm.Request{Target: t}, nil
		}) {
			failed = err
		}
		if !errors.Is(failed, unbuilt) {
			t.Error(failed)
		}
	})
}

// Who only wants to know asks as a call does.
func TestAsked(t *testing.T) {
	t.Parallel()
	p := &probed{says: func(context.Context) (Abilities, error) { return Abilities{Known: true, Images: true}, nil }}
	models := p.set(Settings{}).For("mine", nil)
	for range 2 {
		if got, err := models.Asked(t.Context(), ""); err != nil || !got.Images || got.Tools || p.asked != 1 {
			t.Errorf("%+v, %v; asked %d times", got, err, p.asked)
		}
	}
	if got, err := models.Asked(t.Context(), "nobody/m"); err == nil || got.Provider != "nobody" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A list of models is asked about side by side, and not without end.
func TestAskAboutManyModels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at, most, all atomic.Int32
		p := &probed{}
		s := New(Options{
			Vendors:   map[string]Vendor{"openai": {Open: func(Settings) (llm.Model, error) { return slow{p, &at, &most, &all}, nil }}},
			Providers: []Settings{{Name: "mine", Type: Compatible, BaseURL: "http://box"}},
		})
		names := make([]string, 3*maxAsked)
		for i := range names {
			names[i] = fmt.Sprint("m", i)
		}
		begin := time.Now()
		s.Ask(t.Context(), "mine", names)
		if most.Load() != askedAtATime || all.Load() != maxAsked || time.Since(begin) != maxAsked/askedAtATime*time.Second {
			t.Errorf("%d of %d at a time, within %s", most.Load(), all.Load(), time.Since(begin))
		}
		s.Ask(t.Context(), "nobody", names)
		list, err := s.Offered("mine", names[:1])
		if err != nil || !list[0].Told || list[0].Tools || list[0].ContextWindow != 8_000 {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// slow takes a second to tell of a model, and counts who waits.
type slow struct {
	*probed
	at, most, all *atomic.Int32
}

func (s slow) Probe(context.Context, string) (Abilities, error) {
	s.all.Add(1)
	n := s.at.Add(1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	time.Sleep(time.Second)
	s.at.Add(-1)
	return Abilities{Known: true, ContextWindow: 8_000}, nil
}

// Names of models come from outside: what is remembered is bounded.
func TestManyModels(t *testing.T) {
	t.Parallel()
	var a abilities
	for i := range 3 * maxProbed {
		a.keep(fmt.Sprint(i), said{Abilities: Abilities{ContextWindow: i}})
		if len(a.of) > maxProbed || a.recall(fmt.Sprint(i)).ContextWindow != i {
			t.Fatalf("%d are remembered", len(a.of))
		}
	}
}

// Whoever stops a call while the server is asked about its model keeps nobody
// else from asking.
func TestAStoppedQuestionIsAskedAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := &probed{says: func(ctx context.Context) (Abilities, error) {
		cancel()
		return Abilities{Known: true, Images: true}, ctx.Err()
	}}
	s := p.set(Settings{})
	for _, err := range s.For("mine", nil).Stream(ctx, "", false, func(target llm.Target) (llm.Request, error) { return llm.Request{Target: target}, nil }) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	if built := targets(t, s); p.asked != 2 || len(built) != 1 || !built[0].Images {
		t.Errorf("asked %d times, built for %+v", p.asked, built)
	}
}
