package safehttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

func texts(list ...string) []source.Text {
	var out []source.Text
	for _, s := range list {
		out = append(out, source.Text{Value: s})
	}
	return out
}

func guardOf(t *testing.T, r Rules, dns map[string]string) *Guard {
	t.Helper()
	if r.Methods == nil {
		r.Methods = []source.Text{{Value: "GET"}, {Value: "POST"}}
	}
	g, err := NewGuard(r)
	if err != nil {
		t.Fatal(err)
	}
	g.resolve = func(_ context.Context, name string) ([]netip.Addr, error) {
		var list []netip.Addr
		for text := range strings.FieldsSeq(dns[name]) {
			list = append(list, netip.MustParseAddr(text))
		}
		return list, nil
	}
	return g
}

// reaches lists the addresses that a request to address would be let through to.
func (g *Guard) reaches(address string) ([]netip.Addr, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if err := g.Check(http.MethodGet, u); err != nil {
		return nil, err
	}
	at, err := parseHost(u)
	if err != nil {
		return nil, err
	}
	all := []netip.Addr{at.ip}
	if !at.ip.IsValid() {
		all, _ = g.resolve(context.Background(), at.name)
	}
	var open []netip.Addr
	for _, ip := range all {
		if err = g.decide(at, ip.Unmap()); err == nil {
			open = append(open, ip)
		}
	}
	if len(open) == 0 && err == nil {
		err = errors.New("no address")
	}
	return open, err
}

func TestGuard(t *testing.T) {
	t.Parallel()
	dns := map[string]string{
		"pub.test": "93.184.216.34", "inner.test": "127.0.0.1", "mixed.test": "93.184.216.34 127.0.0.1", "denied.test": "93.184.216.34",
		"metadata.google.internal": "169.254.169.254", "fda.example": "93.184.216.34", "notpub.test": "93.184.216.34",
		"a.pub.test": "93.184.216.34", "xn--bcher-kva.test": "93.184.216.34", "v6.test": "64:ff9b::a00:5", "dns64.test": "64:ff9b::5db8:d822",
		"under_score.test": "93.184.216.34",
	}
	any, pub := []string{"*"}, []string{"pub.test"}
	tests := []struct {
		address              string
		allow, deny, private []string
		open                 bool
		want                 string // the addresses that are reached, or the rule that refuses
	}{
		{address: "http://pub.test/", want: "allow"},
		{address: "http://pub.test/", allow: pub, want: "93.184.216.34"},
		{address: "http://PUB.test:8080/path?x=127.0.0.1", allow: pub, want: "93.184.216.34"},
		{address: "http://pub.test./", allow: pub, want: "93.184.216.34"},
		{address: "http://notpub.test/", allow: pub, want: "allow"},
		{address: "http://a.pub.test/", allow: pub, want: "allow"},
		{address: "http://a.pub.test/", allow: []string{"*.pub.test"}, want: "93.184.216.34"},
		{address: "http://pub.test/", allow: []string{"*.pub.test"}, want: "allow"},
		{address: "http://pub.test/", allow: []string{"pub.test:8080"}, want: "allow"},
		{address: "http://pub.test:8080/", allow: []string{"pub.test:8080"}, want: "93.184.216.34"},
		{address: "https://pub.test/", allow: []string{"pub.test:443"}, want: "93.184.216.34"},
		{address: "http://pub.test/", allow: []string{"93.184.0.0/16"}, want: "93.184.216.34"},
		{address: "http://pub.test/", allow: []string{"94.0.0.0/8"}, want: "allow"},
		{address: "http://bücher.test/", allow: []string{"bücher.test"}, want: "93.184.216.34"},
		{address: "http://under_score.test/", allow: []string{"under_score.test"}, want: "93.184.216.34"},
		{address: "http://pub.test/", open: true, want: "93.184.216.34"},
		{address: "http://denied.test./", open: true, deny: []string{"denied.test"}, want: "deny"},
		{address: "http://pub.test/", allow: any, deny: []string{"93.184.216.0/24"}, want: "deny"},
		{address: "http://fda.example/", allow: any, want: "93.184.216.34"},
		{address: "http://172.32.0.1/", allow: any, want: "172.32.0.1"},
		{address: "http://100.63.255.255/", allow: any, want: "100.63.255.255"},
		{address: "http://11.0.0.1/", allow: any, want: "11.0.0.1"},
		{address: "http://[2606:4700::1111]/", allow: any, want: "2606:4700::1111"},
		{address: "http://mixed.test/", allow: any, want: "93.184.216.34"},
		{address: "http://dns64.test/", allow: any, want: "64:ff9b::5db8:d822"},
		{address: "http://inner.test:18080/", allow: any, want: "private_address"},
		{address: "http://metadata.google.internal/", allow: any, want: "private_address"},
		{address: "http://v6.test/", allow: any, want: "private_address"},
		{address: "http://localhost:18080/", allow: any, want: "private_address"},
		{address: "http://allowed.test@127.0.0.1:18080/", allow: any, want: "userinfo"},
		{address: "gopher://pub.test/1", allow: any, want: "scheme"},
		{address: "file:///etc/passwd", allow: any, want: "scheme"},
		{address: "http://evil.test#@pub.test/", allow: pub, want: "allow"},
		{address: "http:///x", allow: any, want: "host"},
		{address: "http://pub.test:0/", allow: any, want: "host"},
		{address: "http://[fe80::1%25eth0]/", allow: any, want: "host"},
		{address: "http://1.2.3.4.5/", allow: any, want: "host"},
		{address: "http://127.0.0.1:18080/", allow: []string{"127.0.0.1"}, private: []string{"127.0.0.0/8"}, want: "127.0.0.1"},
		{address: "http://127.0.0.1:18080/", private: []string{"127.0.0.1"}, want: "allow"},
		{address: "http://127.0.0.1:1/", allow: any, private: []string{"127.0.0.1:2"}, want: "private_address"},
		{address: "http://inner.test/", allow: []string{"inner.test"}, private: []string{"127.0.0.1/32"}, want: "127.0.0.1"},
		{address: "http://v6.test/", allow: any, private: []string{"10.0.0.0/8"}, want: "64:ff9b::a00:5"},
	}
	for _, name := range []string{
		"127.0.0.1", "2130706433", "0177.0.0.1", "0x7f.1", "127.1", "0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::127.0.0.1]",
		"[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:1::1]", "[fd00::1]", "[fe80::1]", "[ff02::1]", "10.0.0.5", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255", "198.18.0.1", "0xAbc", "127.0.0.1.",
	} {
		tests = append(tests, struct {
			address              string
			allow, deny, private []string
			open                 bool
			want                 string
		}{address: "http://" + name + ":18080/", allow: any, open: true, want: "private_address"})
	}
	for _, test := range tests {
		g := guardOf(t, Rules{Open: test.open, Allow: texts(test.allow...), Deny: texts(test.deny...), AllowPrivate: texts(test.private...)}, dns)
		open, err := g.reaches(test.address)
		got := ""
		for _, ip := range open {
			got += ip.String()
		}
		if r := (*tool.Refusal)(nil); errors.As(err, &r) && got == "" {
			got = r.Rule
		} else if got == "" && err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s, allow %v deny %v private %v: %s, want %s", test.address, test.allow, test.deny, test.private, got, test.want)
		}
	}
}

