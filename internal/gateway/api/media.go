package api

import (
	"context"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// The bytes of images and files are in no list and no event: a page that shows
// fifty turns must not load what it doesn't show. The parts that hold them say
// name and type; a route of its own has the bytes, under a name that follows
// from where they stand, so that it is the same while a run goes and later:
// message:0 is the first of the person's message, joined:3:0 of what they said
// just before round 3, reply:3:0 of the answer, call:ID:0 of a call's result.

// lean returns parts without the bytes of media.
func lean(parts []llm.Part) []llm.Part {
	if !slices.ContainsFunc(parts, carries) {
		return parts
	}
	out := slices.Clone(parts)
	for i, p := range out {
		if carries(p) {
			out[i].Media = &llm.Media{MIME: p.Media.MIME, Name: p.Media.Name}
		}
	}
	return out
}

// carries reports whether p has bytes with it, or at a place of the store's own.
func carries(p llm.Part) bool { return p.Media != nil && (len(p.Media.Data) > 0 || p.Media.Sum != "") }

// leanOutcome is o without the bytes of media.
func leanOutcome(o tool.Outcome) tool.Outcome {
	o.Content = lean(o.Content)
	return o
}

// leanEvent is e without the bytes of media.
func leanEvent(e agent.Event) agent.Event {
	if e.Tool == nil || e.Tool.Outcome == nil || !slices.ContainsFunc(e.Tool.Outcome.Content, carries) {
		return e
	}
	t, o := *e.Tool, leanOutcome(*e.Tool.Outcome)
	t.Outcome = &o
	e.Tool = &t
	return e
}

// asSaid is a person's message as they wrote it, without what the host added.
func asSaid(m llm.Message) llm.Message {
	m.Parts = lean(slices.DeleteFunc(slices.Clone(m.Parts), isContext))
	return m
}

func isContext(p llm.Part) bool { return p.Kind == llm.KindContext }

// eachMedia calls yield for all media of parts.
func eachMedia(place string, parts []llm.Part, yield func(id string, m *llm.Media)) {
	n := 0
	for _, p := range parts {
		if p.Kind == llm.KindMedia && p.Media != nil {
			yield(place+":"+strconv.Itoa(n), p.Media)
			n++
		}
	}
}

// eachMediaOf calls yield for all media of a turn, in the order in which they
// stand.
func eachMediaOf(t session.Turn, yield func(id string, m *llm.Media)) {
	eachMedia("message", t.Message.Parts, yield)
	for _, r := range t.Rounds {
		var before []llm.Part
		for _, m := range r.Before {
			before = append(before, m.Parts...)
		}
		eachMedia("joined:"+strconv.Itoa(r.Number), before, yield)
		eachMedia("reply:"+strconv.Itoa(r.Number), r.Reply.Message.Parts, yield)
		for _, o := range r.Outcomes {
			eachMedia("call:"+o.Call.ID, o.Content, yield)
		}
	}
}

// listMedia lists the media of a turn.
func listMedia(t session.Turn) []Media {
	var list []Media
	eachMediaOf(t, func(id string, m *llm.Media) {
		list = append(list, Media{ID: id, Name: m.Name, MIME: m.MIME, Size: m.Bytes()})
	})
	return list
}

// shownInPlace lists the types that a browser may show as part of a page. None
// of them can hold a script.
var shownInPlace = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"}

func getMedia(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	p, err := s.find(r.Context(), c, r.PathValue("agent"), r.PathValue("id"))
	if err != nil {
		return err
	}
	name, want := r.PathValue("turn"), r.PathValue("media")
	t, err := s.turnOf(r.Context(), p, name, session.Told)
	if err != nil {
		return err
	}
	v, err := s.sightOf(r.Context(), c, p.Key.Agent, t.Caller)
	if err != nil {
		return err
	}
	var m *llm.Media
	eachMediaOf(v.turn(t), func(id string, one *llm.Media) {
		if id == want {
			m = one
		}
	})
	if m == nil {
		return notFound("turn %s has no media %q", name, want)
	}
	data := m.Data
	if len(data) == 0 && m.Sum != "" {
		if data, err = s.opts.Sessions.Content(r.Context(), m); err != nil {
			return err
		}
	}
	return serveMedia(w, m, data)
}

// turnOf finds a turn of p by its number or its run. One that has not begun has
// no number.
func (s *Server) turnOf(ctx context.Context, p foundSession, name string, depth session.Depth) (session.Turn, error) {
	if n, err := strconv.Atoi(name); err == nil && n > 0 && n <= p.Turns {
		turns, err := s.opts.Sessions.Turns(ctx, p.Key, n, n, depth)
		if err != nil {
			return session.Turn{}, err
		}
		if len(turns) == 1 {
			return turns[0], nil
		}
	}
	runs, _, err := s.opts.Sessions.Runs(ctx, session.RunFilter{Run: name, Agent: p.Key.Agent, ID: p.ID, Depth: depth})
	if err != nil {
		return session.Turn{}, err
	}
	if len(runs) == 1 {
		return runs[0].Turn, nil
	}
	// One that has not begun is only its message.
	for _, r := range append([]*run.Run{p.going}, p.waiting...) {
		if r != nil && r.ID == name {
			return session.Turn{Run: r.ID, Message: r.Request().Message}, nil
		}
	}
	return session.Turn{}, notFound("session %s has no turn %s", p.Key, name)
}

// serveMedia answers with bytes that anybody may have made: nothing in them
// gets to act in a page of the gateway.
func serveMedia(w http.ResponseWriter, m *llm.Media, data []byte) error {
	h := w.Header()
	kind, _, err := mime.ParseMediaType(m.MIME)
	if err != nil {
		kind = "application/octet-stream"
	}
	disposition := "attachment"
	if slices.Contains(shownInPlace, kind) {
		disposition = "inline"
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": fileName(m.Name)}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, max-age=3600, immutable")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	_, err = w.Write(data)
	return err
}
