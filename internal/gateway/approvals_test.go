package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/tool"
)

// asks has people asked about each call that writes a file.
const asks = "hooks: [{name: look, tools: [file_write], action: approve, message: Look first.}]\n"

// viewer reads the events of a run as they come.
type viewer struct {
	s     *served
	run   string
	lines *bufio.Reader
	all   []agent.Event // that were read
}

// view begins to watch a run that an answer tells.
func (s *served) view(resp *http.Response) *viewer {
	s.t.Helper()
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s", resp.Status, s.text(resp))
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return &viewer{s: s, run: resp.Header.Get("X-GoClaw-Run"), lines: bufio.NewReader(resp.Body)}
}

// until reads on to the first event of which is says so; nil reads to the end.
func (v *viewer) until(is func(agent.Event) bool) agent.Event {
	v.s.t.Helper()
	for {
		line, err := v.lines.ReadString('\n')
		if err == io.EOF && is == nil {
			return v.all[len(v.all)-1]
		}
		if err != nil {
			v.s.t.Fatalf("%v after %q", err, v.kinds())
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e agent.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			v.s.t.Fatalf("%v in %s", err, line)
		}
		v.all = append(v.all, e)
		if is != nil && is(e) {
			return e
		}
	}
}

// asked reads on until a person is asked.
func (v *viewer) asked() tool.Approval {
	v.s.t.Helper()
	return *v.until(func(e agent.Event) bool { return e.Kind == agent.ApprovalNeeded }).Approval
}

// kinds names what was told of the calls, in order.
func (v *viewer) kinds() []string {
	var out []string
	for _, e := range v.all {
		switch {
		case e.Approval != nil:
			out = append(out, fmt.Sprintf("%s %d %s", e.Kind, e.Tool.Index, e.Approval.Status))
		case e.Type == agent.ToolStarted:
			out = append(out, fmt.Sprintf("started %d", e.Tool.Index))
		case e.Type == agent.ToolFinished:
			out = append(out, fmt.Sprintf("finished %d %s", e.Tool.Index, e.Tool.Outcome.Status))
		}
	}
	return out
}

func (s *served) answer(id string, a tool.Answer, status int) {
	s.t.Helper()
	s.read("POST", "/api/approvals/"+id, fmt.Sprintf(`{"answer":%q}`, a), status, nil)
}

// What nobody answers is a no when the time is over, and the run goes on with
// that; nobody is heard afterwards.
func TestAnApprovalThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	s := setup(t, asks+"tools: {approval_timeout: 50ms}\n", write("a.txt"), fakellm.Text("Then not.")).serve(gateway.ServeOptions{})
	v := s.view(s.ask("POST", "/api/runs", `{"session":"s","message":"Write."}`))
	end := v.until(nil)
	if want := []string{"approval_needed 0 open", "approval_answered 0 expired", "finished 0 refused"}; !slices.Equal(v.kinds(), want) {
		t.Errorf("told is %q", v.kinds())
	}
	if end.Text != "Then not." || end.End.Status != agent.Done {
		t.Errorf("the run ended with %+v", end)
	}
	if told := s.lastTold(2); !strings.Contains(told, "nobody answered within") {
		t.Errorf("the model was told %q", told)
	}
	if _, ok := s.file("a.txt"); ok {
		t.Error("it was written")
	}
	i := slices.IndexFunc(v.all, func(e agent.Event) bool { return e.Approval != nil })
	s.answer(v.all[i].Approval.ID, tool.AllowOnce, http.StatusConflict)
}

// Several calls of one answer wait side by side, are answered in any order, and
// keep nobody waiting who doesn't touch the same.
func TestApprovalsSideBySide(t *testing.T) {
	t.Parallel()
	s := setup(
		t, asks, fakellm.Calls(
			fakellm.Use("file_write", `{"path":"a.txt","content":"x"}`), fakellm.Use("file_write", `{"path":"b.txt","content":"x"}`),
			fakellm.Use("file_read", `{"path":"a.txt"}`), fakellm.Use("calc", `{"expression":"6*7"}`),
		), fakellm.Text("Done."),
	).serve(gateway.ServeOptions{})
	v := s.view(s.ask("POST", "/api/runs", `{"session":"s","message":"Write."}`))
	open := map[int]string{}
	calculated := false
	for len(open) < 2 || !calculated {
		e := v.until(func(e agent.Event) bool { return e.Approval != nil || e.Type == agent.ToolFinished })
		if e.Approval == nil {
			calculated = true // whatever it is: it is looked at below
			continue
		}
		open[e.Tool.Index] = e.Approval.ID
	}
	finished := func(i int) {
		t.Helper()
		v.until(func(e agent.Event) bool { return e.Type == agent.ToolFinished && e.Tool.Index == i })
	}
	s.answer(open[1], tool.Deny, http.StatusOK)
	finished(1)
	s.answer(open[0], tool.AllowOnce, http.StatusOK)
	v.until(nil)
	var ends []string
	for _, k := range v.kinds() {
		if strings.HasPrefix(k, "finished") {
			ends = append(ends, k)
		}
	}
	// The one that reads the file waits for the one that writes it.
	if want := []string{"finished 3 ok", "finished 1 refused", "finished 0 ok", "finished 2 ok"}; !slices.Equal(ends, want) {
		t.Errorf("told is %q", v.kinds())
	}
	if _, ok := s.file("b.txt"); ok {
		t.Error("what was denied was written")
	}
}

