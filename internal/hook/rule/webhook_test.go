package rule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/guard/safehttp"
	"github.com/goclaw/goclaw/internal/lib/source"
	"github.com/goclaw/goclaw/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func loopback(t *testing.T) *http.Client {
	t.Helper()
	local := []source.Text{{Value: "127.0.0.1"}}
	denied := []source.Text{{Value: "169.254.0.0/16", Pos: source.Pos{Key: "tools.http.deny[0]", File: "config.yaml", Line: 3}}}
	g, err := safehttp.NewGuard(safehttp.Rules{Allow: local, Deny: denied, AllowPrivate: local, Methods: []source.Text{{Value: "POST"}}})
	if err != nil {
		t.Fatal(err)
	}
	c := g.Client()
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A server sees the end of a connection only when it has read the body.
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// Only one answer lets a call through.
func TestDecidingWebhook(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	const allow = `{"decision": "allow"}`
	hangUp := func(w http.ResponseWriter) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_ = conn.Close()
	}
	var followed atomic.Int32
	elsewhere := serve(t, func(w http.ResponseWriter, r *http.Request) { followed.Add(1); answer(200, allow)(w, r) })
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    string // in the refusal; empty is let through
	}{
		{"allows", answer(200, allow), ""},
		{"allows with a reason", answer(200, " \n{\"reason\":\"fine\",\"decision\":\"allow\"}\r\n"), ""},
		{"denies", answer(200, `{"decision":"deny"}`), "The webhook of the rule ask denies db_write."},
		{"denies and says why", answer(200, `{"decision":"deny","reason":"not\non Fridays"}`), "denies db_write: not on Fridays"},
		{"500", answer(500, allow), "it answered with status 500, not 200"},
		{"201", answer(201, allow), "it answered with status 201, not 200"},
		{"204", answer(204, ""), "it answered with status 204, not 200"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		}, "redirect (status 307), which is not followed"},
		{"302 with the answer", answer(302, allow), "redirect (status 302)"},
		{"closes the connection", func(w http.ResponseWriter, _ *http.Request) { hangUp(w) }, "it closed the connection before the answer was complete"},
		{"closes in mid-answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, allow)
			_ = http.NewResponseController(w).Flush()
			hangUp(w)
		}, "it closed the connection before the answer was complete"},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "it did not answer within 100ms"},
		{"hangs in mid-answer", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, allow)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "it did not answer within 100ms"},
		{"empty", answer(200, ""), "no JSON object"},
		{"other JSON", answer(200, `{"ok":true}`), `it has the key "ok"`},
		{"no object", answer(200, `"allow"`), "no JSON object"},
		{"a list", answer(200, `[{"decision":"allow"}]`), "no JSON object"},
		{"another word", answer(200, `{"decision":"yes"}`), `its decision is "yes"`},
		{"another case", answer(200, `{"decision":"Allow"}`), `its decision is "Allow"`},
		{"another type", answer(200, `{"decision":true}`), "its decision is no text"},
		{"another key", answer(200, `{"Decision":"allow"}`), `it has the key "Decision"`},
		{"contradicts itself", answer(200, `{"decision":"allow","block":true}`), `it has the key "block"`},
		{"says it twice", answer(200, `{"decision":"allow","decision":"deny"}`), `it has the key "decision" twice`},
		{"goes on behind", answer(200, allow+`{"decision":"deny"}`), "something follows"},
		{"is cut", answer(200, `{"decision":"allow"`), "no JSON object"},
		{"has a mark of the byte order", answer(200, "\ufeff"+allow), "no JSON object"},
		{"is no text", answer(200, "{\"decision\":\"allow\",\"reason\":\"\xff\"}"), "not UTF-8"},
		{"is endless", answer(200, allow+strings.Repeat(" ", maxAnswer)), "longer than"},
		{"a page", answer(200, "<html>allow</html>"), "no JSON object"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute
			if strings.HasPrefix(test.name, "hangs") {
				limit = 100 * time.Millisecond
			}
			v, s := decide(t.Context(), Rule{Name: "ask", Action: Webhook, URL: serve(t, test.handler) + "/x?token=geheim", Timeout: limit}, Options{Client: loopback(t)}, "{}")
			switch {
			case test.want == "" && v.Block == nil:
			case test.want == "" || v.Block == nil || !strings.Contains(v.Block.Reason, test.want) || strings.Contains(v.Block.Reason, "geheim"):
				t.Errorf("%+v", v.Block)
			case s.Report()[0].Blocked != 1:
				t.Errorf("%+v", s.Report()[0])
			}
		})
	}
	t.Cleanup(func() {
		if followed.Load() > 0 {
			t.Error("a redirect was followed")
		}
	})
}

