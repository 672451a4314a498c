// Package fakellm is a model server for tests: it speaks a vendor's real wire
// over real connections, answers by a script, and keeps every request byte for
// byte. What a test asserts is what went over the wire and what came of it.
//
// A [Server] is an [http.Handler] that lives as long as its test. [Start] serves
// it on a free port of the loopback, [StartInMemory] on connections in memory,
// for tests within a testing/synctest bubble; both hold each request against
// the vendor's documented format and end the server with the test, which fails
// when a request was wrong or found no answer left. [Main] is the same server
// as a program for scripts, [Commands] are for testscript, [Quick] is for
// benchmarks. Nothing here waits for longer than its client stays.
//
// Start reading at [Script] and [Server.ServeHTTP]. A new vendor is one wire
// in a file of its own, and a line in wires.
package fakellm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Request is what a client sent.
type Request struct {
	Method string
	Path   string
	Query  string // without the question mark
	Header http.Header
	Body   []byte
	Time   time.Time // when it had come
}

// Decode reads the body as JSON into v.
func (r Request) Decode(v any) error { return json.Unmarshal(r.Body, v) }

// Server answers by a script. It is safe for concurrent use.
type Server struct {
	// URL is the address without a path, set by Start and StartInMemory.
	URL    string
	client *http.Client

	mu       sync.Mutex
	script   Script
	used     []bool
	requests []Request
	embedded []Request // those for vectors
	faults   []error
	came     chan struct{} // closed and made anew with each request
	released chan struct{} // takes a value for an answer that is held
	record   func(n int, r Request) error
}

// New returns a server that answers by s.
func New(s Script) *Server {
	return &Server{script: s, used: make([]bool, len(s.Answers)), came: make(chan struct{}), released: make(chan struct{})}
}

// Start serves answers on a free port until the test ends.
func Start(tb testing.TB, answers ...Answer) *Server {
	tb.Helper()
	return StartScript(tb, Script{Answers: answers})
}

// StartScript is Start with a whole script.
func StartScript(tb testing.TB, script Script) *Server {
	tb.Helper()
	s := New(script)
	h := httptest.NewServer(s)
	s.URL = h.URL
	tb.Cleanup(func() {
		h.CloseClientConnections() // those that hang
		h.Close()
		s.report(tb)
	})
	return s
}

// StartInMemory serves answers on connections in memory, reached by the
// server's Client. Within a testing/synctest bubble time passes for both ends.
func StartInMemory(tb testing.TB, answers ...Answer) *Server {
	tb.Helper()
	return StartInMemoryScript(tb, Script{Answers: answers})
}

// StartInMemoryScript is StartInMemory with a whole script.
func StartInMemoryScript(tb testing.TB, script Script) *Server {
	tb.Helper()
	s := New(script)
	l := newListener()
	h := &http.Server{Handler: s}
	served := make(chan error, 1)
	go func() { served <- h.Serve(l) }()
	s.URL = "http://fakellm.test"
	s.client = &http.Client{Transport: &http.Transport{DialContext: l.dial, DisableCompression: true}}
	tb.Cleanup(func() {
		s.client.CloseIdleConnections()
		if err := errors.Join(h.Close(), ended(<-served)); err != nil {
			tb.Errorf("close fake model server: %v", err)
		}
		s.report(tb)
	})
	return s
}

func ended(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Base is the address that an OpenAI client is configured with.
func (s *Server) Base() string { return s.URL + "/v1" }

// Client reaches a server in memory.
func (s *Server) Client() *http.Client { return s.client }

// Requests are the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Wait returns when n requests have come, or an error when ctx ended before.
func (s *Server) Wait(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		got, came := len(s.requests), s.came
		s.mu.Unlock()
		if got >= n {
			return nil
		}
		select {
		case <-came:
		case <-ctx.Done():
			return fmt.Errorf("wait for request %d: %w after %d", n, ctx.Err(), got)
		}
	}
}

// Release lets one answer that is held go, as soon as there is one. It fails
// when ctx ends before.
func (s *Server) Release(ctx context.Context) error {
	select {
	case s.released <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("release an answer: %w: none is held", ctx.Err())
	}
}

// Left is how many answers of the script were not used.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, used := range s.used {
		if !used {
			n++
		}
	}
	return n
}

// Add appends answers to the script.
func (s *Server) Add(answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script.Answers = append(s.script.Answers, answers...)
	s.used = append(s.used, make([]bool, len(answers))...)
}

// Err is what was wrong with the requests so far.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.faults...)
}

// Forgive is Err, and forgets it, for a test that looks at requests one by one.
func (s *Server) Forgive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.faults...)
	s.faults = nil
	return err
}

func (s *Server) report(tb testing.TB) {
	if err := s.Err(); err != nil {
		tb.Errorf("fake model server: %v", err)
	}
}

// wire is how one vendor's API looks.
type wire interface {
	// speaks reports whether a request is one of this API.
	speaks(r Request) bool
	// facts answers what needs no model, such as the list of models; nil when r
	// asks a model.
	facts(r Request, models []string) []byte
	// check holds a request against the vendor's documented format.
	check(r Request) error
	// write is the answer to request number n, in the pieces in which it is sent.
	write(a Answer, r Request, n int) (pieces [][]byte, contentType string, err error)
	// end is what closes a stream behind the pieces.
	end(a Answer, r Request, n int) [][]byte
	// fails are the failures that the vendor documents.
	fails() failures
	// within is a failure as it stands in a stream that has begun.
	within(f failure) []byte
}

