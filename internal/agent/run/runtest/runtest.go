// Package runtest checks implementations of [run.Inbox] beside the
// [session.Store] that shares their transactions. Each calls [Inbox] from a
// test of its own.
//
// It is imported by tests only. Start reading at [Inbox].
package runtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/llm"
	"github.com/goclaw/goclaw/internal/tool"
)

// Inbox checks the inboxes that open returns, a new and empty one each time.
func Inbox(t *testing.T, open func(t *testing.T) (run.Inbox, session.Store)) {
	for _, test := range []struct {
		name string
		f    func(*testing.T, *box)
	}{
		{"what is put comes back in order", testOrder},
		{"a message is put once", testKnown},
		{"a turn takes its message out", testBegin},
		{"a round takes what joined out", testJoined},
		{"dropped", testDrop},
		{"deleted with its session", testDelete},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inbox, store := open(t)
			test.f(t, &box{Inbox: inbox, t: t, store: store})
		})
	}
}

type box struct {
	run.Inbox
	t     *testing.T
	store session.Store
}

var key = session.Key{Agent: "main", ID: "work"}

func entry(id string, second int) run.Entry {
	return run.Entry{
		Run: id, Session: key, Origin: tool.FromAPI, Queued: sessiontest.Start.Add(time.Duration(second) * time.Second),
		Caller: auth.Principal{ID: "ada", Name: "Ada", Role: auth.User, Human: true}, Rest: fmt.Appendf(nil, `{"message":"of %s, <&> ü"}`, id),
	}
}

func (b *box) put(entries ...run.Entry) {
	b.t.Helper()
	for _, e := range entries {
		if err := b.Put(b.t.Context(), e); err != nil {
			b.t.Fatal(err)
		}
	}
}

// has checks which entries wait.
func (b *box) has(want ...run.Entry) {
	b.t.Helper()
	got, err := b.Waiting(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		b.t.Errorf("waiting (-want +got):\n%s", d)
	}
}

// at checks where a message is; the zero place is nowhere.
func (b *box) at(id string, want run.Place) {
	b.t.Helper()
	got, ok, err := b.Find(b.t.Context(), id)
	if err != nil || ok != (want != run.Place{}) || got != want {
		b.t.Errorf("%s is found at %+v, %v (%v), want %+v", id, got, ok, err, want)
	}
}

// begin stores a turn.
func (b *box) begin(id string) error {
	_, err := b.store.Begin(b.t.Context(), key, session.Turn{
		Run: id, Message: llm.UserMessage(id), Caller: auth.Principal{ID: "ada", Role: auth.User}, Origin: tool.FromChat, Started: sessiontest.Start,
	}, "title")
	return err
}

func (b *box) refused(e run.Entry) {
	b.t.Helper()
	if err := b.Put(b.t.Context(), e); !errors.Is(err, run.ErrKnown) {
		b.t.Errorf("%s was put: %v", e.Run, err)
	}
}

func testOrder(t *testing.T, b *box) {
	first, second, third := entry("b", 1), entry("c", 2), entry("a", 3)
	third.Session = session.Key{Agent: "other", ID: "x:1"}
	third.Caller, third.Rest = auth.Principal{ID: "system", Role: auth.System}, []byte(`{broken`)
	b.has()
	b.put(third, first, second)
	b.has(first, second, third)
	b.at("a", run.Place{Session: third.Session, Caller: "system", Run: "a", Waiting: true})
	b.at("d", run.Place{})
}

func testKnown(t *testing.T, b *box) {
	b.put(entry("a", 1))
	again := entry("a", 9)
	again.Rest = []byte(`{}`)
	b.refused(again)
	b.has(entry("a", 1))
}

func testBegin(t *testing.T, b *box) {
	b.put(entry("a", 1), entry("b", 2))
	if err := b.begin("a"); err != nil {
		t.Fatal(err)
	}
	b.has(entry("b", 2))
	b.at("a", run.Place{Session: key, Caller: "ada", Run: "a"})
	b.refused(entry("a", 3))
	// A turn that can't be stored takes nothing.
	if err := b.begin("a"); err == nil {
		t.Error("a run has two turns")
	}
	b.has(entry("b", 2))
}

func testJoined(t *testing.T, b *box) {
	if err := b.begin("going"); err != nil {
		t.Fatal(err)
	}
	b.put(entry("a", 1), entry("b", 2), entry("c", 3))
	bad := sessiontest.Calling(7)
	bad.Joined = []string{"a"}
	if err := b.store.Called(t.Context(), "going", bad); err == nil {
		t.Fatal("a round that is not the next one was stored")
	}
	b.has(entry("a", 1), entry("b", 2), entry("c", 3))
	r := sessiontest.Calling(1)
	r.Joined = []string{"a", "b"}
	if err := b.store.Called(t.Context(), "going", r); err != nil {
		t.Fatal(err)
	}
	b.has(entry("c", 3))
	for _, id := range r.Joined {
		b.at(id, run.Place{Session: key, Caller: "ada", Run: "going"})
		b.refused(entry(id, 4))
	}
	// Once more is once too often.
	again := sessiontest.Calling(2)
	again.Joined = []string{"a"}
	if err := b.store.Called(t.Context(), "going", again); err == nil {
		t.Error("a message joined twice")
	}
	if err := b.store.End(t.Context(), "going", agent.End{Status: agent.Done, Time: sessiontest.Start}); err != nil {
		t.Fatal(err)
	}
	if err := b.store.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	b.at("a", run.Place{})
}

func testDrop(t *testing.T, b *box) {
	b.put(entry("a", 1), entry("b", 2), entry("c", 3))
	if err := b.Drop(t.Context(), "b", "nobody", "c"); err != nil {
		t.Fatal(err)
	}
	if err := b.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.has(entry("a", 1))
	b.put(entry("b", 2))
	b.has(entry("a", 1), entry("b", 2))
}

func testDelete(t *testing.T, b *box) {
	if err := b.begin("going"); err != nil {
		t.Fatal(err)
	}
	other := entry("b", 2)
	other.Session.Agent = "other"
	b.put(entry("a", 1), other)
	if err := b.store.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	b.has(other)
}
