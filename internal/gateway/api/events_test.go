package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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
	"github.com/goclaw/goclaw/internal/auth"
)

// tab is a browser tab that follows what goes on.
type tab struct {
	t     *testing.T
	resp  *http.Response
	sse   *sse
	leave func()
	ended chan struct{}

	mu     sync.Mutex
	events []sseEvent
}

// openTab opens a tab behind an event; last is empty for none.
func (r *rig) openTab(t *testing.T, who, query, last string) *tab {
	t.Helper()
	return r.openSlowTab(t, who, query, last, 0)
}

// openSlowTab opens a tab that takes some time with each event.
func (r *rig) openSlowTab(t *testing.T, who, query, last string, each time.Duration) *tab {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var headers []header
	if last != "" {
		headers = append(headers, header{"Last-Event-ID", last})
	}
	resp := r.send(ctx, who, "GET", "/api/events"+query, nil, headers...)
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s %s: %s %s", who, query, resp.Status, text)
	}
	tb := &tab{t: t, resp: resp, sse: newSSE(resp.Body), ended: make(chan struct{})}
	tb.leave = func() {
		cancel()
		resp.Body.Close()
		<-tb.ended
	}
	go func() {
		defer close(tb.ended)
		for e := range tb.sse.events() {
			tb.mu.Lock()
			tb.events = append(tb.events, e)
			tb.mu.Unlock()
			time.Sleep(each)
		}
	}()
	return tb
}

// take returns what came since it was last asked.
func (tb *tab) take() []sseEvent {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	events := tb.events
	tb.events = nil
	return events
}

// ofRuns are the events of runs among events.
func ofRuns(events []sseEvent) []sseEvent {
	return slices.DeleteFunc(slices.Clone(events), func(e sseEvent) bool { return e.event == "session_changed" })
}

// changes are the session_changed among events.
func changes(t *testing.T, events []sseEvent) []SessionChanged {
	t.Helper()
	var out []SessionChanged
	for _, e := range events {
		if e.event != "session_changed" {
			continue
		}
		var c SessionChanged
		if err := json.Unmarshal([]byte(e.data), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// post starts a run without following it.
func (r *rig) post(who string, body StartRun) Run {
	r.t.Helper()
	var out Run
	no := false
	body.Stream = &no
	r.call(who, "POST", "/api/runs", body, http.StatusAccepted, &out)
	return out
}

func TestATabFollowsTheRunsOfASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.model.on("one", reply{text: "first answer", every: time.Second})
		r.model.on("two", reply{text: "second answer", every: time.Second})
		tb := r.openTab(t, "bob", "?agent=main&session=s", "")
		defer tb.leave()
		r.post("bob", StartRun{Session: "s", Message: "one"})
		synctest.Wait()
		r.post("bob", StartRun{Session: "s", Message: "two"})
		time.Sleep(time.Minute)
		golden(t, "tab", ofRuns(tb.take()))
	})
}

// A tab that is opened in the middle is told the going run from its beginning,
// and what waits.
func TestATabThatIsOpenedInTheMiddle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.say("bob", "s", "before")
		r.model.on("one", reply{text: "a b c", every: time.Second})
		one := r.post("bob", StartRun{Session: "s", Message: "one"})
		two := r.post("bob", StartRun{Session: "s", Message: "two"})
		time.Sleep(1500 * time.Millisecond)
		tb := r.openTab(t, "bob", "?session=s", "")
		defer tb.leave()
		synctest.Wait()
		begin := tb.take()
		if got, want := types(ofRuns(begin)), "run_queued run_opened run_started prompt_built model_call_started token_chunk"; got != want {
			t.Errorf("it begins with %s", got)
		}
		time.Sleep(time.Minute)
		all := append(begin, tb.take()...)
		if got := textOf(t, all); got != "a b ctwo" {
			t.Errorf("it reads %q", got)
		}
		for _, run := range []Run{one, two} {
			n := 0
			for _, e := range all {
				if e.event == string(agent.RunFinished) && strings.HasPrefix(e.id, run.ID) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("run %s ended %d times", run.Message.Text(), n)
			}
		}
	})
}

func TestATabHearsOfSessionsThatItsCallerMaySee(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		tabs := map[string]*tab{}
		for _, who := range []string{"ada", "bob", "eve"} {
			tabs[who] = r.openTab(t, who, "", "")
			defer tabs[who].leave()
		}
		heard := func(want string) {
			t.Helper()
			time.Sleep(time.Second)
			for who, tb := range tabs {
				var got []string
				for _, c := range changes(t, tb.take()) {
					line := c.Title
					if c.Deleted {
						line = "deleted " + c.ID
					} else if c.Running != "" {
						line += " runs"
					}
					if len(got) == 0 || got[len(got)-1] != line {
						got = append(got, line)
					}
				}
				text := strings.Join(got, ", ")
				if who == "eve" && text != "" || who != "eve" && text != want {
					t.Errorf("%s hears %q, want %q", who, text, want)
				}
			}
		}
		r.model.on("hello", reply{text: "hi", every: 300 * time.Millisecond})
		r.post("bob", StartRun{Session: "s", Message: "hello"})
		heard("hello runs, hello")
		r.call("bob", "PATCH", "/api/sessions/alpha/s", Rename{Title: "greetings"}, http.StatusOK, nil)
		heard("greetings")
		r.call("bob", "DELETE", "/api/sessions/alpha/s", nil, http.StatusNoContent, nil)
		heard("deleted s")
		r.runner.Touch(session.Key{Agent: "alpha", ID: "never"})
		heard("")
	})
}

