// Package gemini speaks Google's Gemini API as generateContent has it. It owns
// the translation of a request and of a streamed answer, in the words of the
// official SDK's types, and makes the call by itself: the SDK's client reads the
// environment, goes on with an answer and tries again as it sees fit, and keeps
// the stream to itself.
//
// A [Model] is one server. It holds idle connections and what it learned of the
// server's refusals, is safe for concurrent use and needs no closing. Each call
// is one request on the goroutine of whoever ranges over the answer; leaving
// the range closes the connection, and so does any of the call's time-outs.
// Nothing of a call outlives it.
//
// What the model thought comes as signatures on parts of the answer, and each
// has to go back on the very part with which it came; see [kept]. A call by
// another vendor's model has none and gets the value that the documentation
// gives for that.
//
// Start reading at [Model.Stream].
package gemini

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/goclaw/goclaw/internal/guard/safehttp"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// Model is one server that speaks the wire.
type Model struct {
	server  provider.Server // its address has the version of the API
	limits  provider.Limits
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
	return &Model{
		server: provider.NewServer(client, versioned(s.BaseURL), s, "X-Goog-Api-Key", ""),
		limits: s.Limits,
	}
}

// versioned is the address with the version of the API, which people write into
// it or not; some write the path of the interface that is OpenAI's as well.
func versioned(base string) string {
	base = strings.TrimRight(base, "/")
	base = strings.TrimRight(strings.TrimSuffix(base, "/openai"), "/")
	base = strings.TrimRight(strings.TrimSuffix(base, "/models"), "/")
	switch base[strings.LastIndexByte(base, '/')+1:] {
	case "v1", "v1beta", "v1alpha":
		return base
	}
	return base + "/v1beta"
}

// path is the resource that a model is on the server.
func path(model string) string {
	if !strings.HasPrefix(model, "models/") && !strings.HasPrefix(model, "tunedModels/") {
		model = "models/" + model
	}
	kind, name, _ := strings.Cut(model, "/")
	return "/" + kind + "/" + url.PathEscape(name)
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
// that refuses a setting, not the request, is asked again without it; so is one
// that refuses the signatures of this conversation.
func (m *Model) send(ctx context.Context, req *llm.Request) (*http.Response, error) {
	bare := false
	for {
		learned := m.lessons.Of(req.Target.Model)
		f := formOf(req, learned, bare)
		body, err := encode(req, f)
		if err != nil {
			return nil, &llm.Error{Class: llm.ClassBadRequest, Message: err.Error(), Err: err}
		}
		resp, err := m.do(ctx, http.MethodPost, path(req.Target.Model)+":streamGenerateContent?alt=sse", body)
		var refused *fault
		if !errors.As(err, &refused) {
			return resp, err
		}
		switch {
		case m.lessons.Learn(req.Target.Model, learned, refused.lesson(f)):
		case !bare && refused.ofSignatures():
			bare = true
		default:
			return nil, refused
		}
	}
}

// do sends a request. The error is a *fault when the server answered with one.
func (m *Model) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	resp, err := m.server.Do(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 400 {
		defer resp.Body.Close()
		return nil, answerFault(resp, provider.ErrorText(resp))
	}
	return resp, nil
}
