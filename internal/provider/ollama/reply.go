package ollama

import (
	"bytes"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// vendor marks opaque data as ours.
const vendor = "ollama"

// reply puts a streamed answer together, line by line. A call comes whole, in
// any line, and the index of each is its place in that line at best.
type reply struct {
	content   wire.Text
	thinking  wire.Text
	thoughts  wire.Thoughts // in the content
	calls     []*llm.ToolCall
	stop      string
	usage     llm.Usage
	model     string
	ended     bool
	ours      bool // something came that only an answer of this wire has
	lines     int
	first     []byte // the beginning of the first line
	size      int
	scratch   []byte
	fields    [2][]byte // id and name of the call being read, when they had escapes
	arguments []byte    // the same

	toldText, toldThinking, toldCalls int // how much of each was given out
}

// line takes in one line. A failure that the server reports in it is returned
// as *fault.
func (r *reply) line(data []byte) error {
	r.lines++
	if r.lines == 1 {
		r.first = bytes.Clone(data[:min(len(data), 4096)])
	}
	s := wire.NewScan(data)
	if s.Peek() != '{' {
		return provider.ErrMalformed
	}
	failed := false
	s.Open('{')
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "message":
			r.message(s)
		case "done":
			r.ours = true
			r.ended = string(s.Raw()) == "true" || r.ended
		case "done_reason":
			r.text(s, &r.stop)
		case "model":
			r.text(s, &r.model)
		case "prompt_eval_count":
			r.count(s, &r.usage.Input)
		case "eval_count":
			r.count(s, &r.usage.Output)
		case "error":
			raw := s.Raw()
			failed = failed || len(raw) > 0 && string(raw) != "null" && string(raw) != `""`
		default:
			s.Skip()
		}
	}
	switch {
	case !s.End():
		return provider.ErrMalformed
	case failed:
		return readFault(data)
	case r.size > provider.MaxReply:
		return provider.ErrHuge
	}
	return nil
}

// text keeps a string that is not empty.
func (r *reply) text(s *wire.Scan, to *string) {
	if b, ok := s.Text(&r.scratch); ok && len(b) > 0 && string(b) != *to {
		*to = string(b)
	}
}

// count keeps a number of tokens.
func (r *reply) count(s *wire.Scan, to *int64) {
	if n, ok := s.Integer(); ok && n >= 0 {
		*to = n
	}
}

func (r *reply) message(s *wire.Scan) {
	if !s.Open('{') {
		return
	}
	r.ours = true
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "content":
			if b, ok := s.Text(&r.scratch); ok {
				r.size += len(b)
				r.thoughts.Add(b, &r.thinking, &r.content)
			}
		case "thinking":
			if b, ok := s.Text(&r.scratch); ok {
				r.size += len(b)
				r.thinking.Add(b)
			}
		case "tool_calls":
			r.toolCalls(s)
		default:
			s.Skip()
		}
	}
}

func (r *reply) toolCalls(s *wire.Scan) {
	if !s.Open('[') {
		return
	}
	for first := true; s.More(']', &first); {
		if s.Open('{') {
			r.toolCall(s)
		}
	}
}

// toolCall reads one call. One without a function is none.
func (r *reply) toolCall(s *wire.Scan) {
	var id, name, arguments []byte
	called := false
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "id":
			id, _ = s.Text(&r.fields[0])
		case "function":
			if !s.Open('{') {
				continue
			}
			called = true
			for first := true; s.More('}', &first); {
				switch string(s.Key()) {
				case "name":
					name, _ = s.Text(&r.fields[1])
				case "arguments":
					arguments = r.args(s)
				default:
					s.Skip()
				}
			}
		default:
			s.Skip()
		}
	}
	if !called || !s.OK() {
		return
	}
	r.size += provider.PartSize + len(id) + len(name) + len(arguments)
	c := &llm.ToolCall{ID: wire.Valid(string(id)), Name: wire.Valid(string(bytes.TrimSpace(name))), Arguments: wire.Valid(string(arguments))}
	if c.Arguments == "" {
		c.Arguments = "{}" // a tool without parameters
	}
	c.Cut = wire.Truncated(c.Arguments, false)
	r.calls = append(r.calls, c)
}

// args reads the arguments, an object as it stands. Servers that send a string
// mean what is in it.
func (r *reply) args(s *wire.Scan) []byte {
	switch s.Peek() {
	case '"':
		b, _ := s.Text(&r.arguments)
		return b
	case 'n':
		s.Skip()
		return nil
	}
	return s.Raw()
}

// tell yields what the last line brought and reports whether the consumer
// stays.
func (r *reply) tell(yield func(llm.Event, error) bool) bool {
	if t := r.thinking.From(r.toldThinking); t != "" {
		r.toldThinking += len(t)
		if !yield(llm.Event{Type: llm.EventReasoning, Text: t}, nil) {
			return false
		}
	}
	if t := r.content.From(r.toldText); t != "" {
		r.toldText += len(t)
		if !yield(llm.Event{Type: llm.EventText, Text: t}, nil) {
			return false
		}
	}
	for ; r.toldCalls < len(r.calls); r.toldCalls++ {
		if !yield(llm.Event{Type: llm.EventCall, Text: r.calls[r.toldCalls].Name, Index: r.toldCalls}, nil) {
			return false
		}
	}
	return true
}

// end yields the rest of what was said and the whole reply.
func (r *reply) end(t llm.Target, yield func(llm.Event, error) bool) bool {
	r.thoughts.Flush(&r.thinking, &r.content)
	r.content.Flush()
	r.thinking.Flush()
	if !r.tell(yield) {
		return false
	}
	whole := r.done(t)
	return yield(llm.Event{Type: llm.EventDone, Reply: &whole}, nil)
}

// done is the whole reply.
func (r *reply) done(target llm.Target) llm.Reply {
	out := llm.Reply{Target: target, Model: wire.Valid(r.model), Usage: r.usage, Finish: r.reason()}
	out.Message.Role = llm.Assistant
	if t := r.thinking.String(); t != "" {
		out.Message.Parts = append(out.Message.Parts, thought(t))
	}
	if t := r.content.String(); t != "" {
		out.Message.Parts = append(out.Message.Parts, llm.Text(t))
	}
	for _, c := range r.calls {
		out.Message.Parts = append(out.Message.Parts, llm.Part{Kind: llm.KindCall, Call: c})
	}
	return out
}

// thought is what a model thought. The mark tells it from the reasoning of
// other vendors, which doesn't go back to this one.
func thought(text string) llm.Part {
	return llm.Part{Kind: llm.KindReasoning, Text: text, Opaque: &llm.Opaque{Vendor: vendor, Data: []byte("{}")}}
}

// reason is the server's reason in our words. Calls come whole or not at all,
// so that those of a reply which the limit ended are run.
func (r *reply) reason() llm.Finish {
	switch {
	case r.stop == "length":
		return llm.FinishLength
	case provider.Withheld(r.stop):
		return llm.FinishFilter
	case len(r.calls) > 0:
		return llm.FinishCalls
	}
	return llm.FinishStop
}
