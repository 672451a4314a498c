package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// What is wrong with the gateway is told to admins alone.
func TestStatusTellsProblemsToAdmins(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	for who, want := range map[string]int{"ada": 1, "bob": 0} {
		var st Status
		r.call(who, "GET", "/api/status", nil, http.StatusOK, &st)
		if len(st.Problems) != want || len(st.Providers) != 1 || (st.Providers[0].Reason != "") != (want == 1) || st.Providers[0].Failures != 1 {
			t.Errorf("%s is told %+v", who, st)
		}
	}
}

// A query says as whom to look, and never as more than the caller is.
func TestALookIsNeverWiderThanTheCaller(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	for _, c := range []struct {
		who, query string
		status     int
		role       auth.Role
		origin     tool.Origin
	}{
		{"bob", "", 200, auth.User, tool.FromAPI},
		{"bob", "?role=user", 200, auth.User, tool.FromAPI},
		{"bob", "?role=admin", 403, "", ""},
		{"bob", "?role=system", 403, "", ""},
		{"bob", "?role=root", 400, "", ""},
		{"bob", "?origin=chat", 200, auth.User, tool.FromChat},
		{"bob", "?origin=cron", 403, "", ""},
		{"bob", "?origin=sop", 403, "", ""},
		{"bob", "?origin=webhook", 403, "", ""},
		{"bob", "?origin=system", 400, "", ""},
		{"ada", "", 200, auth.Admin, tool.FromAPI},
		{"ada", "?role=user&origin=channel", 200, auth.User, tool.FromChannel},
		{"ada", "?role=system&origin=cron", 200, auth.System, tool.FromCron},
		{"ada", "?origin=cron", 200, auth.System, tool.FromCron},
		{"ada", "?role=admin&origin=webhook", 200, auth.System, tool.FromWebhook},
		{"ada", "?role=user&origin=sop", 200, auth.User, tool.FromSOP},
		{"ada", "?agent=gamma", 404, "", ""},
		{"ada", "?session=never", 404, "", ""},
	} {
		for _, path := range []string{"/api/tools", "/api/catalog", "/api/tools/noop", "/api/tools/noop/explain", "/api/prompt"} {
			resp := r.send(t.Context(), c.who, "GET", path+c.query, nil)
			resp.Body.Close()
			if resp.StatusCode != c.status {
				t.Errorf("%s looks at %s%s: %s, want %d", c.who, path, c.query, resp.Status, c.status)
			}
			if c.status != 200 {
				continue
			}
			id := c.who
			if c.role == auth.System && !strings.Contains(c.query, "role=system") {
				id = run.System.ID
			}
			if q := r.backend.last(); q.Caller.Role != c.role || q.Origin != c.origin || q.Caller.ID != id || q.Caller.Human != (c.role != auth.System) || q.Agent != "alpha" {
				t.Errorf("%s looks at %s%s: %+v", c.who, path, c.query, q)
			}
		}
	}
	r.refused("ada", "GET", "/api/tools?origin=system", nil, http.StatusBadRequest, "bad_request", "it can be chat, api, channel, cron, sop, webhook or subagent")
	r.refused("ada", "GET", "/api/runs?status=odd", nil, http.StatusBadRequest, "bad_request", "it can be running, done, failed, stopped, limited or interrupted")
	r.say("bob", "s", "hi")
	r.call("bob", "GET", "/api/prompt?session=s&message=and+now&model=fake", nil, http.StatusOK, nil)
	if q := r.backend.last(); q.Session != "s" || q.Message.Text() != "and now" || q.Model != "fake" {
		t.Errorf("the prompt is for %+v", q)
	}
}

