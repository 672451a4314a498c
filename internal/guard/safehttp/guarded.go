package safehttp

import (
	"cmp"
	"context"
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

	"github.com/goclaw/goclaw/internal/lib/nearest"
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
	Methods []source.Text
	// Where is the block that they were written in; zero when they are the defaults.
	Where source.Pos
}

// BadEntry is an entry of rules that can't be read.
type BadEntry struct {
	Text source.Text
	Err  error // what is wrong with it, and what to write instead
}

// Bad are the entries that can't be read, which are those for which [NewGuard]
// fails.
func (r Rules) Bad() []BadEntry {
	_, bad := read(r)
	return bad
}

// Guard decides by [Rules]. It is immutable and safe for concurrent use.
type Guard struct {
	rules       Rules
	allow, deny []entry
	private     []entry
	public      *ssrf.Guardian
	resolve     func(ctx context.Context, host string) ([]netip.Addr, error)
}

// NewGuard reads rules. The error names the entry that can't be read, which may
// not be left out: it could be one that forbids.
func NewGuard(r Rules) (*Guard, error) {
	g, bad := read(r)
	if len(bad) > 0 {
		return nil, fmt.Errorf("%s: %q: %w", bad[0].Text.Pos, bad[0].Text.Value, bad[0].Err)
	}
	return g, nil
}

func read(r Rules) (g *Guard, bad []BadEntry) {
	g = &Guard{
		rules: r, public: ssrf.New(ssrf.WithAnyPort()),
		resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
	}
	for _, list := range []struct {
		of   []source.Text
		to   *[]entry
		read func(source.Text) (entry, error)
	}{{r.Allow, &g.allow, parseEntry}, {r.Deny, &g.deny, parseEntry}, {r.AllowPrivate, &g.private, parsePrivate}} {
		for _, text := range list.of {
			e, err := list.read(text)
			if err != nil {
				bad = append(bad, BadEntry{text, err})
				continue
			}
			*list.to = append(*list.to, e)
		}
	}
	for _, text := range r.Methods {
		if err := checkMethod(text.Value); err != nil {
			bad = append(bad, BadEntry{text, err})
		}
	}
	return g, bad
}

// methods are those that requests have: RFC 9110 without those for proxies, RFC
// 5789, and those of WebDAV.
var methods = []string{
	"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "SEARCH", "REPORT",
	"PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK",
}

func checkMethod(method string) error {
	if slices.Contains(methods, method) {
		return nil
	}
	if near, ok := nearest.Name(strings.ToUpper(method), methods); ok {
		return fmt.Errorf("there is no such method: write %s", near)
	}
	return fmt.Errorf("there is no such method; known are %s", strings.Join(methods, ", "))
}

// Obstacle is one of the things that keep a request from being sent.
type Obstacle struct {
	Refusal *tool.Refusal
	Edit    string // what to change in the configuration, as an instruction; "" when nothing there helps
}

// Check refuses what can be refused of a request to u without asking for the
// addresses of its host. The error is a [*tool.Refusal].
func (g *Guard) Check(method string, u *url.URL) error {
	if all := g.Obstacles(method, u); len(all) > 0 {
		return all[0].Refusal
	}
	return nil
}

// Obstacles are all that Check refuses a request for. With all their edits it
// would be let through.
func (g *Guard) Obstacles(method string, u *url.URL) (all []Obstacle) {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return []Obstacle{obstacle("scheme", "Use http or https.", source.Pos{}, "", "Addresses that begin with %q are not requested.", u.Scheme)}
	case u.User != nil:
		return []Obstacle{obstacle("userinfo", "Leave user and password out of the address.", source.Pos{}, "", "An address with a user in it is not requested.")}
	}
	if !slices.ContainsFunc(g.rules.Methods, func(m source.Text) bool { return m.Value == method }) {
		at := g.at("methods", g.rules.Methods)
		all = append(all, obstacle("methods", "An admin can add it to tools.http.methods.", at, adding(method, at), "The method %s is not allowed.", method))
	}
	at, err := parseHost(u)
	if err != nil {
		return append(all, obstacle("host", "", source.Pos{}, "", "The host of the address is not usable: %v.", err))
	}
	switch {
	case at.ip.IsValid():
		return append(all, g.stands(at, at.ip)...)
	case at.name == "localhost" || strings.HasSuffix(at.name, ".localhost"):
		return append(all, g.stands(at, netip.AddrFrom4([4]byte{127, 0, 0, 1}))...)
	}
	// Whether an entry by network lets it through is seen when its addresses
	// are known.
	all = append(all, g.denied(at, netip.Addr{})...)
	if !g.rules.Open && first(g.allow, at, netip.Addr{}) == nil && !slices.ContainsFunc(g.allow, func(e entry) bool { return e.net.IsValid() }) {
		all = append(all, g.unlisted(at))
	}
	return all
}

// decide says whether a connection may be made to ip on the way to at.
func (g *Guard) decide(at host, ip netip.Addr) error {
	if all := g.stands(at, ip); len(all) > 0 {
		return all[0].Refusal
	}
	return nil
}

// stands is all that stands against a connection to ip on the way to at.
func (g *Guard) stands(at host, ip netip.Addr) []Obstacle {
	all := g.denied(at, ip)
	if !g.rules.Open && first(g.allow, at, ip) == nil {
		all = append(all, g.unlisted(at))
	}
	if first(g.private, at, ip) != nil {
		return all
	}
	for _, a := range spellings(ip) {
		if g.public.SafeAddr(a) != nil {
			where := g.at("allow_private", g.rules.AllowPrivate)
			return append(all, obstacle("private_address", "An admin can let it be reached with tools.http.allow_private.", where, adding(ip.String(), where),
				"%s is at %s, which is no public address.", at, ip))
		}
	}
	return all
}

func (g *Guard) denied(at host, ip netip.Addr) (all []Obstacle) {
	for i := range g.deny {
		if e := &g.deny[i]; e.matches(at, ip) {
			all = append(all, obstacle("deny", "", e.text.Pos, fmt.Sprintf("remove %q from %s", e.text.Value, named(e.text.Pos)),
				"%s is denied by tools.http.deny %q.", at, e.text.Value))
		}
	}
	return all
}

func (g *Guard) unlisted(at host) Obstacle {
	where := g.at("allow", g.rules.Allow)
	return obstacle("allow", "An admin can add it to tools.http.allow.", where, adding(at.name, where), "%s is not among the hosts of tools.http.allow.", at)
}

// at is where a list stands: its first entry, the block when it has none.
func (g *Guard) at(key string, list []source.Text) source.Pos {
	if len(list) > 0 && list[0].Pos.Key != "" {
		return list[0].Pos
	}
	p := g.rules.Where
	p.Key = cmp.Or(p.Key, "tools.http") + "." + key
	return p
}

func adding(value string, at source.Pos) string { return fmt.Sprintf("add %q to %s", value, named(at)) }

// named is a key, with its place when it has one.
func named(p source.Pos) string {
	if p.File == "" && p.Env == "" {
		return p.Key
	}
	return p.Key + " (" + p.Place() + ")"
}

func obstacle(rule, allowed string, where source.Pos, edit, format string, args ...any) Obstacle {
	r := tool.Refusef("http", rule, allowed, format, args...)
	r.Where = where
	return Obstacle{r, edit}
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
