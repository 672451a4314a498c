package api

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestAttaching(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	for _, c := range []struct {
		name, said, data string
		want             Attachment
	}{
		{"a.png", "image/png", string(png), Attachment{Name: "a.png", MIME: "image/png"}},
		{"a.png", "", string(png), Attachment{Name: "a.png", MIME: "image/png"}},
		{"a.jpg", "image/jpeg", string(png), Attachment{Name: "a.jpg", MIME: "image/png"}},
		{"a.png", "image/png", "<html>no picture", Attachment{Name: "a.png", MIME: "text/html"}},
		{"notes", "application/x-www-form-urlencoded", "plain words", Attachment{Name: "notes", MIME: "text/plain"}},
		{"notes", "", "\x00\x01\x02", Attachment{Name: "notes", MIME: "application/octet-stream"}},
		{"a.csv", "text/csv; charset=utf-8", "a,b", Attachment{Name: "a.csv", MIME: "text/csv"}},
		{"a.pdf", "application/octet-stream", "%PDF-1.7", Attachment{Name: "a.pdf", MIME: "application/pdf"}},
		{"a.pdf", "application/pdf", "no file of that type", Attachment{Name: "a.pdf", MIME: "text/plain"}},
		{`C:\temp\..\evil.txt`, "text/plain", "x", Attachment{Name: "evil.txt", MIME: "text/plain"}},
		{"../../etc/passwd", "text/plain", "x", Attachment{Name: "passwd", MIME: "text/plain"}},
		{"a\x00b\u202etxt.exe", "text/plain", "x", Attachment{Name: "abtxt.exe", MIME: "text/plain"}},
		{"..", "text/plain", "x", Attachment{Name: "file", MIME: "text/plain"}},
	} {
		var headers []header
		if c.said != "" {
			headers = append(headers, header{"Content-Type", c.said})
		}
		var got Attachment
		r.call("bob", "POST", "/api/attachments?name="+url.QueryEscape(c.name), c.data, http.StatusCreated, &got, headers...)
		if got.Name != c.want.Name || got.MIME != c.want.MIME || got.Size != len(c.data) || got.ID == "" {
			t.Errorf("%q as %q: %+v, want %+v", c.name, c.said, got, c.want)
		}
	}
	r.refused("bob", "POST", "/api/attachments", "x", 400, "bad_request", "name is missing")
	r.refused("bob", "POST", "/api/attachments?name=%20", "x", 400, "bad_request", "name is missing")
	r.refused("bob", "POST", "/api/attachments?name="+strings.Repeat("n", 256), "x", 400, "bad_request", "255")
	r.refused("bob", "POST", "/api/attachments?name=x", "", 400, "bad_request", "empty")
}

func TestAFileThatIsTooLarge(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	resp := r.send(t.Context(), "bob", "POST", "/api/attachments?name=x", strings.Repeat("x", 20<<20+1))
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Error(resp.Status)
	}
}
