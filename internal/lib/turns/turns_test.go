package turns_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goclaw/goclaw/internal/lib/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hold takes a turn on a goroutine of its own, notes that and gives it back after
// a second.
type hold struct {
	*turns.Turns
	t     *testing.T
	wg    sync.WaitGroup
	mu    sync.Mutex
	order []string
	now   map[string]int
	most  map[string]int
}

func newHold(t *testing.T, all, each int) *hold {
	return &hold{Turns: turns.New(all, each), t: t, now: map[string]int{}, most: map[string]int{}}
}

func (h *hold) count(who string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range []string{who, "all"} {
		h.now[k] += n
		h.most[k] = max(h.most[k], h.now[k])
	}
	if n > 0 {
		h.order = append(h.order, who)
	}
}

// has is how many turns somebody has now.
func (h *hold) has(who string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now[who]
}

func (h *hold) second(who string) {
	h.wg.Go(func() {
		done, err := h.Take(h.t.Context(), who, "")
		if err != nil {
			h.t.Error(err)
			return
		}
		defer done()
		h.count(who, 1)
		defer h.count(who, -1)
		time.Sleep(time.Second)
	})
	synctest.Wait()
}

func TestNobodyHasMoreThanTheirShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHold(t, 4, 3)
		for range 20 {
			h.second("greedy")
		}
		if n := h.has("greedy"); n != 3 {
			t.Errorf("one person has %d of 4 turns", n)
		}
		for i := range 4 {
			h.second(fmt.Sprint(i))
		}
		if h.has("0") != 1 {
			t.Error("another person waits although a turn is free")
		}
		begun := time.Now()
		h.wg.Wait()
		if h.most["all"] != 4 || h.most["greedy"] != 3 {
			t.Errorf("at most %v had turns at once", h.most)
		}
		// Four end at once: those who had none come, and the greedy one has the rest.
		got := slices.Sorted(slices.Values(h.order[4:8]))
		if !slices.Equal(got, []string{"1", "2", "3", "greedy"}) {
			t.Errorf("the next were %v", got)
		}
		if took := time.Since(begun); took > 8*time.Second {
			t.Errorf("24 seconds of work took %v", took)
		}
	})
}

func TestTurnsComeInTheOrderOfWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHold(t, 1, 1)
		want := []string{"a", "b", "c", "a", "b", "c"}
		for _, who := range want {
			h.second(who)
		}
		h.wg.Wait()
		if !slices.Equal(h.order, want) {
			t.Errorf("got %v", h.order)
		}
	})
}

func TestWhoLeavesTakesNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHold(t, 1, 1)
		first, err := h.Take(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		reason := errors.New("the reason")
		ctx, stop := context.WithCancelCause(t.Context())
		for range 100 {
			h.wg.Go(func() {
				if _, err := h.Take(ctx, "b", ""); !errors.Is(err, reason) {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		h.second("c")
		stop(reason)
		h.wg.Go(func() {
			if _, err := h.Take(ctx, "d", ""); !errors.Is(err, reason) {
				t.Errorf("got %v", err)
			}
		})
		synctest.Wait()
		first()
		first() // counts once
		h.second("d")
		h.wg.Wait()
		if h.most["all"] != 1 || !slices.Equal(h.order, []string{"c", "d"}) {
			t.Errorf("got %v, at most %v", h.order, h.most)
		}
	})
}

// However many take turns and leave, no turn is lost or made.
func TestNoTurnIsLost(t *testing.T) {
	t.Parallel()
	h := newHold(t, 3, 2)
	for i := range 300 {
		who := fmt.Sprint(i % 5)
		h.wg.Go(func() {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			if i%3 == 0 {
				h.wg.Go(stop)
			}
			done, err := h.Take(ctx, who, "")
			if err != nil {
				return
			}
			h.count(who, 1)
			h.count(who, -1)
			done()
		})
	}
	h.wg.Wait()
	if h.most["all"] > 3 {
		t.Errorf("%d had turns at once", h.most["all"])
	}
	for i := range 3 {
		if _, err := h.Take(t.Context(), fmt.Sprint("last", i), ""); err != nil {
			t.Error(err)
		}
	}
}

// A person's sessions take turns as well.
func TestPartsOfOnePersonTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		two := turns.New(2, 2)
		var mu sync.Mutex
		var order []string
		var wg sync.WaitGroup
		for i, part := range []string{"many", "many", "many", "many", "few"} {
			wg.Go(func() {
				done, err := two.Take(t.Context(), "a", part)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, part)
				mu.Unlock()
				time.Sleep(time.Duration(i+1) * time.Second)
				done()
			})
			synctest.Wait()
		}
		wg.Wait()
		if !slices.Equal(order, []string{"many", "many", "few", "many", "many"}) {
			t.Errorf("%v", order)
		}
	})
}

