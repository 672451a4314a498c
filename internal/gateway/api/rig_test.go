package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/engine/preset"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/store/sqlite/sqlitetest"
	"github.com/goclaw/goclaw/internal/tool"
)

// rig is a gate with the real runner and loop behind it, and a model that does
// what it is told.
type rig struct {
	*gate
	runner   *run.Runner
	sessions session.Store
	ledger   budget.Ledger
	backend  *backend
	model    *model
	holds    *session.Holds
	client   *http.Client
	stop     func() // ends what runs; the test does at its end
	dir      string // of the database
}

var bob = auth.Principal{ID: "bob", Role: auth.User, Human: true}

// rigOptions change a rig.
type rigOptions struct {
	keep int // finished runs that stay in memory
	wait int // messages that may wait in a session
	busy run.Busy
	dir  string // of the database; empty for one of its own
}

func newRig(t testing.TB, o rigOptions) *rig {
	t.Helper()
	if o.dir == "" {
		o.dir = t.TempDir()
	}
	db := sqlitetest.Open(t, filepath.Join(o.dir, "state.db"))
	r := &rig{dir: o.dir, sessions: db.Sessions(), ledger: db.Ledger(), model: newModel(), holds: session.NewHolds(filepath.Join(o.dir, "locks"))}
	history := session.NewHistory(r.sessions, nil)
	loop := &agent.Agent{Models: r.model, Toolbox: toolbox{r.model}, Prompts: prompts{}, History: history, Now: time.Now, Cost: cost}
	r.runner = run.New(run.Options{
		Profile: func(id string) (run.Profile, error) {
			switch id {
			case "", "alpha", "main", "default":
				return run.Profile{ID: "alpha", Loop: loop}, nil
			case "beta":
				return run.Profile{ID: "beta", Loop: loop}, nil
			}
			return run.Profile{}, fmt.Errorf("no agent %s", id)
		},
		Hold: func(ctx context.Context, key session.Key, busy func()) (func(), error) {
			release, err := r.holds.Try(key)
			if errors.Is(err, session.ErrHeld) {
				busy()
				return r.holds.Hold(ctx, key)
			}
			return release, err
		},
		Inbox: db.Inbox(), History: history, Change: r.sessions.Change,
		Owner: func(ctx context.Context, key session.Key) (string, bool, error) {
			s, err := r.sessions.Session(ctx, key)
			if errors.Is(err, session.ErrNotFound) {
				return "", false, nil
			}
			return s.Caller.ID, err == nil, err
		},
		WhileBusy: o.busy, Keep: o.keep, Waiting: o.wait,
	})
	r.backend = &backend{r: r, kept: map[string]llm.Part{}}
	r.gate = newGateOn(t, db, Options{Backend: r.backend, Runner: r.runner, Sessions: r.sessions, Approvals: deskOf(db.Approvals()), Presets: preset.NewBook(db.Presets(), slog.Default())})
	r.client = &http.Client{Transport: &http.Transport{DialContext: r.serve().dial, DisableCompression: true}}
	r.stop = sync.OnceFunc(func() {
		r.model.release()
		r.Close()
		if err := r.runner.Close(context.Background()); err != nil {
			t.Error(err)
		}
		r.client.CloseIdleConnections()
	})
	t.Cleanup(r.stop)
	return r
}

// restart is another process on the same database.
func (r *rig) restart(o rigOptions) *rig {
	r.t.Helper()
	r.stop()
	o.dir = r.dir
	return newRig(r.t, o)
}

// header is one header of a request.
type header struct{ name, value string }

