package responses

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// between separates texts that come as items, or parts, of their own.
const between = "\n\n"

// reply puts a streamed answer together, item by item. The stream says of each
// item that it begins, grows and is done; the response that ends it holds all
// of them once more, for servers that leave out the rest. What is said twice
// counts once.
type reply struct {
	Reader
	items  []*item
	calls  int
	events int
	ended  bool
	finish llm.Finish
	usage  llm.Usage
	id     string
	model  string
	size   int

	grown   []*item // by the last piece
	named   string  // the item that an event named last
	scratch []byte
}

// item is one item of the output.
type item struct {
	index int64  // of the output
	id    string // "" until it is known
	kind  string

	text  wire.Text // of a message, or what is shown of reasoning
	told  int       // how much of it was given out
	part  int64     // the part of the text that came last
	begun bool      // some text came

	phase string
	seal  *thought

	call         int // which of the calls it is
	callID, name string
	args         wire.Text

	whole bool // the server said that nothing is missing

	stages [ends + 1]bool // those that the server said it has reached
}

// stage is what the server says of an item.
type stage uint8

const (
	grows stage = iota
	begins
	done
	ends // it stands in the response at the end
)

// may says whether the item can be the one that reaches s; same says that it is
// called as that one in all respects.
func (it *item) may(s stage, same bool) bool {
	switch s {
	case begins, ends:
		return !it.stages[s]
	case done:
		return !it.stages[done] || same
	}
	return true
}

// event is the members of a piece that any of the kinds of events has.
type event struct {
	kind, object string
	name         string
	place        place
	part         int64

	// Raw values.
	delta, text, item, response, failure []byte
}

// place is what a server says of where an item stands.
type place struct {
	index      int64
	indexed    bool
	id, callID string
}

// piece takes in the first document of data and returns what is behind it. A
// failure that the server reports is what Reader.Fault makes of it.
func (r *reply) piece(data []byte) (rest []byte, err error) {
	s := wire.NewScan(data)
	if !s.Open('{') {
		return nil, provider.ErrMalformed
	}
	var e event
	for first := true; s.More('}', &first); {
		r.member(&e, s)
	}
	if !s.OK() {
		return nil, provider.ErrMalformed
	}
	whole := data[:s.Offset()]
	s.Peek()
	rest = data[s.Offset():]
	if e.kind != "" {
		r.events++
	}
	switch {
	case e.object == "response":
		return rest, r.end(whole, "")
	case e.kind == "error" && e.failure == nil:
		return rest, r.Fault(whole)
	case e.failure != nil && string(e.failure) != "null":
		return rest, r.Fault(e.failure)
	}
	if err := r.event(&e); err != nil {
		return nil, err
	}
	if r.size > provider.MaxReply {
		return nil, provider.ErrHuge
	}
	return rest, nil
}

func (r *reply) member(e *event, s *wire.Scan) {
	switch string(s.Key()) {
	case "type":
		e.kind = r.word(s)
	case "object":
		e.object = r.word(s)
	case "delta":
		e.delta = s.Raw()
	case "text", "refusal", "arguments":
		e.text = s.Raw()
	case "item":
		e.item = s.Raw()
	case "response":
		e.response = s.Raw()
	case "error":
		e.failure = s.Raw()
	case "item_id":
		if b, _ := s.Text(&r.scratch); string(b) != r.named {
			r.named = strings.ToValidUTF8(string(b), "\uFFFD")
		}
		e.place.id = r.named // mostly that of the event before
	case "name":
		e.name = r.word(s)
	case "output_index":
		e.place.index, e.place.indexed = s.Integer()
	case "content_index", "summary_index":
		e.part, _ = s.Integer()
	default:
		s.Skip()
	}
}

