package safehttp

import (
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server that ends with the test.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func endpointFor(t *testing.T, base string, o EndpointOptions) *http.Client {
	t.Helper()
	c, err := Endpoint(base, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func get(c *http.Client, address string) (string, error) {
	resp, err := c.Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestEndpointReachesOnlyItsAddress(t *testing.T) {
	t.Parallel()
	var strangers atomic.Int32
	stranger := serve(t, func(http.ResponseWriter, *http.Request) { strangers.Add(1) })
	own := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, stranger.URL, http.StatusTemporaryRedirect)
		case "/within":
			http.Redirect(w, r, "/v1", http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		default:
			io.WriteString(w, "here "+r.Header.Get("Accept-Encoding"))
		}
	})
	c := endpointFor(t, own.URL+"/v1", EndpointOptions{})

	if body, err := get(c, own.URL+"/v1/models"); err != nil || body != "here identity" {
		t.Errorf("own address: %q, %v", body, err)
	}
	if body, err := get(c, own.URL+"/within"); err != nil || body != "here identity" {
		t.Errorf("redirect within: %q, %v", body, err)
	}
	if _, err := get(c, own.URL+"/round"); err == nil || !strings.Contains(err.Error(), "10 redirects") {
		t.Errorf("endless redirect: %v", err)
	}
	port := own.Listener.Addr().(*net.TCPAddr).Port
	for _, address := range []string{
		stranger.URL,
		own.URL + "/away",
		strings.Replace(own.URL, "http://", "https://", 1),
		strings.Replace(own.URL, "127.0.0.1", "localhost", 1),
		"http://127.0.0.1",
		"http://user@127.0.0.1:" + stranger.URL[strings.LastIndex(stranger.URL, ":")+1:],
		"ftp://127.0.0.1:" + (&url.URL{Host: own.Listener.Addr().String()}).Port(),
	} {
		if body, err := get(c, address); !errors.Is(err, ErrElsewhere) {
			t.Errorf("%s (own port %d): %q, %v", address, port, body, err)
		}
	}
	if n := strangers.Load(); n != 0 {
		t.Errorf("the stranger was reached %d times", n)
	}
}

// The transport itself refuses what a wrapper around it might let through.
func TestEndpointRefusesAtTheDial(t *testing.T) {
	t.Parallel()
	c := endpointFor(t, "http://127.0.0.1:9", EndpointOptions{})
	dial := c.Transport.(*endpoint).next.DialContext
	if conn, err := dial(t.Context(), "tcp", "127.0.0.1:10"); !errors.Is(err, ErrElsewhere) {
		t.Errorf("dialed: %v, %v", conn, err)
	}
}

// Answers that a server compresses although it was asked not to are read, each
// piece as it comes.
func TestEndpointReadsGzip(t *testing.T) {
	t.Parallel()
	first := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("asked for %q", got)
		}
		coding := r.URL.Query().Get("coding")
		w.Header().Set("Content-Encoding", coding)
		if coding != "gzip" {
			io.WriteString(w, "one two")
			return
		}
		z := gzip.NewWriter(w)
		io.WriteString(z, "one ")
		z.Flush()
		w.(http.Flusher).Flush()
		<-first
		io.WriteString(z, "two")
		z.Close()
	})
	c := endpointFor(t, s.URL, EndpointOptions{})
	resp, err := c.Get(s.URL + "/?coding=gzip")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	begin := make([]byte, 4)
	if _, err := io.ReadFull(resp.Body, begin); err != nil || string(begin) != "one " {
		t.Errorf("%q, %v", begin, err)
	}
	close(first)
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "two" {
		t.Errorf("%q, %v", rest, err)
	}
	for coding, want := range map[string]string{"": "", "identity": "", "br": `encoded its answer as "br"`} {
		got, err := get(c, s.URL+"/?coding="+coding)
		if want == "" && (got != "one two" || err != nil) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v", coding, got, err)
		}
	}
}

func TestEndpointIgnoresProxiesOfTheEnvironment(t *testing.T) {
	own := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "direct") })
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	c := endpointFor(t, own.URL, EndpointOptions{})
	if c.Transport.(*endpoint).next.Proxy != nil {
		t.Error("the transport asks for a proxy")
	}
	if body, err := get(c, own.URL); err != nil || body != "direct" {
		t.Errorf("%q, %v", body, err)
	}
}

func TestEndpointGoesThroughItsProxy(t *testing.T) {
	t.Parallel()
	var asked, credentials string
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked, credentials = r.URL.String(), r.Header.Get("Proxy-Authorization")
		io.WriteString(w, "by proxy")
	})
	p := strings.Replace(proxy.URL, "http://", "http://me:secret@", 1)
	c := endpointFor(t, "http://models.invalid/v1", EndpointOptions{Proxy: p})
	if body, err := get(c, "http://models.invalid/v1/x"); err != nil || body != "by proxy" {
		t.Fatalf("%q, %v", body, err)
	}
	if asked != "http://models.invalid/v1/x" || credentials == "" {
		t.Errorf("the proxy was asked for %q with credentials %q", asked, credentials)
	}
	if _, err := get(c, "http://other.invalid/"); !errors.Is(err, ErrElsewhere) {
		t.Errorf("another host through the proxy: %v", err)
	}
}

func TestEndpointOverTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)

	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	if body, err := get(endpointFor(t, s.URL, EndpointOptions{Roots: roots}), s.URL); err != nil || body != "HTTP/2.0" {
		t.Errorf("%q, %v", body, err)
	}
	var unknown x509.UnknownAuthorityError
	if _, err := get(endpointFor(t, s.URL, EndpointOptions{}), s.URL); !errors.As(err, &unknown) {
		t.Errorf("a certificate that nobody vouches for: %v", err)
	}
}

func TestEndpointStopsWithItsContext(t *testing.T) {
	t.Parallel()
	came := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		// A server notices that its client left once the body has been read.
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		close(came)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-came; cancel() }()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := endpointFor(t, s.URL, EndpointOptions{}).Do(req); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestEndpointRefusesBadAddresses(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"":                              `begins with ""`,
		"api.example.com/v1":            `begins with ""`,
		"ftp://example.com":             `begins with "ftp"`,
		"http://":                       "names no host",
		"https://:443/v1":               "names no host",
		"https://me:secret@example.com": "holds a user or password",
		"https://example.com:port/":     "invalid port",
	} {
		if _, err := Endpoint(base, EndpointOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", base, err)
		}
	}
	for proxy, want := range map[string]string{
		"example.com:3128":            `begins with "example.com"`,
		"ftp://example.com":           `begins with "ftp"`,
		"socks5://":                   "names no host",
		"http://me:secret@host:port/": "invalid port",
	} {
		_, err := Endpoint("http://example.com", EndpointOptions{Proxy: proxy})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("proxy %q: %v", proxy, err)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("proxy %q: the error tells the password: %v", proxy, err)
		}
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"http://Example.com":       "example.com:80",
		"https://example.com/v1":   "example.com:443",
		"http://[::1]:8080/v1":     "[::1]:8080",
		"https://bücher.example":   "xn--bcher-kva.example:443",
		"socks5h://proxy.internal": "proxy.internal:1080",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := address(u); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
