package recent_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goclaw/goclaw/internal/lib/recent"
)

func TestAnAnswerServesForItsAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, broken := 0, error(nil)
		v := recent.New(time.Minute, slog.New(slog.DiscardHandler), "it", func(context.Context) (int, error) { asked++; return asked, broken })
		is := func(want, times int) {
			t.Helper()
			if got := v.Get(t.Context()); got != want || asked != times {
				t.Errorf("%d after %d questions, want %d after %d", got, asked, want, times)
			}
		}
		is(1, 1)
		time.Sleep(time.Minute - 1)
		is(1, 1)
		time.Sleep(time.Nanosecond)
		is(2, 2)
		v.Outdate()
		is(3, 3)
		v.Forget()
		is(4, 4)
		// While the source fails the last answer stands, and it is left in peace.
		broken = errors.New("no")
		time.Sleep(time.Minute)
		is(4, 5)
		v.Outdate()
		is(4, 6)
		is(4, 6)
		time.Sleep(time.Minute)
		is(4, 7)
		// Who gives up says nothing of the source.
		time.Sleep(time.Minute)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		v.Get(gone)
		broken = nil
		is(9, 9)
	})
}

func TestNobodyWaitsWhoKnowsAnOldAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan int)
		v := recent.New(time.Minute, slog.New(slog.DiscardHandler), "it", func(context.Context) (int, error) { return <-answer, nil })
		got := make(chan int, 9)
		get := func() { got <- v.Get(t.Context()) }
		go get()
		go get()
		answer <- 1
		if a, b := <-got, <-got; a != 1 || b != 1 {
			t.Errorf("the first got %d and %d", a, b)
		}
		time.Sleep(time.Minute)
		go get()
		synctest.Wait()
		if old := v.Get(t.Context()); old != 1 {
			t.Errorf("beside a question the answer is %d", old)
		}
		// What was asked before is not what holds after.
		v.Forget()
		go get()
		answer <- 2
		answer <- 3
		if a, b := <-got, <-got; a+b != 5 {
			t.Errorf("got %d and %d", a, b)
		}
		if now := v.Get(t.Context()); now != 3 {
			t.Errorf("then it is %d", now)
		}
	})
}
