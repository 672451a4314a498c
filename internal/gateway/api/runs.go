package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// stopWithin is how long stopping a run waits for its end, so that the answer
// can say how it ended. A run that was told to stop ends within a second.
const stopWithin = time.Second

// foundRun is a run that the caller may see: of this process, of the record, or
// both.
type foundRun struct {
	live   *run.Run     // nil when this process doesn't know it, or not any more
	stored *session.Run // nil while nothing is stored of it
	sight  *sight       // what the caller is told of it, where it was looked up for its events
}

// findRun looks up a run, and reads the record of one that this process doesn't
// know to a depth. To those who may not see it it is not there.
func (s *Server) findRun(ctx context.Context, c Caller, id string, depth session.Depth) (foundRun, error) {
	var f foundRun
	whole := depth == session.Told
	if live, ok := s.opts.Runner.Run(id); ok {
		f.live, depth = live, session.Heads // it tells the rest itself
	}
	list, _, err := s.opts.Sessions.Runs(ctx, session.RunFilter{Run: id, Depth: depth, Limit: 1})
	if err != nil {
		return f, err
	}
	if len(list) == 1 {
		f.stored = &list[0]
	}
	switch {
	case f.live == nil && f.stored == nil:
	case f.live != nil && c.sees(f.live.Request().Caller), f.stored != nil && c.sees(f.stored.Caller):
		return s.sighted(ctx, c, f, whole)
	default:
		// What an admin said in somebody's session is theirs to see.
		_, err := s.find(ctx, c, f.key().Agent, f.key().ID)
		if err == nil {
			return s.sighted(ctx, c, f, whole)
		}
		if !errors.As(err, new(*Problem)) {
			return f, err
		}
	}
	return f, notFound("there is no run %q that you can see", id)
}

// sighted is f with what c may be told of its events, where these are wanted.
func (s *Server) sighted(ctx context.Context, c Caller, f foundRun, wanted bool) (foundRun, error) {
	if !wanted {
		return f, nil
	}
	var err error
	f.sight, err = s.sightOf(ctx, c, f.key().Agent, f.caller())
	return f, err
}

// caller is who began the run.
func (f foundRun) caller() auth.Principal {
	if f.live != nil {
		return f.live.Request().Caller
	}
	return f.stored.Caller
}

func (f foundRun) id() string {
	if f.live != nil {
		return f.live.ID
	}
	return f.stored.Run
}

func (f foundRun) key() session.Key {
	if f.live != nil {
		return session.Key{Agent: f.live.Agent, ID: f.live.Session}
	}
	return f.stored.Session
}

// ended reports whether the run is over, as far as this process can tell.
func (f foundRun) ended() bool {
	if f.live != nil {
		return f.live.State() == run.Ended
	}
	return f.stored.Status != agent.Running
}

// told is the run as it is told.
func (f foundRun) told() Run {
	if f.live == nil {
		return storedRun(*f.stored)
	}
	live := liveRun(f.live)
	if live.State == RunQueued || f.stored == nil {
		return live
	}
	// What is stored says more. Whether it goes on is known better here, and how
	// it ended too when that was not stored yet, or could not be.
	out := storedRun(*f.stored)
	if live.State == RunRunning || out.State == RunRunning {
		out.State, out.Status, out.Error, out.Ended = live.State, live.Status, live.Error, live.Ended
	}
	if live.State == RunEnded && f.stored.Status == agent.Running {
		out.Usage, out.USD = live.Usage, live.USD
	}
	return out
}

// listed is a run of a list as it is told.
func (s *Server) listed(r session.Run) Run {
	f := foundRun{stored: &r}
	if r.Status == agent.Running {
		f.live, _ = s.opts.Runner.Run(r.Run)
	}
	return f.told()
}

// seen is a run as c may be told it: why it failed may name tools that are denied
// to them.
func (s *Server) seen(ctx context.Context, c Caller, told Run) (Run, error) {
	if told.Error == "" {
		return told, nil
	}
	v, err := s.sightOf(ctx, c, told.Agent, told.Caller)
	told.Error = v.failure(told.Error)
	return told, err
}

func storedRun(r session.Run) Run {
	out := Run{
		ID: r.Run, Agent: r.Session.Agent, Session: r.Session.ID, State: RunEnded, Status: r.Status, Error: r.Error,
		Caller: r.Caller, Origin: r.Origin, Message: asSaid(r.Message), Media: listMedia(session.Turn{Message: r.Message}),
		Model: r.Model, Started: r.Started, Ended: r.Ended, Usage: r.Usage, USD: r.USD,
	}
	if r.Status == agent.Running {
		out.State, out.Status = RunRunning, ""
	}
	return out
}

