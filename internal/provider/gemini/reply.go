package gemini

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// whose format an answer has to have.
const whose = "Gemini's"

// read yields the events of an answer.
func read(resp *http.Response, watch *provider.Watch, t llm.Target, yield func(llm.Event, error) bool) error {
	in, c, err := watch.Open(resp.Body)
	if err != nil {
		return err
	}
	r := &reply{}
	switch {
	case c == '{' || c == '[':
		return readWhole(in, t, yield)
	case c == '<' || !in.IsStream(resp.Header.Get("Content-Type")):
		return provider.ReadForeign(in, whose)
	}
	for !r.ended {
		data, err := in.Next()
		if err == nil {
			err = r.chunk(data)
		}
		switch {
		case err != nil && (r.stop != "" || r.blocked != ""):
			r.ended = true // what comes behind the reason is only of use for counting
		case errors.Is(err, io.EOF):
			// The API ends a stream that it can't go on with by an error in lines of
			// its own, outside the events.
			if f := readFault(in.Stray()); f.code != 0 {
				return f
			}
			return provider.ErrDead
		case err != nil:
			return err
		case !r.tell(yield):
			return provider.ErrLeft
		case (r.stop != "" || r.blocked != "") && !r.hurried:
			r.hurried = true
			watch.Hurry(provider.Grace)
		}
	}
	if err := r.end(t, yield); err != nil {
		return err
	}
	watch.Finish(resp.Body)
	return nil
}

// readWhole reads an answer that is no stream: one document, or the list of
// them that the API sends where events were not asked for.
func readWhole(in *wire.Events, t llm.Target, yield func(llm.Event, error) bool) error {
	body, err := in.Rest()
	if err != nil {
		return err
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(body), wire.ByteOrderMark))
	r := &reply{}
	s := wire.NewScan(body)
	if body[0] == '{' {
		err = r.chunk(s.Raw())
	} else {
		s.Open('[')
		for first := true; err == nil && s.More(']', &first); {
			err = r.chunk(s.Raw())
		}
	}
	switch {
	case err != nil:
		return err
	case !s.OK():
		return provider.ErrDead
	case !r.begun && r.blocked == "":
		return &provider.Foreign{Vendor: whose, Body: body}
	}
	return r.end(t, yield)
}

// reply puts a streamed answer together. Each chunk has parts of the answer as
// they come: text in pieces, which are joined, and everything else whole. A
// piece with a signature stays a part of its own, even one without text, since
// the signature has to go back on it.
type reply struct {
	blocks  []*block
	calls   int                 // how many of them are calls
	stop    genai.FinishReason  // "" before it is known
	why     string              // what the server says about it
	blocked genai.BlockedReason // why the server refused to answer at all
	usage   usage
	id      string
	model   string

	begun     bool // a candidate came
	ended     bool // a mark of the end came
	hurried   bool
	size      int
	told      int // before which block everything was told
	toldUsage usage
	scratch   []byte
	signed    []byte
}

// block is one part of a reply.
type block struct {
	kind      llm.Kind
	text      wire.Text
	told      int // how much of the text was given out; of a call 1 when it was
	signature string

	call     int // its place among the calls
	id, name string
	args     string
	media    *llm.Media
}

// usage counts as the server does: the output is without the thoughts.
type usage struct{ prompt, tools, cached, candidates, thoughts int64 }

var done = []byte("[DONE]")

// chunk takes in one piece of the answer, or all of it. A failure that the
// server reports in it is returned as *fault.
func (r *reply) chunk(data []byte) error {
	data = bytes.TrimSpace(data)
	if bytes.Equal(data, done) {
		r.ended = r.stop != "" || r.blocked != ""
		return nil
	}
	if len(data) == 0 || data[0] != '{' {
		return nil // some servers keep the line awake with words
	}
	if r.size += len(data); r.size > provider.MaxReply {
		return provider.ErrHuge
	}
	s := wire.NewScan(data)
	var candidates, failure []byte
	s.Open('{')
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "candidates":
			candidates = s.Raw()
		case "usageMetadata":
			r.usage.count(s)
		case "promptFeedback":
			r.feedback(s)
		case "modelVersion":
			r.once(&r.model, s)
		case "responseId":
			r.once(&r.id, s)
		case "error":
			failure = s.Raw()
		default:
			s.Skip()
		}
	}
	switch {
	case !s.End():
		return provider.ErrMalformed
	case len(failure) > 0 && string(failure) != "null":
		return readFault(data)
	}
	r.candidates(wire.NewScan(candidates))
	if r.size > provider.MaxReply {
		return provider.ErrHuge
	}
	return nil
}

func (r *reply) add(b *block) {
	r.blocks = append(r.blocks, b)
	r.size += provider.PartSize
}

// once keeps the first value that is not empty.
func (r *reply) once(to *string, s *wire.Scan) {
	if b, ok := s.Text(&r.scratch); ok && *to == "" {
		*to = string(b)
	}
}

// latest keeps the last value that is not empty.
func (r *reply) latest(to *string, s *wire.Scan) {
	if b, ok := s.Text(&r.scratch); ok && len(b) > 0 {
		*to = string(b)
	}
}

func (r *reply) feedback(s *wire.Scan) {
	if !s.Open('{') {
		return
	}
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "blockReason":
			if b, ok := s.Text(&r.scratch); ok && len(b) > 0 {
				r.blocked = genai.BlockedReason(b)
			}
		case "blockReasonMessage":
			r.latest(&r.why, s)
		default:
			s.Skip()
		}
	}
	if r.blocked == genai.BlockedReasonUnspecified || r.blocked == "BLOCK_REASON_UNSPECIFIED" {
		r.blocked = ""
	}
}

