package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/agent/session"
)

func listSessions(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	q := r.URL.Query()
	f := session.Filter{Caller: c.owner(), Title: q.Get("title"), After: q.Get("after")}
	var err error
	if f.Limit, err = limitOf(q); err != nil {
		return err
	}
	if name := q.Get("agent"); name != "" {
		key, err := s.keyOf(r.Context(), name, "any")
		if err != nil {
			return err
		}
		f.Agent = key.Agent
	}
	list, next, err := s.opts.Sessions.Sessions(r.Context(), f)
	if err != nil {
		return listError(err, f.After)
	}
	out := Sessions{Sessions: make([]Session, 0, len(list)), Next: next}
	for _, one := range list {
		p := foundSession{Session: one, stored: true}
		p.going, p.waiting = s.opts.Runner.Session(one.Key)
		out.Sessions = append(out.Sessions, sessionOf(p))
	}
	return answer(w, http.StatusOK, out)
}

func search(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	q := r.URL.Query()
	query := session.Query{Text: q.Get("q"), ID: q.Get("session"), Caller: c.owner()}
	if len(session.Terms(query.Text)) == 0 {
		return badRequest("q has no words to search for")
	}
	var err error
	if query.Limit, err = limitOf(q); err != nil {
		return err
	}
	if name := q.Get("agent"); name != "" || query.ID != "" {
		key, err := s.keyOf(r.Context(), name, cmp.Or(query.ID, "any"))
		if err != nil {
			return err
		}
		query.Agent = key.Agent
	}
	found, err := s.opts.Sessions.Search(r.Context(), query)
	if err != nil {
		return err
	}
	out := Hits{Hits: make([]Hit, 0, len(found))}
	for _, h := range found {
		out.Hits = append(out.Hits, Hit{
			Agent: h.Session.Agent, Session: h.Session.ID, Title: h.Title, Turn: h.Turn, Role: h.Role, Time: h.Time, Snippet: h.Snippet,
		})
	}
	return answer(w, http.StatusOK, out)
}

// asked is the session that a request's path names.
func (s *Server) asked(r *http.Request, c Caller) (foundSession, error) {
	return s.find(r.Context(), c, r.PathValue("agent"), r.PathValue("id"))
}

func getSession(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	p, err := s.asked(r, c)
	if err != nil {
		return err
	}
	out := SessionDetail{Session: sessionOf(p), Runs: []Run{}}
	if p.going != nil {
		out.Runs = append(out.Runs, liveRun(p.going))
	}
	for _, one := range p.waiting {
		out.Runs = append(out.Runs, liveRun(one))
	}
	return answer(w, http.StatusOK, out)
}

func renameSession(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	var body Rename
	if err := decode(r, &body); err != nil {
		return err
	}
	title, err := titleOf(body.Title)
	if err != nil {
		return err
	}
	p, err := s.asked(r, c)
	if err != nil {
		return err
	}
	err = s.opts.Sessions.Rename(r.Context(), p.Key, title)
	if errors.Is(err, session.ErrNotFound) {
		if p.going != nil {
			return problem(http.StatusConflict, "busy", "session %s is about to begin: rename it in a moment", p.Key)
		}
		return noSession(p.Key)
	}
	if err != nil {
		return err
	}
	s.opts.Runner.Touch(p.Key)
	p.Title = title
	return answer(w, http.StatusOK, sessionOf(p))
}

const maxTitle = 120 // of a title that a person writes, in code points

// titleOf is what a person wrote as a title, as it is kept.
func titleOf(written string) (string, error) {
	title := session.OneLine(written)
	if strings.Trim(title, "\u200c\u200d ") == "" {
		return "", badRequest("the title is empty")
	}
	if n := utf8.RuneCountInString(title); n > maxTitle {
		return "", badRequest("the title has %d characters: it can have %d", n, maxTitle)
	}
	return title, nil
}

func deleteSession(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	p, err := s.asked(r, c)
	if err != nil {
		return err
	}
	err = s.opts.Backend.DeleteSession(r.Context(), p.Key)
	switch {
	case errors.Is(err, session.ErrHeld):
		return problem(http.StatusConflict, "busy", "a run is going in session %s: stop it first", p.Key)
	case errors.Is(err, session.ErrNotFound):
		return noSession(p.Key)
	case err != nil:
		return err
	}
	s.graves.add(p.Session)
	s.opts.Runner.Touch(p.Key)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func exportSession(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	kind, ending := "application/jsonl", "jsonl"
	export := func(ctx context.Context, to io.Writer, store session.Store, key session.Key) error {
		return session.ExportTold(ctx, to, store, key, func(line any) any { return toldBy(w, line) })
	}
	switch format := r.URL.Query().Get("format"); format {
	case "", "jsonl":
	case "markdown":
		export, kind, ending = session.ExportMarkdown, "text/markdown; charset=utf-8", "md"
	default:
		return badRequest("format is %q: it can be jsonl or markdown", format)
	}
	p, err := s.asked(r, c)
	if err != nil {
		return err
	}
	if !p.stored {
		return problem(http.StatusConflict, "busy", "session %s is about to begin: export it in a moment", p.Key)
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(p.Key.Agent + "-" + p.ID + "." + ending)}))
	return export(r.Context(), w, discreetStore{s.opts.Sessions, &sights{s: s, c: c, key: p.Key}}, p.Key)
}

// fileName is a name that any system takes for a file.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(`/\:*?"<>|`, r):
			return '-'
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs) || r == utf8.RuneError:
			return -1
		}
		return r
	}, name)
	name = strings.Trim(name, ". ")
	for utf8.RuneCountInString(name) > maxTitle {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	return cmp.Or(name, "file")
}

func stopSession(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	p, err := s.asked(r, c)
	if err != nil {
		return err
	}
	s.opts.Runner.StopAll(p.Key)
	if p.going != nil {
		within(r.Context(), stopWithin, p.going.Done())
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
