package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
)

// modelPrefix stands before an agent's id in the names of models.
const modelPrefix = "goclaw/"

// agentOf is the agent that a model names; empty for the default one.
func agentOf(model string) string {
	if model == "goclaw" {
		return ""
	}
	return strings.TrimPrefix(model, modelPrefix)
}

func chatCompletions(s *Server, w http.ResponseWriter, r *http.Request, c Caller) error {
	var q ChatRequest
	// Clients send fields of every version of OpenAI's API.
	if err := decodeKnown(r, &q); err != nil {
		return err
	}
	talk, p := q.read()
	if p != nil {
		return p
	}
	id, err := idempotent(r, c)
	if err != nil {
		return err
	}
	req := run.Request{
		ID: id, Caller: c.Principal, Origin: c.origin(), Message: talk.said, System: talk.system,
		Brought: talk.tools.brought, Choice: talk.tools.choice,
	}
	if id != "" {
		if req.Asked, err = q.sum(); err != nil {
			return err
		}
	}
	if req.Agent, err = s.agentOfModel(r.Context(), q.Model); err != nil {
		return err
	}
	name, mayUse := r.Header.Get("X-GoClaw-Session"), c.sees
	if name == "" {
		// Clients write the names of their own users there, and mean no session
		// that somebody else began.
		name, mayUse = q.User, func(owner auth.Principal) bool { return owner.ID == c.ID }
	}
	if name == "" {
		req.Session, req.Seed = session.NewID(), talk.before
	} else if req.Session, err = s.named(r.Context(), c, req.Agent, name, mayUse); err != nil {
		return err
	}
	var f foundRun
	if len(talk.results) > 0 {
		f, err = s.goOn(r, c, &req, &talk, name != "")
	} else {
		f, err = s.complete(r, c, req)
	}
	if err == nil {
		q := asked{agent: req.Agent, words: talk.said.Text(), files: files(talk.said), results: talk.answered(), sum: req.Asked}
		if name != "" {
			q.session = req.Session
		}
		err = s.checkSame(r.Context(), id, f, q)
	}
	if err != nil {
		return err
	}
	if name == "" && id == "" && f.live != nil {
		// Nobody can come back to a conversation without a name or a key.
		defer context.AfterFunc(r.Context(), f.live.Stop)()
	}
	setRunHeaders(w, f)
	a := &completion{
		run: w.Header().Get("X-GoClaw-Run"), model: modelPrefix + req.Agent, created: s.opts.Now().Unix(), written: talk.tools.written,
	}
	a.id = "chatcmpl-" + a.run
	events := s.eventsOf(r.Context(), f)
	if q.Stream {
		return a.stream(r.Context(), w, events, q.StreamOptions.IncludeUsage)
	}
	return a.whole(r.Context(), w, events)
}

// agentOfModel is the id of the agent that a model names.
func (s *Server) agentOfModel(ctx context.Context, model string) (string, error) {
	name := agentOf(model)
	var usual string // the default agent
	var known []string
	for _, a := range s.opts.Backend.Agents(ctx) {
		if a.ID == name {
			return a.ID, nil
		}
		if a.Default {
			usual = a.ID
		}
		known = append(known, modelPrefix+a.ID)
	}
	if usual != "" && isAlias(name) {
		return usual, nil
	}
	return "", problem(http.StatusNotFound, "model_not_found", "there is no model %q: known are %s", model, strings.Join(known, ", "))
}

// complete starts the run of a completion, or finds the one that the client
// started with the same message before.
func (s *Server) complete(r *http.Request, c Caller, req run.Request) (foundRun, error) {
	again, err := s.again(r, req)
	if err != nil || again != nil {
		return foundRun{live: again}, err
	}
	return s.start(r.Context(), c, req)
}

