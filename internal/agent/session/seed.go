package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// unasked stands where a person's message would, when a conversation that is
// told begins with an answer. Only the model reads it.
const unasked = "The conversation begins with your message below."

// seed makes turns of a conversation that a client told: each message of a
// person begins a turn, and the answer behind it is its round. Answers in a row
// become one, with a blank line between them, and messages that say nothing are
// left out. All turns have ended, at the time at, and are of caller and origin.
//
// Calls in an answer went to the client; a message of results, which stands
// right behind their answer, begins a turn as a person's does. Calls for which
// none came are followed by the next answer within their turn. The error says
// which message is none of these.
func seed(messages []llm.Message, caller auth.Principal, origin tool.Origin, at time.Time) ([]Turn, error) {
	var turns []Turn
	rounds := 0
	begin := func(m llm.Message) {
		turns = append(turns, Turn{
			Number: len(turns) + 1, Seeded: true, Message: m, Status: agent.Done,
			Caller: caller, Origin: origin, Started: at, Ended: at,
		})
	}
	ids := map[string]bool{} // of all calls so far
	for i, m := range messages {
		err := plain(m)
		if err == nil && len(results(m)) > 0 {
			err = answers(m, turns)
		}
		for _, c := range m.Calls() {
			if err == nil && (!usable(c.ID) || ids[c.ID]) {
				err = fmt.Errorf("the id %q of a call can't be kept, or stands twice", c.ID)
			}
			ids[c.ID] = true
		}
		if err != nil {
			return nil, fmt.Errorf("message %d of what was said before: %w", i, err)
		}
		m.Parts = tidy(m.Parts)
		switch {
		case len(m.Parts) == 0:
		case m.Role == llm.User:
			begin(m)
		default:
			if len(turns) == 0 {
				begin(llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.KindContext, Text: unasked}}})
			}
			t := &turns[len(turns)-1]
			if n := len(t.Rounds); n > 0 && len(t.Rounds[n-1].Reply.Message.Calls()) == 0 {
				reply := &t.Rounds[n-1].Reply.Message
				reply.Parts = tidy(append(append(slices.Clip(reply.Parts), llm.Text("\n\n")), m.Parts...))
				continue
			}
			rounds++
			t.Rounds = append(t.Rounds, agent.Round{
				Number: rounds, Reply: llm.Reply{Message: m, Finish: llm.FinishStop},
				Started: at, Replied: at, Ended: at,
			})
		}
	}
	return turns, nil
}

// plain reports what a message of a conversation that is told may not be: an
// answer has no results, and nobody but a model calls tools.
func plain(m llm.Message) error {
	if m.Role != llm.User && m.Role != llm.Assistant {
		return fmt.Errorf("its role is %q, not %s or %s", m.Role, llm.User, llm.Assistant)
	}
	for _, p := range m.Parts {
		if p.Kind == llm.KindCall && m.Role == llm.User || p.Kind == llm.KindResult && m.Role == llm.Assistant {
			return fmt.Errorf("it holds a %s of a tool", p.Kind)
		}
	}
	return nil
}

// answers reports whether the results of m are those of the calls that stand
// right before it.
func answers(m llm.Message, turns []Turn) error {
	if len(turns) == 0 {
		return fmt.Errorf("%w: nothing was called", ErrNotAwaited)
	}
	return expected(m, Awaited(turns[len(turns)-1]))
}

// opening is the message that gives a session its title: the first that a
// person said.
func opening(turns []Turn, m llm.Message) llm.Message {
	for _, t := range turns {
		if slices.ContainsFunc(t.Message.Parts, func(p llm.Part) bool {
			return p.Kind == llm.KindMedia || p.Kind == llm.KindText && strings.TrimSpace(p.Text) != ""
		}) {
			return t.Message
		}
	}
	return m
}
