package cli

import (
	"context"
	"strings"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/cli/markdown"
)

const (
	recalledTurns = 3
	recalledLines = 6
)

// recall shows the last turns of the session, briefly.
func (k *console) recall(ctx context.Context) {
	if !k.begun {
		return
	}
	s, err := k.g.Sessions.Session(ctx, k.key())
	if err != nil {
		k.view.fail(err.Error())
		return
	}
	first := max(s.Turns-recalledTurns+1, 1)
	turns, err := k.g.Sessions.Turns(ctx, k.key(), first, 0, session.Spoken)
	if err != nil {
		k.view.fail(err.Error())
		return
	}
	if first > 1 {
		k.view.aside("%s: %s; %s before these", k.key().ID, s.Title, count(first-1, "turn"))
	}
	for _, t := range turns {
		k.view.print(person, message(strings.TrimSpace(t.Message.Text()), recalledLines)...)
		k.view.print(answer, k.recalled(t)...)
		if t.Status != agent.Done && t.Status != agent.Limited {
			k.view.aside("%s", short(strings.TrimSpace(string(t.Status)+": "+t.Error), 200))
		}
	}
}

// recalled is the answer of a turn, cut after some lines.
func (k *console) recalled(t session.Turn) []string {
	var text string
	for _, r := range t.Rounds {
		if said := strings.TrimSpace(r.Reply.Message.Text()); said != "" {
			text = said
		}
	}
	lines := markdown.Render(text, k.view.style)
	if len(lines) > recalledLines {
		lines = append(lines[:recalledLines:recalledLines], dimmed("…"))
	}
	return lines
}
