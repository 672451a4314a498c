package providertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/provider"
)

// Vectors is the conformance suite of [provider.Vectors]; open is as that of
// [Answers].
func Vectors(t *testing.T, open func(t *testing.T) (a, b provider.Vectors)) {
	for _, tt := range []struct {
		name string
		test func(t *testing.T, a, b provider.Vectors)
	}{
		{"what was kept comes back", vectorsComeBack},
		{"the last one under a key stays", vectorsReplaced},
		{"what was not used goes", vectorsUnused},
		{"room by number", vectorsByNumber},
		{"room by bytes", vectorsByBytes},
		{"the new ones stay", newVectorsStay},
		{"many", manyVectors},
		{"cancelled", vectorsCancelled},
		{"at once", vectorsAtOnce},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			tt.test(t, a, b)
		})
	}
}

// vector is the nth one, of four numbers.
func vector(n int) provider.Vector {
	return provider.Vector{Key: provider.VectorKey{byte(n), byte(n >> 8), 0xff}, Values: []float32{float32(n), -0.5, 1e-30, 0}}
}

const vectorSize = 16

func on(day int) time.Time { return start.AddDate(0, 0, day) }

func keepVectors(t *testing.T, s provider.Vectors, day, rows int, size int64, ns ...int) {
	t.Helper()
	var list []provider.Vector
	for _, n := range ns {
		list = append(list, vector(n))
	}
	if err := s.KeepVectors(t.Context(), list, on(day), on(day-60), rows, size); err != nil {
		t.Fatalf("KeepVectors(%v): %v", ns, err)
	}
}

// leftVectors compares what is under the first keys, without using it, with those
// that want names: a look on the first day notes nothing.
func leftVectors(t *testing.T, s provider.Vectors, want ...int) {
	t.Helper()
	var keys []provider.VectorKey
	for n := range 20 {
		keys = append(keys, vector(n).Key)
	}
	list, err := s.Vectors(t.Context(), keys, on(0))
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, v := range list {
		n := int(v.Key[0])
		got = append(got, n)
		if diff := cmp.Diff(vector(n), v); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("left (-want +got)\n%s", diff)
	}
}

func vectorsComeBack(t *testing.T, a, b provider.Vectors) {
	leftVectors(t, b)
	keepVectors(t, a, 0, 10, 1000, 1, 2, 3)
	leftVectors(t, b, 1, 2, 3)
	if list, err := b.Vectors(t.Context(), nil, on(0)); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

func vectorsReplaced(t *testing.T, a, b provider.Vectors) {
	keepVectors(t, a, 0, 10, 1000, 1)
	again := vector(1)
	again.Values = []float32{1, 2}
	if err := b.KeepVectors(t.Context(), []provider.Vector{vector(1), again}, on(0), on(-1), 10, 1000); err != nil {
		t.Fatal(err)
	}
	list, err := a.Vectors(t.Context(), []provider.VectorKey{again.Key}, on(0))
	if err != nil || len(list) != 1 || !slices.Equal(list[0].Values, again.Values) {
		t.Errorf("%v, %v", list, err)
	}
}

func vectorsUnused(t *testing.T, a, b provider.Vectors) {
	keepVectors(t, a, 0, 10, 1000, 1, 2, 3)
	// One is used again, by another process; that it was within the same day may
	// go unnoted.
	if _, err := b.Vectors(t.Context(), []provider.VectorKey{vector(2).Key}, on(30)); err != nil {
		t.Fatal(err)
	}
	keepVectors(t, a, 59, 10, 1000, 4)
	leftVectors(t, a, 1, 2, 3, 4)
	keepVectors(t, a, 61, 10, 1000, 5)
	leftVectors(t, a, 2, 4, 5)
	keepVectors(t, a, 91, 10, 1000, 6)
	leftVectors(t, a, 4, 5, 6)
}

func vectorsByNumber(t *testing.T, a, b provider.Vectors) {
	for n := range 4 {
		keepVectors(t, a, n, 10, 1000, n)
	}
	if _, err := b.Vectors(t.Context(), []provider.VectorKey{vector(0).Key}, on(9)); err != nil {
		t.Fatal(err)
	}
	keepVectors(t, a, 10, 3, 1000, 4)
	leftVectors(t, a, 0, 3, 4)
}

func vectorsByBytes(t *testing.T, a, _ provider.Vectors) {
	for n := range 6 {
		keepVectors(t, a, n, 100, 2*vectorSize, n)
	}
	leftVectors(t, a, 4, 5)
}

func newVectorsStay(t *testing.T, a, _ provider.Vectors) {
	keepVectors(t, a, 5, 10, 1000, 1)
	keepVectors(t, a, 0, 2, 1, 2, 3, 4) // by a clock that is behind
	leftVectors(t, a, 2, 3, 4)
}

// manyVectors are asked for at once: those of all tools.
func manyVectors(t *testing.T, a, b provider.Vectors) {
	const all = 2500
	var list []provider.Vector
	var keys []provider.VectorKey
	for n := range all {
		list, keys = append(list, vector(n)), append(keys, vector(n).Key)
	}
	if err := a.KeepVectors(t.Context(), list, on(0), on(-1), all, all*vectorSize); err != nil {
		t.Fatal(err)
	}
	for _, day := range []int{0, 2, 2} { // the second time it is noted of all
		got, err := b.Vectors(t.Context(), keys, on(day))
		if err != nil || len(got) != all {
			t.Fatalf("%d, %v", len(got), err)
		}
	}
}

func vectorsCancelled(t *testing.T, a, _ provider.Vectors) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.KeepVectors(ctx, []provider.Vector{vector(1), vector(2)}, on(0), on(-1), 10, 1000); err == nil {
		leftVectors(t, a, 1, 2) // it may be too late to cancel, but then all of it is there
		return
	}
	leftVectors(t, a)
}

func vectorsAtOnce(t *testing.T, a, b provider.Vectors) {
	var wait sync.WaitGroup
	for i, s := range []provider.Vectors{a, b, a, b} {
		wait.Go(func() {
			for n := range 10 {
				err := s.KeepVectors(t.Context(), []provider.Vector{vector(n), vector(n + 1)}, on(n), on(-1), 100, 10_000)
				list, err2 := s.Vectors(t.Context(), []provider.VectorKey{vector(n).Key}, on(n+3))
				if err = errors.Join(err, err2); err != nil || len(list) != 1 {
					t.Errorf("process %d, vector %d: %v, %v", i, n, len(list), err)
				}
			}
		})
	}
	wait.Wait()
	leftVectors(t, a, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
}
