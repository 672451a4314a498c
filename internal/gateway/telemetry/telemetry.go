// Package telemetry counts what the gateway does and tells it at /metrics in
// the text format of Prometheus: runs, tokens, tools, providers, requests, and
// the process itself.
//
// A [Metrics] is made when a gateway serves and lives as long as that. It is
// fed by events, replies and outcomes as they happen, on the goroutine of whoever
// reports them; that takes a few hundred nanoseconds and never waits for a
// reader. What others count already (the pool, the providers) is asked for when
// somebody reads. Labels hold no ids and no words of people: how many series
// there may be is bounded.
//
// The usual client library is not used because importing it costs every
// command a millisecond at its start and the program three megabytes; the
// format is small, and tests hold it against that library's own parser.
//
// Start reading at [Metrics.Observe].
package telemetry

import (
	"bytes"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/budget"
	"github.com/goclaw/goclaw/internal/engine/cache"
	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/tool"
)

// Options say what is asked for when somebody reads. None of the functions may
// wait; nil ones are left out.
type Options struct {
	Version   string
	Started   time.Time
	Pool      func() pool.Stats
	Providers func() []provider.State
	Runs      func() (going, waiting int)
	Answers   func() (hits, misses uint64) // of the cache of answers
	Results   func() cache.Stats           // of the cache of tools' results
	// Budgets tell how it stands with the limits of the day.
	Budgets func() []budget.Standing
	Now     func() time.Time // time.Now when nil
}

// Metrics counts. It is safe for concurrent use.
type Metrics struct {
	opts Options

	runs, runTime, firstToken     *vector
	asks, tokens, cost            *vector
	calls, callTime               *vector
	failures, retries, failovers  *vector
	retractions, notices          *vector
	requests, requestTime, stream *vector

	mu    sync.Mutex
	going map[string]*going // by the run's id
}

// going is what is known of a run that has not ended.
type going struct {
	began  time.Time
	asked  time.Time  // when a model was last asked
	target llm.Target // that was asked
	// said is when it began to say something; zero before. That the answer came
	// from the cache, and took no time, is known by the end of the run.
	said time.Time
}

// Bounds of buckets, in seconds.
var (
	ofRuns     = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800}
	ofTokens   = []float64{0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}
	ofCalls    = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300}
	ofRequests = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5}
)

// New makes metrics that have counted nothing.
func New(o Options) *Metrics {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Metrics{
		opts:    o,
		runs:    newVector(counter, "goclaw_runs_total", "Runs that ended, by agent and how they ended.", "agent", "status"),
		runTime: newHistogram("goclaw_run_duration_seconds", "How long runs took, from their first event to their last.", ofRuns, "agent"),
		firstToken: newHistogram("goclaw_first_token_seconds", "From asking a model to the first piece of its answer.",
			ofTokens, "provider", "model"),
		asks: newVector(counter, "goclaw_model_calls_total", "Model calls that were answered, also those whose answer was not used.", "provider", "model"),
		tokens: newVector(counter, "goclaw_tokens_total",
			"Tokens of runs by the model that answered and by kind: input without what the provider's cache had, cached, output.", "provider", "model", "kind"),
		cost:        newVector(counter, "goclaw_cost_usd_total", "What runs cost in US dollars by the model that answered, where prices are known.", "provider", "model"),
		calls:       newVector(counter, "goclaw_tool_calls_total", "Calls of tools, by how they ended.", "tool", "status"),
		callTime:    newHistogram("goclaw_tool_call_duration_seconds", "How long calls of tools took that ran.", ofCalls, "tool"),
		failures:    newVector(counter, "goclaw_model_failures_total", "Model calls that failed, retries among them, by the class of the failure.", "provider", "model", "class"),
		retries:     newVector(counter, "goclaw_model_retries_total", "Model calls that were made again, by the class of the failure before.", "provider", "model", "class"),
		failovers:   newVector(counter, "goclaw_model_failovers_total", "Requests that moved to another model, as provider/model.", "from", "to"),
		retractions: newVector(counter, "goclaw_model_retractions_total", "How often what had been shown of an answer was taken back, by the model that answered otherwise.", "provider", "model"),
		notices:     newVector(counter, "goclaw_model_notices_total", "Notices about model calls by kind: retry, failover and others.", "kind"),
		requests:    newVector(counter, "goclaw_http_requests_total", "HTTP requests that were answered, by route and status.", "route", "status"),
		requestTime: newHistogram("goclaw_http_request_duration_seconds",
			"How long answering HTTP requests took; streams are left out.", ofRequests, "route"),
		stream: newVector(gauge, "goclaw_http_streams", "Streams of events that are open now.", "route"),
		going:  map[string]*going{},
	}
}

