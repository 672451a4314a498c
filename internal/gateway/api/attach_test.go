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

// A form, as curl -F and browsers send it, is not the file: what is in it is.
func TestAttachingByAForm(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	form := func(parts ...string) (string, header) {
		return "--B\r\n" + strings.Join(parts, "\r\n--B\r\n") + "\r\n--B--\r\n", header{"Content-Type", "multipart/form-data; boundary=B"}
	}
	field := "Content-Disposition: form-data; name=\"note\"\r\n\r\nhello"
	file := "Content-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\nContent-Type: text/csv\r\n\r\na,b"
	for query, want := range map[string]string{"": "a.csv", "?name=b.csv": "b.csv"} {
		body, kind := form(field, file)
		var got Attachment
		r.call("bob", "POST", "/api/attachments"+query, body, http.StatusCreated, &got, kind)
		if got.Name != want || got.MIME != "text/csv" || got.Size != 3 {
			t.Errorf("%+v", got)
		}
	}
	for words, parts := range map[string][]string{"holds no file": {field}, "several files": {file, file}} {
		body, kind := form(parts...)
		var p Problem
		r.call("bob", "POST", "/api/attachments", body, http.StatusBadRequest, &p, kind)
		if !strings.Contains(p.Detail, words) {
			t.Errorf("%v: %s", parts, p.Detail)
		}
	}
	for _, broken := range []header{{"Content-Type", "multipart/form-data"}, {"Content-Type", "multipart/form-data; boundary=B"}} {
		r.call("bob", "POST", "/api/attachments", "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\nno end", http.StatusBadRequest, nil, broken)
	}
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
