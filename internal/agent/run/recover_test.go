package run_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/store/sqlite"
	"github.com/goclaw/goclaw/internal/store/sqlite/sqlitetest"
	"github.com/goclaw/goclaw/internal/tool"
)

// process is a runner on a state database, as one process has it. Several on
// one folder are several processes.
type process struct {
	*run.Runner
	*echo
	t     *testing.T
	db    *sqlite.DB
	inbox run.Inbox

	mu    sync.Mutex
	holds map[*func()]func() // what it would give back by dying
	dead  bool               // killed
	over  bool               // closed
}

// born opens a process on the folder, which it gets to know as a gateway does
// when it starts. change, if not nil, changes its options.
func born(t *testing.T, dir string, busy run.Busy, change func(*process, *run.Options)) *process {
	t.Helper()
	p, o, err := begin(t.Context(), dir, busy)
	if err != nil {
		t.Fatal(err)
	}
	p.t = t
	if change != nil {
		change(p, &o)
	}
	p.Runner = run.New(o)
	t.Cleanup(p.end)
	return p
}

// begin opens the state database of a process and says what its runner needs.
func begin(ctx context.Context, dir string, busy run.Busy) (*process, run.Options, error) {
	path := filepath.Join(dir, "state.db")
	if err := sqlitetest.Make(path); err != nil {
		return nil, run.Options{}, err
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return nil, run.Options{}, err
	}
	p := &process{echo: &echo{}, db: db, holds: map[*func()]func(){}}
	p.inbox = mortal{db.Inbox(), p}
	h := session.NewHistory(db.Sessions(), nil)
	holds := session.NewHolds(filepath.Join(dir, "locks"))
	if _, err := h.Sweep(ctx, holds); err != nil {
		return nil, run.Options{}, err
	}
	return p, run.Options{
		WhileBusy: busy, Inbox: p.inbox, History: h,
		Profile: func(id string) (run.Profile, error) {
			if id == "gone" {
				return run.Profile{}, errors.New(`there is no agent "gone"`)
			}
			return run.Profile{ID: "main", Loop: &agent.Agent{Models: p, Toolbox: p, Prompts: p, History: h, Now: time.Now}}, nil
		},
		Hold: func(ctx context.Context, key session.Key, busy func()) (func(), error) {
			release, err := holds.Try(key)
			if errors.Is(err, session.ErrHeld) {
				busy()
				release, err = holds.Hold(ctx, key)
			}
			if err != nil {
				return nil, err
			}
			return p.keep(release), nil
		},
		Owner: func(ctx context.Context, key session.Key) (string, bool, error) {
			s, err := db.Sessions().Session(ctx, key)
			if errors.Is(err, session.ErrNotFound) {
				return "", false, nil
			}
			return s.Caller.ID, true, err
		},
	}, nil
}

// keep remembers a hold until it is given back.
func (p *process) keep(release func()) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds[&release] = release
	return func() {
		p.mu.Lock()
		delete(p.holds, &release)
		p.mu.Unlock()
		release()
	}
}

