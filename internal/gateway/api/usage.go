package api

import (
	"cmp"
	"net/http"
	"time"

	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/auth"
)

// listUsage adds up what model calls used. Who is no admin sees their own, and
// not how it stands with limits that all share.
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
	report, err := s.opts.Backend.Usage(r.Context(), q, c.Role == auth.Admin)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, report)
}
