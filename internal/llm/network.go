package llm

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"syscall"
)

// Unreached is why a server could not be talked to, with what mends it, and the
// key of the provider's settings to look at: base_url or proxy. Both are empty
// when e is about something else, or its cause is not known.
func (e *Error) Unreached() (why, key string) {
	var dns *net.DNSError
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	dialed := errors.As(e.Err, &op)
	switch {
	case e.Class != ClassNetwork || e.Status != 0:
		return "", ""
	case dialed && op.Op == "proxyconnect":
		return "the proxy can't be reached", "proxy"
	case errors.As(e.Err, &dns):
		return "the name of the host is not known: a slip, or the network's DNS", "base_url"
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		return "nothing listens there: start the server", "base_url"
	case errors.As(e.Err, &certificate), errors.As(e.Err, new(x509.UnknownAuthorityError)), errors.As(e.Err, new(x509.HostnameError)):
		return "its certificate is not to be trusted: mend it, or the clock or the certificates of this machine", "base_url"
	case errors.As(e.Err, &header), errors.Is(e.Err, http.ErrSchemeMismatch):
		return "it speaks no TLS: write http:// in place of https://", "base_url"
	case dialed && op.Op == "dial":
		return "the server or the network is down", "base_url"
	}
	return "", ""
}
