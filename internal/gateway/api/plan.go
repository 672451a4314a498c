package api

import (
	"errors"
	"net/http"

	"github.com/goclaw/goclaw/internal/agent/session"
)

// setPlan switches plan mode of a session. A run that is going in it follows
// before its next model call.
func setPlan(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	var body PlanMode
	if err := decode(r, &body); err != nil {
		return err
	}
	p, err := s.asked(r, c)
	if err != nil {
		return err
	}
	err = s.opts.Runner.SetPlan(r.Context(), p.Key, body.On)
	switch {
	case errors.Is(err, session.ErrNotFound):
		return noSession(p.Key)
	case errors.Is(err, session.ErrHeld):
		return problem(http.StatusConflict, "busy", "another process works in session %s: try again in a moment", p.Key)
	case err != nil:
		return err
	}
	return answer(w, http.StatusOK, body)
}
