package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
)

// maxReply bounds what one reply may hold in all.
const maxReply = 64 << 20

var (
	errMalformed = errors.New("a piece of the answer is not valid JSON")
	errHuge      = fmt.Errorf("the answer has more than %d MiB", maxReply>>20)
)

// reply puts a streamed answer together. Servers that call themselves
// compatible differ in how they cut calls into deltas; [reply.call] has the
// rules by which a delta finds the call to which it belongs.
type reply struct {
	content   text
	reasoning text
	calls     []*call
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
}

// call is one tool call of a reply.
type call struct {
	index   int64 // the server's; calls without one have none
	indexed bool
	chunk   int // the piece that began it
	id      string
	name    string
	args    text
	end     closing
}

// delta is what one piece says of one call.
type delta struct {
	index          int64
	indexed        bool
	id, name, args []byte
}

// chunk takes in one piece: a chat.completion.chunk, or a whole
// chat.completion, and nothing behind it. A failure that the server reports in
// it is returned as *fault.
func (r *reply) chunk(data []byte) error {
	rest, err := r.piece(data)
	if err == nil && len(rest) > 0 {
		err = errMalformed
	}
	return err
}

// piece is chunk for the first of several pieces and returns those behind it.
func (r *reply) piece(data []byte) (rest []byte, err error) {
	r.chunks++
	r.grown = r.grown[:0]
	s := &scan{b: data}
	var failure []byte
	var code int64
	whole := false
	if !s.open('{') {
		return nil, errMalformed
	}
	for first := true; s.more('}', &first); {
		switch string(s.key()) {
		case "choices":
			r.readChoices(s)
		case "usage":
			r.readUsage(s)
		case "error":
			failure = s.raw()
		case "object", "type":
			// vLLM reports failures as {"object":"error","message":…}.
			if b, ok := s.text(&r.scratch); ok && string(b) == "error" {
				whole = true
			}
		case "code", "status":
			code, _ = s.integer()
		case "id":
			r.once(&r.id, s)
		case "model":
			r.once(&r.model, s)
		default:
			s.skip()
		}
	}
	if !s.ok() {
		return nil, errMalformed
	}
	if whole && failure == nil {
		failure = data[:s.i]
	}
	if failure != nil && string(failure) != "null" {
		return nil, readFault(failure, int(code))
	}
	if r.size > maxReply {
		return nil, errHuge
	}
	s.peek()
	return data[s.i:], nil
}

// once keeps the first value that is not empty.
func (r *reply) once(to *string, s *scan) {
	if b, ok := s.text(&r.scratch); ok && *to == "" {
		*to = string(b)
	}
}

// readChoices reads the first choice; others were not asked for.
func (r *reply) readChoices(s *scan) {
	if !s.open('[') {
		return
	}
	for first := true; s.more(']', &first); {
		if s.peek() != '{' {
			s.skip()
			continue
		}
		if r.otherChoice(s) {
			s.skip()
			continue
		}
		r.choice(s)
	}
}

// otherChoice looks ahead whether the choice at hand has an index but 0.
func (r *reply) otherChoice(s *scan) bool {
	ahead := *s
	if !ahead.open('{') {
		return false
	}
	for first := true; ahead.more('}', &first); {
		if string(ahead.key()) != "index" {
			ahead.skip()
			continue
		}
		n, ok := ahead.integer()
		return ok && n != 0
	}
	return false
}

func (r *reply) choice(s *scan) {
	r.choices++
	s.open('{')
	for first := true; s.more('}', &first); {
		switch string(s.key()) {
		case "delta":
			r.message(s)
		case "message":
			// A server that ignores stream: true sends a whole message; one
			// that repeats it at the end of a stream sends nothing new.
			if r.empty() {
				r.message(s)
			} else {
				s.skip()
			}
		case "finish_reason":
			if b, ok := s.text(&r.scratch); ok && len(b) > 0 {
				r.finish = string(b)
			}
		default:
			s.skip()
		}
	}
}

func (r *reply) empty() bool {
	return r.content.len() == 0 && r.reasoning.len() == 0 && len(r.calls) == 0
}

func (r *reply) message(s *scan) {
	if !s.open('{') {
		return
	}
	reasoned := false
	for first := true; s.more('}', &first); {
		switch string(s.key()) {
		case "content", "refusal":
			r.words(s, &r.content)
		case "reasoning_content", "reasoning":
			// Some servers send both names with the same text.
			if reasoned {
				s.skip()
				continue
			}
			before := r.reasoning.len()
			r.words(s, &r.reasoning)
			reasoned = r.reasoning.len() > before
		case "tool_calls":
			r.toolCalls(s)
		case "function_call":
			var d delta
			if r.function(s, &d) {
				r.call(d)
			}
		default:
			s.skip()
		}
	}
}

