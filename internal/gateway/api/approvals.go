package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/tool"
)

// approvalStatuses are what a list can be narrowed to.
var approvalStatuses = []tool.ApprovalStatus{
	tool.ApprovalOpen, tool.ApprovalAllowed, tool.ApprovalDenied, tool.ApprovalExpired, tool.ApprovalStopped, tool.ApprovalLost,
}

func listApprovals(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	q := r.URL.Query()
	f := approval.Filter{Session: q.Get("session"), Status: tool.ApprovalStatus(q.Get("status")), After: q.Get("after")}
	if f.Status != "" && !slices.Contains(approvalStatuses, f.Status) {
		return badRequest("status is %q: it can be %s", f.Status, oneOf(approvalStatuses))
	}
	var err error
	if f.Limit, err = limitOf(q); err != nil {
		return err
	}
	if name := q.Get("agent"); name != "" || f.Session != "" {
		key, err := s.keyOf(r.Context(), name, cmp.Or(f.Session, "any"))
		if err != nil {
			return err
		}
		f.Agent = key.Agent
	}
	list, next, err := s.opts.Approvals.List(r.Context(), c.Principal, f)
	if errors.Is(err, approval.ErrCursor) {
		return badRequest("after is %q: pass on the next of the page before", f.After)
	}
	if err != nil {
		return err
	}
	out := Approvals{Approvals: make([]Approval, 0, len(list)), Next: next}
	for _, a := range list {
		out.Approvals = append(out.Approvals, approvalFor(c, a))
	}
	return answer(w, http.StatusOK, out)
}

// approvalFor is a request as c sees it.
func approvalFor(c Caller, a tool.Approval) Approval {
	return Approval{Approval: a, MayAnswer: a.Status == tool.ApprovalOpen && approval.MayAnswer(c.Principal, a) == nil}
}

func getApproval(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	id := r.PathValue("id")
	list, _, err := s.opts.Approvals.List(r.Context(), c.Principal, approval.Filter{ID: id, Limit: 1})
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		return noApproval(id)
	}
	return answer(w, http.StatusOK, approvalFor(c, list[0]))
}

func noApproval(id string) *Problem { return notFound("there is no approval %q", id) }

func answerApproval(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	var body AnswerApproval
	if err := decode(r, &body); err != nil {
		return err
	}
	if !slices.Contains(tool.Answers, body.Answer) {
		return badRequest("answer is %q: it can be %s", body.Answer, oneOf(tool.Answers))
	}
	id := r.PathValue("id")
	a, err := s.opts.Approvals.Answer(r.Context(), c.Principal, id, body.Answer)
	var closed *approval.ClosedError
	switch {
	case errors.As(err, &closed):
		return problem(http.StatusConflict, "answered", "%v", closed)
	case errors.Is(err, approval.ErrAdmins):
		return problem(http.StatusForbidden, "forbidden", "%v", approval.ErrAdmins)
	case errors.Is(err, approval.ErrUnknown):
		return noApproval(id)
	case err != nil:
		return err
	}
	return answer(w, http.StatusOK, approvalFor(c, a))
}

func listGrants(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	list, err := s.opts.Approvals.Grants(r.Context(), c.Principal)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, Grants{Grants: append([]approval.Grant{}, list...)})
}

func revokeGrant(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	id := r.PathValue("id")
	err := s.opts.Approvals.Revoke(r.Context(), c.Principal, id)
	switch {
	case errors.Is(err, approval.ErrUnknown):
		return notFound("there is no grant %q", id)
	case err != nil:
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
