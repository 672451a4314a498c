package session_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/goclaw/goclaw/internal/agent/session"
)

var work = session.Key{Agent: "main", ID: "work"}

func hold(t *testing.T, h *session.Holds, k session.Key) func() {
	t.Helper()
	release, err := h.Hold(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func TestHoldExcludes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "locks")
	// Two Holds on one folder are what two processes are to each other.
	mine, other := session.NewHolds(dir), session.NewHolds(dir)
	release := hold(t, mine, work)
	for name, h := range map[string]*session.Holds{"here": mine, "elsewhere": other} {
		if _, err := h.Try(work); !errors.Is(err, session.ErrHeld) {
			t.Errorf("%s: %v, want ErrHeld", name, err)
		}
	}
	hold(t, other, session.Key{Agent: "helper", ID: "work"})() // another agent's
	hold(t, mine, session.Key{Agent: "main", ID: "Work"})()    // another name
	release()
	release() // does nothing
	hold(t, other, work)()
	again := hold(t, mine, work)
	release() // is not its own
	if _, err := other.Try(work); !errors.Is(err, session.ErrHeld) {
		t.Errorf("a release was taken for another hold: %v", err)
	}
	again()

	keep := hold(t, mine, work)
	if err := other.Tidy(-1); err != nil {
		t.Error(err)
	}
	if _, err := other.Try(work); !errors.Is(err, session.ErrHeld) {
		t.Errorf("tidying took a hold away: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files left: %v (%v)", left, err)
	}
	keep()
	if err := session.NewHolds(filepath.Join(dir, "none")).Tidy(1); err != nil {
		t.Error(err)
	}
}

func TestHoldWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		name   string
		second func(*session.Holds) *session.Holds
	}{
		{"within a process", func(h *session.Holds) *session.Holds { return h }},
		{"between processes", func(*session.Holds) *session.Holds { return session.NewHolds(dir) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := session.NewHolds(dir)
				second := c.second(first)
				release := hold(t, first, work)
				got := make(chan func())
				go func() {
					r, err := second.Hold(context.Background(), work)
					if err != nil {
						t.Error(err)
					}
					got <- r
				}()
				synctest.Wait()
				select {
				case <-got:
					t.Fatal("both hold it")
				default:
				}
				release()
				(<-got)()
				hold(t, first, work)()
			})
		})
	}
}

func TestHoldGivesUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := session.NewHolds(dir), session.NewHolds(dir)
	release := hold(t, first, work)
	for _, h := range []*session.Holds{first, second} {
		ctx, cancel := context.WithCancelCause(t.Context())
		failed := make(chan error)
		go func() {
			_, err := h.Hold(ctx, work)
			failed <- err
		}()
		stopped := errors.New("stopped")
		cancel(stopped)
		if err := <-failed; !errors.Is(err, stopped) {
			t.Errorf("gave up with %v", err)
		}
	}
	release()
	hold(t, first, work)()
	hold(t, second, work)()

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := session.NewHolds(file).Hold(t.Context(), work); err == nil || errors.Is(err, session.ErrHeld) {
		t.Errorf("a folder that is a file: %v", err)
	}
}

// TestHoldRace lets many take one session through several Holds: never two at
// once, although the lock's file comes and goes.
func TestHoldRace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var inside, runs atomic.Int32
	done := make(chan struct{})
	const workers, each = 6, 30
	for i := range workers {
		h := session.NewHolds(dir)
		go func() {
			defer func() { done <- struct{}{} }()
			for range each {
				release, err := h.Hold(context.Background(), work)
				if err != nil {
					t.Error(i, err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two hold it at once")
				}
				runs.Add(1)
				inside.Add(-1)
				release()
				if err := h.Tidy(1); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	for range workers {
		<-done
	}
	if runs.Load() != workers*each {
		t.Errorf("%d runs", runs.Load())
	}
}

func BenchmarkHold(b *testing.B) {
	h := session.NewHolds(b.TempDir())
	for b.Loop() {
		release, err := h.Hold(b.Context(), work)
		if err != nil {
			b.Fatal(err)
		}
		release()
	}
}