// goOn starts the run that goes on with what the client answered to calls. They
// wait in the session that is named, else in that of the run which handed them
// out: where nobody went on in it meanwhile, and the client tells what was said
// and called as it was, the client is answered there, so that what the agent did
// besides is not lost. Else the conversation begins anew as the client tells it.
func (s *Server) goOn(r *http.Request, c Caller, req *run.Request, talk *conversation, named bool) (foundRun, error) {
	w, err := s.awaitedBy(r.Context(), c, req.Agent, talk.results)
	if err != nil {
		return foundRun{}, err
	}
	if w != nil && (!named || w.Session.ID == req.Session) {
		here := *req
		here.Session, here.Seed, here.Message = w.Session.ID, nil, talk.message(w.parts)
		if again, err := s.again(r, here); err != nil || again != nil {
			return foundRun{live: again}, err
		}
		same := named // what a session holds counts for more than what is told
		if !named {
			if same, err = s.tells(r.Context(), talk.before, w.Session, w.Number); err != nil {
				return foundRun{}, err
			}
		}
		open := w.mine && w.last
		if same && !open {
			if open, err = s.unanswered(r.Context(), w, talk); err != nil {
				return foundRun{}, err
			}
			here.Message = llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.KindContext, Text: resent}}}
		}
		if open && same {
			*req = here
			return s.start(r.Context(), c, here)
		}
	}
	if named {
		if req.ID != "" { // the first try with this key may have had them
			if f, err := s.findRun(r.Context(), c, req.ID, session.Told); err == nil {
				return f, nil
			}
		}
		first := talk.results[0]
		return foundRun{}, badField(first.at+".tool_call_id",
			"the session %q waits for no result of call %q: it has one, the conversation went on without, or other calls wait with it", req.Session, clipped(first.id))
	}
	parts, p := talk.told()
	if p != nil {
		return foundRun{}, p
	}
	req.Message = talk.message(parts)
	return s.complete(r, c, *req)
}

// eventsOf yields the events of a run from its first, as they happened or as
// the record has them.
func (s *Server) eventsOf(ctx context.Context, f foundRun) iter.Seq[agent.Event] {
	if f.live != nil {
		return f.live.Events(ctx, 0)
	}
	return replayed(*f.stored)
}

// named is the id of the session that a caller means by name: an id that was
// answered before, a session that began on this interface under this name, or
// one that began elsewhere and that they may use. A name that is none of these
// begins one, as does one that only others may use, so that nobody learns what
// others have. The order keeps a name with its session, whatever begins later.
func (s *Server) named(ctx context.Context, c Caller, agent, name string, mayUse func(owner auth.Principal) bool) (string, error) {
	if isOwn(c, name) && (session.Key{Agent: agent, ID: name}).Check() == nil {
		return name, nil
	}
	own := apiSession(c.ID, name)
	for _, id := range []string{own, name} {
		key := session.Key{Agent: agent, ID: id}
		if key.Check() != nil {
			continue
		}
		p, err := s.lookUp(ctx, key)
		switch {
		case errors.Is(err, session.ErrNotFound):
		case err != nil:
			return "", err
		case id == own || mayUse(p.Caller):
			return id, nil
		}
	}
	return own, nil
}

// apiSession is the id of the session that a caller of the API calls name. The
// caller's id stands in it, so that two callers' names never meet.
func apiSession(caller, name string) string {
	id := byProgram + caller + ":" + name
	if (session.Key{Agent: "a", ID: id}).Check() == nil {
		return id
	}
	sum := sha256.Sum256([]byte(caller + "\x00" + name))
	return byProgram + fmt.Sprintf("%x", sum[:8])
}

// again finds the run of a message that a client sends again because its first
// try was cut: the client library says so but names no key. Without this a
// long run would be done twice in its session.
func (s *Server) again(r *http.Request, req run.Request) (*run.Run, error) {
	if n := r.Header.Get("X-Stainless-Retry-Count"); n == "" || n == "0" || req.Session == "" || req.ID != "" {
		return nil, nil
	}
	key := session.Key{Agent: req.Agent, ID: req.Session}
	going, waiting := s.opts.Runner.Session(key)
	for i := len(waiting) - 1; i >= 0; i-- {
		if sameWords(waiting[i].Request(), req) {
			return waiting[i], nil
		}
	}
	if going != nil {
		if sameWords(going.Request(), req) {
			return going, nil
		}
		return nil, nil
	}
	last, err := s.opts.Sessions.Session(r.Context(), key)
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	turns, err := s.opts.Sessions.Turns(r.Context(), key, last.Turns, 0, session.Heads)
	if err != nil || len(turns) == 0 {
		return nil, err
	}
	if ended, ok := s.opts.Runner.Run(turns[len(turns)-1].Run); ok && sameWords(ended.Request(), req) {
		return ended, nil
	}
	return nil, nil
}

func sameWords(a, b run.Request) bool {
	return a.Caller.ID == b.Caller.ID && session.Words(a.Message) == session.Words(b.Message) && len(a.Message.Parts) == len(b.Message.Parts)
}

// completion puts a run's events into the form of OpenAI's answers.
type completion struct {
	id, model string
	run       string
	created   int64
	written   map[string]string // the client's names of its tools, by the canonical ones

	reasoning strings.Builder
	texts     [][]byte // of each round
	worked    bool     // tools ran since the last model call: the next begins a round
	fresh     bool     // nothing of this round has been sent
	images    []ChatImage
	failed    string           // why the run failed
	unoffered *agent.Unoffered // why the client can't have what it demands
	end       *agent.RunEnd
}

