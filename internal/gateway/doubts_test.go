package gateway_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/tool"
)

// A name that nothing has is told of, wherever a look names one.
func TestWhatMeansNothingIsTold(t *testing.T) {
	t.Parallel()
	r := alice(t, "channels:\n  slack: {}\ntools: {deny: [github_isue]}\n")
	for _, c := range []struct {
		name   string
		change func(*run.Request)
		want   []string
	}{
		{"nothing odd", func(q *run.Request) {
			q.Cap, q.Deny = tool.Only("calc", "github_issue"), []string{"group:fs", "file_*"}
		}, nil},
		{"a cap", func(q *run.Request) { q.Cap = tool.Only("clac", "file_*") }, []string{`cap: there is no tool "clac"; nearest: calc`, `cap: it takes names of tools alone, and "file_*" is none`}},
		{"declared", func(q *run.Request) { q.Declared = tool.Only("file_raed") }, []string{`declare: there is no tool "file_raed"; nearest: file_read`}},
		{"allowed", func(q *run.Request) { q.Allow = tool.Only("group:flies") }, []string{`tools_allow: there is no group "group:flies"; nearest: group:`}},
		{"denied", func(q *run.Request) { q.Deny = []string{"zz_*"} }, []string{`tools_deny: the pattern "zz_*" matches no tool, unless an API client brings one`}},
		{"an ability", func(q *run.Request) { q.Client = []string{"canvas"} }, []string{`client: no tool asks for the ability "canvas"`}},
		{"a channel", func(q *run.Request) { q.Delivery = tool.Delivery{Channel: "slak"} }, []string{`channel: there is no channel "slak"; nearest: slack`}},
		{"a group of nothing", func(q *run.Request) { q.Delivery = tool.Delivery{Group: "7"} }, []string{"group: a group is one of a channel, and none is named"}},
		{"a session", func(q *run.Request) { q.Session = "never" }, []string{`session: main has no session "never" yet`}},
		{"too many", func(q *run.Request) { q.Deny = slices.Repeat([]string{"zz_*"}, 100) }, slices.Repeat([]string{`tools_deny: `}, 20)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req := admin("", "")
			c.change(&req)
			sf, err := r.Surface(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			x := r.explain(req, "calc")
			if !slices.Equal(x.Doubts, sf.Doubts) {
				t.Errorf("the list doubts %q, and explaining %q", sf.Doubts, x.Doubts)
			}
			got := slices.Sorted(slices.Values(sf.Doubts))
			slices.Sort(c.want)
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	// What was meant for the tool in question and doesn't select it.
	x := r.explain(admin("", ""), "github_issue")
	if len(x.Doubts) != 1 || !strings.Contains(x.Doubts[0], `there is no tool "github_isue", unless an API client brings it; nearest: github_issue`) {
		t.Errorf("a slip in tools.deny: %q", x.Doubts)
	}
}
