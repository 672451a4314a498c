package api

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// authority is a host and a port as the headers Host and Origin name them
// (RFC 3986, 3.2). Of the many spellings that parsers take, only those are
// read that browsers and clients send.
type authority struct {
	name string     // in lower case; empty when the host is an IP address
	addr netip.Addr // IPv4 as such, even when written as IPv6; no zone
	port uint16     // 0 when none is written
}

// String is the authority as it is written.
func (a authority) String() string {
	host := a.name
	if host == "" {
		host = a.addr.String()
	}
	switch {
	case a.port != 0 && a.addr.Is6():
		return "[" + host + "]:" + strconv.Itoa(int(a.port))
	case a.port != 0:
		return host + ":" + strconv.Itoa(int(a.port))
	case a.addr.Is6():
		return "[" + host + "]"
	}
	return host
}

// parseAuthority reads HOST, HOST:PORT, [IPv6] or [IPv6]:PORT.
func parseAuthority(s string) (a authority, ok bool) {
	host := s
	var port string
	var hasPort bool
	if rest, six := strings.CutPrefix(s, "["); six {
		inner, after, closed := strings.Cut(rest, "]")
		addr, err := netip.ParseAddr(inner)
		if !closed || err != nil || !addr.Is6() || addr.Zone() != "" {
			return authority{}, false
		}
		a.addr = addr.Unmap()
		if after != "" {
			if port, hasPort = strings.CutPrefix(after, ":"); !hasPort {
				return authority{}, false
			}
		}
	} else {
		host, port, hasPort = strings.Cut(s, ":")
		if addr, err := netip.ParseAddr(host); err == nil {
			a.addr = addr // IPv4: there is no colon in it
		} else if a.name = strings.ToLower(host); !isHostName(a.name) {
			return authority{}, false
		}
	}
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return authority{}, false
		}
		a.port = uint16(n)
	}
	return a, true
}

// isHostName reports whether s is a name of the DNS, or of a machine in a
// network. One that ends in a number is none: parsers that are kinder than
// ours read it as an IPv4 address in another notation.
func isHostName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
		last = label
	}
	return strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

// origin is where a page comes from (RFC 6454): two pages of one origin are one
// site's, and nothing less says so.
type origin struct {
	scheme string
	authority
	other string // what stands behind the scheme when that is not http or https
}

// String is the origin as a browser writes it.
func (o origin) String() string {
	if o.other != "" {
		return o.scheme + "://" + o.other
	}
	return o.scheme + "://" + o.authority.String()
}

// parseOrigin reads SCHEME://AUTHORITY. "null", which pages send whose origin
// is nobody's business, is no origin.
func parseOrigin(s string) (o origin, ok bool) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme == "" || len(rest) > 300 {
		return origin{}, false
	}
	o.scheme = strings.ToLower(scheme)
	switch o.scheme {
	case "http", "https":
		o.authority, ok = parseAuthority(rest)
		if o.port == defaultPort(o.scheme) {
			o.port = 0
		}
		return o, ok
	}
	// Of a browser's extension, for example.
	for i := range len(o.scheme) {
		if c := o.scheme[i]; (c < 'a' || c > 'z') && (i == 0 || c != '-' && c != '+' && c != '.' && (c < '0' || c > '9')) {
			return origin{}, false
		}
	}
	for i := range len(rest) {
		if c := rest[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`/?#@\*,"`, c) >= 0 {
			return origin{}, false
		}
	}
	o.other = rest
	return o, rest != ""
}

func defaultPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

// names holds under which names a gateway may be asked, and whose pages may ask.
type names struct {
	hosts    map[string]bool // lower case, without port
	loopback bool
	public   origin          // of gateway.public_url; zero for none
	listed   map[origin]bool // gateway.cors
	csrf     *http.CrossOriginProtection
}

// newNames reads the settings and complains of what could never match.
func newNames(o Options) (*names, error) {
	n := &names{hosts: map[string]bool{"localhost": true}, loopback: o.Loopback, listed: map[origin]bool{}, csrf: http.NewCrossOriginProtection()}
	for _, h := range o.Hosts {
		if addr, err := netip.ParseAddr(h); err == nil {
			n.add(authority{addr: addr.Unmap().WithZone("")})
		} else if a, ok := parseAuthority(h); ok {
			n.add(a)
		} else {
			return nil, fmt.Errorf("host %q: expected a name such as goclaw.example.org", h)
		}
	}
	trusted := make([]string, 0, len(o.Origins)+1)
	if o.PublicURL != "" {
		u, err := url.Parse(o.PublicURL)
		if err != nil {
			return nil, fmt.Errorf("gateway.public_url: %w", err)
		}
		if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return nil, fmt.Errorf("gateway.public_url %s: it must be an address without a path: the gateway answers at the root of a host", u.Redacted())
		}
		pub, ok := parseOrigin(u.Scheme + "://" + u.Host)
		if !ok || pub.other != "" {
			return nil, fmt.Errorf("gateway.public_url %q: expected an address such as https://goclaw.example.org", o.PublicURL)
		}
		n.public = pub
		trusted = append(trusted, pub.String())
		n.add(pub.authority)
	}
	for _, s := range o.Origins {
		or, ok := parseOrigin(strings.TrimSuffix(s, "/"))
		if !ok {
			return nil, fmt.Errorf("gateway.cors %q: expected an origin such as https://app.example.org; there is no wildcard", s)
		}
		n.listed[or] = true
		trusted = append(trusted, or.String())
	}
	for _, s := range trusted {
		if err := n.csrf.AddTrustedOrigin(s); err != nil {
			return nil, fmt.Errorf("gateway.cors: %w", err)
		}
	}
	return n, nil
}

