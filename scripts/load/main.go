// Command load measures a running gateway from outside, as its clients see it,
// beside the floor: a bare program that makes the same calls to the same model
// server and stores nothing. It builds nothing: it starts the program that -bin
// names on a home folder of its own, with a model server without latency in
// this process, and stops it at the end.
//
//	make build && go run ./scripts/load
//
// With -url it drives a gateway that runs already, whatever its model, and
// tells times only. Turns of 50 sessions at once keep both processors busy, so
// nothing else should run.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/goclaw/goclaw/internal/fakellm"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx)
	stop()
	os.Exit(status)
}

// options are the flags.
type options struct {
	bin      string
	turns    int
	sessions int
	starts   int
	url      string
	token    string
	agent    string
	message  string
}

// ownToken is the driver's own when it starts the gateway.
const ownToken = "load-driver-token-0123456789"

func run(ctx context.Context) int {
	var o options
	flag.StringVar(&o.bin, "bin", "bin/goclaw", "the program")
	flag.IntVar(&o.turns, "turns", 400, "turns one after the other, and ten times as many in all sessions together")
	flag.IntVar(&o.sessions, "sessions", 50, "sessions at once")
	flag.IntVar(&o.starts, "starts", 15, "starts of the program")
	flag.StringVar(&o.url, "url", "", "drive this gateway instead of starting one")
	flag.StringVar(&o.token, "token", ownToken, "the token for -url")
	flag.StringVar(&o.agent, "agent", "", "the agent for -url")
	flag.StringVar(&o.message, "message", "go", "what is said")
	floor := flag.String("serve-floor", "", "internal: be the floor of starting, on this address")
	flag.Parse()
	var err error
	switch {
	case flag.NArg() > 0 || o.turns < 1 || o.sessions < 1 || o.starts < 1:
		flag.Usage()
		return 2
	case *floor != "":
		err = serveFloor(*floor)
	case o.url != "":
		err = drive(ctx, o)
	default:
		err = measure(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		return 1
	}
	return 0
}

// drive measures a gateway that runs already.
func drive(ctx context.Context, o options) error {
	g := &client{url: strings.TrimSuffix(o.url, "/"), token: o.token, agent: o.agent, message: o.message, http: newHTTP(o.sessions)}
	one, err := g.turns(ctx, 1, o.turns)
	if err != nil {
		return err
	}
	many, err := g.turns(ctx, o.sessions, 10*o.turns)
	if err != nil {
		return err
	}
	fmt.Printf("turn one after the other   p50 %s  p95 %s  (%d turns)\n", show(one.quantile(50)), show(one.quantile(95)), o.turns)
	fmt.Printf("%d sessions at once        %.0f turns/s  p50 %s  p95 %s\n", o.sessions, many.rate(), show(many.quantile(50)), show(many.quantile(95)))
	return nil
}

// measure starts a gateway and tells all figures.
func measure(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "goclaw-load-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	model := newModel()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: model, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	defer func() {
		err = errors.Join(err, server.Close())
		<-served
	}()
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	base := "http://" + l.Addr().String() + "/v1"
	config := fmt.Sprintf("ai: {provider: openai, providers: {openai: {api_key: k, model: m, base_url: %q}}}\ngateway: {listen: \"127.0.0.1:0\"}\n", base)
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	if err := starts(ctx, o, home); err != nil {
		return fmt.Errorf("measure starting: %w", err)
	}
	p, err := start(ctx, o.bin, home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	g := &client{url: p.url, token: ownToken, message: o.message, http: newHTTP(o.sessions)}
	floor := &floorClient{url: base + "/chat/completions", file: filepath.Join(dir, "floor.txt"), http: newHTTP(o.sessions)}
	return figures(ctx, o, p, g, floor, model)
}

func figures(ctx context.Context, o options, p *process, g *client, floor *floorClient, model *model) error {
	select {
	case <-time.After(2 * time.Second): // until start-up's garbage is gone
	case <-ctx.Done():
		return ctx.Err()
	}
	idle, err := p.memory()
	if err != nil {
		return err
	}
	tell("idle memory (RSS)", "35 MiB", "%.1f MiB", idle)

	if _, err := g.turns(ctx, 1, 20); err != nil { // opens connections, fills caches
		return err
	}
	var ours, theirs sample
	for range o.turns {
		if err := ours.add(ctx, g.turn); err != nil {
			return err
		}
		if err := theirs.add(ctx, floor.turn); err != nil {
			return err
		}
	}
	tell("turn with a tool call, p50", "3 x", "%.1f x  (%s to %s)", ratio(ours.quantile(50), theirs.quantile(50)), show(ours.quantile(50)), show(theirs.quantile(50)))
	tell("turn with a tool call, p95", "3 x", "%.1f x  (%s to %s)", ratio(ours.quantile(95), theirs.quantile(95)), show(ours.quantile(95)), show(theirs.quantile(95)))

	before, err := p.processor()
	if err != nil {
		return err
	}
	if _, err := g.turns(ctx, 1, o.turns); err != nil {
		return err
	}
	after, err := p.processor()
	if err != nil {
		return err
	}
	tell("processor time of a turn", "3 ms", "%.1f ms", (after-before).Seconds()*1000/float64(o.turns))

	first, err := firstTokens(ctx, g, model, o.turns/4+1)
	if err != nil {
		return err
	}
	tell("first token behind the model's", "5 ms", "p50 %s  p95 %s", show(first.quantile(50)), show(first.quantile(95)))

	base, err := p.memory()
	if err != nil {
		return err
	}
	many, err := g.turns(ctx, o.sessions, 10*o.turns)
	if err != nil {
		return err
	}
	grown, err := p.memory()
	if err != nil {
		return err
	}
	floors, err := spread(ctx, o.sessions, 10*o.turns, floor.turn)
	if err != nil {
		return err
	}
	tell(fmt.Sprintf("%d sessions at once", o.sessions), "500 turns/s", "%.0f turns/s  p50 %s  p95 %s", many.rate(), show(many.quantile(50)), show(many.quantile(95)))
	tell("the same, to the floor", "3.7 x", "%.1f x  (floor %.0f turns/s)", floors.rate()/many.rate(), floors.rate())
	tell("memory growth in that run", "30 MiB", "%.1f MiB  (to %.1f)", grown-base, grown)
	return nil
}

// tell prints one figure beside its target.
func tell(what, target, format string, args ...any) {
	fmt.Printf("%-34s target %-12s %s\n", what, target, fmt.Sprintf(format, args...))
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func show(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

// newHTTP makes a client that keeps n connections.
func newHTTP(n int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n + 8, DisableCompression: true}}
}

// sample is how long each of many things took.
type sample struct {
	times []time.Duration
	all   time.Duration // from the first to the last
}

func (s *sample) add(ctx context.Context, f func(context.Context) error) error {
	began := time.Now()
	if err := f(ctx); err != nil {
		return err
	}
	s.times = append(s.times, time.Since(began))
	return nil
}

func (s *sample) quantile(percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(s.times))
	return sorted[(len(sorted)-1)*percent/100]
}

