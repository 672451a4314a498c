package api

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Anybody signed in proposes, an admin approves; others see what is approved
// and their own.
func TestPresets(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	add := func(who, body string, status int) {
		t.Helper()
		r.call(who, "POST", "/api/presets", json.RawMessage(body), status, nil)
	}
	names := func(who, query string) (list []string) {
		t.Helper()
		var page Presets
		r.call(who, "GET", "/api/presets"+query, nil, http.StatusOK, &page)
		for _, p := range page.Presets {
			list = append(list, p.Name+" "+p.Author+" "+p.ApprovedBy)
		}
		return list
	}
	same := func(what string, got, want []string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	add("bob", `{"tool":"db_query","name":"by month","args":{"sql":"select 1"}}`, http.StatusOK)
	add("ada", `{"tool":"http_request","name":"a/b c","args":{"url":"x"}}`, http.StatusOK)
	add("eve", `{"tool":"db_query","name":"by month","args":{}}`, http.StatusConflict)
	add("eve", `{"tool":"db_query","name":"x","args":[1]}`, http.StatusBadRequest)
	add("eve", `{"tool":"file_write","name":"x","args":{}}`, http.StatusNotFound)
	add("ada", `{"tool":"file_write","name":"x","args":{}}`, http.StatusOK)
	r.call("ada", "POST", "/api/presets/file_write/x/approve", nil, http.StatusNoContent, nil)
	same("of a tool that is none to them", names("bob", "?tool=file_write"), nil)
	r.call("ada", "DELETE", "/api/presets/file_write/x", nil, http.StatusNoContent, nil)
	add("eve", `{"tool":"DB","name":"x","args":{}}`, http.StatusBadRequest)
	add("eve", `{"tool":"db_query","name":"two\nlines","args":{}}`, http.StatusBadRequest)

	same("an admin", names("ada", ""), []string{"by month bob ", "a/b c ada "})
	same("who proposed it", names("bob", ""), []string{"by month bob "})
	same("somebody else", names("eve", ""), nil)
	const one, other = "/api/presets/db_query/by%20month", "/api/presets/http_request/a%2Fb%20c"
	r.call("bob", "POST", one+"/approve", nil, http.StatusForbidden, nil)
	r.call("bob", "DELETE", one, nil, http.StatusForbidden, nil)
	r.call("ada", "POST", one+"/approve", nil, http.StatusNoContent, nil)
	r.call("ada", "POST", other+"/approve", nil, http.StatusNoContent, nil)
	r.call("ada", "POST", one+"x/approve", nil, http.StatusNotFound, nil)
	same("approved", names("eve", "?tool=db_query"), []string{"by month bob ada"})
	same("a name with a slash", names("eve", "?tool=http_request"), []string{"a/b c ada ada"})
	r.call("ada", "DELETE", other, nil, http.StatusNoContent, nil)
	r.call("ada", "DELETE", other, nil, http.StatusNotFound, nil)
	same("removed", names("ada", ""), []string{"by month bob ada"})
}
