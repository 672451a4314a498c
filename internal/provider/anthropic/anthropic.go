// Package anthropic speaks Claude's Messages API. It owns the translation of a
// request and of a streamed answer; the official SDK makes the call.
//
// A [Model] is one server. It holds idle connections and what it learned of
// the server's refusals, is safe for concurrent use and needs no closing. Each
// call is one request on the goroutine of whoever ranges over the answer;
// leaving the range closes the connection, and so does any of the call's
// time-outs. Nothing of a call outlives it.
//
// What Claude thinks comes in blocks with a signature, which the API wants back
// unchanged and in place. They are parts of kind reasoning whose opaque data is
// the whole block; another provider's reasoning has none and is left out.
//
// Start reading at [Model.Stream].
package anthropic

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/goclaw/goclaw/internal/guard/safehttp"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// Model is one server that speaks the wire.
type Model struct {
	client  anthropic.Client
	limits  provider.Limits
	secrets []string
	lessons provider.Lessons[refusals]
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
	// A client that is put together reads no variables of the environment, which
	// anthropic.NewClient does. One place decides about retries, and it isn't here.
	options := []option.RequestOption{
		option.WithBaseURL(baseOf(s.BaseURL)),
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(),
		option.WithMiddleware(provider.Private, provider.ShortErrors, provider.InOnePiece),
		option.WithHeader("User-Agent", "GoClaw"),
	}
	m := &Model{limits: s.Limits}
	if s.Key != "" {
		// The SDK's option for the key sends it as a bearer's token; this is the
		// header that the API documents.
		options = append(options, option.WithHeader("x-api-key", s.Key))
		m.secrets = append(m.secrets, s.Key)
	}
	for name, value := range s.Headers {
		options = append(options, option.WithHeader(name, value))
		m.secrets = append(m.secrets, value)
	}
	m.client = anthropic.Client{Options: options, Models: anthropic.NewModelService(options...)}
	return m
}

// baseOf is the address without what many write into it: the SDK's paths begin
// with the version.
func baseOf(address string) string {
	base := strings.TrimRight(address, "/")
	return strings.TrimSuffix(strings.TrimSuffix(base, "/messages"), "/v1")
}

// Stream implements [llm.Model].
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return m.limits.Answer(ctx, req.Target, m.secrets, func(ctx context.Context, watch *provider.Watch, yield func(llm.Event, error) bool) error {
		resp, err := m.send(ctx, &req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return read(resp, watch, req.Target, names.Names(req.Tools).Restored(yield))
	})
}

// send makes the request and returns the answer once its header came. A server
// that refuses a setting, not the request, is asked again without it; so is one
// that refuses the thinking of this conversation.
func (m *Model) send(ctx context.Context, req *llm.Request) (*http.Response, error) {
	bare := false
	for {
		learned := m.lessons.Of(req.Target.Model)
		f := formOf(req, learned, bare)
		body, err := encode(req, f)
		if err != nil {
			return nil, &llm.Error{Class: llm.ClassBadRequest, Message: err.Error(), Err: err}
		}
		resp, err := m.post(ctx, body, f)
		var refused *fault
		if !errors.As(err, &refused) {
			return resp, err
		}
		switch {
		case m.lessons.Learn(req.Target.Model, learned, refused.lesson(f)):
		case !bare && refused.ofThinking():
			bare = true
		default:
			return nil, refused.Failure(m.secrets...)
		}
	}
}

// post sends body. The error is a *fault when the server answered with one.
func (m *Model) post(ctx context.Context, body []byte, f form) (*http.Response, error) {
	var resp *http.Response
	err := m.client.Post(ctx, "v1/messages", body, &resp, f.headers()...)
	if resp != nil && resp.StatusCode >= 400 {
		return nil, answerFault(resp, provider.ErrorText(resp))
	}
	if err != nil {
		return nil, provider.Unreachable(err, m.secrets...)
	}
	return resp, nil
}

// whose format an answer has to have.
const whose = "Anthropic's"

// read yields the events of an answer. The error is provider.ErrLeft when the
// consumer left.
func read(resp *http.Response, watch *provider.Watch, t llm.Target, yield func(llm.Event, error) bool) error {
	in, c, err := watch.Open(resp.Body)
	if err != nil {
		return err
	}
	switch {
	case c == '{':
		return readDocument(in, t, yield)
	case c == '[' || c == '<' || !in.IsStream(resp.Header.Get("Content-Type")):
		return provider.ReadForeign(in, whose)
	}
	r := &reply{}
	for !r.ended {
		data, err := in.Next()
		if err == nil {
			err = r.event(data)
		}
		switch {
		case err != nil && r.stop != "":
			r.ended = true // what comes behind the reason is only of use for counting
		case errors.Is(err, io.EOF):
			return provider.ErrDead
		case err != nil:
			return err
		case !r.tell(yield):
			return provider.ErrLeft
		case r.stop != "" && !r.hurried:
			r.hurried = true
			watch.Hurry(provider.Grace)
		}
	}
	if r.stop == "" {
		return provider.ErrDead
	}
	if !r.end(t, yield) {
		return provider.ErrLeft
	}
	watch.Finish(resp.Body)
	return nil
}

// readDocument reads the answer of a server that doesn't stream.
func readDocument(in *wire.Events, t llm.Target, yield func(llm.Event, error) bool) error {
	body, err := in.Rest()
	if err != nil {
		return err
	}
	body = bytes.TrimPrefix(body, wire.ByteOrderMark)
	r := &reply{}
	switch err := r.event(body); {
	case errors.Is(err, provider.ErrMalformed):
		return provider.ErrDead
	case err != nil:
		return err
	case !r.ended:
		return &provider.Foreign{Vendor: whose, Body: []byte(readFault(body).message)}
	case !r.end(t, yield):
		return provider.ErrLeft
	}
	return nil
}

// maxListed bounds how many models a list has.
const maxListed = 1000

// List implements [provider.Lister].
func (m *Model) List(ctx context.Context) ([]string, error) {
	var resp *http.Response
	var listing provider.Listing
	page, err := m.client.Models.List(ctx, anthropic.ModelListParams{Limit: anthropic.Int(maxListed)},
		option.WithResponseInto(&resp), option.WithMiddleware(listing.Short))
	if err != nil {
		return nil, listing.Failure(ctx, resp, err, whose, listFault, m.secrets...)
	}
	names := make([]string, 0, len(page.Data))
	for _, d := range page.Data {
		names = append(names, d.ID)
	}
	return names, nil
}

func listFault(resp *http.Response) provider.Fault {
	return answerFault(resp, provider.ErrorText(resp))
}
