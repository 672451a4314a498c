package safehttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"

	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// Rules say where requests may go whose address nobody vouches for: one that a
// model, a page or a rule on calls chose. They are the block tools.http of the
// configuration. The zero value lets nothing through.
type Rules struct {
	// Open lets hosts through that stand in no list.
	Open bool
	// Allow and Deny hold hosts: a name, *.domain (what is below it), *, a
	// name or address with :port, an address, or a network as 10.0.0.0/8. What
	// Deny names stays refused.
	Allow, Deny []source.Text
	// AllowPrivate holds addresses and networks that may be reached although
	// they are not public. An entry in Allow is not enough for them.
	AllowPrivate []source.Text
	// Methods are the methods of requests that may be sent.
	Methods []string
}

// Guard decides by [Rules]. It is immutable and safe for concurrent use.
type Guard struct {
	open        bool
	allow, deny []entry
	private     []entry
	methods     []string
	public      *ssrf.Guardian
	resolve     func(ctx context.Context, host string) ([]netip.Addr, error)
}

// NewGuard reads rules. The error names the entry that can't be read, which may
// not be left out: it could be one that forbids.
func NewGuard(r Rules) (*Guard, error) {
	g := &Guard{
		open: r.Open, methods: r.Methods, public: ssrf.New(ssrf.WithAnyPort()),
		resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
	}
	for _, list := range []struct {
		of    []source.Text
		to    *[]entry
		names bool
	}{{r.Allow, &g.allow, true}, {r.Deny, &g.deny, true}, {r.AllowPrivate, &g.private, false}} {
		for _, text := range list.of {
			e, err := parseEntry(text)
			if err == nil && !list.names && !e.net.IsValid() {
				err = errors.New("it is no address and no network")
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", text.Pos, text.Value, err)
			}
			*list.to = append(*list.to, e)
		}
	}
	return g, nil
}

// Check refuses what can be refused of a request to u without asking for the
// addresses of its host. The error is a [*tool.Refusal].
func (g *Guard) Check(method string, u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse("scheme", "Use http or https.", source.Pos{}, "Addresses that begin with %q are not requested.", u.Scheme)
	case u.User != nil:
		return refuse("userinfo", "Leave user and password out of the address.", source.Pos{}, "An address with a user in it is not requested.")
	case !slices.Contains(g.methods, method):
		return refuse("methods", "tools.http.methods has "+strings.Join(g.methods, ", ")+".", source.Pos{}, "The method %s is not allowed.", method)
	}
	at, err := parseHost(u)
	if err != nil {
		return refuse("host", "", source.Pos{}, "The host of the address is not usable: %v.", err)
	}
	var known []netip.Addr
	switch {
	case at.ip.IsValid():
		known = []netip.Addr{at.ip}
	case at.name == "localhost" || strings.HasSuffix(at.name, ".localhost"):
		known = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	default:
		// Whether an entry by network lets it through is seen when its
		// addresses are known.
		if e := first(g.deny, at, netip.Addr{}); e != nil {
			return g.denied(at, e)
		}
		if !g.open && first(g.allow, at, netip.Addr{}) == nil && !slices.ContainsFunc(g.allow, func(e entry) bool { return e.net.IsValid() }) {
			return g.unlisted(at)
		}
		return nil
	}
	return g.decide(at, known[0])
}

// decide says whether a connection may be made to ip on the way to at.
func (g *Guard) decide(at host, ip netip.Addr) error {
	if e := first(g.deny, at, ip); e != nil {
		return g.denied(at, e)
	}
	if !g.open && first(g.allow, at, ip) == nil {
		return g.unlisted(at)
	}
	if first(g.private, at, ip) != nil {
		return nil
	}
	for _, a := range spellings(ip) {
		if g.public.SafeAddr(a) != nil {
			return refuse("private_address", "An admin can let it be reached with tools.http.allow_private.", source.Pos{},
				"%s is at %s, which is no public address.", at, ip)
		}
	}
	return nil
}

func (g *Guard) denied(at host, e *entry) error {
	return refuse("deny", "", e.text.Pos, "%s is denied by tools.http.deny %q.", at, e.text.Value)
}

func (g *Guard) unlisted(at host) error {
	return refuse("allow", "An admin can add it to tools.http.allow.", source.Pos{Key: "tools.http.allow"}, "%s is not among the hosts of tools.http.allow.", at)
}

func refuse(rule, allowed string, where source.Pos, format string, args ...any) error {
	r := tool.Refusef("http", rule, allowed, format, args...)
	r.Where = where
	return r
}

// Client returns a client that is held to the guard, at each request before
// anything is sent and at each connection by the address that is dialed. It
// follows no redirect: the answer is the redirect itself. It uses no proxy.
// Errors that are the guard's are a [*tool.Refusal] within.
func (g *Guard) Client() *http.Client {
	d := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		ForceAttemptHTTP2: true, DisableCompression: true,
		TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: idleTimeout,
		MaxIdleConns: idleConns, MaxResponseHeaderBytes: maxHeaderBytes,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return g.dial(ctx, d, network, addr)
		},
	}
	return &http.Client{
		Transport:     &guarded{guard: g, next: t},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// guarded holds each request to the guard.
type guarded struct {
	guard *Guard
	next  *http.Transport
}

// RoundTrip implements [http.RoundTripper].
func (t *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.guard.Check(r.Method, r.URL); err != nil {
		if r.Body != nil {
			// The contract of a RoundTripper: the body is closed on errors too.
			_ = r.Body.Close()
		}
		return nil, err
	}
	return t.next.RoundTrip(r)
}

// CloseIdleConnections closes the connections that no request uses.
func (t *guarded) CloseIdleConnections() { t.next.CloseIdleConnections() }

// dial connects to the first address of a host that may be reached: to exactly
// the address that was decided on, whatever the name stands for a moment later.
func (g *Guard) dial(ctx context.Context, d *net.Dialer, network, addr string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	at, err := parseHost(&url.URL{Scheme: "http", Host: net.JoinHostPort(name, port)})
	if err != nil {
		return nil, err
	}
	addresses := []netip.Addr{at.ip}
	if !at.ip.IsValid() {
		if addresses, err = g.resolve(ctx, at.name); err != nil {
			return nil, err
		}
	}
	err = fmt.Errorf("%s has no address", at.name)
	for _, ip := range addresses {
		ip = ip.Unmap().WithZone("")
		if refusal := g.decide(at, ip); refusal != nil {
			err = refusal
			continue
		}
		conn, failed := d.DialContext(ctx, network, net.JoinHostPort(ip.String(), strconv.Itoa(int(at.port))))
		if failed == nil {
			return conn, nil
		}
		err = failed
	}
	return nil, err
}
