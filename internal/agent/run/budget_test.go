package run_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/store/sqlite"
	"github.com/goclaw/goclaw/internal/store/sqlite/sqlitetest"
	"github.com/goclaw/goclaw/internal/tool"
)

// spender is a model that works with tools for some rounds, says as much as it
// may, and sometimes has to be asked again. It counts as the guess does, which
// is the most that there are of tokens.
type spender struct {
	target llm.Target
	rounds int // with a tool
	output int // tokens that it would like to say
	wastes int // of ten attempts, how many break off

	// Where they are not nil, it tells when it is asked and waits until it may
	// answer, and is told when a run ended.
	arrived, answer, ended chan struct{}

	breaks bool // its code does, when it has answered

	mu    sync.Mutex
	dice  *rand.Rand
	asked int
	most  int // tokens that an answer was allowed
}

func (m *spender) roll() (broken bool, said int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dice.IntN(10) < m.wastes, 1 + m.dice.IntN(m.output)
}

func (m *spender) Stream(_ context.Context, _ string, _ bool, build func(llm.Target) (llm.Request, error)) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for {
			req, err := build(m.target)
			if err != nil {
				yield(llm.Event{}, err)
				return
			}
			if m.arrived != nil {
				m.arrived <- struct{}{}
				<-m.answer
			}
			broken, said := m.roll()
			if req.MaxOutput > 0 {
				said = min(said, req.MaxOutput)
			}
			m.mu.Lock()
			m.asked++
			m.most = max(m.most, req.MaxOutput)
			m.mu.Unlock()
			used := llm.Usage{Input: int64(size(req)+2) / 3, Output: int64(said)}
			text := strings.Repeat("abc", said)
			if !yield(llm.Event{Type: llm.EventText, Text: text}, nil) {
				return
			}
			if broken {
				if !yield(llm.Event{Type: llm.EventDropped, Usage: &used}, nil) || !yield(llm.Event{Type: llm.EventRetracted}, nil) {
					return
				}
				continue
			}
			reply := llm.Reply{Message: llm.AssistantMessage(text), Finish: llm.FinishStop, Usage: used, Target: m.target}
			calls := 0
			for _, msg := range req.Messages {
				calls += len(msg.Calls())
			}
			if calls < m.rounds && req.Choice != llm.ChoiceNone {
				reply.Message.Parts = append(reply.Message.Parts, llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{Name: "work", Arguments: "{}"}})
			}
			yield(llm.Event{Type: llm.EventDone, Reply: &reply}, nil)
			if m.breaks {
				panic("broken")
			}
			return
		}
	}
}

func size(req llm.Request) int {
	n := 300
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			n += len(p.Text)
			if p.Result != nil {
				n += len(llm.JoinText(p.Result.Content))
			}
		}
	}
	return n
}

type sized struct{}

func (sized) Context(context.Context, agent.Turn) ([]llm.Part, error) { return nil, nil }

func (sized) Build(_ context.Context, _ agent.Turn, sf tool.Surface, m []llm.Message) (llm.Request, agent.RequestFacts, error) {
	req := llm.Request{Target: sf.Target, Messages: m}
	return req, agent.RequestFacts{Target: sf.Target, Bytes: size(req)}, nil
}

// works is a toolbox whose one tool gives some text.
type works struct{}

func (works) Offer(_ context.Context, s tool.Scope, t llm.Target, st tool.State, _ tool.Ask) (tool.Surface, error) {
	return tool.Surface{Scope: s, Target: t, State: st}, nil
}

func (works) Execute(_ context.Context, _ tool.Surface, calls []llm.ToolCall, emit func(tool.Event)) []tool.Outcome {
	out := make([]tool.Outcome, len(calls))
	for i, c := range calls {
		out[i] = tool.Outcome{Call: c, Tool: c.Name, Status: tool.OK, Content: []llm.Part{llm.Text(strings.Repeat("result ", 40))}}
		emit(tool.Event{Type: tool.Finished, Index: i, Outcome: &out[i]})
	}
	return out
}

// price is what the spender costs: writing to a cache a quarter more.
func price(u llm.Usage, t llm.Target) *float64 {
	if t.Model == "unpriced" {
		return nil
	}
	usd := (float64(u.Input) + float64(u.CacheWrite)/4 + 4*float64(u.Output)) / 1000
	return &usd
}

