package telemetry

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/engine/cache"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

func read(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Tell(w, true)
	if got := w.Header().Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("Content-Type %q", got)
	}
	return w.Body.String()
}

// lint holds what is told against the usual library's parser and its rules of
// names.
func lint(t *testing.T, text string) {
	t.Helper()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Errorf("what is told can't be parsed: %v\n%s", err, text)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// busy has seen a bit of everything.
func busy(t *testing.T) *Metrics {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m := New(Options{
		Version: "v1", Now: func() time.Time { return now },
		Budgets: func() []budget.Standing {
			return []budget.Standing{
				{Key: "budget.day.tokens", Unit: budget.Tokens, Limit: 1000, Used: 326},
				{Key: "agents.list[main].budget.day.usd", Agent: "main", Unit: budget.USD, Limit: 2.5, Used: 2},
			}
		},
		Pool:    func() pool.Stats { return pool.Stats{Busy: 3, Queued: 2, Blocked: 1, Abandoned: 1} },
		Runs:    func() (int, int) { return 4, 5 },
		Answers: func() (uint64, uint64) { return 2, 1 },
		Results: func() cache.Stats { return cache.Stats{Hits: 5, Misses: 3, Spoiled: 1, Bytes: 2048} },
		Providers: func() []provider.State {
			return []provider.State{
				{Target: llm.Target{Provider: "calm", Model: "m"}},
				{Target: llm.Target{Provider: "openai", Model: "m"}, Failures: 3, LastFailed: now, Cooling: now.Add(time.Minute)},
				{Target: llm.Target{Provider: "late", Model: "m"}, Failures: 1, LastFailed: now},
			}
		},
	})
	target := &llm.Target{Provider: "openai", Model: `odd "\name`}
	at := func(after time.Duration, e agent.Event) {
		e.Run, e.Agent, e.Time = "r", "main", now.Add(after)
		m.Observe(e)
	}
	at(0, agent.Event{Type: agent.RunStarted})
	at(0, agent.Event{Type: agent.ModelStarted, Target: target})
	at(300*time.Millisecond, agent.Event{Type: agent.TokenChunk, Text: "a"})
	at(900*time.Millisecond, agent.Event{Type: agent.TokenChunk, Text: "b"})
	again := &llm.Attempt{Target: target.Short(), Class: llm.ClassOverloaded, Next: llm.Retry}
	at(0, agent.Event{Type: agent.Notice, Kind: "retry", Attempt: again})
	at(0, agent.Event{Type: agent.Notice, Kind: "retry", Attempt: again})
	at(0, agent.Event{Type: agent.Retracted})
	at(0, agent.Event{Type: agent.Notice, Kind: "failover", Attempt: &llm.Attempt{
		Target: target.Short(), Class: llm.ClassAuth, Skipped: true, Next: llm.Failover, To: &llm.Target{Provider: "local", Model: "m"},
	}})
	at(0, agent.Event{Type: agent.Notice, Kind: "words of somebody"})
	for _, o := range []tool.Outcome{
		{Tool: "calc", Status: tool.OK, Started: now, Ended: now.Add(2 * time.Millisecond)},
		{Tool: "calc", Status: tool.Refused, Step: "policy"},
		{Tool: "whatever the model wrote", Status: tool.Invalid, Step: "resolve"},
	} {
		at(time.Second, agent.Event{Type: agent.ToolFinished, Tool: &agent.ToolEvent{Outcome: &o}})
	}
	at(time.Second, agent.Event{Type: agent.ModelStarted, Target: target})
	at(2*time.Second, agent.Event{Type: agent.ReasoningChunk})
	m.Spent([]agent.Spent{ // the second model took over
		{Target: *target, Usage: llm.Usage{Input: 100, Cached: 60, Output: 7}, USD: new(1.75)},
		{Target: *target, Usage: llm.Usage{Input: 10, Output: 1}, USD: new(0.25)},
	})
	m.Spent([]agent.Spent{{Target: llm.Target{Provider: "local", Model: "m"}, Usage: llm.Usage{Input: 200, Output: 8}}})
	at(3*time.Second, agent.Event{Type: agent.RunFinished, End: &agent.RunEnd{Status: agent.Done, Usage: llm.Usage{Input: 310, Cached: 60, Output: 16}}})
	at(3*time.Second, agent.Event{Type: agent.RunFailed, End: &agent.RunEnd{Status: agent.Failed}, Attempt: &llm.Attempt{
		Target: llm.Target{Provider: "local", Model: "m"}, Class: llm.ClassNetwork,
	}}) // a run that failed at once
	at(0, agent.Event{Type: agent.RunStarted})
	at(0, agent.Event{Type: agent.ModelStarted, Target: target})
	at(time.Millisecond, agent.Event{Type: agent.TokenChunk, Text: "said by no model"})
	at(time.Second, agent.Event{Type: agent.RunFinished, End: &agent.RunEnd{Status: agent.Done, Cached: true}})
	if len(m.going) > 0 {
		t.Errorf("%d runs that ended are still known", len(m.going))
	}
	return m
}

func TestWhatIsTold(t *testing.T) {
	t.Parallel()
	text := read(t, busy(t))
	lint(t, text)
	// The process's own are different each time, and so is the version of Go.
	own := regexp.MustCompile(`(?m)^((# (HELP|TYPE) )?(go_|process_|goclaw_gc_).*\n)`)
	got := regexp.MustCompile(`go="[^"]*"`).ReplaceAllString(own.ReplaceAllString(text, ""), `go="GO"`)
	file := filepath.Join("testdata", "metrics.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
	for _, name := range []string{"go_goroutines ", "go_memstats_alloc_bytes "} {
		if !strings.Contains(text, "\n"+name) {
			t.Errorf("%s is missing", name)
		}
	}
}

// What all together spend and which tools there are is left out for those who
// may not be told, and nothing else is.
func TestWhatIsForAdminsIsLeftOut(t *testing.T) {
	t.Parallel()
	m := busy(t)
	w := httptest.NewRecorder()
	m.Tell(w, false)
	lint(t, w.Body.String())
	private := regexp.MustCompile(`goclaw_(tokens|cost_usd|budget|tool_calls|tool_call_duration)_`)
	own := regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?(go_|process_|goclaw_gc_).*\n`)
	var rest strings.Builder
	for line := range strings.Lines(read(t, m)) {
		if !private.MatchString(line) {
			rest.WriteString(line)
		}
	}
	if d := cmp.Diff(own.ReplaceAllString(rest.String(), ""), own.ReplaceAllString(w.Body.String(), "")); d != "" {
		t.Error(d)
	}
}

func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	m := New(Options{})
	for i := range 2 * maxSeries {
		m.Call(tool.Outcome{Tool: fmt.Sprintf("tool_%d", i), Status: tool.OK})
	}
	text := read(t, m)
	if n := strings.Count(text, "\ngoclaw_tool_calls_total{"); n != maxSeries+1 {
		t.Errorf("%d series", n)
	}
	if want := fmt.Sprintf("\ngoclaw_tool_calls_total{tool=\"other\",status=\"other\"} %d\n", maxSeries); !strings.Contains(text, want) {
		t.Errorf("the rest is not counted together: want %s", want)
	}
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	v := newHistogram("x", "X.", []float64{1, 2})
	for _, x := range []float64{0, 1, 1.5, 2, 3} {
		v.observe(x)
	}
	var b bytes.Buffer
	v.write(&b)
	want := "# HELP x X.\n# TYPE x histogram\nx_bucket{le=\"1\"} 2\nx_bucket{le=\"2\"} 4\nx_bucket{le=\"+Inf\"} 5\nx_sum 7.5\nx_count 5\n"
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

func TestRequestsAreCountedByRoute(t *testing.T) {
	t.Parallel()
	m := New(Options{})
	open, end := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things/{id}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "a thing") })
	mux.HandleFunc("/any", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /gone", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		close(open)
		<-end
	})
	server := httptest.NewServer(m.Wrap(mux))
	defer server.Close()
	for _, path := range []string{"/things/1", "/things/2", "/none", "/gone"} {
		r, err := http.Get(server.URL + path)
		if err != nil {
			if path != "/gone" || !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			continue
		}
		r.Body.Close()
	}
	for _, method := range []string{"PATCH", "BREW"} {
		r, err := http.NewRequest(method, server.URL+"/any", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if r, err := http.Get(server.URL + "/events"); err != nil {
			t.Error(err)
		} else {
			io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
	})
	<-open
	if text := read(t, m); !strings.Contains(text, `goclaw_http_streams{route="GET /events"} 1`) {
		t.Errorf("the open stream is not counted:\n%s", text)
	}
	close(end)
	wg.Wait()
	server.Close() // waits for the handlers
	text := read(t, m)
	lint(t, text)
	for _, want := range []string{
		`goclaw_http_requests_total{route="GET /things/{id}",status="200"} 2`,
		`goclaw_http_requests_total{route="none",status="404"} 1`,
		`goclaw_http_requests_total{route="PATCH /any",status="200"} 1`,
		`goclaw_http_requests_total{route="other /any",status="200"} 1`,
		`goclaw_http_requests_total{route="GET /events",status="200"} 1`,
		`goclaw_http_streams{route="GET /events"} 0`,
		`goclaw_http_request_duration_seconds_count{route="GET /things/{id}"} 2`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("missing: %s\n%s", want, text)
		}
	}
	if strings.Contains(text, "/things/1") {
		t.Error("a raw path became a label")
	}
	if strings.Contains(text, `goclaw_http_request_duration_seconds_count{route="GET /events"}`) {
		t.Error("a stream was counted among the durations")
	}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, ok := readProc(dir); ok {
		t.Error("a folder without anything was read")
	}
	stat := "7 (odd ) name) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 8 0 12345 1000000 64 18446744073709551615 1 1\n"
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "fd", "0"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, ok := readProc(dir)
	if want := (proc{cpu: 3, resident: 64 * float64(os.Getpagesize()), files: 1}); !ok || p != want {
		t.Errorf("read %+v, want %+v", p, want)
	}
}

func BenchmarkObserve(b *testing.B) {
	m := New(Options{})
	m.Observe(agent.Event{Type: agent.RunStarted, Run: "r"})
	m.Observe(agent.Event{Type: agent.ModelStarted, Run: "r", Target: &llm.Target{Provider: "p", Model: "m"}})
	b.ReportAllocs()
	for b.Loop() {
		m.Observe(agent.Event{Type: agent.TokenChunk, Run: "r", Text: "x"})
	}
}
