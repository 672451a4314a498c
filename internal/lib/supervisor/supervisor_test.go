package supervisor_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/lib/supervisor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func logged() (*slog.Logger, *bytes.Buffer) {
	var b bytes.Buffer
	return slog.New(slog.NewTextHandler(&b, nil)), &b
}

func TestWaitReturnsWhenAllHasEnded(t *testing.T) {
	t.Parallel()
	log, said := logged()
	g := supervisor.New(t.Context(), log)
	if err := g.Wait(t.Context()); err != nil {
		t.Errorf("wait for nothing: %v", err)
	}
	for range 3 {
		g.Go("work", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	}
	g.Stop()
	if err := g.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if said.Len() > 0 {
		t.Errorf("ending with the context was logged: %s", said)
	}
}

func TestWaitNamesWhatStillRuns(t *testing.T) {
	t.Parallel()
	g := supervisor.New(t.Context(), nil)
	end := make(chan struct{})
	g.Go("deaf", func(context.Context) error { <-end; return nil })
	g.Stop()
	soon, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Wait(soon); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "deaf") {
		t.Errorf("error %v", err)
	}
	close(end)
	if err := g.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestEveryGoesOnAfterAFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, said := logged()
		g := supervisor.New(t.Context(), log)
		var times atomic.Int32
		g.Every("sweep", time.Minute, func(context.Context) error {
			switch times.Add(1) {
			case 1:
				return errors.New("the disk is full")
			case 2:
				panic("a slip")
			}
			return nil
		})
		time.Sleep(3*time.Minute + time.Second)
		synctest.Wait()
		g.Stop()
		if err := g.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if times.Load() != 3 {
			t.Errorf("it ran %d times in three minutes", times.Load())
		}
		for _, want := range []string{"the disk is full", "a slip", "work=sweep"} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("the log lacks %q: %s", want, said)
			}
		}
	})
}
