package gateway_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// What a person says to a going run stays in the history, however it ends.
func TestSteeredWordsStayInTheHistory(t *testing.T) {
	t.Parallel()
	call := fakellm.Calls(fakellm.Use("file_read", `{"path":"none"}`))
	for _, c := range []struct {
		name string
		next []fakellm.Answer // to the request that holds the words
		more string
		stop bool
		end  agent.Status
	}{
		{"failed", []fakellm.Answer{fakellm.Fail(400, `{"error":{"message":"bad"}}`)}, "", false, agent.Failed},
		{"stopped", []fakellm.Answer{{Hang: "before"}}, "", true, agent.Stopped},
		{"in a circle", nil, "tools: {loop_guard: {hint: 0, stop: 1}}\n", false, agent.Limited},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gate := make(chan struct{})
			first := call
			first.Gate = gate
			r := setup(t, "sessions: {while_busy: steer}\n"+c.more, append(append([]fakellm.Answer{first}, c.next...), fakellm.Text("on"))...)
			going := r.start(admin("s", "do it"))
			if err := r.model.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			words := r.start(admin("s", "and this too"))
			close(gate)
			if c.stop {
				if err := r.model.Wait(t.Context(), 2); err != nil {
					t.Fatal(err)
				}
				going.Stop()
			}
			if got := r.watch(going); got.end.End.Status != c.end {
				t.Errorf("the run ended %s: %s", got.end.End.Status, got.end.Text)
			}
			if got := r.watch(words); got.end.End.Status != agent.Done || got.end.Ref != going.ID {
				t.Errorf("the words ended %s in run %q", got.end.End.Status, got.end.Ref)
			}
			r.close()
			r.open()
			if got := r.say("s", "go on"); got.text != "on" {
				t.Errorf("the session goes on with %q (%s)", got.text, got.end.Text)
			}
			n := len(r.model.Requests())
			if got := roles(r.sent(n)); got != "system user assistant tool user assistant user" || r.sent(n)[4].text() != "and this too" {
				t.Errorf("the history is %s: %+v", got, r.sent(n)[1:])
			}
			r.prefixes()
		})
	}
}

// A message that waits carries the authority that its person had; who was
// removed meanwhile, or is no admin any more, has it no longer.
func TestWaitingWordsOfARemovedPersonAreNotAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		role auth.Role // after the first message; empty for none
		end  agent.Status
		word string
	}{
		{"removed", "", agent.Failed, "bob was removed"},
		{"demoted", auth.User, agent.Failed, "bob is no admin now"},
		{"the same", auth.Admin, agent.Done, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			gate := make(chan struct{})
			first := fakellm.Text("one")
			first.Gate = gate
			answers := []fakellm.Answer{first}
			if c.end == agent.Done {
				answers = append(answers, fakellm.Text("two"))
			}
			r := setup(t, "", answers...)
			known := func(role auth.Role) {
				if err := r.Users.Add(t.Context(), auth.Account{ID: "bob", Role: role, Created: time.Unix(1, 0)}); err != nil {
					t.Fatal(err)
				}
			}
			known(auth.Admin)
			if err := r.Runner.Recover(t.Context()); err != nil { // as a gateway does
				t.Fatal(err)
			}
			req := admin("s", "one")
			req.Caller = auth.Principal{ID: "bob", Role: auth.Admin, Human: true}
			going := r.start(req)
			if err := r.model.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			req.Message = llm.UserMessage("two")
			waits := r.start(req)
			if err := r.Users.Remove(t.Context(), "bob"); err != nil {
				t.Fatal(err)
			}
			if c.role != "" {
				known(c.role)
			}
			close(gate)
			r.watch(going)
			if got := r.watch(waits); got.end.End.Status != c.end || !strings.Contains(got.end.Text, c.word) {
				t.Errorf("what waited ended %s: %s", got.end.End.Status, got.end.Text)
			}
			turns, err := r.Sessions.Turns(t.Context(), session.Key{Agent: waits.Agent, ID: waits.Session}, 1, 0, session.Whole)
			if err != nil || len(turns) != 2 || turns[1].Status != c.end || !strings.Contains(turns[1].Error, c.word) {
				t.Errorf("the session has %d turns, %v", len(turns), err)
			}
		})
	}
}

