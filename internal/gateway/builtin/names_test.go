package builtin_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"github.com/goclaw/goclaw/internal/agent"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/gateway/builtin"
	"github.com/goclaw/goclaw/internal/llm"
)

// Names are read while another process holds the lock, with and without one
// that writes, and nothing is made or changed.
func TestNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "state.db")
	store, err := builtin.OpenStore(t.Context(), builtin.StoreOptions{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, store)
	lock := flock.New(path + ".lock")
	if ours, err := lock.TryLock(); err != nil || !ours {
		t.Fatal(ours, err)
	}
	defer lock.Unlock()

	look(t, path) // while it is open
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	look(t, path)
	if got := files(t, dir); !maps.Equal(before, got) {
		t.Errorf("files before %v, after %v", before, got)
	}

	// A copy of the file alone.
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(alone, data, 0o400); err != nil {
		t.Fatal(err)
	}
	look(t, alone)
	if got := files(t, filepath.Dir(alone)); len(got) != 1 {
		t.Errorf("files %v", got)
	}
}

func TestNamesOfNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := builtin.OpenNames("", filepath.Join(dir, "state.db")); err == nil {
		t.Error("a file that isn't there was opened")
	}
	if got := files(t, dir); len(got) > 0 {
		t.Errorf("files %v", got)
	}
	if _, err := builtin.OpenNames("postgres://x", filepath.Join(dir, "state.db")); err == nil {
		t.Error("another database was opened")
	}
	other := filepath.Join(dir, "other.db")
	if err := os.WriteFile(other, []byte("no database at all, but long enough to be taken for one"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := builtin.OpenNames("", other)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if list, err := db.People(t.Context()); err == nil {
		t.Errorf("names of no database: %v", list)
	}
}

func fill(t *testing.T, store *builtin.Store) {
	t.Helper()
	ctx, at := t.Context(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := store.Users.Add(ctx, auth.Account{ID: "bob", Role: auth.User, Created: at}); err != nil {
		t.Fatal(err)
	}
	_, token := auth.NewToken()
	token.ID, token.User, token.Note, token.Created = "0123456789ab", "bob", "ci", at
	if err := store.Users.AddToken(ctx, token); err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"first", "fine", "other"} {
		turn := session.Turn{Run: "run-" + id, Message: llm.UserMessage("Hello"), Started: at.Add(time.Duration(i) * time.Second)}
		if _, err := store.Sessions.Begin(ctx, session.Key{Agent: "main", ID: id}, turn, "About "+id); err != nil {
			t.Fatal(err)
		}
	}
	// A fork begins with copies of turns, which no run of their own handled.
	if err := store.Sessions.End(ctx, "run-other", agent.End{Status: agent.Done, Time: at.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	err := store.Sessions.Fork(ctx, session.Session{
		Key: session.Key{Agent: "main", ID: "branch"}, Title: "A fork", Created: at, ForkOf: &session.Point{Session: "other", Turn: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// look asks for everything that fill stored.
func look(t *testing.T, path string) {
	t.Helper()
	db, err := builtin.OpenNames("", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := t.Context()
	for _, c := range []struct {
		ask  func() ([]builtin.Name, error)
		want []builtin.Name
	}{
		{func() ([]builtin.Name, error) { return db.People(ctx) }, []builtin.Name{{Name: "bob", Note: "user"}}},
		{func() ([]builtin.Name, error) { return db.Tokens(ctx) }, []builtin.Name{
			{Name: "0123456789ab", Note: "api of bob, " + time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Local().Format("2006-01-02 15:04") + " ci"},
		}},
		{func() ([]builtin.Name, error) { return db.Sessions(ctx, "main", "fi") }, []builtin.Name{
			{Name: "fine", Note: "About fine"}, {Name: "first", Note: "About first"},
		}},
		{func() ([]builtin.Name, error) { return db.Sessions(ctx, "writer", "") }, nil},
		{func() ([]builtin.Name, error) { return db.Runs(ctx, "run-o") }, []builtin.Name{{Name: "run-other", Note: "other, done"}}},
		{func() ([]builtin.Name, error) { return db.Runs(ctx, "fork") }, nil},
	} {
		list, err := c.ask()
		if diff := cmp.Diff(c.want, list); err != nil || diff != "" {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := db.People(ended); err == nil {
		t.Error("nobody waits any more, and there is an answer")
	}
}

// files are the files of a folder with their sizes.
func files(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = info.Size()
	}
	return all
}
