package safehttp

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// decode has the body of resp read as what its server encoded.
func decode(resp *http.Response) {
	switch coding := strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))); coding {
	case "", "identity":
		return
	case "gzip", "x-gzip":
		resp.Body = &gunzip{body: resp.Body}
	default:
		resp.Body = &undecodable{resp.Body, coding}
	}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength, resp.Uncompressed = -1, true
}

// gunzip reads a body that was compressed. Nothing is read before somebody
// reads, since a stream may begin late.
type gunzip struct {
	body io.ReadCloser
	z    *gzip.Reader
	err  error
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.z == nil && g.err == nil {
		g.z, g.err = gzip.NewReader(g.body)
	}
	if g.err != nil {
		return 0, g.err
	}
	return g.z.Read(p)
}

func (g *gunzip) Close() error { return g.body.Close() }

// undecodable is a body in a coding that nobody asked for.
type undecodable struct {
	io.ReadCloser
	coding string
}

func (u *undecodable) Read([]byte) (int, error) {
	return 0, fmt.Errorf("the server encoded its answer as %q, which was not asked for", u.coding)
}
