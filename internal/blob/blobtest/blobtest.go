// Package blobtest is the conformance suite of [blob.Store]: every
// implementation calls [Run] from its tests. Start reading there.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/blob"
)

// Run tests an implementation. open returns two handles on the same empty
// rows, as two processes would have them, and closes them when the test ends;
// an implementation that can't be shared returns the same one twice.
func Run(t *testing.T, open func(t *testing.T) (a, b blob.Store)) {
	tests := []struct {
		name string
		test func(t *testing.T, a, b blob.Store)
	}{
		{"round trip", roundTrip},
		{"unknown", unknown},
		{"same ref twice", sameRef},
		{"same content twice", sameContent},
		{"oldest out by number", evictByNumber},
		{"oldest out by bytes", evictByBytes},
		{"limits count by kind", evictByKind},
		{"the newest stays", newestStays},
		{"sweep", sweep},
		{"sweep forgets tombstones", forget},
		{"sweep keeps the newest tombstones", boundTombstones},
		{"drop a session", drop},
		{"share", share},
		{"drop what is shared", dropShared},
		{"cancelled", cancelled},
		{"at once", concurrent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			tt.test(t, a, b)
		})
	}
}

var start = time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)

// entry makes the nth entry: a second after the one before, for an hour.
func entry(n int, sum string) blob.Entry {
	created := start.Add(time.Duration(n) * time.Second)
	return blob.Entry{
		Ref: fmt.Sprintf("%016x", n), Kind: blob.Spill, Agent: "main", Session: "s1",
		Type: "json", Tool: "file_read", Args: `{"path":"ü"}`,
		Sum: sum, Size: 100, Created: created, Expires: created.Add(time.Hour),
	}
}

func add(t *testing.T, s blob.Store, e blob.Entry, keep blob.Limits) {
	t.Helper()
	if err := s.Add(t.Context(), e, []byte("packed "+e.Sum), keep); err != nil {
		t.Fatalf("Add(%s): %v", e.Ref, err)
	}
}

func find(t *testing.T, s blob.Store, n int) blob.Entry {
	t.Helper()
	e, err := s.Entry(t.Context(), fmt.Sprintf("%016x", n))
	if err != nil {
		t.Fatalf("Entry(%d): %v", n, err)
	}
	return e
}

func wantEntry(t *testing.T, s blob.Store, n int, want blob.Entry) {
	t.Helper()
	times := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })
	if diff := cmp.Diff(want, find(t, s, n), times); diff != "" {
		t.Errorf("entry %d (-want +got):\n%s", n, diff)
	}
}

func wantUnknown(t *testing.T, s blob.Store, n int) {
	t.Helper()
	if _, err := s.Entry(t.Context(), fmt.Sprintf("%016x", n)); !errors.Is(err, blob.ErrUnknown) {
		t.Errorf("Entry(%d) error = %v, want ErrUnknown", n, err)
	}
}

func wantGone(t *testing.T, s blob.Store, n int, why blob.Gone, ended time.Time) {
	t.Helper()
	e := find(t, s, n)
	if e.Gone != why || !e.Ended.Equal(ended) {
		t.Errorf("entry %d is %q since %v, want %q since %v", n, e.Gone, e.Ended, why, ended)
	}
	if e.Tool == "" || e.Args == "" || e.Session == "" {
		t.Errorf("tombstone %d has lost which call made it: %+v", n, e)
	}
}

func wantLiving(t *testing.T, s blob.Store, n int) {
	t.Helper()
	if e := find(t, s, n); e.Gone != blob.Living {
		t.Errorf("entry %d is %q, want it living", n, e.Gone)
	}
}

func wantContent(t *testing.T, s blob.Store, sum string, kept bool) {
	t.Helper()
	data, err := s.Content(t.Context(), sum)
	switch {
	case kept && (err != nil || !bytes.Equal(data, []byte("packed "+sum))):
		t.Errorf("Content(%s) = %q, %v, want it kept", sum, data, err)
	case !kept && !errors.Is(err, blob.ErrUnknown):
		t.Errorf("Content(%s) = %q, %v, want ErrUnknown", sum, data, err)
	}
}

