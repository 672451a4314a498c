package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/goclaw/goclaw/internal/llm"
)

// Server is where a model's API is: what all requests to it have in common. It
// is not changed once it is used, and safe for concurrent use then.
type Server struct {
	Client  *http.Client
	Base    string      // the address before any path, without a slash at its end
	Query   url.Values  // of each request, where the address has one
	Header  http.Header // of each request
	Secrets []string    // what no error may show
}

// NewServer is the server at base, with the headers that the settings name over
// those that every vendor is sent. Key is the header, and the words before it,
// that carry the key.
func NewServer(client *http.Client, base string, s Settings, keyHeader, keyWords string) Server {
	v := Server{Client: client, Base: base, Header: http.Header{}, Secrets: []string{s.Key}}
	v.Header.Set("User-Agent", "GoClaw")
	v.Header.Set("Content-Type", "application/json")
	if s.Key != "" {
		v.Header.Set(keyHeader, keyWords+s.Key)
	}
	for name, value := range s.Headers {
		v.Header.Set(name, value)
		v.Secrets = append(v.Secrets, value)
	}
	return v
}

// Do sends body to path and returns the answer once its header came, whatever
// its status. The error, if any, is an [llm.Error] of the connection, or of an
// address that is none.
func (s *Server) Do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	// A body that net/http knows to lie in memory goes out in one piece.
	r, err := http.NewRequestWithContext(ctx, method, s.Base+path, bytes.NewReader(body))
	if err != nil {
		return nil, &llm.Error{Class: llm.ClassBadRequest, Message: "base_url is no address", Err: err}
	}
	if len(s.Query) > 0 {
		q := r.URL.Query()
		for name, values := range s.Query {
			q[name] = append(q[name], values...)
		}
		r.URL.RawQuery = q.Encode()
	}
	r.Header = s.Header.Clone()
	resp, err := s.Client.Do(r)
	if err != nil {
		return nil, Unreachable(err, s.Secrets...)
	}
	return resp, nil
}

// Text is the document that [Server.Do] was answered with, and closes the answer;
// more than [MaxReply] is an error. It takes what that returned, or a [Fault]. The error
// is for people, or that of ctx once it has ended.
func (s *Server) Text(ctx context.Context, resp *http.Response, err error) ([]byte, error) {
	var text []byte
	if err == nil {
		defer resp.Body.Close()
		text, err = io.ReadAll(io.LimitReader(resp.Body, MaxReply+1))
		if err == nil && len(text) > MaxReply {
			err = ErrHuge
		}
	}
	switch {
	case err == nil:
		return text, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, Failure(err, s.Secrets...)
}

// Document decodes [Server.Text] into v. What is no JSON isn't from vendor.
func (s *Server) Document(ctx context.Context, resp *http.Response, err error, vendor string, v any) error {
	text, err := s.Text(ctx, resp, err)
	if err != nil {
		return err
	}
	if json.Unmarshal(text, v) != nil {
		return Failure(&Foreign{Vendor: vendor, Body: text}, s.Secrets...)
	}
	return nil
}
