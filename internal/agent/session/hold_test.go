package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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

// kinds are the ways to lock: the system's own and the one that works on all.
var kinds = map[string]func(dir string) *session.Holds{
	"system": session.NewHolds,
	"files":  session.NewFileHolds,
}

// eachKind runs a test with every way to lock.
func eachKind(t *testing.T, test func(t *testing.T, open func(dir string) *session.Holds)) {
	t.Parallel()
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

func TestHoldExcludes(t *testing.T) { eachKind(t, testHoldExcludes) }

func testHoldExcludes(t *testing.T, open func(string) *session.Holds) {
	dir := filepath.Join(t.TempDir(), "state", "locks")
	// Two Holds on one folder are what two processes are to each other.
	mine, other := open(dir), open(dir)
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
	if err := open(filepath.Join(dir, "none")).Tidy(1); err != nil {
		t.Error(err)
	}
}

func TestHoldWaits(t *testing.T) { eachKind(t, testHoldWaits) }

func testHoldWaits(t *testing.T, open func(string) *session.Holds) {
	dir := t.TempDir()
	for _, c := range []struct {
		name   string
		second func(*session.Holds) *session.Holds
	}{
		{"within a process", func(h *session.Holds) *session.Holds { return h }},
		{"between processes", func(*session.Holds) *session.Holds { return open(dir) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := open(dir)
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

func TestHoldGivesUp(t *testing.T) { eachKind(t, testHoldGivesUp) }

func testHoldGivesUp(t *testing.T, open func(string) *session.Holds) {
	dir := t.TempDir()
	first, second := open(dir), open(dir)
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
	if _, err := open(file).Hold(t.Context(), work); err == nil || errors.Is(err, session.ErrHeld) {
		t.Errorf("a folder that is a file: %v", err)
	}
}

// TestHoldRace lets many take one session through several Holds: never two at
// once, although the lock's file comes and goes.
func TestHoldRace(t *testing.T) { eachKind(t, testHoldRace) }

func testHoldRace(t *testing.T, open func(string) *session.Holds) {
	dir := t.TempDir()
	var inside, runs atomic.Int32
	done := make(chan struct{})
	const workers, each = 6, 30
	for i := range workers {
		h := open(dir)
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

// TestHoldManySessions holds many sessions at once through two Holds, which
// exclude each other in each of them and in none besides.
func TestHoldManySessions(t *testing.T) { eachKind(t, testHoldManySessions) }

func testHoldManySessions(t *testing.T, open func(string) *session.Holds) {
	dir := t.TempDir()
	both := []*session.Holds{open(dir), open(dir)}
	key := func(i int) session.Key { return session.Key{Agent: "main", ID: fmt.Sprint("s", i)} }
	release := make([]func(), 50)
	for i := range release {
		release[i] = hold(t, both[i%2], key(i))
	}
	for i := range release {
		if i%3 == 0 {
			release[i]()
		}
	}
	for i := range release {
		free, err := both[(i+1)%2].Try(key(i))
		if got := err == nil; got != (i%3 == 0) {
			t.Errorf("session %d: %v", i, err)
		}
		if err == nil {
			free()
		}
		release[i]()
	}
}

// TestHoldOutlivesItsFile removes the files of locks under those who hold
// them: a session taken later is locked where others look.
func TestHoldOutlivesItsFile(t *testing.T) { eachKind(t, testHoldOutlivesItsFile) }

func testHoldOutlivesItsFile(t *testing.T, open func(string) *session.Holds) {
	if runtime.GOOS == "windows" {
		t.Skip("files that are open can't be removed there")
	}
	dir := filepath.Join(t.TempDir(), "locks")
	mine, other := open(dir), open(dir)
	play := session.Key{Agent: "main", ID: "play"}
	hold(t, other, play)()
	before := hold(t, mine, work)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	after := hold(t, mine, play)
	if _, err := other.Try(play); !errors.Is(err, session.ErrHeld) {
		t.Errorf("both hold it: %v", err)
	}
	before()
	after()
	hold(t, other, play)()
	hold(t, mine, work)()
}

func BenchmarkHold(b *testing.B) {
	for name, open := range kinds {
		for _, fresh := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/new=%t", name, fresh), func(b *testing.B) {
				h, key := open(b.TempDir()), work
				for i := 0; b.Loop(); i++ {
					if fresh {
						key.ID = fmt.Sprint("s", i)
					}
					release, err := h.Hold(b.Context(), key)
					if err != nil {
						b.Fatal(err)
					}
					release()
				}
			})
		}
	}
}
