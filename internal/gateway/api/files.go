package api

import (
	"net/http"
	"unicode/utf8"
)

// maxQuery bounds what is written of a path, in characters.
const maxQuery = 1000

func findFiles(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	req, err := s.look(r, c)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	limit, err := limitOf(q)
	if err != nil {
		return err
	}
	query := q.Get("q")
	if utf8.RuneCountInString(query) > maxQuery {
		return badRequest("q is longer than %d characters", maxQuery)
	}
	files, err := s.opts.Backend.Files(r.Context(), req, query, limit)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, files)
}
