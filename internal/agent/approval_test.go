package agent_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// careful is a toolbox that asks people before each call.
type careful struct {
	toolbox
	end tool.Approval
}

func (c careful) Execute(ctx context.Context, sf tool.Surface, calls []llm.ToolCall, emit func(tool.Event)) []tool.Outcome {
	open := c.end
	open.Status, open.Answer, open.By, open.Ended = tool.ApprovalOpen, "", "", time.Time{}
	open.Args, c.end.Args = []byte(calls[0].Arguments), []byte(calls[0].Arguments)
	emit(tool.Event{Type: tool.Asked, Approval: &open})
	emit(tool.Event{Type: tool.Answered, Approval: &c.end})
	return c.toolbox.Execute(ctx, sf, calls, func(e tool.Event) {
		if e.Outcome != nil {
			stored := c.end
			stored.Args = nil
			e.Outcome.Approval = &stored
		}
		emit(e)
	})
}

// TestApprovalsAreTold: a run tells what people are asked and what came of it,
// before the call starts, and what is stored tells the same again.
func TestApprovalsAreTold(t *testing.T) {
	t.Parallel()
	at := time.Unix(100, 0)
	for words, end := range map[string]tool.Approval{
		"ada allows shell once":                                       {Status: tool.ApprovalAllowed, Answer: tool.AllowOnce, By: "ada"},
		"ada always allows this call of shell":                        {Status: tool.ApprovalAllowed, Answer: tool.AllowAlways, By: "ada"},
		"ada says no to shell":                                        {Status: tool.ApprovalDenied, Answer: tool.Deny, By: "ada"},
		"nobody answered in time whether shell may run":               {Status: tool.ApprovalExpired},
		"the run ended before anybody answered whether shell may run": {Status: tool.ApprovalStopped},
	} {
		end.ID, end.Tool, end.Rule, end.Created, end.Expires, end.Ended = "a1", "shell", "careful", at, at.Add(time.Hour), at.Add(time.Minute)
		end.Caller = auth.Principal{ID: "ada"}
		m := &script{}
		m.answers = append(m.answers, says("", call("c1", "shell", `{"command":"ls"}`)), says("done"))
		a := loop(m, nil, &history{}, agent.Limits{})
		a.Toolbox = careful{toolbox{"shell": func() (string, []tool.Effect) { return "ok", nil }}, end}
		var told []agent.Event
		var order []string
		var outcome *tool.Outcome
		for e := range a.ProcessStream(t.Context(), turn("do it")) {
			switch {
			case e.Approval != nil:
				order = append(order, e.Kind)
				e.Run, e.Session, e.Agent, e.Seq, e.Time = "", "", "", 0, time.Time{}
				told = append(told, e)
			case e.Tool != nil:
				order = append(order, string(e.Type))
				outcome = e.Tool.Outcome
			}
		}
		if !slices.Equal(order, []string{"approval_needed", "approval_answered", "tool_started", "tool_finished"}) {
			t.Fatalf("told is %v", order)
		}
		if told[0].Text != "shell waits until a person approves it (rule careful)" || told[1].Text != words || string(told[0].Approval.Args) != `{"command":"ls"}` {
			t.Errorf("told is %q, then %q, want %q", told[0].Text, told[1].Text, words)
		}
		again, _ := agent.ApprovalEvents(outcome, 0)
		if !again[0].Time.Equal(at) || !again[1].Time.Equal(at.Add(time.Minute)) {
			t.Errorf("the times are %v and %v", again[0].Time, again[1].Time)
		}
		again[0].Time, again[1].Time = time.Time{}, time.Time{}
		if d := cmp.Diff(told, again); d != "" {
			t.Errorf("stored tells it otherwise (-told +again):\n%s", d)
		}
	}
	for what, o := range map[string]tool.Outcome{"no approval": {}, "a grant": {Approval: &tool.Approval{Status: tool.ApprovalAllowed, Grant: "g"}}} {
		o.Nested = append(o.Nested, tool.Approval{Status: tool.ApprovalAllowed, Grant: "g"})
		if before, within := agent.ApprovalEvents(&o, 0); before != nil || within != nil {
			t.Errorf("%s tells %+v and %+v", what, before, within)
		}
	}
}
