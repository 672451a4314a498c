package sqlite_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// A call that waited for a person when its process died is known not to have run,
// and one that was allowed is not.
func TestUnapprovedCallsOfADeadProcess(t *testing.T) {
	t.Parallel()
	db, key := fresh(t), session.Key{Agent: "main", ID: "s"}
	at := func(second int) time.Time { return time.Date(2026, 11, 30, 12, 0, second, 0, time.UTC) }
	sessions, approvals := db.Sessions(), db.Approvals()
	if _, err := sessions.Begin(t.Context(), key, session.Turn{Run: "run", Message: llm.UserMessage("hi"), Started: at(0)}, "t"); err != nil {
		t.Fatal(err)
	}
	r := &agent.Round{Number: 1, Started: at(0), Replied: at(1)}
	for _, id := range []string{"waits", "allowed", "never asked", "lost"} {
		c := llm.ToolCall{ID: id, Name: "shell", Arguments: `{"command": "ls"}`}
		r.Calls = append(r.Calls, c)
		r.Reply.Message.Parts = append(r.Reply.Message.Parts, llm.Part{Kind: llm.KindCall, Call: &c})
	}
	if err := sessions.Called(t.Context(), "run", r); err != nil {
		t.Fatal(err)
	}
	open := func(id, run, call string) tool.Approval {
		a := tool.Approval{
			ID: id, Agent: key.Agent, Session: key.ID, Run: run, Call: call, Tool: "shell", Args: json.RawMessage(`{"command":"ls -l"}`), Rule: "look",
			Status: tool.ApprovalOpen, Created: at(2), Expires: at(302),
		}
		if err := approvals.Open(t.Context(), "desk", a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	end := func(a tool.Approval, status tool.ApprovalStatus) {
		a.Status, a.Ended = status, at(3)
		if _, err := approvals.Close(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
	}
	open("a1", "run", "waits")
	end(open("a2", "run", "allowed"), tool.ApprovalAllowed)
	open("a3", "run", "never asked/1") // of a call that it makes
	end(open("a4", "run", "lost"), tool.ApprovalLost)
	open("a5", "another", "never asked")

	turns, calls, err := sessions.Interrupt(t.Context(), key, at(9))
	if err != nil || turns != 1 || calls != 4 {
		t.Fatalf("closed %d turns and %d calls: %v", turns, calls, err)
	}
	list, err := sessions.Turns(t.Context(), key, 1, 0, session.Whole)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range list[0].Rounds[0].Outcomes {
		text, never := llm.JoinText(o.Content), o.Call.ID == "waits" || o.Call.ID == "lost"
		switch {
		case !never:
			if o.Status != tool.Interrupted || o.Approval != nil || !strings.Contains(text, "may or may not") {
				t.Errorf("call %d, %s, is %s: %q", i, o.Call.ID, o.Status, text)
			}
		case o.Status != tool.Refused || o.Step != "before" || o.Approval == nil || o.Approval.Status != tool.ApprovalLost || string(o.Args) != `{"command":"ls -l"}` ||
			!strings.Contains(text, "which nobody had given, so it never ran") || o.Ran():
			t.Errorf("call %d, %s, is %+v: %q", i, o.Call.ID, o, text)
		}
	}
	for id, want := range map[string]tool.ApprovalStatus{"a1": tool.ApprovalLost, "a2": tool.ApprovalAllowed, "a5": tool.ApprovalOpen} {
		if a, err := approvals.Get(t.Context(), id); err != nil || a.Status != want {
			t.Errorf("request %s is %+v (%v)", id, a, err)
		}
	}
}
