package api

import (
	"errors"
	"net/http"

	"github.com/goclaw/goclaw/internal/agent/session"
)

// forkSession begins a session with the first turns of another one. With an
// Idempotency-Key the request names the session, so that it is made once.
func forkSession(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	var body Fork
	if err := decode(r, &body); err != nil {
		return err
	}
	id, err := idempotent(r, c)
	if err != nil {
		return err
	}
	p, err := s.asked(r, c)
	if err != nil {
		return err
	}
	if !p.stored {
		return problem(http.StatusConflict, "busy", "session %s is about to begin: fork it in a moment", p.Key)
	}
	o := session.ForkOptions{From: p.Key, Turn: session.AllEnded, ID: id, Origin: c.origin(), By: c.Principal, Time: s.opts.Now()}
	if body.Turn != "" {
		t, err := s.turnOf(r.Context(), p, body.Turn, session.Heads)
		if err != nil {
			return err
		}
		if t.Number == 0 {
			return problem(http.StatusConflict, "busy", "run %s has not begun: fork behind an earlier turn", t.Run)
		}
		o.Turn = t.Number
	}
	switch {
	case body.Mode == "" || body.Mode == ForkAfter:
	case body.Mode != ForkBefore:
		return badRequest("mode is %q: it can be %s or %s", body.Mode, ForkAfter, ForkBefore)
	case body.Turn == "":
		return badRequest("which turn is the fork to begin before? Say its number, or its run, as turn")
	default:
		o.Turn--
	}
	f, err := session.Fork(r.Context(), s.opts.Sessions, o)
	switch {
	case errors.Is(err, session.ErrExists):
		again, err := s.find(r.Context(), c, p.Key.Agent, id)
		if err != nil {
			return err
		}
		return answer(w, http.StatusCreated, sessionOf(again))
	case errors.Is(err, session.ErrUnended):
		return problem(http.StatusConflict, "busy", "a turn that runs can't be forked: stop it, or fork behind an earlier one")
	case errors.Is(err, session.ErrNotFound):
		return noSession(p.Key)
	case err != nil:
		return err
	}
	s.opts.Runner.Touch(f.Key)
	return answer(w, http.StatusCreated, sessionOf(foundSession{Session: f, stored: true}))
}
