package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// ask makes one model call, streams it, and stores the reply with its open
// calls. The surface is that of the target which answered. A target that finds
// the thread too long is asked once more, with less of it.
func (l *loop) ask(d Directive) (*Round, tool.Surface, error) {
	r := &Round{Number: l.thread.Rounds + 1, Before: d.Messages, Started: l.Now()}
	messages := append(l.thread.Messages[:len(l.thread.Messages):len(l.thread.Messages)], d.Messages...)

	var sf tool.Surface
	var refused error // of a request that was too long
	least := 0        // how many messages have to stay out of the next one then
	build := func(t llm.Target) (llm.Request, error) {
		if l.window > 0 && (t.ContextWindow <= 0 || l.window < t.ContextWindow) {
			t.ContextWindow = l.window
		}
		s, err := l.Toolbox.Offer(l.ctx, l.turn.Scope, t, l.thread.State)
		if err != nil {
			return llm.Request{}, err
		}
		req, facts, err := l.Prompts.Build(l.ctx, l.turn, s, messages)
		if err != nil {
			return llm.Request{}, err
		}
		if facts.Dropped < least {
			return llm.Request{}, refused // the same again would be refused again
		}
		if d.NoTools {
			req.Choice = llm.ChoiceNone
		}
		sf, r.Request = s, facts
		if refused != nil {
			l.emit(Event{Type: Notice, Kind: "compaction", Text: fmt.Sprintf(
				"the conversation is too long for %s; asking again without its oldest %d messages", t, facts.Dropped)})
		}
		l.emit(Event{Type: PromptBuilt, Request: &facts})
		l.emit(Event{Type: ModelStarted, Target: &t})
		return req, l.ctx.Err()
	}

	reply, err := l.stream(r, build)
	if l.shorten(r, err) {
		refused, least = err, r.Request.Dropped+1
		reply, err = l.stream(r, build)
	}
	if err != nil {
		return nil, sf, errors.Join(err, l.keepPartial(r, reply))
	}
	r.Reply, r.Replied = reply, l.Now()
	l.model = r.Request.Target.String() // the turn stays with whoever answered
	r.State = l.thread.State
	r.State.Tools = tool.Names(sf.Offered)
	if d.NoTools {
		l.closeReply(&r.Reply)
	}
	l.tellCut(&r.Reply)
	return r, sf, l.called(r)
}

// bytesPerToken turns the size of a request into the window that it is sure to
// fill; a token has more bytes of most text, and not fewer of any.
const bytesPerToken = 3

// shorten reports whether the request of r failed for its length and may be
// made again: for the same target, in half the room, once in a turn. The room
// stays that small for the rest of the turn, so that its requests go on
// repeating each other.
func (l *loop) shorten(r *Round, err error) bool {
	var e *llm.Error
	if l.window > 0 || !errors.As(err, &e) || e.Class != llm.ClassTooLong {
		return false
	}
	l.window = max(r.Request.Bytes/bytesPerToken/2, 1)
	l.model = r.Request.Target.String()
	return true
}

// tellCut tells the person that an answer is not all the model had to say. For
// a reply with calls the tools' results tell the model, and it goes on.
func (l *loop) tellCut(reply *llm.Reply) {
	if len(reply.Message.Calls()) > 0 {
		return
	}
	switch reply.Finish {
	case llm.FinishLength:
		l.emit(Event{Type: Notice, Kind: "limit", Text: "the answer was cut off at the output limit; say \"go on\", or raise max_output_tokens"})
	case llm.FinishFilter:
		l.emit(Event{Type: Notice, Kind: "limit", Text: "the provider's filter cut the answer off"})
	}
}

// closeReply makes reply a last one: calls that it holds although they were
// forbidden are dropped, and it is never empty.
func (l *loop) closeReply(reply *llm.Reply) {
	reply.Message.Parts = withoutCalls(reply.Message.Parts)
	if strings.TrimSpace(reply.Message.Text()) == "" {
		words := "The limit of tool rounds was reached, and the model gave no answer. Say \"go on\" to continue."
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
	for e, err := range l.Models.Stream(l.ctx, l.model, l.used, build) {
		if err != nil {
			return partial(), err
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
			l.emit(Event{Type: Retracted})
		case llm.EventNotice:
			l.emit(Event{Type: Notice, Kind: "provider", Text: e.Text})
		case llm.EventDone:
			done = e.Reply
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

// keepPartial stores the text of a reply that broke off, so that the history
// holds what the person saw, and what a person said just before it, which was
// handed over and stands nowhere else.
func (l *loop) keepPartial(r *Round, partial llm.Reply) error {
	if strings.TrimSpace(partial.Message.Text()) == "" && !slices.ContainsFunc(r.Before, spoken) {
		return nil
	}
	r.Reply, r.Replied, r.State = partial, l.Now(), l.thread.State
	if err := l.called(r); err != nil {
		return err
	}
	return l.settle(r)
}

// called stores the reply of r, which gives its calls their ids.
func (l *loop) called(r *Round) error {
	r.Calls = r.Reply.Message.Calls()
	if err := l.History.Called(l.keep(), l.turn, r); err != nil {
		l.unstored = true
		return err
	}
	l.thread.Rounds, l.rounds = r.Number, l.rounds+1
	l.count(r)
	l.text = r.Reply.Message.Text()
	return nil
}

// count adds what r used, and what that cost as far as it is known.
func (l *loop) count(r *Round) {
	l.usage = l.usage.Add(r.Reply.Usage)
	if l.Cost == nil {
		return
	}
	if usd := r.Cost(l.Cost); usd != nil {
		l.usd += *usd
	} else {
		l.unknown = true
	}
}

// Cost is what the model call cost in US dollars at the prices that of knows,
// nil when that is unknown: a reply that broke off, or whose provider doesn't
// count, is known to cost nothing only when its target is free. Words of the
// host cost nothing.
func (r *Round) Cost(of func(llm.Usage, llm.Target) *float64) *float64 {
	if r.Reply.Finish == llm.FinishHost {
		return new(float64)
	}
	used := r.Reply.Usage
	counted := used != llm.Usage{}
	if !counted {
		used.Output = 1
	}
	usd := of(used, r.Request.Target)
	if !counted && usd != nil && *usd > 0 {
		return nil
	}
	return usd
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