func TestALookIsNarrowedByTheQuery(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	for _, q := range []string{"tools_deny=a%00b", "tools_deny=" + strings.Repeat("a,", 257), "client=" + strings.Repeat("a", 129)} {
		r.call("ada", "GET", "/api/tools?"+q, nil, http.StatusBadRequest, nil)
	}
	r.call("ada", "GET", "/api/tools?cap=a,b&declare=&tools_allow=group:fs,%20c&tools_deny=d&channel=slack&account=x&group=7&thread=t&client=canvas&sandbox=true&flush=true&depth=2", nil, http.StatusOK, nil)
	q := r.backend.last()
	if !q.Cap.Equal(tool.Only("a", "b")) || !q.Declared.Equal(tool.Only()) || !q.Allow.Equal(tool.Only("c", "group:fs")) || !slices.Equal(q.Deny, []string{"d"}) ||
		q.Delivery != (tool.Delivery{Channel: "slack", Account: "x", Group: "7", Thread: "t"}) || !slices.Equal(q.Client, []string{"canvas"}) || !q.Sandbox || !q.Flush || q.Depth != 2 {
		t.Errorf("got %+v", q)
	}
	r.call("ada", "GET", "/api/tools", nil, http.StatusOK, nil)
	if q := r.backend.last(); q.Cap.Limited() || q.Declared.Limited() || q.Allow.Limited() || q.Sandbox {
		t.Errorf("without a word of it: %+v", q)
	}
	r.refused("ada", "GET", "/api/tools?sandbox=perhaps", nil, http.StatusBadRequest, "bad_request", "it can be true or false")
	r.refused("ada", "GET", "/api/tools?depth=-1", nil, http.StatusBadRequest, "bad_request", "it is a number from 0 on")

	var page KnownTools
	r.call("ada", "GET", "/api/catalog?state=offered&limit=7", nil, http.StatusOK, &page)
	if page.Total != 7 || page.Next != "state " {
		t.Errorf("got %+v", page)
	}
	r.refused("ada", "GET", "/api/catalog?state=lost", nil, http.StatusBadRequest, "bad_request", "installed, discovered, registered, exposed or offered")
	r.refused("ada", "GET", "/api/catalog?limit=0", nil, http.StatusBadRequest, "bad_request", "1 to 200")
}

func TestToolFilter(t *testing.T) {
	t.Parallel()
	x := KnownTool{Name: "db_query", Description: "Reads a data source", Owner: "family data", Category: "data"}
	for _, c := range []struct {
		f    ToolFilter
		want bool
	}{
		{ToolFilter{}, true},
		{ToolFilter{Query: "SOURCE query"}, true},
		{ToolFilter{Query: "source write"}, false},
		{ToolFilter{Category: "data", Owner: "Fam"}, true},
		{ToolFilter{Category: "dat"}, false},
		{ToolFilter{Owner: "plugin"}, false},
	} {
		if got := c.f.Holds(x); got != c.want {
			t.Errorf("%+v: %v", c.f, got)
		}
	}
}

