package api

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/auth"
)

// listUsage adds up what model calls used. Who is no admin sees their own, and
// how it stands with the limits of a session of theirs, not with those that all
// share.
func listUsage(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	values := r.URL.Query()
	q, err := budget.Parse(values.Get, s.opts.Now(), time.Local)
	if err != nil {
		return badRequest("%v", err)
	}
	if own := c.owner(); own != "" {
		if q.Person != "" && q.Person != own {
			return problem(http.StatusForbidden, "forbidden", "only an admin sees what others used")
		}
		q.Person = own
	}
	if q.Agent != "" || q.Session != "" {
		key, err := s.keyOf(r.Context(), q.Agent, cmp.Or(q.Session, "any"))
		if err != nil {
			return err
		}
		q.Agent = key.Agent
	}
	admin, mine := c.Role == auth.Admin, false
	if !admin && q.Session != "" {
		_, err := s.find(r.Context(), c, q.Agent, q.Session)
		if err != nil && !errors.As(err, new(*Problem)) {
			return err
		}
		mine = err == nil
	}
	report, err := s.opts.Backend.Usage(r.Context(), q, admin || mine)
	if err != nil {
		return err
	}
	if !admin {
		report.HideShared()
	}
	return answer(w, http.StatusOK, report)
}