// send sends a request as a user. A body that is not a string goes as JSON.
func (r *rig) send(ctx context.Context, who, method, path string, body any, headers ...header) *http.Response {
	r.t.Helper()
	var reader io.Reader
	kind := ""
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			r.t.Fatal(err)
		}
		reader, kind = bytes.NewReader(text), "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1"+path, reader)
	if err != nil {
		r.t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if who != "" {
		req.Header.Set("Authorization", "Bearer "+r.tokens[who])
	}
	for _, h := range headers {
		req.Header.Set(h.name, h.value)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// call sends a request, holds its answer to a status, and reads it into out.
func (r *rig) call(who, method, path string, body any, status int, out any, headers ...header) *http.Response {
	r.t.Helper()
	resp := r.send(context.Background(), who, method, path, body, headers...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	if resp.StatusCode != status {
		r.t.Fatalf("%s %s as %s: %s, want %d: %s", method, path, who, resp.Status, status, text)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			r.t.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return resp
}

// refused holds a request to a problem.
func (r *rig) refused(who, method, path string, body any, status int, code string, words ...string) Problem {
	r.t.Helper()
	var p Problem
	resp := r.call(who, method, path, body, status, &p)
	if kind := resp.Header.Get("Content-Type"); kind != "application/problem+json" {
		r.t.Errorf("%s %s: a problem of type %s", method, path, kind)
	}
	if p.Code != code {
		r.t.Errorf("%s %s: code %q, want %q: %s", method, path, p.Code, code, p.Detail)
	}
	for _, w := range words {
		if !strings.Contains(p.Detail, w) {
			r.t.Errorf("%s %s: %q does not say %q", method, path, p.Detail, w)
		}
	}
	return p
}

// say runs a turn to its end and returns what was told of it.
func (r *rig) say(who, session, text string) []sseEvent {
	r.t.Helper()
	return r.stream(who, "POST", "/api/runs", StartRun{Session: session, Message: text})
}

// stream reads a whole stream.
func (r *rig) stream(who, method, path string, body any, headers ...header) []sseEvent {
	r.t.Helper()
	resp := r.send(context.Background(), who, method, path, body, headers...)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		r.t.Fatalf("%s %s: %s %s", method, path, resp.Status, text)
	}
	s := newSSE(resp.Body)
	var all []sseEvent
	for e := range s.events() {
		all = append(all, e)
	}
	return all
}

// sseEvent is one event as it stood on the wire.
type sseEvent struct {
	id, event, data string
}

func (e sseEvent) agent(t testing.TB) agent.Event {
	t.Helper()
	var out agent.Event
	if err := json.Unmarshal([]byte(e.data), &out); err != nil {
		t.Fatalf("%v in %s", err, e.data)
	}
	return out
}

// sse reads server-sent events as a browser does.
type sse struct {
	r        *bufio.Reader
	last     string // the id of the last event that had one
	comments int
	err      error
}

func newSSE(r io.Reader) *sse { return &sse{r: bufio.NewReader(r)} }

// events yields what comes until the stream ends.
func (s *sse) events() iter.Seq[sseEvent] {
	return func(yield func(sseEvent) bool) {
		var e sseEvent
		for {
			line, err := s.r.ReadString('\n')
			if err != nil {
				s.err = err
				return
			}
			line = strings.TrimSuffix(line, "\n")
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case line == "":
				if e.data != "" {
					if e.id != "" {
						s.last = e.id
					}
					if !yield(e) {
						return
					}
				}
				e = sseEvent{}
			case name == "":
				s.comments++
			case name == "id":
				e.id = value
			case name == "event":
				e.event = value
			case name == "data":
				e.data += value
			}
		}
	}
}

// backend is the gateway behind the interface, as small as it can be.
type backend struct {
	HookBackend // hooks are not asked for in these tests
	r           *rig

	mu    sync.Mutex
	asked []run.Request // of what was looked at or invoked
	kept  map[string]llm.Part
	backs int // messages whose files were taken back
	// What is told of tools where a test says so.
	invoke func(ctx context.Context, req run.Request, name string, args []byte) (tool.Outcome, error)
}

func (b *backend) note(req run.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, req)
}

// last is the last request that was looked at or invoked.
func (b *backend) last() run.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked[len(b.asked)-1]
}

func (b *backend) Agents(context.Context) []Agent {
	return []Agent{{ID: "alpha", Name: "Alpha", Default: true}, {ID: "beta", Name: "Beta"}}
}

func (b *backend) Models(_ context.Context, agent, model string) (ModelChoices, error) {
	return ModelChoices{Agent: agent, Default: "fake/m", Asked: model, Models: []string{"fake/m"}}, nil
}

