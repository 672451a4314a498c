package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
)

var (
	runIDs = regexp.MustCompile(`\b[a-z2-7]{16}\b`)
	times  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
)

// transcript is a stream as it stood on the wire, with names for ids and times.
func transcript(events []sseEvent) string {
	var b strings.Builder
	names := map[string]string{}
	for _, e := range events {
		if e.id != "" {
			fmt.Fprintf(&b, "id: %s\n", e.id)
		}
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.event, e.data)
	}
	out := runIDs.ReplaceAllStringFunc(b.String(), func(id string) string {
		if names[id] == "" {
			names[id] = fmt.Sprintf("ID%d", len(names)+1)
		}
		return names[id]
	})
	out = times.ReplaceAllString(out, "TIME")
	return strings.ReplaceAll(out, `,"started":"TIME","usage"`, `,"usage"`) // of a run that may or may not have begun
}

// golden compares a transcript with the file of that name.
func golden(t *testing.T, name string, events []sseEvent) {
	t.Helper()
	file := filepath.Join("testdata", name+".sse")
	got := transcript(events)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// types lists what happened.
func types(events []sseEvent) string {
	var out []string
	for _, e := range events {
		out = append(out, e.event)
	}
	return strings.Join(out, " ")
}

// textOf is what an agent said.
func textOf(t *testing.T, events []sseEvent) string {
	t.Helper()
	var b strings.Builder
	for _, e := range events {
		if e.event == string(agent.TokenChunk) {
			b.WriteString(e.agent(t).Text)
		}
	}
	return b.String()
}

func call(id, name, args string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: args}
}

// withTools makes the model tell all there is to tell: it thinks, calls tools
// of which one is refused, and answers.
func (r *rig) withTools(text string) {
	r.model.on(text, reply{
		reasoning: "First the tools.", text: "Let me see. ", every: time.Millisecond,
		calls: []llm.ToolCall{call("a", "noop", `{"n":1}`), call("b", "refuse", `{}`), call("c", "picture", `{}`)},
	}, reply{text: "All <done>.", every: time.Millisecond})
}

func TestTheStreamOfARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.model.media = []byte("picture")
		r.withTools("go")
		live := r.say("bob", "s", "go")
		golden(t, "run", live)
		run := live[0].agent(t).Run

		// Told again from the record, since this process forgot it.
		again := r.restart(rigOptions{}).stream("bob", "GET", "/api/runs/"+run+"/events", nil)
		golden(t, "replayed", again)
		for _, e := range append(live, again...) {
			if strings.Contains(e.data, "cGljdHVyZQ") {
				t.Errorf("an event holds the bytes of a picture: %s", e.data)
			}
		}
	})
}

func TestAFailureIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.model.on("go", reply{err: errors.New("the model is asleep")})
	golden(t, "failed", r.say("bob", "s", "go"))
}

func TestARunWithoutAStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	hold := make(chan struct{})
	r.model.on("go", reply{text: "one two", middle: hold})
	no := false
	var started, one Run
	resp := r.call("bob", "POST", "/api/runs", StartRun{Message: "go", Fresh: true, Stream: &no}, http.StatusAccepted, &started)
	if started.State != RunRunning || started.Agent != "alpha" || started.Caller.ID != "bob" || started.Origin != "api" || started.Message.Text() != "go" {
		t.Errorf("started %+v", started)
	}
	if live, ok := r.runner.Run(started.ID); !ok || !live.Request().Fresh {
		t.Error("the run may be answered out of the cache of answers")
	}
	for name, want := range map[string]string{"X-GoClaw-Run": started.ID, "X-GoClaw-Session": started.Session, "X-GoClaw-Agent": "alpha"} {
		if got := resp.Header.Get(name); got != want || got == "" {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	close(hold)
	events := r.stream("bob", "GET", "/api/runs/"+started.ID+"/events", nil)
	if got := textOf(t, events); got != "one two" {
		t.Errorf("said %q", got)
	}
	r.call("bob", "GET", "/api/runs/"+started.ID, nil, http.StatusOK, &one)
	if one.State != RunEnded || one.Status != agent.Done || one.Usage.Output != 4 || one.Started.IsZero() || one.Ended.IsZero() || len(one.Message.Parts) != 1 {
		t.Errorf("ended %+v", one)
	}
	var list Runs
	r.call("bob", "GET", "/api/runs?session="+started.Session, nil, http.StatusOK, &list)
	if d := cmp.Diff([]Run{one}, list.Runs); d != "" {
		t.Error(d)
	}
}

// Whatever a viewer saw last, it goes on right behind it.
func TestAStreamGoesOnBehindEveryEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.withTools("go")
		whole := r.say("bob", "s", "go")
		run := whole[0].agent(t).Run
		path := "/api/runs/" + run + "/events"
		resume := func(whole []sseEvent) {
			t.Helper()
			for i, e := range whole {
				if e.id == "" {
					continue
				}
				if i == len(whole)-1 {
					// A browser must hear that there is no more, or it comes back for ever.
					r.call("bob", "GET", path, nil, http.StatusNoContent, nil, header{"Last-Event-ID", e.id})
					continue
				}
				rest := r.stream("bob", "GET", path, nil, header{"Last-Event-ID", e.id})
				if got, want := textOf(t, rest), textOf(t, whole[i+1:]); got != want {
					t.Errorf("behind %s it says %q, want %q", e.id, got, want)
				}
				if got := rest[len(rest)-1]; got != whole[len(whole)-1] {
					t.Errorf("behind %s it ends with %v", e.id, got)
				}
				byQuery := r.stream("bob", "GET", path+"?after="+e.id, nil)
				if d := cmp.Diff(transcript(rest), transcript(byQuery)); d != "" {
					t.Errorf("behind %s: %s", e.id, d)
				}
			}
		}
		resume(whole)
		r = r.restart(rigOptions{})
		kept := r.stream("bob", "GET", path, nil)
		if kept[0].event != "run_replayed" || kept[0].id != "" {
			t.Errorf("it begins with %v", kept[0])
		}
		resume(kept)
		// Ids of the events that happened mean nothing any more: all is told again.
		again := r.stream("bob", "GET", path, nil, header{"Last-Event-ID", whole[3].id})
		if d := cmp.Diff(transcript(kept), transcript(again)); d != "" {
			t.Error(d)
		}
		for _, bad := range []string{"x", "-1", "1.5", "rr1", "99999999999999999999"} {
			r.refused("bob", "GET", path+"?after="+bad, nil, http.StatusBadRequest, "bad_request", bad)
		}
	})
}

// A message that waits when the gateway stops is answered after its next start,
// and whoever followed it goes on behind what they saw.
func TestWhatWaitsIsFollowedThroughARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		r.model.on("one", reply{text: "a b", middle: make(chan struct{})})
		tb := r.openTab(t, "bob", "?session=s", "")
		r.post("bob", StartRun{Session: "s", Message: "one"})
		time.Sleep(time.Second)
		two := r.post("bob", StartRun{Session: "s", Message: "two"})
		path := "/api/runs/" + two.ID + "/events"
		resp := r.send(t.Context(), "bob", "GET", path, nil)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.runner.Drain(ctx); err != nil {
			t.Fatal(err)
		}
		s := newSSE(resp.Body)
		before := slices.Collect(s.events())
		resp.Body.Close()
		if got := types(before); got != "notice notice" {
			t.Errorf("before the stop it is told %s", got)
		}
		var run Run
		r.call("bob", "GET", "/api/runs/"+two.ID, nil, http.StatusOK, &run)
		if run.State != RunQueued {
			t.Errorf("it is %+v", run)
		}
		r.refused("bob", "POST", "/api/runs", StartRun{Message: "three"}, http.StatusServiceUnavailable, "unavailable")
		tb.leave()

		r = r.restart(rigOptions{})
		if err := r.runner.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := r.stream("bob", "GET", path, nil, header{"Last-Event-ID", s.last})
		if got := types(after); got != "run_started prompt_built model_call_started token_chunk run_finished" {
			t.Errorf("after the start it is told %s", got)
		}
		again := r.openTab(t, "bob", "?session=s", tb.sse.last)
		defer again.leave()
		time.Sleep(time.Second)
		// Of the first run it saw other events; the second is told from its beginning.
		want := "run_opened run_replayed run_started prompt_built model_call_started token_chunk run_finished " +
			"run_opened run_started prompt_built model_call_started token_chunk run_finished"
		if got := types(ofRuns(again.take())); got != want {
			t.Errorf("the tab is told %s", got)
		}
	})
}