// Plan mode that a person switches on while a call waits for them holds for it,
// though they allow it: for a model's, and for one by hand, whose session no run
// is in.
func TestPlanModeIsSwitchedWhileACallWaits(t *testing.T) {
	t.Parallel()
	s := setup(t, asks, fakellm.Text("Hello."), write("a.txt"), fakellm.Text("Then not.")).serve(gateway.ServeOptions{})
	key := session.Key{Agent: "main", ID: "s"}
	s.say("s", "Hello.")
	s.settle("s")
	req := admin("s", "")
	req.CanAsk = true
	o, err := s.InvokeTold(t.Context(), req, "file_write", []byte(`{"path":"a.txt","content":"x"}`), func(e tool.Event) {
		if e.Type == tool.Asked {
			if err := s.Runner.SetPlan(t.Context(), key, true); err != nil {
				t.Error(err)
			}
			s.answer(e.Approval.ID, tool.AllowOnce, http.StatusOK)
		}
	})
	if err != nil || o.Refusal == nil || o.Refusal.Rule != "plan_mode" {
		t.Errorf("the call by hand gave %+v (%v)", o, err)
	}
	if err := s.Runner.SetPlan(t.Context(), key, false); err != nil {
		t.Fatal(err)
	}

	v := s.view(s.ask("POST", "/api/runs", `{"session":"s","message":"Write."}`))
	id := v.asked().ID
	if err := s.Runner.SetPlan(t.Context(), key, true); err != nil {
		t.Fatal(err)
	}
	s.answer(id, tool.AllowOnce, http.StatusOK)
	v.until(nil)
	if told := s.lastTold(3); !strings.Contains(told, "Plan mode is on") {
		t.Errorf("the model was told %q", told)
	}
	if _, ok := s.file("a.txt"); ok {
		t.Error("it was written")
	}
}

// A gateway that is to end while a call waits ends, the run stays valid, and
// the next one tells of it and goes on.
func TestTheGatewayEndsWhileACallWaits(t *testing.T) {
	t.Parallel()
	s := setup(t, asks, write("a.txt"), fakellm.Text("Hello again.")).serve(gateway.ServeOptions{Drain: -1})
	v := s.view(s.ask("POST", "/api/runs", `{"session":"s","message":"Write."}`))
	id := v.asked().ID
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if end := v.until(nil); end.End == nil || end.End.Status != agent.Interrupted {
		t.Errorf("it ended with %+v", end)
	}
	s.close()
	s.open()
	next := s.rig.serve(gateway.ServeOptions{})
	var a api.Approval
	next.read("GET", "/api/approvals/"+id, "", http.StatusOK, &a)
	if a.Status != tool.ApprovalStopped || a.MayAnswer {
		t.Errorf("then the request is %+v", a)
	}
	next.answer(id, tool.AllowOnce, http.StatusConflict)
	kept := next.view(next.ask("GET", "/api/runs/"+v.run+"/events", ""))
	kept.until(nil)
	if want := []string{"approval_needed 0 open", "approval_answered 0 stopped", "finished 0 cancelled"}; !slices.Equal(kept.kinds(), want) || !slices.Equal(v.kinds(), want) {
		t.Errorf("it went %q and is told as %q", v.kinds(), kept.kinds())
	}
	if turn := next.say("s", "Go on."); turn.text != "Hello again." {
		t.Errorf("the session went on with %q", turn.text)
	}
	if _, ok := s.file("a.txt"); ok {
		t.Error("it was written")
	}
}

