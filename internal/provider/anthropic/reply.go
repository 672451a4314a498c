package anthropic

import (
	"bytes"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// reply puts a streamed answer together. Each piece names the block that it
// belongs to by its index; a piece for a block that never began begins it, and
// pieces of kinds that nobody asked for are passed over.
type reply struct {
	blocks []*block
	calls  int    // how many of them are calls
	stop   string // the server's reason; "" before it is known
	usage  usage
	id     string
	model  string

	told    usage
	ended   bool // the end mark came
	hurried bool
	size    int
	changed *block // what the last piece began or lengthened
	scratch []byte
}

// block is one block of a reply.
type block struct {
	index  int64
	kind   string
	closed bool
	text   wire.Text // what is said or thought, or the arguments of a call
	told   int       // how much of it was given out

	signature []byte // of thinking
	data      []byte // of thinking that the server hides

	call     int // its place among the calls
	id, name string
	input    []byte // the arguments that came when it began
}

// The kinds of blocks.
const (
	kindText     = "text"
	kindThinking = "thinking"
	kindRedacted = "redacted_thinking"
	kindCall     = "tool_use"
)

// usage counts as the server does: input is what was neither read from nor
// written to its cache.
type usage struct{ input, read, written, output, thinking int64 }

// event is the members that any of the kinds of events has, as they stand.
type event struct {
	kind  string
	index int64
	// Raw values.
	message, content, delta, usage, failure []byte
}

// event takes in the data of one event, or a whole message. A failure that the
// server reports in it is returned as *fault.
func (r *reply) event(data []byte) error {
	r.changed = nil
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		return nil // some servers keep the line awake with words
	}
	e, ok := r.members(data)
	switch {
	case !ok:
		return provider.ErrMalformed
	case len(e.failure) > 0 && string(e.failure) != "null":
		return readFault(data)
	case e.kind == "message":
		r.message(data)
		r.ended = true
	default:
		r.take(&e)
	}
	if r.size > provider.MaxReply {
		return provider.ErrHuge
	}
	return nil
}

func (r *reply) members(data []byte) (e event, ok bool) {
	s := wire.NewScan(data)
	s.Open('{')
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "type":
			b, _ := s.Text(&r.scratch)
			e.kind = string(b)
		case "index":
			e.index, _ = s.Integer()
		case "message":
			e.message = s.Raw()
		case "content_block":
			e.content = s.Raw()
		case "delta":
			e.delta = s.Raw()
		case "usage":
			e.usage = s.Raw()
		case "error":
			e.failure = s.Raw()
		default:
			s.Skip()
		}
	}
	return e, s.End()
}

// take takes in what a stream tells.
func (r *reply) take(e *event) {
	switch e.kind {
	case "message_start":
		r.message(e.message)
	case "content_block_start":
		r.begin(e.index, e.content)
	case "content_block_delta":
		r.delta(e.index, e.delta)
	case "content_block_stop":
		if b := r.find(e.index); b != nil {
			b.closed = true
		}
	case "message_delta":
		r.message(e.delta)
		r.usage.count(e.usage)
	case "message_stop":
		r.ended = true
	}
}

// message reads a whole message, the beginning of one, or what is known of it
// at its end.
func (r *reply) message(raw []byte) {
	s := wire.NewScan(raw)
	if !s.Open('{') {
		return
	}
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "id":
			r.once(&r.id, s)
		case "model":
			r.once(&r.model, s)
		case "stop_reason":
			if b, ok := s.Text(&r.scratch); ok && len(b) > 0 {
				r.stop = string(b)
			}
		case "usage":
			r.usage.count(s.Raw())
		case "content":
			r.contents(s)
		default:
			s.Skip()
		}
	}
}

// once keeps the first value that is not empty.
func (r *reply) once(to *string, s *wire.Scan) {
	if b, ok := s.Text(&r.scratch); ok && *to == "" {
		*to = string(b)
	}
}

