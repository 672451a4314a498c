package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

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

// awaits holds the results that m brings against the calls that wait for them in
// the last turn of the session, or of told where that is yet to begin, and
// returns that turn; nil when m brings none.
func (h *History) awaits(ctx context.Context, key Key, m llm.Message, told []Turn, depth Depth) (*Turn, error) {
	if len(results(m)) == 0 {
		return nil, nil
	}
	s, err := h.store.Session(ctx, key)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return nil, err
	default:
		if told, err = h.store.Turns(ctx, key, s.Turns, s.Turns, depth); err != nil {
			return nil, err
		}
	}
	if len(told) == 0 {
		return nil, fmt.Errorf("%w: the session begins", ErrNotAwaited)
	}
	last := &told[len(told)-1]
	return last, expected(m, Awaited(*last))
}

// Receive has what a client answered to calls become what a model is shown, in
// the message of t and in what it is seeded with; show does that. The caller holds
// the session. With [ErrNotAwaited] nothing was shown.
func (h *History) Receive(ctx context.Context, t agent.Turn, show func(context.Context, tool.Scope, tool.ClientRound)) (agent.Turn, error) {
	told, err := seed(t.Seed, t.Scope.Caller(), t.Scope.Origin(), t.Started)
	if err != nil {
		return t, err
	}
	last, err := h.awaits(ctx, KeyOf(t.Scope), t.Message, told, Told)
	if err != nil {
		return t, err
	}
	t.Seed = slices.Clone(t.Seed)
	for i := 1; i < len(t.Seed); i++ {
		if len(results(t.Seed[i])) > 0 {
			called := Turn{Seeded: true, Status: agent.Done, Started: t.Started, Rounds: []agent.Round{{Reply: llm.Reply{Message: t.Seed[i-1]}}}}
			t.Seed[i] = receive(ctx, t.Scope, &called, t.Seed[i], true, show)
		}
	}
	if last != nil {
		t.Message = receive(ctx, t.Scope, last, t.Message, false, show)
	}
	return t, nil
}

// receive is m with its results, of the last round of called, as show makes them.
func receive(ctx context.Context, s tool.Scope, called *Turn, m llm.Message, past bool, show func(context.Context, tool.Scope, tool.ClientRound)) llm.Message {
	got, now := results(m), time.Now()
	a := tool.ClientRound{Past: past}
	r := called.Rounds[len(called.Rounds)-1]
	for i, c := range r.Reply.Message.Calls() {
		o := outcomeOf(&r, i, c, got, called.Seeded)
		if o.Status != tool.Handed {
			a.Others += utf8.RuneCountInString(llm.JoinText(o.Content))
			continue
		}
		if i < len(r.Outcomes) {
			o.Args, o.Touches, o.Started = r.Outcomes[i].Args, r.Outcomes[i].Touches, r.Outcomes[i].Started
		}
		if json.Valid([]byte(c.Arguments)) && len(o.Args) == 0 {
			o.Args = json.RawMessage(c.Arguments)
		}
		if o.Started.IsZero() {
			o.Started = now
		}
		o.Content = got[c.ID].Content // as it came
		o.Status, o.Ended = tool.OK, now
		a.Outcomes = append(a.Outcomes, o)
	}
	show(ctx, s, a)
	shown := make(map[string]*llm.ToolResult, len(a.Outcomes))
	for _, o := range a.Outcomes {
		r := o.Result()
		r.Digest = o.Digest
		shown[o.Call.ID] = r
	}
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		if p.Kind == llm.KindResult && shown[p.Result.CallID] != nil {
			m.Parts[i].Result = shown[p.Result.CallID]
		}
	}
	return m
}

// earlier are the rounds of the turns before the last one that belong to the same
// message of a person, because a client answered their calls and nobody spoke in
// between. Outcomes have what tells them apart.
func (h *History) earlier(ctx context.Context, key Key, turns []Turn) ([]agent.Round, error) {
	last := len(turns) - 1
	at := last
	for at > 0 && !speaks(turns[at].Message) { // it brings results, or they were sent again
		at--
	}
	if at == last {
		return nil, nil
	}
	went := turns[at:last]
	if !went[len(went)-1].Seeded {
		stored, err := h.store.Turns(ctx, key, went[0].Number, went[len(went)-1].Number, Told)
		if err != nil {
			return nil, err
		}
		went = stored
	}
	var rounds []agent.Round
	for i, t := range went {
		got := results(turns[at+i+1].Message)
		for _, r := range t.Rounds {
			calls := r.Reply.Message.Calls()
			outcomes := make([]tool.Outcome, len(calls))
			for j, c := range calls {
				o := outcomeOf(&r, j, c, got, t.Seeded)
				if j < len(r.Outcomes) {
					o.Args, o.Digest = r.Outcomes[j].Args, r.Outcomes[j].Digest
				}
				if o.Status == tool.Handed {
					o.Digest = got[c.ID].Digest
				}
				outcomes[j] = o
			}
			r.Outcomes = outcomes
			rounds = append(rounds, r)
		}
	}
	return rounds, nil
}

// speaks reports whether m holds more than results and the host's words.
func speaks(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind != llm.KindResult && p.Kind != llm.KindContext })
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