// candidates reads the first of the answers; no more are asked for.
func (r *reply) candidates(s *wire.Scan) {
	if !s.Open('[') {
		return
	}
	for first := true; s.More(']', &first); {
		if first = false; s.Peek() != '{' {
			s.Skip()
			continue
		}
		r.begun = true
		r.candidate(s)
		return
	}
}

func (r *reply) candidate(s *wire.Scan) {
	s.Open('{')
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "content":
			r.content(s)
		case "finishReason":
			if b, ok := s.Text(&r.scratch); ok && len(b) > 0 && genai.FinishReason(b) != genai.FinishReasonUnspecified {
				r.stop = genai.FinishReason(b)
			}
		case "finishMessage":
			r.latest(&r.why, s)
		default:
			s.Skip()
		}
	}
}

func (r *reply) content(s *wire.Scan) {
	if !s.Open('{') {
		return
	}
	for first := true; s.More('}', &first); {
		if string(s.Key()) != "parts" || !s.Open('[') {
			s.Skip()
			continue
		}
		for first := true; s.More(']', &first); {
			if r.part(s); r.size > provider.MaxReply {
				return // which is told behind the chunk
			}
		}
	}
}

// part reads one part of a chunk.
func (r *reply) part(s *wire.Scan) {
	if !s.Open('{') {
		return
	}
	var text, signature, call, data, code, output []byte
	thought := false
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "text":
			text, _ = s.Text(&r.scratch)
		case "thought":
			thought = string(s.Raw()) == "true"
		case "thoughtSignature", "thought_signature":
			signature, _ = s.Text(&r.signed)
		case "functionCall", "function_call":
			call = s.Raw()
		case "inlineData", "inline_data":
			data = s.Raw()
		case "executableCode":
			code = s.Raw()
		case "codeExecutionResult":
			output = s.Raw()
		default:
			s.Skip()
		}
	}
	signed := string(signature)
	switch {
	case len(call) > 0:
		r.call(wire.NewScan(call), signed)
	case len(data) > 0:
		if !thought { // a sketch is no answer
			r.inline(wire.NewScan(data), signed)
		}
	case len(code) > 0, len(output) > 0:
		r.ran(code)
		r.ran(output)
	case thought:
		r.say(llm.KindReasoning, text, signed)
	default:
		r.say(llm.KindText, text, signed)
	}
}

// say adds a piece of text or thought.
func (r *reply) say(kind llm.Kind, text []byte, signature string) {
	if len(text) == 0 && signature == "" {
		return
	}
	var b *block
	if n := len(r.blocks); n > 0 && signature == "" {
		b = r.blocks[n-1]
	}
	if b == nil || b.kind != kind || b.signature != "" {
		b = &block{kind: kind, signature: signature}
		r.add(b)
	}
	b.text.Add(text)
}

// call reads a call. One that the server repeats under its id is one.
func (r *reply) call(s *wire.Scan, signature string) {
	b := &block{kind: llm.KindCall, signature: signature, call: r.calls}
	s.Open('{')
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "id":
			r.latest(&b.id, s)
		case "name":
			r.latest(&b.name, s)
		case "args":
			b.args = string(bytes.TrimSpace(s.Raw()))
		default:
			s.Skip()
		}
	}
	b.name = strings.TrimSpace(b.name)
	for _, known := range r.blocks {
		if b.id != "" && known.id == b.id && known.name == b.name && known.args == b.args {
			return
		}
	}
	r.calls++
	r.add(b)
}

// inline reads an image or a file that the model made.
func (r *reply) inline(s *wire.Scan, signature string) {
	m := &llm.Media{}
	s.Open('{')
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "mimeType", "mime_type":
			r.latest(&m.MIME, s)
		case "data":
			b, _ := s.Text(&r.scratch)
			m.Data = make([]byte, base64.StdEncoding.DecodedLen(len(b)))
			n, err := base64.StdEncoding.Decode(m.Data, b)
			if err != nil {
				n = 0
			}
			m.Data = m.Data[:n]
		default:
			s.Skip()
		}
	}
	if len(m.Data) > 0 && m.MIME != "" {
		r.add(&block{kind: llm.KindMedia, media: m, signature: signature})
	}
}

// ran reads code that the server ran for the model, or what came of it, and
// shows it as text: nobody asks for that, but some servers do it.
func (r *reply) ran(raw []byte) {
	s := wire.NewScan(raw)
	s.Open('{')
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "code", "output":
			if b, ok := s.Text(&r.scratch); ok && len(b) > 0 {
				r.say(llm.KindText, fmt.Appendf(nil, "\n```\n%s\n```\n", bytes.TrimSpace(b)), "")
			}
		default:
			s.Skip()
		}
	}
}

// count takes over what a server counted; every chunk has the counts so far.
func (u *usage) count(s *wire.Scan) {
	if !s.Open('{') {
		return
	}
	for first := true; s.More('}', &first); {
		var to *int64
		switch string(s.Key()) {
		case "promptTokenCount":
			to = &u.prompt
		case "toolUsePromptTokenCount":
			to = &u.tools
		case "cachedContentTokenCount":
			to = &u.cached
		case "candidatesTokenCount":
			to = &u.candidates
		case "thoughtsTokenCount":
			to = &u.thoughts
		default:
			s.Skip()
			continue
		}
		if n, ok := s.Integer(); ok {
			*to = n
		}
	}
}
