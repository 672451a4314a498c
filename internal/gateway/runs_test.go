package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/tool"
)

func roles(messages []wireMessage) string {
	var out []string
	for _, m := range messages {
		out = append(out, m.Role)
	}
	return strings.Join(out, " ")
}

func TestTwoMessagesAtOnceAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	r := setup(t, "", fakellm.Answer{Text: "one", Gate: gate}, fakellm.Text("two"))
	first := r.start(admin("s", "first"))
	if err := r.model.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	second := r.start(admin("s", "second"))
	close(gate)
	if a, b := r.watch(first), r.watch(second); a.text != "one" || b.text != "two" {
		t.Errorf("answered %q and %q", a.text, b.text)
	}
	if got := roles(r.sent(2)); got != "system user assistant user" {
		t.Errorf("the second request holds %s", got)
	}
}

func TestSessionsDontMix(t *testing.T) {
	t.Parallel()
	var answers []fakellm.Answer
	for i := range 20 {
		answers = append(answers, fakellm.Answer{When: fmt.Sprintf("secret-%02d.", i), Text: fmt.Sprintf("answer-%02d.", i)})
	}
	r := setup(t, "", append(answers, answers...)...)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for range 2 {
				if got := r.say(fmt.Sprint("s", i), fmt.Sprintf("secret-%02d.", i)); got.text != fmt.Sprintf("answer-%02d.", i) {
					t.Errorf("session %d is told %q", i, got.text)
				}
			}
		})
	}
	wg.Wait()
	for _, q := range r.model.Requests() {
		if n := strings.Count(string(q.Body), "secret-"); n > 2 {
			t.Errorf("a request holds %d messages of people", n)
		}
		for i := range 20 {
			if strings.Contains(string(q.Body), fmt.Sprintf("answer-%02d", i)) && !strings.Contains(string(q.Body), fmt.Sprintf("secret-%02d", i)) {
				t.Errorf("a request holds another session's answer %d", i)
			}
		}
	}
}

func TestManyCallsAreAllAnsweredInOrder(t *testing.T) {
	t.Parallel()
	var calls []fakellm.Call
	for i := range 200 {
		calls = append(calls, fakellm.Use("calc", fmt.Sprintf(`{"expression":"%d+0"}`, i)))
	}
	r := setup(t, "", fakellm.Calls(calls...), fakellm.Text("done"))
	if got := r.say("s", "go"); got.text != "done" {
		t.Fatalf("the turn ended with %q", got.end.Text)
	}
	results := r.results(2)
	if len(results) != 200 {
		t.Fatalf("%d results", len(results))
	}
	for i, m := range results {
		if m.text() != fmt.Sprint(i) {
			t.Errorf("result %d is %q", i, m.text())
		}
	}
}

func TestAWriteAndAReadOfOneFileKeepTheirOrder(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Calls(
		fakellm.Use("file_write", `{"path":"a.txt","content":"first"}`), fakellm.Use("file_read", `{"path":"a.txt"}`),
		fakellm.Use("file_write", `{"path":"a.txt","content":"second"}`), fakellm.Use("file_read", `{"path":"./a.txt"}`),
		fakellm.Use("file_edit", `{"path":"a.txt","old":"second","new":"third"}`), fakellm.Use("file_read", `{"path":"a.txt"}`),
	), fakellm.Text("done"))
	r.say("s", "go")
	got := r.results(2)
	for i, want := range map[int]string{1: "first", 3: "second", 5: "third"} {
		if strings.TrimSpace(got[i].text()) != want {
			t.Errorf("read %d gives %q, want %q", i, got[i].text(), want)
		}
	}
}

func TestTheIterationLimitAsksForAnAnswer(t *testing.T) {
	t.Parallel()
	r := setup(
		t, "tools: {max_tool_iterations: 2}\n",
		fakellm.Calls(fakellm.Use("calc", `{"expression":"1"}`)), fakellm.Calls(fakellm.Use("calc", `{"expression":"2"}`)),
		fakellm.Text("what I have"),
	)
	got := r.say("s", "go")
	if got.text != "what I have" || got.end.End.Status != agent.Limited {
		t.Errorf("%s with %q", got.end.End.Status, got.text)
	}
	last := string(r.model.Requests()[2].Body)
	mustContain(t, "the last request", last, `"tool_choice":"none"`, `"tools":[`)
	kinds := []string{}
	for _, e := range got.events {
		if e.Type == agent.Notice {
			kinds = append(kinds, e.Kind)
		}
	}
	if !slices.Contains(kinds, "limit") {
		t.Errorf("notices: %v", kinds)
	}
}

func TestTheLoopGuardEndsACircle(t *testing.T) {
	t.Parallel()
	var answers []fakellm.Answer
	for range 5 {
		answers = append(answers, fakellm.Calls(fakellm.Use("file_read", `{"path":"missing"}`)))
	}
	r := setup(t, "", append(answers, fakellm.Text("other"))...)
	got := r.say("s", "go")
	if n := len(r.model.Requests()); n != 5 {
		t.Errorf("the model was asked %d times", n)
	}
	mustContain(t, "the answer", got.text, "file_read", "5 times")
	mustContain(t, "the hint", string(r.model.Requests()[3].Body), "3 times in a row")
	if next := r.say("s", "try something else"); next.text != "other" {
		t.Errorf("afterwards the session says %q", next.text)
	}
}

func TestStoppingInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Answer{Text: "half an answer", Hang: "middle"}, fakellm.Text("on"))
	going := r.start(admin("s", "go"))
	var seen turn
	for e := range going.Events(t.Context(), 0) {
		if e.Type == agent.TokenChunk {
			going.Stop()
		}
		seen.end = e
	}
	if seen.end.End == nil || seen.end.End.Status != agent.Stopped {
		t.Fatalf("the end is %+v", seen.end)
	}
	if got := r.say("s", "go on"); got.text != "on" {
		t.Errorf("afterwards the session says %q", got.text)
	}
	messages := r.sent(2)
	mustContain(t, "the history", messages[2].text(), "half an answer")
	if got := roles(messages); got != "system user assistant user" {
		t.Errorf("the history is %s", got)
	}
}

func TestAWriteBehindTheAgentsBackIsNotLost(t *testing.T) {
	t.Parallel()
	r := setup(
		t, "", reads("a.txt"), fakellm.Text("read"),
		fakellm.Calls(fakellm.Use("file_write", `{"path":"a.txt","content":"mine"}`)), reads("a.txt"),
		fakellm.Calls(fakellm.Use("file_write", `{"path":"a.txt","content":"mine"}`)), fakellm.Text("written"),
	)
	r.write("a.txt", "one")
	r.say("s", "read it")
	r.write("a.txt", "somebody else's")
	r.say("s", "write it")
	mustContain(t, "the refusal", r.results(4)[0].text(), "changed")
	if text, _ := r.file("a.txt"); text != "mine" {
		t.Errorf("in the end the file holds %q", text)
	}
}

func TestTheTraceTellsWhatHappened(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Answer{
		Calls: []fakellm.Call{fakellm.Use("calc", `{"expression":"1/0"}`)}, Usage: &fakellm.Usage{Input: 90, Cached: 40, Output: 7},
	}, fakellm.Text("no"))
	r.say("s", "go")
	runs, _, err := r.Sessions.Runs(context.WithoutCancel(t.Context()), session.RunFilter{Depth: session.Whole})
	if err != nil || len(runs) != 1 || len(runs[0].Rounds) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	first := runs[0].Rounds[0]
	if u := first.Reply.Usage; u.Input != 90 || u.Cached != 40 || u.Output != 7 {
		t.Errorf("usage %+v", u)
	}
	if len(first.Request.Sections) == 0 || len(first.Request.Tools) == 0 || first.Request.Bytes == 0 {
		t.Errorf("the request's facts are %+v", first.Request)
	}
	o := first.Outcomes[0]
	if o.Status != tool.Failed || len(o.Steps) < 4 || o.Started.IsZero() || o.Ended.Before(o.Started) {
		t.Errorf("the call's trace is %+v", o)
	}
}

// The preview of a prompt is compared with the last request of its own session,
// also behind a turn in which no model answered.
func TestAPreviewKnowsTheLastRequestOfItsSession(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Text("hello"), fakellm.Fail(400, `{"error":{"message":"no"}}`))
	r.say("s", "hi")
	if end := r.say("s", "again").end.End; end.Status != agent.Failed {
		t.Fatalf("the second turn is %s", end.Status)
	}
	for session, want := range map[string]bool{"s": true, "other": false, "": false} {
		p, err := r.PreviewPrompt(t.Context(), admin(session, "and now?"))
		if err != nil {
			t.Fatal(err)
		}
		if (p.Last != nil) != want {
			t.Errorf("session %q: the last request is %+v", session, p.Last)
		}
		if want && (len(p.Last.Sections) != len(p.Sections)-1 || len(p.Last.Tools) != len(p.Request.Tools)) {
			t.Errorf("the last request had %d sections and %d tools, this one has %d, the time included, and %d",
				len(p.Last.Sections), len(p.Last.Tools), len(p.Sections), len(p.Request.Tools))
		}
	}
}

// Another process on the same home waits for the session, and says so.
func TestASessionIsHeldAmongProcesses(t *testing.T) {
	t.Parallel()
	slow := fakellm.Text("first")
	slow.Hold = true
	r := setup(t, "", slow, fakellm.Text("second"))
	other := &rig{t: t, model: r.model, home: r.home}
	other.open()
	t.Cleanup(other.close)

	going := r.start(admin("s", "one"))
	for e := range going.Events(t.Context(), 0) {
		if e.Type == agent.ModelStarted {
			break
		}
	}
	waiting := other.start(admin("s", "two"))
	for range waiting.Events(t.Context(), 0) {
		break // it has said what it waits for
	}
	if err := r.model.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := other.watch(waiting)
	if e := late.events[0]; e.Type != agent.Notice || e.Kind != "queued" || !strings.Contains(e.Text, "another process") {
		t.Errorf("the waiting run begins with %+v", e)
	}
	if seen := r.watch(going); seen.text != "first" || late.text != "second" {
		t.Errorf("the answers are %q and %q", seen.text, late.text)
	}
	if got := roles(r.sent(2)); got != "system user assistant user" {
		t.Errorf("the second request holds %s", got)
	}
}

// A provider whose key is a secret is never asked without it.
func TestAProviderWithASecretForAKeyIsNotAsked(t *testing.T) {
	t.Parallel()
	r := setup(t, "    kept: {type: openai-compatible, model: m, base_url: \"http://127.0.0.1:1/v1\", api_key: \"secret:KEPT\"}\n  fallback: [kept]\n",
		fakellm.Fail(401, `{"error":{"message":"no such key"}}`))
	seen := r.say("s", "hi")
	if seen.end.End.Status != agent.Failed || !strings.Contains(seen.end.Text, "openai") {
		t.Errorf("the end is %q", seen.end.Text)
	}
	told := ""
	for _, e := range seen.events {
		if e.Type == agent.Notice {
			told += e.Text
		}
	}
	mustContain(t, "the notices", told, "the secret KEPT", "not in this version")
	req := admin("s", "hi")
	req.Model = "kept"
	if _, err := r.Runner.Start(req); err == nil || !strings.Contains(err.Error(), "the secret KEPT") {
		t.Errorf("asked for by name: %v", err)
	}
}