// spending is a runner whose runs cost something and are held to limits.
type spending struct {
	*run.Runner
	db     *sqlite.DB
	keeper *budget.Keeper
}

func newSpending(t testing.TB, db *sqlite.DB, dir string, m *spender, limits ...budget.Limit) *spending {
	t.Helper()
	m.dice = rand.New(rand.NewPCG(1, uint64(m.output)))
	if m.target == (llm.Target{}) {
		m.target = llm.Target{Provider: "p", Model: "m", MaxOutput: 4000}
	}
	s := &spending{db: db, keeper: budget.New(budget.Options{Ledger: db.Ledger(), Limits: limits, Cost: price})}
	loop := &agent.Agent{Models: m, Toolbox: works{}, Prompts: sized{}, History: session.NewHistory(db.Sessions(), nil), Now: time.Now, Cost: price}
	holds := session.NewHolds(filepath.Join(dir, "locks"))
	s.Runner = run.New(run.Options{
		Profile: func(id string) (run.Profile, error) { return run.Profile{ID: id, Loop: loop}, nil },
		Hold: func(ctx context.Context, key session.Key, _ func()) (func(), error) {
			return holds.Hold(ctx, key)
		},
		Budget: s.keeper,
		Ended: func(*run.Run) {
			if m.ended != nil {
				m.ended <- struct{}{}
			}
		},
	})
	return s
}

