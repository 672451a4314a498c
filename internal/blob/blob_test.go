package blob_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/blob/blobtest"
	"github.com/goclaw/goclaw/internal/tool"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(*testing.T) (a, b blob.Store) {
		m := blob.NewMemory()
		return m, m
	})
}

func spilled(session string) blob.Entry {
	return blob.Entry{Kind: blob.Spill, Agent: "main", Session: session, Type: "text", Tool: "shell", Args: `{"command":"ls"}`}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for name, cacheBytes := range map[string]int64{"cached": 0, "uncached": -1, "cache too small": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := blob.NewKeeper(blob.NewMemory(), blob.Options{CacheBytes: cacheBytes})
			rapid.Check(t, func(rt *rapid.T) {
				data := rapid.OneOf(
					rapid.SliceOf(rapid.Byte()),
					rapid.Map(rapid.IntRange(0, 20_000), func(n int) []byte { return bytes.Repeat([]byte("ab"), n) }),
				).Draw(rt, "data")
				e, err := k.Put(t.Context(), spilled("s1"), data)
				if err != nil {
					rt.Fatal(err)
				}
				if !blob.ValidRef(e.Ref) {
					rt.Fatalf("ref %q is not 16 hexadecimal digits", e.Ref)
				}
				got, back, err := k.Get(t.Context(), e.Ref, "s1")
				if err != nil || !bytes.Equal(back, data) || got != e {
					rt.Fatalf("Get = %+v, %d bytes, %v, want %+v, %d bytes", got, len(back), err, e, len(data))
				}
			})
		})
	}
}

