package run_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
)

var work = session.Key{Agent: "main", ID: "s"}

// A gateway that stops finishes what is going and leaves the rest to the next.
func TestDrainFinishesWhatIsGoingAndParksTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := born(t, dir, run.Queue, nil)
		p.recover()
		first := start(t, p.Runner, ask("s", "call"))
		<-first.Kept()
		waiting := start(t, p.Runner, ask("s", "two"))
		steer := ask("s", "joins")
		steer.WhileBusy = run.Steer
		joins := start(t, p.Runner, steer)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := p.Drain(ctx); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("draining took %v: %v", time.Since(began), err)
		}
		if a := answer(t.Context(), first); a != `done "joins"` {
			t.Errorf("what was going: %s", a)
		}
		if a := answer(t.Context(), joins); a != `done ""` {
			t.Errorf("what was to join it: %s", a)
		}
		if got := notices(t.Context(), waiting); !slices.Equal(got, []string{"queued", "parked"}) {
			t.Errorf("what waited tells %q", got)
		}
		if _, _, ok := waiting.End(); ok || waiting.State() != run.Ended {
			t.Error("what waited has an end")
		}
		if _, err := p.Start(ask("s", "late")); !errors.Is(err, run.ErrClosed) {
			t.Errorf("a message too late: %v", err)
		}
		named, known := ask("s", "late"), ask("s", "two")
		named.ID, known.ID = run.IDOf("p", "late"), waiting.ID
		if _, err := p.Start(named); !errors.Is(err, run.ErrClosed) {
			t.Errorf("a named message too late: %v", err)
		}
		if start(t, p.Runner, known) != waiting {
			t.Error("a message that is known can't be found any more")
		}
		same(t, "the inbox", p.waits(), ids(waiting))
		p.end()

		q := born(t, dir, run.Queue, nil)
		q.recover()
		if a := answer(t.Context(), q.find(waiting.ID)); a != `done "two"` {
			t.Errorf("what waited, at the next start: %s", a)
		}
		same(t, "the session", q.told("s"), []string{"call: call +joins joins (done)", "two: two (done)"})
	})
}

func TestDrainInterruptsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		other := born(t, dir, run.Queue, nil)
		held := start(t, other.Runner, ask("held", "of another process"))
		<-held.Kept()

		p := born(t, dir, run.Steer, nil)
		p.recover()
		first := start(t, p.Runner, ask("s", "call"))
		<-first.Kept()
		late := start(t, p.Runner, ask("s", "joins too late"))
		behind := start(t, p.Runner, ask("held", "behind another process"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		drained := make(chan error)
		go func() { drained <- p.Drain(ctx) }()
		began := time.Now()
		<-behind.Done()
		if time.Since(began) != 0 {
			t.Errorf("what waits for another process was kept going for %v", time.Since(began))
		}
		if err := <-drained; err != nil || time.Since(began) != 500*time.Millisecond {
			t.Errorf("draining took %v: %v", time.Since(began), err)
		}
		if end, _, ok := first.End(); !ok || end.Status != agent.Interrupted {
			t.Errorf("what was going ended as %+v", end)
		}
		if got := notices(t.Context(), first); !slices.Equal(got, []string{"stopping"}) {
			t.Errorf("what was going tells %q", got)
		}
		for _, r := range []*run.Run{late, behind} {
			if got := notices(t.Context(), r); got[len(got)-1] != "parked" {
				t.Errorf("%q tells %q", r.Request().Message.Text(), got)
			}
		}
		<-held.Done()
		p.end()

		q := born(t, dir, run.Queue, nil)
		q.recover()
		<-q.find(late.ID).Done()
		<-q.find(behind.ID).Done()
		same(t, "the session", q.told("s"), []string{"call: (interrupted)", "joins too late: joins too late (done)"})
		same(t, "the other", q.told("held"), []string{"of another process: of another process (done)", "behind another process: behind another process (done)"})
	})
}

