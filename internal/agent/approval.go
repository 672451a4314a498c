package agent

import (
	"fmt"
	"time"

	"github.com/goclaw/goclaw/internal/tool"
)

// Kinds of notices about approvals.
const (
	ApprovalNeeded   = "approval_needed"
	ApprovalAnswered = "approval_answered"
)

// approvalNotice tells of a call that people are asked about, or were.
func approvalNotice(of *ToolEvent, a *tool.Approval) Event {
	kind := ApprovalAnswered
	if a.Status == tool.ApprovalOpen {
		kind = ApprovalNeeded
	}
	return Event{Type: Notice, Kind: kind, Text: ApprovalWords(a), Tool: &ToolEvent{ID: of.ID, Name: of.Name, Index: of.Index}, Approval: a}
}

// ApprovalEvents are the events that tell of approvals of the call at index of a
// round that is stored: before tells of its own, within of those of the calls
// that it made. They are empty where people were not asked.
func ApprovalEvents(o *tool.Outcome, index int) (before, within []Event) {
	of := &ToolEvent{ID: o.Call.ID, Name: o.Tool, Index: index}
	if o.Approval != nil {
		own := *o.Approval
		own.Args = o.Args
		before = approvalEvents(of, own)
	}
	for _, a := range o.Nested {
		within = append(within, approvalEvents(of, a)...)
	}
	return before, within
}

func approvalEvents(of *ToolEvent, ended tool.Approval) []Event {
	if ended.ID == "" {
		return nil // nobody was asked
	}
	open := ended
	open.Status, open.Ended, open.Answer, open.By, open.Grant = tool.ApprovalOpen, time.Time{}, "", "", ""
	needed, answered := approvalNotice(of, &open), approvalNotice(of, &ended)
	needed.Time, answered.Time = open.Created, ended.Ended
	return []Event{needed, answered}
}

// ApprovalWords says how far an approval is, for people.
func ApprovalWords(a *tool.Approval) string {
	switch a.Status {
	case tool.ApprovalOpen:
		who := "a person"
		if a.Admins {
			who = "an admin"
		}
		return fmt.Sprintf("%s waits until %s approves it (rule %s)", a.Tool, who, a.Rule)
	case tool.ApprovalAllowed:
		if a.Answer == tool.AllowAlways {
			return fmt.Sprintf("%s always allows this call of %s", a.By, a.Tool)
		}
		return fmt.Sprintf("%s allows %s once", a.By, a.Tool)
	case tool.ApprovalDenied:
		return fmt.Sprintf("%s says no to %s", a.By, a.Tool)
	case tool.ApprovalExpired:
		return fmt.Sprintf("nobody answered in time whether %s may run", a.Tool)
	}
	if a.Problem != "" {
		return fmt.Sprintf("%s before anybody answered whether %s may run", a.Problem, a.Tool)
	}
	return fmt.Sprintf("the run ended before anybody answered whether %s may run", a.Tool)
}
