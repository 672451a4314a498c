package gemini

import (
	"strings"

	"google.golang.org/genai"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// tell yields what was not told before and reports whether the consumer stays.
func (r *reply) tell(yield func(llm.Event, error) bool) bool {
	for ; r.told < len(r.blocks); r.told++ {
		if b := r.blocks[r.told]; !b.tell(yield) {
			return false
		}
	}
	// The last block may grow.
	r.told = max(len(r.blocks)-1, 0)
	if r.usage == r.toldUsage {
		return true
	}
	r.toldUsage = r.usage
	u := r.usage.sum()
	return yield(llm.Event{Type: llm.EventUsage, Usage: &u}, nil)
}

// sum is u as everybody else counts.
func (u usage) sum() llm.Usage {
	return llm.Usage{Input: u.prompt + u.tools, Cached: u.cached, Output: u.candidates + u.thoughts, Reasoning: u.thoughts}
}

func (b *block) tell(yield func(llm.Event, error) bool) bool {
	e := llm.Event{Type: llm.EventText}
	switch b.kind {
	case llm.KindCall:
		if b.told > 0 {
			return true
		}
		b.told = 1
		return yield(llm.Event{Type: llm.EventCall, Text: b.name, Index: b.call}, nil)
	case llm.KindMedia:
		return true
	case llm.KindReasoning:
		e.Type = llm.EventReasoning
	}
	e.Text = b.text.From(b.told)
	b.told = b.text.Len()
	return e.Text == "" || yield(e, nil)
}

// end yields the rest of what was said and the whole reply, or says what kept
// the model from one.
func (r *reply) end(t llm.Target, yield func(llm.Event, error) bool) error {
	for _, b := range r.blocks {
		b.text.Flush()
	}
	r.told = 0
	if !r.tell(yield) {
		return provider.ErrLeft
	}
	whole := r.whole(t)
	if e := r.failure(&whole); e != nil {
		return e
	}
	if !yield(llm.Event{Type: llm.EventDone, Reply: &whole}, nil) {
		return provider.ErrLeft
	}
	return nil
}

// whole is the whole reply.
func (r *reply) whole(t llm.Target) llm.Reply {
	out := llm.Reply{Target: t, Model: wire.Valid(r.model), ID: wire.Valid(r.id), Finish: r.finish(), Usage: r.usage.sum()}
	out.Message.Role = llm.Assistant
	for i, b := range r.blocks {
		last := out.Finish == llm.FinishLength && i == len(r.blocks)-1
		out.Message.Parts = append(out.Message.Parts, b.part(last))
	}
	return out
}

// part is b as a part of a message. last says that the output limit ended the
// reply in it.
func (b *block) part(last bool) llm.Part {
	p := llm.Part{Kind: b.kind, Text: b.text.String(), Media: b.media}
	p.Opaque = kept{id: wire.Valid(b.id), signature: wire.Valid(b.signature)}.opaque()
	if b.kind == llm.KindCall {
		args := unquoted(b.args)
		cut := wire.Truncated(args, last)
		if args == "" && !cut {
			args = "{}" // a tool without parameters
		}
		p.Call = &llm.ToolCall{ID: wire.Valid(b.id), Name: wire.Valid(b.name), Arguments: wire.Valid(args), Cut: cut}
	}
	return p
}

// unquoted is the text of arguments: the API has an object, others its text in a
// string, or null.
func unquoted(args string) string {
	switch {
	case args == "null":
		return ""
	case strings.HasPrefix(args, `"`):
		var scratch []byte
		if text, ok := wire.NewScan([]byte(args)).Text(&scratch); ok {
			return string(text)
		}
	}
	return args
}

// Reasons for an end that the SDK doesn't have yet.
const (
	stopResponse genai.FinishReason = "MALFORMED_RESPONSE"
	stopUnsigned genai.FinishReason = "MISSING_THOUGHT_SIGNATURE"
)

// withheld are the reasons by which the server keeps content back.
var withheld = map[genai.FinishReason]bool{
	genai.FinishReasonSafety: true, genai.FinishReasonRecitation: true, genai.FinishReasonLanguage: true, genai.FinishReasonOther: true,
	genai.FinishReasonBlocklist: true, genai.FinishReasonProhibitedContent: true, genai.FinishReasonSPII: true,
	genai.FinishReasonImageSafety: true, genai.FinishReasonImageProhibitedContent: true, genai.FinishReasonImageRecitation: true,
	genai.FinishReasonImageOther: true, genai.FinishReasonNoImage: true,
	genai.FinishReason(genai.BlockedReasonModelArmor): true, genai.FinishReason(genai.BlockedReasonJailbreak): true,
}

// finish is the server's reason in our words. Calls are run whatever the server
// calls the end, unless it was a limit or a refusal.
func (r *reply) finish() llm.Finish {
	switch {
	case r.stop == genai.FinishReasonMaxTokens, r.stop == genai.FinishReasonContinuation: // the second: more could be asked for
		return llm.FinishLength
	case withheld[r.stop], r.blocked != "", provider.Withheld(string(r.stop)):
		return llm.FinishFilter
	case r.calls > 0:
		return llm.FinishCalls
	}
	return llm.FinishStop
}

// failure is why there is no reply although the server has ended one: the model
// wrote a call that can't be read, or the server keeps everything back. nil when
// there is a reply. It is asked once more, and then another model.
func (r *reply) failure(whole *llm.Reply) error {
	said := strings.TrimSpace(whole.Message.Text()) != ""
	message, code := "", string(r.stop)
	switch {
	case r.stop == genai.FinishReasonMalformedFunctionCall, r.stop == stopResponse:
		message = "the model wrote a call that can't be read"
	case r.stop == genai.FinishReasonUnexpectedToolCall && !said:
		message = "the model called a tool where it may not"
	case r.stop == genai.FinishReasonTooManyToolCalls && !said:
		message = "the model called too many tools in a row"
	case r.stop == stopUnsigned && !said:
		message = "the server misses a thought signature"
	case said || r.calls > 0:
		return nil
	case r.blocked != "":
		message, code = "Google's filter refused the request", string(r.blocked)
	case withheld[r.stop]:
		message = "Google's filter withheld the answer"
	default:
		return nil
	}
	message += " (" + code
	if r.why != "" {
		message += ": " + r.why
	}
	return &noReply{code: code, message: message + ")"}
}

// noReply is an answer that ended well and is none.
type noReply struct{ code, message string }

func (n *noReply) Error() string { return n.message }

// Failure implements [provider.Fault].
func (n *noReply) Failure(secrets ...string) *llm.Error {
	return &llm.Error{Class: llm.ClassEmpty, Code: n.code, Message: provider.Clean(n.message, secrets...)}
}