func TestUnreachableWebhook(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	_ = l.Close()
	for address, want := range map[string]string{
		address:                  "it can't be reached: connect: connection refused, so",
		"http://[::1]:9/":        "its address may not be reached",
		"http://[::ffff:a00:1]/": "its address may not be reached",
		"http://10.0.0.1/":       "its address may not be reached: 10.0.0.1 is not among the hosts of tools.http.allow",
		"ftp://127.0.0.1/":       "its address may not be reached",
		"http://[::1":            "missing ']'",
		"http://127.0.0.1:0":     "its address may not be reached",
	} {
		v, _ := decide(t.Context(), Rule{Name: "ask", Action: Webhook, URL: address}, Options{Client: loopback(t)}, "")
		if v.Block == nil || !strings.Contains(v.Block.Reason, want) {
			t.Errorf("%s: %+v", address, v.Block)
		}
	}
	for address, want := range map[string]string{
		address:                 "An admin can see to the program behind it, or change the rule.",
		"http://10.0.0.1/":      "An admin can add it to tools.http.allow.",
		"http://169.254.1.1/":   "An admin can let it be sent; goclaw hooks test says to them what keeps it back.",
		"http://ann@127.0.0.1/": "Leave user and password out of the address.",
	} {
		r := Rule{Name: "ask", Action: Webhook, URL: address}
		if v, _ := decide(t.Context(), r, Options{Client: loopback(t)}, ""); v.Block == nil || v.Block.Allowed != want {
			t.Errorf("%s: %+v", address, v.Block)
		}
	}
	v, _ := decide(t.Context(), Rule{Name: "ask", Action: Webhook, URL: address}, Options{}, "")
	if v.Block == nil {
		t.Error("without a client nothing can allow")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, _ := decide(ctx, Rule{Name: "ask", Action: Webhook, URL: address}, Options{Client: loopback(t)}, ""); v.Block == nil {
		t.Error("a run that was stopped")
	}
}

// What is sent, and that its signature can be checked by who knows the secret.
func TestWebhookRequest(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	type sent struct {
		header http.Header
		body   []byte
	}
	got := make(chan sent, 2)
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- sent{r.Header, body}
		_, _ = io.WriteString(w, `{"decision":"allow"}`)
	})
	o := Options{Client: loopback(t), Now: func() time.Time { return now }}
	if v, _ := decide(t.Context(), Rule{Name: "ask", Action: Webhook, URL: address, Secret: "s3cret"}, o, `{"sql":"x"}`); v.Block != nil {
		t.Fatalf("%+v", v.Block)
	}
	g := <-got
	var d delivery
	if err := json.Unmarshal(g.body, &d); err != nil {
		t.Fatal(err)
	}
	if d.Type != "before_tool_call" || d.Rule != "ask" || d.Call.Tool != "db_write" || string(d.Call.Args) != `{"sql":"x"}` || d.Call.Owner != "family:data" ||
		d.Caller.ID != "anna" || d.Agent != "writer" || d.Origin != tool.FromChannel || d.Outcome != nil || len(d.Call.Touches) != 1 {
		t.Errorf("%s", g.body)
	}
	if g.header.Get("Webhook-Id") != d.ID || g.header.Get("Webhook-Timestamp") != "1796126400" ||
		g.header.Get("Webhook-Signature") != Sign("s3cret", d.ID, now.Unix(), g.body) || g.header.Get("Content-Type") != "application/json" {
		t.Errorf("%v", g.header)
	}

	s := New([]Rule{{Name: "tell", When: After, Action: Webhook, URL: address}}, o)
	_, after := s.Hooks()
	if err := after[0].Observe(t.Context(), callOf("{}"), outcomeOf(tool.Failed, strings.Repeat("ä", maxResult))); err != nil {
		t.Fatal(err)
	}
	g = <-got
	d = delivery{}
	if err := json.Unmarshal(g.body, &d); err != nil || d.Type != "after_tool_call" || d.Outcome == nil || d.Outcome.Status != tool.Failed ||
		!d.Outcome.Cut || len(d.Outcome.Error) != maxResult || d.Outcome.DurationMS != 1500 {
		t.Errorf("%v %s", err, g.body[:200])
	}
	if g.header.Get("Webhook-Signature") != "" {
		t.Error("signed without a secret")
	}
}

