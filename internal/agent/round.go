package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// ask makes one model call and streams it. The surface is that of the target which answered. A target that finds
// the thread too long is asked once more, with less of it. There is no round when the run is to end, with an error or
// politely.
func (l *loop) ask(d Directive) (*Round, tool.Surface, error) {
	q := l.question(d)
	reply, err := q.put()
	var over *OverBudget
	switch {
	case errors.As(err, &over) || q.shortened && noAnswer(err, &over):
		l.notice(Told{Kind: "budget", Text: over.Notice}, nil)
		d.Reason = over.Reason
		l.say(d, reply.Message.Text())
		l.last.Attempts, l.last.Retracted = q.round.Attempts, q.round.Retracted
		return nil, q.surface, nil
	case err != nil:
		l.keepPartial(q.round, reply)
		return nil, q.surface, err
	}
	q.answered(reply)
	return q.round, q.surface, nil
}

// question is one model call, which may take several requests.
type question struct {
	*loop
	Directive
	messages []llm.Message
	round    *Round // that it becomes

	// Of the last request that was built:
	surface   tool.Surface
	shortened bool   // the brake let its answer be no longer
	announced string // the target that was told to be asked

	refused error // of a request that was too long
	least   int   // how many messages have to stay out of the next one then
}

func (l *loop) question(d Directive) *question {
	return &question{
		loop: l, Directive: d,
		messages: append(l.thread.Messages[:len(l.thread.Messages):len(l.thread.Messages)], d.Messages...),
		round:    &Round{Number: l.thread.Rounds + 1, Before: d.Messages, Joined: d.Joined, Started: l.Now(), State: l.thread.State},
	}
}

// put asks, and once more with less when that was too long.
func (q *question) put() (llm.Reply, error) {
	q.gaveUp = nil
	reply, err := q.stream(q.round, q.build)
	if q.tooLong(q.round, err) && !q.shorter {
		q.shorter = true
		if n := len(q.round.Attempts); n > 0 {
			q.round.Attempts[n-1].Next = llm.Retry // what is told of it is a notice of its own
		}
		q.refused, q.least, q.announced = err, q.round.Request.Dropped+1, ""
		reply, err = q.stream(q.round, q.build)
		q.tooLong(q.round, err)
	}
	return reply, err
}

// build makes the request for a target, and tells of it.
func (q *question) build(t llm.Target) (llm.Request, error) {
	t.MaxInput = q.thread.State.RoomFor(t.String())
	sf, err := q.Toolbox.Offer(q.ctx, q.turn.Scope, t, q.thread.State, q.asked)
	if err != nil {
		return llm.Request{}, err
	}
	req, facts, err := q.Prompts.Build(q.ctx, q.turn, sf, q.messages)
	if err != nil {
		return llm.Request{}, err
	}
	facts.Picks, facts.Notices = sf.Picks, sf.Notices
	if facts.Dropped < q.least {
		return llm.Request{}, q.refused // the same again would be refused again
	}
	switch c := q.turn.Choice; {
	case q.NoTools:
		req.Choice = llm.ChoiceNone
	case c.Required && !c.offered(&sf):
		return llm.Request{}, &Unoffered{Tool: c.Only, Reason: reasonOf(&sf, c.Only)}
	case c.Required:
		req.Choice, req.Only = llm.ChoiceRequired, c.Only
	}
	req.Reuse = q.rounds == 0 && !q.turn.Fresh
	if load := q.thread.Load; load != nil {
		req.Load = func(m *llm.Media) ([]byte, error) { return load(q.ctx, m) }
	}
	wanted := req.MaxOutput
	if err := q.reserve(&req, facts.Bytes); err != nil {
		return llm.Request{}, err
	}
	q.shortened = req.MaxOutput != wanted
	q.surface, q.round.Request = sf, facts
	q.round.State = q.round.State.Listing(sf.State)
	if q.announced != t.String() { // the same once more is not told: whoever watches reads on
		q.announced = t.String()
		q.tellDropped(t, facts.Dropped, q.refused != nil)
		q.emit(Event{Type: PromptBuilt, Request: &facts})
		q.emit(Event{Type: ModelStarted, Target: &t})
	}
	return req, q.ctx.Err()
}

