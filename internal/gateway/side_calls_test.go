package gateway_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway/api"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// states are the last two of a tool as it is explained to who.
func (r *rig) calledAs(who auth.Principal, name string) string {
	r.t.Helper()
	x := r.explain(run.Request{Origin: tool.FromAPI, Caller: who}, name)
	c, e := x.States[4], x.States[5]
	if at, rest, ok := strings.Cut(c.Detail, ","); ok && strings.HasPrefix(at, "last at ") {
		c.Detail = "last" + rest
	} else if ok = strings.HasPrefix(c.Detail, "last at "); ok {
		c.Detail = "last"
	}
	e.Detail, _, _ = strings.Cut(e.Detail, ", in ")
	return fmt.Sprintf("%s %s; %s %s", c.Verdict, c.Detail, e.Verdict, e.Detail)
}

func (r *rig) counted(who auth.Principal, name string) (calls, failures int) {
	r.t.Helper()
	d, err := r.Tool(r.t.Context(), run.Request{Origin: tool.FromAPI, Caller: who}, name)
	if err != nil {
		r.t.Fatal(err)
	}
	page, err := r.KnownTools(r.t.Context(), run.Request{Origin: tool.FromAPI, Caller: who}, api.ToolFilter{Query: name, Limit: 100})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, k := range page.Tools {
		if k.Name == name && k.Calls.Count != d.Calls.Count {
			r.t.Errorf("%s: the page of it counts %d calls, the list %d", name, d.Calls.Count, k.Calls.Count)
		}
	}
	return d.Calls.Count, d.Calls.Failures
}

const nodel = "hooks: [{name: nodel, tools: [file_delete], action: block, message: never}]\n"

// A call that a script makes is explained and counted as any other, the next turn
// knows it as used, and what the model sees is what its script gave.
func TestCallsOfScriptsAreKnown(t *testing.T) {
	t.Parallel()
	script := `const a = await tools.call("file_write", {path: "a.txt", content: "x"});` +
		` try { await tools.call("file_delete", {path: "a.txt"}); } catch (e) {} return "done";`
	r := alice(t, nodel+"tools: {core: [tool_code]}\n",
		fakellm.Calls(fakellm.Use("tool_code", fmt.Sprintf(`{"script":%q}`, script))), fakellm.Text("Done."), fakellm.Text("More."))
	out := r.say("s", "use the script").outcomes()
	if len(out) != 1 || out[0].Status != tool.OK {
		t.Fatalf("got %+v", out)
	}
	if n := len(r.results(2)); n != 1 {
		t.Errorf("the model sees %d results", n)
	}
	if got := r.calledAs(ada, "file_write"); got != "yes last in a call of tool_code; yes ok" {
		t.Errorf("file_write: %s", got)
	}
	if got := r.calledAs(ada, "file_delete"); !strings.HasPrefix(got, "yes last in a call of tool_code; NO step before, rule nodel: ") {
		t.Errorf("file_delete: %s", got)
	}
	look, err := r.Look(t.Context(), run.Request{Session: "s", Origin: tool.FromChat, Caller: ada})
	if err != nil || !slices.Contains(look.State.Used, "file_write") || slices.Contains(look.State.Used, "file_delete") {
		t.Errorf("used: %v, %v", look.State.Used, err)
	}
	if n, failed := r.counted(ada, "file_write"); n != 1 || failed != 0 {
		t.Errorf("file_write: %d calls, %d failures", n, failed)
	}
	if n, failed := r.counted(ada, "file_delete"); n != 1 || failed != 1 {
		t.Errorf("file_delete: %d calls, %d failures", n, failed)
	}
}

// A call by hand is explained and counted, to whoever made it and to admins, and
// is no turn of the conversation.
func TestCallsByHandAreKnown(t *testing.T) {
	t.Parallel()
	r := alice(t, nodel)
	for _, c := range []struct{ name, args string }{
		{"file_write", `{"path":"a.txt","content":"x"}`},
		{"file_delete", `{"path":"a.txt"}`},
		{"no_such_tool_at_all", `{}`},
		{"tool_code", `{"script":"await tools.call('file_list', {})"}`},
	} {
		o, err := r.Invoke(t.Context(), run.Request{Origin: tool.FromAPI, Caller: bert, Session: "s"}, c.name, []byte(c.args))
		if err != nil || len(o.Notices) > 0 {
			t.Errorf("%s: %v, %v", c.name, o.Notices, err)
		}
	}
	for who, want := range map[auth.Principal][3]string{
		bert: {"yes last by hand, by bert; yes ok", "yes last by hand, by bert; NO step before, rule nodel: ", "yes last in a call of tool_code, by hand, by bert; yes ok"},
		ada:  {"yes last by hand, by bert; yes ok", "yes last by hand, by bert; NO step before, rule nodel: ", "yes last in a call of tool_code, by hand, by bert; yes ok"},
		{ID: "eve", Role: auth.User, Human: true}: {"- ; - ", "- ; - ", "- ; - "},
	} {
		for i, name := range []string{"file_write", "file_delete", "file_list"} {
			if got := r.calledAs(who, name); !strings.HasPrefix(got, want[i]) {
				t.Errorf("%s is told of %s: %s, want %s", who.ID, name, got, want[i])
			}
		}
	}
	if n, failed := r.counted(bert, "file_delete"); n != 1 || failed != 1 {
		t.Errorf("file_delete: %d calls, %d failures", n, failed)
	}
	if s, err := r.Sessions.Session(t.Context(), session.Key{Agent: "main", ID: "s"}); err != nil || s.Turns != 0 {
		t.Errorf("the session: %+v, %v", s, err)
	}
}

// A call by hand that ran has its outcome, whatever could not be kept, and the
// error of one says that nothing ran.
func TestACallByHandThatRanHasItsOutcome(t *testing.T) {
	t.Parallel()
	r := setup(t, "", fakellm.Text("Hi."))
	r.say("s", "hi")
	key := session.Key{Agent: "main", ID: "s"}
	away := session.NewHolds(filepath.Join(r.home, "state", "locks")) // as another process has it
	release, err := away.Hold(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	req := run.Request{Origin: tool.FromAPI, Caller: ada, Session: "s"}
	for _, name := range []string{"file_write", "File-Write", "functions.file_write", "fileWrite"} { // as a call finds it
		if o, err := r.Invoke(t.Context(), req, name, []byte(`{"path":"a.txt","content":"x"}`)); !errors.Is(err, session.ErrHeld) {
			t.Errorf("%s changes something: %+v, %v", name, o, err)
		}
	}
	if _, ok := r.file("a.txt"); ok {
		t.Error("it ran all the same")
	}
	r.write("b.txt", "b")
	o, err := r.Invoke(t.Context(), req, "file_read", []byte(`{"path":"b.txt"}`))
	if err != nil || o.Status != tool.OK || llm.JoinText(o.Content) != "b" || len(o.Notices) != 1 || !strings.Contains(o.Notices[0], "another process works in it") {
		t.Errorf("it reads: %+v, %v", o, err)
	}
	release()
	if o, err := r.Invoke(t.Context(), req, "file_write", []byte(`{"path":"a.txt","content":"x"}`)); err != nil || len(o.Notices) > 0 {
		t.Errorf("afterwards: %+v, %v", o, err)
	}
}