func (r *reply) contents(s *wire.Scan) {
	if !s.Open('[') {
		return
	}
	for first := true; s.More(']', &first); {
		index := int64(len(r.blocks))
		r.begin(index, s.Raw())
		if r.size > provider.MaxReply {
			return // which is told behind the piece
		}
		if b := r.find(index); b != nil {
			b.closed = true
		}
	}
}

// find is the block of an index, the latest of several.
func (r *reply) find(index int64) *block {
	for i := len(r.blocks) - 1; i >= 0; i-- {
		if r.blocks[i].index == index {
			return r.blocks[i]
		}
	}
	return nil
}

// begin reads the beginning of a block, which may be all of it.
func (r *reply) begin(index int64, raw []byte) {
	b := &block{index: index}
	s := wire.NewScan(raw)
	if !s.Open('{') {
		return
	}
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "type":
			kind, _ := s.Text(&r.scratch)
			b.kind = string(kind)
		case "text", "thinking":
			if piece, ok := s.Text(&r.scratch); ok {
				b.text.Add(piece)
			}
		case "signature":
			b.signature = r.copied(s)
		case "data":
			b.data = r.copied(s)
		case "id":
			b.id = string(r.copied(s))
		case "name":
			b.name = strings.TrimSpace(string(r.copied(s)))
		case "input":
			b.input = bytes.TrimSpace(bytes.Clone(s.Raw()))
		default:
			s.Skip()
		}
	}
	if known := r.find(index); !s.OK() || known != nil && !known.closed && known.kind == b.kind && known.id == b.id {
		return // said twice
	}
	r.size += len(raw)
	r.add(b)
}

func (r *reply) copied(s *wire.Scan) []byte {
	b, _ := s.Text(&r.scratch)
	return bytes.Clone(b)
}

func (r *reply) add(b *block) {
	if b.kind == kindCall {
		b.call = r.calls
		r.calls++
	}
	r.blocks = append(r.blocks, b)
	r.size += provider.PartSize
	r.changed = b
}

// delta reads a piece of a block.
func (r *reply) delta(index int64, raw []byte) {
	s := wire.NewScan(raw)
	if !s.Open('{') {
		return
	}
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "text":
			r.piece(index, kindText, s)
		case "thinking":
			r.piece(index, kindThinking, s)
		case "partial_json":
			r.piece(index, kindCall, s)
		case "signature":
			if b, ok := s.Text(&r.scratch); ok {
				if to := r.find(index); to != nil {
					to.signature = append(to.signature, b...)
				}
				r.size += len(b)
			}
		default:
			s.Skip()
		}
	}
}

// piece adds a string to the block of an index, if that is of the piece's kind.
func (r *reply) piece(index int64, kind string, s *wire.Scan) {
	text, ok := s.Text(&r.scratch)
	if !ok || len(text) == 0 {
		return
	}
	b := r.find(index)
	if b == nil && kind != kindCall { // without a name it would be no call
		b = &block{index: index, kind: kind}
		r.add(b)
	}
	if b == nil || b.kind != kind {
		return
	}
	b.text.Add(text)
	r.size += len(text)
	r.changed = b
}

// sum is u as everybody else counts.
func (u usage) sum() llm.Usage {
	return llm.Usage{
		Input: u.input + u.read + u.written, Cached: u.read, CacheWrite: u.written, Output: u.output, Reasoning: u.thinking,
	}
}

// count takes over what a server counted. Its counts grow, and a later one may
// leave out what has not changed.
func (u *usage) count(raw []byte) {
	s := wire.NewScan(raw)
	if !s.Open('{') {
		return
	}
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "input_tokens":
			grow(&u.input, s)
		case "cache_read_input_tokens":
			grow(&u.read, s)
		case "cache_creation_input_tokens":
			grow(&u.written, s)
		case "output_tokens":
			grow(&u.output, s)
		case "output_tokens_details":
			u.details(s)
		default:
			s.Skip()
		}
	}
}

