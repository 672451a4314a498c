package session

import (
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Thread is the transcript of turns as a model gets it: for each turn the
// person's message as it was stored, context included, then for each round
// what joined before it, the reply, and one message with exactly one result
// per call, in the order of the calls. What a client answered to calls that went
// to it comes with the next turn's message, and stands behind the calls. The last
// turn may be running.
//
// It is valid whatever happened. A call without a result gets one that says
// so, a turn that ended without an answer gets a short one unless a client told
// of it, and an answer that broke off says at its end that it did. The same
// turns give the same bytes.
func Thread(turns []Turn) []llm.Message {
	n := 0
	for _, t := range turns {
		n += 2 + 2*len(t.Rounds)
	}
	out := make([]llm.Message, 0, n)
	for i, t := range turns {
		if said := besides(t.Message); len(said.Parts) > 0 {
			out = append(out, said)
		}
		var got map[string]*llm.ToolResult // of calls that went to the client
		if i < len(turns)-1 {
			got = results(turns[i+1].Message)
		}
		for _, r := range t.Rounds {
			out = append(out, messages(r, got, t.Seeded)...)
		}
		switch {
		case t.Seeded && len(t.Rounds) == 0:
			// The person said several things in a row; nobody failed to answer.
		case len(Awaited(t)) > 0:
			// The client went on, with the results or without.
		case t.Status != agent.Running || i < len(turns)-1:
			out = closed(out, t)
		}
	}
	return out
}

// messages is a round as the thread holds it, with got as [outcomeOf] has it.
func messages(r agent.Round, got map[string]*llm.ToolResult, client bool) []llm.Message {
	r.Reply.Message.Role = llm.Assistant
	r.Reply.Message.Parts = tidy(r.Reply.Message.Parts)
	calls := r.Reply.Message.Calls()
	outcomes := make([]tool.Outcome, len(calls))
	for i, c := range calls {
		outcomes[i] = outcomeOf(&r, i, c, got, client)
		outcomes[i].Call.ID = c.ID
		if outcomes[i].Tool == "" {
			outcomes[i].Tool = c.Name
		}
	}
	r.Outcomes = outcomes
	r.Before = slices.DeleteFunc(slices.Clone(r.Before), func(m llm.Message) bool { return len(m.Parts) == 0 })
	return r.Messages()
}

// closed makes sure that what t left ends with an answer.
func closed(out []llm.Message, t Turn) []llm.Message {
	last := &out[len(out)-1]
	if last.Role != llm.Assistant || len(last.Calls()) > 0 {
		return append(out, llm.AssistantMessage(standIn(t.Status, "no answer")))
	}
	made := slices.ContainsFunc(last.Parts, func(p llm.Part) bool { return p.Kind == llm.KindMedia })
	switch answered := made || strings.TrimSpace(last.Text()) != ""; {
	case !answered:
		last.Parts = append(slices.Clip(last.Parts), llm.Text(standIn(t.Status, "no answer")))
	case len(t.Rounds) > 0 && t.Rounds[len(t.Rounds)-1].Reply.Finish == llm.FinishStopped:
		last.Parts = append(slices.Clip(last.Parts), llm.Text("\n\n"+standIn(t.Status, "the answer broke off")))
	}
	return out
}

// standIn says for the model why an answer is missing or incomplete.
func standIn(s agent.Status, what string) string {
	switch s {
	case agent.Stopped:
		return "[" + what + ": the run was stopped]"
	case agent.Failed:
		return "[" + what + ": the run failed]"
	case agent.Running, agent.Interrupted:
		return "[" + what + ": the process ended during the run]"
	}
	return "[" + what + "]"
}

// interruptedText is what a model reads of a call that a dead process left open.
const interruptedText = "interrupted: the process ended while this call ran; " +
	"it may or may not have taken effect; check before repeating it"

// Unapproved is the outcome of a call that a dead process left without one while
// it waited for an approval, which nobody gave: so it never ran. at is when that
// was noticed.
func Unapproved(c llm.ToolCall, a tool.Approval, at time.Time) tool.Outcome {
	if a.Status == tool.ApprovalOpen {
		a.Status, a.Ended = tool.ApprovalLost, at
	}
	refusal, args := a.Refusal(), a.Args
	refusal.Step = "before"
	a.Args = nil // they are those of the outcome
	return tool.Outcome{
		Call: c, Tool: a.Tool, Args: args, Status: tool.Refused, Step: refusal.Step, Refusal: refusal, Approval: &a,
		Content: []llm.Part{llm.Text("Refused: " + refusal.Error())}, Started: a.Created, Ended: at,
	}
}

// Interrupted is the outcome of a call that a dead process left without one.
// When it began and ended is unknown; at is when that was noticed.
func Interrupted(c llm.ToolCall, at time.Time) tool.Outcome {
	return tool.Outcome{
		Call: c, Tool: c.Name, Status: tool.Interrupted,
		Content: []llm.Part{llm.Text(interruptedText)}, Started: at, Ended: at,
	}
}