// kill ends the process as kill -9 does: nothing that it does from now on is
// stored, and it holds nothing any more.
func (p *process) kill() {
	p.t.Helper()
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	if err := p.db.Close(); err != nil {
		p.t.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, release := range p.holds {
		release()
	}
}

// mortal is the inbox of a process that gives up nothing any more while it dies:
// a database that closes does so bit by bit.
type mortal struct {
	run.Inbox
	p *process
}

func (m mortal) Drop(ctx context.Context, runs ...string) error {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	if m.p.dead {
		return errors.New("the process is dead")
	}
	return m.Inbox.Drop(ctx, runs...)
}

// end closes what is left of the process.
func (p *process) end() {
	if p.over {
		return
	}
	p.over = true
	if err := p.Close(context.WithoutCancel(p.t.Context())); err != nil {
		p.t.Error(err)
	}
	if !p.dead {
		if err := p.db.Close(); err != nil {
			p.t.Error(err)
		}
	}
}

func (p *process) recover() {
	p.t.Helper()
	if err := p.Recover(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// told is the history of a session: for each turn who said what, what it was
// answered, and how it ended.
func (p *process) told(id string) []string {
	p.t.Helper()
	turns, err := p.db.Sessions().Turns(p.t.Context(), session.Key{Agent: "main", ID: id}, 1, 0, session.Whole)
	if errors.Is(err, session.ErrNotFound) {
		return nil
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if err := sessiontest.Valid(session.Thread(append(turns, session.Turn{Message: llm.UserMessage("next"), Status: agent.Running}))); err != nil {
		p.t.Error(err)
	}
	var out []string
	for _, turn := range turns {
		line := turn.Message.Text() + ":"
		for _, r := range turn.Rounds {
			for _, m := range r.Before {
				line += " +" + m.Text()
			}
			line += " " + r.Reply.Message.Text()
		}
		out = append(out, fmt.Sprintf("%s (%s)", line, turn.Status))
	}
	return out
}

// waits is what the inbox holds, by run.
func (p *process) waits() []string {
	p.t.Helper()
	entries, err := p.inbox.Waiting(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Run)
	}
	return out
}

func (p *process) find(id string) *run.Run {
	p.t.Helper()
	found, ok := p.Run(id)
	if !ok {
		p.t.Fatalf("run %s is not known", id)
	}
	return found
}

func ids(runs ...*run.Run) []string {
	var out []string
	for _, r := range runs {
		out = append(out, r.ID)
	}
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// A process dies: what waited is answered by the next one, each message once
// and in order; what had begun is not begun again.
func TestWhatWaitedIsAnsweredAfterADeath(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := born(t, dir, run.Queue, nil)
		first := start(t, p.Runner, ask("s", "one"))
		<-first.Kept()
		two, three := start(t, p.Runner, ask("s", "two")), start(t, p.Runner, ask("s", "three"))
		urgent := ask("s", "urgent")
		urgent.WhileBusy = run.Steer
		words := start(t, p.Runner, urgent)
		elsewhere := start(t, p.Runner, ask("o", "elsewhere"))
		<-elsewhere.Kept()
		more := start(t, p.Runner, ask("o", "more"))
		same(t, "the inbox", p.waits(), ids(two, three, words, more))
		p.kill()

		q := born(t, dir, run.Queue, nil)
		q.recover()
		for _, was := range []*run.Run{two, three, words, more} {
			<-q.find(was.ID).Done()
		}
		same(t, "one session", q.told("s"), []string{"one: (interrupted)", "urgent: urgent (done)", "two: two (done)", "three: three (done)"})
		same(t, "the other", q.told("o"), []string{"elsewhere: (interrupted)", "more: more (done)"})
		same(t, "the inbox", q.waits(), []string(nil))
		slices.Sort(q.seen)
		same(t, "the model", q.seen, []string{"more", "three", "two", "urgent"})

		// And nothing comes back a second time.
		q.kill()
		r := born(t, dir, run.Queue, nil)
		r.recover()
		synctest.Wait()
		if going, waiting := r.Count(); going+waiting != 0 || len(r.seen) != 0 {
			t.Errorf("%d go, %d wait", going, waiting)
		}
	})
}

// Dying at any moment of a queue's life loses and doubles nothing.
func TestDyingAtAnyMoment(t *testing.T) {
	t.Parallel()
	for after := time.Duration(0); after < 5*time.Second; after += 500 * time.Millisecond {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				p := born(t, dir, run.Steer, nil)
				first := start(t, p.Runner, ask("s", "call"))
				<-first.Kept()
				for _, text := range []string{"a", "b"} {
					start(t, p.Runner, ask("s", text))
				}
				queued := ask("s", "c")
				queued.WhileBusy = run.Queue
				start(t, p.Runner, queued)
				time.Sleep(after + time.Millisecond)
				p.kill()
				q := born(t, dir, run.Steer, nil)
				q.recover()
				for {
					if going, _ := q.Count(); going == 0 {
						break
					}
					time.Sleep(time.Second)
				}
				all := strings.Join(q.told("s"), " ")
				for _, text := range []string{"call", "a", "b", "c"} {
					if n := strings.Count(" "+all, " "+text+":") + strings.Count(all, "+"+text+" "); n != 1 {
						t.Errorf("%q stands in the history %d times: %s", text, n, all)
					}
				}
			})
		})
	}
}

func TestWordsThatJoinedAreKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := born(t, dir, run.Steer, nil)
		first := start(t, p.Runner, ask("s", "call"))
		<-first.Kept()
		req := ask("s", "and this")
		req.ID = run.IDOf("p", "key")
		joined := start(t, p.Runner, req)
		same(t, "the inbox", p.waits(), []string{req.ID})
		<-first.Done()
		<-joined.Done()
		same(t, "the inbox", p.waits(), []string(nil))
		same(t, "the session", p.told("s"), []string{"call: call +and this and this (done)"})
		p.kill()

		q := born(t, dir, run.Steer, nil)
		q.recover()
		_, err := q.Start(req)
		var known *run.KnownError
		if !errors.As(err, &known) || *known != (run.KnownError{Run: first.ID, Session: session.Key{Agent: "main", ID: "s"}}) {
			t.Errorf("the words once more: %v", err)
		}
		if len(q.seen) != 0 {
			t.Errorf("the model was asked again: %q", q.seen)
		}
	})
}

// What a message may do and how it is to be answered is the same afterwards.
func TestARequestIsKeptWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := born(t, dir, run.Queue, nil)
		<-start(t, p.Runner, ask("s", "one")).Kept()
		full := run.Request{
			Agent: "main", Session: "s", Origin: tool.FromChannel, Caller: auth.Principal{ID: "p", Name: "P", Role: auth.User, Human: true},
			Delivery: tool.Delivery{Channel: "c", Thread: "t"}, Model: "x/y", ID: run.IDOf("p", "1"), WhileBusy: run.Queue,
			Message: llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text("<hi> ü\x00"), {Kind: llm.KindMedia, Media: &llm.Media{MIME: "image/png", Data: []byte{0, 255}}}}},
			System:  "be brief", Seed: []llm.Message{llm.UserMessage("u"), llm.AssistantMessage("a")}, Fresh: true, Cap: tool.Only(), Declared: tool.Only("b", "a"),
			Allow: tool.Only("group:fs"), Deny: []string{"*_write"}, Sandbox: true, Flush: true, Depth: 1, Client: []string{"canvas"},
		}
		bare := ask("s", "bare")
		bare.Agent, bare.WhileBusy = "main", run.Queue
		was := []*run.Run{start(t, p.Runner, full), start(t, p.Runner, bare)}
		bare.ID = was[1].ID
		p.kill()
		q := born(t, dir, run.Queue, nil)
		q.recover()
		for i, want := range []run.Request{full, bare} {
			got := q.find(was[i].ID)
			same(t, "the request", got.Request(), want)
			if got.Times().Queued.UnixNano() != was[i].Times().Queued.UnixNano() {
				t.Errorf("it was queued at %v, now at %v", was[i].Times().Queued, got.Times().Queued)
			}
		}
	})
}

