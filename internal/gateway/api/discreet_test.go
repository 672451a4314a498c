package api

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

// Users are told of tools as an agent is: what the configuration denies is not
// there, not by a name near to it either, and no folder of the machine is named.
// Admins are told all, also when they look as a user.
func TestWhatIsDeniedIsNotRevealedToUsers(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	at := source.Pos{Key: "tools.deny", File: "/home/ada/.goclaw/config.yaml", Line: 3}
	r.backend.surface = &Surface{
		Agent: "alpha", Origin: tool.FromAPI, Role: auth.User,
		Offered: []Tool{{Name: "calc", Parameters: []byte(`{}`)}}, Others: []Tool{}, Doubts: []string{`cap: there is no tool "x"`},
		Removed: []tool.Removal{
			{Tool: "db_write", Layer: "role", Rule: "allow_write", Reason: "none has allow_write", Where: at},
			{Tool: "file_write", Layer: "policy", Rule: "global", Reason: "denied by tools.deny", Where: at},
			{Tool: "github_merge", Layer: "optional", Rule: "optional", Reason: "nothing names it"},
			{Tool: "regex", Layer: "policy", Rule: "runtime", Reason: "denied by the request itself"},
		},
	}
	r.backend.explain = func(name string) Explanation {
		i := slices.IndexFunc(r.backend.surface.Removed, func(r tool.Removal) bool { return r.Tool == strings.ToLower(name) })
		if i < 0 {
			return engine.Strange(name, "alpha", []string{"calc", "db_write", "file_write", "regex"})
		}
		x := engine.Strange(name, "alpha", nil)
		x.Tool, x.States = strings.ToLower(name), slices.Clone(x.States)
		for j := range 3 {
			x.States[j] = engine.StateLine{State: x.States[j].State, Verdict: engine.Yes}
		}
		rm := r.backend.surface.Removed[i]
		x.States[3] = engine.StateLine{State: "exposed", Verdict: engine.No, Layer: rm.Layer, Rule: rm.Rule, Detail: rm.Reason, Where: rm.Where}
		return x
	}
	look := func(who, path string) string {
		t.Helper()
		resp := r.send(t.Context(), who, "GET", path, nil)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Status + " " + string(text)
	}
	for _, path := range []string{"/api/tools", "/api/catalog", "/api/tools/db_write", "/api/tools/db_write/explain", "/api/tools/file_wrote/explain"} {
		got := look("bob", path)
		for _, never := range []string{"file_write", "github_merge", "/home/ada", "there is no tool"} {
			if strings.Contains(got, never) {
				t.Errorf("%s tells bob of %s: %s", path, never, got)
			}
		}
	}
	for path, want := range map[string]string{
		"/api/tools": `"regex"`, "/api/catalog": `"db_write"`, "/api/tools/db_write": `"config.yaml"`, "/api/tools/db_write/explain": `"config.yaml"`,
	} {
		if got := look("bob", path); !strings.Contains(got, want) {
			t.Errorf("%s doesn't tell bob %s: %s", path, want, got)
		}
	}
	for _, name := range []string{"file_write", "File_Write", "github_merge", "zz"} {
		var got Explanation
		r.call("bob", "GET", "/api/tools/"+name+"/explain", nil, http.StatusOK, &got)
		if want := engine.Strange(name, "alpha", []string{"calc", "db_write", "regex"}); got.Text() != want.Text() || got.Tool != name {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got.Text(), want.Text())
		}
		p := r.refused("bob", "GET", "/api/tools/"+name, nil, http.StatusNotFound, "not_found")
		if want := NoTool(name).Detail; p.Detail != want {
			t.Errorf("%s: got %s, want %s", name, p.Detail, want)
		}
	}
	for path, want := range map[string]string{
		"/api/tools?role=user": "/home/ada", "/api/catalog": "file_write", "/api/tools/file_write": "/home/ada", "/api/tools/file_write/explain?role=user": `"layer":"policy"`,
		"/api/tools/file_wrote/explain": `"file_write"`,
	} {
		if got := look("ada", path); !strings.HasPrefix(got, "200") || !strings.Contains(got, want) {
			t.Errorf("%s doesn't tell ada %s: %s", path, want, got)
		}
	}
	r.call("ada", "GET", "/api/tools/zz", nil, http.StatusNotFound, nil)
}