func TestGuardEntries(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "http://x.test", "x.test/", "a.*.test", "x.test:99999", "*.1.2.3.4", "10.0.0.0/33", "::ffff:10.0.0.0/104"} {
		for _, r := range []Rules{{Allow: texts(bad)}, {Deny: texts(bad)}, {AllowPrivate: texts(bad)}} {
			if _, err := NewGuard(r); err == nil {
				t.Errorf("%q was taken", bad)
			}
		}
	}
	if _, err := NewGuard(Rules{AllowPrivate: texts("intern.test")}); err == nil {
		t.Error("a name is no private network")
	}
}

// The connection goes to the address that was looked at, and nowhere else.
func TestGuardDialsWhatItChecked(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	inner := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	g := guardOf(t, Rules{Allow: texts("*")}, map[string]string{"rebind.test": "127.0.0.1"})
	c := g.Client()
	t.Cleanup(c.CloseIdleConnections)
	_, err := c.Get("http://rebind.test:" + port)
	if r := (*tool.Refusal)(nil); !errors.As(err, &r) || r.Rule != "private_address" {
		t.Errorf("%v", err)
	}
	if _, err := c.Get(inner.URL); err == nil {
		t.Error("a loopback address was reached")
	}
	if n := asked.Load(); n != 0 {
		t.Fatalf("the inner server was asked %d times", n)
	}

	first := true
	g = guardOf(t, Rules{Allow: texts("rebind.test"), AllowPrivate: texts("127.0.0.1")}, nil)
	g.resolve = func(context.Context, string) ([]netip.Addr, error) {
		if !first {
			return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil
		}
		first = false
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	c = g.Client()
	t.Cleanup(c.CloseIdleConnections)
	if _, err := get(c, "http://rebind.test:"+port); err != nil {
		t.Errorf("the address that was looked at: %v", err)
	}
}

func TestGuardFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			t.Error("the redirect was followed")
		}
		http.Redirect(w, r, "/end", http.StatusFound)
	})
	c := guardOf(t, Rules{Allow: texts("127.0.0.1"), AllowPrivate: texts("127.0.0.1")}, nil).Client()
	t.Cleanup(c.CloseIdleConnections)
	resp, err := c.Post(s.URL, "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusFound {
		t.Errorf("status %d", resp.StatusCode)
	}
	if _, err := c.Head(s.URL); err == nil {
		t.Error("a method that isn't listed was sent")
	}
}

// However an address of IPv4 is spelled, it is the same one.
func TestIPv4Spellings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint32().Draw(t, "address")
		parts := rapid.IntRange(1, 4).Draw(t, "parts")
		var text []string
		rest := v
		for i := range parts {
			n := rest >> 24
			if i == parts-1 {
				n = uint32(uint64(v) & (1<<(8*(5-parts)) - 1))
			}
			rest <<= 8
			format := rapid.SampledFrom([]int{10, 8, 16}).Draw(t, "base")
			text = append(text, map[int]string{10: "", 8: "0", 16: "0x"}[format]+strconv.FormatUint(uint64(n), format))
		}
		_, ip, err := parseName(strings.Join(text, "."))
		want := netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
		if err != nil || ip != want {
			t.Fatalf("%s is %v, %v; want %s", strings.Join(text, "."), ip, err, want)
		}
	})
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"127.1", "0x7f.0.0.1", "[::1]", "xn--bcher-kva.test", "a..b", "1.2.3.4.", "bücher", "%00", "0b1", "٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, ip, err := parseName(text)
		if err != nil {
			return
		}
		again, ip2, err := parseName(name)
		if err != nil || again != name || ip2 != ip {
			t.Errorf("%q is %q, which is %q (%v)", text, name, again, err)
		}
	})
}
