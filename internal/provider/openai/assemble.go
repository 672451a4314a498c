package openai

import (
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// reply puts a streamed answer together. Servers that call themselves
// compatible differ in how they cut calls into deltas; [reply.call] has the
// rules by which a delta finds the call to which it belongs.
type reply struct {
	vendor    string // marks opaque data as the server's
	content   wire.Text
	reasoning wire.Text
	thoughts  wire.Thoughts // in the content
	details   details
	calls     []*call
	images    []llm.Part
	finish    string
	usage     llm.Usage
	id, model string

	chunks  int // pieces read so far
	choices int // in all of them
	size    int
	grown   []int // the calls that the last chunk began or lengthened, by index
	scratch []byte
	fields  [3][]byte // id, name and arguments of the delta being read, when they had escapes

	toldText, toldReasoning int // how much of each was given out
	toldUsage               llm.Usage
}

// chunk takes in one piece: a chat.completion.chunk, or a whole
// chat.completion, and nothing behind it. A failure that the server reports in
// it is returned as *fault.
func (r *reply) chunk(data []byte) error {
	rest, err := r.piece(data)
	if err == nil && len(rest) > 0 {
		err = provider.ErrMalformed
	}
	return err
}

// piece is chunk for the first of several pieces and returns those behind it.
func (r *reply) piece(data []byte) (rest []byte, err error) {
	r.chunks++
	r.grown = r.grown[:0]
	s := wire.NewScan(data)
	var failure []byte
	var code int64
	whole := false
	if !s.Open('{') {
		return nil, provider.ErrMalformed
	}
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "choices":
			r.readChoices(s)
		case "usage":
			r.readUsage(s)
		case "x_groq":
			r.inner(s)
		case "error":
			failure = s.Raw()
		case "object", "type":
			// vLLM reports failures as {"object":"error","message":…}.
			if b, ok := s.Text(&r.scratch); ok && string(b) == "error" {
				whole = true
			}
		case "code", "status":
			code, _ = s.Integer()
		case "id":
			r.once(&r.id, s)
		case "model":
			r.once(&r.model, s)
		default:
			s.Skip()
		}
	}
	if !s.OK() {
		return nil, provider.ErrMalformed
	}
	if whole && failure == nil {
		failure = data[:s.Offset()]
	}
	if failure != nil && string(failure) != "null" {
		return nil, readFault(failure, int(code))
	}
	if r.size > provider.MaxReply {
		return nil, provider.ErrHuge
	}
	s.Peek()
	return data[s.Offset():], nil
}

// inner reads what Groq says in an object of its own: the usage, where it was
// not asked for it in the way of others.
func (r *reply) inner(s *wire.Scan) {
	if !s.Open('{') {
		return
	}
	for first := true; s.More('}', &first); {
		if string(s.Key()) == "usage" && r.usage == (llm.Usage{}) {
			r.readUsage(s)
			continue
		}
		s.Skip()
	}
}

// once keeps the first value that is not empty.
func (r *reply) once(to *string, s *wire.Scan) {
	if b, ok := s.Text(&r.scratch); ok && *to == "" {
		*to = string(b)
	}
}

// readChoices reads the first choice; others were not asked for.
func (r *reply) readChoices(s *wire.Scan) {
	if !s.Open('[') {
		return
	}
	for first := true; s.More(']', &first); {
		if s.Peek() != '{' {
			s.Skip()
			continue
		}
		if r.otherChoice(s) {
			s.Skip()
			continue
		}
		r.choice(s)
	}
}

// otherChoice looks ahead whether the choice at hand has an index but 0.
func (r *reply) otherChoice(s *wire.Scan) bool {
	ahead := *s
	if !ahead.Open('{') {
		return false
	}
	for first := true; ahead.More('}', &first); {
		if string(ahead.Key()) != "index" {
			ahead.Skip()
			continue
		}
		n, ok := ahead.Integer()
		return ok && n != 0
	}
	return false
}

func (r *reply) choice(s *wire.Scan) {
	r.choices++
	s.Open('{')
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "delta":
			r.message(s)
		case "message":
			// A server that ignores stream: true sends a whole message; one
			// that repeats it at the end of a stream sends nothing new.
			if r.empty() {
				r.message(s)
			} else {
				s.Skip()
			}
		case "usage": // Kimi's place for it
			r.readUsage(s)
		case "finish_reason":
			if b, ok := s.Text(&r.scratch); ok && len(b) > 0 {
				r.finish = string(b)
			}
		default:
			s.Skip()
		}
	}
}

func (r *reply) empty() bool {
	return r.content.Len() == 0 && r.thoughts.Empty() && r.reasoning.Len() == 0 && len(r.calls) == 0 && len(r.images) == 0
}

func (r *reply) message(s *wire.Scan) {
	if !s.Open('{') {
		return
	}
	reasoned := false
	var shown string // of the details
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "content", "refusal":
			r.words(s, &r.content)
		case "reasoning_content", "reasoning":
			// Some servers send both names with the same text.
			if reasoned {
				s.Skip()
				continue
			}
			before := r.reasoning.Len()
			r.words(s, &r.reasoning)
			reasoned = r.reasoning.Len() > before
		case "reasoning_details":
			raw := s.Raw()
			r.size += len(raw)
			shown = r.details.read(raw)
		case "images":
			r.readImages(s)
		case "tool_calls":
			r.toolCalls(s)
		case "function_call":
			var d delta
			if r.function(s, &d) {
				r.call(d)
			}
		default:
			s.Skip()
		}
	}
	if !reasoned && shown != "" {
		r.reasoning.Add([]byte(shown))
	}
}

