package gateway_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/gateway"
)

// BenchmarkServedTurn is [BenchmarkTurn] over HTTP: a client starts the run and
// reads its stream to the end.
func BenchmarkServedTurn(b *testing.B) {
	turn, floor := benchServed(b)
	var ours, theirs []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		turn()
		between := time.Now()
		floor()
		ours, theirs = append(ours, between.Sub(began)), append(theirs, time.Since(between))
	}
	b.ReportMetric(float64(quantile(ours, 50).Microseconds()), "µs/turn")
	b.ReportMetric(float64(quantile(theirs, 50).Microseconds()), "µs/floor")
	b.ReportMetric(float64(quantile(ours, 50))/float64(quantile(theirs, 50)), "x-floor")
	b.ReportMetric(float64(quantile(ours, 95))/float64(quantile(theirs, 95)), "x-p95")
}

// BenchmarkServedTurns runs them for 50 sessions side by side.
func BenchmarkServedTurns(b *testing.B) {
	turn, _ := benchServed(b)
	work := make(chan struct{})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range work {
				turn()
			}
		})
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		work <- struct{}{}
	}
	close(work)
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}

// benchServed serves a gateway and returns a turn and its floor.
func benchServed(b *testing.B) (turn, floor func()) {
	b.Helper()
	g, url, file := benchGateway(b)
	ctx, stop := context.WithCancel(context.WithoutCancel(b.Context()))
	ready, ended := make(chan gateway.Instance, 1), make(chan error, 1)
	go func() {
		ended <- g.Serve(ctx, gateway.ServeOptions{Listen: "127.0.0.1:0", Ready: func(i gateway.Instance) { ready <- i }})
	}()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	at := (<-ready).URL + "/api/runs"
	secret, token := auth.NewToken()
	token.User, token.Created = "ada", time.Now()
	if err := g.Users.Add(b.Context(), auth.Account{ID: "ada", Role: auth.Admin, Created: time.Now()}); err != nil {
		b.Fatal(err)
	}
	if err := g.Users.AddToken(b.Context(), token); err != nil {
		b.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.Cleanup(client.CloseIdleConnections)
	turn = func() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, at, strings.NewReader(`{"message":"go"}`))
		if err != nil {
			b.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(r)
		if err != nil {
			b.Error(err)
			return
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || !bytes.Contains(body, []byte("event: run_finished")) {
			b.Errorf("the turn ended with %s, %v", body, err)
		}
	}
	bare := &http.Client{}
	floor = func() {
		if err := floorTurn(bare, url, file); err != nil {
			b.Error(err)
		}
	}
	return turn, floor
}