// liveRun is what this process knows of a run.
func liveRun(r *run.Run) Run {
	q, at := r.Request(), r.Times()
	out := Run{
		ID: r.ID, Agent: r.Agent, Session: r.Session, State: RunState(r.State()), Caller: q.Caller, Origin: q.Origin,
		Message: asSaid(q.Message), Media: listMedia(session.Turn{Message: q.Message}), Model: q.Model, Started: at.Began,
	}
	if out.State != RunEnded {
		return out
	}
	end, text, ok := r.End()
	if !ok { // the gateway stops, and its next start goes on with the message
		out.State = RunQueued
		return out
	}
	out.Status, out.Ended, out.Usage, out.USD = end.Status, at.Ended, end.Usage, end.USD
	if end.Status == agent.Failed {
		out.Error = text
	}
	return out
}

func startRun(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	var body StartRun
	if err := decode(r, &body); err != nil {
		return err
	}
	at, err := positionOf(r)
	if err != nil {
		return err
	}
	id, err := idempotent(r, c)
	if err != nil {
		return err
	}
	stream := body.Stream == nil || *body.Stream
	if id != "" {
		found, err := s.findRun(r.Context(), c, id, session.Told)
		if err == nil {
			err = s.checkSame(r.Context(), id, found, asked{agent: body.Agent, session: body.Session, words: body.Message, files: len(body.Attachments)})
			if err != nil {
				return err
			}
			return s.answerRun(w, r, found, at, stream, body.StopOnDisconnect)
		}
		if !errors.As(err, new(*Problem)) {
			return err
		}
	}
	req, back, err := s.request(r.Context(), c, body)
	if err != nil {
		return err
	}
	req.ID = id
	f, err := s.start(r.Context(), c, req)
	if err != nil {
		if err := back(); err != nil {
			s.opts.Log.Error("take back the files of a message that was refused", "user", c.ID, "err", err)
		}
	}
	if err == nil {
		err = s.checkSame(r.Context(), id, f, asked{agent: body.Agent, session: body.Session, words: body.Message, files: len(body.Attachments)})
	}
	if err != nil {
		return err
	}
	if !stream && f.live != nil {
		kept(r.Context(), f.live)
	}
	// What another run gives the answer to is not this client's to stop.
	mine := id == "" || f.live != nil && f.live.ID == id
	return s.answerRun(w, r, f, position{}, stream, body.StopOnDisconnect && mine)
}

// start starts a run, or finds that which has had the message before.
func (s *Server) start(ctx context.Context, c Caller, req run.Request) (foundRun, error) {
	started, err := s.opts.Runner.Start(req)
	var known *run.KnownError
	switch {
	case errors.As(err, &known) && known.Waiting:
		return foundRun{}, problem(http.StatusConflict, "busy", "%v: it will be answered there", err)
	case errors.As(err, &known):
		return s.findRun(ctx, c, known.Run, session.Told)
	case errors.Is(err, run.ErrClosed):
		return foundRun{}, stopping()
	case errors.Is(err, run.ErrFull), errors.Is(err, run.ErrCrowded):
		p := problem(http.StatusTooManyRequests, "rate_limited", "%v", err)
		p.after = fullFor
		return foundRun{}, p
	case errors.Is(err, run.ErrNotYours):
		return foundRun{}, noSession(session.Key{Agent: req.Agent, ID: req.Session})
	case err != nil:
		return foundRun{}, err
	}
	return foundRun{live: started}, nil
}

// fullFor is when to ask again whether another message is taken.
const fullFor = 5 * time.Second

// keptWithin is how long a client that doesn't follow its run waits for the
// answer that it is taken.
const keptWithin = 5 * time.Second

// kept waits until a message would survive the death of the process, for a
// moment: whoever was told that it is taken shall not have to say it again.
func kept(ctx context.Context, r *run.Run) {
	within(ctx, keptWithin, r.Kept())
}

// within waits until c is closed or ctx ends, at most for the time d.
func within(ctx context.Context, d time.Duration, c <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
	case <-ctx.Done():
	}
}

