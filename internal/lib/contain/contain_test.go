package contain_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/lib/contain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func waited(t *testing.T, fence *contain.Fence) {
	t.Helper()
	if err := fence.Wait(t.Context()); err != nil || fence.Left() != 0 {
		t.Errorf("got %v with %d left behind", err, fence.Left())
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	fence := contain.NewFence(8)
	got, err := contain.Run(t.Context(), fence, "owner", 0, func() string { return "fine" })
	if got != "fine" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = contain.Run(t.Context(), fence, "owner", 0, func() string { panic("broken") })
	var broken *contain.Panic
	if !errors.As(err, &broken) || broken.Value != "broken" || !strings.Contains(string(broken.Stack), "TestRun") {
		t.Errorf("got %v", err)
	}
	_, err = contain.Run(t.Context(), fence, "owner", 0, func() string { runtime.Goexit(); return "" })
	if !errors.Is(err, contain.ErrExited) {
		t.Errorf("got %v", err)
	}
	waited(t, fence)
}

func TestRunLeavesBehindWhatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fence := contain.NewFence(8)
		release := make(chan struct{})
		limited := func(owner string, f func() int) (int, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return contain.Run(ctx, fence, owner, 100*time.Millisecond, f)
		}
		fine := func() int { return 7 }
		begin := time.Now()
		for i := range 8 {
			// Whose code hangs does not take the others along.
			if n, err := limited("sound", fine); n != 7 || err != nil {
				t.Errorf("got %d, %v beside %d that hang", n, err, i)
			}
			if _, err := limited(fmt.Sprint("broken", i/2), func() int { <-release; return 1 }); !errors.Is(err, contain.ErrAbandoned) {
				t.Errorf("got %v", err)
			}
			if _, err := limited(fmt.Sprint("broken", i/2), fine); i%2 == 1 && !errors.Is(err, contain.ErrExhausted) || i%2 == 0 && err != nil {
				t.Errorf("%d: got %v", i, err)
			}
		}
		if took := time.Since(begin); took != 8*1100*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if _, err := limited("sound", fine); !errors.Is(err, contain.ErrExhausted) {
			t.Errorf("got %v", err)
		}
		if n := fence.Left(); n != 8 {
			t.Errorf("%d left behind", n)
		}
		close(release)
		synctest.Wait()
		if n, err := limited("broken0", fine); n != 7 || err != nil {
			t.Errorf("got %d, %v once they had ended", n, err)
		}
		waited(t, fence)
	})
}

func TestRunTakesWhatComesWithinGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fence := contain.NewFence(8)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		n, err := contain.Run(ctx, fence, "owner", 100*time.Millisecond, func() int {
			<-ctx.Done()
			time.Sleep(50 * time.Millisecond)
			return 7
		})
		if n != 7 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
		waited(t, fence)
	})
}

func BenchmarkRun(b *testing.B) {
	fence := contain.NewFence(8)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := contain.Run(b.Context(), fence, "owner", 0, func() int { return 1 }); err != nil {
			b.Fatal(err)
		}
	}
}
