package providertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/provider"
)

// Answers is the conformance suite of [provider.Answers]. open returns two handles on the same empty
// rows, as two processes would have them, and closes them when the test ends;
// an implementation that can't be shared returns the same one twice.
func Answers(t *testing.T, open func(t *testing.T) (a, b provider.Answers)) {
	for _, tt := range []struct {
		name string
		test func(t *testing.T, a, b provider.Answers)
	}{
		{"round trip", roundTrip},
		{"the last one under a key stays", replaced},
		{"what has expired goes", expired},
		{"the oldest make room by number", roomByNumber},
		{"the oldest make room by bytes", roomByBytes},
		{"the newest stays", newestStays},
		{"cancelled", cancelled},
		{"at once", concurrent},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			tt.test(t, a, b)
		})
	}
}

var start = time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)

// answer makes the nth answer: a second after the one before, for a minute.
func answer(n int) provider.Answer {
	created := start.Add(time.Duration(n) * time.Second)
	return provider.Answer{Key: provider.AnswerKey{byte(n), 0, 0xff}, Packed: fmt.Appendf(nil, "answer %02d\x00\xff", n), Created: created, Expires: created.Add(time.Minute)}
}

// size of the nth answer.
var size = int64(len(answer(0).Packed))

func keep(t *testing.T, s provider.Answers, a provider.Answer, rows int, size int64) {
	t.Helper()
	if err := s.Keep(t.Context(), a, rows, size); err != nil {
		t.Fatalf("Keep(%d): %v", a.Key[0], err)
	}
}

// left compares what is under the first keys with those that want names.
func left(t *testing.T, s provider.Answers, want ...int) {
	t.Helper()
	var got []int
	for n := range 20 {
		a, ok, err := s.Answer(t.Context(), answer(n).Key)
		if err != nil {
			t.Fatalf("Answer(%d): %v", n, err)
		}
		if ok {
			got = append(got, n)
		}
		if ok && !bytes.Equal(a.Packed, answer(n).Packed) {
			t.Errorf("under %d is %q", n, a.Packed)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("left (-want +got)\n%s", diff)
	}
}

func roundTrip(t *testing.T, a, b provider.Answers) {
	want := answer(1)
	keep(t, a, want, 10, 1000)
	got, ok, err := b.Answer(t.Context(), want.Key)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, ok, err := b.Answer(t.Context(), answer(2).Key); ok || err != nil {
		t.Errorf("an answer that nobody kept: %v, %v", ok, err)
	}
}

func replaced(t *testing.T, a, b provider.Answers) {
	keep(t, a, answer(1), 10, 1000)
	keep(t, a, answer(2), 10, 1000)
	again := answer(1)
	again.Created, again.Expires = again.Created.Add(time.Second), again.Expires.Add(time.Hour)
	keep(t, b, again, 2, 1000)
	got, _, err := a.Answer(t.Context(), again.Key)
	if diff := cmp.Diff(again, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	keep(t, a, answer(3), 2, 1000) // 1 is younger than 2 by now
	left(t, a, 1, 3)
}

func expired(t *testing.T, a, b provider.Answers) {
	for n := range 3 {
		keep(t, a, answer(n), 10, 1000)
	}
	if n, err := b.Sweep(t.Context(), answer(1).Expires); n != 2 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	left(t, a, 2)
	late := answer(3)
	late.Created = answer(2).Expires
	late.Expires = late.Created.Add(time.Minute)
	keep(t, b, late, 10, 1000)
	left(t, a, 3)
}

func roomByNumber(t *testing.T, a, _ provider.Answers) {
	for n := range 6 {
		keep(t, a, answer(n), 3, 1000)
	}
	left(t, a, 3, 4, 5)
}

func roomByBytes(t *testing.T, a, _ provider.Answers) {
	for n := range 6 {
		keep(t, a, answer(n), 100, 2*size)
	}
	left(t, a, 4, 5)
}

func newestStays(t *testing.T, a, _ provider.Answers) {
	for n := range 3 {
		keep(t, a, answer(n), 100, 1)
	}
	left(t, a, 2)
}

func cancelled(t *testing.T, a, _ provider.Answers) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Keep(ctx, answer(1), 10, 1000); err == nil {
		left(t, a, 1) // it may be too late to cancel, but then all of it is there
		return
	}
	left(t, a)
}

func concurrent(t *testing.T, a, b provider.Answers) {
	var wg sync.WaitGroup
	for i, s := range []provider.Answers{a, b, a, b} {
		wg.Go(func() {
			for n := range 20 {
				err := s.Keep(t.Context(), answer(n), 100, 10000)
				_, ok, err2 := s.Answer(t.Context(), answer(n).Key)
				if err = errors.Join(err, err2); err != nil || !ok {
					t.Errorf("process %d, answer %d: %v, %v", i, n, ok, err)
				}
			}
		})
	}
	wg.Wait()
	all := make([]int, 20)
	for n := range all {
		all[n] = n
	}
	left(t, a, all...)
}