// What was accepted and had no time to begin is left to the next start, too.
func TestDrainKeepsWhatHasNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		gate := make(chan struct{})
		p := born(t, dir, run.Queue, func(_ *process, o *run.Options) {
			hold := o.Hold
			o.Hold = func(ctx context.Context, key session.Key, busy func()) (func(), error) {
				<-gate
				return hold(ctx, key, busy)
			}
		})
		first := start(t, p.Runner, ask("s", "one"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		drained := make(chan error)
		go func() { drained <- p.Drain(ctx) }()
		synctest.Wait()
		close(gate)
		if err := <-drained; err != nil {
			t.Error(err)
		}
		if got := notices(t.Context(), first); !slices.Equal(got, []string{"parked"}) {
			t.Errorf("it tells %q", got)
		}
		same(t, "the inbox", p.waits(), ids(first))
	})
}

func TestCloseWithdrawsWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := born(t, t.TempDir(), run.Queue, nil)
		start(t, p.Runner, ask("s", "one"))
		start(t, p.Runner, ask("s", "two"))
		if err := p.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, "the inbox", p.waits(), []string(nil))
	})
}

func TestStoppingASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := born(t, t.TempDir(), run.Queue, nil)
		first := start(t, p.Runner, ask("s", "one"))
		steer := ask("s", "two")
		steer.WhileBusy = run.Steer
		all := []*run.Run{first, start(t, p.Runner, steer), start(t, p.Runner, ask("s", "three"))}
		other := start(t, p.Runner, ask("o", "other"))
		if stopped, withdrawn := p.StopAll(work); stopped != 1 || withdrawn != 2 {
			t.Errorf("%d stopped, %d withdrawn", stopped, withdrawn)
		}
		same(t, "the inbox", p.waits(), []string(nil))
		for _, r := range all {
			if a := answer(t.Context(), r); !strings.HasPrefix(a, "stopped") {
				t.Errorf("%s", a)
			}
		}
		if a := answer(t.Context(), other); a != `done "other"` {
			t.Errorf("the other session: %s", a)
		}
		synctest.Wait()
		if stopped, withdrawn := p.StopAll(work); stopped+withdrawn != 0 {
			t.Errorf("%d stopped, %d withdrawn of an idle session", stopped, withdrawn)
		}
		if a := answer(t.Context(), start(t, p.Runner, ask("s", "four"))); a != `done "four"` {
			t.Errorf("afterwards: %s", a)
		}
	})
}

// A message that is sent again is not handled again.
func TestAKnownIDFindsItsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := born(t, dir, run.Queue, func(_ *process, o *run.Options) { o.Keep = 1 })
		named := func(key, text string) run.Request {
			q := ask("s", text)
			q.ID = run.IDOf(q.Caller.ID, key)
			return q
		}
		first, second := start(t, p.Runner, named("1", "one")), start(t, p.Runner, named("2", "two"))
		if first.ID != run.IDOf("p", "1") || start(t, p.Runner, named("1", "one")) != first || start(t, p.Runner, named("2", "two")) != second {
			t.Error("a run that goes or waits was not found")
		}
		stranger := named("1", "mine")
		stranger.Caller = auth.Principal{ID: "q", Role: auth.Admin}
		if _, err := p.Start(stranger); !errors.Is(err, run.ErrNotYours) {
			t.Errorf("another person gets at the run: %v", err)
		}
		<-second.Done()
		synctest.Wait() // until it counts as one that ended
		if start(t, p.Runner, named("2", "two")) != second {
			t.Error("a run that ended was not found")
		}
		// The first is not kept any more.
		want := run.KnownError{Run: first.ID, Session: work}
		var known *run.KnownError
		if _, err := p.Start(named("1", "one")); !errors.As(err, &known) || *known != want || !errors.Is(err, run.ErrKnown) {
			t.Errorf("a run of long ago: %v", err)
		}
		if _, err := p.Start(stranger); !errors.Is(err, run.ErrNotYours) {
			t.Errorf("another person gets at its record: %v", err)
		}
		same(t, "the model", p.seen, []string{"one", "two"})

		// A message that waits for the next start is known, too.
		third := start(t, p.Runner, named("3", "three"))
		<-third.Kept()
		fourth := start(t, p.Runner, named("4", "four"))
		p.kill()
		q := born(t, dir, run.Queue, nil)
		if _, err := q.Start(named("4", "four")); !errors.As(err, &known) || !known.Waiting || known.Run != fourth.ID {
			t.Errorf("a run that waits in the inbox: %v", err)
		}
	})
}

