package sqlite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goclaw/goclaw/internal/agent/run"
	"github.com/goclaw/goclaw/internal/agent/run/runtest"
	"github.com/goclaw/goclaw/internal/agent/session"
	"github.com/goclaw/goclaw/internal/agent/session/sessiontest"
	"github.com/goclaw/goclaw/internal/approval"
	"github.com/goclaw/goclaw/internal/approval/approvaltest"
	"github.com/goclaw/goclaw/internal/auth"
	"github.com/goclaw/goclaw/internal/auth/authtest"
	"github.com/goclaw/goclaw/internal/blob"
	"github.com/goclaw/goclaw/internal/blob/blobtest"
	"github.com/goclaw/goclaw/internal/provider"
	"github.com/goclaw/goclaw/internal/provider/providertest"
	"github.com/goclaw/goclaw/internal/store/sqlite"
	"github.com/goclaw/goclaw/internal/store/sqlite/sqlitetest"
	"github.com/goclaw/goclaw/internal/tool"
)

func open(t testing.TB, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func fresh(t testing.TB) *sqlite.DB {
	return sqlitetest.Open(t, filepath.Join(t.TempDir(), "state.db"))
}

func TestSessions(t *testing.T) {
	t.Parallel()
	sessiontest.Run(t, func(t *testing.T) session.Store { return fresh(t).Sessions() })
}

func TestInbox(t *testing.T) {
	t.Parallel()
	runtest.Inbox(t, func(t *testing.T) (run.Inbox, session.Store) {
		db := fresh(t)
		return db.Inbox(), db.Sessions()
	})
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) (a, b blob.Store) {
		path := filepath.Join(t.TempDir(), "state.db")
		return open(t, path).Blobs(), open(t, path).Blobs()
	})
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	providertest.Answers(t, func(t *testing.T) (a, b provider.Answers) {
		path := filepath.Join(t.TempDir(), "state.db")
		return open(t, path).Answers(), open(t, path).Answers()
	})
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	providertest.Vectors(t, func(t *testing.T) (a, b provider.Vectors) {
		path := filepath.Join(t.TempDir(), "state.db")
		return open(t, path).Embeddings(), open(t, path).Embeddings()
	})
}

func TestApprovals(t *testing.T) {
	t.Parallel()
	approvaltest.Run(t, func(t *testing.T) (a, b approval.Store) {
		path := filepath.Join(t.TempDir(), "state.db")
		return open(t, path).Approvals(), open(t, path).Approvals()
	})
}

