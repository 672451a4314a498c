package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/goclaw/goclaw/internal/guard/safehttp"
)

// place is where a gateway listens.
type place struct {
	net.Listener
	loopback bool   // only this machine can reach it
	local    string // host:port for programs of this machine
}

// listen opens the port at which the gateway is asked. Where others could reach
// it, guarded says that a secret keeps them out; without one they could be
// anybody, and the address is refused.
func listen(ctx context.Context, address string, guarded bool) (*place, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen: %q is no address and port such as 127.0.0.1:18800 or [::1]:18800", address)
	}
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	loopback := at.IP != nil && at.IP.IsLoopback()
	if !loopback && !guarded {
		return nil, fmt.Errorf("listen on %s: refused, since other machines could reach it and nothing keeps them out; "+
			"set GOCLAW_TOKEN to a secret of at least 24 characters, or listen on 127.0.0.1:%s", address, port)
	}
	var lc net.ListenConfig
	// By the address that was looked at, which another look-up of the name might not give.
	bound := at.String()
	if host == "" {
		bound = address
	}
	l, err := lc.Listen(ctx, "tcp", bound)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: the port is in use by %s; choose another with --listen or gateway.listen (port 0 finds a free one)", address, holder(ctx, at))
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("listen on %s: the system doesn't let this user listen there; take a port above 1023: %w", address, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("listen on %s: this machine has no such address; see gateway.listen or --listen: %w", address, err)
	case err != nil:
		return nil, fmt.Errorf("listen: %w", err)
	}
	return &place{Listener: l, loopback: loopback, local: localAddress(l.Addr())}, nil
}

// localAddress is where programs of this machine reach a listener.
func localAddress(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return a.String()
	}
	if t.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(t.Port))
	}
	return t.String()
}

// holderWithin is how long a program at a port that is taken may take to show
// what it is.
const holderWithin = 500 * time.Millisecond

// holder says for people who may hold a port.
func holder(ctx context.Context, at *net.TCPAddr) string {
	if at.IP.IsUnspecified() || at.IP == nil {
		at = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at.Port}
	}
	ctx, cancel := context.WithTimeout(ctx, holderWithin)
	defer cancel()
	if isGateway(ctx, "http://"+at.String()) {
		return "another GoClaw gateway, of another home folder"
	}
	return "another program"
}

// isGateway reports whether a gateway answers at base.
func isGateway(ctx context.Context, base string) bool {
	client, err := safehttp.Endpoint(base, safehttp.EndpointOptions{})
	if err != nil {
		return false
	}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/me", nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close() // only the header was wanted
	return resp.StatusCode == http.StatusUnauthorized && resp.Header.Get("X-Request-ID") != "" &&
		strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json")
}
