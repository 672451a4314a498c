// Package web serves the pages that people see: the build of ui/, which is
// committed under dist and compiled in. It owns which path is answered by
// which file, how long a browser keeps it, and what a page may load.
//
// A [Handler] is made once and lives as long as the process. It reads nothing
// from disk and starts nothing. A file is compressed when it is first asked
// for, and the result is kept: all of them together are smaller than the build.
// Who may see the pages is decided before a request comes here.
//
// Start reading at [Handler.ServeHTTP].
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed all:dist
var dist embed.FS

// policy is the Content-Security-Policy of every page: scripts, styles and
// requests of this gateway only, nothing inline, and no frame around it.
// Images may also be data and blobs, since attachments are shown before they
// are sent.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// permissions takes from pages what they have no use for.
const permissions = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), " +
	"microphone=(), midi=(), payment=(), usb=()"

const (
	index = "index.html"
	// assets hold the digest of their content in their names.
	assets = "assets/"
)

// types are those of the files of a build. The system's own table differs from
// machine to machine.
var types = map[string]string{
	".css":         "text/css; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".ico":         "image/x-icon",
	".js":          "text/javascript; charset=utf-8",
	".json":        "application/json",
	".png":         "image/png",
	".svg":         "image/svg+xml",
	".txt":         "text/plain; charset=utf-8",
	".webmanifest": "application/manifest+json",
	".woff2":       "font/woff2",
}

// Handler serves the pages. It is safe for concurrent use.
type Handler struct{ files map[string]*file }

// New makes the handler of the build that is compiled in.
func New() (*Handler, error) {
	built, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, fmt.Errorf("open the pages: %w", err)
	}
	return load(built)
}

// load takes the files of a build.
func load(built fs.FS) (*Handler, error) {
	h := &Handler{files: map[string]*file{}}
	err := fs.WalkDir(built, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		kind := types[path.Ext(name)]
		if kind == "" {
			return fmt.Errorf("%s: no type is known for files of this kind", name)
		}
		h.files[name] = &file{kind: kind, read: sync.OnceValues(func() (content, error) { return read(built, name) })}
		return nil
	})
	if err == nil && h.files[index] == nil {
		err = fmt.Errorf("%s is missing", index)
	}
	if err != nil {
		return nil, fmt.Errorf("load the pages: %w", err)
	}
	return h, nil
}

// file is one file of the build.
type file struct {
	kind string
	read func() (content, error)
}

// content is a file as it is sent.
type content struct {
	plain  []byte
	packed []byte // gzip of plain; nil where that is not worth while
	tag    string // without quotes
}

func read(built fs.FS, name string) (content, error) {
	plain, err := fs.ReadFile(built, name)
	if err != nil {
		return content{}, err
	}
	sum := sha256.Sum256(plain)
	c := content{plain: plain, tag: hex.EncodeToString(sum[:10])}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return content{}, err
	}
	if _, err := z.Write(plain); err != nil {
		return content{}, err
	}
	if err := z.Close(); err != nil {
		return content{}, err
	}
	if b.Len() < len(plain)*9/10 {
		c.packed = bytes.Clone(b.Bytes())
	}
	return c, nil
}

// ServeHTTP answers with the file that the path names, with the page where the
// path is one of the page's own, and with 404 otherwise. Paths of the gateway's
// other interfaces don't come here.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "pages are only read", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	f := h.files[name]
	if f == nil && isPage(name) {
		name, f = index, h.files[index]
	}
	if f == nil {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	c, err := f.read()
	if err != nil {
		http.Error(w, "the page can't be read", http.StatusInternalServerError)
		return
	}
	head := w.Header()
	head.Set("Content-Type", f.kind)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, assets) {
		head.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if strings.HasPrefix(f.kind, "text/html") {
		head.Set("Content-Security-Policy", policy)
		head.Set("Permissions-Policy", permissions)
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
	}
	c.send(w, r)
}

// send writes the content, compressed where the client takes that, or 304 when
// it has it already.
func (c content) send(w http.ResponseWriter, r *http.Request) {
	head, body, tag := w.Header(), c.plain, c.tag
	if c.packed != nil {
		head.Set("Vary", "Accept-Encoding")
		if takesGzip(r.Header.Get("Accept-Encoding")) {
			head.Set("Content-Encoding", "gzip")
			body, tag = c.packed, tag+"-gzip"
		}
	}
	head.Set("ETag", `"`+tag+`"`)
	if has(r.Header.Get("If-None-Match"), tag) {
		head.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	head.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	// The client may be gone; nobody is left to tell.
	_, _ = w.Write(body)
}

// isPage reports whether name, a path without its slash, is a place within the
// page rather than a file. Files stand at the top or among the assets; further
// down a dot is part of a name, such as a session's.
func isPage(name string) bool {
	if strings.HasPrefix(name+"/", assets) {
		return false
	}
	return strings.Contains(name, "/") || path.Ext(name) == ""
}

// takesGzip reads Accept-Encoding (RFC 9110, 12.5.3).
func takesGzip(accept string) bool {
	any := false
	for part := range strings.SplitSeq(accept, ",") {
		coding, weight, _ := strings.Cut(part, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "gzip" && coding != "*" {
			continue
		}
		takes := true
		if q, ok := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q="); ok {
			v, err := strconv.ParseFloat(q, 64)
			takes = err == nil && v > 0
		}
		if coding == "gzip" {
			return takes
		}
		any = takes
	}
	return any
}

// has reports whether If-None-Match lists tag.
func has(list, tag string) bool {
	for t := range strings.SplitSeq(list, ",") {
		t = strings.TrimSpace(t)
		if t == "*" || strings.TrimPrefix(t, "W/") == `"`+tag+`"` {
			return true
		}
	}
	return false
}