func TestInvoking(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	r.addUser("o@example.org", auth.User)
	r.say("bob", "s", "hi")
	for _, c := range []struct {
		who     string
		body    any
		status  int
		session string
	}{
		{"bob", map[string]any{"tool": "noop"}, 200, "invoke-bob"},
		{"bob", map[string]any{"tool": "noop", "args": map[string]any{"n": 1}}, 200, "invoke-bob"},
		{"bob", map[string]any{"tool": "noop", "session": "invoke-bob"}, 200, "invoke-bob"},
		{"bob", map[string]any{"tool": "noop", "session": "s"}, 200, "s"},
		{"bob", map[string]any{"tool": "noop", "session": "invoke-eve"}, 404, ""},
		{"bob", map[string]any{"tool": "noop", "session": "never"}, 200, "never"},
		{"eve", map[string]any{"tool": "noop", "session": "s"}, 404, ""},
		{"ada", map[string]any{"tool": "noop", "session": "s"}, 200, "s"},
		{"o@example.org", map[string]any{"tool": "noop"}, 200, ""},
		{"bob", map[string]any{"tool": "noop", "args": []int{1}}, 400, ""},
		{"bob", map[string]any{"tool": "noop", "args": "{}"}, 200, "invoke-bob"},
		{"bob", map[string]any{"tool": "noop", "args": ""}, 200, "invoke-bob"},
		{"bob", map[string]any{"tool": "noop", "args": "{"}, 400, ""},
		{"bob", map[string]any{"tool": ""}, 400, ""},
		{"bob", map[string]any{"tool": "noop", "role": "admin"}, 403, ""},
		{"bob", map[string]any{"tool": "noop", "role": "user"}, 200, "invoke-bob"},
		{"ada", map[string]any{"tool": "noop", "role": "root"}, 400, ""},
		{"bob", map[string]any{"tool": "noop", "origin": "cron"}, 403, ""},
		{"bob", map[string]any{"tool": "noop", "as": "eve"}, 400, ""},
		{"bob", map[string]any{"tool": "noop", "agent": "gamma"}, 404, ""},
		{"bob", map[string]any{"tool": "refuse"}, 403, "invoke-bob"},
	} {
		resp := r.send(t.Context(), c.who, "POST", "/tools/invoke", c.body)
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s invokes %v: %s, want %d", c.who, c.body, resp.Status, c.status)
			continue
		}
		q := r.backend.last()
		if c.session != "" && (q.Session != c.session || q.Caller.ID != c.who || q.Origin != tool.FromAPI) {
			t.Errorf("%s invokes %v: %+v", c.who, c.body, q)
		}
	}
	r.send(t.Context(), "ada", "POST", "/tools/invoke", Invoke{Tool: "noop", Role: auth.User}).Body.Close()
	if q := r.backend.last(); q.Caller.Role != auth.User || q.Caller.ID != "ada" || q.Session != HandSession("ada") {
		t.Errorf("an admin in the role of a user: %+v", q)
	}
	p := r.refused("bob", "POST", "/tools/invoke", Invoke{Tool: "refuse"}, http.StatusForbidden, "refused", "never allowed", "Use noop")
	if o, ok := p.Outcome.(map[string]any); !ok || o["status"] != "refused" {
		t.Errorf("the outcome is %v", p.Outcome)
	}
}

// Two users' sessions for calls by hand are never the same.
func TestCallsByHandHaveASessionOfTheirOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, id := range []string{"bob", "o@example.org", "o.example.org", "a-b", "a.b"} {
		s := HandSession(id)
		if other := seen[s]; other != "" {
			t.Errorf("%s and %s share %s", id, other, s)
		}
		seen[s] = id
		if !mayBegin(Caller{Principal: auth.Principal{ID: id}}, s) || mayBegin(Caller{Principal: auth.Principal{ID: "mallory"}}, s) {
			t.Errorf("who may begin %s", s)
		}
	}
}

func TestACallEndsWhenItsClientLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		began, ended := make(chan struct{}), make(chan struct{})
		r.backend.invoke = func(ctx context.Context, _ run.Request, _ string, _ []byte) (tool.Outcome, error) {
			close(began)
			<-ctx.Done()
			close(ended)
			return tool.Outcome{Status: tool.Cancelled}, nil
		}
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			<-began
			leave()
		}()
		req, err := http.NewRequestWithContext(ctx, "POST", "http://127.0.0.1/tools/invoke", strings.NewReader(`{"tool":"noop"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+r.tokens["bob"])
		req.Header.Set("Content-Type", "application/json")
		if _, err := r.client.Do(req); err == nil {
			t.Error("it was answered")
		}
		<-ended
	})
}

// Who was removed by another process calls nothing on.
func TestACallEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rigOptions{})
		began, ended := make(chan struct{}), make(chan error, 1)
		r.backend.invoke = func(ctx context.Context, _ run.Request, _ string, _ []byte) (tool.Outcome, error) {
			close(began)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return tool.Outcome{Status: tool.Cancelled, Content: []llm.Part{llm.Text("cancelled")}}, nil
		}
		go func() { r.send(t.Context(), "bob", "POST", "/tools/invoke", Invoke{Tool: "noop"}).Body.Close() }()
		<-began
		r.removeUser("bob")
		start := time.Now()
		if err := <-ended; !errors.Is(err, errRevoked) || time.Since(start) > time.Second {
			t.Errorf("it goes on for %v and ends with: %v", time.Since(start), err)
		}
		synctest.Wait()
	})
}