// words reads text: a string, or a list of parts of which those with text
// count.
func (r *reply) words(s *wire.Scan, to *wire.Text) {
	if s.Peek() != '[' {
		if b, ok := s.Text(&r.scratch); ok {
			r.size += len(b)
			if to == &r.content {
				r.thoughts.Add(b, &r.reasoning, &r.content)
			} else {
				to.Add(b)
			}
		}
		return
	}
	s.Open('[')
	for first := true; s.More(']', &first); {
		if s.Peek() == '"' {
			r.words(s, to)
			continue
		}
		if !s.Open('{') {
			continue
		}
		for first := true; s.More('}', &first); {
			switch string(s.Key()) {
			case "text", "refusal":
				if s.Peek() == '"' {
					r.words(s, to)
					continue
				}
				s.Skip()
			case "thinking": // Mistral's, a list itself
				r.words(s, &r.reasoning)
			default:
				s.Skip()
			}
		}
	}
}

func (r *reply) readUsage(s *wire.Scan) {
	if !s.Open('{') {
		return
	}
	// What a later object leaves out still holds.
	u := llm.Usage{Cached: r.usage.Cached, CacheWrite: r.usage.CacheWrite, Reasoning: r.usage.Reasoning}
	var total int64
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "total_tokens":
			total, _ = s.Integer()
		case "prompt_tokens":
			u.Input, _ = s.Integer()
		case "completion_tokens":
			u.Output, _ = s.Integer()
		case "prompt_cache_hit_tokens", "cached_tokens": // DeepSeek's name, and Kimi's
			u.Cached, _ = s.Integer()
		case "prompt_tokens_details", "completion_tokens_details":
			usageDetails(s, &u)
		default:
			s.Skip()
		}
	}
	if u.Reasoning > 0 && total-u.Reasoning == u.Input+u.Output {
		// xAI counts the reasoning beside the completion, not within it.
		// https://docs.x.ai/docs/key-information/consumption-and-rate-limits
		u.Output += u.Reasoning
	}
	if u.Input+u.Output+total > 0 { // an empty object at the end takes nothing back
		r.usage = u
	}
}

func usageDetails(s *wire.Scan, u *llm.Usage) {
	if !s.Open('{') {
		return
	}
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "cached_tokens":
			u.Cached, _ = s.Integer()
		case "cache_write_tokens":
			u.CacheWrite, _ = s.Integer()
		case "reasoning_tokens":
			u.Reasoning, _ = s.Integer()
		default:
			s.Skip()
		}
	}
}

// done is the whole reply.
func (r *reply) done(target llm.Target) llm.Reply {
	r.thoughts.Flush(&r.reasoning, &r.content)
	r.content.Flush()
	r.reasoning.Flush()
	out := llm.Reply{Target: target, Model: wire.Valid(r.model), ID: wire.Valid(r.id), Usage: r.usage, Finish: r.reason()}
	if p := r.thought(); p.Text != "" || p.Opaque != nil {
		out.Message.Parts = append(out.Message.Parts, p)
	}
	if t := r.content.String(); t != "" {
		out.Message.Parts = append(out.Message.Parts, llm.Text(t))
	}
	out.Message.Parts = append(out.Message.Parts, r.images...)
	for i, c := range r.calls {
		c.args.Flush()
		tc := &llm.ToolCall{ID: wire.Valid(c.id), Name: wire.Valid(c.name), Arguments: c.args.String()}
		tc.Cut = c.cut(out.Finish == llm.FinishLength && i == len(r.calls)-1)
		out.Message.Parts = append(out.Message.Parts, llm.Part{Kind: llm.KindCall, Call: tc, Opaque: r.opaque(c.extra)})
	}
	out.Message.Role = llm.Assistant
	return out
}

// thought is what the model thought, with the server's mark: another one doesn't
// get it back as its own.
func (r *reply) thought() llm.Part {
	p := llm.Part{Kind: llm.KindReasoning, Text: r.reasoning.String(), Opaque: r.opaque(r.details.encode())}
	if p.Text != "" && p.Opaque == nil {
		p.Opaque = r.opaque([]byte("{}"))
	}
	return p
}

// cut reports whether the reply ended inside the arguments of c. last says
// that the output limit ended the reply and c is the last of its calls.
func (c *call) cut(last bool) bool {
	return (last || !c.end.done) && wire.Truncated(c.args.String(), last)
}

// broken is why an answer with this finish reason is none.
func (r *reply) broken() error {
	switch reason := strings.ToLower(r.finish); reason {
	case "", "error", "abort", "network_error":
		return provider.ErrDead
	case "insufficient_system_resource": // DeepSeek's
		return &fault{kind: reason, message: "the server ran out of resources while it answered"}
	}
	return nil
}

// reason is the server's finish reason in our words. Calls are run whatever
// the server calls the end, unless it was a limit or a filter.
func (r *reply) reason() llm.Finish {
	switch strings.ToLower(r.finish) {
	case "length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	case "content_filter", "safety", "recitation", "prohibited_content", "blocklist", "sensitive":
		return llm.FinishFilter
	}
	if provider.Withheld(r.finish) {
		return llm.FinishFilter
	}
	if len(r.calls) > 0 {
		return llm.FinishCalls
	}
	return llm.FinishStop
}
