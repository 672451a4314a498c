package api

import (
	_ "embed"
	"net/http"

	"github.com/goclaw/goclaw/internal/auth"
)

//go:generate go test -run TestOpenAPIIsFresh . -update

//go:embed openapi.json
var openAPIDocument []byte

// State is the answer of /healthz and /readyz. Anybody may ask them, so they
// say no more than that.
type State struct {
	Status string `json:"status"` // ok
}

// health answers as long as the process does.
func health(_ *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
	return answer(w, http.StatusOK, State{"ok"})
}

// ready answers whether new work is taken.
func ready(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	if s.isClosing() {
		return stopping()
	}
	st := s.opts.Backend.Status(r.Context())
	if st.Fault != nil {
		return unstorable()
	}
	if !st.Ready {
		p := problem(http.StatusServiceUnavailable, "unavailable", "the gateway is not ready; try again in a moment")
		p.after = starting
		return p
	}
	return answer(w, http.StatusOK, State{"ok"})
}

// metrics tells only admins what all people together used, and which tools there
// are.
func metrics(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	if s.opts.Metrics == nil {
		return notFound("this gateway has no metrics")
	}
	s.opts.Metrics(r.Context(), w, c.Role == auth.Admin)
	return nil
}

func me(s *Server, w http.ResponseWriter, _ *http.Request, c Caller) error {
	return answer(w, http.StatusOK, Me{User: c.Principal, Version: s.opts.Version})
}

// signOut ends a browser's session for good: its cookie is worth nothing from
// then on, and what is open on it ends.
func signOut(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	if !c.Cookie {
		return badRequest("only a browser's session can be signed out of; goclaw users revoke removes a token")
	}
	if err := s.revoke(r, c.token); err != nil {
		return err
	}
	s.dropCookie(w)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// status tells only admins what is wrong: such words name files, settings and
// accounts, and an admin alone can do something about them.
func status(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	st := s.opts.Backend.Status(r.Context())
	if st.Problems == nil {
		st.Problems = []string{}
	}
	if st.Providers == nil {
		st.Providers = []ProviderStatus{}
	}
	return answer(w, http.StatusOK, st)
}

func agents(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	list := s.opts.Backend.Agents(r.Context())
	if list == nil {
		list = []Agent{}
	}
	return answer(w, http.StatusOK, Agents{list})
}

func listChoices(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	q := r.URL.Query()
	id, err := s.agentOf(r.Context(), q.Get("agent"))
	if err != nil {
		return err
	}
	if err := s.opts.Runner.CheckModel(q.Get("model")); err != nil {
		return badRequest("%v", err)
	}
	choices, err := s.opts.Backend.Models(r.Context(), id, q.Get("model"))
	if err != nil {
		return err
	}
	if choices.Models == nil {
		choices.Models = []string{}
	}
	return answer(w, http.StatusOK, choices)
}

func document(_ *Server, w http.ResponseWriter, _ *http.Request, _ Caller) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(openAPIDocument)
	return err
}
