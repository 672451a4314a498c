// Package openai speaks OpenAI's Chat Completions, which DeepSeek, Ollama and
// most other servers speak as well, and for models that need it OpenAI's
// Responses API, which its child translates. It owns the translation of a
// request and of a streamed answer, and the choice between the two APIs
// ([dialect.responses]).
//
// A [Model] is one server. It holds idle connections and what it learned of
// the server's refusals, is safe for concurrent use and needs no closing. Each
// call is one request on the goroutine of whoever ranges over the answer;
// leaving the range closes the connection, and so does any of the call's
// time-outs. Nothing of a call outlives it.
//
// Reading is forgiving and sending strict: see [reply] for how deltas find
// their calls and [text] for letters that are cut in two; [Model.encode] always
// writes a transcript that the server accepts, with one result for each call.
//
// Start reading at [Model.Stream].
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/goclaw/goclaw/internal/guard/safehttp"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/provider/openai/responses"
)

// Model is one server that speaks the wire.
type Model struct {
	server  provider.Server
	limits  provider.Limits
	dialect dialect
	lessons provider.Lessons[refusals]
	head    head[settingsKey]
	forms   head[responses.Form]
}

// Open implements [provider.Open].
func Open(s provider.Settings) (llm.Model, error) {
	client, err := safehttp.Endpoint(s.BaseURL, safehttp.EndpointOptions{Proxy: s.Proxy})
	if err != nil {
		return nil, err
	}
	return newModel(s, client), nil
}

// client is what the call is made with; only tests have another one than
// safehttp makes.
func newModel(s provider.Settings, client *http.Client) *Model {
	at := endpointOf(s.BaseURL)
	header, words := "Authorization", "Bearer "
	if at.azure {
		header, words = keyHeader, ""
	}
	m := &Model{server: provider.NewServer(client, at.base, s, header, words), limits: s.Limits, dialect: newDialect(s)}
	m.server.Query = at.query
	for name, values := range at.query {
		if name != "api-version" { // it may be a key, as gateways take one
			m.server.Secrets = append(m.server.Secrets, values...)
		}
	}
	m.limits.Late = "it may be thinking; raise ai.providers." + s.Name + ".first_byte_timeout"
	m.limits.Silent = "it may be thinking; raise ai.providers." + s.Name + ".idle_timeout"
	return m
}

// Stream implements [llm.Model].
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return m.limits.Answer(ctx, req.Target, m.server.Secrets, func(ctx context.Context, watch *provider.Watch, yield func(llm.Event, error) bool) error {
		resp, via, err := m.send(ctx, &req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		yield = m.dialect.names().Names(req.Tools).Restored(yield)
		if via {
			r := responses.Reader{Target: req.Target, Vendor: m.dialect.vendor, Fault: func(raw []byte) error { return readFault(raw, 0) }}
			return r.Read(resp, watch, yield)
		}
		return read(resp, watch, req.Target, m.dialect.vendor, yield)
	})
}

// send makes the request and returns the answer once its header came; via says
// that it is one of the Responses API. A server that refuses a setting, not the
// request, is asked again without it; so is one that refuses the reasoning of
// this conversation.
func (m *Model) send(ctx context.Context, req *llm.Request) (resp *http.Response, via bool, err error) {
	known, _ := provider.Lookup(req.Target.Model)
	bare := false
	for {
		d := m.dialect
		d.learned = m.lessons.Of(req.Target.Model)
		via = d.responses(req, known)
		path, body := chatPath, []byte(nil)
		if via {
			path = responses.Path
			body, err = m.encodeItems(req, d.form(req, known, bare))
		} else {
			body, err = m.encode(req, d)
		}
		if err != nil {
			return nil, via, &llm.Error{Class: llm.ClassBadRequest, Message: err.Error(), Err: err}
		}
		resp, err := m.post(ctx, path, body)
		var f *fault
		if !errors.As(err, &f) {
			return resp, via, err
		}
		switch {
		case m.lessons.Learn(req.Target.Model, d.learned, f.lesson(via)):
		case via && !bare && f.ofReasoning():
			bare = true
		default:
			return nil, via, f.Failure(m.server.Secrets...)
		}
	}
}

// encodeItems is the body of the request for the Responses API.
func (m *Model) encodeItems(req *llm.Request, f responses.Form) ([]byte, error) {
	settings, err := m.forms.of(f, f.Settings)
	if err != nil {
		return nil, fmt.Errorf("encode settings: %w", err)
	}
	return responses.Encode(req, f, settings)
}

// post sends body to path. The error is a *fault when the server answered with
// one.
func (m *Model) post(ctx context.Context, path string, body []byte) (*http.Response, error) {
	return m.do(ctx, http.MethodPost, path, body)
}

// do is post by any method.
func (m *Model) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	resp, err := m.server.Do(ctx, method, "/"+path, body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 400 {
		defer resp.Body.Close()
		return nil, answerFault(resp, provider.ErrorText(resp))
	}
	return resp, nil
}

// whose format an answer has to have.
const whose = "OpenAI's"

