package sessiontest

import (
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
)

// Valid reports the first rule of a transcript that messages break: it begins
// with a person, roles alternate (several messages of people and the host may
// stand together), each call has exactly one result right behind it and in
// order, ids are unique, and nothing that a model would read is empty.
func Valid(messages []llm.Message) error {
	ids := map[string]bool{}
	var open []llm.ToolCall
	for i, m := range messages {
		fail := func(format string, args ...any) error {
			return fmt.Errorf("message %d of %d (%s): %s", i, len(messages), m.Role, fmt.Sprintf(format, args...))
		}
		if i == 0 && m.Role != llm.User {
			return fail("a transcript begins with a person")
		}
		if len(m.Parts) == 0 {
			return fail("it is empty")
		}
		switch m.Role {
		case llm.User:
			if len(open) > 0 {
				return fail("%d calls have no results", len(open))
			}
		case llm.Assistant:
			if i > 0 && messages[i-1].Role == llm.Assistant {
				return fail("two replies in a row")
			}
			for _, p := range m.Parts {
				if p.Kind == llm.KindText && strings.TrimSpace(p.Text) == "" {
					return fail("an empty text")
				}
			}
			open = m.Calls()
			if len(open) == 0 && m.Text() == "" {
				return fail("neither text nor calls")
			}
			for _, c := range open {
				if c.ID == "" || ids[c.ID] {
					return fail("id %q of %s is empty or used before", c.ID, c.Name)
				}
				ids[c.ID] = true
			}
		case llm.Results:
			if len(m.Parts) != len(open) {
				return fail("%d results for %d calls", len(m.Parts), len(open))
			}
			for j, p := range m.Parts {
				if p.Kind != llm.KindResult || p.Result == nil || p.Result.CallID != open[j].ID {
					return fail("part %d doesn't answer call %q", j, open[j].ID)
				}
				if p.Result.Name == "" {
					return fail("result %d has no name", j)
				}
				if strings.TrimSpace(llm.JoinText(p.Result.Content)) == "" && !hasMedia(p.Result.Content) {
					return fail("result %d is empty", j)
				}
			}
			open = nil
		default:
			return fail("no such role")
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the last reply has %d calls without results", len(open))
	}
	return nil
}

func hasMedia(parts []llm.Part) bool {
	for _, p := range parts {
		if p.Kind == llm.KindMedia {
			return true
		}
	}
	return false
}