// add makes a name or an address one of the gateway's. The address that stands
// for all of a machine is none at which anybody asks.
func (n *names) add(a authority) {
	if a.name != "" {
		n.hosts[a.name] = true
	} else if !a.addr.IsUnspecified() {
		n.hosts[a.addr.String()] = true
	}
}

// checkHost refuses a request that was addressed to a name that isn't the
// gateway's. A page of another site can point its own name at this machine (DNS
// rebinding), and its requests would then look like ours but for that name. It
// can't do so with an IP address; those that could not have led here are
// refused all the same. The port says nothing: it may be forwarded.
func (n *names) checkHost(r *http.Request) *Problem {
	// net/http has refused two Host headers, and has put the host of an
	// absolute target into r.Host, where RFC 9112 says that it counts alone.
	a, ok := parseAuthority(r.Host)
	switch {
	case !ok:
		return problem(http.StatusForbidden, "host", "the request's Host is missing or no host name; ask the gateway by its address")
	case a.name != "" && n.hosts[a.name], a.addr.IsValid() && n.hosts[a.addr.String()]:
		return nil
	case a.addr.IsLoopback():
		return nil
	case a.addr.IsValid() && !n.loopback && !a.addr.IsUnspecified() && !a.addr.IsMulticast():
		return nil
	}
	return problem(http.StatusForbidden, "host",
		"%s is not a name of this gateway; if people reach it there, set gateway.public_url to the address that they use, else ask it as localhost", a)
}

// sender is whose page made a request.
type sender int

const (
	direct  sender = iota // no page as far as can be told: a program, a typed address
	ownPage               // one of this gateway
	listed                // one of gateway.cors
)

// checkOrigin refuses requests that pages of other sites make. Every request
// that names an origin is held to it, reading ones too.
func (n *names) checkOrigin(r *http.Request) (sender, *Problem) {
	from := direct
	if values := r.Header["Origin"]; len(values) > 0 {
		o, ok := parseOrigin(values[0])
		switch {
		case len(values) > 1 || !ok:
			return direct, foreign("the request's Origin is none")
		case n.own(o, r.Host):
			from = ownPage
		case n.listed[o]:
			from = listed
		default:
			return direct, foreign("pages of " + o.String() + " may not use this gateway")
		}
	}
	if err := n.csrf.Check(r); err != nil {
		return direct, foreign("a page of another site made the request")
	}
	if from != listed && crossSite(r) && !navigation(r) {
		return direct, foreign("a page of another site made the request")
	}
	return from, nil
}

func foreign(what string) *Problem {
	return problem(http.StatusForbidden, "origin",
		"%s; to let pages of an origin call the API, add it to gateway.cors; if it is the gateway's own address, set gateway.public_url to it", what)
}

// own reports whether o is the gateway's own: what the request itself was
// addressed to, or gateway.public_url, which a proxy may have replaced.
func (n *names) own(o origin, host string) bool {
	if o == n.public {
		return true
	}
	a, ok := parseAuthority(host)
	if !ok || o.other != "" {
		return false
	}
	if a.port == defaultPort(o.scheme) {
		a.port = 0
	}
	if o.authority != a {
		return false
	}
	// When https is the way to a host, a page that came there by http may have
	// been written by anybody on the way.
	return n.public.scheme != "https" || n.public.authority != a
}

// crossSite reports whether a browser says that a page of another site, or of
// another port of this machine, is behind the request.
func crossSite(r *http.Request) bool {
	switch strings.Join(r.Header["Sec-Fetch-Site"], ",") {
	case "", "none", "same-origin":
		return false
	}
	return true
}

// navigation reports whether a browser asks so as to show the answer as a page
// of its own, not within another and not for a script.
func navigation(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// What pages of gateway.cors may send and read. Cookies are never among it.
const (
	corsMethods = "GET, POST, PATCH, DELETE"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-GoClaw-Session, X-Request-ID"
	corsExposed = "Content-Disposition, Retry-After, X-GoClaw-Agent, X-GoClaw-Run, X-GoClaw-Session, X-Request-ID"
	corsMaxAge  = "600" // seconds for which a browser remembers
)

// cors lets a page of a listed origin read the answer, and answers the question
// that a browser asks before (Fetch, 3.2). It reports whether that was all.
func (n *names) cors(w http.ResponseWriter, r *http.Request, from sender) (done bool) {
	h := w.Header()
	if len(n.listed) > 0 {
		h.Add("Vary", "Origin")
	}
	if from != listed {
		return false
	}
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	h.Set("Access-Control-Expose-Headers", corsExposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Add("Vary", "Access-Control-Request-Method")
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders+stainless(r.Header.Get("Access-Control-Request-Headers")))
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// stainless lists those of the wanted headers by which OpenAI's client library
// describes itself. It sends them always, and can't be used from a page else.
func stainless(wanted string) string {
	var b strings.Builder
	for h := range strings.SplitSeq(wanted, ",") {
		h = strings.TrimSpace(h)
		rest, ok := strings.CutPrefix(h, "x-stainless-")
		if ok && len(rest) <= 40 && b.Len() < 1024 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz-") == "" {
			b.WriteString(", " + h)
		}
	}
	return b.String()
}