func (s *sample) rate() float64 { return float64(len(s.times)) / s.all.Seconds() }

// spread runs f n times on a number of goroutines.
func spread(ctx context.Context, goroutines, n int, f func(context.Context) error) (*sample, error) {
	var left atomic.Int64
	left.Store(int64(n))
	samples, errs := make([]sample, goroutines), make([]error, goroutines)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for left.Add(-1) >= 0 && errs[i] == nil {
				errs[i] = samples[i].add(ctx, f)
			}
		})
	}
	wg.Wait()
	all := &sample{all: time.Since(began)}
	for _, s := range samples {
		all.times = append(all.times, s.times...)
	}
	return all, errors.Join(errs...)
}

// client is a client of the gateway.
type client struct {
	url, token, agent, message string
	http                       *http.Client
}

func (g *client) turns(ctx context.Context, goroutines, n int) (*sample, error) {
	return spread(ctx, goroutines, n, g.turn)
}

// turn runs one turn in a session of its own and reads its events to the end.
func (g *client) turn(ctx context.Context) error { return g.follow(ctx, nil) }

var (
	chunkLine    = []byte("event: token_chunk")
	finishedLine = []byte("event: run_finished")
)

func (g *client) follow(ctx context.Context, first func()) error {
	body, err := json.Marshal(map[string]string{"agent": g.agent, "message": g.message})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+"/api/runs", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+g.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := g.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("the gateway answers %s: %s", resp.Status, text)
	}
	done := false
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 64<<10), 16<<20)
	for lines.Scan() {
		switch {
		case first != nil && bytes.Equal(lines.Bytes(), chunkLine):
			first()
			first = nil
		case bytes.Equal(lines.Bytes(), finishedLine):
			done = true
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if !done {
		return errors.New("a turn did not finish")
	}
	return nil
}

// floorClient makes the model calls of a turn and nothing else.
type floorClient struct {
	url, file string
	http      *http.Client
}

func (f *floorClient) turn(ctx context.Context) error {
	messages := []map[string]any{{"role": "user", "content": "go"}}
	for range 2 {
		body, err := json.Marshal(map[string]any{"model": "m", "stream": true, "messages": messages})
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := f.http.Do(req)
		if err != nil {
			return err
		}
		answer, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
		if !bytes.Contains(answer, []byte("tool_calls")) {
			return nil
		}
		if err := os.WriteFile(f.file, []byte("x"), 0o600); err != nil {
			return err
		}
		messages = append(messages,
			map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": "c", "type": "function", "function": map[string]any{"name": "file_write", "arguments": "{}"}}}},
			map[string]any{"role": "tool", "tool_call_id": "c", "content": "ok"})
	}
	return nil
}

// model is the model server: quick, or slow behind its first token so that the
// way of that token can be told from the rest.
type model struct {
	quick http.Handler
	slow  atomic.Bool
	said  chan time.Time // when a first token was sent, while slow
}

func newModel() *model {
	return &model{
		quick: fakellm.Quick(fakellm.Call{Name: "file_write", Args: json.RawMessage(`{"path":"a.txt","content":"x"}`)}, "Done."),
		said:  make(chan time.Time, 1),
	}
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !m.slow.Load() {
		m.quick.ServeHTTP(w, r)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	piece := func(delta, finish string) {
		fmt.Fprintf(w, `data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
		_ = out.Flush()
	}
	m.said <- time.Now()
	piece(`{"role":"assistant","content":"First"}`, "null")
	time.Sleep(20 * time.Millisecond)
	piece(`{"content":" and last."}`, "null")
	piece(`{}`, `"stop"`)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// firstTokens measures how long a first token takes from the model's server to
// the gateway's client.
func firstTokens(ctx context.Context, g *client, m *model, n int) (*sample, error) {
	m.slow.Store(true)
	defer m.slow.Store(false)
	s := &sample{}
	for range n {
		err := g.follow(ctx, func() { s.times = append(s.times, time.Since(<-m.said)) })
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// process is the program that is measured.
type process struct {
	cmd    *exec.Cmd
	exited chan error // holds how it ended
	url    string
}

// start starts the program on home and returns when it is ready.
func start(ctx context.Context, bin, home string) (*process, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	address := filepath.Join(home, "state", "gateway.json")
	if err := os.Remove(address); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	cmd := exec.Command(bin, "start", "--home", home, "--no-link", "--log-level", "error")
	cmd.Env = append(cmd.Environ(), "GOCLAW_TOKEN="+ownToken)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s (make build makes it): %w", bin, err)
	}
	p := &process{cmd: cmd, exited: make(chan error, 1)}
	go func() { p.exited <- cmd.Wait() }()
	for ; ; time.Sleep(200 * time.Microsecond) {
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), p.stop())
		case err := <-p.exited:
			return nil, fmt.Errorf("start %s: it ended before it was ready (%v)", bin, err)
		default:
		}
		data, err := os.ReadFile(address)
		if err != nil {
			continue
		}
		var known struct {
			URL string `json:"url"`
		}
		if json.Unmarshal(data, &known) == nil && known.URL != "" && ready(ctx, known.URL) {
			p.url = known.URL
			return p, nil
		}
	}
}

func ready(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return <-p.exited
}

// memory is the process's resident memory in MiB.
func (p *process) memory() (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory of the process (Linux only): %w", err)
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("read the memory of the process: no VmRSS")
}

// processor is the processor time that the process has used.
func (p *process) processor() (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// Behind the name, which may hold anything, in parentheses.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	var ticks int64
	for _, i := range []int{11, 12} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100, nil
}

// starts measures starting on an existing database, in turn with the floor: a
// bare server.
func starts(ctx context.Context, o options, home string) error {
	p, err := start(ctx, o.bin, home) // makes the database
	if err != nil {
		return err
	}
	if err := p.stop(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var ours, theirs sample
	for range o.starts {
		var p *process
		if err := ours.add(ctx, func(ctx context.Context) (err error) {
			p, err = start(ctx, o.bin, home)
			return err
		}); err != nil {
			return err
		}
		if err := p.stop(); err != nil {
			return err
		}
		var cmd *exec.Cmd
		if err := theirs.add(ctx, func(ctx context.Context) (err error) {
			cmd, err = startFloor(ctx, self, filepath.Join(home, "floor"))
			return err
		}); err != nil {
			return err
		}
		_ = cmd.Process.Kill() // it is a bare server; nothing of it counts any more
		_ = cmd.Wait()
	}
	tell("start to ready, existing database", "100 ms", "%s  (%.1f x a bare server's %s)", show(ours.quantile(50)), ratio(ours.quantile(50), theirs.quantile(50)), show(theirs.quantile(50)))
	return nil
}

func startFloor(ctx context.Context, self, address string) (*exec.Cmd, error) {
	if err := os.Remove(address); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	cmd := exec.Command(self, "-serve-floor", address)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for ctx.Err() == nil {
		if url, err := os.ReadFile(address); err == nil && len(url) > 0 && ready(ctx, string(url)) {
			return cmd, nil
		}
		time.Sleep(200 * time.Microsecond)
	}
	return nil, errors.Join(ctx.Err(), cmd.Process.Kill(), cmd.Wait())
}

// serveFloor is a server that does nothing, on an address that it writes into
// a file.
func serveFloor(file string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte("http://"+l.Addr().String()), 0o600); err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	return server.Serve(l)
}