// A message that can't be run any more is told in its session and holds up
// nobody.
func TestWhatCantBeRunAnyMoreIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := born(t, dir, run.Queue, nil)
		at := time.Unix(1000, 0)
		put := func(id, agent, rest string) {
			t.Helper()
			at = at.Add(1)
			caller := auth.Principal{ID: "p", Role: auth.User}
			if err := p.inbox.Put(t.Context(), run.Entry{Run: id, Session: session.Key{Agent: agent, ID: "s"}, Caller: caller, Origin: tool.FromAPI, Queued: at, Rest: []byte(rest)}); err != nil {
				t.Fatal(err)
			}
		}
		id := func(n int) string { return run.IDOf("p", fmt.Sprint(n)) }
		message := `"message":{"role":"user","parts":[{"kind":"text","text":"hello"}]}`
		put(id(1), "main", `{"mess`)
		put(id(2), "main", `{`+message+`,"forbid":["everything"]}`)
		put(id(3), "gone", `{`+message+`}`)
		put(id(4), "main", `{`+message+`}`)
		p.recover()
		for n := 1; n <= 4; n++ {
			<-p.find(id(n)).Done()
		}
		for n, want := range map[int]string{1: "can't be read", 2: "forbid", 3: "there is no agent"} {
			if a := answer(t.Context(), p.find(id(n))); !strings.HasPrefix(a, "failed") || !strings.Contains(a, want) {
				t.Errorf("message %d: %s", n, a)
			}
		}
		same(t, "the session", p.told("s"), []string{": (failed)", "hello: (failed)", "hello: hello (done)"})
		turns, err := p.db.Sessions().Turns(t.Context(), session.Key{Agent: "gone", ID: "s"}, 1, 0, session.Heads)
		if err != nil || len(turns) != 1 || turns[0].Status != agent.Failed || !strings.Contains(turns[0].Error, `no agent "gone"`) {
			t.Errorf("the session of an agent that is gone: %+v, %v", turns, err)
		}
		same(t, "the inbox", p.waits(), []string(nil))
	})
}

// A process that lives keeps what waits in it, whoever starts beside it.
func TestALivingProcessKeepsItsMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := born(t, dir, run.Queue, nil)
		<-start(t, p.Runner, ask("s", "one")).Kept()
		two, three := start(t, p.Runner, ask("s", "two")), start(t, p.Runner, ask("s", "three"))
		q := born(t, dir, run.Queue, nil)
		q.recover()
		synctest.Wait()
		fresh := start(t, q.Runner, ask("s", "four"))
		for _, r := range []*run.Run{two, three} {
			if a := answer(t.Context(), r); !strings.HasPrefix(a, "done") {
				t.Errorf("%s", a)
			}
			other := q.find(r.ID)
			<-other.Done()
			if got := notices(t.Context(), other); got[len(got)-1] != "joined "+r.ID {
				t.Errorf("beside it the run tells %q", got)
			}
		}
		<-fresh.Done()
		same(t, "the session", q.told("s"), []string{"one: one (done)", "two: two (done)", "three: three (done)", "four: four (done)"})
		same(t, "the second process asked", q.seen, []string{"four"})
	})
}

// A gateway keeps a message that waits for another process; a command, which
// nobody waits for but its person, doesn't.
func TestWhatWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	for name, serving := range map[string]bool{"a command": false, "a gateway": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				p, q := born(t, dir, run.Queue, nil), born(t, dir, run.Queue, nil)
				<-start(t, p.Runner, ask("s", "one")).Kept()
				if serving {
					q.recover()
				}
				two := start(t, q.Runner, ask("s", "two"))
				synctest.Wait()
				want := []string(nil)
				if serving {
					want = ids(two)
				}
				same(t, "the inbox", q.waits(), want)
				<-two.Done()
				same(t, "the inbox", q.waits(), []string(nil))
				same(t, "the session", q.told("s"), []string{"one: one (done)", "two: two (done)"})
			})
		})
	}
}

// Two gateways that come to have one message answer it once.
func TestTwoGatewaysAnswerOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		command, p := born(t, dir, run.Queue, nil), born(t, dir, run.Queue, nil)
		p.recover()
		<-start(t, command.Runner, ask("s", "one")).Kept()
		two, three := start(t, p.Runner, ask("s", "two")), start(t, p.Runner, ask("s", "three"))
		synctest.Wait()
		q := born(t, dir, run.Queue, nil)
		q.recover()
		for _, id := range ids(two, three) {
			a, b := answer(t.Context(), p.find(id)), answer(t.Context(), q.find(id))
			if a == `done ""` {
				a, b = b, a
			}
			if !strings.HasPrefix(a, `done "t`) || b != `done ""` {
				t.Errorf("one says %s, the other %s", a, b)
			}
		}
		same(t, "the session", p.told("s"), []string{"one: one (done)", "two: two (done)", "three: three (done)"})
	})
}