// A gateway that was started anew tells approvals as they went.
func TestApprovalsAreToldAgainAfterAStart(t *testing.T) {
	t.Parallel()
	s := setup(t, asks, write("a.txt"), write("b.txt"), fakellm.Text("Done.")).serve(gateway.ServeOptions{})
	v := s.view(s.ask("POST", "/api/runs", `{"session":"s","message":"Write."}`))
	s.answer(v.asked().ID, tool.AllowAlways, http.StatusOK)
	s.answer(v.asked().ID, tool.Deny, http.StatusOK)
	v.until(nil)
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	s.close()
	s.open()
	next := s.rig.serve(gateway.ServeOptions{})
	kept := next.view(next.ask("GET", "/api/runs/"+v.run+"/events", ""))
	kept.until(nil)
	told := func(v *viewer) (out []string) {
		for _, e := range v.all {
			if e.Approval != nil {
				text, err := json.Marshal(e.Approval)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, e.Kind+" "+e.Text+" "+string(text))
			}
		}
		return out
	}
	if a, b := told(v), told(kept); len(a) != 4 || !slices.Equal(a, b) {
		t.Errorf("it went\n%s\nand is told as\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	if !slices.Equal(v.kinds(), kept.kinds()) {
		t.Errorf("it went %q and is told as %q", v.kinds(), kept.kinds())
	}
}

// A client of the OpenAI interface sees nothing odd while a call waits, and
// whoever answers does so elsewhere.
func TestAnApprovalUnderTheOpenAIInterface(t *testing.T) {
	t.Parallel()
	s := setup(t, asks, write("a.txt"), fakellm.Text("Done.")).serve(gateway.ServeOptions{})
	resp := s.ask("POST", "/v1/chat/completions", `{"model":"main","stream":true,"messages":[{"role":"user","content":"Write."}]}`)
	v := s.view(s.ask("GET", "/api/runs/"+resp.Header.Get("X-GoClaw-Run")+"/events", ""))
	s.answer(v.asked().ID, tool.AllowOnce, http.StatusOK)
	got := s.text(resp)
	if _, ok := s.file("a.txt"); !ok {
		t.Error("what was allowed was not written")
	}
	said, last := "", ""
	for line := range strings.Lines(got) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, ":") {
			continue
		}
		var ok bool
		if last, ok = strings.CutPrefix(line, "data: "); !ok {
			t.Errorf("a line is %q", line)
		}
		if last == "[DONE]" {
			continue
		}
		var c struct {
			Object  string
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(last), &c); err != nil || c.Object != "chat.completion.chunk" {
			t.Errorf("%v: a chunk is %s", err, last)
		}
		for _, choice := range c.Choices {
			said += choice.Delta.Content
		}
	}
	if said != "Done." || last != "[DONE]" {
		t.Errorf("said is %q in %s", said, got)
	}
}

// A script's calls are asked about like any others, and that stands in the
// record of the script.
func TestApprovalsOfAScriptsCalls(t *testing.T) {
	t.Parallel()
	script := `const said = []; for (const path of ["a.txt", "b.txt"]) { try { await tools.call("file_write", {path, content: "x"}); said.push("wrote"); } catch (e) { said.push("no"); } } return said.join();`
	args, err := json.Marshal(map[string]string{"script": script})
	if err != nil {
		t.Fatal(err)
	}
	s := setup(t, asks, fakellm.Calls(fakellm.Use("tool_code", string(args))), fakellm.Text("Done.")).serve(gateway.ServeOptions{})
	v := s.view(s.ask("POST", "/api/runs", `{"session":"s","message":"Write."}`))
	first := v.asked()
	if first.Tool != "file_write" || first.Call == "" || !strings.Contains(string(first.Args), `"a.txt"`) {
		t.Errorf("asked is %+v", first)
	}
	s.answer(first.ID, tool.AllowOnce, http.StatusOK)
	s.answer(v.asked().ID, tool.Deny, http.StatusOK)
	v.until(nil)
	if told := s.lastTold(2); told != "wrote,no" {
		t.Errorf("the script says %q", told)
	}
	want := []string{
		"started 0", "approval_needed 0 open", "approval_answered 0 allowed", "approval_needed 0 open", "approval_answered 0 denied", "finished 0 ok",
	}
	if !slices.Equal(v.kinds(), want) {
		t.Errorf("told is %q", v.kinds())
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	s.close()
	s.open()
	next := s.rig.serve(gateway.ServeOptions{})
	kept := next.view(next.ask("GET", "/api/runs/"+v.run+"/events", ""))
	kept.until(nil)
	if !slices.Equal(kept.kinds(), want) {
		t.Errorf("it is told again as %q", kept.kinds())
	}
}