// word reads a short string.
func (r *reply) word(s *wire.Scan) string {
	b, _ := s.Text(&r.scratch)
	switch string(b) { // those of nearly every event need no memory of their own
	case typeText:
		return typeText
	case typeArguments:
		return typeArguments
	case typeSummary:
		return typeSummary
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// The events of which there are many.
const (
	typeText      = "response.output_text.delta"
	typeSummary   = "response.reasoning_summary_text.delta"
	typeArguments = "response.function_call_arguments.delta"
)

// event takes in what a stream tells. Events of kinds that aren't listed say
// nothing that is needed: what they tell stands in the items as well.
func (r *reply) event(e *event) error {
	switch e.kind {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return r.end(e.response, strings.TrimPrefix(e.kind, "response."))
	case "response.output_item.added":
		return r.item(e.item, e.place, begins)
	case "response.output_item.done":
		return r.item(e.item, e.place, done)
	case typeText, "response.refusal.delta":
		r.grow(r.at(kindMessage, e.place, grows), e)
	case typeSummary, "response.reasoning_text.delta":
		r.grow(r.at(kindReasoning, e.place, grows), e)
	case "response.output_text.done", "response.refusal.done":
		r.complete(r.at(kindMessage, e.place, grows), e.part, r.value(e.text))
	case typeArguments:
		it := r.at(kindCall, e.place, grows)
		b := r.value(e.delta)
		r.size += len(b)
		it.args.Add(b)
		r.touch(it)
	case "response.function_call_arguments.done":
		it := r.at(kindCall, e.place, grows)
		if it.name == "" {
			it.name = e.name
		}
		r.arguments(it, r.value(e.text))
		r.touch(it)
	}
	return nil
}

// value is the string that raw is; it is valid until the next one is read.
func (r *reply) value(raw []byte) []byte {
	b, _ := wire.NewScan(raw).Text(&r.scratch)
	return b
}

func (r *reply) touch(it *item) { r.grown = append(r.grown, it) }

// at is the item of a kind at a place, which reaches a stage; one that isn't
// there yet begins. The index counts more than the names, which some servers
// make up anew with each event; the names tell items apart to which a server
// gives one index.
func (r *reply) at(kind string, p place, s stage) *item {
	var found *item
	best := 1
	for _, it := range r.items {
		if it.kind != kind {
			continue
		}
		named := p.id != "" && it.id == p.id || p.callID != "" && it.callID == p.callID
		there := p.indexed && it.index == p.index
		n := 0
		if there {
			n = 2
		}
		if named || !p.indexed && p.id == "" && p.callID == "" {
			n++
		}
		if n >= best && it.may(s, named && (there || !p.indexed)) && (s != begins || there || !p.indexed) {
			found, best = it, n
		}
	}
	if found == nil {
		found = r.begin(kind, p)
	}
	found.stages[s] = true
	return found
}

func (r *reply) begin(kind string, p place) *item {
	if !p.indexed {
		p.index = -1
	}
	it := &item{index: p.index, id: p.id, kind: kind}
	if kind == kindCall {
		it.call = r.calls
		r.calls++
	}
	r.items = append(r.items, it)
	r.size += provider.PartSize
	return it
}

// grow adds a piece to the text of an item.
func (r *reply) grow(it *item, e *event) {
	b := r.value(e.delta)
	r.size += len(b)
	it = r.open(it, e.part)
	it.text.Add(b)
	r.touch(it)
}

// open begins a text, or another part of it, and returns the item to which it is
// added: the last of its kind, since what was given out can't be put in between.
func (r *reply) open(it *item, part int64) *item {
	it = r.atEnd(it)
	switch {
	case !it.begun && r.said(it), it.begun && it.part != part:
		it.text.Add([]byte(between))
	}
	it.begun, it.part = true, part
	return it
}

// atEnd moves an item without text, or goes on with one in another, behind what
// has text and stands behind it.
func (r *reply) atEnd(it *item) *item {
	at := slices.Index(r.items, it)
	if !slices.ContainsFunc(r.items[at+1:], func(o *item) bool { return o.kind == it.kind && o.begun }) {
		return it
	}
	if !it.begun {
		r.items = append(slices.Delete(r.items, at, at+1), it)
		return it
	}
	rest := &item{index: it.index, id: it.id, kind: it.kind, phase: it.phase}
	r.items = append(r.items, rest)
	return rest
}

// said reports whether there is text of another item that the one of it has to be
// kept apart from. That one is over: what it waits for won't come.
func (r *reply) said(it *item) (said bool) {
	for _, other := range r.items {
		if other != it && other.kind == it.kind && other.begun {
			said = true
			other.text.Flush()
			r.touch(other)
		}
	}
	return said
}

// complete adds what is missing of a part of a text that is told whole.
func (r *reply) complete(it *item, part int64, whole []byte) {
	if len(whole) == 0 || it.begun {
		return
	}
	r.size += len(whole)
	it = r.open(it, part)
	it.text.Add(whole)
	r.touch(it)
}

// arguments takes in the arguments told whole: they go before what the pieces
// gave.
func (r *reply) arguments(it *item, whole []byte) {
	if len(whole) == 0 || it.args.String() == string(whole) {
		return
	}
	r.size += len(whole)
	it.args = wire.Text{}
	it.args.Add(whole)
}

// output is an item as the API writes it.
type output struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Phase     string `json:"phase"`
	Content   []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary   []text `json:"summary"`
	Encrypted string `json:"encrypted_content"`
}

// item takes in an item that reaches a stage.
func (r *reply) item(raw []byte, p place, s stage) error {
	var o output
	if err := json.Unmarshal(raw, &o); err != nil {
		return provider.ErrMalformed
	}
	switch o.Type {
	case kindMessage, kindReasoning, kindCall:
	default:
		return nil // of tools that nobody offered
	}
	p.id, p.callID = o.ID, o.CallID
	it := r.at(o.Type, p, s)
	it.id = first(o.ID, it.id)
	switch o.Type {
	case kindMessage:
		it.phase = o.Phase
	case kindCall:
		it.callID, it.name = first(o.CallID, it.callID), first(o.Name, it.name)
		if s != begins || it.args.Empty() {
			r.arguments(it, []byte(o.Arguments))
		}
		it.whole = it.whole || s != begins && o.Status != "incomplete"
		r.touch(it)
		return nil
	}
	if s != begins {
		r.settle(it, &o)
	}
	return nil
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// settle completes a message or a reasoning that is done.
func (r *reply) settle(it *item, o *output) {
	if it.kind == kindReasoning {
		t := thought{ID: o.ID, Summary: o.Summary, Encrypted: o.Encrypted}
		for _, c := range o.Content {
			t.Content = append(t.Content, text{c.Type, c.Text})
		}
		if t.sealed() {
			it.seal = &t
			r.size += len(t.Encrypted)
		}
	}
	if it.begun {
		return
	}
	for i, s := range o.Summary {
		r.part(it, i, s.Text)
	}
	for i, c := range o.Content {
		r.part(it, len(o.Summary)+i, c.Text+c.Refusal)
	}
}

// part adds a part of a text that no piece brought.
func (r *reply) part(it *item, i int, words string) {
	if words == "" {
		return
	}
	r.size += len(words)
	it = r.open(it, int64(i))
	it.text.Add([]byte(words))
	r.touch(it)
}

// end takes in the response that a stream ends with, or a whole answer. status
// is what the event says of it, for servers that leave it out.
func (r *reply) end(raw []byte, status string) error {
	var failure []byte
	var items []json.RawMessage
	why := ""
	s := wire.NewScan(raw)
	if !s.Open('{') {
		return provider.ErrMalformed
	}
	for first := true; s.More('}', &first); {
		switch string(s.Key()) {
		case "id":
			r.id = r.word(s)
		case "model":
			r.model = r.word(s)
		case "status":
			if w := r.word(s); w != "" {
				status = w
			}
		case "error":
			failure = s.Raw()
		case "output":
			if json.Unmarshal(s.Raw(), &items) != nil {
				return provider.ErrMalformed
			}
		case "incomplete_details":
			why = r.why(s)
		case "usage":
			r.readUsage(s.Raw())
		default:
			s.Skip()
		}
	}
	switch {
	case !s.OK():
		return provider.ErrMalformed
	case status == "queued", status == "in_progress": // the answer to a question that was not asked
		return provider.ErrDead
	case status == "failed", status == "cancelled":
		if len(failure) == 0 || string(failure) == "null" {
			return provider.ErrDead
		}
		return r.Fault(failure)
	}
	for i, o := range items {
		if err := r.item(o, place{index: int64(i), indexed: true}, ends); err != nil {
			return err
		}
		if r.size > provider.MaxReply {
			return provider.ErrHuge
		}
	}
	r.ended, r.finish = true, r.reason(status, why)
	return nil
}

// why reads why a response is incomplete.
func (r *reply) why(s *wire.Scan) (reason string) {
	if !s.Open('{') {
		return ""
	}
	for first := true; s.More('}', &first); {
		if string(s.Key()) != "reason" {
			s.Skip()
			continue
		}
		reason = r.word(s)
	}
	return reason
}

func (r *reply) readUsage(raw []byte) {
	var u struct {
		Input        int64 `json:"input_tokens"`
		Output       int64 `json:"output_tokens"`
		InputDetails struct {
			Cached int64 `json:"cached_tokens"`
			Write  int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return // it is only of use for counting
	}
	r.usage = llm.Usage{
		Input: u.Input, Cached: u.InputDetails.Cached, CacheWrite: u.InputDetails.Write,
		Output: u.Output, Reasoning: u.OutputDetails.Reasoning,
	}
}

// reason is the status of a response in our words.
func (r *reply) reason(status, why string) llm.Finish {
	switch {
	case status == "incomplete" && why == "content_filter":
		return llm.FinishFilter
	case status == "incomplete":
		return llm.FinishLength
	case r.calls > 0:
		return llm.FinishCalls
	}
	return llm.FinishStop
}

// whole is the reply.
func (r *reply) whole() llm.Reply {
	out := llm.Reply{Target: r.Target, Model: r.model, ID: r.id, Usage: r.usage, Finish: r.finish}
	out.Message.Role = llm.Assistant
	for _, it := range r.items {
		p := llm.Part{Text: it.text.String()}
		switch it.kind {
		case kindMessage:
			p.Kind = llm.KindText
			if it.phase != "" && p.Text != "" {
				p.Opaque = phase{it.phase}.opaque(r.Vendor)
			}
		case kindReasoning:
			p.Kind = llm.KindReasoning
			if it.seal != nil {
				p.Opaque = &llm.Opaque{Vendor: r.Vendor, Data: it.seal.appendTo(nil)}
			}
		case kindCall:
			last := r.finish == llm.FinishLength && it.call == r.calls-1 && !it.whole
			args := it.args.String()
			p = llm.Part{Kind: llm.KindCall, Call: &llm.ToolCall{
				ID: it.callID, Name: it.name, Arguments: args, Cut: wire.Truncated(args, last),
			}}
		}
		if p.Call != nil || p.Text != "" || p.Opaque != nil {
			out.Message.Parts = append(out.Message.Parts, p)
		}
	}
	return out
}
