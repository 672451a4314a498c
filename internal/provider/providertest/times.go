package providertest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/fakellm"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/provider"
)

// Time is an answer that takes its time, read with a time-out of a minute for
// the first byte and 30 seconds between two.
type Time struct {
	Name            string
	Answer          fakellm.Answer
	Every           time.Duration // between two writes
	AtLeast, AtMost time.Duration // that the call takes
	Message         string        // what that of its failure begins with; "" when it ends well
}

// times runs where time passes by itself.
func times(t *testing.T, v Vendor) {
	limits := provider.Limits{Total: 10 * time.Minute, FirstByte: 60 * time.Second, Idle: 30 * time.Second}
	for _, test := range append([]Time{
		{"nothing comes", fakellm.Answer{Hang: "before"}, 0, 60 * time.Second, 60 * time.Second, "no answer within 1 min"},
		{"only the header comes", fakellm.Answer{Hang: "header"}, 0, 60 * time.Second, 60 * time.Second, "no answer within 1 min"},
		{"silence in the middle", fakellm.Answer{Text: "Hel", Hang: "middle"}, 0, 30 * time.Second, 30 * time.Second, "the answer stopped for 30 s"},
		{"slow but in time", fakellm.Answer{Text: "Hello, how are you?", Pieces: 4}, 25 * time.Second, 75 * time.Second, 6 * time.Minute, ""},
		{"PR-020 it goes on for ever", fakellm.Answer{Text: strings.Repeat("a", 200), Pieces: 1}, 20 * time.Second, 10 * time.Minute, 10 * time.Minute, "the answer was not complete within 10 min"},
		{"whole, but never closed", fakellm.Answer{Text: "Hello", Hang: "end"}, 0, 0, provider.Grace, ""},
	}, v.Times...) {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := test.Answer
				if test.Every > 0 {
					gate := make(chan struct{})
					a.Gate = gate
					defer open(t.Context(), gate, test.Every)()
				}
				m := v.at(fakellm.StartInMemory(t, a), limits)
				begin := time.Now()
				got := ask(t.Context(), m, v.request())
				if took := time.Since(begin); took < test.AtLeast || took > test.AtMost {
					t.Errorf("it took %s, want %s to %s", took, test.AtLeast, test.AtMost)
				}
				if test.Message == "" {
					if got.err != nil || got.reply == nil {
						t.Errorf("%v", got.err)
					}
					return
				}
				var e *llm.Error
				class := llm.ClassNetwork
				if strings.Contains(test.Message, "complete") {
					class = llm.ClassUnknown // the same again would take as long
				}
				if !errors.As(got.err, &e) || e.Class != class || !strings.HasPrefix(e.Message, test.Message) {
					t.Errorf("%v", got.err)
				}
			})
		})
	}
}

// open lets one write pass every d, until the returned function is called.
func open(ctx context.Context, gate chan<- struct{}, d time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return
			}
			select {
			case gate <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// stopping ends a call at each of the places where it may hang.
func stopping(t *testing.T, v Vendor) {
	for _, where := range []string{"before", "header", "middle"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			s := fakellm.Start(t, fakellm.Answer{Text: "Hel", Hang: where})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				if err := s.Wait(t.Context(), 1); err == nil {
					cancel()
				}
			}()
			if got := ask(ctx, v.at(s, provider.Limits{}), v.request()); !errors.Is(got.err, context.Canceled) || got.reply != nil {
				t.Errorf("%v, %v", got.err, got.reply)
			}
		})
	}
}

// leaving the range ends the request: the server sees its client go, and so
// does the test, which would not end else.
func leaving(t *testing.T, v Vendor) {
	s := fakellm.Start(t, fakellm.Answer{Text: "Hello", Hang: "middle"})
	for e, err := range v.at(s, provider.Limits{}).Stream(t.Context(), v.request()) {
		if err != nil || e.Type != llm.EventText {
			t.Errorf("%+v, %v", e, err)
		}
		break
	}
}

// connections are used again by the calls that follow.
func connections(t *testing.T, v Vendor) {
	for _, a := range []fakellm.Answer{fakellm.Text("hi"), {Text: "hi", Whole: true}, {Fault: fakellm.ServerError}} {
		dials := 0
		s := fakellm.StartInMemory(t, a, a, a)
		transport := s.Client().Transport.(*http.Transport)
		dial := transport.DialContext
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++ // one call at a time dials
			return dial(ctx, network, address)
		}
		m := v.at(s, provider.Limits{})
		for range 3 {
			if got := ask(t.Context(), m, v.request()); got.err != nil && a.Fault == "" {
				t.Fatal(got.err)
			}
		}
		if dials != 1 {
			t.Errorf("%d connections for three calls answered with %+v", dials, a)
		}
	}
}