func (b *backend) Surface(_ context.Context, req run.Request) (Surface, error) {
	b.note(req)
	return Surface{Agent: req.Agent, Session: req.Session, Origin: req.Origin, Role: req.Caller.Role, Offered: []Tool{{Name: "noop", Parameters: []byte(`{}`)}}, Others: []Tool{{Name: "db_query", Parameters: []byte(`{}`)}, {Name: "http_request", Parameters: []byte(`{}`)}}, Removed: []tool.Removal{}}, nil
}

func (b *backend) Explain(_ context.Context, req run.Request, name string) (Explanation, error) {
	b.note(req)
	return engine.Explanation{Tool: name, Agent: req.Agent, States: []engine.StateLine{}}, nil
}

func (b *backend) KnownTools(_ context.Context, req run.Request, f ToolFilter) (KnownTools, error) {
	b.note(req)
	page := KnownTools{Agent: req.Agent, Tools: []KnownTool{}, States: map[string]int{}, Total: f.Limit}
	if f.State != nil {
		page.Next = "state " + *f.State
	}
	return page, nil
}

func (b *backend) Tool(_ context.Context, req run.Request, name string) (ToolDetail, error) {
	b.note(req)
	return ToolDetail{Tool: &Tool{Name: name, Parameters: []byte(`{}`)}, Schemas: []ToolSchema{}, Explanation: Explanation{Tool: name, States: []engine.StateLine{}}}, nil
}

func (b *backend) Invoke(ctx context.Context, req run.Request, name string, args []byte) (tool.Outcome, error) {
	b.note(req)
	if b.invoke != nil {
		return b.invoke(ctx, req, name, args)
	}
	call := llm.ToolCall{Name: name, Arguments: string(args)}
	return toolbox{b.r.model}.outcome(ctx, 0, call, func(tool.Event) {}), nil
}

func (b *backend) Prompt(_ context.Context, req run.Request) (Prompt, error) {
	b.note(req)
	return Prompt{Agent: req.Agent, Session: req.Session, Sections: []PromptSection{}}, nil
}

func (b *backend) Files(_ context.Context, req run.Request, query string, limit int) (Files, error) {
	b.note(req)
	f := Files{Agent: req.Agent, Files: []File{}}
	for i := range limit {
		f.Files = append(f.Files, File{Path: fmt.Sprintf("%s-%d", query, i)})
	}
	return f, nil
}

func (b *backend) Attach(_ context.Context, _ auth.Principal, name, said string, data []byte) (Attachment, error) {
	mime := FileType(name, said, data)
	b.mu.Lock()
	defer b.mu.Unlock()
	id := fmt.Sprint("a", len(b.kept))
	b.kept[id] = llm.Part{Kind: llm.KindMedia, Media: &llm.Media{MIME: mime, Name: name, Data: data}}
	return Attachment{ID: id, Name: name, MIME: mime, Size: len(data)}, nil
}

func (b *backend) Attached(_ context.Context, _ auth.Principal, _, _ string, ids []string) ([]llm.Part, func() error, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var parts []llm.Part
	for _, id := range ids {
		p, ok := b.kept[id]
		if !ok {
			return nil, nil, badRequest("there is no attachment %s", id)
		}
		parts = append(parts, p)
	}
	return parts, func() error { b.backs++; return nil }, nil
}

func (b *backend) DeleteSession(ctx context.Context, key session.Key) error {
	b.r.runner.Settle(ctx, key) // as the gateway does
	return session.Delete(ctx, b.r.sessions, b.r.holds, key)
}

func (b *backend) Usage(ctx context.Context, q budget.Query, budgets bool) (budget.Report, error) {
	r, err := budget.Make(ctx, b.r.ledger, q)
	if budgets {
		r.Budgets = []budget.Standing{{Key: "budget.day.usd", Scope: budget.PerDay, Unit: budget.USD, Limit: 5, Used: 1, Left: 4, Resets: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}}
		if q.Session != "" {
			r.Budgets = append(r.Budgets, budget.Standing{Key: "budget.session.tokens", Scope: budget.PerSession, Unit: budget.Tokens, Limit: 9, Used: 1, Left: 8})
		}
	}
	return r, err
}

func (b *backend) Status(context.Context) Status {
	return Status{
		Ready: true, Problems: []string{"config.yaml:7:1: a fault"},
		Providers: []ProviderStatus{{Provider: "p", Model: "m", Failures: 1, Reason: "the account of org-123 is empty"}},
	}
}