// paragraph stands between the texts of two model calls of one turn.
const paragraph = "\n\n"

// take takes in an event and returns the text and reasoning that it adds.
// retracted says that text which was sent before is void: a round's, of however
// many models it was asked.
func (a *completion) take(e agent.Event) (text, reasoning string, retracted bool) {
	switch e.Type {
	case agent.ModelStarted:
		if a.worked || len(a.texts) == 0 {
			a.texts = append(a.texts, nil)
			a.worked, a.fresh = false, true
		}
	case agent.ToolFinished:
		a.worked = true
	case agent.TokenChunk:
		if len(a.texts) == 0 {
			a.texts = append(a.texts, nil) // the host's own words come without a model call
		}
		text = e.Text
		if a.fresh && a.said() {
			text = paragraph + text
		}
		a.fresh = false
		last := len(a.texts) - 1
		a.texts[last] = append(a.texts[last], e.Text...)
	case agent.ReasoningChunk:
		reasoning = e.Text
		a.reasoning.WriteString(e.Text)
	case agent.Retracted:
		if len(a.texts) > 0 {
			last := len(a.texts) - 1
			retracted = len(a.texts[last]) > 0
			a.texts[last] = nil
			a.fresh = true
		}
	case agent.Attachment:
		if m := e.Media; m != nil && llm.IsImage(m.MIME) {
			a.images = append(a.images, ChatImage{Type: "image_url", ImageURL: ChatImageURL{dataOf(m.MIME, m.Data)}})
		}
	case agent.RunFailed:
		a.failed, a.end = e.Text, e.End
		if errors.As(e.End.Err, &a.unoffered) {
			a.failed = ""
		}
	case agent.RunFinished:
		a.end = e.End
	}
	return text, reasoning, retracted
}

// said reports whether an earlier model call of the turn said something.
func (a *completion) said() bool {
	return slices.ContainsFunc(a.texts[:len(a.texts)-1], func(t []byte) bool { return len(t) > 0 })
}

func (a *completion) text() string {
	said := slices.DeleteFunc(slices.Clone(a.texts), func(t []byte) bool { return len(t) == 0 })
	return string(bytes.Join(said, []byte(paragraph)))
}

// lack is why there is no whole answer although the events have ended, nil when
// there is one. A client takes what it is given for all there is, so nothing
// less may look like an answer.
func (a *completion) lack(ctx context.Context) error {
	switch {
	case ctx.Err() != nil && (a.end == nil || a.end.Status == agent.Stopped):
		return context.Cause(ctx)
	case a.end == nil:
		p := problem(http.StatusServiceUnavailable, "unavailable", "the gateway stops; the message is kept and answered after its next start")
		p.after = stoppingFor
		return p
	case a.unoffered != nil:
		return badField("tool_choice", "%v", a.unoffered)
	case errors.Is(a.end.Err, session.ErrNotAwaited):
		return badField("messages", "%v", a.end.Err)
	case a.failed != "":
		return problem(http.StatusBadGateway, "run_failed", "%s", a.failed)
	case a.end.Status == agent.Interrupted:
		return problem(http.StatusServiceUnavailable, "interrupted", "the gateway stopped before the answer was complete; what was done until then is kept")
	case a.end.Status == agent.Stopped:
		return problem(http.StatusConflict, "stopped", "the run was stopped before the answer was complete; what was done until then is kept")
	}
	return nil
}

// whole waits for the end and answers once.
func (a *completion) whole(ctx context.Context, w http.ResponseWriter, events iter.Seq[agent.Event]) error {
	for e := range events {
		a.take(e)
	}
	if err := a.lack(ctx); err != nil {
		return unlessLeft(a.unsent(w, err))
	}
	return answer(w, http.StatusOK, ChatCompletion{
		ID: a.id, Object: "chat.completion", Created: a.created, Model: a.model, Usage: usageOf(a.end.Usage),
		Choices: []ChatChoice{{
			Message: ChatAnswer{
				Role: "assistant", Content: a.text(), ReasoningContent: a.reasoning.String(), Images: a.images,
				ToolCalls: handed(a.run, a.end.Calls, a.written),
			},
			FinishReason: a.reason(),
		}},
	})
}

// reason says in OpenAI's words why the answer ended.
func (a *completion) reason() string {
	switch {
	case len(a.end.Calls) > 0:
		return "tool_calls"
	case a.end.Cut == llm.FinishLength:
		return "length"
	case a.end.Cut == llm.FinishFilter:
		return "content_filter"
	}
	return "stop"
}