// answered takes in the reply.
func (q *question) answered(reply llm.Reply) {
	r := q.round
	r.Reply, r.Replied = reply, q.Now()
	q.model = r.Request.Target.String() // the turn stays with whoever answered
	r.State = q.surface.State
	r.Listed = !r.State.Equal(q.thread.State)
	r.State.Dropped = r.Request.Dropped
	if q.NoTools {
		q.closeReply(&r.Reply, q.Reason)
	}
	q.tellCut(&r.Reply, q.shortened)
	r.Calls = r.Reply.Message.Calls()
}

// noAnswer sets over when a request failed since its output limit was used up
// before the answer began, as it is when a model thinks first.
func noAnswer(err error, over **OverBudget) bool {
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.ClassEmpty || e.Code != string(llm.FinishLength) {
		return false
	}
	*over = &OverBudget{
		Reason: fmt.Sprintf("What the budget left for an answer of %s was used up before it began. Have the budget raised in config.yaml, or less reasoning asked for.", e.Target),
		Notice: "what the budget left for an answer was used up before it began; the run ends",
	}
	return true
}

// tellCut tells the person that an answer is not all the model had to say. For
// a reply with calls the tools' results tell the model, and it goes on.
// shortened says that the brake let it be no longer.
func (l *loop) tellCut(reply *llm.Reply, shortened bool) {
	if len(reply.Message.Calls()) > 0 {
		return
	}
	cut := func(words string) { l.notice(Told{Kind: "limit", Text: words, Behind: true}, nil) }
	switch {
	case reply.Finish == llm.FinishLength && shortened:
		cut("the answer was cut off at what the budget left for it; say \"go on\", or raise the budget")
	case reply.Finish == llm.FinishLength:
		cut("the answer was cut off at the output limit; say \"go on\", or raise max_output_tokens")
	case reply.Finish == llm.FinishFilter:
		cut("the provider's filter cut the answer off")
	}
}

// notice tells a word of the host, of a failed model call if a is one, and has
// it stored with the round.
func (l *loop) notice(t Told, a *llm.Attempt) {
	l.told = append(l.told, t)
	l.emit(Event{Type: Notice, Kind: t.Kind, Text: t.Text, Attempt: a})
}

// closeReply makes reply a last one: calls that it holds although they were
// forbidden are dropped, and it is never empty.
func (l *loop) closeReply(reply *llm.Reply, words string) {
	reply.Message.Parts = withoutCalls(reply.Message.Parts)
	if strings.TrimSpace(reply.Message.Text()) == "" {
		reply.Message.Parts = append(reply.Message.Parts, llm.Text(words))
		l.emit(Event{Type: TokenChunk, Text: words})
	}
}

// stream passes a reply on as it comes. When it breaks off, what had come so
// far is returned beside the error.
func (l *loop) stream(r *Round, build func(llm.Target) (llm.Request, error)) (llm.Reply, error) {
	var text strings.Builder
	var done *llm.Reply
	partial := func() llm.Reply {
		return llm.Reply{Message: llm.AssistantMessage(text.String()), Finish: llm.FinishStopped, Target: r.Request.Target}
	}
	said := 0 // bytes that came in the attempt under way
	// However the answer ends, what it used is counted.
	defer func() { l.count(r, nil, said, false) }()
	for e, err := range l.Models.Stream(l.ctx, l.model, l.used, build) {
		if err != nil {
			return partial(), err
		}
		if e.Type <= llm.EventCall {
			said += max(len(e.Text), 1)
		}
		if r.FirstToken.IsZero() && e.Type <= llm.EventCall {
			r.FirstToken = l.Now()
		}
		switch e.Type {
		case llm.EventText:
			text.WriteString(e.Text)
			l.emit(Event{Type: TokenChunk, Text: e.Text})
		case llm.EventReasoning:
			l.emit(Event{Type: ReasoningChunk, Text: e.Text})
		case llm.EventRetracted:
			text.Reset()
			r.Retracted++
			l.emit(Event{Type: Retracted})
		case llm.EventNotice:
			if e.Attempt != nil {
				r.Attempts = append(r.Attempts, *e.Attempt)
				if e.Attempt.Next == llm.GaveUp {
					l.gaveUp = e.Attempt
				}
			}
			switch {
			case e.Text == "":
			case e.Attempt != nil: // it is stored with that
				l.emit(Event{Type: Notice, Kind: e.Kind, Text: e.Text, Attempt: e.Attempt})
			default:
				l.notice(Told{Kind: e.Kind, Text: e.Text}, nil)
			}
		case llm.EventDropped:
			l.count(r, e.Usage, max(said, 1), false)
			said = 0
		case llm.EventDone:
			done, l.gaveUp = e.Reply, nil
			if !done.Cached {
				l.count(r, &done.Usage, max(said, 1), true)
			}
			said = 0
		}
		if l.gone {
			return partial(), l.ctx.Err()
		}
	}
	if done == nil {
		if err := l.ctx.Err(); err != nil {
			return partial(), err
		}
		return partial(), errors.New("the model call ended without an answer")
	}
	return *done, nil
}

