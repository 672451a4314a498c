package safehttp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/goclaw/goclaw/internal/lib/source"
)

// host is where a request goes, in the one spelling that lists are held
// against.
type host struct {
	name string     // in ASCII and lower case, without a dot at its end; that of an address is the address
	ip   netip.Addr // set when the host is an address, however it was spelled
	port uint16
}

func (h host) String() string { return h.name }

// parseHost reads the host of an address. A port that isn't written is the
// scheme's.
func parseHost(u *url.URL) (host, error) {
	h := host{port: 80}
	if u.Scheme == "https" {
		h.port = 443
	}
	if text := u.Port(); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil || n == 0 {
			return h, fmt.Errorf("%q is no port", text)
		}
		h.port = uint16(n)
	}
	var err error
	h.name, h.ip, err = parseName(u.Hostname())
	return h, err
}

// parseName brings a name or address into its one spelling.
func parseName(text string) (string, netip.Addr, error) {
	text = strings.ToLower(text)
	if text == "" {
		return "", netip.Addr{}, errors.New("it is empty")
	}
	if strings.Contains(text, ":") {
		ip, err := netip.ParseAddr(text)
		if err != nil || ip.Zone() != "" {
			return "", netip.Addr{}, fmt.Errorf("%q is no address that is known everywhere", text)
		}
		ip = ip.Unmap()
		return ip.String(), ip, nil
	}
	ascii, err := idna.Lookup.ToASCII(text)
	if err != nil {
		if strings.ContainsFunc(text, func(r rune) bool { return r > '~' || r <= ' ' }) {
			return "", netip.Addr{}, fmt.Errorf("%q is no name of a host", text)
		}
		ascii = text // names with an underscore are in use
	}
	if ascii = strings.TrimSuffix(ascii, "."); ascii == "" || strings.Contains("."+ascii+".", "..") {
		return "", netip.Addr{}, fmt.Errorf("%q is no name of a host", text)
	}
	if isNumeric(ascii) {
		ip, err := parseIPv4(ascii)
		if err != nil {
			return "", netip.Addr{}, err
		}
		return ip.String(), ip, nil
	}
	return ascii, netip.Addr{}, nil
}

// isNumeric reports whether a name ends in a number, in which case resolvers
// read it as an address (https://url.spec.whatwg.org/#ends-in-a-number-checker).
func isNumeric(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil || last != "" && strings.Trim(last, "0123456789") == ""
}

// parseIPv4 reads an address as inet_aton does: one to four numbers, decimal,
// octal or hexadecimal, the last of which fills what is left.
func parseIPv4(text string) (netip.Addr, error) {
	parts := strings.Split(text, ".")
	bad := fmt.Errorf("%q is no address", text)
	if len(parts) > 4 {
		return netip.Addr{}, bad
	}
	var v uint64
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 0, 32)
		if err != nil || strings.Contains(p, "_") || strings.HasPrefix(p, "0b") || strings.HasPrefix(p, "0o") {
			return netip.Addr{}, bad
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, bad
			}
			v |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(5-len(parts))) {
			return netip.Addr{}, bad
		}
		v |= n
	}
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(v)))), nil
}

// nat64 are addresses of IPv6 behind which one of IPv4 is reached (RFC 6052).
var nat64 = netip.PrefixFrom(netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b}), 96)

// spellings are the addresses that are reached at ip: itself, or the one that
// it stands for.
func spellings(ip netip.Addr) []netip.Addr {
	if nat64.Contains(ip) {
		b := ip.As16()
		return []netip.Addr{netip.AddrFrom4([4]byte(b[12:]))}
	}
	return []netip.Addr{ip}
}

// entry is one of a list of hosts.
type entry struct {
	text   source.Text
	all    bool         // *
	suffix string       // .domain: what is below it
	name   string       // a host
	net    netip.Prefix // addresses
	port   uint16       // 0 is any
}

func parseEntry(text source.Text) (entry, error) {
	e := entry{text: text}
	s := strings.TrimSpace(text.Value)
	if p, err := netip.ParsePrefix(s); err == nil {
		e.net = p.Masked()
		if p.Addr().Is4In6() {
			return e, errors.New("write the network as one of IPv4")
		}
		return e, nil
	}
	if strings.Contains(s, "/") {
		return e, errors.New("an entry is a host without scheme and path, or a network as 10.0.0.0/8" + hostOf(s))
	}
	if name, port, err := net.SplitHostPort(s); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return e, fmt.Errorf("%q is no port", port)
		}
		s, e.port = name, uint16(n)
	}
	s = strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	if s == "*" {
		e.all = true
		return e, nil
	}
	rest, below := strings.CutPrefix(s, "*.")
	if strings.Contains(rest, "*") {
		return e, errors.New("* stands alone or as *.domain")
	}
	name, ip, err := parseName(rest)
	switch {
	case err != nil:
		return e, err
	case below && ip.IsValid():
		return e, errors.New("there is nothing below an address")
	case below:
		e.suffix = "." + name
	case ip.IsValid():
		e.net = netip.PrefixFrom(ip, ip.BitLen())
	default:
		e.name = name
	}
	return e, nil
}

// hostOf says what to write instead of an address of a page.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if _, isNet := netip.ParseAddr(address[:strings.IndexByte(address, '/')]); isNet == nil {
		return ""
	}
	if err == nil && u.Host == "" {
		u, err = url.Parse("//" + address)
	}
	if err != nil || u.Host == "" {
		return ""
	}
	if _, err := parseEntry(source.Text{Value: u.Host}); err != nil {
		return ""
	}
	return ": write " + u.Host
}

// parsePrivate reads an entry of a list that takes addresses and networks alone.
func parsePrivate(text source.Text) (entry, error) {
	e, err := parseEntry(text)
	switch {
	case err != nil || e.net.IsValid():
		return e, err
	case e.name == "localhost":
		return e, errors.New("it is no address and no network: write 127.0.0.1")
	}
	return e, errors.New("it is no address and no network: write what it stands for, as 10.0.0.7 or 10.0.0.0/8")
}

// matches reports whether e names h, or ip when that is known.
func (e *entry) matches(h host, ip netip.Addr) bool {
	switch {
	case e.port != 0 && e.port != h.port:
		return false
	case e.all:
		return true
	case e.net.IsValid():
		if !ip.IsValid() {
			return false
		}
		for _, a := range spellings(ip) {
			if e.net.Contains(a) {
				return true
			}
		}
		return e.net.Contains(ip)
	case e.suffix != "":
		return strings.HasSuffix(h.name, e.suffix)
	}
	return e.name == h.name
}

// first is the first entry of a list that matches.
func first(list []entry, h host, ip netip.Addr) *entry {
	for i := range list {
		if list[i].matches(h, ip) {
			return &list[i]
		}
	}
	return nil
}
