package blobtest

import (
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/blob"
)

func of(e blob.Entry, session string) blob.Entry {
	e.Session = session
	return e
}

func wantShared(t *testing.T, s blob.Store, n int, session string, want bool) {
	t.Helper()
	got, err := s.Shared(t.Context(), entry(n, "").Ref, session)
	if err != nil || got != want {
		t.Errorf("entry %d is shared with %s: %v, %v, want %v", n, session, got, err, want)
	}
}

func share(t *testing.T, a, b blob.Store) {
	for n, session := range []string{1: "s1", 2: "other", 3: "s1"} {
		if n > 0 {
			add(t, a, of(entry(n, "x"), session), blob.Limits{})
		}
	}
	until := start.Add(2 * time.Second)
	for range 2 { // the second time changes nothing
		if err := b.Share(t.Context(), "s1", "fork", until); err != nil {
			t.Fatal(err)
		}
	}
	wantShared(t, a, 1, "fork", true)
	wantShared(t, a, 1, "s1", false) // it is its own
	wantShared(t, a, 2, "fork", false)
	wantShared(t, a, 3, "fork", false)
	wantShared(t, a, 9, "fork", false)
	// What a fork may read, its forks may read.
	if err := a.Share(t.Context(), "fork", "again", start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	wantShared(t, b, 1, "again", true)
	wantShared(t, b, 3, "again", false)
	wantEntry(t, b, 1, of(entry(1, "x"), "s1"))
}

func dropShared(t *testing.T, a, b blob.Store) {
	add(t, a, of(entry(1, "x"), "s1"), blob.Limits{})
	add(t, a, of(entry(2, "y"), "s1"), blob.Limits{})
	if err := a.Share(t.Context(), "s1", "fork", start.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	drop := func(session string) {
		t.Helper()
		if err := b.Drop(t.Context(), session); err != nil {
			t.Fatal(err)
		}
	}
	drop("s1")
	wantEntry(t, a, 1, of(entry(1, "x"), "fork"))
	wantContent(t, a, "x", true)
	wantUnknown(t, a, 2)
	wantContent(t, a, "y", false)
	drop("fork")
	wantUnknown(t, a, 1)
	wantContent(t, a, "x", false)
	wantShared(t, a, 1, "fork", false)
	// A fork that goes leaves what it only reads.
	add(t, a, of(entry(3, "z"), "s1"), blob.Limits{})
	if err := a.Share(t.Context(), "s1", "fork", start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	drop("fork")
	wantEntry(t, b, 3, of(entry(3, "z"), "s1"))
	wantShared(t, b, 3, "fork", false)
}
