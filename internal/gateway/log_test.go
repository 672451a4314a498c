package gateway_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
)

// book is a log that a test reads while the gateway writes it.
type book struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{} // closed with the next entry; nil while nobody waits
}

func (l *book) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	return l.b.Write(b)
}

// wait returns when the log has an entry with a message.
func (l *book) wait(t *testing.T, message string) {
	t.Helper()
	for {
		l.mu.Lock()
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more := l.more
		l.mu.Unlock()
		if len(l.lines(t, message)) > 0 {
			return
		}
		<-more
	}
}

func (l *book) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// log makes the gateway's log.
func (l *book) log(config.Log) (*slog.Logger, error) {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})), nil
}

// lines are the entries of the log with a message.
func (l *book) lines(t *testing.T, message string) (found []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if entry["msg"] == message {
			found = append(found, entry)
		}
	}
	return found
}

// logged is a rig whose log is kept.
func logged(t *testing.T, answers ...fakellm.Answer) (*rig, *book) {
	t.Helper()
	r, l := setup(t, "", answers...), &book{}
	r.close()
	g, err := gateway.Open(t.Context(), gateway.Options{Home: r.home, Version: "test", Environ: config.EnvironOf(), Log: l.log})
	if err != nil {
		t.Fatal(err)
	}
	r.Gateway = g
	return r, l
}

// Each run that fails leaves one line which says whose it was and why, and
// neither a key nor what anybody said.
func TestFailedRunsAreLogged(t *testing.T) {
	t.Parallel()
	r, l := logged(t,
		fakellm.Fail(401, `{"error":{"message":"Incorrect API key provided: key-of-the-account"}}`),
		fakellm.Fail(400, `{"error":{"type":"invalid_request_error","message":"I can't read: something private"}}`),
		fakellm.Text("Hello."))
	s := r.serve(gateway.ServeOptions{})
	for range 3 {
		s.text(s.ask("POST", "/api/runs", `{"session":"s","message":"something private"}`))
	}
	failed := l.lines(t, "run failed")
	if len(failed) != 2 {
		t.Fatalf("%d runs are logged as failed in %s", len(failed), l)
	}
	for i, want := range []struct{ class, err string }{{"auth", "Incorrect API key"}, {"bad_request", "HTTP 400"}} {
		line := failed[i]
		if line["level"] != "WARN" || line["class"] != want.class || line["session"] != "s" || line["agent"] != "main" || len(line["run"].(string)) != 16 {
			t.Errorf("run %d is logged as %v", i, line)
		}
		if !strings.Contains(line["err"].(string), want.err) {
			t.Errorf("run %d failed with %v, want %q", i, line["err"], want.err)
		}
	}
	ended := l.lines(t, "run ended")
	if len(ended) != 1 || ended[0]["level"] != "DEBUG" || ended[0]["status"] != "done" {
		t.Errorf("runs that ended: %v", ended)
	}
	if text := l.String(); strings.Contains(text, "private") || strings.Contains(text, s.token) {
		t.Errorf("the log holds what it must not: %s", text)
	}
}

// A command tells its person itself.
func TestACommandLogsNoRun(t *testing.T) {
	t.Parallel()
	r, l := logged(t, fakellm.Fail(401, `{"error":{"message":"no such key"}}`))
	r.say("s", "hi")
	if failed := l.lines(t, "run failed"); len(failed) != 1 || failed[0]["level"] != "DEBUG" {
		t.Errorf("the log says %s", l)
	}
}