// Observe counts an event of a run. It is called for every event, in order
// within a run.
func (m *Metrics) Observe(e agent.Event) {
	switch e.Type {
	case agent.RunStarted, agent.ModelStarted, agent.TokenChunk, agent.ReasoningChunk, agent.Retracted, agent.RunFinished, agent.RunFailed:
		m.progress(e)
	case agent.ToolFinished:
		if e.Tool != nil && e.Tool.Outcome != nil {
			m.Call(*e.Tool.Outcome)
		}
	case agent.Notice:
		m.notices.add(1, kindOf(e.Kind))
	}
	if e.Attempt != nil {
		m.failed(e.Attempt)
	}
}

// failed counts a model call that failed, and what came of it.
func (m *Metrics) failed(a *llm.Attempt) {
	p, model, class := a.Target.Provider, a.Target.Model, string(a.Class)
	if !a.Skipped {
		m.failures.add(1, p, model, class)
	}
	switch {
	case a.Next == llm.Retry:
		m.retries.add(1, p, model, class)
	case a.To != nil:
		m.failovers.add(1, a.Target.String(), a.To.String())
	}
}

// kindOf keeps the label to what the loop and the providers say.
func kindOf(kind string) string {
	switch kind {
	case "retry", "failover", "cooldown", "fallback", "compaction", "limit", "guard", "budget", "queued":
		return kind
	}
	return other
}

func (m *Metrics) progress(e agent.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.going[e.Run]
	if g == nil {
		if e.Type == agent.TokenChunk || e.Type == agent.ReasoningChunk || e.Type == agent.Retracted {
			return // nothing to learn of a run whose beginning was not seen
		}
		g = &going{began: e.Time}
		m.going[e.Run] = g
	}
	switch e.Type {
	case agent.ModelStarted:
		m.heard(g)
		g.asked = e.Time
		if e.Target != nil {
			g.target = *e.Target
		}
	case agent.TokenChunk, agent.ReasoningChunk:
		if !g.asked.IsZero() && g.said.IsZero() {
			g.said = e.Time
		}
	case agent.Retracted:
		m.retractions.add(1, g.target.Provider, g.target.Model)
	case agent.RunFinished, agent.RunFailed:
		delete(m.going, e.Run)
		if e.End == nil || !e.End.Cached {
			m.heard(g)
		}
		m.ended(e, g)
	}
}

// heard counts how long the model that was asked last took to say something.
func (m *Metrics) heard(g *going) {
	if !g.said.IsZero() {
		m.firstToken.observe(g.said.Sub(g.asked).Seconds(), g.target.Provider, g.target.Model)
		g.said = time.Time{}
	}
}

func (m *Metrics) ended(e agent.Event, g *going) {
	if e.End == nil || e.Ref != "" {
		return // its message became part of another run
	}
	m.runs.add(1, e.Agent, string(e.End.Status))
	m.runTime.observe(e.Time.Sub(g.began).Seconds(), e.Agent)
}

// Spent counts what model calls used when that is stored, also of those whose
// answer was not used.
func (m *Metrics) Spent(calls []agent.Spent) {
	for i := range calls {
		s := &calls[i]
		p, model, u := s.Target.Provider, s.Target.Model, s.Usage
		m.asks.add(1, p, model)
		m.tokens.add(float64(max(u.Input-u.Cached, 0)), p, model, "input")
		m.tokens.add(float64(u.Cached), p, model, "cached")
		m.tokens.add(float64(u.Output), p, model, "output")
		if s.USD != nil {
			m.cost.add(*s.USD, p, model)
		}
	}
}

// Call counts a call of a tool, one by hand too.
func (m *Metrics) Call(o tool.Outcome) {
	name := o.Tool
	if o.Step == "resolve" {
		name = "unknown" // whatever the model wrote
	}
	m.calls.add(1, name, string(o.Status))
	switch o.Status {
	case tool.Refused, tool.Invalid, tool.Interrupted: // nothing ran, or nobody knows for how long
	default:
		m.callTime.observe(o.Ended.Sub(o.Started).Seconds(), name)
	}
}

