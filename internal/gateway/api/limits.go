package api

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// All limits hold on loopback too: what runs on this machine is not trusted
// more for that.
const (
	maxBody     = 1 << 20 // of a body that nobody asked for, in bytes
	maxRequests = 512     // under way at once, of all callers
	maxCaller   = 384     // of one caller, so that there is room for others
	maxStreams  = 256     // of them, those that can stream: a program may serve many people
	maxGuests   = 64      // requests under way at once that need no sign-in, of all addresses
	maxGuest    = 16      // of one address

	maxMisses  = 10              // wrong credentials of an address before they are held back
	missRefill = 6 * time.Second // after which it has one more
	maxMissers = 4096            // addresses remembered, the last ones
)

// Time-outs of connections. None bounds how long an answer may take: a stream
// ends with its run, and each write has a limit of its own ([sendWithin]).
const (
	headersWithin = 10 * time.Second // from a request's first byte to the end of its headers
	bodyWithin    = 30 * time.Second // to the end of its body, unless its route gives it longer
	idleWithin    = 2 * time.Minute  // between two requests
	maxHeaders    = 32 << 10         // bytes
	slowest       = 32 << 10         // bytes of a body in a second that a route waits for
)

// HTTPServer makes the server for a handler of this package, with the time-outs
// that keep slow and silent clients from holding connections: they stand beside
// the limits that complete them. The caller sets ErrorLog and BaseContext.
func HTTPServer(h http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true) // the limits count connections' requests one by one
	return &http.Server{
		Handler:           h,
		Protocols:         &protocols,
		ReadHeaderTimeout: headersWithin,
		// It also holds for a body that is only read to be thrown away, when
		// the request was refused before.
		ReadTimeout:    bodyWithin,
		IdleTimeout:    idleWithin,
		MaxHeaderBytes: maxHeaders,
		// "OPTIONS *" would be answered without a look at who asks.
		DisableGeneralOptionsHandler: true,
	}
}

// bodyTime is how long a route waits for a body of a size.
func bodyTime(size int64) time.Duration {
	return bodyWithin + time.Duration(size/slowest)*time.Second
}

// misses counts wrong credentials by address. It is safe for concurrent use.
type misses struct {
	mu sync.Mutex // between looking for an address and adding it
	by *lru.Cache[netip.Prefix, *rate.Limiter]
}

func newMisses() (*misses, error) {
	by, err := lru.New[netip.Prefix, *rate.Limiter](maxMissers)
	return &misses{by: by}, err
}

func (m *misses) of(addr string) *rate.Limiter {
	net := network(addr)
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.by.Get(net)
	if !ok {
		l = rate.NewLimiter(rate.Every(missRefill), maxMisses)
		m.by.Add(net, l)
	}
	return l
}

// add notes a wrong credential. It returns 0, or how long to wait before the
// next is answered as such.
func (m *misses) add(addr string, now time.Time) time.Duration {
	r := m.of(addr).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// left reports whether another wrong credential would be answered as such.
func (m *misses) left(addr string, now time.Time) bool {
	m.mu.Lock()
	l, ok := m.by.Peek(network(addr))
	m.mu.Unlock()
	return !ok || l.TokensAt(now) >= 1
}

// network is what one person can be expected to hold of addresses: one of IPv4,
// 64 bits of IPv6. What is no address counts as one.
func network(addr string) netip.Prefix {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.Prefix{}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// slots counts what is under way. Requests that need no sign-in have slots of
// their own, so that nobody unknown can take those of people who work. It is
// safe for concurrent use.
type slots struct {
	mu      sync.Mutex
	total   int
	callers map[string]load // by id
	all     int             // of guests
	guests  map[netip.Prefix]int
}

// enter takes a slot, or says that all are taken. Health is asked for most when
// nothing else is answered, and takes none.
func (s *slots) enter(rt route, addr string) *Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case rt.access != public && s.total < maxRequests:
		s.total++
	case rt.access != public:
		return busy("%d requests are under way, and more are not taken; try again in a moment", maxRequests)
	case !rt.page:
	case s.all < maxGuests && s.guests[network(addr)] < maxGuest:
		s.all++
		s.guests[network(addr)]++
	default:
		return busy("many are signing in, and more requests are not taken; try again in a moment")
	}
	return nil
}

func busy(format string, args ...any) *Problem {
	p := problem(http.StatusServiceUnavailable, "busy", format, args...)
	p.after = time.Second
	return p
}

// leave gives back what enter took.
func (s *slots) leave(rt route, addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case rt.access != public:
		s.total--
	case rt.page:
		s.all--
		if n := network(addr); s.guests[n] == 1 {
			delete(s.guests, n)
		} else {
			s.guests[n]--
		}
	}
}

// load is what one caller has under way.
type load struct{ requests, streams int }

// enterCaller takes one of a caller's slots, and one of those for streams if the
// request can stream.
func (s *slots) enterCaller(caller string, stream bool) *Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.callers[caller]
	switch {
	case l.requests >= maxCaller:
		return crowded("you have %d requests under way, and more are not taken; try again in a moment", maxCaller)
	case stream && l.streams >= maxStreams:
		return crowded("you have %d streams open, and more are not taken; close one or try again in a moment", maxStreams)
	}
	l.requests++
	if stream {
		l.streams++
	}
	s.callers[caller] = l
	return nil
}

func crowded(format string, args ...any) *Problem {
	p := problem(http.StatusTooManyRequests, "rate_limited", format, args...)
	p.after = time.Second
	return p
}

// leaveCaller gives back what enterCaller took.
func (s *slots) leaveCaller(caller string, stream bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.callers[caller]
	l.requests--
	if stream {
		l.streams--
	}
	if s.callers[caller] = l; l.requests == 0 {
		delete(s.callers, caller)
	}
}