func roundTrip(t *testing.T, a, b blob.Store) {
	e := entry(1, "x")
	add(t, a, e, blob.Limits{})
	wantEntry(t, b, 1, e)
	wantContent(t, b, "x", true)

	forever := entry(2, "y")
	forever.Expires = time.Time{}
	forever.Kind, forever.Tool, forever.Args = blob.Undo, "", ""
	add(t, b, forever, blob.Limits{})
	wantEntry(t, a, 2, forever)
	if n, err := a.Sweep(t.Context(), start.AddDate(1000, 0, 0), start, 10); err != nil || n != 1 {
		t.Errorf("Sweep = %d, %v, want one expired entry", n, err)
	}
	wantEntry(t, a, 2, forever)

	empty := entry(3, "e")
	empty.Size = 0
	if err := a.Add(t.Context(), empty, []byte{'r'}, blob.Limits{}); err != nil {
		t.Errorf("Add of empty content: %v", err)
	}
}

func unknown(t *testing.T, a, _ blob.Store) {
	wantUnknown(t, a, 1)
	wantContent(t, a, "x", false)
	if n, err := a.Sweep(t.Context(), start, start, 10); n != 0 || err != nil {
		t.Errorf("Sweep of nothing = %d, %v", n, err)
	}
	if err := a.Drop(t.Context(), "s1"); err != nil {
		t.Errorf("Drop of nothing: %v", err)
	}
}

func sameRef(t *testing.T, a, b blob.Store) {
	e := entry(1, "x")
	add(t, a, e, blob.Limits{})
	other := entry(1, "y")
	if err := b.Add(t.Context(), other, []byte("packed y"), blob.Limits{}); err == nil {
		t.Error("Add of a ref that exists: no error")
	}
	wantEntry(t, a, 1, e)
	wantContent(t, a, "y", false)
}

func sameContent(t *testing.T, a, b blob.Store) {
	add(t, a, entry(1, "x"), blob.Limits{})
	// The second packing is another one: it must not replace the first.
	if err := b.Add(t.Context(), entry(2, "x"), []byte("another"), blob.Limits{}); err != nil {
		t.Fatal(err)
	}
	wantContent(t, a, "x", true)
	add(t, a, entry(3, "y"), blob.Limits{Entries: 2})
	wantGone(t, a, 1, blob.Evicted, start.Add(3*time.Second))
	wantContent(t, a, "x", true) // entry 2 still has it
	add(t, a, entry(4, "z"), blob.Limits{Entries: 2})
	wantContent(t, b, "x", false)
	add(t, a, entry(5, "x"), blob.Limits{})
	wantContent(t, b, "x", true)
}

func evictByNumber(t *testing.T, a, b blob.Store) {
	for n := 1; n <= 5; n++ {
		add(t, a, entry(n, fmt.Sprint(n)), blob.Limits{Entries: 3})
	}
	for n := 1; n <= 2; n++ {
		wantGone(t, b, n, blob.Evicted, start.Add(time.Duration(n+3)*time.Second))
		wantContent(t, b, fmt.Sprint(n), false)
	}
	for n := 3; n <= 5; n++ {
		wantLiving(t, b, n)
		wantContent(t, b, fmt.Sprint(n), true)
	}
}

func evictByBytes(t *testing.T, a, b blob.Store) {
	for n := 1; n <= 4; n++ {
		add(t, a, entry(n, fmt.Sprint(n)), blob.Limits{Bytes: 300})
	}
	wantGone(t, b, 1, blob.Evicted, start.Add(4*time.Second))
	wantLiving(t, b, 2)
	big := entry(5, "5")
	big.Size = 250
	add(t, a, big, blob.Limits{Bytes: 300})
	for n := 2; n <= 4; n++ {
		wantGone(t, b, n, blob.Evicted, big.Created)
	}
	wantLiving(t, b, 5)
}

func evictByKind(t *testing.T, a, b blob.Store) {
	canvas := entry(1, "1")
	canvas.Kind = blob.Canvas
	add(t, a, canvas, blob.Limits{})
	add(t, a, entry(2, "2"), blob.Limits{Entries: 1})
	add(t, a, entry(3, "3"), blob.Limits{Entries: 1})
	wantLiving(t, b, 1)
	wantGone(t, b, 2, blob.Evicted, start.Add(3*time.Second))
	wantLiving(t, b, 3)
}

func newestStays(t *testing.T, a, b blob.Store) {
	add(t, a, entry(1, "1"), blob.Limits{})
	late := entry(2, "2")
	late.Created = start.Add(-time.Hour) // a clock that was set back
	late.Size = 1000
	add(t, a, late, blob.Limits{Entries: 1, Bytes: 500})
	wantLiving(t, b, 2)
	wantGone(t, b, 1, blob.Evicted, late.Created)
}