// request makes what the runner is asked for, and puts the attachments where the
// agent finds them; back takes them away again. Nothing in body widens what the
// caller may do.
func (s *Server) request(ctx context.Context, c Caller, body StartRun) (req run.Request, back func() error, err error) {
	req = run.Request{Origin: c.origin(), Caller: c.Principal, Model: body.Model, Fresh: body.Fresh, Plan: body.Plan, WhileBusy: run.Busy(body.WhileBusy)}
	if body.ToolsAllow != nil {
		req.Allow = tool.Only(*body.ToolsAllow...)
	}
	req.Deny, req.Sandbox, req.Client = body.ToolsDeny, body.Sandbox, body.Client
	back = func() error { return nil }
	if err := checkLists(&req); err != nil {
		return req, nil, err
	}
	switch req.WhileBusy {
	case "", run.Queue, run.Steer, run.Interrupt:
	default:
		return req, nil, badRequest("while_busy is %q: it can be queue, steer or interrupt", body.WhileBusy)
	}
	if strings.TrimSpace(body.Message) == "" && len(body.Attachments) == 0 {
		return req, nil, badRequest("the message is empty: say something, or attach a file")
	}
	id, err := s.agentOf(ctx, body.Agent)
	if err != nil {
		return req, nil, err
	}
	if err := s.opts.Runner.CheckModel(body.Model); err != nil {
		return req, nil, badRequest("%v", err)
	}
	key := session.Key{Agent: id, ID: body.Session}
	if key.ID == "" {
		key.ID = session.NewID()
	} else if err := s.mayContinue(ctx, c, key); err != nil {
		return req, nil, err
	}
	req.Agent, req.Session = key.Agent, key.ID
	req.Message = llm.Message{Role: llm.User}
	if strings.TrimSpace(body.Message) != "" {
		req.Message.Parts = append(req.Message.Parts, llm.Text(body.Message))
	}
	if len(body.Attachments) > 0 {
		var parts []llm.Part
		if parts, back, err = s.opts.Backend.Attached(ctx, c.Principal, key.Agent, key.ID, body.Attachments); err != nil {
			return req, nil, err
		}
		req.Message.Parts = append(req.Message.Parts, parts...)
	}
	return req, back, nil
}

// mayContinue reports why the caller may not speak in a session, nil when they
// may. A name that nobody has used begins a session.
func (s *Server) mayContinue(ctx context.Context, c Caller, key session.Key) error {
	if err := key.Check(); err != nil {
		return badRequest("%v", err)
	}
	p, err := s.lookUp(ctx, key)
	switch {
	case errors.Is(err, session.ErrNotFound):
		if !mayBegin(c, key.ID) {
			return noSession(key)
		}
		return nil
	case err != nil:
		return err
	case !c.sees(p.Caller):
		return noSession(key)
	}
	return nil
}

// answerRun answers with a run: with its events behind at, or with what it is.
func (s *Server) answerRun(w http.ResponseWriter, r *http.Request, f foundRun, at position, stream, stop bool) error {
	if !stream {
		setRunHeaders(w, f)
		return answer(w, http.StatusAccepted, f.told())
	}
	err := s.streamRun(w, r, f, at)
	if err != nil && stop && f.live != nil && !errors.Is(context.Cause(r.Context()), errClosing) {
		f.live.Stop()
	}
	return ours(err)
}

func setRunHeaders(w http.ResponseWriter, f foundRun) {
	h, key := w.Header(), f.key()
	h.Set("X-GoClaw-Run", f.id())
	h.Set("X-GoClaw-Session", key.ID)
	h.Set("X-GoClaw-Agent", key.Agent)
}

// streamRun sends a run's events behind at. The error says that the client left
// before the end; nobody is left to tell it.
func (s *Server) streamRun(w http.ResponseWriter, r *http.Request, f foundRun, at position) error {
	setRunHeaders(w, f)
	st, err := newEventStream(w)
	if err != nil {
		return err
	}
	return follow(r.Context(), st, s.source(f, at))
}

// source yields what there is to tell of a run behind at.
func (s *Server) source(f foundRun, at position) func(context.Context) iter.Seq[item] {
	if f.live != nil {
		return liveSource(f.live, "", at, f.sight)
	}
	return keptSource(*f.stored, "", at, f.sight)
}

// position is where a viewer's stream broke off: behind the event with number
// seq, of those that happened or of those that were made from the record.
type position struct {
	seq  int
	kept bool
}

// positionOf is where a request wants to go on. A query serves clients that
// can't set headers.
func positionOf(r *http.Request) (position, error) {
	v := r.Header.Get("Last-Event-ID")
	if v == "" {
		v = r.URL.Query().Get("after")
	}
	if v == "" {
		return position{}, nil
	}
	p, ok := parsePosition(v)
	if !ok {
		return p, badRequest("%q is not the id of an event: send the last one that was received, such as 12 or r12", v)
	}
	return p, nil
}