// An observing webhook says what went wrong and can't do more.
func TestObservingWebhookFails(t *testing.T) {
	t.Parallel()
	s := New([]Rule{{Name: "tell", When: After, Action: Webhook, URL: serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })}}, Options{Client: loopback(t), Log: quiet})
	_, after := s.Hooks()
	if err := after[0].Observe(t.Context(), callOf("{}"), outcomeOf(tool.OK, "x")); err == nil || s.Report()[0].Failed != 1 {
		t.Errorf("%v %+v", err, s.Report())
	}
}

// A rule tells why and when it last could not do what it is for, without what may
// be secret.
func TestRulesTellTheirLastFailure(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	broken := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }) + "/s3cret"
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{Name: "ask", Action: Webhook, URL: broken}, "it answered with status 503, not 200"},
		{Rule{Name: "tell", When: After, Action: Webhook, URL: broken}, "it answered with status 503"},
		{Rule{Name: "far", Action: Webhook, URL: "http://10.0.0.1/s3cret"}, "its address may not be reached: 10.0.0.1 is not among the hosts of tools.http.allow"},
		{Rule{Name: "doubt", Action: Block, Match: "args.none == 1"}, "its condition can't be evaluated (no such key: none) for a call of db_write"},
		{Rule{Name: "doubt", Action: Notify, Match: "args.none == 1"}, "its condition can't be evaluated (no such key: none) for a call of db_write"},
		{Rule{Name: "say", Action: Notify}, "admins were not told: nobody is there"},
		{Rule{Name: "fine", Action: Block}, ""},
	} {
		s := New([]Rule{c.rule}, Options{
			Client: loopback(t), Log: quiet, Now: func() time.Time { return now },
			Notify: func(context.Context, Notice) error { return errors.New("nobody is there") },
		})
		before, after := s.Hooks()
		for range 2 {
			for _, h := range before {
				_, _ = h.Decide(t.Context(), callOf("{}"))
			}
			for _, h := range after {
				_ = h.Observe(t.Context(), callOf("{}"), outcomeOf(tool.OK, "x"))
			}
		}
		r := s.Report()[0]
		failed, at := int64(2), now
		if c.want == "" {
			failed, at = 0, time.Time{}
		}
		if r.Failed != failed || r.Failure != c.want || !r.FailedAt.Equal(at) {
			t.Errorf("%s %s: %d, %q at %v", c.rule.Name, c.rule.Action, r.Failed, r.Failure, r.FailedAt)
		}
	}
}

// A webhook that an admin tries counts as no call, whatever it answers.
func TestTryingAWebhookDoesNotCount(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{`{"decision":"allow"}`, `{"decision":"deny"}`, `nothing`} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
		s := New([]Rule{{Name: "ask", Action: Webhook, URL: url}}, Options{Client: loopback(t), Log: quiet})
		v, err := s.Ask(t.Context(), "ask", callOf("{}"))
		if err != nil || (v.Block == nil) != strings.Contains(answer, "allow") {
			t.Errorf("%s: %+v (%v)", answer, v, err)
		}
		if r := s.Report()[0]; r.Matched+r.Blocked+r.Failed != 0 || r.Failure != "" || !r.Last.IsZero() {
			t.Errorf("%s: then the rule tells %+v", answer, r)
		}
	}
}

// The vectors stand in the manual too, so that other programs can be tested
// with them. The second is of the standard's own documents.
func TestSign(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		secret, id string
		unix       int64
		body, want string
	}{
		{"s3cret", "msg_1", 1796126400, `{"type":"before_tool_call"}`, "v1,RrB9+bO8fIi9W0vfvZVdPNTu5HQwSdgNSlr66QZ7DjY="},
		{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, `{"test": 2432232314}`, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	} {
		if got := Sign(test.secret, test.id, test.unix, []byte(test.body)); got != test.want {
			t.Errorf("%s: %s", test.id, got)
		}
	}
}

func FuzzDecision(f *testing.F) {
	for _, s := range []string{`{"decision":"allow"}`, `{"decision":"deny","reason":"x"}`, `{"decision":"allow"}{}`, `{"decision":"allow","decision":"deny"}`, `[]`, `{"decision":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := parseDecision(body)
		if err != nil || d.Decision != "allow" {
			return
		}
		// Whoever reads it otherwise must come to the same.
		var m map[string]any
		if err := json.Unmarshal(body, &m); err != nil || m["decision"] != "allow" || len(m) > 2 || strings.Count(string(body), `"decision"`) > 1 {
			t.Errorf("%q was read as allow (%v, %v)", body, m, err)
		}
	})
}
