package pool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/engine/pool"
	"github.com/goclaw/goclaw/internal/lib/contain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// of is the share of a session of the one person of most tests.
func of(session string) pool.Share { return pool.Share{Person: "ada", Session: session} }

// handIn gives the pool n tasks as a caller does who keeps to the bound.
func handIn(t *testing.T, p *pool.Pool, share pool.Share, n int, run func(i int)) {
	t.Helper()
	for i := range n {
		task, err := p.Submit(share, func() { run(i) })
		if err != nil {
			t.Errorf("hand in task %d of %+v: %v", i, share, err)
			return
		}
		if place := task.Place(); place != nil {
			<-place
		}
	}
}

func closed(t *testing.T, p *pool.Pool) {
	t.Helper()
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if s := p.Stats(); s != (pool.Stats{}) {
		t.Errorf("a closed pool still counts %+v", s)
	}
}

func TestSixteenSecondsOfWorkTakeTwo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pool.New(pool.Options{})
		begin := time.Now()
		handIn(t, p, of("s"), 16, func(int) { time.Sleep(time.Second) })
		closed(t, p)
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestFullQueueMakesTheCallerWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pool.New(pool.Options{Workers: 2, Queue: 3})
		handIn(t, p, of("s"), 5, func(int) { time.Sleep(time.Second) })
		if got, want := p.Stats(), (pool.Stats{Busy: 2, Queued: 3}); got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		begin := time.Now()
		var done atomic.Int32
		handIn(t, p, of("s"), 200, func(int) {
			done.Add(1)
			time.Sleep(time.Second)
		})
		// 205 tasks; the last is placed when no more than 2 run and 3 wait.
		if took := time.Since(begin); took != 100*time.Second {
			t.Errorf("the caller waited %v", took)
		}
		closed(t, p)
		if done.Load() != 200 {
			t.Errorf("%d of 200 ran", done.Load())
		}
	})
}

func TestNeverMoreThanTheWorkers(t *testing.T) {
	t.Parallel()
	p := pool.New(pool.Options{Workers: 3, Queue: 2})
	var now, most, ran atomic.Int32
	var callers sync.WaitGroup
	for s := range 10 {
		callers.Go(func() {
			handIn(t, p, of(fmt.Sprint(s)), 50, func(int) {
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				runtime.Gosched()
				now.Add(-1)
				ran.Add(1)
			})
		})
	}
	callers.Wait()
	closed(t, p)
	if most.Load() > 3 || ran.Load() != 500 {
		t.Errorf("%d ran at once, %d in all", most.Load(), ran.Load())
	}
}

func TestTasksOfASessionStartInOrder(t *testing.T) {
	t.Parallel()
	p := pool.New(pool.Options{Workers: 1})
	var order []int // written by the one worker only
	handIn(t, p, of("s"), 100, func(i int) { order = append(order, i) })
	closed(t, p)
	for i, got := range order {
		if got != i {
			t.Fatalf("position %d ran task %d", i, got)
		}
	}
}

// A session that came first with a lot of work does not hold up the others.
func TestFairShares(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pool.New(pool.Options{})
		go handIn(t, p, of("greedy"), 200, func(int) { time.Sleep(time.Second) })
		synctest.Wait()
		begin := time.Now()
		var late sync.WaitGroup
		for s := range 4 {
			late.Go(func() {
				var done sync.WaitGroup
				done.Add(2)
				handIn(t, p, of(fmt.Sprint("late", s)), 2, func(int) {
					time.Sleep(time.Second)
					done.Done()
				})
				done.Wait()
			})
		}
		late.Wait()
		// Workers are free after one second; then each of the four gets one of
		// its two tasks through each second, whatever the greedy one has
		// waiting.
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("the late sessions waited %v", took)
		}
		time.Sleep(time.Minute)
		closed(t, p)
	})
}

// One person's long calls, in however many sessions, hold up nobody else.
func TestNobodyWaitsForOtherPeople(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pool.New(pool.Options{Workers: 4, Queue: 8})
		release := make(chan struct{})
		for s := range 80 {
			go handIn(t, p, pool.Share{Person: "greedy", Session: fmt.Sprint(s)}, 2, func(int) { <-release })
		}
		synctest.Wait()
		if got := p.Stats().Busy; got != 4 {
			t.Fatalf("one person has %d workers", got)
		}
		begin := time.Now()
		var others sync.WaitGroup
		for i := range 4 {
			others.Go(func() {
				var done sync.WaitGroup
				done.Add(5)
				handIn(t, p, pool.Share{Person: fmt.Sprint("other", i), Session: "s"}, 5, func(int) {
					time.Sleep(time.Second)
					done.Done()
				})
				done.Wait()
			})
		}
		synctest.Wait()
		if got := p.Stats(); got.Busy != 4 || got.Spare != 4 {
			t.Errorf("%d of 4 workers are busy, and %d spare ones", got.Busy, got.Spare)
		}
		others.Wait()
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("five seconds of the others' work took %v", took)
		}
		close(release)
		synctest.Wait()
		closed(t, p)
	})
}

// Of the places in the queue, and of the workers that get free, those who hold
// less get theirs first, whatever waits in however many sessions.
func TestFairSharesOfPeople(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pool.New(pool.Options{Workers: 2, Queue: 4})
		var mu sync.Mutex
		var order []string
		work := func(share pool.Share) {
			handIn(t, p, share, 1, func(int) {
				time.Sleep(time.Second)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, share.Person)
			})
		}
		for s := range 12 {
			go work(pool.Share{Person: "greedy", Session: fmt.Sprint(s)})
			synctest.Wait()
		}
		for _, share := range []pool.Share{{Person: "b", Session: "1"}, {Person: "b", Session: "2"}, {Person: "c", Session: "1"}, {Person: "c", Session: "2"}} {
			go work(share)
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(order[:8], " "); strings.Count(got, "b") != 2 || strings.Count(got, "c") != 2 {
			t.Errorf("the first to end were %s", got)
		}
		closed(t, p)
	})
}

func TestThousandCallsOfFiftySessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sessions, calls = 50, 20
		p := pool.New(pool.Options{Workers: 10})
		var mu sync.Mutex
		begun, most := map[string]int{}, 0
		var callers sync.WaitGroup
		for s := range sessions {
			name := fmt.Sprint("s", s)
			callers.Go(func() {
				handIn(t, p, of(name), calls, func(int) {
					mu.Lock()
					begun[name]++
					least := calls
					for s := range sessions {
						least = min(least, begun[fmt.Sprint("s", s)])
					}
					most = max(most, begun[name]-least)
					mu.Unlock()
					time.Sleep(time.Second)
				})
			})
		}
		callers.Wait()
		closed(t, p)
		for s := range sessions {
			if n := begun[fmt.Sprint("s", s)]; n != calls {
				t.Errorf("session %d ran %d of %d", s, n, calls)
			}
		}
		// With everybody waiting nobody runs ahead by more than the tasks that
		// had a place before the others came.
		if most > 2+64/sessions+10 {
			t.Errorf("one session was %d calls ahead of another", most)
		}
	})
}

func TestCancelledTasksLeaveAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pool.New(pool.Options{Workers: 1, Queue: 1})
		release := make(chan struct{})
		must := func(task *pool.Task, err error) *pool.Task {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return task
		}
		running := must(p.Submit(of("a"), func() { <-release }))
		queued := must(p.Submit(of("a"), func() { t.Error("a cancelled task ran") }))
		blocked := must(p.Submit(of("b"), func() {}))
		last := must(p.Submit(of("c"), func() { t.Error("a cancelled task ran") }))
		synctest.Wait()
		if got, want := p.Stats(), (pool.Stats{Busy: 1, Queued: 1, Blocked: 2}); got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		if running.Cancel() {
			t.Error("a running task was cancelled")
		}
		if !last.Cancel() || !queued.Cancel() || queued.Cancel() {
			t.Error("a waiting task is cancelled once")
		}
		<-blocked.Place() // it got the place
		if got, want := p.Stats(), (pool.Stats{Busy: 1, Queued: 1}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		close(release)
		closed(t, p)
	})
}

func TestTasksThatBreakKeepTheWorkers(t *testing.T) {
	t.Parallel()
	p := pool.New(pool.Options{Workers: 2, Log: quiet()})
	var ran atomic.Int32
	handIn(t, p, of("s"), 30, func(i int) {
		switch i % 3 {
		case 0:
			panic("broken")
		case 1:
			runtime.Goexit()
		}
		ran.Add(1)
	})
	if err := p.Aside(func() { panic("broken") }); err != nil {
		t.Error(err)
	}
	closed(t, p)
	if ran.Load() != 10 {
		t.Errorf("%d of 10 sound tasks ran", ran.Load())
	}
}

// Tasks that wait for other tasks take no worker, so no depth deadlocks.
func TestAsideTakesNoWorker(t *testing.T) {
	t.Parallel()
	p := pool.New(pool.Options{Workers: 1})
	var nest func(depth int, done func())
	nest = func(depth int, done func()) {
		if depth == 0 {
			if _, err := p.Submit(of("s"), done); err != nil {
				t.Error(err)
			}
			return
		}
		if err := p.Aside(func() {
			inner := make(chan struct{})
			nest(depth-1, func() { close(inner) })
			<-inner
			done()
		}); err != nil {
			t.Error(err)
		}
	}
	all := make(chan struct{})
	nest(20, func() { close(all) })
	<-all
	closed(t, p)
}

func TestCloseRefusesAndWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pool.New(pool.Options{Workers: 1})
		release := make(chan struct{})
		handIn(t, p, of("s"), 2, func(int) { <-release })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := p.Close(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "1 tasks running, 1 waiting") {
			t.Errorf("got %v", err)
		}
		if _, err := p.Submit(of("s"), func() {}); !errors.Is(err, pool.ErrClosed) {
			t.Errorf("got %v", err)
		}
		if err := p.Aside(func() {}); !errors.Is(err, pool.ErrClosed) {
			t.Errorf("got %v", err)
		}
		close(release)
		closed(t, p)
	})
}

func TestCloseWaitsForWhatWasLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := pool.New(pool.Options{})
		release := make(chan struct{})
		handIn(t, p, of("s"), 1, func(int) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := contain.Run(ctx, p.Fence(), "owner", 0, func() int { <-release; return 1 }); !errors.Is(err, contain.ErrAbandoned) {
				t.Errorf("got %v", err)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "and 1 left behind") {
			t.Errorf("got %v", err)
		}
		close(release)
		closed(t, p)
	})
}

func BenchmarkSubmit(b *testing.B) {
	for _, workers := range []int{1, 8} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			p := pool.New(pool.Options{Workers: workers})
			b.ReportAllocs()
			for b.Loop() {
				t, err := p.Submit(of("s"), func() {})
				if err != nil {
					b.Fatal(err)
				}
				if place := t.Place(); place != nil {
					<-place
				}
			}
			if err := p.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkSessions shows that the cost of a task hardly grows with the number
// of sessions that compete.
func BenchmarkSessions(b *testing.B) {
	for _, n := range []int{1, 50, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := pool.New(pool.Options{Queue: n})
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprint("session", i)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				t, err := p.Submit(of(names[i%n]), func() {})
				if err != nil {
					b.Fatal(err)
				}
				if place := t.Place(); place != nil {
					<-place
				}
			}
			if err := p.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