// read yields the events of an answer. The error is provider.ErrLeft when the
// consumer left.
func read(resp *http.Response, watch *provider.Watch, t llm.Target, vendor string, yield func(llm.Event, error) bool) error {
	in, c, err := watch.Open(resp.Body)
	if err != nil {
		return err
	}
	switch {
	case c == '{' || c == '[':
		return readDocument(in, t, vendor, yield)
	case c == '<' || !in.IsStream(resp.Header.Get("Content-Type")):
		return provider.ReadForeign(in, whose)
	}
	r := &reply{vendor: vendor}
	for {
		data, err := in.Next()
		if err != nil {
			if r.finish != "" {
				break // what comes behind it is only of use for counting
			}
			if errors.Is(err, io.EOF) {
				return provider.ErrDead
			}
			return err
		}
		ended, size := r.finish != "", r.size
		end, err := r.event(data, yield)
		if end || ended && errors.Is(err, provider.ErrMalformed) {
			break
		}
		if err != nil {
			return err
		}
		if r.finish != "" && (!ended || r.size > size) {
			watch.Hurry(provider.Grace)
		}
	}
	if err := r.broken(); err != nil {
		return err
	}
	if !r.end(t, yield) {
		return provider.ErrLeft
	}
	watch.Finish(resp.Body)
	return nil
}

// event takes in the data of one event and yields what it brought. It reports
// whether that was the mark of the stream's end. Servers that don't separate
// their events by empty lines send several pieces in one.
func (r *reply) event(data []byte, yield func(llm.Event, error) bool) (end bool, err error) {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] != '{' && string(data) != endMark {
		return false, nil // some servers keep the line awake with words
	}
	for len(data) > 0 {
		if string(data) == endMark {
			return true, nil
		}
		if data, err = r.piece(data); err != nil {
			return false, r.broke(err, yield)
		}
		if !r.tell(yield) {
			return false, provider.ErrLeft
		}
	}
	return false, nil
}

// endMark is the last event of a stream.
const endMark = "[DONE]"

// readDocument reads the answer of a server that doesn't stream, or streams
// bare documents, which have to bring an end then.
func readDocument(in *wire.Events, t llm.Target, vendor string, yield func(llm.Event, error) bool) error {
	body, err := in.Rest()
	if err != nil {
		return err
	}
	body = bytes.TrimPrefix(body, wire.ByteOrderMark)
	r := &reply{vendor: vendor}
	for rest := body; len(rest) > 0; {
		if rest, err = r.piece(rest); errors.Is(err, provider.ErrMalformed) {
			return provider.ErrDead
		}
		if err != nil {
			return r.broke(err, yield)
		}
		if !r.tell(yield) {
			return provider.ErrLeft
		}
	}
	if r.chunks > 1 && r.finish == "" {
		return provider.ErrDead
	}
	if r.choices == 0 {
		return &provider.Foreign{Vendor: whose, Body: []byte(readFault(body, 0).message)}
	}
	if err := r.broken(); r.finish != "" && err != nil {
		return err
	}
	if !r.end(t, yield) {
		return provider.ErrLeft
	}
	return nil
}

// tell yields what the last piece brought and reports whether the consumer
// stays.
func (r *reply) tell(yield func(llm.Event, error) bool) bool {
	if n := r.reasoning.Len(); n > r.toldReasoning {
		e := llm.Event{Type: llm.EventReasoning, Text: r.reasoning.From(r.toldReasoning)}
		r.toldReasoning = n
		if !yield(e, nil) {
			return false
		}
	}
	if n := r.content.Len(); n > r.toldText {
		e := llm.Event{Type: llm.EventText, Text: r.content.From(r.toldText)}
		r.toldText = n
		if !yield(e, nil) {
			return false
		}
	}
	for _, i := range r.grown {
		if !yield(llm.Event{Type: llm.EventCall, Text: r.calls[i].name, Index: i}, nil) {
			return false
		}
	}
	return r.tellUsage(yield)
}

func (r *reply) tellUsage(yield func(llm.Event, error) bool) bool {
	if r.usage == r.toldUsage {
		return true
	}
	u := r.usage
	r.toldUsage = u
	return yield(llm.Event{Type: llm.EventUsage, Usage: &u}, nil)
}

// broke is err, with which a piece ended the answer, after what the piece said
// that the call has used.
func (r *reply) broke(err error, yield func(llm.Event, error) bool) error {
	if !r.tellUsage(yield) {
		return provider.ErrLeft
	}
	return err
}

// end yields the rest of the text and the whole reply.
func (r *reply) end(t llm.Target, yield func(llm.Event, error) bool) bool {
	r.grown = nil
	whole := r.done(t)
	return r.tell(yield) && yield(llm.Event{Type: llm.EventDone, Reply: &whole}, nil)
}

// List implements [provider.Lister].
func (m *Model) List(ctx context.Context) ([]string, error) {
	resp, err := m.do(ctx, http.MethodGet, "models", nil)
	text, err := m.server.Text(ctx, resp, err)
	if err != nil {
		return nil, err
	}
	var page struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(text, &page) != nil || page.Data == nil {
		return nil, provider.Failure(&provider.Foreign{Vendor: whose, Body: text}, m.server.Secrets...)
	}
	names := make([]string, 0, len(page.Data))
	for _, d := range page.Data {
		names = append(names, d.ID)
	}
	return names, nil
}