func TestIDOf(t *testing.T) {
	t.Parallel()
	made := map[string]string{}
	for _, who := range []string{"ada", "ad", "3 ada"} {
		for _, key := range []string{"", "a", "a ", "ada a"} {
			id := run.IDOf(who, key)
			if len(id) != len(session.NewID()) || run.IDOf(who, key) != id {
				t.Errorf("%q is no id", id)
			}
			if other, ok := made[id]; ok {
				t.Errorf("%s %q has the id of %s", who, key, other)
			}
			made[id] = who + " " + key
		}
	}
	r := runner(t, &echo{}, run.Queue)
	for _, id := range []string{"short", "UPPERUPPERUPPERU", "aaaaaaaaaaaaaaa1", "../../../../../."} {
		q := ask("s", "hi")
		q.ID = id
		if _, err := r.Start(q); err == nil {
			t.Errorf("%q was taken for an id", id)
		}
	}
}

// full is an inbox that takes nothing in.
type full struct{ run.Inbox }

var errFull = errors.New("disk full")

func (full) Put(context.Context, run.Entry) error { return errFull }

// A message that can't be kept is not accepted, and what goes on goes on.
func TestAMessageThatCantBeKeptIsNotAccepted(t *testing.T) {
	t.Parallel()
	for _, busy := range []run.Busy{run.Queue, run.Steer, run.Interrupt} {
		t.Run(string(busy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := born(t, t.TempDir(), busy, func(p *process, o *run.Options) { o.Inbox = full{p.inbox} })
				first := start(t, p.Runner, ask("s", "one"))
				<-first.Kept()
				if _, err := p.Start(ask("s", "two")); !errors.Is(err, errFull) {
					t.Errorf("the second message: %v", err)
				}
				if _, waiting := p.Session(work); len(waiting) != 0 {
					t.Errorf("%d wait", len(waiting))
				}
				if a := answer(t.Context(), first); a != `done "one"` {
					t.Errorf("what was going: %s", a)
				}
			})
		})
	}
}

// What may wait in a session is bounded; what waits already is not touched.
func TestASessionIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := born(t, t.TempDir(), run.Queue, func(_ *process, o *run.Options) { o.Waiting = 2 })
		start(t, p.Runner, ask("s", "one"))
		two, three := start(t, p.Runner, ask("s", "two")), start(t, p.Runner, ask("s", "three"))
		if _, err := p.Start(ask("s", "four")); !errors.Is(err, run.ErrFull) {
			t.Errorf("a message too many: %v", err)
		}
		start(t, p.Runner, ask("other", "four"))
		two.Stop()
		start(t, p.Runner, ask("s", "four"))
		if a := answer(t.Context(), three); a != `done "three"` {
			t.Error(a)
		}
		p.end()
	})
}

// Who can mend the database looks into the log, not into somebody's session.
func TestWhatCantBeStoredIsInTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := born(t, t.TempDir(), run.Queue, nil)
		first := start(t, p.Runner, ask("s", "call"))
		<-first.Kept()
		stopped := start(t, p.Runner, ask("t", "one"))
		<-stopped.Kept()
		stopped.Stop()
		<-stopped.Done()
		p.kill()
		<-first.Done()
		if said := log.of(first.ID); !strings.Contains(said, "level=ERROR") || !strings.Contains(said, "a run can't be stored") {
			t.Errorf("the log says %q", said)
		}
		if said := log.of(stopped.ID); said != "" {
			t.Errorf("of a run that was only stopped the log says %q", said)
		}
		p.end()
	})
}