func sweep(t *testing.T, a, b blob.Store) {
	for n := 1; n <= 3; n++ {
		add(t, a, entry(n, fmt.Sprint(n)), blob.Limits{})
	}
	over := start.Add(time.Hour + 2*time.Second) // exactly the end of entry 2
	n, err := b.Sweep(t.Context(), over, start, 10)
	if n != 2 || err != nil {
		t.Fatalf("Sweep = %d, %v, want 2", n, err)
	}
	for n := 1; n <= 2; n++ {
		wantGone(t, a, n, blob.Expired, entry(n, "").Expires)
		wantContent(t, a, fmt.Sprint(n), false)
	}
	wantLiving(t, a, 3)
	wantContent(t, a, "3", true)
	if n, err := b.Sweep(t.Context(), over, start, 10); n != 0 || err != nil {
		t.Errorf("second Sweep = %d, %v, want 0", n, err)
	}
}

func forget(t *testing.T, a, b blob.Store) {
	for n := 1; n <= 3; n++ {
		add(t, a, entry(n, fmt.Sprint(n)), blob.Limits{})
	}
	day := start.Add(24 * time.Hour)
	if n, err := a.Sweep(t.Context(), day, entry(2, "").Expires, 10); n != 3 || err != nil {
		t.Fatalf("Sweep = %d, %v, want 3", n, err)
	}
	wantUnknown(t, b, 1)
	wantGone(t, b, 2, blob.Expired, entry(2, "").Expires)
	wantGone(t, b, 3, blob.Expired, entry(3, "").Expires)
}

func boundTombstones(t *testing.T, a, b blob.Store) {
	for n := 1; n <= 5; n++ {
		add(t, a, entry(n, fmt.Sprint(n)), blob.Limits{Entries: 1})
	}
	if _, err := a.Sweep(t.Context(), start.Add(5*time.Second), start, 2); err != nil {
		t.Fatal(err)
	}
	wantUnknown(t, b, 1)
	wantUnknown(t, b, 2)
	wantGone(t, b, 3, blob.Evicted, start.Add(4*time.Second))
	wantGone(t, b, 4, blob.Evicted, start.Add(5*time.Second))
	wantLiving(t, b, 5)
}

func drop(t *testing.T, a, b blob.Store) {
	add(t, a, entry(1, "own"), blob.Limits{})
	add(t, a, entry(2, "shared"), blob.Limits{})
	other := entry(3, "shared")
	other.Session = "s2"
	add(t, a, other, blob.Limits{Entries: 2}) // entry 1 is a tombstone by now
	if err := b.Drop(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	wantUnknown(t, a, 1)
	wantUnknown(t, a, 2)
	wantLiving(t, a, 3)
	wantContent(t, a, "own", false)
	wantContent(t, a, "shared", true)
}

func cancelled(t *testing.T, a, _ blob.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Add(ctx, entry(1, "x"), []byte("packed x"), blob.Limits{}); err == nil {
		wantLiving(t, a, 1) // it may be too late to cancel, but then all of it is there
		wantContent(t, a, "x", true)
		return
	}
	wantUnknown(t, a, 1)
	wantContent(t, a, "x", false)
}

func concurrent(t *testing.T, a, b blob.Store) {
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for w := range writers {
		s := a
		if w%2 == 1 {
			s = b
		}
		wg.Go(func() {
			for i := range each {
				e := entry(w*each+i+1, fmt.Sprint(i)) // the writers share content
				if err := s.Add(t.Context(), e, []byte("packed "+e.Sum), blob.Limits{Entries: 15}); err != nil {
					t.Errorf("Add(%s): %v", e.Ref, err)
				}
				if _, err := s.Entry(t.Context(), e.Ref); err != nil {
					t.Errorf("Entry(%s): %v", e.Ref, err)
				}
			}
		})
	}
	wg.Wait()
	living, sums := 0, map[string]bool{}
	for n := 1; n <= writers*each; n++ {
		if e := find(t, a, n); e.Gone == blob.Living {
			living++
			sums[e.Sum] = true
		}
	}
	if living != 15 {
		t.Errorf("%d entries are living, want 15", living)
	}
	for i := range each {
		wantContent(t, b, fmt.Sprint(i), sums[fmt.Sprint(i)])
	}
}
