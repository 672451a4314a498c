package sqlite_test

import (
	"errors"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/engine"
	"github.com/goclaw/goclaw/internal/store/sqlite"
	"github.com/goclaw/goclaw/internal/tool"
)

// fork makes a fork of main/work and returns its key.
func fork(t *testing.T, db *sqlite.DB, turn int) session.Key {
	t.Helper()
	f, err := session.Fork(t.Context(), db.Sessions(), session.ForkOptions{
		From: session.Key{Agent: "main", ID: "work"}, Turn: turn, Origin: tool.FromChat, By: auth.Principal{Role: auth.Admin}, Time: sessiontest.Start.Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f.Key
}

// TestForkReadsRefsOfItsTurns: what was kept aside until the last of its turns
// ended is read in a fork too, as long as it is kept, whether or not the other
// session is still there.
func TestForkReadsRefsOfItsTurns(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	now := sessiontest.Start
	keeper := blob.NewKeeper(db.Blobs(), blob.Options{Now: func() time.Time { return now }})
	key := session.Key{Agent: "main", ID: "work"}
	h := session.NewHistory(db.Sessions(), nil)
	put := func(text string) string {
		t.Helper()
		e, err := keeper.Put(t.Context(), blob.Entry{Kind: blob.Spill, Agent: "main", Session: key.String()}, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return e.Ref
	}
	early := put("early")
	if _, err := sessiontest.TurnWithTool(t.Context(), h, key, "run1", "hi"); err != nil { // ends at Start
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	late := put("late")

	f := fork(t, db, 1)
	read := func(k session.Key, ref, want string) {
		t.Helper()
		_, data, err := keeper.Get(t.Context(), ref, k.String())
		if err != nil || string(data) != want {
			t.Errorf("%s reads %q, %v, want %q", k, data, err, want)
		}
	}
	refused := func(k session.Key, ref string) {
		t.Helper()
		var refusal *tool.Refusal
		if _, _, err := keeper.Get(t.Context(), ref, k.String()); !errors.As(err, &refusal) {
			t.Errorf("%s reads %s: %v, want a refusal", k, ref, err)
		}
	}
	read(f, early, "early")
	refused(f, late)
	refused(fork(t, db, 0), early)
	if err := db.Sessions().Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	read(f, early, "early")
	if _, _, err := keeper.Get(t.Context(), late, key.String()); !errors.Is(err, blob.ErrUnknown) {
		t.Errorf("what no fork reads, after its session was deleted: %v", err)
	}
}

func TestLastCallLeavesOutWhatAForkBeganWith(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	h := session.NewHistory(db.Sessions(), nil)
	key := session.Key{Agent: "main", ID: "work"}
	for _, run := range []string{"first", "second"} {
		if _, err := sessiontest.TurnWithTool(t.Context(), h, key, run, run); err != nil {
			t.Fatal(err)
		}
	}
	f := fork(t, db, 1) // its copies are the newest rows
	for id, want := range map[string]string{"": "result of second", key.ID: "result of second", f.ID: "result of first"} {
		o, ok, err := db.Sessions().LastCall(t.Context(), engine.CallQuery{Agent: "main", Session: id, Tool: "file_read"})
		if err != nil || !ok || o.Content[0].Text != want {
			t.Errorf("in session %q: %+v, %v, %v, want %q", id, o.Content, ok, err, want)
		}
	}
}