// However often a session changes, it is told ten times a second at most, and
// the last change is never lost.
func TestABurstOfChangesIsToldInSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.say("bob", "s", "hi")
		r.say("bob", "o", "hi")
		tb := r.openTab(t, "bob", "?session=s", "")
		defer tb.leave()
		for i := range 1000 {
			title := fmt.Sprint("title ", i)
			if err := r.sessions.Rename(t.Context(), session.Key{Agent: "alpha", ID: "s"}, title); err != nil {
				t.Fatal(err)
			}
			r.runner.Touch(session.Key{Agent: "alpha", ID: "s"})
			if i%500 == 0 {
				r.runner.Touch(session.Key{Agent: "alpha", ID: "o"})
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		of := map[string][]SessionChanged{}
		for _, c := range changes(t, tb.take()) {
			of[c.ID] = append(of[c.ID], c)
		}
		if n := len(of["s"]); n < 9 || n > 12 {
			t.Errorf("told %d times in a second", n)
		}
		if last := of["s"][len(of["s"])-1]; last.Title != "title 999" {
			t.Errorf("the last is %q", last.Title)
		}
		if n := len(of["o"]); n != 2 {
			t.Errorf("another session is told %d times", n)
		}
	})
}

// Whatever a tab saw last, it goes on right behind it, through the runs that
// followed, and through a restart.
func TestATabGoesOnBehindEveryEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		tb := r.openTab(t, "bob", "?session=s", "")
		for _, text := range []string{"one", "two", "three"} {
			r.model.on(text, reply{text: text + " is answered. ", every: time.Second})
			r.post("bob", StartRun{Session: "s", Message: text})
		}
		time.Sleep(time.Minute)
		tb.leave()
		resume := func(whole []sseEvent, last string) []sseEvent {
			t.Helper()
			tb := r.openTab(t, "bob", "?session=s", last)
			defer tb.leave()
			time.Sleep(time.Second)
			return ofRuns(tb.take())
		}
		check := func(whole []sseEvent) {
			t.Helper()
			for i, e := range whole {
				if e.id == "" {
					continue
				}
				got, want := merged(t, resume(whole, e.id)), merged(t, whole[i+1:])
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("behind %s:\n%s", e.id, d)
				}
			}
		}
		live := ofRuns(tb.take())
		check(live)
		first := ids(live)[1]
		r = r.restart(rigOptions{})
		kept := resume(nil, first)
		if got := types(kept[:3]); got != "run_opened run_replayed run_started" {
			t.Errorf("after a restart it begins with %s", got)
		}
		if got := textOf(t, kept); got != "one is answered. two is answered. three is answered. " {
			t.Errorf("after a restart it reads %q", got)
		}
		check(kept)
		if none := resume(nil, ""); len(none) != 0 {
			t.Errorf("nothing goes on, and it is told %s", types(none))
		}
		if none := resume(nil, "aaaaaaaaaaaaaaaa:3"); len(none) != 0 {
			t.Errorf("of an unknown run it is told %s", types(none))
		}
		for _, bad := range []string{"3", "a:b", ":", "x:"} {
			resp := r.send(t.Context(), "bob", "GET", "/api/events?session=s", nil, header{"Last-Event-ID", bad})
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadRequest {
				t.Errorf("behind %q: %s", bad, resp.Status)
			}
		}
	})
}

// merged lists events with ids, chunks that follow each other as one.
func merged(t *testing.T, events []sseEvent) []string {
	var out []string
	text := ""
	for i, e := range events {
		switch {
		case e.id == "":
		case e.event == string(agent.TokenChunk):
			text += e.agent(t).Text
			if i+1 < len(events) && events[i+1].event == e.event {
				continue
			}
			out = append(out, e.id+" "+text)
			text = ""
		default:
			out = append(out, e.id)
		}
	}
	return out
}

func ids(events []sseEvent) []string {
	var out []string
	for _, e := range events {
		if e.id != "" {
			out = append(out, e.id)
		}
	}
	return out
}