// words reads text: a string, or a list of parts of which those with text
// count.
func (r *reply) words(s *scan, to *text) {
	if s.peek() != '[' {
		if b, ok := s.text(&r.scratch); ok {
			r.size += len(b)
			to.add(b)
		}
		return
	}
	s.open('[')
	for first := true; s.more(']', &first); {
		if s.peek() == '"' {
			r.words(s, to)
			continue
		}
		if !s.open('{') {
			continue
		}
		for first := true; s.more('}', &first); {
			switch string(s.key()) {
			case "text", "refusal":
				if s.peek() == '"' {
					r.words(s, to)
					continue
				}
				s.skip()
			default:
				s.skip()
			}
		}
	}
}

func (r *reply) toolCalls(s *scan) {
	if s.peek() == '{' { // one call without the list around it
		r.toolCall(s)
		return
	}
	if !s.open('[') {
		return
	}
	for first := true; s.more(']', &first); {
		r.toolCall(s)
	}
}

func (r *reply) toolCall(s *scan) {
	if !s.open('{') {
		return
	}
	var d delta
	for first := true; s.more('}', &first); {
		switch string(s.key()) {
		case "index":
			d.index, d.indexed = s.integer()
		case "id":
			d.id, _ = s.text(&r.fields[0])
		case "function":
			r.function(s, &d)
		case "name":
			d.name, _ = s.text(&r.fields[1])
		case "arguments":
			r.arguments(s, &d)
		default:
			s.skip()
		}
	}
	if s.ok() {
		r.call(d)
	}
}

// function reads the name and the arguments of a call and reports whether
// there was such an object.
func (r *reply) function(s *scan, d *delta) bool {
	if !s.open('{') {
		return false
	}
	for first := true; s.more('}', &first); {
		switch string(s.key()) {
		case "name":
			d.name, _ = s.text(&r.fields[1])
		case "arguments":
			r.arguments(s, d)
		default:
			s.skip()
		}
	}
	return s.ok()
}

// arguments reads a string; servers that send the object itself mean its text.
func (r *reply) arguments(s *scan, d *delta) {
	switch s.peek() {
	case '"':
		d.args, _ = s.text(&r.fields[2])
	case '{', '[':
		d.args = s.raw()
	default:
		s.skip()
	}
}

// call gives d to the call to which it belongs, or begins one.
func (r *reply) call(d delta) {
	d.name = bytes.TrimSpace(d.name)
	if len(d.id) == 0 && len(d.name) == 0 && len(d.args) == 0 {
		return
	}
	at := r.find(d)
	if at < 0 || r.begins(r.calls[at], d) {
		at = len(r.calls)
		r.calls = append(r.calls, &call{index: d.index, indexed: d.indexed, chunk: r.chunks})
	}
	r.size += len(d.id) + len(d.name) + len(d.args)
	r.calls[at].add(d)
	r.grown = append(r.grown, at)
}

// find is the position of the call that d goes on, -1 when it begins one.
func (r *reply) find(d delta) int {
	last := len(r.calls) - 1
	switch {
	case d.indexed:
		for i := last; i >= 0; i-- {
			if r.calls[i].indexed && r.calls[i].index == d.index {
				return i
			}
		}
		if last < 0 || r.calls[last].indexed || len(d.name) > 0 {
			return -1
		}
	case len(d.id) > 0:
		for i := last; i >= 0; i-- {
			if r.calls[i].id == string(d.id) {
				return i
			}
		}
		if len(d.name) > 0 {
			return -1
		}
	}
	// Neither index nor a known id: it is the last call's, unless it brings
	// what begins another.
	return last
}

// begins reports whether d is a call of its own although c is where its index,
// its id or its place would put it. Nothing that names no tool is.
func (r *reply) begins(c *call, d delta) bool {
	if len(d.name) == 0 || c.name == "" {
		return false
	}
	otherID := len(d.id) > 0 && c.id != "" && c.id != string(d.id)
	otherName := !grows(c.name, d.name)
	named := d.indexed || len(d.id) > 0
	switch {
	case c.end.done && otherID && (len(d.args) > 0 || otherName):
		// One index for all parallel calls, as some gateways send.
		return true
	case c.end.done && len(d.args) > 0 && (!named || c.args.String() != string(d.args)):
		// c has all its arguments: more of them would break it. The same ones
		// again are a repetition.
		return true
	case !named && (otherName || c.chunk == r.chunks):
		// Nothing tells the calls apart but their names and places.
		return true
	}
	return otherID && otherName
}