// asked is somebody who wants a turn, by the rule as it is written.
type asked struct {
	who, part string
	leave     func()
	done      func()
}

// next is whose turn it is among those that wait, in the order in which they came.
func next(has, wait []*asked, each int) int {
	count := func(who, part string, both bool) (n int) {
		for _, a := range has {
			if a.who == who && (!both || a.part == part) {
				n++
			}
		}
		return n
	}
	best := -1
	for i, a := range wait {
		if count(a.who, "", false) >= each {
			continue
		}
		if best < 0 {
			best = i
			continue
		}
		b := wait[best]
		if a.who == b.who && count(a.who, a.part, true) < count(b.who, b.part, true) || count(a.who, "", false) < count(b.who, "", false) {
			best = i
		}
	}
	return best
}

// Whoever comes, leaves and ends, turns go to whom the rule names.
func TestTurnsGoByTheRule(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			all, each := 1+rng.IntN(4), 1+rng.IntN(3)
			two := turns.New(all, each)
			var has, wait, given []*asked // given: those that had to wait, as they came
			pass := func() {
				synctest.Wait()
				want := next(has, wait, each)
				switch {
				case want < 0 || len(has) >= all:
					if len(given) > 0 {
						t.Fatalf("%v has a turn that is nobody's", *given[0])
					}
				case len(given) != 1 || given[0] != wait[want]:
					t.Fatalf("%d have it, and it is the turn of %s %s", len(given), wait[want].who, wait[want].part)
				default:
					has, wait, given = append(has, given[0]), slices.Delete(wait, want, want+1), nil
				}
			}
			for range 200 {
				switch what := rng.IntN(5); {
				case what < 3 || len(has) == 0:
					ctx, leave := context.WithCancel(t.Context())
					a := &asked{who: fmt.Sprint(rng.IntN(3)), part: fmt.Sprint(rng.IntN(3)), leave: leave}
					wait = append(wait, a)
					go func() {
						if done, err := two.Take(ctx, a.who, a.part); err == nil {
							a.done = done
							given = append(given, a)
						}
					}()
					pass()
				case what == 3 && len(wait) > 0:
					i := rng.IntN(len(wait))
					wait[i].leave()
					wait = slices.Delete(wait, i, i+1)
					pass()
				default:
					i := rng.IntN(len(has))
					has[i].done()
					has[i].leave()
					has = slices.Delete(has, i, i+1)
					pass()
				}
			}
			for _, a := range slices.Concat(wait, has) {
				a.leave()
			}
			synctest.Wait()
		})
	}
}

func BenchmarkManyWait(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			one := turns.New(1, 1)
			done, err := one.Take(b.Context(), "a", "0")
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(b.Context())
			var wg sync.WaitGroup
			next := make(chan func())
			for i := range n {
				wg.Go(func() {
					for part := fmt.Sprint(i % 100); ; {
						done, err := one.Take(ctx, "a", part)
						if err != nil {
							return
						}
						select {
						case next <- done:
						case <-ctx.Done():
							done()
						}
					}
				})
			}
			for b.Loop() {
				done()
				done = <-next
			}
			stop()
			done()
			wg.Wait()
		})
	}
}
