package responses

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// whose format an answer has to have.
const whose = "OpenAI's"

// Reader is what reading an answer depends on.
type Reader struct {
	Target llm.Target
	// Vendor marks opaque data as its own.
	Vendor string
	// Fault reads a failure that the server reports, as the value of "error" in
	// its JSON.
	Fault func(raw []byte) error
}

// Read yields the events of an answer. The error is provider.ErrLeft when the
// consumer left.
func (o Reader) Read(resp *http.Response, watch *provider.Watch, yield func(llm.Event, error) bool) error {
	in, c, err := watch.Open(resp.Body)
	if err != nil {
		return err
	}
	switch {
	case c == '{':
		return o.document(in, yield)
	case c == '[' || c == '<' || !in.IsStream(resp.Header.Get("Content-Type")):
		return provider.ReadForeign(in, whose)
	}
	r := &reply{Reader: o}
	for !r.ended {
		data, err := in.Next()
		if errors.Is(err, io.EOF) {
			return provider.ErrDead
		}
		if err != nil {
			return err
		}
		if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '{' {
			continue // the end mark of other APIs, or words that keep the line awake
		}
		if err := r.pieces(data, yield); err != nil {
			return err
		}
	}
	if !r.done(yield) {
		return provider.ErrLeft
	}
	watch.Finish(resp.Body)
	return nil
}

// document reads the answer of a server that doesn't stream, or streams bare
// documents.
func (o Reader) document(in *wire.Events, yield func(llm.Event, error) bool) error {
	body, err := in.Rest()
	if err != nil {
		return err
	}
	body = bytes.TrimPrefix(body, wire.ByteOrderMark)
	r := &reply{Reader: o}
	err = r.pieces(body, yield)
	switch {
	case errors.Is(err, provider.ErrMalformed):
		return provider.ErrDead
	case err != nil:
		return err
	case !r.ended && r.events > 0:
		return provider.ErrDead
	case !r.ended:
		return &provider.Foreign{Vendor: whose, Body: body}
	case !r.done(yield):
		return provider.ErrLeft
	}
	return nil
}

// pieces takes in the documents of data, of which there are several where a
// server doesn't separate its events, and yields what each brought.
func (r *reply) pieces(data []byte, yield func(llm.Event, error) bool) error {
	for len(data) > 0 && !r.ended {
		rest, err := r.piece(data)
		if err != nil {
			return r.broke(err, yield)
		}
		if !r.tell(yield) {
			return provider.ErrLeft
		}
		data = rest
	}
	return nil
}

// broke is err, with which a piece ended the answer, after what the piece said
// that the call has used.
func (r *reply) broke(err error, yield func(llm.Event, error) bool) error {
	if u := r.usage; u != (llm.Usage{}) && !yield(llm.Event{Type: llm.EventUsage, Usage: &u}, nil) {
		return provider.ErrLeft
	}
	return err
}

// tell yields what the last piece brought and reports whether the consumer
// stays.
func (r *reply) tell(yield func(llm.Event, error) bool) bool {
	for _, it := range r.grown {
		switch it.kind {
		case kindCall:
			if !yield(llm.Event{Type: llm.EventCall, Text: it.name, Index: it.call}, nil) {
				return false
			}
			continue
		case kindMessage, kindReasoning:
		default:
			continue
		}
		n := it.text.Len()
		if n == it.told {
			continue
		}
		e := llm.Event{Type: llm.EventText, Text: it.text.From(it.told)}
		if it.kind == kindReasoning {
			e.Type = llm.EventReasoning
		}
		it.told = n
		if !yield(e, nil) {
			return false
		}
	}
	r.grown = r.grown[:0]
	return true
}

// done yields the rest of the texts and the whole reply.
func (r *reply) done(yield func(llm.Event, error) bool) bool {
	r.grown = r.grown[:0]
	for _, it := range r.items {
		it.text.Flush()
		it.args.Flush()
		if it.kind != kindCall {
			r.grown = append(r.grown, it)
		}
	}
	if !r.tell(yield) {
		return false
	}
	whole := r.whole()
	return yield(llm.Event{Type: llm.EventDone, Reply: &whole}, nil)
}
