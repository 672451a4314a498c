package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/config"
	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/gateway"
)

// The floor of a turn with one tool call: the same two model calls with bare
// net/http, the file that the tool writes, and nothing stored.
func floorTurn(client *http.Client, url, file string) error {
	messages := []map[string]any{{"role": "user", "content": "go"}}
	for range 2 {
		body, err := json.Marshal(map[string]any{"model": "m", "stream": true, "messages": messages})
		if err != nil {
			return err
		}
		resp, err := client.Post(url, "application/json", bytes.NewReader(body))
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
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			return err
		}
		messages = append(messages,
			map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": "c", "type": "function", "function": map[string]any{"name": "file_write", "arguments": "{}"}}}},
			map[string]any{"role": "tool", "tool_call_id": "c", "content": "ok"})
	}
	return nil
}

func benchGateway(b *testing.B) (*gateway.Gateway, string, string) {
	b.Helper()
	server := httptest.NewServer(fakellm.Quick(fakellm.Call{Name: "file_write", Args: json.RawMessage(`{"path":"a.txt","content":"x"}`)}, "Done."))
	b.Cleanup(server.Close)
	home := b.TempDir()
	text := fmt.Sprintf("ai: {provider: openai, providers: {openai: {api_key: k, model: m, base_url: %q}}}\n", server.URL+"/v1")
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	g, err := gateway.Open(b.Context(), gateway.Options{
		Home: home, Environ: config.EnvironOf(),
		Log: func(config.Log) (*slog.Logger, error) { return slog.New(slog.DiscardHandler), nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := g.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	})
	return g, server.URL + "/v1/chat/completions", filepath.Join(home, "floor.txt")
}

// benchTurn runs one turn and reads its events to the end.
func benchTurn(b *testing.B, g *gateway.Gateway, req run.Request) {
	r, err := g.Runner.Start(req)
	if err != nil {
		b.Error(err)
		return
	}
	var last agent.Event
	for e := range r.Events(context.Background(), 0) {
		last = e
	}
	if last.Type != agent.RunFinished || last.End.Rounds != 2 {
		b.Errorf("the turn ended with %s %q", last.Type, last.Text)
	}
}

// BenchmarkTurn is a turn with one tool call in a fresh session, everything
// stored, in turn with the floor. x-floor is the ratio of their medians, x-p95
// that of their 95th percentiles.
func BenchmarkTurn(b *testing.B) {
	g, url, file := benchGateway(b)
	client := &http.Client{}
	var ours, floor []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		benchTurn(b, g, admin("", "go"))
		between := time.Now()
		if err := floorTurn(client, url, file); err != nil {
			b.Fatal(err)
		}
		ours, floor = append(ours, between.Sub(began)), append(floor, time.Since(between))
	}
	b.ReportMetric(float64(quantile(ours, 50).Microseconds()), "µs/turn")
	b.ReportMetric(float64(quantile(floor, 50).Microseconds()), "µs/floor")
	b.ReportMetric(float64(quantile(ours, 50))/float64(quantile(floor, 50)), "x-floor")
	b.ReportMetric(float64(quantile(ours, 95))/float64(quantile(floor, 95)), "x-p95")
}

// quantile returns the time that percent of the times don't exceed, and sorts
// them.
func quantile(times []time.Duration, percent int) time.Duration {
	slices.Sort(times)
	return times[(len(times)-1)*percent/100]
}

// BenchmarkTurns runs turns of 50 sessions side by side, then as many of the
// floor. x-floor is how many times longer they take.
func BenchmarkTurns(b *testing.B) {
	g, url, file := benchGateway(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	// side runs b.N turns on 50 goroutines.
	side := func(turn func() error) time.Duration {
		began := time.Now()
		var left atomic.Int64
		left.Store(int64(b.N))
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					if err := turn(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		return time.Since(began)
	}
	b.ResetTimer()
	ours := side(func() error {
		benchTurn(b, g, admin("", "go"))
		return nil
	})
	b.StopTimer()
	floor := side(func() error { return floorTurn(client, url, file) })
	b.ReportMetric(float64(b.N)/ours.Seconds(), "turns/s")
	b.ReportMetric(float64(ours)/float64(floor), "x-floor")
}

// BenchmarkHistory is a turn behind a history of about the given number of
// turns: a session serves until it has grown by a tenth.
func BenchmarkHistory(b *testing.B) {
	for _, turns := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			g, _, _ := benchGateway(b)
			h := session.NewHistory(g.Sessions, nil)
			b.ResetTimer()
			for i := range b.N {
				serves := max(turns/10, 1)
				key := session.Key{Agent: "main", ID: fmt.Sprint("long", i/serves)}
				if i%serves == 0 {
					b.StopTimer()
					for n := range turns {
						if _, err := sessiontest.TurnWithTool(b.Context(), h, key, fmt.Sprint(key.ID, "-", n), "go"); err != nil {
							b.Fatal(err)
						}
					}
					b.StartTimer()
				}
				benchTurn(b, g, admin(key.ID, "go"))
			}
		})
	}
}

// BenchmarkOpen opens and closes a gateway on a home folder that exists.
func BenchmarkOpen(b *testing.B) {
	home := b.TempDir()
	for b.Loop() {
		g, err := gateway.Open(b.Context(), gateway.Options{
			Home: home, Environ: config.EnvironOf(),
			Log: func(config.Log) (*slog.Logger, error) { return slog.New(slog.DiscardHandler), nil },
		})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := g.Agent(""); err != nil {
			b.Fatal(err)
		}
		if err := g.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