// Words that are withdrawn or taken in by the going run end without ids of
// their own, so that a tab still goes on behind the going run.
func TestWhatNeverBeginsIsToldWithoutIds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		hold := make(chan struct{})
		r.model.on("one", reply{text: "a b", middle: hold})
		tb := r.openTab(t, "bob", "?session=s", "")
		defer tb.leave()
		one := r.post("bob", StartRun{Session: "s", Message: "one"})
		two := r.post("bob", StartRun{Session: "s", Message: "two"})
		synctest.Wait()
		r.call("bob", "POST", "/api/runs/"+two.ID+"/stop", nil, http.StatusOK, nil)
		synctest.Wait()
		var of []sseEvent
		for _, e := range ofRuns(tb.take()) {
			if strings.Contains(e.data, two.ID) {
				of = append(of, e)
			}
		}
		if got := types(of); got != "run_queued notice run_started run_finished" || len(ids(of)) > 0 {
			t.Errorf("of the withdrawn run it is told %s with ids %v", got, ids(of))
		}
		close(hold)
		synctest.Wait()
		if rest := ofRuns(tb.take()); rest[len(rest)-1].event != string(agent.RunFinished) || !strings.HasPrefix(rest[len(rest)-1].id, one.ID) {
			t.Errorf("then it is told %s", types(rest))
		}
	})
}

func TestSteeredWordsJoinTheGoingRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{busy: run.Steer})
		hold := make(chan struct{})
		r.model.on("one", reply{text: "Let me see", gate: hold})
		r.model.answers["one"][0].calls = append(r.model.answers["one"][0].calls, call("a", "noop", "{}"))
		tb := r.openTab(t, "bob", "?session=s", "")
		defer tb.leave()
		one := r.post("bob", StartRun{Session: "s", Message: "one"})
		two := r.post("bob", StartRun{Session: "s", Message: "and two"})
		synctest.Wait()
		close(hold)
		time.Sleep(time.Minute)
		events := ofRuns(tb.take())
		var steered agent.Event
		for _, e := range events {
			if e.event == string(agent.Notice) {
				if n := e.agent(t); n.Kind == "steered" {
					steered = n
				}
			}
		}
		if steered.Run != one.ID || steered.Ref != two.ID || steered.Text != "and two" {
			t.Errorf("the going run tells %+v", steered)
		}
		var page Turns
		r.call("bob", "GET", "/api/sessions/alpha/s/turns", nil, http.StatusOK, &page)
		if len(page.Turns) != 1 || len(page.Turns[0].Rounds) != 2 || !slices.Equal(page.Turns[0].Rounds[1].Joined, []string{"and two"}) {
			t.Errorf("the turns are %+v", page.Turns)
		}
		// Its own run says who has the words.
		end := r.stream("bob", "GET", "/api/runs/"+two.ID+"/events", nil)
		if last := end[len(end)-1].agent(t); last.Type != agent.RunFinished || last.Ref != one.ID {
			t.Errorf("the steered run ends with %+v", last)
		}
	})
}

// A tab that follows a session which nobody has begun yet is told of it when
// its own person begins it, and of nothing when somebody else does.
func TestATabWaitsForItsSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		bobs, eves := r.openTab(t, "bob", "?session=new", ""), r.openTab(t, "eve", "?session=new", "")
		defer bobs.leave()
		defer eves.leave()
		r.post("bob", StartRun{Session: "new", Message: "hello"})
		synctest.Wait()
		if got := textOf(t, bobs.take()); got != "hello" {
			t.Errorf("bob reads %q", got)
		}
		select {
		case <-eves.ended:
		default:
			t.Error("eve still follows what became bob's")
		}
		if got := eves.take(); len(got) != 0 {
			t.Errorf("eve is told %v", got)
		}
	})
}

func TestAStreamOfEventsEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ends func(r *rig)
		in   time.Duration
	}{
		"with the gateway":         {func(r *rig) { r.Server.Close() }, 0},
		"with its token":           {func(r *rig) { r.Server.revoked(auth.SumOf(r.tokens["bob"])) }, 0},
		"with its token elsewhere": {func(r *rig) { r.removeUser("bob") }, recheck},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, rigOptions{})
				tb := r.openTab(t, "bob", "?session=s", "")
				defer tb.leave()
				synctest.Wait()
				c.ends(r)
				time.Sleep(c.in)
				synctest.Wait()
				select {
				case <-tb.ended:
				default:
					t.Error("it goes on")
				}
			})
		})
	}
}

func TestATabThatDoesntReadIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		resp := r.send(t.Context(), "bob", "GET", "/api/events?session=s", nil)
		defer resp.Body.Close()
		reader := r.openTab(t, "bob", "?session=s", "")
		defer reader.leave()
		text := strings.Repeat("words ", 5000)
		r.model.on("go", reply{text: text, every: time.Millisecond})
		r.post("bob", StartRun{Session: "s", Message: "go"})
		time.Sleep(10 * time.Second)
		if got := textOf(t, reader.take()); got != text {
			t.Errorf("the tab that reads has %d of %d bytes", len(got), len(text))
		}
		time.Sleep(sendWithin)
		synctest.Wait()
		if n := watching(r); n != 1 {
			t.Errorf("%d tabs are served", n)
		}
	})
}

// watching is how many streams are open.
func watching(r *rig) (n int) {
	r.Server.slots.mu.Lock()
	defer r.Server.slots.mu.Unlock()
	for _, of := range r.Server.slots.callers {
		n += of.streams
	}
	return n
}
