// Package openai speaks OpenAI's Chat Completions, which DeepSeek, Ollama and
// most other servers speak as well. It owns the translation of a request and
// of a streamed answer; the official SDK makes the call.
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
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/goclaw/goclaw/internal/guard/safehttp"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// Model is one server that speaks the wire.
type Model struct {
	chat    openai.ChatCompletionService
	models  openai.ModelService
	limits  provider.Limits
	secrets []string
	dialect dialect
	lessons lessons
	schemas schemas
	head    head
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
	// The service constructors, other than openai.NewClient, read no variables
	// of the environment. One place decides about retries, and it isn't here.
	options := []option.RequestOption{
		option.WithBaseURL(s.BaseURL),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
		option.WithMiddleware(shortErrors, inOnePiece),
		option.WithHeader("User-Agent", "GoClaw"),
	}
	// A server needs to know neither the machine nor the compiler.
	for _, name := range []string{"Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Retry-Count"} {
		options = append(options, option.WithHeaderDel("X-Stainless-"+name))
	}
	m := &Model{limits: s.Limits, dialect: newDialect(s)}
	if s.Key != "" {
		options = append(options, option.WithAPIKey(s.Key))
		m.secrets = append(m.secrets, s.Key)
	}
	for name, value := range s.Headers {
		options = append(options, option.WithHeader(name, value))
		m.secrets = append(m.secrets, value)
	}
	m.chat = openai.NewChatCompletionService(options...)
	m.models = openai.NewModelService(options...)
	return m
}

// maxErrorBody bounds what is read of an answer that is an error.
const maxErrorBody = 64 << 10

// shortErrors bounds the body of an error, which the SDK reads whole.
func shortErrors(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(r)
	if err == nil && resp.StatusCode >= 400 {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxErrorBody), resp.Body}
	}
	return resp, err
}

// inOnePiece takes the body out of the wrapper that the SDK puts around it.
// Only of a body that it knows to lie in memory does net/http send the header
// and the beginning at once; else the header goes first, in a packet of its
// own.
func inOnePiece(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	if r.Body == nil || r.GetBody == nil {
		return next(r)
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	if err := r.Body.Close(); err != nil {
		return nil, err
	}
	r.Body = body
	return next(r)
}

// Stream implements [llm.Model].
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, watch := m.limits.Watch(ctx)
		defer watch.Stop()
		resp, err := m.send(ctx, &req)
		if err == nil {
			defer resp.Body.Close()
			err = read(resp, watch, req.Target, yield)
		}
		if err != nil && !errors.Is(err, errLeft) {
			yield(llm.Event{}, m.explain(ctx, watch, req.Target, err))
		}
	}
}

// explain turns err into what Stream ends with.
func (m *Model) explain(ctx context.Context, watch *provider.Watch, t llm.Target, err error) error {
	if late := watch.Err(); late != nil {
		return &llm.Error{Class: llm.ClassNetwork, Target: t, Message: late.Error(), Err: late}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		e = streamFailure(err, m.secrets...)
	}
	e.Target = t
	return e
}

// send makes the request and returns the answer once its header came. A server
// that refuses a setting, not the request, is asked again without it.
func (m *Model) send(ctx context.Context, req *llm.Request) (*http.Response, error) {
	for {
		d := m.dialect
		d.learned = m.lessons.of(req.Target.Model)
		body, err := m.encode(req, d)
		if err != nil {
			return nil, &llm.Error{Class: llm.ClassBadRequest, Message: err.Error(), Err: err}
		}
		resp, err := m.post(ctx, body)
		var f *fault
		if !errors.As(err, &f) {
			return resp, err
		}
		if !m.lessons.learn(req.Target.Model, d, f) {
			return nil, f.failure(m.secrets...)
		}
	}
}

// post sends body. The error is a *fault when the server answered with one.
func (m *Model) post(ctx context.Context, body []byte) (*http.Response, error) {
	var resp *http.Response
	_, err := m.chat.New(ctx, openai.ChatCompletionNewParams{},
		option.WithRequestBody("application/json", body), option.WithResponseBodyInto(&resp))
	if resp != nil && resp.StatusCode >= 400 {
		// The SDK has read the body and put it back, whatever it made of it.
		text, rerr := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		if rerr != nil {
			text = nil
		}
		return nil, answerFault(resp, text)
	}
	if err != nil {
		return nil, provider.Unreachable(err, m.secrets...)
	}
	return resp, nil
}

var (
	// errLeft says that the consumer left the range.
	errLeft = errors.New("left")
	// errForeign is an answer in no format of this wire.
	errForeign = errors.New("the answer is not in OpenAI's format; check base_url")
)