func TestRefIsBoundToItsSession(t *testing.T) {
	t.Parallel()
	k := blob.NewKeeper(blob.NewMemory(), blob.Options{})
	scope := tool.NewScope(tool.Facts{Agent: "main", Session: "s1"})
	e, err := k.Put(t.Context(), spilled(scope.SessionKey()), []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	for _, sessions := range [][]string{{"s2"}, {""}, {}, {"s2", "s3"}} {
		_, data, err := k.Get(t.Context(), e.Ref, sessions...)
		var refusal *tool.Refusal
		if !errors.As(err, &refusal) || data != nil {
			t.Errorf("Get in %q = %q, %v, want a refusal", sessions, data, err)
		} else if refusal.Rule != "session" || strings.Contains(refusal.Error(), "ls") {
			t.Errorf("refusal %+v", refusal)
		}
	}
	if _, _, err := k.Get(t.Context(), e.Ref, "child", "main/s1"); err != nil {
		t.Errorf("Get in the name of the session that made it, too: %v", err)
	}
	if _, err := k.Read(t.Context(), tool.NewScope(tool.Facts{Agent: "helper", Session: "s1"}), e.Ref); err == nil {
		t.Error("another agent's session of the same name reads it")
	}
	data, err := k.Read(t.Context(), scope, e.Ref)
	if err != nil || string(data) != "secret" {
		t.Errorf("Read = %q, %v", data, err)
	}
	if _, err := k.Read(t.Context(), tool.NewScope(tool.Facts{}), e.Ref); err == nil {
		t.Error("Read without a session: no error")
	}
}

func TestSharedRefIsReadByTheForkToo(t *testing.T) {
	t.Parallel()
	m := blob.NewMemory()
	k := blob.NewKeeper(m, blob.Options{})
	e, err := k.Put(t.Context(), spilled("main/s1"), []byte("long"))
	if err == nil {
		err = m.Share(t.Context(), "main/s1", "main/fork", time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := k.Read(t.Context(), tool.NewScope(tool.Facts{Agent: "main", Session: "fork"}), e.Ref)
	if err != nil || string(data) != "long" {
		t.Errorf("the fork reads %q, %v", data, err)
	}
	var refusal *tool.Refusal
	if _, _, err := k.Get(t.Context(), e.Ref, "main/other"); !errors.As(err, &refusal) {
		t.Errorf("another session: %v, want a refusal", err)
	}
	if err := k.Drop(t.Context(), "main/s1"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Get(t.Context(), e.Ref, "main/fork"); err != nil {
		t.Errorf("after its session has gone: %v", err)
	}
}

func TestUnknownRef(t *testing.T) {
	t.Parallel()
	k := blob.NewKeeper(blob.NewMemory(), blob.Options{})
	for _, ref := range []string{"", "a3f8c2d1", "a3f8c2d1a3f8c2d1", "A3F8C2D1A3F8C2D1", "../../etc/passwd", "' or 1=1 --      "} {
		if _, _, err := k.Get(t.Context(), ref, "s1"); !errors.Is(err, blob.ErrUnknown) {
			t.Errorf("Get(%q) error = %v, want ErrUnknown", ref, err)
		}
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := map[blob.Kind]blob.Limits{blob.Spill: {TTL: time.Hour}}
		k := blob.NewKeeper(blob.NewMemory(), blob.Options{Limits: limits})
		e, err := k.Put(t.Context(), spilled("s1"), []byte("data"))
		if err != nil {
			t.Fatal(err)
		}
		own := spilled("s1")
		own.Expires = time.Now().Add(2 * time.Hour)
		longer, err := k.Put(t.Context(), own, []byte("data"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour - time.Millisecond)
		if _, _, err := k.Get(t.Context(), e.Ref, "s1"); err != nil {
			t.Errorf("a millisecond before the end: %v", err)
		}
		time.Sleep(time.Millisecond)
		wantGone := func(when string) {
			t.Helper()
			_, _, err := k.Get(t.Context(), e.Ref, "s1")
			var gone *blob.GoneError
			if !errors.As(err, &gone) {
				t.Fatalf("%s: error = %v, want a GoneError", when, err)
			}
			if g := gone.Entry; g.Gone != blob.Expired || g.Tool != "shell" || g.Args != `{"command":"ls"}` || !g.Ended.Equal(e.Expires) {
				t.Errorf("%s: tombstone %+v", when, g)
			}
		}
		wantGone("before a sweep")
		if n, err := k.Sweep(t.Context()); n != 1 || err != nil {
			t.Errorf("Sweep = %d, %v, want 1", n, err)
		}
		wantGone("after a sweep")
		if _, data, err := k.Get(t.Context(), longer.Ref, "s1"); err != nil || string(data) != "data" {
			t.Errorf("the entry with an expiry of its own: %q, %v", data, err)
		}
		var refusal *tool.Refusal
		if _, _, err := k.Get(t.Context(), e.Ref, "s2"); !errors.As(err, &refusal) {
			t.Errorf("a tombstone read from another session: %v, want a refusal", err)
		}
		time.Sleep(48 * time.Hour)
		if _, err := k.Put(t.Context(), spilled("s1"), []byte("new")); err != nil { // sweeps by itself
			t.Fatal(err)
		}
		if _, _, err := k.Get(t.Context(), e.Ref, "s1"); !errors.Is(err, blob.ErrUnknown) {
			t.Errorf("two days later: %v, want ErrUnknown", err)
		}
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	limits := map[blob.Kind]blob.Limits{blob.Spill: {Entries: 2, Bytes: 100}}
	k := blob.NewKeeper(blob.NewMemory(), blob.Options{Limits: limits})
	var refs []string
	for i := range 3 {
		e, err := k.Put(t.Context(), spilled("s1"), fmt.Append(nil, "content ", i))
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, e.Ref)
	}
	_, _, err := k.Get(t.Context(), refs[0], "s1")
	var gone *blob.GoneError
	if !errors.As(err, &gone) || gone.Entry.Gone != blob.Evicted {
		t.Errorf("the oldest: %v, want it evicted", err)
	}
	if _, err := k.Put(t.Context(), spilled("s1"), make([]byte, 101)); !errors.Is(err, blob.ErrTooLarge) {
		t.Errorf("content larger than all there may be: %v, want ErrTooLarge", err)
	}
	if _, _, err := k.Get(t.Context(), refs[2], "s1"); err != nil {
		t.Errorf("the newest after that: %v", err)
	}
}

func TestPutNeedsKindAndSession(t *testing.T) {
	t.Parallel()
	k := blob.NewKeeper(blob.NewMemory(), blob.Options{})
	for _, e := range []blob.Entry{{}, {Kind: blob.Spill}, {Session: "s1"}} {
		if _, err := k.Put(t.Context(), e, nil); err == nil {
			t.Errorf("Put(%+v): no error", e)
		}
	}
}

func TestDrop(t *testing.T) {
	t.Parallel()
	k := blob.NewKeeper(blob.NewMemory(), blob.Options{})
	e, err := k.Put(t.Context(), spilled("s1"), []byte("data"))
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Drop(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Get(t.Context(), e.Ref, "s1"); !errors.Is(err, blob.ErrUnknown) {
		t.Errorf("after Drop: %v, want ErrUnknown", err)
	}
}

func BenchmarkPut(b *testing.B) {
	for _, size := range []int{10_000, 5_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			var text bytes.Buffer
			for text.Len() < size {
				fmt.Fprintf(&text, `{"id":%d,"title":"Fix login %x"}`+"\n", text.Len(), rand.Uint64())
			}
			k := blob.NewKeeper(blob.NewMemory(), blob.Options{Limits: map[blob.Kind]blob.Limits{blob.Spill: {Entries: 4}}})
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := k.Put(b.Context(), spilled("s1"), text.Bytes()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