// unlessLeft is err, unless that is only that the client left: nobody is left to
// tell then.
func unlessLeft(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// unsent is err in place of an answer. It tells clients that come again by
// themselves whether that is any use: the gateway has tried again already, or has
// done a part.
func (a *completion) unsent(w http.ResponseWriter, err error) error {
	if a.end != nil {
		w.Header().Set("X-Should-Retry", "false")
	}
	return err
}

// stream answers in pieces. What is known to be wrong before the model is asked is
// no stream that ends with an error, but an error.
func (a *completion) stream(ctx context.Context, w http.ResponseWriter, events iter.Seq[agent.Event], withUsage bool) error {
	st := newStream(w)
	stop := st.lively()
	lack, err := a.pieces(ctx, st, events, withUsage)
	stop()
	switch {
	case err != nil:
		return ours(err)
	case lack == nil:
		return nil
	case !st.begun:
		return a.unsent(w, lack)
	}
	return ours(sendError(st, lack))
}

// pieces sends the answer. lack is why it is not whole, which is yet to be told.
func (a *completion) pieces(ctx context.Context, st *stream, events iter.Seq[agent.Event], withUsage bool) (lack, err error) {
	opened := false
	for e := range events {
		if !opened && answers(e) {
			opened = true
			empty := ""
			if err := a.send(st, ChatDelta{Role: "assistant", Content: &empty}, nil); err != nil {
				return nil, err
			}
		}
		shown := len(a.images)
		text, reasoning, retracted := a.take(e)
		if retracted {
			return problem(http.StatusBadGateway, "retracted",
				"the model's answer broke off and began anew, which a stream of this kind can't show; ask again, or use POST /api/runs"), nil
		}
		d := ChatDelta{ReasoningContent: reasoning, Images: a.images[shown:]}
		if text == "" && reasoning == "" && len(d.Images) == 0 {
			continue
		}
		if text != "" {
			d.Content = &text
		}
		if err := a.send(st, d, nil); err != nil {
			return nil, err
		}
	}
	if lack := unlessLeft(a.lack(ctx)); lack != nil || a.end == nil {
		return lack, nil
	}
	return nil, a.close(st, withUsage)
}

// answers reports whether e shows that the run comes to an answer: a model is
// asked, or has been, or none has to be.
func answers(e agent.Event) bool {
	return e.Type != agent.RunStarted && e.Type != agent.Notice && e.Type != agent.RunFailed && (e.End == nil || e.End.Status == agent.Done || e.End.Status == agent.Limited)
}

// close sends what comes behind the text of the answer.
func (a *completion) close(st *stream, withUsage bool) error {
	for i, call := range handed(a.run, a.end.Calls, a.written) {
		// The head comes first, as clients have it from OpenAI.
		head, args := call, ChatToolCall{Index: &i, Function: ChatCalled{Arguments: call.Function.Arguments}}
		head.Index, head.Function.Arguments = &i, ""
		for _, piece := range []ChatToolCall{head, args} {
			if err := a.send(st, ChatDelta{ToolCalls: []ChatToolCall{piece}}, nil); err != nil {
				return err
			}
		}
	}
	reason := a.reason()
	if err := a.send(st, ChatDelta{}, &reason); err != nil {
		return err
	}
	if withUsage {
		u := usageOf(a.end.Usage)
		if err := st.send("", "", a.chunk([]ChunkChoice{}, &u)); err != nil {
			return err
		}
	}
	return st.write("data: [DONE]\n\n")
}

// sendError ends a stream with why it has no whole answer.
func sendError(st *stream, err error) error {
	p, _ := problemOf(err)
	return st.send("", "", p.openAI())
}

func (a *completion) chunk(choices []ChunkChoice, u *ChatUsage) ChatChunk {
	return ChatChunk{ID: a.id, Object: "chat.completion.chunk", Created: a.created, Model: a.model, Choices: choices, Usage: u}
}

func (a *completion) send(st *stream, d ChatDelta, reason *string) error {
	return st.send("", "", a.chunk([]ChunkChoice{{Delta: d, FinishReason: reason}}, nil))
}

func listModels(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	list := Models{Object: "list", Data: []ModelInfo{}}
	since := s.opts.Backend.Status(r.Context()).Started.Unix()
	for _, a := range s.opts.Backend.Agents(r.Context()) {
		list.Data = append(list.Data, modelInfo(a.ID, since))
	}
	return answer(w, http.StatusOK, list)
}

func modelInfo(agent string, since int64) ModelInfo {
	return ModelInfo{ID: modelPrefix + agent, Object: "model", Created: since, OwnedBy: "goclaw"}
}

func getModel(s *Server, w http.ResponseWriter, r *http.Request, _ Caller) error {
	id, err := s.agentOfModel(r.Context(), r.PathValue("model"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, modelInfo(id, s.opts.Backend.Status(r.Context()).Started.Unix()))
}