func (u *usage) details(s *wire.Scan) {
	if !s.Open('{') {
		return
	}
	for first := true; s.More('}', &first); {
		if string(s.Key()) == "thinking_tokens" {
			grow(&u.thinking, s)
		} else {
			s.Skip()
		}
	}
}

func grow(to *int64, s *wire.Scan) {
	if n, ok := s.Integer(); ok {
		*to = max(*to, n)
	}
}

// tell yields what the last piece brought and reports whether the consumer
// stays.
func (r *reply) tell(yield func(llm.Event, error) bool) bool {
	if r.usage != r.told {
		r.told = r.usage
		u := r.usage.sum()
		if !yield(llm.Event{Type: llm.EventUsage, Usage: &u}, nil) {
			return false
		}
	}
	b := r.changed
	if b == nil {
		return true
	}
	r.changed = nil
	if b.kind == kindCall {
		return yield(llm.Event{Type: llm.EventCall, Text: b.name, Index: b.call}, nil)
	}
	return b.tell(yield)
}

// tell yields what is said or thought in b and was not told before.
func (b *block) tell(yield func(llm.Event, error) bool) bool {
	e := llm.Event{Type: llm.EventText, Text: b.text.From(b.told)}
	switch {
	case b.kind == kindThinking:
		e.Type = llm.EventReasoning
	case b.kind != kindText:
		return true
	}
	b.told = b.text.Len()
	return e.Text == "" || yield(e, nil)
}

// end yields the rest of what was said and the whole reply.
func (r *reply) end(t llm.Target, yield func(llm.Event, error) bool) bool {
	for _, b := range r.blocks {
		b.text.Flush()
		if !b.tell(yield) {
			return false
		}
	}
	whole := r.done(t)
	return yield(llm.Event{Type: llm.EventDone, Reply: &whole}, nil)
}

// done is the whole reply.
func (r *reply) done(target llm.Target) llm.Reply {
	out := llm.Reply{Target: target, Model: wire.Valid(r.model), ID: wire.Valid(r.id), Finish: r.reason(), Usage: r.usage.sum()}
	out.Message.Role = llm.Assistant
	for i, b := range r.blocks {
		last := out.Finish == llm.FinishLength && i == len(r.blocks)-1
		if p, ok := b.part(last); ok {
			out.Message.Parts = append(out.Message.Parts, p)
		}
	}
	return out
}

// part is b as a part of a message, if there is anything in it. last says that
// the output limit ended the reply in it.
func (b *block) part(last bool) (llm.Part, bool) {
	text := b.text.String()
	switch b.kind {
	case kindText:
		return llm.Text(text), text != ""
	case kindThinking:
		p := llm.Part{Kind: llm.KindReasoning, Text: text}
		if len(b.signature) > 0 {
			p.Opaque = thought{Type: kindThinking, Thinking: text, Signature: wire.Valid(string(b.signature))}.opaque()
		}
		return p, text != "" || p.Opaque != nil
	case kindRedacted:
		if len(b.data) == 0 {
			return llm.Part{}, false
		}
		return llm.Part{Kind: llm.KindReasoning, Opaque: thought{Type: kindRedacted, Data: wire.Valid(string(b.data))}.opaque()}, true
	case kindCall:
		if text == "" && len(b.input) > len("{}") { // an empty object only says that pieces follow
			text = string(b.input)
		}
		cut := wire.Truncated(text, last)
		if text == "" && !cut {
			text = "{}" // a tool without parameters
		}
		return llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{ID: wire.Valid(b.id), Name: wire.Valid(b.name), Arguments: wire.Valid(text), Cut: cut}}, true
	}
	return llm.Part{}, false
}

// reason is the server's stop reason in our words. Calls are run whatever the
// server calls the end, unless it was a limit or a refusal.
func (r *reply) reason() llm.Finish {
	switch r.stop {
	case "max_tokens", "model_context_window_exceeded":
		return llm.FinishLength
	}
	if provider.Withheld(r.stop) { // "refusal"
		return llm.FinishFilter
	}
	if r.calls > 0 {
		return llm.FinishCalls
	}
	return llm.FinishStop
}