// What one person may have under way is bounded, in however many sessions, and
// holds up nobody else.
func TestAPersonHasTooMuchUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := born(t, t.TempDir(), run.Queue, func(_ *process, o *run.Options) { o.PerPerson = 3 })
		one := start(t, p.Runner, ask("s", "one"))
		start(t, p.Runner, ask("s", "two"))
		start(t, p.Runner, ask("t", "three"))
		for _, session := range []string{"s", "t", "u"} {
			if _, err := p.Start(ask(session, "four")); !errors.Is(err, run.ErrCrowded) {
				t.Errorf("one too many in session %s: %v", session, err)
			}
		}
		other := ask("v", "five")
		other.Caller.ID = "q"
		start(t, p.Runner, other)
		again := ask("s", "one")
		again.ID = one.ID
		if found := start(t, p.Runner, again); found != one {
			t.Error("a run that is known is not found")
		}
		<-one.Done()
		start(t, p.Runner, ask("u", "four"))
		p.end()
	})
	// What was taken before is taken up however much it is.
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		p := born(t, dir, run.Queue, nil)
		<-start(t, p.Runner, ask("s", "one")).Kept()
		two, three := start(t, p.Runner, ask("s", "two")), start(t, p.Runner, ask("s", "three"))
		p.kill()
		p = born(t, dir, run.Queue, func(_ *process, o *run.Options) { o.PerPerson = 1 })
		p.recover()
		for _, was := range []*run.Run{two, three} {
			<-p.find(was.ID).Done()
		}
		same(t, "the session", p.told("s"), []string{"one: (interrupted)", "two: two (done)", "three: three (done)"})
		p.end()
	})
}

func TestASessionBelongsToWhoBeganIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := born(t, t.TempDir(), run.Queue, nil)
		by := func(id string, role auth.Role) run.Request {
			q := ask("s", "of "+id)
			q.Caller = auth.Principal{ID: id, Role: role}
			return q
		}
		refused := func(when string) {
			t.Helper()
			if _, err := p.Start(by("bob", auth.User)); !errors.Is(err, run.ErrNotYours) {
				t.Errorf("%s: %v", when, err)
			}
			same(t, "the inbox", p.waits(), []string(nil))
		}
		first := start(t, p.Runner, by("ada", auth.User))
		refused("before the first turn is stored")
		synctest.Wait()
		refused("while it is going")
		<-first.Done()
		synctest.Wait()
		refused("when nothing goes on")
		for _, q := range []run.Request{by("ada", auth.User), by("root", auth.Admin), by("cron", auth.System)} {
			if a := answer(t.Context(), start(t, p.Runner, q)); !strings.HasPrefix(a, "done") {
				t.Errorf("%s: %s", q.Caller.ID, a)
			}
		}
		own := by("bob", auth.User)
		own.Session = ""
		if a := answer(t.Context(), start(t, p.Runner, own)); a != `done "of bob"` {
			t.Errorf("a session of one's own: %s", a)
		}
	})
}

// Two people begin one session in the same moment, in two processes: it
// belongs to one of them.
func TestTwoBeginOneSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		gate := make(chan struct{})
		late := func(_ *process, o *run.Options) {
			hold := o.Hold
			o.Hold = func(ctx context.Context, key session.Key, busy func()) (func(), error) {
				<-gate
				return hold(ctx, key, busy)
			}
		}
		p, q := born(t, dir, run.Queue, late), born(t, dir, run.Queue, late)
		hers, his := ask("s", "hers"), ask("s", "his")
		his.Caller.ID = "bob"
		first := start(t, p.Runner, hers)
		second := start(t, q.Runner, his)
		close(gate)
		a, b := answer(t.Context(), first), answer(t.Context(), second)
		if strings.HasPrefix(b, "done") {
			a, b = b, a
		}
		if !strings.HasPrefix(a, "done") || !strings.HasPrefix(b, `failed "this session is somebody else's`) {
			t.Errorf("%s and %s", a, b)
		}
		if turns := p.told("s"); len(turns) != 1 {
			t.Errorf("the session holds %q", turns)
		}
		same(t, "the inbox", p.waits(), []string(nil))
	})
}

