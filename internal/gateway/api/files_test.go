package api

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/tool"
)

func TestFindingFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.say("bob", "s", "hi")
	for _, c := range []struct {
		who, query string
		status     int
		files      int
		first      string
	}{
		{"bob", "", 200, 50, "-0"},
		{"bob", "?q=" + url.QueryEscape(`my "n`+"\n\xff"), 200, 50, "my \"n\n\ufffd-0"},
		{"bob", "?agent=beta&q=a&limit=3", 200, 3, "a-0"},
		{"bob", "?session=s&q=a", 200, 50, "a-0"},
		{"eve", "?session=s&q=a", 404, 0, ""},
		{"bob", "?agent=gamma", 404, 0, ""},
		{"bob", "?role=admin", 403, 0, ""},
		{"bob", "?limit=0", 400, 0, ""},
		{"bob", "?limit=100000", 400, 0, ""},
		{"bob", "?q=" + strings.Repeat("x", 1001), 400, 0, ""},
		{"", "", 401, 0, ""},
	} {
		var got Files
		r.call(c.who, "GET", "/api/files"+c.query, nil, c.status, &got)
		if len(got.Files) != c.files || c.files > 0 && got.Files[0].Path != c.first {
			t.Errorf("%s asks %.50q: %+v", c.who, c.query, got)
		}
		if q := r.backend.last(); c.status == http.StatusOK && (q.Caller.ID != c.who || q.Caller.Role != auth.User || q.Origin != tool.FromAPI) {
			t.Errorf("%s asks %.50q as %+v", c.who, c.query, q)
		}
	}
}
