// Package ollama speaks the API of an Ollama server. It owns the translation of
// a request and of a streamed answer, and what the server says of its models:
// what they take and how much they hold. The request's settings are the
// official package's types; its client reads variables of the environment and a
// private key of the person, tells the machine's kind and takes a stream that
// breaks for one that ended, so the calls are made here.
//
// A [Model] is one server. It holds idle connections and what the server said
// of its models and refused, is safe for concurrent use and needs no closing.
// Each call is one request on the goroutine of whoever ranges over the answer;
// leaving the range closes the connection, and so does any of the call's
// time-outs. Nothing of a call outlives it.
//
// Start reading at [Model.Stream]; what a model gets of a request is decided in
// form.go.
package ollama

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"

	"github.com/goclaw/goclaw/internal/guard/safehttp"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/llm/wire"
	"github.com/goclaw/goclaw/internal/provider"
)

// Model is one server that speaks the wire.
type Model struct {
	server  provider.Server // its address has no path of the API
	window  int             // tokens, as configured; 0 leaves it to what the server says
	limits  provider.Limits
	lessons provider.Lessons[refusals]

	mu    sync.RWMutex
	known map[string]facts // by model
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
	m := &Model{
		server: provider.NewServer(client, baseOf(s.BaseURL), s, "Authorization", "Bearer "),
		window: s.ContextWindow, limits: s.Limits,
	}
	m.limits.Late = "the server may still be loading the model; raise first_byte_timeout"
	m.limits.Silent = "the server sends a call only when the model has written all of it; raise idle_timeout"
	return m
}

// baseOf is the address without what many write into it: a path of the APIs
// that are like OpenAI's, which the same server has, or one of its own.
func baseOf(address string) string {
	base := strings.TrimRight(address, "/")
	for _, path := range []string{"/chat/completions", "/responses", "/v1", "/api/chat", "/api"} {
		base = strings.TrimSuffix(base, path)
	}
	return strings.TrimRight(base, "/")
}

// Stream implements [llm.Model].
func (m *Model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Event, error] {
	return m.limits.Answer(ctx, req.Target, m.server.Secrets, func(ctx context.Context, watch *provider.Watch, yield func(llm.Event, error) bool) error {
		resp, err := m.send(ctx, &req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return read(resp, watch, req.Target, names.Names(req.Tools).Restored(yield))
	})
}

// send makes the request and returns the answer once its header came. A server
// that refuses a setting, not the request, is asked again without it.
func (m *Model) send(ctx context.Context, req *llm.Request) (*http.Response, error) {
	for {
		learned := m.lessons.Of(req.Target.Model)
		f := m.formOf(req, learned)
		body, err := encode(req, f)
		if err != nil {
			return nil, &llm.Error{Class: llm.ClassBadRequest, Message: err.Error(), Err: err}
		}
		resp, err := m.do(ctx, http.MethodPost, "/api/chat", body)
		var refused *fault
		if errors.As(err, &refused) && m.lessons.Learn(req.Target.Model, learned, refused.lesson(f)) {
			continue
		}
		return resp, err
	}
}

// do makes a call. The error is a *fault when the server answered with one.
func (m *Model) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	resp, err := m.server.Do(ctx, method, path, body)
	if err != nil {
		return nil, m.unreachable(err)
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		return nil, answerFault(resp, provider.ErrorText(resp))
	}
	return resp, nil
}

// whose format an answer has to have.
const whose = "Ollama's"

// read yields the events of an answer. The error is provider.ErrLeft when the
// consumer left.
func read(resp *http.Response, watch *provider.Watch, t llm.Target, yield func(llm.Event, error) bool) error {
	in, c, err := watch.Open(resp.Body)
	if err != nil {
		return err
	}
	switch {
	case c != '{':
		return provider.ReadForeign(in, whose)
	}
	r := &reply{}
	for !r.ended {
		line, err := in.Line()
		if err == nil {
			err = r.line(line)
		}
		switch {
		case errors.Is(err, io.EOF) && !r.ours:
			return &provider.Foreign{Vendor: whose, Body: r.first}
		case errors.Is(err, io.EOF):
			return provider.ErrDead
		case errors.Is(err, provider.ErrMalformed) && r.lines == 1:
			if err := readDocument(in, r); err != nil {
				return err
			}
		case err != nil:
			return err
		}
		if !r.tell(yield) {
			return provider.ErrLeft
		}
	}
	if !r.end(t, yield) {
		return provider.ErrLeft
	}
	watch.Finish(resp.Body)
	return nil
}

// readDocument reads an answer that something on the way spread over many
// lines, of which the first is at hand.
func readDocument(in *wire.Events, r *reply) error {
	body, err := in.Rest()
	if err != nil {
		return err
	}
	switch err := r.line(bytes.TrimPrefix(body, wire.ByteOrderMark)); {
	case errors.Is(err, provider.ErrMalformed):
		return provider.ErrDead
	case err != nil:
		return err
	case !r.ours:
		return &provider.Foreign{Vendor: whose, Body: r.first}
	case !r.ended:
		return provider.ErrDead
	}
	return nil
}

// fetch asks for something that is about models and decodes it into v, which
// takes of it what it knows.
func (m *Model) fetch(ctx context.Context, method, path string, body []byte, v any) error {
	resp, err := m.do(ctx, method, path, body)
	return m.server.Document(ctx, resp, err, whose, v)
}

// List implements [provider.Lister]. Models that only turn text into vectors
// are left out.
func (m *Model) List(ctx context.Context) ([]string, error) {
	var list struct {
		Models []struct {
			Name    string `json:"name"`
			Details struct {
				Family string `json:"family"`
			} `json:"details"`
		} `json:"models"`
	}
	if err := m.fetch(ctx, http.MethodGet, "/api/tags", nil, &list); err != nil {
		return nil, err
	}
	var all []string
	for _, l := range list.Models {
		if !strings.Contains(l.Name, "embed") && !strings.HasSuffix(l.Details.Family, "bert") {
			all = append(all, l.Name)
		}
	}
	return all, nil
}