// What goes for a person who is removed is stopped, with calls that wait for
// approval and whoever waits for a model; another person's message in the same
// session is answered.
func TestRunsOfARemovedPersonAreStopped(t *testing.T) {
	t.Parallel()
	silent := fakellm.Text("never")
	silent.Gate = make(chan struct{})
	r := setup(t, asks, write("a.txt"), silent, fakellm.Text("For Ada."))
	for _, id := range []string{"ada", "bob"} {
		if err := r.Users.Add(t.Context(), auth.Account{ID: id, Role: auth.Admin, Created: time.Unix(1, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Runner.Recover(t.Context()); err != nil { // as a gateway does
		t.Fatal(err)
	}
	of := func(person, session string) *run.Run {
		req := admin(session, "Write.")
		req.Caller = auth.Principal{ID: person, Role: auth.Admin, Human: true}
		return r.start(req)
	}
	asking := of("bob", "s")
	for e := range asking.Events(t.Context(), 0) {
		if e.Kind == agent.ApprovalNeeded {
			break
		}
	}
	thinking := of("bob", "other")
	if err := r.model.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	adas := of("ada", "s")
	if err := r.Users.Remove(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*run.Run{asking, thinking} {
		if got := r.watch(one); got.end.End.Status != agent.Stopped {
			t.Errorf("a run ended %s: %s", got.end.End.Status, got.end.Text)
		}
	}
	if got := r.watch(adas); got.end.End.Status != agent.Done || got.end.Text != "For Ada." {
		t.Errorf("Ada's run ended %s: %s", got.end.End.Status, got.end.Text)
	}
	turns, err := r.Sessions.Turns(t.Context(), session.Key{Agent: asking.Agent, ID: "s"}, 1, 1, session.Whole)
	if err != nil || len(turns) != 1 || len(turns[0].Rounds) != 1 {
		t.Fatalf("%d turns, %v", len(turns), err)
	}
	a := turns[0].Rounds[0].Outcomes[0].Approval
	if a == nil || a.Status != tool.ApprovalStopped || a.Problem != "bob was removed" {
		t.Errorf("the call waited, and then %+v", a)
	}
	list, _, err := r.Approvals.List(t.Context(), auth.Principal{ID: "ada", Role: auth.Admin}, approval.Filter{})
	if err != nil || len(list) != 1 || list[0].Problem != "bob was removed" || !strings.Contains(agent.ApprovalWords(&list[0]), "bob was removed") {
		t.Errorf("requests: %+v, %v", list, err)
	}
}

// A gateway goes on with a database that was deleted under it, since its file
// is still open, but says so.
func TestADeletedDatabaseIsAProblem(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	if got := r.Status(t.Context()).Problems; len(got) != 0 {
		t.Fatalf("problems at the start: %q", got)
	}
	path := filepath.Join(r.home, "state.db")
	for _, c := range []struct{ does, word string }{{"away", "was deleted"}, {"another", "in the place of"}} {
		var err error
		if c.does == "away" {
			err = os.Rename(path, path+".old")
		} else {
			err = os.WriteFile(path, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Status(t.Context()).Problems; len(got) != 1 || !strings.Contains(got[0], c.word) {
			t.Errorf("%s: problems: %q", c.does, got)
		}
	}
}

// Whoever moves the folder away and puts another in its place need not start
// the gateway again: prompts are made of the new one's files.
func TestAReplacedWorkspaceIsRead(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Text("one"), fakellm.Text("two"))
	r.write("SOUL.md", "the old soul")
	r.say("first", "hello")
	dir := filepath.Join(r.home, "workspace")
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	if got := r.watch(r.start(admin("second", "hello"))); got.end.End.Status != agent.Failed || !strings.Contains(got.end.Text, "open workspace") {
		t.Errorf("without a workspace the run ended %s: %s", got.end.End.Status, got.end.Text)
	}
	r.write("SOUL.md", "the new soul")
	r.write("new.txt", "")
	if got := r.say("third", "hello"); got.text != "two" {
		t.Fatalf("the run ended %s: %s", got.end.End.Status, got.end.Text)
	}
	prompt := r.sent(2)[0].text()
	mustContain(t, "the prompt", prompt, "the new soul", "new.txt")
	if strings.Contains(prompt, "the old soul") {
		t.Error("the prompt holds what stands in the folder that was moved away")
	}
}

// A model that finds the conversation too long is asked with less of it, so
// that the session stays usable.
func TestATooLongConversationGoesOn(t *testing.T) {
	t.Parallel()
	r := setup(t, "")
	tooLong := fakellm.Fail(400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}`)
	for i := range 10 {
		r.model.Add(fakellm.Calls(fakellm.Use("calc", `{"expression":"1+1"}`)), fakellm.Text("answer "+strings.Repeat("long ", 500)))
		r.say("s", fmt.Sprint("message ", i))
	}
	r.model.Add(tooLong, fakellm.Calls(fakellm.Use("calc", `{"expression":"1+2"}`)), fakellm.Text("fine"))
	got := r.say("s", "the newest")
	if got.text != "fine" {
		t.Fatalf("the person sees %q (%s)", got.text, got.end.Text)
	}
	all := r.model.Requests()
	refused, again, last := all[len(all)-3].Body, all[len(all)-2].Body, all[len(all)-1].Body
	if len(again) >= len(refused) || !bytes.Contains(again, []byte("the newest")) {
		t.Errorf("of %d bytes it was asked again with %d", len(refused), len(again))
	}
	if n := repeated(again, last); n < len(again)-2 {
		t.Errorf("the round after it repeats %d of %d bytes", n, len(again))
	}

	// What can't be shortened is not sent again, and the next message works.
	r.model.Add(tooLong)
	if got := r.say("other", "one message"); got.end.Type != agent.RunFailed || !strings.Contains(got.end.Text, "too long") {
		t.Errorf("it ends with %s: %s", got.end.Type, got.end.Text)
	}
	r.model.Add(fakellm.Text("shorter is better"))
	if got := r.say("other", "shorter"); got.text != "shorter is better" {
		t.Errorf("afterwards the person sees %q (%s)", got.text, got.end.Text)
	}
}

// pair is a rig whose agent falls back to a second provider.
func pair(t *testing.T, first, second []fakellm.Answer) (*rig, *fakellm.Server) {
	t.Helper()
	one, two := fakellm.Start(t, first...), fakellm.Start(t, second...)
	return configured(t, one, fmt.Sprintf(`ai:
  provider: one
  fallback: [two/n]
  providers:
    one: {type: openai-compatible, api_key: key, model: m, base_url: %q}
    two: {type: openai-compatible, api_key: key, model: n, base_url: %q}
`, one.Base(), two.Base())), two
}

func TestATurnStaysWithWhoeverAnswered(t *testing.T) {
	t.Parallel()
	quota := fakellm.Fail(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`)
	write := func(name string) fakellm.Answer {
		return fakellm.Calls(fakellm.Use("file_write", fmt.Sprintf(`{"path":%q,"content":"x"}`, name)))
	}
	refused := fakellm.Calls(fakellm.Use("no_such_tool", `{}`))
	for _, c := range []struct {
		name          string
		first, second []fakellm.Answer
		asked         [2]int // requests to each in the first turn
		end           agent.EventType
		next          string // who answers the next message
	}{
		{"quota before a tool", []fakellm.Answer{quota}, []fakellm.Answer{write("a"), refused, fakellm.Text("two"), fakellm.Text("two")}, [2]int{1, 3}, agent.RunFinished, "two"},
		{"quota behind a refused call", []fakellm.Answer{refused, quota}, []fakellm.Answer{write("a"), fakellm.Text("two"), fakellm.Text("two")}, [2]int{2, 2}, agent.RunFinished, "two"},
		{"PR-011 quota behind a tool", []fakellm.Answer{write("a"), quota}, []fakellm.Answer{fakellm.Text("two")}, [2]int{2, 0}, agent.RunFailed, "two"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, two := pair(t, c.first, c.second)
			got := r.say("s", "go")
			if asked := [2]int{len(r.model.Requests()), len(two.Requests())}; asked != c.asked || got.end.Type != c.end {
				t.Errorf("%v requests, then %s: %s", asked, got.end.Type, got.end.Text)
			}
			writes := 0
			for _, o := range got.outcomes() {
				if o.Ran() {
					writes++
				}
			}
			if writes != 1 {
				t.Errorf("%d calls ran", writes)
			}
			if next := r.say("s", "go on"); next.text != c.next {
				t.Errorf("then %q answers (%s)", next.text, next.end.Text)
			}
		})
	}
}

// A run that is stopped while a local Ollama is looked for decides nothing for
// the runs after it.
func TestAStoppedSearchForAModelIsForgotten(t *testing.T) {
	t.Parallel()
	model := fakellm.New(fakellm.Script{Answers: []fakellm.Answer{fakellm.Text("from Ollama")}})
	asked := make(chan struct{}, 1)
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		once.Do(func() {
			asked <- struct{}{}
			<-q.Context().Done()
		})
		model.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	home := t.TempDir()
	text := fmt.Sprintf("ai: {providers: {ollama: {base_url: %q, model: fake-model}}}\n", server.URL+"/v1")
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := gateway.Open(t.Context(), gateway.Options{
		Home: home, Environ: config.EnvironOf(), AllowDemo: true, OllamaWithin: time.Minute,
		Log: func(config.Log) (*slog.Logger, error) { return slog.New(slog.DiscardHandler), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Gateway: g, t: t, home: home}
	t.Cleanup(r.close)
	going := r.start(admin("s", "hello"))
	<-asked
	going.Stop()
	if got := r.watch(going); got.end.End.Status != agent.Stopped {
		t.Errorf("the run ended %s", got.end.End.Status)
	}
	if got := r.say("s", "hello again"); got.text != "from Ollama" {
		t.Errorf("the next run is answered %q (%s)", got.text, got.end.Text)
	}
}