// grows reports whether name repeats or lengthens have, or is the next piece
// of it: a name that is no repetition is a piece only while no arguments came.
func grows(have string, name []byte) bool { return strings.HasPrefix(string(name), have) }

func (c *call) add(d delta) {
	if c.id == "" {
		c.id = string(d.id)
	}
	if len(d.name) > 0 && c.args.len() == 0 && len(c.args.carry) == 0 {
		if grows(c.name, d.name) {
			c.name = string(d.name)
		} else {
			c.name += string(d.name)
		}
	}
	if len(d.args) == 0 || c.end.done && c.args.String() == string(d.args) {
		return
	}
	if c.end.done && strings.TrimSpace(c.args.String()) == "{}" && bytes.HasPrefix(bytes.TrimLeft(d.args, space), []byte("{")) {
		// Some gateways begin every call with an empty object and send the
		// real one behind it.
		c.args, c.end = text{}, closing{}
	}
	c.args.add(d.args)
	c.end.read(d.args)
}

// closing notices when a value has been closed, piece by piece: the object of
// arguments, or the string of arguments that were encoded twice.
type closing struct {
	depth           int
	quoted, escaped bool
	done            bool
}

func (c *closing) read(piece []byte) {
	for _, b := range piece {
		switch {
		case c.escaped:
			c.escaped = false
		case c.quoted:
			c.escaped = b == '\\'
			c.quoted = b != '"'
			c.done = !c.quoted && c.depth == 0
		case b == '"':
			c.quoted = true
		case b == '{' || b == '[':
			c.depth++
			c.done = false
		case b == '}' || b == ']':
			c.depth--
			c.done = c.depth == 0
		}
	}
}

func (r *reply) readUsage(s *scan) {
	if !s.open('{') {
		return
	}
	var u llm.Usage
	for first := true; s.more('}', &first); {
		switch string(s.key()) {
		case "prompt_tokens":
			u.Input, _ = s.integer()
		case "completion_tokens":
			u.Output, _ = s.integer()
		case "prompt_cache_hit_tokens": // DeepSeek's name
			u.Cached, _ = s.integer()
		case "prompt_tokens_details", "completion_tokens_details":
			details(s, &u)
		default:
			s.skip()
		}
	}
	r.usage = u
}

func details(s *scan, u *llm.Usage) {
	if !s.open('{') {
		return
	}
	for first := true; s.more('}', &first); {
		switch string(s.key()) {
		case "cached_tokens":
			u.Cached, _ = s.integer()
		case "cache_write_tokens":
			u.CacheWrite, _ = s.integer()
		case "reasoning_tokens":
			u.Reasoning, _ = s.integer()
		default:
			s.skip()
		}
	}
}

// done is the whole reply.
func (r *reply) done(target llm.Target) llm.Reply {
	r.content.flush()
	r.reasoning.flush()
	out := llm.Reply{Target: target, Model: valid(r.model), ID: valid(r.id), Usage: r.usage, Finish: r.reason()}
	if t := r.reasoning.String(); t != "" {
		out.Message.Parts = append(out.Message.Parts, llm.Part{Kind: llm.KindReasoning, Text: t})
	}
	if t := r.content.String(); t != "" {
		out.Message.Parts = append(out.Message.Parts, llm.Text(t))
	}
	for i, c := range r.calls {
		c.args.flush()
		tc := &llm.ToolCall{ID: valid(c.id), Name: valid(c.name), Arguments: c.args.String()}
		tc.Cut = c.cut(out.Finish == llm.FinishLength && i == len(r.calls)-1)
		out.Message.Parts = append(out.Message.Parts, llm.Part{Kind: llm.KindCall, Call: tc})
	}
	out.Message.Role = llm.Assistant
	return out
}

// valid is s as UTF-8, which is stored.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// cut reports whether the reply ended inside the arguments of c. last says
// that the output limit ended the reply and c is the last of its calls.
func (c *call) cut(last bool) bool {
	args := c.args.String()
	if strings.TrimSpace(args) == "" {
		return last
	}
	if c.end.done && !last {
		return false
	}
	var v json.RawMessage
	err := json.NewDecoder(strings.NewReader(args)).Decode(&v)
	return errors.Is(err, io.ErrUnexpectedEOF) || last && err != nil
}

// reason is the server's finish reason in our words. Calls are run whatever
// the server calls the end, unless it was a limit or a filter.
func (r *reply) reason() llm.Finish {
	switch strings.ToLower(r.finish) {
	case "length", "max_tokens", "model_length":
		return llm.FinishLength
	case "content_filter", "safety", "recitation", "prohibited_content", "blocklist":
		return llm.FinishFilter
	}
	if len(r.calls) > 0 {
		return llm.FinishCalls
	}
	return llm.FinishStop
}
