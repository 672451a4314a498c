package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// A call of a tool that an API client brought ends its turn. The client's next
// message brings the results, which stand in it as parts; a thread shows each
// behind its call. One that never comes is given a result that says so.

// ErrNotAwaited says that a message brings results for other calls than those
// that wait for them.
var ErrNotAwaited = errors.New("the results are not those that the session waits for")

// unanswered is what a model reads of a call that the client gave no result for.
const unanswered = "no result: the client went on without answering this call; it may or may not have run"

// Awaited are the calls of t, the last turn of its session, whose results the
// client's next message is to bring.
func Awaited(t Turn) []llm.ToolCall {
	if t.Status != agent.Done || len(t.Rounds) == 0 {
		return nil
	}
	r := t.Rounds[len(t.Rounds)-1]
	var list []llm.ToolCall
	for i, c := range r.Reply.Message.Calls() {
		if t.Seeded || i < len(r.Outcomes) && r.Outcomes[i].Status == tool.Handed {
			list = append(list, c)
		}
	}
	return list
}

// results are the results that m brings, by the ids of their calls.
func results(m llm.Message) map[string]*llm.ToolResult {
	var found map[string]*llm.ToolResult
	for _, p := range m.Parts {
		if p.Kind == llm.KindResult && p.Result != nil {
			if found == nil {
				found = map[string]*llm.ToolResult{}
			}
			found[p.Result.CallID] = p.Result
		}
	}
	return found
}

// besides is m without the results that it brings.
func besides(m llm.Message) llm.Message {
	if len(results(m)) > 0 {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p llm.Part) bool { return p.Kind == llm.KindResult })
	}
	return m
}

// expected holds the results that m brings against the calls that wait for
// them: either all of them come, or none.
func expected(m llm.Message, calls []llm.ToolCall) error {
	got := results(m)
	if len(got) == 0 {
		return nil
	}
	for _, c := range calls {
		if got[c.ID] == nil {
			return fmt.Errorf("%w: there is none for call %q", ErrNotAwaited, c.ID)
		}
		delete(got, c.ID)
	}
	for id := range got {
		return fmt.Errorf("%w: no call %q waits", ErrNotAwaited, id)
	}
	return nil
}

// ofClient is the outcome of the call c, which went to the client, for a thread:
// with the result that came of it, if one did.
func ofClient(c llm.ToolCall, result *llm.ToolResult) tool.Outcome {
	o := tool.Outcome{Call: c, Tool: c.Name, Status: tool.Handed, Content: []llm.Part{llm.Text(unanswered)}}
	if result != nil {
		o.Content = spoken(result.Content)
	} else {
		o.Status = tool.Interrupted
	}
	return o
}

// outcomeOf is the outcome of the call at index i of r as a thread shows it. got
// are the results that the next turn brings; client says that calls without an
// outcome were the client's.
func outcomeOf(r *agent.Round, i int, c llm.ToolCall, got map[string]*llm.ToolResult, client bool) tool.Outcome {
	stored := i < len(r.Outcomes) && r.Outcomes[i].Status != ""
	switch {
	case !stored && client, stored && r.Outcomes[i].Status == tool.Handed:
		o := ofClient(c, got[c.ID])
		if stored {
			o.Tool = r.Outcomes[i].Tool
		}
		return o
	case !stored:
		return Interrupted(c, time.Time{})
	}
	o := r.Outcomes[i]
	o.Content = spoken(o.Content)
	return o
}