func parsePosition(v string) (p position, ok bool) {
	digits, kept := strings.CutPrefix(v, "r")
	n, err := strconv.ParseUint(digits, 10, 62)
	return position{seq: int(n), kept: kept}, err == nil
}

// liveSource yields a run's events behind at, and those that come, as v has them
// told.
func liveSource(r *run.Run, prefix string, at position, v *sight) func(context.Context) iter.Seq[item] {
	if at.kept {
		at = position{} // what was told from a record has other numbers
	}
	return func(ctx context.Context) iter.Seq[item] {
		return func(yield func(item) bool) {
			for e := range r.Events(ctx, at.seq) {
				if e, ok := v.event(e); ok && !yield(item{event: leanEvent(e), prefix: prefix}) {
					return
				}
			}
		}
	}
}

func listRuns(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	q := r.URL.Query()
	f := session.RunFilter{ID: q.Get("session"), Status: agent.Status(q.Get("status")), Caller: c.owner(), After: q.Get("after")}
	var err error
	if f.Limit, err = limitOf(q); err != nil {
		return err
	}
	known := []agent.Status{agent.Running, agent.Done, agent.Failed, agent.Stopped, agent.Limited, agent.Interrupted}
	if f.Status != "" && !slices.Contains(known, f.Status) {
		return badRequest("status is %q: it can be %s", f.Status, oneOf(known))
	}
	if name := q.Get("agent"); name != "" || f.ID != "" {
		key, err := s.keyOf(r.Context(), name, cmp.Or(f.ID, "any"))
		if err != nil {
			return err
		}
		f.Agent = key.Agent
	}
	if f.ID != "" {
		if _, err := s.find(r.Context(), c, f.Agent, f.ID); err != nil {
			return err
		}
		f.Caller = "" // all that was said in a session of one's own
	}
	list, next, err := s.opts.Sessions.Runs(r.Context(), f)
	if err != nil {
		return listError(err, f.After)
	}
	out := Runs{Runs: make([]Run, 0, len(list)), Next: next}
	for _, one := range list {
		told, err := s.seen(r.Context(), c, s.listed(one))
		if err != nil {
			return err
		}
		out.Runs = append(out.Runs, told)
	}
	return answer(w, http.StatusOK, out)
}

func getRun(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	f, err := s.findRun(r.Context(), c, r.PathValue("id"), session.Heads)
	if err != nil {
		return err
	}
	told, err := s.seen(r.Context(), c, f.told())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, told)
}

func runEvents(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	at, err := positionOf(r)
	if err != nil {
		return err
	}
	f, err := s.findRun(r.Context(), c, r.PathValue("id"), session.Told)
	if err != nil {
		return err
	}
	if f.ended() && s.toldAll(f, at) {
		// A browser would come back for ever; this answer tells it not to.
		setRunHeaders(w, f)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return ours(s.streamRun(w, r, f, at))
}

// toldAll reports whether nothing comes behind at in a run that has ended.
func (s *Server) toldAll(f foundRun, at position) bool {
	if at.seq == 0 {
		return false
	}
	for range s.source(f, at)(context.Background()) {
		return false
	}
	return true
}

func stopRun(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	id := r.PathValue("id")
	f, err := s.findRun(r.Context(), c, id, session.Heads)
	if err != nil {
		return err
	}
	switch {
	case f.ended():
	case f.live == nil:
		return problem(http.StatusConflict, "busy", "run %s is not of this process: stop it where it was started", id)
	default:
		f.live.Stop()
		within(r.Context(), stopWithin, f.live.Done())
		if f, err = s.findRun(r.Context(), c, id, session.Heads); err != nil {
			return err
		}
	}
	told, err := s.seen(r.Context(), c, f.told())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, told)
}

const mostListed = 200

// limitOf reads how many rows a list is to have at most.
func limitOf(q url.Values) (int, error) {
	v := q.Get("limit")
	if v == "" {
		return session.DefaultLimit, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > mostListed {
		return 0, badRequest("limit is %q: it can be 1 to %d", v, mostListed)
	}
	return n, nil
}

// listError is the error of reading a list that was to go on behind after.
func listError(err error, after string) error {
	if errors.Is(err, session.ErrCursor) {
		return badRequest("after is %q: pass on the next of the page before", after)
	}
	return fmt.Errorf("list: %w", err)
}