// wires are asked in this order which of them a request is of.
var wires = []wire{messages{}, generateContent{}, ollamaChat{}, responsesAPI{}, chatCompletions{}}

func wireOf(r Request) wire {
	for _, w := range wires {
		if w.speaks(r) {
			return w
		}
	}
	return nil
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	req := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body, Time: time.Now()}
	if e, ok := embedderOf(req); ok {
		s.embed(w, r, e, req)
		return
	}
	api := wireOf(req)
	if api == nil {
		http.NotFound(w, r)
		return
	}
	if facts := api.facts(req, s.script.models()); facts != nil {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(facts)
		return
	}
	a, n, ok := s.take(api, req)
	if !ok {
		http.Error(w, `{"error":{"message":"the script has no answer left for this request"}}`, http.StatusInternalServerError)
		return
	}
	out := &answering{w: w, r: r, a: a, released: s.released}
	if err := out.run(api, req, n); err != nil && r.Context().Err() == nil {
		s.fault(fmt.Errorf("answer request %d: %w", n, err))
	}
}

// take keeps a request and picks its answer. n counts requests from 1.
func (s *Server) take(api wire, r Request) (a Answer, n int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	n = len(s.requests)
	close(s.came)
	s.came = make(chan struct{})
	if s.record != nil {
		if err := s.record(n, r); err != nil {
			s.faults = append(s.faults, err)
		}
	}
	if !s.script.Invalid {
		if err := api.check(r); err != nil {
			s.faults = append(s.faults, fmt.Errorf("request %d is invalid: %w\n%s", n, err, r.Body))
		}
	}
	for range 2 {
		for i, a := range s.script.Answers {
			if !s.used[i] && (a.When == "" || bytes.Contains(r.Body, []byte(a.When))) {
				s.used[i] = true
				return a, n, true
			}
		}
		if !s.script.Loop {
			break
		}
		clear(s.used)
	}
	s.faults = append(s.faults, fmt.Errorf("no answer left for request %d", n))
	return Answer{}, n, false
}

func (s *Server) fault(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, err)
}

// answering is one answer on its way.
type answering struct {
	w        http.ResponseWriter
	r        *http.Request
	a        Answer
	released <-chan struct{} // brings a value when an answer that is held may go
	sent     bool
}

// errBroken says that the script ended the connection.
var errBroken = errors.New("broken by the script")

func (o *answering) run(api wire, req Request, n int) error {
	if !o.pause(o.a.delay()) {
		return nil
	}
	if o.a.Hold {
		select {
		case <-o.released:
		case <-o.r.Context().Done():
			return nil
		}
	}
	switch {
	case o.a.Hang == "before":
		<-o.r.Context().Done()
		return nil
	case o.a.Break == "before":
		return o.reset()
	}
	for k, v := range o.a.Header {
		o.w.Header().Set(k, v)
	}
	if o.a.fails() {
		return o.fail(failure{max(o.a.Status, 200), o.a.Body})
	}
	if o.a.Fault != "" && !o.a.speaks() {
		f, err := api.fails().of(o.a.Fault)
		if err != nil {
			return err
		}
		return o.fail(f)
	}
	pieces, contentType, err := api.write(o.a, req, n)
	if err != nil {
		return err
	}
	if o.w.Header().Get("Content-Type") == "" {
		o.w.Header().Set("Content-Type", contentType)
	}
	if o.a.Hang == "header" {
		o.w.WriteHeader(http.StatusOK)
		if err := o.flush(); err != nil {
			return err
		}
		<-o.r.Context().Done()
		return nil
	}
	for _, p := range pieces {
		if err := o.send(p); err != nil {
			return err
		}
	}
	switch {
	case o.a.Hang == "middle":
		<-o.r.Context().Done()
		return nil
	case o.a.Break == "middle":
		return o.reset()
	case o.a.Fault != "":
		f, err := api.fails().of(o.a.Fault)
		if err != nil {
			return err
		}
		return o.send(api.within(f))
	}
	for _, p := range api.end(o.a, req, n) {
		if err := o.send(p); err != nil {
			return err
		}
	}
	if o.a.Hang == "end" {
		<-o.r.Context().Done()
	}
	return nil
}

// fail answers with an error's document.
func (o *answering) fail(f failure) error {
	if o.w.Header().Get("Content-Type") == "" {
		o.w.Header().Set("Content-Type", "application/json")
	}
	o.w.WriteHeader(f.status)
	return o.send([]byte(f.body))
}

// pause waits for d, unless the client leaves.
func (o *answering) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-o.r.Context().Done():
		return false
	}
}

// send writes one piece and sends it off.
func (o *answering) send(piece []byte) error {
	if o.a.Gate != nil {
		select {
		case <-o.a.Gate:
		case <-o.r.Context().Done():
			return errBroken
		}
	}
	o.sent = true
	if _, err := o.w.Write(piece); err != nil {
		return err
	}
	return o.flush()
}

func (o *answering) flush() error { return http.NewResponseController(o.w).Flush() }

// reset ends the connection without a word.
func (o *answering) reset() error {
	conn, _, err := http.NewResponseController(o.w).Hijack()
	if err != nil {
		// A protocol whose connections are shared ends the stream instead.
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		if err := tcp.SetLinger(0); err != nil {
			return err
		}
	}
	return conn.Close()
}

// strict decodes JSON without unknown fields.
func strict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