func TestWhatCantStart(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.say("eve", "eves", "hi")
	for name, c := range map[string]struct {
		body   StartRun
		status int
		code   string
		words  []string
	}{
		"an unknown agent":   {StartRun{Agent: "gamma", Message: "hi"}, 404, "not_found", []string{"gamma", "alpha, beta"}},
		"a bad session name": {StartRun{Session: "../x", Message: "hi"}, 400, "bad_request", []string{"session name"}},
		"another's session":  {StartRun{Session: "eves", Message: "hi"}, 404, "not_found", nil},
		"another's calls":    {StartRun{Session: "invoke-eve", Message: "hi"}, 404, "not_found", nil},
		"another's program":  {StartRun{Session: "api:eve:work", Message: "hi"}, 404, "not_found", nil},
		"no message":         {StartRun{Message: " \n"}, 400, "bad_request", []string{"empty"}},
		"a wrong word":       {StartRun{Message: "hi", WhileBusy: "hurry"}, 400, "bad_request", []string{"queue, steer or interrupt"}},
		"no such attachment": {StartRun{Message: "hi", Attachments: []string{"a9"}}, 400, "bad_request", []string{"a9"}},
	} {
		p := r.refused("bob", "POST", "/api/runs", c.body, c.status, c.code, c.words...)
		if p.Request == "" {
			t.Errorf("%s: no request id", name)
		}
	}
	if n := len(r.model.seen); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	if err := r.runner.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var file Attachment
	r.call("bob", "POST", "/api/attachments?name=a.txt", "x", http.StatusCreated, &file)
	p := r.call("bob", "POST", "/api/runs", StartRun{Message: "hi", Attachments: []string{file.ID}}, http.StatusServiceUnavailable, nil)
	if r.backend.backs != 1 {
		t.Error("the files of a message that was refused were not taken back")
	}
	if p.Header.Get("Retry-After") == "" {
		t.Error("no word about when to try again")
	}
}

func TestStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		start := func(text string) Run { return r.post("bob", StartRun{Session: "s", Message: text}) }
		r.model.on("one", reply{text: "half an answer", middle: make(chan struct{})})
		one := start("one")
		time.Sleep(time.Second)
		two := start("two")
		if one.State != RunRunning || two.State != RunQueued {
			t.Fatalf("%s and %s", one.State, two.State)
		}
		r.refused("eve", "POST", "/api/runs/"+one.ID+"/stop", nil, http.StatusNotFound, "not_found")
		for range 2 { // stopping again changes nothing
			var stopped Run
			r.call("bob", "POST", "/api/runs/"+two.ID+"/stop", nil, http.StatusOK, &stopped)
			if stopped.State != RunEnded || stopped.Status != agent.Stopped {
				t.Errorf("the waiting run is %+v", stopped)
			}
			r.call("bob", "POST", "/api/runs/"+one.ID+"/stop", nil, http.StatusOK, &stopped)
			if stopped.State != RunEnded || stopped.Status != agent.Stopped {
				t.Errorf("the going run is %+v", stopped)
			}
		}
		r.refused("bob", "POST", "/api/runs/aaaaaaaaaaaaaaaa/stop", nil, http.StatusNotFound, "not_found")

		r.model.on("three", reply{text: "half an answer", middle: make(chan struct{})})
		three := start("three")
		time.Sleep(time.Second)
		four, five := start("four"), start("five")
		r.call("bob", "POST", "/api/sessions/alpha/s/stop", nil, http.StatusNoContent, nil)
		r.call("bob", "POST", "/api/sessions/alpha/s/stop", nil, http.StatusNoContent, nil)
		for _, run := range []Run{three, four, five} {
			r.call("bob", "GET", "/api/runs/"+run.ID, nil, http.StatusOK, &run)
			if run.Status != agent.Stopped {
				t.Errorf("%s is %+v", run.Message.Text(), run)
			}
		}
		if want := []string{"one", "three"}; !slices.Equal(r.model.seen, want) {
			t.Errorf("the model was asked %q, want %q", r.model.seen, want)
		}
	})
}

func TestWhoLeavesMayStopTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		for _, stops := range []bool{true, false} {
			hold := make(chan struct{})
			r.model.on("go", reply{text: "one two", middle: hold})
			ctx, leave := context.WithCancel(t.Context())
			resp := r.send(ctx, "bob", "POST", "/api/runs", StartRun{Message: "go", StopOnDisconnect: stops})
			going, ok := r.runner.Run(resp.Header.Get("X-GoClaw-Run"))
			if !ok {
				t.Fatal("there is no run")
			}
			leave()
			resp.Body.Close()
			synctest.Wait()
			close(hold)
			<-going.Done()
			var run Run
			r.call("bob", "GET", "/api/runs/"+going.ID, nil, http.StatusOK, &run)
			if stops && run.Status != agent.Stopped || !stops && run.Status != agent.Done {
				t.Errorf("stop on disconnect %v: %s %s", stops, run.Status, run.Error)
			}
		}
	})
}

