package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

func listTurns(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	q := r.URL.Query()
	limit, err := limitOf(q)
	if err != nil {
		return err
	}
	before := 0
	if v := q.Get("before"); v != "" {
		if before, err = strconv.Atoi(v); err != nil || before < 1 {
			return badRequest("before is %q: it is the number of a turn", v)
		}
	}
	p, err := s.asked(r, c)
	if err != nil {
		return err
	}
	last := p.Turns
	if before > 0 {
		last = min(last, before-1)
	}
	from := max(last-limit+1, 1)
	out := Turns{Turns: []Turn{}}
	if last > 0 {
		turns, err := s.opts.Sessions.Turns(r.Context(), p.Key, from, last, session.Told)
		if err != nil {
			return err
		}
		seen := &sights{s: s, c: c, key: p.Key}
		for _, t := range turns {
			told, err := s.turn(r.Context(), seen, t)
			if err != nil {
				return err
			}
			out.Turns = append(out.Turns, told)
		}
	}
	if from > 1 {
		out.Before = from
	}
	return answer(w, http.StatusOK, out)
}

// turn is t of a session as it is told. A run that ended while t was
// read is read once more: its end must not be told without its answer.
func (s *Server) turn(ctx context.Context, seen *sights, t session.Turn) (Turn, error) {
	key := seen.key
	var now Run
	if t.Status == agent.Running {
		if now = s.listed(session.Run{Session: key, Turn: t}); now.State == RunEnded {
			again, err := s.opts.Sessions.Turns(ctx, key, t.Number, t.Number, session.Told)
			if err != nil {
				return Turn{}, err
			}
			if len(again) == 1 {
				t = again[0]
			}
		}
	}
	v, err := seen.of(ctx, t.Caller)
	if err != nil {
		return Turn{}, err
	}
	t = v.turn(t)
	out := Turn{
		Number: t.Number, Run: t.Run, Seeded: t.Seeded, Copied: t.Copied, Message: asSaid(t.Message), Media: listMedia(t), Model: t.Model, Status: t.Status, Error: t.Error,
		Caller: t.Caller, Origin: t.Origin, Started: t.Started, Ended: t.Ended, Usage: t.Usage,
		USD: t.USD, Rounds: make([]Round, 0, len(t.Rounds)),
	}
	if t.Status == agent.Running && now.State == RunEnded { // its end could not be stored
		out.Status, out.Error, out.Ended, out.Usage, out.USD = now.Status, now.Error, now.Ended, now.Usage, now.USD
	}
	for _, p := range t.Message.Parts {
		if isContext(p) {
			out.Added = append(out.Added, p.Text)
		}
	}
	for i := range t.Rounds {
		out.Rounds = append(out.Rounds, round(&t.Rounds[i]))
	}
	return out, nil
}

func round(r *agent.Round) Round {
	out := Round{
		Number: r.Number, Text: r.Reply.Message.Text(), Reasoning: reasoning(r.Reply.Message), Finish: r.Reply.Finish,
		Target: r.Request.Target, Usage: r.Reply.Usage, USD: r.USD, Cached: r.Reply.Cached, Calls: make([]tool.Outcome, 0, len(r.Outcomes)),
		Attempts: r.Attempts, Notices: r.Notices, Retracted: r.Retracted,
		Started: r.Started, FirstToken: r.FirstToken, Replied: r.Replied, Ended: r.Ended,
	}
	if r.Reply.Target.Provider != "" {
		out.Target = r.Reply.Target
	}
	for _, m := range r.Before {
		if text := session.Words(m); text != "" {
			out.Joined = append(out.Joined, text)
		}
	}
	for _, o := range r.Outcomes {
		out.Calls = append(out.Calls, leanOutcome(o))
	}
	return out
}

// reasoning is what a model showed of its reasoning, a paragraph for each piece.
func reasoning(m llm.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Kind != llm.KindReasoning || p.Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(p.Text)
	}
	return b.String()
}
