package web

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"
)

// sample is a build as Vite makes it.
func sample(t *testing.T) *Handler {
	t.Helper()
	h, err := load(fstest.MapFS{
		"index.html":        {Data: []byte("<!doctype html><title>GoClaw</title>" + strings.Repeat("<p>page</p>", 50))},
		"favicon.svg":       {Data: []byte("<svg/>")},
		"assets/app-1a2.js": {Data: []byte(strings.Repeat("console.log('hello');", 100))},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func get(h http.Handler, method, target string, header ...string) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestPathsLeadToFilesOrThePage(t *testing.T) {
	t.Parallel()
	h := sample(t)
	for target, want := range map[string]struct {
		status int
		kind   string
	}{
		"/":                        {200, "text/html; charset=utf-8"},
		"/chat/main/abc":           {200, "text/html; charset=utf-8"},
		"/chat/main/v2.4:plan.md":  {200, "text/html; charset=utf-8"},
		"/index.html":              {200, "text/html; charset=utf-8"},
		"/favicon.svg":             {200, "image/svg+xml"},
		"/assets/app-1a2.js":       {200, "text/javascript; charset=utf-8"},
		"/assets/app-old.js":       {404, ""},
		"/assets/":                 {404, ""},
		"/assets":                  {404, ""},
		"/robots.txt":              {404, ""},
		"/assets/../../etc/passwd": {404, ""},
		"/%2e%2e/%2e%2e/etc/hosts": {200, "text/html; charset=utf-8"}, // a place within the page, no file
	} {
		r := get(h, "GET", target)
		if r.StatusCode != want.status || want.kind != "" && r.Header.Get("Content-Type") != want.kind {
			t.Errorf("GET %s: %d %s, want %d %s", target, r.StatusCode, r.Header.Get("Content-Type"), want.status, want.kind)
		}
	}
	if r := get(h, "POST", "/"); r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /: %d", r.StatusCode)
	}
	r := get(h, "HEAD", "/")
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 200 || len(body) != 0 || r.Header.Get("Content-Length") == "0" {
		t.Errorf("HEAD /: %d, %d bytes of body, Content-Length %s, %v", r.StatusCode, len(body), r.Header.Get("Content-Length"), err)
	}
}

func TestCaching(t *testing.T) {
	t.Parallel()
	h := sample(t)
	if got := get(h, "GET", "/assets/app-1a2.js").Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
		t.Errorf("an asset's Cache-Control is %q", got)
	}
	for _, encoding := range []string{"", "gzip"} {
		page := get(h, "GET", "/chat", "Accept-Encoding", encoding)
		tag := page.Header.Get("ETag")
		if page.Header.Get("Cache-Control") != "no-cache" || tag == "" {
			t.Errorf("the page has Cache-Control %q and ETag %q", page.Header.Get("Cache-Control"), tag)
		}
		again := get(h, "GET", "/chat", "Accept-Encoding", encoding, "If-None-Match", `"other", W/`+tag)
		if again.StatusCode != http.StatusNotModified || again.Header.Get("ETag") != tag {
			t.Errorf("asked again with its tag %s: %d, %s", tag, again.StatusCode, again.Header.Get("ETag"))
		}
		if other := get(h, "GET", "/chat", "Accept-Encoding", encoding, "If-None-Match", `"other"`); other.StatusCode != 200 {
			t.Errorf("asked with another tag: %d", other.StatusCode)
		}
	}
}

func TestCompression(t *testing.T) {
	t.Parallel()
	h := sample(t)
	for accept, want := range map[string]bool{
		"gzip": true, "br, gzip;q=0.5": true, "*": true, "GZIP": true,
		"": false, "br": false, "gzip;q=0": false, "gzip; q=0.0, *": false, "identity": false,
	} {
		r := get(h, "GET", "/assets/app-1a2.js", "Accept-Encoding", accept)
		packed := r.Header.Get("Content-Encoding") == "gzip"
		if packed != want || r.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: packed %v, Vary %q", accept, packed, r.Header.Get("Vary"))
		}
		body := io.Reader(r.Body)
		if packed {
			var err error
			if body, err = gzip.NewReader(r.Body); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := io.ReadAll(body); err != nil || !strings.HasPrefix(string(text), "console.log('hello');") || len(text) != 2100 {
			t.Errorf("Accept-Encoding %q: %d bytes, %v", accept, len(text), err)
		}
	}
	// What doesn't shrink is sent as it is.
	if r := get(h, "GET", "/favicon.svg", "Accept-Encoding", "gzip"); r.Header.Get("Content-Encoding") != "" {
		t.Error("a tiny file was packed")
	}
}

func TestThePageIsLockedDown(t *testing.T) {
	t.Parallel()
	head := get(sample(t), "GET", "/").Header
	policy := head.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
		if !slices.Contains(strings.Split(policy, "; "), want) {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	for _, no := range []string{"unsafe", "http:", "https:", " *"} {
		if strings.Contains(policy, no) {
			t.Errorf("the policy holds %s: %s", no, policy)
		}
	}
	for _, name := range []string{"Permissions-Policy", "Referrer-Policy", "X-Content-Type-Options", "Cross-Origin-Opener-Policy"} {
		if head.Get(name) == "" {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestABuildThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]fstest.MapFS{
		"index.html is missing": {"assets/a.js": {}},
		"no type is known":      {"index.html": {}, "a.exe": {}},
	} {
		if _, err := load(files); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
}

// What follows looks at the build that is compiled in.

// initial is the most that a first visit loads, in bytes on the wire.
const initial = 150 << 10

// references are what the page loads before its script asks for more.
func references(t *testing.T, page []byte) []string {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var refs []string
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			if a.Key == "src" || a.Key == "href" {
				refs = append(refs, a.Val)
			}
		}
	}
	return refs
}

func TestTheBuildIsWholeAndSmall(t *testing.T) {
	t.Parallel()
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	page, err := h.files[index].read()
	if err != nil {
		t.Fatal(err)
	}
	refs := references(t, page.plain)
	total, scripts := len(page.packed), 0
	for _, ref := range refs {
		f := h.files[strings.TrimPrefix(ref, "/")]
		if f == nil {
			t.Errorf("the page refers to %s, which is not in the build", ref)
			continue
		}
		c, err := f.read()
		if err != nil {
			t.Fatal(err)
		}
		if path.Ext(ref) == ".js" {
			scripts++
		}
		total += cmp.Or(len(c.packed), len(c.plain))
	}
	if scripts == 0 {
		t.Error("the page loads no script")
	}
	t.Logf("a first visit loads %d bytes in %d files", total, len(refs)+1)
	if total > initial {
		t.Errorf("a first visit loads %d bytes, more than %d: load what it doesn't need at once with import()", total, initial)
	}
	for name := range h.files {
		if name != index && path.Ext(name) == ".js" {
			checkImports(t, h, name, slices.Contains(refs, "/"+name), refs)
		}
	}
}

var (
	imported = regexp.MustCompile(`(?:\bfrom|\bimport)\s*["'](\./[^"']+\.js)["']`)
	lazily   = regexp.MustCompile("\\bimport\\(\\s*[\"'`](\\./[^\"'`]+\\.js)[\"'`]")
)

// checkImports holds what a script imports against the build. What is loaded at
// once must be named by the page too, or it would not be counted.
func checkImports(t *testing.T, h *Handler, name string, first bool, refs []string) {
	t.Helper()
	c, err := h.files[name].read()
	if err != nil {
		t.Fatal(err)
	}
	for _, re := range []*regexp.Regexp{imported, lazily} {
		for _, m := range re.FindAllSubmatch(c.plain, -1) {
			target := path.Join(path.Dir(name), string(m[1]))
			if h.files[target] == nil {
				t.Errorf("%s imports %s, which is not in the build", name, target)
			}
			if re == imported && first && !slices.Contains(refs, "/"+target) {
				t.Errorf("%s imports %s at once, and the page doesn't name it", name, target)
			}
		}
	}
}

// named are hosts whose addresses may stand in the build, because nothing ever
// asks them.
var named = map[string]string{
	"github.com":  "where errors of the Markdown and highlighting libraries are explained",
	"www.w3.org":  "names of the XML namespaces of SVG and MathML",
	"svelte.dev":  "where an error of the framework is explained",
	"example.com": "in texts for people",
}

// notice is a comment that minifiers keep, as licences ask for.
var notice = regexp.MustCompile(`(?s)/\*!.*?\*/`)

var address = regexp.MustCompile("(?:https?:)?//[a-zA-Z0-9-]+(?:\\.[a-zA-Z0-9-]+)+[^\\s\"'`)<>]*")

func TestTheBuildAsksNobodyElse(t *testing.T) {
	t.Parallel()
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(built, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(built, name)
		if err != nil {
			return err
		}
		for _, found := range address.FindAll(notice.ReplaceAll(data, nil), -1) {
			u, err := url.Parse(string(found))
			if err != nil {
				t.Errorf("%s holds %s: %v", name, found, err)
				continue
			}
			if _, ok := named[u.Hostname()]; !ok {
				t.Errorf("%s holds the address %s; pages load nothing from elsewhere", name, found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkPage(b *testing.B) {
	h, err := New()
	if err != nil {
		b.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
}