// grace is how long the rest of an answer is waited for once it is complete in
// substance: the tokens used, the end mark, the end of the connection's turn.
const (
	grace = 5 * time.Second
	drain = 100 * time.Millisecond
)

// read yields the events of an answer. The error is errLeft when the consumer
// left.
func read(resp *http.Response, watch *provider.Watch, t llm.Target, yield func(llm.Event, error) bool) error {
	in := newEvents(resp.Body, watch.Heard)
	c, ok := in.first()
	switch {
	case !ok && in.err != nil && !errors.Is(in.err, io.EOF):
		return in.err
	case !ok:
		return errDead
	case c == '{' || c == '[':
		return readDocument(in, t, yield)
	case c == '<' || !isStream(resp, in):
		return readForeign(in)
	}
	r := &reply{}
	for {
		data, err := in.next()
		if err != nil {
			if r.finish != "" {
				break // what comes behind it is only of use for counting
			}
			if errors.Is(err, io.EOF) {
				return errDead
			}
			return err
		}
		ended, size := r.finish != "", r.size
		end, err := r.event(data, yield)
		if end || ended && errors.Is(err, errMalformed) {
			break
		}
		if err != nil {
			return err
		}
		if r.finish != "" && (!ended || r.size > size) {
			watch.Hurry(grace)
		}
	}
	if r.finish == "" || strings.EqualFold(r.finish, "error") {
		return errDead
	}
	if !r.end(t, yield) {
		return errLeft
	}
	// Reading to the end lets the next call use the same connection.
	watch.Hurry(drain)
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody)) // else it is closed
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
			return false, err
		}
		if !r.tell(yield) {
			return false, errLeft
		}
	}
	return false, nil
}

// endMark is the last event of a stream.
const endMark = "[DONE]"

// isStream reports whether an answer is a stream of events: it says so, or
// begins like one.
func isStream(resp *http.Response, in *events) bool {
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return true
	}
	held := in.buffered()
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if n := min(len(field), len(held)); string(held[:n]) == field[:n] {
			return true
		}
	}
	return false
}

// readDocument reads the answer of a server that doesn't stream, or streams
// bare documents, which have to bring an end then.
func readDocument(in *events, t llm.Target, yield func(llm.Event, error) bool) error {
	body, err := in.rest()
	if err != nil {
		return err
	}
	body = bytes.TrimPrefix(body, byteOrderMark)
	r := &reply{}
	for rest := body; len(rest) > 0; {
		if rest, err = r.piece(rest); errors.Is(err, errMalformed) {
			return errDead
		}
		if err != nil {
			return err
		}
		if !r.tell(yield) {
			return errLeft
		}
	}
	if r.chunks > 1 && r.finish == "" {
		return errDead
	}
	if r.choices == 0 {
		f := readFault(body, 0)
		return fmt.Errorf("%w: %s", errForeign, provider.Clean(f.message))
	}
	if !r.end(t, yield) {
		return errLeft
	}
	return nil
}

// readForeign says what came in place of an answer.
func readForeign(in *events) error {
	body, err := in.rest()
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", errForeign, provider.Clean(string(body[:min(len(body), 4096)])))
}

// tell yields what the last piece brought and reports whether the consumer
// stays.
func (r *reply) tell(yield func(llm.Event, error) bool) bool {
	if n := r.reasoning.len(); n > r.toldReasoning {
		e := llm.Event{Type: llm.EventReasoning, Text: r.reasoning.from(r.toldReasoning)}
		r.toldReasoning = n
		if !yield(e, nil) {
			return false
		}
	}
	if n := r.content.len(); n > r.toldText {
		e := llm.Event{Type: llm.EventText, Text: r.content.from(r.toldText)}
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
	return true
}

// end yields the rest of the text and the whole reply.
func (r *reply) end(t llm.Target, yield func(llm.Event, error) bool) bool {
	r.grown = nil
	whole := r.done(t)
	return r.tell(yield) && yield(llm.Event{Type: llm.EventDone, Reply: &whole}, nil)
}

// List implements [provider.Lister].
func (m *Model) List(ctx context.Context) ([]string, error) {
	page, err := m.models.List(ctx)
	if err != nil {
		var api *openai.Error
		if errors.As(err, &api) {
			f := &fault{status: api.StatusCode, code: api.Code, kind: api.Type, message: api.Message}
			return nil, f.failure(m.secrets...)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var failed *url.Error
		if !errors.As(err, &failed) { // it was answered, but with no list
			return nil, &llm.Error{Class: llm.ClassUnknown, Message: errForeign.Error(), Err: err}
		}
		return nil, provider.Unreachable(err, m.secrets...)
	}
	names := make([]string, 0, len(page.Data))
	for _, d := range page.Data {
		names = append(names, d.ID)
	}
	return names, nil
}