// What belongs to a person or a session goes with them.
func TestApprovalsGoWithWhatTheyBelongTo(t *testing.T) {
	t.Parallel()
	db, ctx := fresh(t), t.Context()
	begin(t, db, "run")
	list, _, err := db.Sessions().Sessions(ctx, session.Filter{})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	key := list[0].Key
	a := tool.Approval{ID: "a", Agent: key.Agent, Session: key.ID, Status: tool.ApprovalOpen, Created: time.Now(), Caller: auth.Principal{ID: "ada"}}
	g := approval.Grant{ID: "g", Person: "ada", Agent: key.Agent, Tool: "calc", Created: time.Now()}
	err = errors.Join(db.Users().Add(ctx, auth.Account{ID: "ada", Role: auth.User, Created: time.Now()}), db.Approvals().Open(ctx, "desk", a))
	a.Status, a.Ended, a.Grant = tool.ApprovalAllowed, time.Now(), "g"
	if err == nil {
		_, err = db.Approvals().Close(ctx, a, &g)
	}
	b := tool.Approval{ID: "b", Agent: key.Agent, Session: "other", Status: tool.ApprovalOpen, Created: time.Now(), Caller: auth.Principal{ID: "ada"}}
	err = errors.Join(err, db.Approvals().Open(ctx, "desk", b))
	if err = errors.Join(err, db.Users().Remove(ctx, "ada"), db.Sessions().Delete(ctx, key)); err != nil {
		t.Fatal(err)
	}
	b.Status, b.Ended = tool.ApprovalAllowed, time.Now()
	if got, err := db.Approvals().Close(ctx, b, &g); !errors.As(err, new(*approval.ClosedError)) || got.Status != tool.ApprovalStopped || got.Ended.IsZero() {
		t.Errorf("a request of a person who was removed is answered: %+v (%v)", got, err)
	}
	if grants, err := db.Approvals().Grants(ctx, ""); err != nil || len(grants) != 0 {
		t.Errorf("grants of a person who was removed: %+v (%v)", grants, err)
	}
	if _, err := db.Approvals().Get(ctx, "a"); !errors.Is(err, approval.ErrUnknown) {
		t.Errorf("a request of a session that was deleted: %v", err)
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	authtest.Run(t, func(t *testing.T) auth.Users { return fresh(t).Users() })
}

// TestSignInOnce: of processes that start side by side one makes the admin, and
// of browsers that open one link at several processes one is signed in.
func TestSignInOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	var stores []auth.Users
	for range 3 {
		stores = append(stores, open(t, path).Users())
	}
	now := time.Now()
	count := func(f func(auth.Users) (bool, error)) int {
		t.Helper()
		won := make([]bool, len(stores))
		errs := make([]error, len(stores))
		var wg sync.WaitGroup
		for i, u := range stores {
			wg.Go(func() { won[i], errs[i] = f(u) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		n := 0
		for _, w := range won {
			if w {
				n++
			}
		}
		return n
	}
	made := count(func(u auth.Users) (bool, error) {
		_, made, err := auth.EnsureAdmin(t.Context(), u, now)
		return made, err
	})
	code, err := auth.NewLink(t.Context(), stores[0], auth.FirstAdmin, 0, now)
	if err != nil {
		t.Fatal(err)
	}
	signedIn := count(func(u auth.Users) (bool, error) {
		_, _, _, err := auth.Redeem(t.Context(), u, code, now)
		if errors.Is(err, auth.ErrDenied) {
			return false, nil
		}
		return err == nil, err
	})
	if made != 1 || signedIn != 1 {
		t.Errorf("%d made the admin and %d signed in by one link, want 1 each", made, signedIn)
	}
}

// TestSpilledOnce: the whole text of a spilled result stands under its ref and
// nowhere else, although the tool also gave it as details.
func TestSpilledOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path)
	h := session.NewHistory(db.Sessions(), nil)
	keeper := blob.NewKeeper(db.Blobs(), blob.Options{})
	key := session.Key{Agent: "main", ID: "s"}
	turn := sessiontest.AgentTurn(key, "run", "hi")
	if _, err := h.Begin(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	r := sessiontest.Calling(1, "", "")
	if err := h.Called(t.Context(), turn, r); err != nil {
		t.Fatal(err)
	}
	for i, details := range []string{`[` + strings.Repeat(`"whole",`, 20_000) + `0]`, `{"other":"whole"}`} {
		whole := []byte(`[` + strings.Repeat(`"whole",`, 20_000) + `0]`)
		e, err := keeper.Put(t.Context(), blob.Entry{Kind: blob.Spill, Agent: key.Agent, Session: key.String()}, whole)
		if err != nil {
			t.Fatal(err)
		}
		o := sessiontest.Outcome(r.Calls[i], "[LARGE OUTPUT] preview")
		o.Ref, o.Details = e.Ref, json.RawMessage(details)
		r.Outcomes = append(r.Outcomes, o)
		if err := h.Result(t.Context(), turn, r, i, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Settled(t.Context(), turn, r); err != nil {
		t.Fatal(err)
	}
	var size int
	if err := raw(t, path).QueryRow("SELECT sum(length(details)) FROM calls").Scan(&size); err != nil || size > 100 {
		t.Errorf("%d bytes of details are stored (%v)", size, err)
	}
	turns, err := db.Sessions().Turns(t.Context(), key, 1, 0, session.Whole)
	if err != nil {
		t.Fatal(err)
	}
	got := turns[0].Rounds[0].Outcomes
	if got[0].Details != nil || string(got[1].Details) != `{"other":"whole"}` || got[0].Ref == "" {
		t.Errorf("details came back as %.40q and %.40q", got[0].Details, got[1].Details)
	}
	if _, whole, err := keeper.Get(t.Context(), got[0].Ref, key.String()); err != nil || len(whole) < 100_000 {
		t.Errorf("under the ref are %d bytes (%v)", len(whole), err)
	}
}

// TestDeleteTakesRefsAlong: what a session keeps under refs goes with it, and
// that of another agent's session of the same name stays.
func TestDeleteTakesRefsAlong(t *testing.T) {
	t.Parallel()
	db := fresh(t)
	keeper := blob.NewKeeper(db.Blobs(), blob.Options{CacheBytes: -1})
	refs := map[string]string{}
	for _, agent := range []string{"main", "helper"} {
		key := session.Key{Agent: agent, ID: "work"}
		if _, err := sessiontest.TurnWithTool(t.Context(), session.NewHistory(db.Sessions(), nil), key, "run-"+agent, "hi"); err != nil {
			t.Fatal(err)
		}
		e, err := keeper.Put(t.Context(), blob.Entry{Kind: blob.Spill, Agent: agent, Session: key.String()}, fmt.Append(nil, "of ", agent))
		if err != nil {
			t.Fatal(err)
		}
		refs[agent] = e.Ref
	}
	if err := db.Sessions().Delete(t.Context(), session.Key{Agent: "main", ID: "work"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := keeper.Get(t.Context(), refs["main"], "main/work"); err == nil {
		t.Error("a deleted session left what it kept")
	}
	if _, _, err := keeper.Get(t.Context(), refs["helper"], "helper/work"); err != nil {
		t.Error(err)
	}
}