// A viewer that doesn't read is dropped, and the run never notices.
func TestAViewerThatDoesntReadIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		text := strings.Repeat("words ", 5000)
		r.model.on("go", reply{text: text, every: time.Millisecond})
		resp := r.send(t.Context(), "bob", "POST", "/api/runs", StartRun{Message: "go"})
		defer resp.Body.Close()
		going, _ := r.runner.Run(resp.Header.Get("X-GoClaw-Run"))
		began := time.Now()
		<-going.Done() // nobody reads
		if d := time.Since(began); d > 10*time.Second {
			t.Errorf("the run took %v", d)
		}
		time.Sleep(sendWithin + time.Second)
		s := newSSE(resp.Body)
		var last sseEvent
		for e := range s.events() {
			last = e
		}
		if last.event == string(agent.RunFinished) {
			t.Error("the viewer was not dropped")
		}
		// It comes back behind what it had.
		rest := r.stream("bob", "GET", "/api/runs/"+going.ID+"/events", nil, header{"Last-Event-ID", s.last})
		if end := rest[len(rest)-1].agent(t); end.Type != agent.RunFinished || end.Text != text {
			t.Errorf("afterwards it reads %+v", end)
		}
	})
}

func TestAQuietStreamShowsThatItLives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		hold := make(chan struct{})
		r.model.on("go", reply{text: "one two", gate: hold})
		time.AfterFunc(100*time.Second, func() { close(hold) })
		resp := r.send(t.Context(), "bob", "POST", "/api/runs", StartRun{Message: "go"})
		defer resp.Body.Close()
		s := newSSE(resp.Body)
		for range s.events() {
		}
		if s.comments != 6 {
			t.Errorf("%d comments in 100 seconds", s.comments)
		}
	})
}

func TestRunsAreTheirCallers(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.say("bob", "bobs", "hi")
	r.say("eve", "eves", "hi")
	r.say("ada", "bobs", "an admin's word")
	count := func(who, query string) int {
		var list Runs
		r.call(who, "GET", "/api/runs"+query, nil, http.StatusOK, &list)
		return len(list.Runs)
	}
	for _, c := range []struct {
		who, query string
		want       int
	}{
		{"bob", "", 1},
		{"bob", "?session=bobs", 2},
		{"eve", "", 1},
		{"ada", "", 3},
		{"ada", "?session=bobs&agent=main", 2},
		{"ada", "?agent=beta", 0},
		{"ada", "?status=done&limit=2", 2},
		{"ada", "?status=failed", 0},
	} {
		if got := count(c.who, c.query); got != c.want {
			t.Errorf("%s sees %d runs of %q, want %d", c.who, got, c.query, c.want)
		}
	}
	r.refused("eve", "GET", "/api/runs?session=bobs", nil, 404, "not_found")
	r.refused("eve", "GET", "/api/runs?status=fine", nil, 400, "bad_request", "done")
	r.refused("eve", "GET", "/api/runs?limit=0", nil, 400, "bad_request")
	r.refused("eve", "GET", "/api/runs?after=nonsense", nil, 400, "bad_request", "next")
	var all Runs
	r.call("ada", "GET", "/api/runs", nil, 200, &all)
	for _, run := range all.Runs {
		for who, sees := range map[string]bool{"ada": true, "bob": run.Session == "bobs", "eve": run.Session == "eves"} {
			for _, path := range []string{"/api/runs/" + run.ID, "/api/runs/" + run.ID + "/events"} {
				resp := r.send(t.Context(), who, "GET", path, nil)
				resp.Body.Close()
				if (resp.StatusCode == http.StatusOK) != sees {
					t.Errorf("%s asks for %s of %s: %s", who, path, run.Session, resp.Status)
				}
			}
		}
	}
	// Pages follow each other without gaps.
	var paged []Run
	for after := ""; ; {
		var list Runs
		r.call("ada", "GET", "/api/runs?limit=1&after="+after, nil, 200, &list)
		paged = append(paged, list.Runs...)
		if after = list.Next; after == "" {
			break
		}
	}
	if d := cmp.Diff(all.Runs, paged); d != "" {
		t.Error(d)
	}
}
