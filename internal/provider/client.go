package provider

import (
	"context"
	"io"
	"net/http"
	"strings"
)

// Next passes a request on, in what the official clients of several vendors
// call middleware. [Private], [ShortErrors], [Listing.Short] and
// [InOnePiece] are such.
type Next = func(*http.Request) (*http.Response, error)

// Private takes out what a client tells of the machine and the compiler, which a
// server need not know. An option for each header would be applied, and kept
// for another provider, with each request.
func Private(r *http.Request, next Next) (*http.Response, error) {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Stainless-") {
			delete(r.Header, name)
		}
	}
	return next(r)
}

// maxErrorBody bounds, in bytes, what is read of an answer that is an error.
const maxErrorBody = 64 << 10

// ShortErrors bounds the body of an error, which a client reads whole.
func ShortErrors(r *http.Request, next Next) (*http.Response, error) {
	resp, err := next(r)
	if err == nil && resp.StatusCode >= 400 {
		shorten(resp, maxErrorBody)
	}
	return resp, err
}

// maxList bounds, in bytes, what is read of a list of models.
const maxList = 16 << 20

// Listing is one request for a list of models.
type Listing struct {
	// Start is the beginning of what came, for who says what there is in the
	// place of a list.
	Start []byte
}

// Short bounds the body of a list of models, which a client reads whole.
func (l *Listing) Short(r *http.Request, next Next) (*http.Response, error) {
	resp, err := next(r)
	if err == nil {
		shorten(resp, maxList)
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(resp.Body, l), resp.Body}
	}
	return resp, err
}

// Write implements [io.Writer].
func (l *Listing) Write(p []byte) (int, error) {
	l.Start = append(l.Start, p[:min(len(p), maxForeign-len(l.Start))]...)
	return len(p), nil
}

func shorten(resp *http.Response, most int64) {
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, most), resp.Body}
}

// InOnePiece takes the body out of the wrapper that a client puts around it.
// Only of a body that it knows to lie in memory does net/http send the header
// and the beginning at once; else the header goes first, in a packet of its
// own.
func InOnePiece(r *http.Request, next Next) (*http.Response, error) {
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

// Failure is why an official client gave no list of models: resp is the answer,
// nil when none came, of which fault reads what is an error.
func (l *Listing) Failure(
	ctx context.Context, resp *http.Response, err error, vendor string, fault func(*http.Response) Fault, secrets ...string,
) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case resp == nil:
		return Unreachable(err, secrets...)
	case resp.StatusCode >= 400:
		return fault(resp).Failure(secrets...)
	}
	return Failure(&Foreign{Vendor: vendor, Body: l.Start}, secrets...)
}