// Tell answers a request with all metrics, those of tokens, costs, budgets and
// tools only where all may be told: they say what all people together used, and
// name tools that policy may deny to who asks.
func (m *Metrics) Tell(w http.ResponseWriter, all bool) {
	var b bytes.Buffer
	header(&b, "goclaw_build_info", "The version that runs; always 1.", gauge)
	sample(&b, "goclaw_build_info", []string{"version", "go"}, []string{m.opts.Version, runtime.Version()}, 1)
	for _, v := range []*vector{
		m.runs, m.runTime, m.firstToken, m.asks, m.tokens, m.cost, m.failures, m.retries, m.failovers, m.retractions, m.notices,
		m.calls, m.callTime, m.requests, m.requestTime, m.stream,
	} {
		if all || v != m.tokens && v != m.cost && v != m.calls && v != m.callTime {
			v.write(&b)
		}
	}
	m.asked(&b, all)
	process(&b, m.opts.Started)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	// The client may be gone; nobody is left to tell.
	_, _ = w.Write(b.Bytes())
}

// asked writes what others count.
func (m *Metrics) asked(b *bytes.Buffer, spending bool) {
	one := func(name, help string, x float64) {
		header(b, name, help, gauge)
		sample(b, name, nil, nil, x)
	}
	if m.opts.Runs != nil {
		going, waiting := m.opts.Runs()
		one("goclaw_runs_going", "Runs that are going now.", float64(going))
		one("goclaw_runs_queued", "Messages that wait for their session's run to end.", float64(waiting))
	}
	if m.opts.Pool != nil {
		s := m.opts.Pool()
		one("goclaw_pool_busy", "Workers of the tools' pool that run a call.", float64(s.Busy))
		one("goclaw_pool_spare", "Spare workers that run a call, of people who have no other running.", float64(s.Spare))
		one("goclaw_pool_queued", "Calls that wait for a worker.", float64(s.Queued+s.Blocked))
		one("goclaw_pool_abandoned", "Calls that did not stop when they were told to and still run.", float64(s.Abandoned))
	}
	if m.opts.Answers != nil {
		hits, misses := m.opts.Answers()
		looked := newVector(counter, "goclaw_llm_cache_total", "Requests whose answer was looked for among those to equal requests, by whether it was there.", "result")
		looked.add(float64(hits), "hit")
		looked.add(float64(misses), "miss")
		looked.write(b)
	}
	if m.opts.Results != nil {
		s := m.opts.Results()
		looked := newVector(counter, "goclaw_tool_cache_total", "Calls whose result was looked for among those of equal calls, by whether it was there and still true.", "result")
		looked.add(float64(s.Hits), "hit")
		looked.add(float64(s.Misses), "miss")
		looked.write(b)
		spoiled := newVector(counter, "goclaw_tool_cache_invalidated_total", "Results that were dropped because a call wrote what they were read from.")
		spoiled.add(float64(s.Spoiled))
		spoiled.write(b)
		one("goclaw_tool_cache_bytes", "What the results of tools take that are kept, about.", float64(s.Bytes))
	}
	if m.opts.Budgets != nil && spending {
		limit := newVector(gauge, "goclaw_budget_limit", "Limits of the day by where they are configured, in their unit; agent is empty for all together.", "budget", "agent", "unit")
		used := newVector(gauge, "goclaw_budget_used", "What is used today of these limits.", "budget", "agent", "unit")
		for _, s := range m.opts.Budgets() {
			limit.add(s.Limit, s.Key, s.Agent, s.Unit)
			used.add(s.Used, s.Key, s.Agent, s.Unit)
		}
		limit.write(b)
		used.write(b)
	}
	if m.opts.Providers == nil {
		return
	}
	now := m.opts.Now()
	failures := newVector(gauge, "goclaw_provider_failures", "Failures of the last five minutes, of models that failed.", "provider", "model")
	cooling := newVector(gauge, "goclaw_provider_cooldown_seconds", "For how long a model is still left alone, of models that failed.", "provider", "model")
	for _, s := range m.opts.Providers() {
		if s.LastFailed.IsZero() {
			continue
		}
		failures.add(float64(s.Failures), s.Target.Provider, s.Target.Model)
		cooling.add(max(s.Cooling.Sub(now).Seconds(), 0), s.Target.Provider, s.Target.Model)
	}
	failures.write(b)
	cooling.write(b)
}
