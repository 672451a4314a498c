package openai

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

func TestStopping(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"before", "header", "middle"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, fakellm.Answer{Text: "Hel", Hang: where})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if err := s.Wait(t.Context(), 1); err == nil {
					cancel()
				}
			}()
			if got := ask(ctx, open(t, provider.Settings{BaseURL: s.Base()}), hello()); !errors.Is(got.err, context.Canceled) || got.reply != nil {
				t.Errorf("%v, %v", got.err, got.reply)
			}
			cancel()
		})
	}
}

// Leaving the range ends the request: the server sees its client go.
func TestLeaving(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := fakellm.Start(t, fakellm.Answer{Text: "Hello", Gate: gate})
	go func() {
		gate <- struct{}{} // the role
		gate <- struct{}{} // the text; nothing passes after it
	}()
	for e, err := range open(t, provider.Settings{BaseURL: s.Base()}).Stream(t.Context(), hello()) {
		if err != nil || e.Type != llm.EventText {
			t.Errorf("%+v, %v", e, err)
		}
		break
	}
}

// Calls in a row use one connection.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	for _, a := range []fakellm.Answer{fakellm.Text("hi"), {Text: "hi", Whole: true}, sse(chunkHel, chunkStop)} {
		dials := 0
		s := fakellm.StartInMemory(t, a, a, a)
		c := s.Client()
		dial := c.Transport.(*http.Transport).DialContext
		c.Transport.(*http.Transport).DialContext = counting(dial, &dials)
		m := newModel(provider.Settings{BaseURL: s.Base()}, c)
		for range 3 {
			if got := ask(t.Context(), m, hello()); got.err != nil {
				t.Fatal(got.err)
			}
		}
		if dials != 1 {
			t.Errorf("%d connections for three calls", dials)
		}
	}
}

// TestTimes runs where time passes by itself.
func TestTimes(t *testing.T) {
	t.Parallel()
	limits := provider.Limits{Total: 10 * time.Minute, FirstByte: 60 * time.Second, Idle: 30 * time.Second}
	slow := fakellm.Answer{Raw: []string{": first\n\n"}}
	for range 100 {
		slow.Raw = append(slow.Raw, ": still here\n\n")
	}
	chatty := slow
	chatty.Raw = append([]string{"data: " + chunkHel + "\n\ndata: " + chunkStop + "\n\n"}, slow.Raw...)
	for _, test := range []struct {
		name    string
		answer  fakellm.Answer
		every   time.Duration // between two writes
		want    time.Duration
		message string // "" when the call ends well
	}{
		{"nothing comes", fakellm.Answer{Hang: "before"}, 0, 60 * time.Second, "no answer within 1 min"},
		{"only the header comes", fakellm.Answer{Hang: "header"}, 0, 60 * time.Second, "no answer within 1 min"},
		{"silence in the middle", fakellm.Answer{Text: "Hel", Hang: "middle"}, 0, 30 * time.Second, "the answer stopped for 30 s"},
		{"bytes and bytes and no end", slow, 20 * time.Second, 10 * time.Minute, "the answer was not complete within 10 min"},
		{"slow but in time", fakellm.Answer{Text: "Hello, how are you?", Pieces: 4}, 25 * time.Second, 7*25*time.Second + grace, ""},
		{"complete but not closed", fakellm.Answer{Raw: []string{"data: " + chunkHel + "\n\ndata: " + chunkStop + "\n\n"}, Hang: "middle"}, 0, grace, ""},
		{"complete, then comments for ever", chatty, time.Second, time.Second + grace, ""},
		{"the end mark but no end", fakellm.Answer{Raw: []string{"data: " + chunkStop + "\n\ndata: [DONE]\n\n"}, Hang: "middle"}, 0, drain, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := test.answer
				if test.every > 0 {
					gate := make(chan struct{})
					a.Gate = gate
					ctx, stop := context.WithCancel(t.Context())
					defer stop()
					go func() {
						for ctx.Err() == nil {
							select {
							case <-time.After(test.every):
							case <-ctx.Done():
								return
							}
							select {
							case gate <- struct{}{}:
							case <-ctx.Done():
							}
						}
					}()
				}
				s := fakellm.StartInMemory(t, a)
				m := newModel(provider.Settings{BaseURL: s.Base(), Limits: limits}, s.Client())
				begin := time.Now()
				got := ask(t.Context(), m, hello())
				if took := time.Since(begin); took != test.want {
					t.Errorf("it took %s, want %s", took, test.want)
				}
				if test.message == "" {
					if got.err != nil || got.reply == nil {
						t.Errorf("%v", got.err)
					}
					return
				}
				var e *llm.Error
				if !errors.As(got.err, &e) || e.Class != llm.ClassNetwork || e.Message != test.message {
					t.Errorf("%v", got.err)
				}
			})
		})
	}
}
