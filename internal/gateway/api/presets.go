package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine/preset"
)

func listPresets(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	all, err := s.opts.Presets.Presets(r.Context())
	if err != nil {
		return err
	}
	may, err := s.permitted(r.Context(), c)
	if err != nil {
		return err
	}
	of := r.URL.Query().Get("tool")
	out := Presets{Presets: []preset.Preset{}}
	for _, p := range all {
		seen := c.Role == auth.Admin || p.ApprovedBy != "" && may[p.Tool] || p.Author == c.ID
		if seen && (of == "" || p.Tool == of) {
			out.Presets = append(out.Presets, p)
		}
	}
	return answer(w, http.StatusOK, out)
}

// permitted are the tools that c may use with one agent or another; nil for an
// admin, from whom nothing is kept.
func (s *Server) permitted(ctx context.Context, c Caller) (map[string]bool, error) {
	if !c.discreet() {
		return nil, nil
	}
	may := map[string]bool{}
	for _, a := range s.opts.Backend.Agents(ctx) {
		if _, err := s.agentOf(ctx, a.ID); err != nil {
			continue // nobody can use it
		}
		v, err := s.opts.Backend.Surface(ctx, run.Request{Agent: a.ID, Origin: c.origin(), Caller: c.Principal})
		if err != nil {
			return nil, err
		}
		for _, list := range [][]Tool{v.Offered, v.Others} {
			for _, t := range list {
				may[t.Name] = true
			}
		}
	}
	return may, nil
}

func addPreset(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	var body AddPreset
	if err := decode(r, &body); err != nil {
		return err
	}
	p := preset.Preset{Tool: body.Tool, Name: body.Name, Description: body.Description, Args: body.Args, Author: c.ID, Created: time.Now().UTC()}
	if err := p.Check(); err != nil {
		return badRequest("%v", err)
	}
	may, err := s.permitted(r.Context(), c)
	if err != nil {
		return err
	}
	if c.discreet() && !may[p.Tool] {
		return notFound("no agent has a tool %q that you may use", p.Tool)
	}
	err = s.opts.Presets.Add(r.Context(), p)
	if unfit := (*preset.UnfitError)(nil); errors.As(err, &unfit) {
		return badRequest("%v", unfit)
	}
	if errors.Is(err, preset.ErrExists) {
		return problem(http.StatusConflict, "exists", "%v", preset.ErrExists)
	}
	if errors.Is(err, preset.ErrTooMany) {
		return problem(http.StatusTooManyRequests, "too_many", "%v", preset.ErrTooMany)
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, p)
}

func approvePreset(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	return changed(w, r, s.opts.Presets.Approve(r.Context(), r.PathValue("tool"), r.PathValue("name"), c.ID, time.Now().UTC()))
}

func removePreset(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	return changed(w, r, s.opts.Presets.Remove(r.Context(), r.PathValue("tool"), r.PathValue("name")))
}

func changed(w http.ResponseWriter, r *http.Request, err error) error {
	if errors.Is(err, preset.ErrUnknown) {
		return notFound("%s has no preset %q", r.PathValue("tool"), r.PathValue("name"))
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
