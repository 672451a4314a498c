// Package safehttp makes every HTTP client of GoClaw: no other package builds
// an http.Client, a transport or a dialer, so whom the program talks to is
// decided and tested in one place.
//
// A client belongs to whoever asked for it. It holds idle connections and
// nothing else; they close by themselves when unused, or at once by the
// client's CloseIdleConnections. No client of this package sets a time limit
// on a whole exchange, since answers are streams: callers bound a request by
// its context.
//
// Start reading at [Endpoint], the client of an address that the configuration
// names, and at [Guard], whose client is for addresses that somebody else chose.
package safehttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/idna"
)

// ErrElsewhere is the error of a request or redirect that leaves the endpoint
// for which a client was made.
var ErrElsewhere = errors.New("the address is not the one that the configuration names")

// EndpointOptions completes [Endpoint]. The zero value connects directly and
// trusts the certificate authorities of the system.
type EndpointOptions struct {
	// Proxy is the address of a proxy: http, https, socks5 or socks5h, with
	// user and password where it wants them.
	Proxy string
	// Roots are the certificate authorities to trust in place of the system's.
	Roots *x509.CertPool
}

const (
	dialTimeout = 10 * time.Second
	idleTimeout = 90 * time.Second
	// idleConns covers as many runs as stream at the same time, so that the
	// next round of each finds a warm connection.
	idleConns = 64
	// maxHeaderBytes bounds what an answer's header may hold.
	maxHeaderBytes = 256 << 10
	// bufferBytes holds a request of usual size or several chunks of a stream,
	// so that each takes one system call.
	bufferBytes = 16 << 10
)

// Endpoint returns a client that reaches exactly the scheme, host and port of
// base, whether its address is public or private, through the proxy if there
// is one and never by what the environment says of proxies. A request for
// another address, or a redirect to one, fails with [ErrElsewhere] before
// anything is sent there; redirects within the endpoint are followed, up to
// ten. Answers are asked for as they are, since compressing delays a stream;
// one that comes with gzip all the same is read, with another coding its body
// fails.
func Endpoint(base string, o EndpointOptions) (*http.Client, error) {
	u, err := parseBase(base)
	if err != nil {
		return nil, err
	}
	e := &endpoint{scheme: u.Scheme, address: address(u)}
	reach := e.address
	t := &http.Transport{
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		TLSHandshakeTimeout:    dialTimeout,
		MaxIdleConns:           idleConns,
		MaxIdleConnsPerHost:    idleConns,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ReadBufferSize:         bufferBytes,
		WriteBufferSize:        bufferBytes,
		// A connection that died without a word is found by a ping, before a
		// person has waited for the whole idle time-out of a stream.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 20 * time.Second, PingTimeout: 10 * time.Second},
	}
	if o.Proxy != "" {
		p, err := parseProxy(o.Proxy)
		if err != nil {
			return nil, err
		}
		t.Proxy = http.ProxyURL(p)
		reach = address(p)
	}
	if o.Roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
	}
	d := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !strings.EqualFold(addr, reach) {
			return nil, fmt.Errorf("connect to %s: %w", addr, ErrElsewhere)
		}
		return d.DialContext(ctx, network, addr)
	}
	e.next = t
	return &http.Client{Transport: e, CheckRedirect: e.redirect}, nil
}

// endpoint lets requests through that stay where the client may go.
type endpoint struct {
	scheme, address string
	next            *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := e.check(r.URL); err != nil {
		if r.Body != nil {
			// The contract of a RoundTripper: the body is closed on errors too.
			_ = r.Body.Close()
		}
		return nil, err
	}
	if r.Header.Get("Accept-Encoding") == "" {
		plain := *r
		plain.Header = r.Header.Clone()
		plain.Header.Set("Accept-Encoding", "identity")
		r = &plain
	}
	resp, err := e.next.RoundTrip(r)
	if err == nil {
		decode(resp)
	}
	return resp, err
}

// CloseIdleConnections closes the connections that no request uses.
func (e *endpoint) CloseIdleConnections() { e.next.CloseIdleConnections() }

const maxRedirects = 10

func (e *endpoint) redirect(r *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	return e.check(r.URL)
}

func (e *endpoint) check(u *url.URL) error {
	if u.Scheme == e.scheme && strings.EqualFold(address(u), e.address) {
		return nil
	}
	return fmt.Errorf("%s://%s: %w", u.Scheme, u.Host, ErrElsewhere)
}

// parseBase reads the address of an endpoint. A user or password in it would
// end up wherever addresses are shown, so it is refused.
func parseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("parse address of endpoint: %w", withoutURL(err))
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("parse address of endpoint: it begins with %q; want http:// or https://", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("parse address of endpoint: it names no host")
	case u.User != nil:
		return nil, errors.New("parse address of endpoint: it holds a user or password; put the key where keys belong")
	}
	return u, nil
}

func parseProxy(proxy string) (*url.URL, error) {
	u, err := url.Parse(proxy)
	if err != nil {
		return nil, fmt.Errorf("parse address of proxy: %w", withoutURL(err))
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
	default:
		return nil, fmt.Errorf("parse address of proxy: it begins with %q; want http://, https://, socks5:// or socks5h://", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, errors.New("parse address of proxy: it names no host")
	}
	return u, nil
}

// withoutURL drops the address from an error of url.Parse: it may hold a
// password.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// address is host:port of u in the form in which a transport dials it: the
// host in ASCII and lower case, the port being that of the scheme when u has
// none.
func address(u *url.URL) string {
	host := u.Hostname()
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	port := u.Port()
	if port == "" {
		switch u.Scheme {
		case "https":
			port = "443"
		case "socks5", "socks5h":
			port = "1080"
		default:
			port = "80"
		}
	}
	return net.JoinHostPort(strings.ToLower(host), port)
}