// A fault in the loop's code ends the turn in the history, too.
func TestAPanicEndsTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := born(t, t.TempDir(), run.Queue, nil)
		bad, good := start(t, p.Runner, ask("s", "panic")), start(t, p.Runner, ask("s", "fine"))
		<-bad.Done()
		turns, err := p.db.Sessions().Turns(t.Context(), work, 1, 1, session.Heads)
		if err != nil {
			t.Fatal(err)
		}
		_, words, _ := bad.End()
		if turns[0].Status != agent.Failed || turns[0].Error != words || !strings.Contains(words, "broken") {
			t.Errorf("the turn is %s: %q; the run said %q", turns[0].Status, turns[0].Error, words)
		}
		if a := answer(t.Context(), good); a != `done "fine"` {
			t.Errorf("the next one: %s", a)
		}
		same(t, "the session", p.told("s"), []string{"panic: (failed)", "fine: fine (done)"})
	})
}

func TestFinishedRunsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, change := range map[string]func(*run.Options){
			"by number": func(o *run.Options) { o.Keep = 3 },
			"by size":   func(o *run.Options) { o.KeepBytes = 3*10_000 + 5000 },
		} {
			p := born(t, t.TempDir(), run.Queue, func(_ *process, o *run.Options) { change(o) })
			var all []*run.Run
			for range 6 {
				// About 10,000 bytes: the message, the chunk and the answer.
				r := start(t, p.Runner, ask("", strings.Repeat("x", 2500)))
				<-r.Done()
				all = append(all, r)
				synctest.Wait()
			}
			known := 0
			for i, r := range all {
				if _, ok := p.Run(r.ID); ok {
					known++
				} else if known > 0 {
					t.Errorf("%s: run %d is forgotten before an older one", name, i)
				}
			}
			if known != 3 {
				t.Errorf("%s: %d runs are kept", name, known)
			}
		}
	})
}

func TestTimesAndEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := born(t, t.TempDir(), run.Queue, nil)
		began := time.Now()
		start(t, p.Runner, ask("s", "one"))
		second := start(t, p.Runner, ask("s", "two"))
		if at := second.Times(); at.Queued.Before(began) || !at.Began.IsZero() || !at.Ended.IsZero() {
			t.Errorf("while it waits: %+v", at)
		}
		if _, _, ok := second.End(); ok || second.State() != run.Queued {
			t.Errorf("it is %s and has an end: %v", second.State(), ok)
		}
		<-second.Done()
		end, text, ok := second.End()
		if !ok || end.Status != agent.Done || end.Rounds != 1 || text != "two" {
			t.Errorf("it ended as %+v with %q", end, text)
		}
		if at := second.Times(); at.Began.Sub(began) != time.Second || at.Ended.Sub(began) != 2*time.Second {
			t.Errorf("it began %v and ended %v after the first", at.Began.Sub(began), at.Ended.Sub(began))
		}
		if second.Request().Message.Text() != "two" {
			t.Error("it has forgotten what it was asked")
		}
	})
}

// What the loop gets of a request that its agent has no say in.
func TestTheLoopGetsWhatTheClientSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &echo{}
		var got agent.Turn
		e.begun = func(turn agent.Turn) { got = turn }
		r := runner(t, e, run.Queue)
		q := ask("s", "hi")
		q.System, q.Seed, q.Model = "be brief", []llm.Message{llm.UserMessage("before")}, "x/y"
		<-start(t, r, q).Done()
		if got.System != "be brief" || len(got.Seed) != 1 || got.Model != "x/y" {
			t.Errorf("the turn is %+v", got)
		}
	})
}