func (s *spending) start(t testing.TB, agentID, id string) *run.Run {
	t.Helper()
	r, err := s.Start(run.Request{
		Agent: agentID, Session: id, Origin: tool.FromAPI, Caller: auth.Principal{ID: "ada", Role: auth.Admin}, Message: llm.UserMessage("do it"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// used is what stands in the ledger.
func (s *spending) used(t testing.TB, q budget.Query) []budget.Row {
	t.Helper()
	r, err := budget.Make(context.Background(), s.db.Ledger(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r.Rows
}

// TestBudgetsAreNeverExceeded: however many runs go on side by side, and whatever
// their models do within what they were allowed, no limit is exceeded; and what
// ends a run says which one it was.
func TestBudgetsAreNeverExceeded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := sqlitetest.Open(t, filepath.Join(dir, "state.db"))
	count := 0
	rapid.Check(t, func(rt *rapid.T) {
		count++
		one, other := fmt.Sprint("one", count), fmt.Sprint("other", count)
		var limits []budget.Limit
		for _, scope := range []budget.Scope{budget.PerRun, budget.PerSession, budget.PerDay} {
			for _, unit := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{budget.Tokens, budget.USD}), 0, 2, rapid.ID).Draw(rt, string(scope)) {
				l := budget.Limit{Key: "budget." + string(scope), Scope: scope, Agent: one}
				if unit == budget.Tokens {
					l.Tokens = int64(rapid.IntRange(100, 60_000).Draw(rt, "tokens"))
				} else {
					l.USD = rapid.Float64Range(0.1, 200).Draw(rt, "usd")
				}
				limits = append(limits, l)
			}
		}
		m := &spender{
			rounds: rapid.IntRange(0, 5).Draw(rt, "rounds"), output: rapid.IntRange(1, 3000).Draw(rt, "output"), wastes: rapid.IntRange(0, 4).Draw(rt, "wastes"),
		}
		s := newSpending(t, db, dir, m, limits...)
		var runs []*run.Run
		for i := range rapid.IntRange(1, 6).Draw(rt, "sessions") {
			for range rapid.IntRange(1, 2).Draw(rt, "turns") {
				runs = append(runs, s.start(t, one, fmt.Sprint("s", i)))
			}
		}
		runs = append(runs, s.start(t, other, "s"))
		for _, r := range runs {
			<-r.Done()
			end, text, ok := r.End()
			if !ok || end.Status != agent.Done && end.Status != agent.Limited {
				rt.Fatalf("a run ended as %+v: %s", end, text)
			}
			if end.Status == agent.Limited && (r.Agent == other || len(limits) == 0) {
				rt.Fatalf("a run without limits ended with %q", text)
			}
		}
		if err := s.Close(t.Context()); err != nil {
			rt.Fatal(err)
		}
		for _, l := range limits {
			by := map[budget.Scope]budget.By{budget.PerRun: budget.ByRun, budget.PerSession: budget.BySession, budget.PerDay: budget.ByDay}[l.Scope]
			for _, row := range s.used(t, budget.Query{By: []budget.By{by}, Agent: one}) {
				if used := row.Usage.Input + row.Usage.Output; l.Tokens > 0 && used > l.Tokens {
					rt.Fatalf("%s: %d tokens of %d", l.Key, used, l.Tokens)
				}
				if l.USD > 0 && row.Known > l.USD+1e-9 {
					rt.Fatalf("%s: %f USD of %f", l.Key, row.Known, l.USD)
				}
			}
		}
		for _, st := range s.keeper.Known() {
			if st.Used > st.Limit+1e-9 || st.Left < 0 {
				rt.Fatalf("it stands at %+v", st)
			}
		}
	})
}

// TestBudgetEndsARun says how each limit ends a run, and what the next one gets.
func TestBudgetEndsARun(t *testing.T) {
	t.Parallel()
	perDay := func(tokens int64, usd float64) budget.Limit {
		return budget.Limit{Key: "budget.day", Scope: budget.PerDay, Amount: budget.Amount{Tokens: tokens, USD: usd}}
	}
	for _, tc := range []struct {
		name   string
		limit  budget.Limit
		rounds int
		model  string
		asked  int      // model calls of the first run; those of the second make no more where it is refused
		first  []string // what the first run's record holds
		second []string // the answer of the second
	}{
		{
			"a run that makes its last call",
			budget.Limit{Key: "budget.run", Scope: budget.PerRun, Amount: budget.Amount{Tokens: 3000}},
			9, "m", 3,
			[]string{"budget.run.tokens: ", "Tools can't be called any more"},
			[]string{"The budget for one run", "say \"go on\""},
		},
		{
			"a run that can't begin",
			budget.Limit{Key: "budget.run", Scope: budget.PerRun, Amount: budget.Amount{Tokens: 600}},
			9, "m", 0,
			[]string{"needs about 614 tokens", "more than the whole of it"},
			[]string{"(/new)"},
		},
		{
			"the day, in the middle", perDay(2600, 0), 9, "m", 2,
			[]string{"budget.day.tokens: ", "Tools can't be called"},
			[]string{"The budget for today", "budget.day.tokens allows 2,600 tokens", "begins anew at 00:00 UTC, in ", "raised in config.yaml"},
		},
		{
			"a session",
			budget.Limit{Key: "agents.list[main].budget.session", Scope: budget.PerSession, Agent: "main", Amount: budget.Amount{USD: 3}},
			0, "m", 1,
			[]string{"abc"},
			[]string{"The budget for this conversation", "agents.list[main].budget.session.usd allows 3.0000 USD", "(/new)"},
		},
		{
			"nothing fits", perDay(100, 0), 0, "m", 0, []string{"budget.day.tokens allows 100 tokens, and 0 tokens are used"}, []string{"The budget for today"},
		},
		{"an unknown price", perDay(0, 0.0001), 0, "unpriced", 1, []string{"budget.day.usd can't be counted for p/unpriced", "ai.providers.p.prices"}, []string{"abc"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			m := &spender{target: llm.Target{Provider: "p", Model: tc.model, MaxOutput: 700}, rounds: tc.rounds, output: 600}
			s := newSpending(t, sqlitetest.Open(t, filepath.Join(dir, "state.db")), dir, m, tc.limit)
			r := s.start(t, "main", "s")
			record := ""
			for e := range r.Events(t.Context(), 0) {
				record += e.Text + "\n"
			}
			if m.asked != tc.asked {
				t.Errorf("the model was asked %d times, want %d", m.asked, tc.asked)
			}
			turns, err := s.db.Sessions().Turns(t.Context(), session.Key{Agent: "main", ID: "s"}, 1, 0, session.Whole)
			if err != nil {
				t.Fatal(err)
			}
			thread := session.Thread(turns)
			for _, msg := range thread {
				for _, p := range msg.Parts {
					record += p.Text + "\n"
				}
			}
			has(t, "the first run", record, tc.first)
			if end, _, _ := r.End(); (end.Status == agent.Limited) != (turns[0].Status == agent.Limited) || tc.rounds > 0 && end.Status != agent.Limited {
				t.Errorf("it ended as %s, and is stored as %s", end.Status, turns[0].Status)
			}
			next := s.start(t, "main", "s")
			<-next.Done()
			_, text, _ := next.End()
			has(t, "the second", text, tc.second)
			if err := s.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			// Another process reads what was used.
			again := newSpending(t, s.db, dir, m, tc.limit)
			standings, err := again.keeper.Standings(t.Context(), "main", "s")
			if err != nil {
				t.Fatal(err)
			}
			rows := s.used(t, budget.Query{By: []budget.By{budget.ByAgent}})
			for _, st := range standings {
				var want float64
				if len(rows) > 0 {
					want = rows[0].Known
					if st.Unit == budget.Tokens {
						want = float64(rows[0].Usage.Input + rows[0].Usage.Output)
					}
				}
				if st.Used != want {
					t.Errorf("it stands at %+v, and %v was used", st, want)
				}
			}
		})
	}
}

func has(t *testing.T, what, text string, words []string) {
	t.Helper()
	if i := slices.IndexFunc(words, func(w string) bool { return !strings.Contains(text, w) }); i >= 0 {
		t.Errorf("%s has no %q in\n%s", what, words[i], text)
	}
}

// What fifty sessions set aside at once is no reason to refuse any of them, as
// long as there is enough for all; and what the first ones set aside is not
// given to those that come then.
func TestManySessionsShareADay(t *testing.T) {
	t.Parallel()
	const many = 50
	dir := t.TempDir()
	m := &spender{output: 600, arrived: make(chan struct{}), answer: make(chan struct{}), ended: make(chan struct{}, 2*many)}
	limit := budget.Limit{Key: "budget.day", Scope: budget.PerDay, Amount: budget.Amount{Tokens: 205_300}}
	s := newSpending(t, sqlitetest.Open(t, filepath.Join(dir, "state.db")), dir, m, limit)
	var runs []*run.Run
	for i := range many {
		runs = append(runs, s.start(t, "main", fmt.Sprint("s", i)))
		<-m.arrived
	}
	late := s.start(t, "main", "late")
	<-late.Done()
	<-m.ended
	end, text, _ := late.End()
	has(t, "one too many", text, []string{"budget.day.tokens allows 205,300 tokens", "set aside for answers that are under way", "in a moment"})
	if end.Status != agent.Limited {
		t.Errorf("one too many ended as %s", end.Status)
	}
	for range many {
		m.answer <- struct{}{}
		<-m.ended
	}
	for _, r := range runs {
		if end, text, _ := r.End(); end.Status != agent.Done {
			t.Errorf("a run ended as %s: %s", end.Status, text)
		}
	}
	again := s.start(t, "main", "late")
	<-m.arrived
	m.answer <- struct{}{}
	<-again.Done()
	if end, text, _ := again.End(); end.Status != agent.Done {
		t.Errorf("in a moment, it ended as %s: %s", end.Status, text)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What a run used whose code breaks is entered all the same.
func TestWhatABrokenRunUsedIsEntered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := &spender{output: 600, breaks: true}
	limit := budget.Limit{Key: "budget.day", Scope: budget.PerDay, Amount: budget.Amount{Tokens: 50_000}}
	s := newSpending(t, sqlitetest.Open(t, filepath.Join(dir, "state.db")), dir, m, limit)
	r := s.start(t, "main", "s")
	<-r.Done()
	if end, _, _ := r.End(); end.Status != agent.Failed {
		t.Errorf("it ended as %s", end.Status)
	}
	rows := s.used(t, budget.Query{By: []budget.By{budget.ByRun}})
	if len(rows) != 1 || rows[0].Run != r.ID || rows[0].Calls != 1 || rows[0].Usage.Output == 0 {
		t.Fatalf("the ledger has %+v", rows)
	}
	if err := s.keeper.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if used := s.keeper.Known()[0].Used; int64(used) != rows[0].Usage.Input+rows[0].Usage.Output {
		t.Errorf("%v of the day are used, and the ledger has %+v", used, rows)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