// keepPartial has the text of a reply that broke off stored, so that the
// history holds what the person saw, and what a person said just before it,
// which was handed over and stands nowhere else; so have attempts that failed,
// what was learned of how much a target takes, and the list of tools that it was
// shown, which the next request goes on with.
func (l *loop) keepPartial(r *Round, partial llm.Reply) {
	if strings.TrimSpace(partial.Message.Text()) == "" {
		if len(r.Attempts) == 0 && !l.shorter && len(r.Joined) == 0 && !slices.ContainsFunc(r.Before, spoken) {
			return
		}
		partial.Message.Parts = nil
	}
	r.Reply, r.Replied, r.State = partial, l.Now(), l.thread.State.Listing(r.State)
	l.close(r)
}

// close makes r, which calls nothing, the last round: finish stores it.
func (l *loop) close(r *Round) {
	l.last = r
	l.bill(r)
	r.Notices, l.told = l.told, nil
	l.replied(r)
}

// called stores the reply of r, which gives its calls their ids.
func (l *loop) called(r *Round) error {
	l.bill(r)
	r.Notices, l.told = l.told, nil
	if err := l.History.Called(l.keep(), l.turn, r); err != nil {
		l.unstored = true
		return err
	}
	l.stored = len(l.spent)
	l.replied(r)
	return nil
}

// replied takes in that r has its reply.
func (l *loop) replied(r *Round) {
	l.thread.Rounds, l.rounds = r.Number, l.rounds+1
	l.text = r.Reply.Message.Text()
}

// Messages is the round as a thread holds it: what joined before the call, the
// reply, and one message with a result for each call.
func (r *Round) Messages() []llm.Message {
	out := append([]llm.Message(nil), r.Before...)
	if len(r.Reply.Message.Parts) > 0 {
		out = append(out, r.Reply.Message)
	}
	if len(r.Outcomes) == 0 {
		return out
	}
	results := llm.Message{Role: llm.Results, Parts: make([]llm.Part, len(r.Outcomes))}
	for i, o := range r.Outcomes {
		results.Parts[i] = llm.Part{Kind: llm.KindResult, Result: o.Result()}
	}
	return append(out, results)
}

// Handed are the calls of the round that went to the API client.
func (r *Round) Handed() []ToolEvent {
	var list []ToolEvent
	for i, o := range r.Outcomes {
		if o.Status == tool.Handed {
			list = append(list, ToolEvent{ID: o.Call.ID, Name: o.Tool, Index: i, Args: o.Args})
		}
	}
	return list
}

// spoken reports whether m holds more than the host's own words.
func spoken(m llm.Message) bool {
	return slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Kind != llm.KindContext })
}

func withoutCalls(parts []llm.Part) []llm.Part {
	var kept []llm.Part
	for _, p := range parts {
		if p.Kind != llm.KindCall {
			kept = append(kept, p)
		}
	}
	return kept
}
